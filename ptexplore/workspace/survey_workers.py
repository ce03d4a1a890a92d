"""Survey operators with several workers: each a process with a probe of its own, given one operator at a time."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptexplore.errors import PtexploreError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    from ptexplore.capture.probing import TraceRequest
    from ptexplore.capture.survey import Surveyed
    from ptexplore.resolve.places.lookup import Lookup
    from ptexplore.view.survey import Folder
    from ptexplore.workspace.installed_torch import InstalledTorch

Todo = Callable[[list[str]], Iterable[str]]  # of all operators there are, those to survey
Progressed = Callable[[int, int], None]  # how many are done, of how many


@dataclass(frozen=True)
class SurveyPlan:
    """What every worker is told. `anew` concludes again from saved sessions, and runs nothing."""

    python: str | None
    request: TraceRequest
    folder: Path
    anew: bool = False


class _Worker:
    """Our end of one worker."""

    def __init__(self, plan: SurveyPlan) -> None:
        import multiprocessing

        # Not fork: a progress bar has a thread, and what it holds locked would stay locked in the child.
        context = multiprocessing.get_context("spawn")
        self.link: Connection[Any, Any]
        self.link, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_work, args=(theirs, plan, os.getpid()), daemon=True)
        self.op: str | None = None
        self.process.start()
        theirs.close()

    def give(self, op: str) -> None:
        self.op = op
        with contextlib.suppress(BrokenPipeError):  # it died: its link tells, and the operator with it
            self.link.send(op)

    def stop(self) -> None:
        self.process.terminate()
        self.process.join(10)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.link.close()


def survey_with_workers(plan: SurveyPlan, jobs: int, todo: Todo, progressed: Progressed) -> None:
    """Survey what `todo` picks from all operators; each is saved by the worker that did it.

    One worker begins, since it knows what there is to do; then come as many as there is work for.
    Raises PtexploreError where no worker can work at all. Workers and probes are gone when this returns or raises.
    """
    from multiprocessing.connection import wait

    crew = [_Worker(plan)]
    left: deque[str] | None = None
    done = total = 0
    try:
        while crew:
            ready = wait([worker.link for worker in crew])
            for worker in [worker for worker in crew if worker.link in ready]:
                said = _hear(worker, plan)
                if said is None:  # it died, and what it was at is told as failed; another takes its place
                    crew.remove(worker)
                    worker.stop()
                    crew += [_Worker(plan)] if left else []
                    done += worker.op is not None
                elif isinstance(said, list):
                    if left is None:
                        left = deque(todo(said))
                        total = len(left)
                        crew += [_Worker(plan) for _ in range(min(jobs, total) - 1)]
                else:
                    done += 1
                progressed(done, total)
                if said is None:
                    continue
                if left:
                    worker.give(left.popleft())
                else:
                    crew.remove(worker)
                    worker.stop()
    finally:
        for worker in crew:
            worker.stop()


def _hear(worker: _Worker, plan: SurveyPlan) -> list[str] | str | None:
    """What a worker says: all operators when it begins, one when it is done with it; None when it has died.

    Raises PtexploreError where the worker met one, or died before it was given anything.
    """
    try:
        said = worker.link.recv()
    except (EOFError, OSError):
        if worker.op is None:
            why = f"it ended with status {worker.process.exitcode} before its first operator"
            raise PtexploreError("a worker of the survey died", why, "ptexplore survey --jobs 1") from None
        _died(worker.op, plan)
        return None
    if isinstance(said, dict):
        raise PtexploreError(**said)
    found: list[str] | str = said
    return found


def _died(op: str, plan: SurveyPlan) -> None:
    from ptexplore.capture.survey import Surveyed
    from ptexplore.view.survey import Folder

    folder, why = Folder(plan.folder), "the worker that surveyed it died"
    folder.save(folder.load(op) if plan.anew else Surveyed(op), None, why)


def _work(link: Connection[Any, Any], plan: SurveyPlan, parent: int) -> None:
    """A worker's whole life."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the parent's, who then ends us
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    from ptexplore.source.runtime.describe import find_runtime
    from ptexplore.workspace.installed_torch import open_installed
    from ptexplore.workspace.trace_lookup import open_lookup

    try:
        torch = open_installed(find_runtime(plan.python))
        lookup = open_lookup(torch)
        if plan.anew:
            _conclude(link, plan, lookup)
        else:
            _survey(link, plan, torch, lookup)
    except PtexploreError as error:
        with contextlib.suppress(BrokenPipeError):
            parts = ("message", "why", "hint", "exit_code")
            link.send({name: getattr(error, name) for name in parts})
    except (EOFError, BrokenPipeError):
        pass  # the parent is gone
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # nothing is left that would have to be ended


def _survey(link: Connection[Any, Any], plan: SurveyPlan, torch: InstalledTorch, lookup: Lookup) -> None:
    from ptexplore.capture.survey import Surveyor
    from ptexplore.view.survey import Folder

    surveyor = Surveyor(torch.runtime, plan.request, torch.catalogue.digests())
    folder = Folder(plan.folder)
    try:
        link.send(surveyor.operators())
        while True:
            op = link.recv()
            _keep(folder, surveyor.survey(op), lookup)
            link.send(op)
    finally:
        surveyor.close()


def _conclude(link: Connection[Any, Any], plan: SurveyPlan, lookup: Lookup) -> None:
    from ptexplore.view.survey import Folder

    folder = Folder(plan.folder)
    about = folder.about()
    link.send(list(about.operators) if about is not None else [])
    while True:
        op = link.recv()
        _keep(folder, folder.load(op), lookup)
        link.send(op)


def _keep(folder: Folder, run: Surveyed, lookup: Lookup) -> None:
    """Conclude and save. What fails in our own code is told of the operator that it failed for."""
    from ptexplore.resolve.trail import resolve

    trail, why = None, ""
    try:
        trail = resolve(run.session, lookup) if run.session is not None else None
    except Exception as error:  # the other operators are surveyed all the same
        if os.environ.get("PTEXPLORE_DEBUG"):
            raise
        why = f"ptexplore's own code failed to resolve it: {type(error).__name__}: {error}"
    folder.save(run, trail, why)


def _leave(number: int, frame: Any) -> None:
    del frame
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: the probe is being ended
    raise SystemExit(128 + number)


def _watch(parent: int) -> None:
    """End with the parent, however that ends."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
