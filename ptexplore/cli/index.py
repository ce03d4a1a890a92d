"""`ptexplore index`: read the source into the index or update it, and export it for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

from typer import Option

from ptexplore.cli.completion import complete_checkout
from ptexplore.cli.options import Python, open_workspace, print_json
from ptexplore.errors import USAGE, PtexploreError


def index(
    checkout: Annotated[
        str | None, Option(metavar="NAME", help="only this checkout", autocompletion=complete_checkout)
    ] = None,
    python: Python = None,
    jobs: Annotated[
        int | None, Option(min=1, max=256, metavar="N", help="number of processes (default: all cores)")
    ] = None,
    problems: Annotated[
        bool, Option("--problems", help="list every file that could not be read, with the reason")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="the summary as JSON (format 1)")] = False,
    export: Annotated[
        tuple[str, str] | None,
        Option(metavar="ctags|scip FILE", help="write a tags file for editors, or an index in SCIP"),
    ] = None,
    semantic: Annotated[
        list[str] | None,
        Option(metavar="[PATH ...]", help="also resolve uses with libclang, in these files or folders (default: core)"),
    ] = None,
    force: Annotated[bool, Option("--force", help="let --export replace its own file")] = False,
) -> int:
    """Index the checkout in use, extensions and the installed torch. Files that have not changed are not read again."""
    from ptexplore.workspace.index_runs import ExportFormat, IndexRequest

    chosen = next((kind for kind in get_args(ExportFormat) if export is not None and kind == export[0]), None)
    if export is not None and chosen is None:
        why = f"the formats are {' and '.join(get_args(ExportFormat))}"
        raise PtexploreError(f"--export {export[0]} is not a format", why, "--export ctags FILE", USAGE)
    if semantic:
        from ptexplore.index.semantic.clang import load

        load()  # reports a missing libclang before anything long begins
    paths = [path for path in semantic if path] if semantic else None
    exported = (chosen, Path(export[1])) if chosen is not None and export is not None else None
    request = IndexRequest(checkout, jobs, paths, exported, force)
    with open_workspace(python) as workspace:
        done = workspace.index(request)
    if as_json:
        from ptexplore.view.documents.index import index_document

        print_json(index_document(done.summaries, done.refined, done.note, done.tags))
        return 0
    from ptexplore.render.terminal.index_summary import print_exported, print_refined, print_summary

    for summary in done.summaries:
        print_summary(summary, every_problem=problems)
    if done.refined is not None:
        print_refined(done.refined, done.note, everything=problems)
    if done.tags is not None:
        print_exported(done.tags)
    return 0
