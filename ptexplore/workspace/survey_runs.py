"""A survey: which operators are left to do, one sitting of it, and the report on what is saved."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ptexplore.errors import MISSING, USAGE, PtexploreError

if TYPE_CHECKING:
    from pathlib import Path

    from ptexplore.model.places import Runtime
    from ptexplore.view.survey import About, Folder, Report

Counting = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]  # under a title: how many of how many


@dataclass(frozen=True)
class SurveyRequest:
    """What is surveyed, and how. `only` is a regular expression, `out` the folder (else one in the cache).

    `again` surveys what is saved once more; `resolve` concludes anew from the saved traces and runs nothing.
    """

    backward: bool = False
    only: str = ""
    limit: int | None = None
    timeout: float = 60.0
    jobs: int | None = None
    out: Path | None = None
    again: bool = False
    resolve: bool = False

    @property
    def phase(self) -> str:
        """What is run of each sample, in words."""
        return "forward and backward" if self.backward else "forward"


def survey_folder(request: SurveyRequest, runtime: Runtime) -> Folder:
    """The folder that a survey is saved in."""
    from ptexplore.locations import survey_dir
    from ptexplore.view.survey import Folder

    return Folder(request.out or survey_dir(runtime.key, request.phase))


def run_survey(
    request: SurveyRequest,
    folder: Folder,
    python: str | None,
    runtime: Runtime,
    trees: tuple[str, ...],
    counting: Counting,
    notice: Callable[[str], None],
) -> None:
    """Survey what is asked for and not saved yet; `trees` say in words what Trails are resolved with.

    What is done is kept, also after Ctrl-C, which `notice` says. Raises PtexploreError if the folder holds another
    survey, nothing is saved that could be resolved anew, or no worker can work.
    """
    about = _about(request, folder, runtime, trees)
    if about.operators and not (request.again or request.resolve) and not _left(request, folder, about.operators):
        return  # all that is asked for is there
    _sit(request, folder, about, python, counting, notice)


def _about(request: SurveyRequest, folder: Folder, runtime: Runtime, trees: tuple[str, ...]) -> About:
    """What the folder is about from now on. Raises PtexploreError if it is about something else."""
    from ptexplore.view.survey import About

    new = About(runtime.version, runtime.git_version, runtime.python_version, request.phase)
    old = folder.about()
    if old is None:
        if request.resolve:
            raise _nothing_saved(folder)
        return replace(new, trees=trees)
    if (old.torch, old.git_version, old.phase) != (new.torch, new.git_version, new.phase):
        why = f"it is of torch {old.torch}, {old.phase}; this would be torch {new.torch}, {new.phase}"
        raise PtexploreError(f"{folder.root} holds another survey", why, "--out with another folder", USAGE)
    return replace(old, trees=trees, python=new.python)


def _left(request: SurveyRequest, folder: Folder, operators: Sequence[str]) -> list[str]:
    """Of all operators those to survey now: what is not done, or with `resolve` what is."""
    chosen = _chosen(request, operators)
    if request.again:
        return chosen
    done = folder.rows()
    return [op for op in chosen if (op in done) == request.resolve]


def _chosen(request: SurveyRequest, operators: Sequence[str]) -> list[str]:
    """The operators asked for; of more than the limit, some from all over the list."""
    pattern = re.compile(request.only)
    chosen = [op for op in operators if pattern.search(op)]
    if not chosen and operators:
        why = f"OpInfo has {len(operators)} operators, none of that name"
        raise PtexploreError(f"nothing matches --only {request.only}", why, "--only '^add'", USAGE)
    if request.limit is None or len(chosen) <= request.limit:
        return chosen
    return [chosen[number * len(chosen) // request.limit] for number in range(request.limit)]


def _sit(
    request: SurveyRequest,
    folder: Folder,
    about: About,
    python: str | None,
    counting: Counting,
    notice: Callable[[str], None],
) -> None:
    """One sitting: until all is done, or Ctrl-C; what is done is kept either way."""
    from ptexplore.capture.probing import TraceRequest
    from ptexplore.workspace.survey_workers import SurveyPlan, survey_with_workers

    sample = TraceRequest(native=True, grad=request.backward, backward=request.backward, timeout=request.timeout)
    plan = SurveyPlan(python, sample, folder.root, request.resolve)
    jobs = request.jobs or os.cpu_count() or 1
    told, picked = about, list[str]()
    began = time.monotonic()

    def pick(operators: list[str]) -> list[str]:
        nonlocal told, picked
        told = replace(about, operators=tuple(operators), jobs=about.jobs if request.resolve else jobs)
        picked = _left(request, folder, operators)
        if len(picked) == len(operators) and not request.resolve:
            told = replace(told, wall=0.0)  # all of it anew
        folder.tell(told)
        for op in picked if request.again else ():
            folder.forget(op)
        return picked

    with counting(f"surveying torch {about.torch} into {folder.root}") as progressed:
        try:
            survey_with_workers(plan, jobs, pick, progressed)
        except KeyboardInterrupt:
            done = folder.rows().keys() & set(picked)
            notice(f"{len(done)} of {len(picked)} operators done and kept: the same command goes on")
            raise
        finally:
            if told.operators and not request.resolve:
                folder.tell(replace(told, wall=told.wall + time.monotonic() - began))


def survey_report(request: SurveyRequest, folder: Folder) -> Report:
    """The report on what is saved in a folder. Raises PtexploreError(MISSING) if nothing is."""
    from ptexplore.view.survey import report_of

    about = folder.about()
    if about is None:
        raise _nothing_saved(folder)
    return report_of(about, _chosen(request, about.operators), folder.rows())


def _nothing_saved(folder: Folder) -> PtexploreError:
    why = f"{folder.root} holds none"
    return PtexploreError("there is no saved survey", why, "ptexplore survey --limit 40", MISSING)
