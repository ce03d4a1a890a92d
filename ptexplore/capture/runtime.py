"""Reads the dispatcher of a torch: the catalogue message of a probe that imported torch and nothing else."""

from __future__ import annotations

from msgspec import ValidationError

from ptexplore.capture.not_captured import NotCaptured
from ptexplore.capture.probing import ask
from ptexplore.errors import PtexploreError
from ptexplore.model.actions import ShowOutput
from ptexplore.model.codes import convert
from ptexplore.model.dispatcher import DispatcherDump
from ptexplore.model.messages import CatalogueTold, RunRequest
from ptexplore.model.places import Runtime
from ptexplore.model.reasons import NoCatalogueGiven, Together

TIMEOUT = 300.0  # seconds; normally one is enough


def dump(runtime: Runtime) -> DispatcherDump:
    """Returns every registration, table, key, public name and Python kernel of `runtime`.

    Raises PtexploreError if the probe fails.
    """
    request: RunRequest = {"work": "catalogue", "torch_dir": runtime.torch_dir}
    for message in ask(runtime, request, TIMEOUT):
        if message["type"] == "catalogue":
            return _unpacked(message)
    raise NotCaptured(NoCatalogueGiven(), Together(()), ShowOutput())


def _unpacked(message: CatalogueTold) -> DispatcherDump:
    """Restores the texts that the probe sent as numbers of `lines`."""
    try:
        lines = message["lines"]
        operators = [
            {**operator, **{name: "\n".join([lines[n] for n in operator[name]]) for name in ("dump", "table")}}
            for operator in message["operators"]
        ]
        return convert({**message, "operators": operators}, DispatcherDump)
    except (KeyError, IndexError, TypeError, ValidationError) as error:
        raise PtexploreError(
            "the answer of the process that loads torch cannot be read", repr(error), "PTEXPLORE_DEBUG=1 shows more"
        ) from error
