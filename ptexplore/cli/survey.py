"""`ptexplore survey`: trace PyTorch's own operator samples and report the result of each."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from ptexplore.cli.options import open_console, open_workspace, print_json
from ptexplore.errors import USAGE, PtexploreError
from ptexplore.render.terminal.progress import progress_bar

if TYPE_CHECKING:
    from ptexplore.workspace.survey import SurveyRequest

EPILOG = """\
examples:
  ptexplore survey                      every operator's smallest sample, forward; continues an interrupted survey
  ptexplore survey --only '^linalg' --backward
  ptexplore survey --report --markdown  tables of saved results
  ptexplore trace --load FOLDER/traces/add.json.gz

The samples are OpInfo's (torch.testing._internal), which needs the packages expecttest and numpy beside torch.
"""
MOST_JOBS = 64
WHAT = "What is surveyed"
HOW = "How"
SHOWN = "What is shown"


def survey(
    backward: Annotated[bool, Option("--backward", help="also run backward", rich_help_panel=WHAT)] = False,
    alone: Annotated[
        bool,
        Option(
            "--alone",
            help="only the sample itself, not also under vmap, jit.trace and an autograd Function",
            rich_help_panel=WHAT,
        ),
    ] = False,
    only: Annotated[
        str | None,
        Option(
            metavar="PATTERN", help="only operators whose name matches this regular expression", rich_help_panel=WHAT
        ),
    ] = None,
    limit: Annotated[
        int | None, Option(metavar="N", help="at most N operators, evenly chosen", rich_help_panel=WHAT)
    ] = None,
    python: Annotated[
        str | None, Option(metavar="PATH", help="use the torch of another Python environment", rich_help_panel=WHAT)
    ] = None,
    timeout: Annotated[
        float, Option(metavar="S", help="time limit for each run, in seconds (60)", rich_help_panel=WHAT)
    ] = 60.0,
    jobs: Annotated[
        int | None, Option(metavar="N", help="number of workers (default: all cores)", rich_help_panel=HOW)
    ] = None,
    out: Annotated[
        str | None, Option(metavar="DIR", help="save results in this folder (default: the cache)", rich_help_panel=HOW)
    ] = None,
    again: Annotated[bool, Option("--again", help="trace saved operators again", rich_help_panel=HOW)] = False,
    resolve: Annotated[
        bool, Option("--resolve", help="resolve the saved traces again; run nothing", rich_help_panel=HOW)
    ] = False,
    report_only: Annotated[
        bool, Option("--report", help="only report on saved results; run nothing", rich_help_panel=SHOWN)
    ] = False,
    as_json: Annotated[
        bool, Option("--json", help="the report as JSON (format 1, docs/json.md)", rich_help_panel=SHOWN)
    ] = False,
    as_markdown: Annotated[
        bool, Option("--markdown", help="the report as Markdown tables", rich_help_panel=SHOWN)
    ] = False,
) -> int:
    """Trace the smallest OpInfo sample of every operator, and report the results."""
    from ptexplore.workspace.survey import SurveyRequest

    if as_json and as_markdown:
        raise PtexploreError("--json and --markdown cannot be combined", "one report is printed", "--markdown", USAGE)
    if sum((report_only, resolve, again)) > 1:
        why = "--report runs nothing, --resolve reads the saved traces, --again replaces them"
        raise PtexploreError(
            "--report, --resolve and --again cannot be combined", why, "ptexplore survey --report", USAGE
        )
    request = SurveyRequest(
        backward, only or "", limit, timeout, jobs, Path(out) if out else None, again, resolve, alone
    )
    _check(request)
    with open_workspace(python) as workspace:
        report = workspace.survey_report(request) if report_only else workspace.survey(request, _counting)
    if as_json:
        from ptexplore.view.documents.survey import survey_document

        print_json(survey_document(report))
        return 0
    from ptexplore.render.terminal.survey import markdown, print_survey

    if as_markdown:
        print("\n".join(markdown(report)))
    else:
        print_survey(open_console(), report)
    return 0


def _check(request: SurveyRequest) -> None:
    if request.timeout <= 0:
        why = f"{request.timeout:g} is not above 0"
        raise PtexploreError("--timeout must be a number of seconds", why, "--timeout 60", USAGE)
    if request.limit is not None and request.limit < 1:
        raise PtexploreError("--limit must be 1 or more", f"{request.limit} would survey nothing", "--limit 40", USAGE)
    if request.jobs is not None and not 1 <= request.jobs <= MOST_JOBS:
        why = f"{request.jobs} workers are too {'few' if request.jobs < 1 else 'many'}"
        raise PtexploreError(f"--jobs must be from 1 to {MOST_JOBS}", why, "--jobs 2", USAGE)
    try:
        re.compile(request.only)
    except re.error as error:
        message = f"--only {request.only} is not a regular expression"
        raise PtexploreError(message, str(error), "--only '^add'", USAGE) from error


@contextmanager
def _counting(title: str) -> Iterator[Callable[[int, int], None]]:
    with progress_bar(title) as progress:

        def progressed(now: int, of: int) -> None:
            # A log gets a line for every tenth; a progress bar moves by itself.
            share = "" if sys.stderr.isatty() or not of else f", {10 * (10 * now // of)}% of {of}"
            progress.step(f"operators{share}", now / of if of else None)

        yield progressed
