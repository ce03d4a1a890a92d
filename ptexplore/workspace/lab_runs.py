"""Runs the labs of tours through ptexplore's own capture. A lab that fails, hangs or writes files is reported."""

from __future__ import annotations

import ast
import contextlib
import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from ptexplore.annotations.records import Lab, Stop, Tour
from ptexplore.capture.allowed import AllowedRun
from ptexplore.capture.probing import TraceRequest
from ptexplore.capture.trace import capture
from ptexplore.errors import PtexploreError
from ptexplore.model.places import Runtime
from ptexplore.model.trace import Session, Trace
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.trace import resolve
from ptexplore.temporary import temporary_folder
from ptexplore.view.notes.labs import EditedRun, LabOutcome, LabResult, following, missing, steps_of
from ptexplore.view.words.errors import in_words
from ptexplore.workspace.consent import allowed_labs, of_lab
from ptexplore.workspace.opening import InstalledTorch

TIMEOUT = 60.0  # seconds for each run of a lab
_AT_ONCE = 4  # labs that run at the same time, if there are as many cores

# Runs before the lab, in the same child. It refuses to write outside the lab's folder for temporary files, to start a
# program, or to connect, by the names of audit events. A socket that is a file in that folder is allowed: workers of a
# DataLoader hand their tensors over by such sockets. It only keeps honest labs honest: trust decides who may run at
# all (annotations/trust.py).
_GUARD = """
def _ptexplore_guard(scratch):
    import os, sys, tempfile
    tempfile.tempdir = os.environ["TMPDIR"] = scratch
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    places = {"os.remove": 1, "os.rename": 2, "os.mkdir": 1, "os.rmdir": 1, "os.link": 2, "os.symlink": 2,
              "os.truncate": 1, "os.chmod": 1}
    refused = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect", "socket.bind"}
    sockets = {"socket.connect", "socket.bind"}
    def is_outside(path):
        if isinstance(path, int):
            return False
        return not f"{os.path.realpath(os.fsdecode(path))}/".startswith(f"{scratch}/")
    def is_own_socket(event, arguments):
        return event in sockets and isinstance(arguments[1], str) and not is_outside(arguments[1])
    def guard(event, arguments):
        if event in refused and not is_own_socket(event, arguments):
            raise PermissionError(f"a lab may not do this: {event} {str(arguments[:1])[:80]}")
        opens = event == "open" and isinstance(arguments[2], int) and arguments[2] & writes
        for path in arguments[:places.get(event, int(bool(opens)))]:
            if path is not None and path != os.devnull and is_outside(path):
                raise PermissionError(f"a lab may not write files: {str(path)[:80]}")
    sys.addaudithook(guard)
_ptexplore_guard(%r)
"""


@dataclass(frozen=True)
class LabRun:
    """The results of one lab's runs: the session of its trace, its value, why the value differs, why it failed."""

    session: Session | None = None
    value: str = ""
    differs: str | None = None
    failed: str | None = None
    seconds: float = 0.0


def run_labs(
    stops: Iterable[tuple[Tour, Stop]],
    torch: InstalledTorch,
    look: Callable[[], Lookup],
    timeout: float = TIMEOUT,
) -> Iterator[LabResult]:
    """Yields the result of each lab of these stops, in order.

    A lab in an untrusted file is not run, and is reported so.

    `look` returns the lookup for resolving traces; it is called only if some lab may run.
    """
    may_run = allowed_labs()
    labs = [(tour, stop, lab) for tour, stop in stops for lab in stop.labs]
    lookup = look() if any(may_run(tour) for tour, _, _ in labs) else None
    with ThreadPoolExecutor(min(len(os.sched_getaffinity(0)), _AT_ONCE)) as pool:
        running: list[Future[LabRun] | None] = [
            pool.submit(_run, tour, lab, torch, timeout) if may_run(tour) else None for tour, _, lab in labs
        ]
        try:
            for (tour, stop, lab), future in zip(labs, running, strict=True):
                if future is None or lookup is None:
                    yield _untrusted(tour, stop, lab)
                else:
                    yield _judged(tour, stop, lab, future.result(), lookup)[0]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def run_lab(
    tour: Tour, stop: Stop, lab: Lab, opened: Callable[[], tuple[InstalledTorch, Lookup]]
) -> tuple[LabResult, Trace | None]:
    """Returns the result of one lab, and its Trace if there is one. `opened` is called only if the lab may run."""
    if not allowed_labs()(tour):
        return _untrusted(tour, stop, lab), None
    torch, lookup = opened()
    return _judged(tour, stop, lab, _run(tour, lab, torch), lookup)


def _untrusted(tour: Tour, stop: Stop, lab: Lab) -> LabResult:
    """Returns the result for a lab that may not run, with the command that allows it."""
    why = f"its file is not trusted: ptexplore notes trust {shlex.quote(tour.where.file)}"
    return LabResult(f"{tour.name_of(stop)}/{lab.id}", lab.where, "untrusted", why)


def _judged(tour: Tour, stop: Stop, lab: Lab, done: LabRun, lookup: Lookup) -> tuple[LabResult, Trace | None]:
    """Returns whether a lab gave the expected result, or why not; and its Trace, if there is one."""
    trace = resolve(done.session, lookup) if done.session is not None else None
    lacking = missing(trace, lab.trace) if trace is not None else None
    answer = following(trace, lab) if trace is not None and lab.choices else ""
    kind, expected = lab.trace[lab.given] if answer else ("", "")
    surprise = f"of the choices, `{answer}` comes first" if answer != f"{kind} {expected}".strip() else None
    failed = done.failed or lacking or done.differs or surprise
    name = f"{tour.name_of(stop)}/{lab.id}"
    steps = tuple(f"{kind} {hop}" for kind, hop in lab.trace) if trace is not None and lacking is None else ()
    outcome: LabOutcome = "failed" if failed else "passed"
    return LabResult(name, lab.where, outcome, failed or "", done.seconds, done.value or "", steps, answer), trace


def run_edited(tour: Tour, lab: Lab, expression: str, opened: Callable[[], tuple[InstalledTorch, Lookup]]) -> EditedRun:
    """Returns the result of a lab with another expression, which the reader typed. The result is not compared.

    The rest of the lab is the tour's code: it runs only if its file may run.
    """
    edited = replace(lab, run=expression)
    torch, lookup = opened()
    with temporary_folder("lab") as folder:
        request = _request_of(edited, str(folder))
        try:
            with in_words():
                if lab.asks_for_step:
                    session = capture(_allowed(tour, edited, request), torch.runtime, torch.catalogue.digests())
                    return EditedRun(steps=steps_of(resolve(session, lookup)))
                shown = replace(request, expression=f"repr((\n{expression}\n))[:500]", backward=False, once=True)
                text = capture(_allowed(tour, edited, shown), torch.runtime).result.description
        except PtexploreError as error:
            return EditedRun(failed=error.one_line)
    with contextlib.suppress(ValueError, SyntaxError):
        return EditedRun(value=str(ast.literal_eval(text)))
    return EditedRun(failed=f"its value cannot be read: {text[:200]}")


def _run(tour: Tour, lab: Lab, torch: InstalledTorch, timeout: float = TIMEOUT) -> LabRun:
    """Runs a lab in probes, in a temporary folder of its own. The answer contains any error."""
    begun = time.monotonic()
    session = differs = failed = None
    value = ""
    with temporary_folder("lab") as folder:
        request = _request_of(lab, str(folder), timeout)
        try:
            with in_words():
                if lab.trace:
                    session = capture(_allowed(tour, lab, request), torch.runtime, torch.catalogue.digests())
                if lab.value is not None:
                    value, differs = _value(tour, lab, torch.runtime, request)
        except PtexploreError as error:
            failed = error.one_line
        left = sorted(os.listdir(request.cwd))
    if left:
        failed = f"it wrote files: {', '.join(left[:5])}"
    return LabRun(session, value, differs, failed, time.monotonic() - begun)


def _request_of(lab: Lab, folder: str, timeout: float = TIMEOUT) -> TraceRequest:
    """Returns the request for a lab's trace. It asks for stepping only if the lab expects native hops.

    `folder` gets two subfolders: one that the lab runs in, which must stay empty, and one for temporary files.
    """
    home, scratch = (Path(folder).resolve() / name for name in ("lab", "tmp"))
    for place in (home, scratch):
        place.mkdir(exist_ok=True)
    return TraceRequest(
        expression=lab.run,
        variables=lab.variables,
        setup=(_GUARD % str(scratch), *lab.setup),
        contexts=lab.contexts,
        grad=lab.grad or lab.backward,
        backward=lab.backward,
        timeout=timeout,
        cwd=str(home),
        native=any(kind in ("native", "closed") for kind, _ in lab.trace),
    )


def _allowed(tour: Tour, lab: Lab, request: TraceRequest) -> AllowedRun:
    """Returns the allowed run of a lab, through `consent`. Raises PtexploreError if its file is not trusted."""
    return of_lab(tour, lab, request).allowed()


def _value(tour: Tour, lab: Lab, runtime: Runtime, request: TraceRequest) -> tuple[str, str | None]:
    """Returns a short text of the value, and why it is not the expected one (None if it is).

    The comparison is made in the probe: it returns only whether the values are equal, and the text.
    """
    test = f"(lambda _value: (bool(_value == ({lab.value})), repr(_value)[:150]))(\n{lab.run}\n)"
    request = replace(request, expression=test, backward=False, native=False, once=True)
    session = capture(_allowed(tour, lab, request), runtime)
    description = session.result.description
    try:
        equal, shown = ast.literal_eval(description)
    except (ValueError, SyntaxError):
        return "", f"its value cannot be read: {description[:200]}"
    return shown, None if equal else f"its value is {shown}, not {lab.value}"
