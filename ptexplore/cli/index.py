"""`ptexplore index`: read the source into the index, or bring it up to date; write it as a tags file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptexplore.errors import MISSING, USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.model import Checkout, Runtime
    from ptexplore.source.progress import Progress


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "index",
        help="read the source: every definition, use and registration",
        description="Read what changed in the checkout in use, in extensions and in the installed torch's own text.",
    )
    parser.add_argument("--checkout", metavar="NAME", help="this checkout only")
    parser.add_argument("--python", metavar="PATH", help="the torch of another Python")
    parser.add_argument("--jobs", metavar="N", type=_jobs, help="how many processes read (all cores)")
    parser.add_argument("--problems", action="store_true", help="list every file that could not be read or followed")
    parser.add_argument("--json", action="store_true", help="the summary as JSON (format 1)")
    parser.add_argument(
        "--export", nargs=2, metavar=("ctags", "FILE"), help="write the checkout's index as a tags file for editors"
    )
    parser.add_argument(
        "--semantic", nargs="*", metavar="PATH", help="then resolve uses with libclang: of these, or of `core`"
    )
    parser.add_argument("--force", action="store_true", help="let --export write over another tags file")
    parser.set_defaults(run=run)


def _jobs(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 256:
        raise argparse.ArgumentTypeError(f"{text} is no number of processes")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Index everything that there is, or one checkout; 0 however many files had problems: they are shown."""
    if options.export is not None and options.export[0] != "ctags":
        raise PtexploreError(f"{options.export[0]} is no format to export to", "ctags is", "--export ctags FILE", USAGE)
    if options.semantic is not None:
        from ptexplore.index.semantic.clang import load

        load()  # says what is missing before anything long begins
    runtime, chosen = _chosen(options)
    from ptexplore.cli.ready import refresh
    from ptexplore.cli.semantic import document as refined_document
    from ptexplore.cli.semantic import refine
    from ptexplore.view.index_summary import summary

    found = []
    with _shown() as progress:
        for one in chosen:
            built = refresh(one, runtime, progress, options.jobs)
            found.append(summary(_name(one), built, _store(one)))
        refined = refine(options, runtime, chosen, progress) if options.semantic is not None else None
        tags = _export(options, chosen, progress) if options.export is not None else None
    if options.json:
        document = {"format": 1, "indexes": [one.document for one in found], "exported": tags}
        if refined is not None:
            document["semantic"] = refined_document(*refined)
        json.dump(document, sys.stdout)
        print()
        return 0
    from ptexplore.render.index_summary import print_exported, print_summary

    for each in found:
        print_summary(each, every_problem=options.problems)
    if refined is not None:
        from ptexplore.render.semantic import print_refined

        print_refined(*refined, everything=options.problems)
    if tags is not None:
        print_exported(tags)
    return 0


def _chosen(options: argparse.Namespace) -> tuple[Runtime | None, list[Checkout | Runtime]]:
    """The runtime, where there is one, and what to index."""
    from ptexplore.cli.ready import sources
    from ptexplore.source.checkouts import is_there, load

    runtime, found = sources(options.python, needed=options.checkout is None)
    if options.checkout is not None:
        checkout = load(options.checkout)
        if not is_there(checkout):
            hint = f"ptexplore fetch --remove {checkout.name}"
            raise PtexploreError(f"the checkout {checkout.name} is gone", f"no folder {checkout.root}", hint, MISSING)
        return runtime, [checkout]
    return runtime, [*found, *([runtime] if runtime is not None else [])]


def _export(options: argparse.Namespace, chosen: list[Checkout | Runtime], progress: Progress) -> dict[str, Any]:
    from ptexplore.index.export import write_tags
    from ptexplore.model import Checkout

    checkout = next((one for one in chosen if isinstance(one, Checkout)), None)
    if checkout is None:
        why = "tags name files below one folder, and nothing was fetched"
        raise PtexploreError("there is no checkout to export", why, "ptexplore fetch", MISSING)
    target = Path(options.export[1]).absolute()
    progress.step("writing tags")
    try:
        count = write_tags(_store(checkout), Path(checkout.root), target, force=options.force)
    except OSError as error:
        why = f"{error.filename or target}: {error.strerror or error}"
        raise PtexploreError("the tags cannot be written", why, "another name for FILE") from error
    return {"checkout": checkout.name, "file": str(target), "tags": count}


def _name(source: Checkout | Runtime) -> str:
    from ptexplore.model import Runtime

    return f"torch {source.version}" if isinstance(source, Runtime) else source.name


def _store(source: Checkout | Runtime) -> Any:
    from ptexplore.cli.ready import index_of
    from ptexplore.store.index_store import IndexStore

    return IndexStore.open(index_of(source))


def _shown() -> Any:
    from ptexplore.render.progress import progress_bar

    return progress_bar("indexing")
