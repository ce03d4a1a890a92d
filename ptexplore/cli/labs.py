"""Run the labs of tours through ptexplore's own capture; one that fails, hangs or writes files is told of, no more."""

from __future__ import annotations

import ast
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ptexplore.errors import PtexploreError

if TYPE_CHECKING:
    from ptexplore.annotations.records import Lab, Stop, Tour
    from ptexplore.capture.request import TraceRequest
    from ptexplore.cli.ready import Ready
    from ptexplore.resolve.lookup import Lookup
    from ptexplore.view.labs import LabResult

TIMEOUT = 60.0  # seconds that each run of a lab may take

# Runs before the lab, in the child that runs it: whatever would write, start or connect something is refused by name.
# It keeps honest labs honest; who may run at all is decided by trust (annotations/trust.py).
_GUARD = """
def _ptexplore_guard():
    import os, sys
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    refused = {"os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod",
               "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect", "socket.bind"}
    def guard(event, arguments):
        if event in refused:
            raise PermissionError(f"a lab may not do this: {event} {str(arguments[:1])[:80]}")
        if event == "open" and arguments[0] != os.devnull and isinstance(arguments[2], int) and arguments[2] & writes:
            raise PermissionError(f"a lab may not write files: {str(arguments[0])[:80]}")
    sys.addaudithook(guard)
_ptexplore_guard()
"""


def run_labs(found: Iterable[tuple[Tour, Stop]], here: Ready, timeout: float = TIMEOUT) -> Iterator[LabResult]:
    """The result of each lab of these stops, as it comes. Those of files that nobody trusts do not run, and say so."""
    from ptexplore.annotations.trust import may_run, trusted
    from ptexplore.cli.looking import look
    from ptexplore.view.labs import LabResult

    known, lookup = trusted(), None
    for tour, stop in found:
        for lab in stop.labs:
            name = f"{tour.name_of(stop)}/{lab.id}"
            if not may_run(tour, known):
                why = f"its file is not trusted: ptexplore notes trust {tour.where.file}"
                yield LabResult(name, lab.where, "untrusted", why)
                continue
            lookup = lookup or look(here)
            begun = time.monotonic()
            failed = run_lab(lab, here, lookup, timeout)
            taken = time.monotonic() - begun
            yield LabResult(name, lab.where, "failed" if failed else "passed", failed or "", taken)


def run_lab(lab: Lab, here: Ready, lookup: Lookup, timeout: float = TIMEOUT) -> str | None:
    """Why a lab did not come to what it expects; None where it did."""
    with tempfile.TemporaryDirectory(prefix="ptexplore-lab-") as folder:
        try:
            why = _trail(lab, here, lookup, request_of(lab, folder, timeout)) if lab.trail else None
            if why is None and lab.value is not None:
                why = _value(lab, here, request_of(lab, folder, timeout))
        except PtexploreError as error:
            why = f"{error.message}: {error.why}" if error.why else error.message
        left = sorted(os.listdir(folder))
    return f"it wrote files: {', '.join(left[:5])}" if left else why


def request_of(lab: Lab, folder: str, timeout: float = TIMEOUT) -> TraceRequest:
    """What a trace of the lab is asked for; the native pass only where the lab speaks of what only that sees."""
    from ptexplore.capture.request import TraceRequest

    return TraceRequest(
        expression=lab.run,
        variables=lab.variables,
        setup=(_GUARD, *lab.setup),
        contexts=lab.contexts,
        grad=lab.grad or lab.backward,
        backward=lab.backward,
        timeout=timeout,
        cwd=folder,
        native=any(kind in ("native", "closed") for kind, _ in lab.trail),
    )


def _trail(lab: Lab, here: Ready, lookup: Lookup, request: TraceRequest) -> str | None:
    from ptexplore.capture.trace import capture
    from ptexplore.resolve.trail import resolve
    from ptexplore.view.labs import missing

    return missing(resolve(capture(request, here.runtime, here.store.digests()), lookup), lab.trail)


def _value(lab: Lab, here: Ready, request: TraceRequest) -> str | None:
    """Compared in the probe: only whether it is equal, and a short text of it, come back."""
    from ptexplore.capture.trace import capture

    test = f"(lambda _value: (bool(_value == ({lab.value})), repr(_value)[:150]))(\n{lab.run}\n)"
    session = capture(replace(request, expression=test, backward=False, native=False, once=True), here.runtime)
    try:
        equal, shown = ast.literal_eval(str(session.result.get("description")))
    except (ValueError, SyntaxError):
        return f"its value cannot be told: {str(session.result.get('description'))[:200]}"
    return None if equal else f"its value is {shown}, not {lab.value}"
