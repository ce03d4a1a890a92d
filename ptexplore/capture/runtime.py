"""Read a runtime's dispatcher: the catalogue message of a probe that has imported torch and nothing else."""

from __future__ import annotations

from typing import Any, cast

from ptexplore.capture.not_captured import NotCaptured
from ptexplore.capture.probing import ask
from ptexplore.errors import PtexploreError
from ptexplore.model.actions import ShowOutput
from ptexplore.model.messages import RunRequest
from ptexplore.model.places import Runtime
from ptexplore.model.reasons import NoCatalogueGiven, Together

TIMEOUT = 300.0  # seconds; it takes one on the reference machine


def dump(runtime: Runtime) -> dict[str, Any]:
    """Every registration, table, key, public name and Python kernel of `runtime` (probe/catalogue.py says the form).

    Raises PtexploreError where the probe fails.
    """
    request: RunRequest = {"work": "catalogue", "torch_dir": runtime.torch_dir}
    for message in ask(runtime, request, TIMEOUT):
        if message["type"] == "catalogue":
            return _unpacked(cast("dict[str, Any]", message))
    raise NotCaptured(NoCatalogueGiven(), Together(()), ShowOutput())


def _unpacked(message: dict[str, Any]) -> dict[str, Any]:
    """Put the texts together again that the probe sent as numbers of `lines`."""
    lines = message.pop("lines", [])
    try:
        for operator in message["operators"]:
            for name in ("dump", "table"):
                operator[name] = "\n".join([lines[number] for number in operator[name]])
    except (KeyError, IndexError, TypeError) as error:
        raise PtexploreError(
            "the probe's catalogue cannot be read", repr(error), "PTEXPLORE_DEBUG=1 shows more"
        ) from error
    return message
