"""`ptexplore survey`: trace PyTorch's own operator samples and report what became of each."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptexplore.errors import MISSING, USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.cli.ready import Ready
    from ptexplore.view.survey_files import About, Folder

EXAMPLES = """\
examples:
  ptexplore survey                      every operator's smallest sample, forward; goes on where it was left
  ptexplore survey --only '^linalg' --backward
  ptexplore survey --report --markdown  the tables, from what is saved
  ptexplore trace --load FOLDER/traces/add.json.gz

The samples are OpInfo's (torch.testing._internal), which needs the packages expecttest and numpy beside torch.
"""
MOST_JOBS = 64


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "survey",
        help="trace PyTorch's own sample of every operator, and report",
        description="Trace the smallest OpInfo sample of every operator; report what was seen, and what was not.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_argument_group("what is surveyed")
    what.add_argument("--backward", action="store_true", help="run backward too")
    what.add_argument("--only", metavar="PATTERN", help="operators whose name this regular expression finds")
    what.add_argument("--limit", type=int, metavar="N", help="at most N operators, spread over all")
    what.add_argument("--python", metavar="PATH", help="survey the torch of another Python")
    what.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds that each run may take (60)")
    how = parser.add_argument_group("how")
    how.add_argument("--jobs", type=int, metavar="N", help="workers (as many as processors)")
    how.add_argument("--out", metavar="DIR", help="keep it in this folder (the cache)")
    how.add_argument("--again", action="store_true", help="survey what is saved already once more")
    how.add_argument("--resolve", action="store_true", help="conclude anew from the saved traces; run nothing")
    shown = parser.add_argument_group("what is shown")
    shown.add_argument("--report", action="store_true", help="report on what is saved; run nothing")
    shown.add_argument("--json", action="store_true", help="the report as JSON (format 1, docs/json.md)")
    shown.add_argument("--markdown", action="store_true", help="the report as Markdown tables, every operator in them")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Survey what is asked for and not saved yet, then report."""
    pattern = _check(options)
    from ptexplore.view.survey_files import Folder

    if options.report and options.out:
        folder = Folder(Path(options.out))  # no torch is needed
    else:
        from ptexplore.cli.ready import runtime_of

        folder = Folder(_place(options, runtime_of(options.python).key))
    if not options.report:
        _survey(options, folder, pattern)
    return _report(options, folder, pattern)


def _check(options: argparse.Namespace) -> re.Pattern[str]:
    if options.json and options.markdown:
        raise PtexploreError("--json or --markdown, not both", "one report is printed", "--markdown", USAGE)
    if sum((options.report, options.resolve, options.again)) > 1:
        why = "--report runs nothing, --resolve reads what is saved, --again replaces it"
        raise PtexploreError("only one of --report, --resolve and --again", why, "ptexplore survey --report", USAGE)
    if options.timeout <= 0:
        raise PtexploreError(f"--timeout {options.timeout:g} is no time", "seconds above 0", "--timeout 60", USAGE)
    if options.limit is not None and options.limit < 1:
        raise PtexploreError("--limit must be 1 or more", f"{options.limit} would survey nothing", "--limit 40", USAGE)
    if options.jobs is not None and not 1 <= options.jobs <= MOST_JOBS:
        why = f"{options.jobs} is not from 1 to {MOST_JOBS}"
        raise PtexploreError("--jobs is how many work side by side", why, "--jobs 2", USAGE)
    try:
        return re.compile(options.only or "")
    except re.error as error:
        why = f"{error}"
        raise PtexploreError(f"--only {options.only} is no regular expression", why, "--only '^add'", USAGE) from error


def _place(options: argparse.Namespace, key: str) -> Path:
    from ptexplore.locations import survey_dir

    return Path(options.out) if options.out else survey_dir(key, _phase(options))


def _phase(options: argparse.Namespace) -> str:
    return "forward and backward" if options.backward else "forward"


def _survey(options: argparse.Namespace, folder: Folder, pattern: re.Pattern[str]) -> None:
    from ptexplore.cli.looking import look
    from ptexplore.cli.ready import ready

    here = ready(options.python)
    trees = tuple(f"{tree.name} ({tree.relation})" for tree in look(here).infos)  # indexes are made now, and once
    about = _about(options, folder, here, trees)
    if options.resolve:
        _sit(options, folder, about, _Todo(options, folder, pattern, saved=True))
        return
    todo = _Todo(options, folder, pattern)
    if about.operators and not options.again and not todo.pick(about.operators):
        return  # all that is asked for is there
    _sit(options, folder, about, todo)


def _about(options: argparse.Namespace, folder: Folder, here: Ready, trees: tuple[str, ...]) -> About:
    """What the folder is about from now on. Raises PtexploreError where it is another survey's."""
    from ptexplore.view.survey_files import About

    runtime = here.runtime
    new = About(runtime.version, runtime.git_version, runtime.python_version, _phase(options))
    old = folder.about()
    if old is None:
        if options.resolve:
            raise _nothing(folder)
        return replace(new, trees=trees)
    if (old.torch, old.git_version, old.phase) != (new.torch, new.git_version, new.phase):
        why = f"it is of torch {old.torch}, {old.phase}; this would be torch {new.torch}, {new.phase}"
        raise PtexploreError(f"{folder.root} holds another survey", why, "--out with another folder", USAGE)
    return replace(old, trees=trees, python=new.python)


class _Todo:
    """Picks the operators to survey; told once what there are."""

    def __init__(
        self, options: argparse.Namespace, folder: Folder, pattern: re.Pattern[str], *, saved: bool = False
    ) -> None:
        self.options = options
        self.folder = folder
        self.pattern = pattern
        self.saved = saved  # those that are done, not those that are left

    def pick(self, operators: Sequence[str]) -> list[str]:
        chosen = _chosen(self.options, self.pattern, operators)
        if self.options.again:
            return chosen
        done = self.folder.rows()
        return [op for op in chosen if (op in done) == self.saved]


def _chosen(options: argparse.Namespace, pattern: re.Pattern[str], operators: Sequence[str]) -> list[str]:
    """The operators asked for; of more than --limit, some from all over the list."""
    found = [op for op in operators if pattern.search(op)]
    if not found and operators:
        why = f"OpInfo has {len(operators)} operators, none of that name"
        raise PtexploreError(f"nothing matches --only {options.only}", why, "--only '^add'", USAGE)
    if options.limit is None or len(found) <= options.limit:
        return found
    return [found[number * len(found) // options.limit] for number in range(options.limit)]


def _sit(options: argparse.Namespace, folder: Folder, about: About, todo: _Todo) -> None:
    """One sitting: until all is done, or Ctrl-C; what is done is kept either way."""
    from ptexplore.capture.request import TraceRequest
    from ptexplore.cli.surveying import Plan, survey
    from ptexplore.render.progress import progress_bar

    request = TraceRequest(native=True, grad=options.backward, backward=options.backward, timeout=options.timeout)
    plan = Plan(options.python, request, folder.root, options.resolve)
    jobs = options.jobs or os.cpu_count() or 1
    told, picked = about, list[str]()
    began = time.monotonic()

    def pick(operators: list[str]) -> list[str]:
        nonlocal told, picked
        told = replace(about, operators=tuple(operators), jobs=about.jobs if options.resolve else jobs)
        picked = todo.pick(operators)
        if len(picked) == len(operators) and not options.resolve:
            told = replace(told, wall=0.0)  # all of it anew
        folder.tell(told)
        for op in picked if options.again else ():
            folder.forget(op)
        return picked

    with progress_bar(f"surveying torch {about.torch} into {folder.root}") as progress:

        def progressed(now: int, of: int) -> None:
            # A log gets a line for every tenth; a bar moves on by itself.
            share = "" if sys.stderr.isatty() or not of else f", {10 * (10 * now // of)}% of {of}"
            progress.step(f"operators{share}", now / of if of else None)

        try:
            survey(plan, jobs, pick, progressed)
        except KeyboardInterrupt:
            done = folder.rows().keys() & set(picked)
            print(f"{len(done)} of {len(picked)} operators done and kept: the same command goes on", file=sys.stderr)
            raise
        finally:
            if told.operators and not options.resolve:
                folder.tell(replace(told, wall=told.wall + time.monotonic() - began))


def _report(options: argparse.Namespace, folder: Folder, pattern: re.Pattern[str]) -> int:
    from ptexplore.view.survey_files import told
    from ptexplore.view.survey_report import report_of, report_to_document

    about = folder.about()
    if about is None:
        raise _nothing(folder)
    rows = folder.rows()
    report = report_of(told(about, rows), _chosen(options, pattern, about.operators), rows, about.trees)
    if options.json:
        json.dump(report_to_document(report), sys.stdout)
        print()
        return 0
    from ptexplore.render.console import make_console
    from ptexplore.render.survey import markdown, print_survey

    if options.markdown:
        print("\n".join(markdown(report)))
    else:
        print_survey(make_console(), report)
    return 0


def _nothing(folder: Folder) -> PtexploreError:
    why = f"{folder.root} holds none"
    return PtexploreError("there is no saved survey", why, "ptexplore survey --limit 40", MISSING)
