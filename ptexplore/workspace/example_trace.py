"""The trace on a site's home page if the user gave none: `torch.add(a, b)`, recorded once and kept in the cache."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING

from ptexplore.capture.probing import TraceRequest
from ptexplore.errors import PtexploreError
from ptexplore.locations import cache_root, example_trace_file
from ptexplore.workspace.saved_traces import PACKED, load_trace, packed
from ptexplore.workspace.typed import typed
from ptexplore.writing import keep_whole

if TYPE_CHECKING:
    from ptexplore.model.trace import Session, Trace
    from ptexplore.workspace.workspace import Workspace

EXAMPLE = "torch.add(a, b)"


def example_trace(workspace: Workspace, code: str) -> tuple[Trace, Session | None]:
    """Returns the trace of `EXAMPLE` with this workspace's torch and source: the kept one, else a new one.

    A trace is kept for one `code`, a hash of ptexplore's own files.

    The expression stands in this module, so nothing of a file or of somebody else runs. Raises PtexploreError if it
    cannot be recorded here.
    """
    file = example_trace_file(_key(workspace, code))
    if file.exists():
        with contextlib.suppress(PtexploreError):  # a damaged file: it is written again
            return load_trace(str(file))
    trace, session = workspace.trace(typed(TraceRequest(expression=EXAMPLE, native=True)))
    with contextlib.suppress(OSError, PtexploreError):  # nothing can be kept here: the next site records again
        keep_whole(file, packed(trace, session, PACKED), mode=0o600, root=cache_root())
    return trace, session


def _key(workspace: Workspace, code: str) -> str:
    """Returns a hash of what the trace depends on: ptexplore, the torch that runs, and the text that places are in."""
    parts = [code, workspace.torch.runtime.key, *(repr(tree.tree.info) for tree in workspace.trees)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
