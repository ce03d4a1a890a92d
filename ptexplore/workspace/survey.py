"""A survey: choosing operators, running them with several workers, and reporting on the saved results."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptexplore.errors import FAILED, MISSING, USAGE, PtexploreError
from ptexplore.processes import starting_workers

if TYPE_CHECKING:
    from ptexplore.capture.probing import TraceRequest
    from ptexplore.capture.survey import Surveyed
    from ptexplore.model.places import Runtime, TreeInfo
    from ptexplore.resolve.places.lookup import Lookup
    from ptexplore.view.survey import About, Concluded, Folder, Report

# shows a title, the number of finished operators, and the total
Counting = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
Todo = Callable[[list[str]], Iterable[str]]  # selects the operators to survey
Progressed = Callable[[int, int], None]  # how many are done, of how many


@dataclass(frozen=True)
class SurveyRequest:
    """The request for a survey. `only` is a regular expression, `out` the folder (default: one in the cache).

    `again` repeats operators that are saved already. `resolve` resolves the saved sessions again and runs nothing.
    `alone` omits the runs under vmap, jit.trace and an autograd Function; a survey of backward omits them, too.
    """

    backward: bool = False
    only: str = ""
    limit: int | None = None
    timeout: float = 60.0
    jobs: int | None = None
    out: Path | None = None
    again: bool = False
    resolve: bool = False
    alone: bool = False

    @property
    def phase(self) -> str:
        """The part of each sample that runs, in words."""
        return "forward and backward" if self.backward else "forward"


def run_survey(
    request: SurveyRequest,
    folder: Folder,
    python: str | None,
    runtime: Runtime,
    trees: tuple[TreeInfo, ...],
    counting: Counting,
    notice: Callable[[str], None],
) -> None:
    """Surveys the requested operators that are not saved yet. `trees` are those that traces are resolved with.

    Finished operators are kept, also after Ctrl-C, and `notice` says so. Raises PtexploreError if the folder has
    another survey, if nothing is saved that could be resolved again, or if no worker can work.
    """
    from ptexplore.capture.probing import TraceRequest

    about = _about(request, folder, runtime, trees)
    if about.operators and not (request.again or request.resolve) and not _left(request, folder, about.operators):
        return  # everything requested is saved
    sample = TraceRequest(native=True, grad=request.backward, backward=request.backward, timeout=request.timeout)
    plan = SurveyPlan(python, sample, folder.root, request.resolve, request.alone or request.backward)
    jobs = request.jobs or os.cpu_count() or 1
    saved, picked = about, list[str]()
    began = time.monotonic()

    def pick(operators: list[str]) -> list[str]:
        nonlocal saved, picked
        saved = replace(about, operators=tuple(operators), jobs=about.jobs if request.resolve else jobs)
        picked = _left(request, folder, operators)
        if len(picked) == len(operators) and not request.resolve:
            saved = replace(saved, wall=0.0)  # everything is surveyed again
        folder.tell(saved)
        for op in picked if request.again else ():
            folder.forget(op)
        return picked

    with counting(f"surveying torch {about.torch} into {folder.root}") as progressed:
        try:
            survey_with_workers(plan, jobs, pick, progressed)
        except KeyboardInterrupt:
            done = folder.rows().keys() & set(picked)
            notice(f"{len(done)} of {len(picked)} operators are done and saved: the same command continues")
            raise
        finally:
            if saved.operators and not request.resolve:
                folder.tell(replace(saved, wall=saved.wall + time.monotonic() - began))


def _about(request: SurveyRequest, folder: Folder, runtime: Runtime, trees: tuple[TreeInfo, ...]) -> About:
    """Returns the new description of the folder. Raises PtexploreError if it is about something else."""
    from ptexplore.view.survey import About

    new = About(runtime.version, runtime.git_version, runtime.python_version, request.phase)
    resolved_with: dict[str, Any] = {
        "trees": tuple(f"{tree.name} ({tree.relation})" for tree in trees),
        "matched": any(tree.relation == "matches" for tree in trees),
    }
    old = folder.about()
    if old is None:
        if request.resolve:
            raise _nothing_saved(folder)
        return replace(new, **resolved_with)
    if (old.torch, old.git_version, old.phase) != (new.torch, new.git_version, new.phase):
        why = f"that survey is of torch {old.torch}, {old.phase}; this one would be of torch {new.torch}, {new.phase}"
        raise PtexploreError(f"{folder.root} has another survey", why, "choose another folder: --out", USAGE)
    return replace(old, python=new.python, **resolved_with)


def _left(request: SurveyRequest, folder: Folder, operators: Sequence[str]) -> list[str]:
    """Returns the operators to survey now: the unfinished ones, or with `resolve` the finished ones."""
    chosen = _chosen(request, operators)
    if request.again:
        return chosen
    done = folder.rows()
    return [op for op in chosen if (op in done) == request.resolve]


def _chosen(request: SurveyRequest, operators: Sequence[str]) -> list[str]:
    """Returns the requested operators. If there are more than the limit, a sample from all over the list."""
    chosen = [op for op in operators if re.search(request.only, op)]
    if not chosen and operators:
        why = f"OpInfo has {len(operators)} operators, and none has such a name"
        raise PtexploreError(f"nothing matches --only {request.only}", why, "--only '^add'", USAGE)
    if request.limit is None or len(chosen) <= request.limit:
        return chosen
    return [chosen[number * len(chosen) // request.limit] for number in range(request.limit)]


def survey_report(request: SurveyRequest, folder: Folder) -> Report:
    """Returns the report on a folder's saved results. Raises PtexploreError(MISSING) if there are none."""
    from ptexplore.view.survey import report_of

    about = folder.about()
    if about is None:
        raise _nothing_saved(folder)
    return report_of(about, _chosen(request, about.operators), folder.rows())


def _nothing_saved(folder: Folder) -> PtexploreError:
    return PtexploreError("there is no saved survey", f"{folder.root} has none", "ptexplore survey --limit 40", MISSING)


@dataclass(frozen=True)
class SurveyPlan:
    """The instructions for every worker. `anew` resolves saved sessions again and runs nothing.

    `alone` omits the runs under vmap, jit.trace and an autograd Function.
    """

    python: str | None
    request: TraceRequest
    folder: Path
    anew: bool = False
    alone: bool = False


class _Worker:
    """The parent's end of one worker."""

    def __init__(self, plan: SurveyPlan) -> None:
        # With fork, a lock that the thread of a progress bar holds would stay locked in the child.
        context = multiprocessing.get_context("spawn")
        self.link, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, plan, os.getpid()), daemon=True)
        self.op: str | None = None
        with starting_workers():
            self.process.start()
        theirs.close()

    def give(self, op: str) -> None:
        self.op = op
        with suppress(BrokenPipeError):  # it died: its link reports that, and the operator is lost with it
            self.link.send(op)

    def stop(self) -> None:
        self.process.terminate()
        self.process.join(10)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.link.close()


def survey_with_workers(plan: SurveyPlan, jobs: int, todo: Todo, progressed: Progressed) -> None:
    """Surveys the operators that `todo` selects. The worker that ran an operator also saves the result.

    One worker starts first, since it reports the operators; then come as many workers as there is work for. Raises
    PtexploreError if no worker can work. Workers and probes are gone when this returns or raises.
    """
    crew = [_Worker(plan)]
    left: deque[str] | None = None
    done = total = 0
    try:
        while crew:
            ready = wait([worker.link for worker in crew])
            for worker in [worker for worker in crew if worker.link in ready]:
                answer = _hear(worker, plan)
                if not isinstance(answer, list):
                    done += 1
                elif left is None:
                    left = deque(todo(answer))
                    total = len(left)
                    crew += [_Worker(plan) for _ in range(min(jobs, total) - 1)]
                progressed(done, total)
                if left and answer is not None:
                    worker.give(left.popleft())
                    continue
                crew.remove(worker)
                worker.stop()
                if left:  # it died; another one takes its place
                    crew.append(_Worker(plan))
    finally:
        for worker in crew:
            worker.stop()


def _hear(worker: _Worker, plan: SurveyPlan) -> list[str] | str | None:
    """Returns a worker's message: first the list of all operators, later the name of each finished operator.

    None if it died; then its operator is saved as failed. Raises PtexploreError if the worker met one, or if it died
    before it was given anything.
    """
    try:
        message: dict[str, Any] | list[str] | str = worker.link.recv()
    except (EOFError, OSError):
        if worker.op is None:
            why = f"it ended with status {worker.process.exitcode} before its first operator"
            raise PtexploreError("a worker of the survey died", why, "ptexplore survey --jobs 1") from None
        from ptexplore.capture.survey import Surveyed
        from ptexplore.view.survey import Concluded, Folder

        folder = Folder(plan.folder)
        run = folder.load(worker.op) if plan.anew else Surveyed(worker.op)
        folder.save(Concluded(run, None, "the worker that surveyed it died"))
        return None
    if isinstance(message, dict):
        raise PtexploreError(**message)
    return message


def _work(link: Connection[Any, Any], plan: SurveyPlan, parent: int) -> None:
    """Runs a worker from its start to its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and then ends the workers
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    # Imported only now: before, Ctrl-C would still kill the worker, and imports would make that time longer.
    from ptexplore.capture.survey import WAYS, Surveyor
    from ptexplore.source.runtime.describe import find_runtime
    from ptexplore.view.survey import Folder
    from ptexplore.view.words.errors import in_words
    from ptexplore.workspace.opening import open_installed, open_lookup

    folder = Folder(plan.folder)
    try:
        with _telling(link, folder.root), in_words():
            torch = open_installed(find_runtime(plan.python))
            lookup = open_lookup(torch)
            if plan.anew:
                about = folder.about()
                _answer(link, list(about.operators) if about is not None else [], folder.load, folder, lookup)
            else:
                ways = () if plan.alone else WAYS
                with closing(Surveyor(torch.runtime, plan.request, torch.catalogue.digests(), ways)) as surveyor:
                    _answer(link, surveyor.operators(), surveyor.survey, folder, lookup)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # nothing is left to be ended


@contextmanager
def _telling(link: Connection[Any, Any], root: Path) -> Iterator[None]:
    """Reports an error of this block, unless it is an operator's own, to the parent, which ends the survey."""
    try:
        yield
    except (EOFError, ConnectionError):
        pass  # the parent is gone
    except (PtexploreError, OSError, MemoryError) as error:
        failure = error if isinstance(error, PtexploreError) else _stopped(error, root)
        with suppress(BrokenPipeError):
            link.send({name: getattr(failure, name) for name in ("message", "why", "hint", "exit_code")})


def _stopped(error: OSError | MemoryError, root: Path) -> PtexploreError:
    """Returns the error for a full or broken disk, or lack of memory: the operator does not count as done."""
    file = error.filename if isinstance(error, OSError) and error.filename else root
    why = f"{error.strerror or error} ({file})" if isinstance(error, OSError) else "there is no memory left"
    hint = "free disk space or memory, and run the same command: it continues after the finished operators"
    return PtexploreError("the survey stopped", why, hint, FAILED)


def _answer(
    link: Connection[Any, Any], operators: list[str], run_of: Callable[[str], Surveyed], folder: Folder, lookup: Lookup
) -> None:
    """Sends the list of operators; then runs, resolves and saves each operator that the parent asks for."""
    link.send(operators)
    while True:
        op = link.recv()
        run = run_of(op)
        folder.save(_concluded(run, lookup), [_concluded(inside, lookup) for inside in run.inside])
        link.send(op)


def _concluded(run: Surveyed, lookup: Lookup) -> Concluded:
    """Resolves the session of a run. A failure of ptexplore is recorded, and the survey goes on.

    Raises OSError and MemoryError, which are not about this run.
    """
    from ptexplore.resolve.trace import resolve
    from ptexplore.view.survey import Concluded

    try:
        return Concluded(run, resolve(run.session, lookup) if run.session is not None else None)
    except (OSError, MemoryError):
        raise
    except Exception as error:
        if os.environ.get("PTEXPLORE_DEBUG"):
            raise
        return Concluded(run, None, f"ptexplore's own code failed to resolve it: {type(error).__name__}: {error}")


def _leave(number: int, frame: Any) -> None:
    del frame
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: the probe is being ended
    raise SystemExit(128 + number)


def _watch(parent: int) -> None:
    """Ends this process when the parent ends, for any reason."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
