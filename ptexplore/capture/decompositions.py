"""Asks a torch for its decompositions: the message of a probe that imports torch.export and Inductor."""

from __future__ import annotations

from msgspec import ValidationError

from ptexplore.capture.compiling import environment
from ptexplore.capture.not_captured import NotCaptured
from ptexplore.capture.probing import ask
from ptexplore.errors import PtexploreError
from ptexplore.model.actions import ShowOutput
from ptexplore.model.codes import convert
from ptexplore.model.decompositions import DumpedDecompositions
from ptexplore.model.messages import RunRequest
from ptexplore.model.places import Runtime
from ptexplore.model.reasons import NoDecompositionsGiven, Together

TIMEOUT = 300.0  # seconds; the imports normally take less than ten


def dump_decompositions(runtime: Runtime) -> DumpedDecompositions:
    """Returns every decomposition table of `runtime`, Inductor's lowerings, and their functions.

    Raises PtexploreError if the probe fails.
    """
    request: RunRequest = {"work": "decompositions", "torch_dir": runtime.torch_dir}
    for message in ask(runtime, request, TIMEOUT, environment(runtime)):
        if message["type"] == "decompositions":
            try:
                return convert(message, DumpedDecompositions)
            except ValidationError as error:
                raise PtexploreError(
                    "the answer of the process that loads torch cannot be read",
                    repr(error),
                    "PTEXPLORE_DEBUG=1 shows more",
                ) from error
    raise NotCaptured(NoDecompositionsGiven(), Together(()), ShowOutput())
