"""`ptexplore html OUT`: a static site of source, tours, operators and traces, for a study group."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptexplore.cli.notes import add_folders, add_tree
from ptexplore.errors import MISSING, USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.cli.html_build import Written

_NAMED = 5  # of the stops that are lost
EPILOG = """\
scopes: tours  what tours, notes and traces touch, and one step around it (the default)
        core   c10, ATen's core, its native functions, autograd and the generated code, with all operators
        all    aten, c10, torch/csrc and the generated code, with all operators
"""


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "html",
        help="give my study group a site",
        description="Write a site of the source with its tours, notes, operators and traces, and a search that needs "
        "no server. What is there already and has not changed is kept.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("out", metavar="OUT", help="the folder to write into")
    parser.add_argument("--scope", choices=("tours", "core", "all"), default="tours", help="how much source (tours)")
    parser.add_argument("--trace", metavar="FILE", nargs="+", action="extend", default=[],
                        help="traces that `ptexplore trace --save` wrote")  # fmt: skip
    add_folders(parser)
    add_tree(parser)
    parser.add_argument("--title", metavar="TEXT", help="the site's name")
    parser.add_argument("--base-url", metavar="URL", help="where the site will be, for its canonical links")
    parser.add_argument("--repo-url", metavar="URL", help="where the source can be read: …/blob/TAG")
    parser.add_argument("--jobs", metavar="N", type=int, help="processes (default: one a core, eight at most)")
    parser.add_argument("--force", action="store_true", help="write into a folder that holds something else")
    parser.add_argument("--strict", action="store_true", help="fail (exit 3) where a stop of a tour is lost")
    parser.add_argument("--check", action="store_true", help="then follow every link and anchor of the site")
    parser.add_argument("--serve", metavar="PORT", type=int, nargs="?", const=8000,
                        help="then show it on this machine alone (port 8000)")  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the site; check and serve it where that is asked for."""
    _check(options)
    from ptexplore.cli.html_build import build

    written = build(options)
    _tell(written, options)
    if options.check:
        _follow(Path(options.out))
    if written.lost and options.strict:
        names = ", ".join(written.lost[:_NAMED]) + (" …" if len(written.lost) > _NAMED else "")
        why = f"{len(written.lost)} stops have no place in this source: {names}"
        raise PtexploreError("tours have lost stops", why, "ptexplore notes check", MISSING)
    if options.serve is not None:
        from ptexplore.cli.html_serve import serve

        serve(Path(options.out), options.serve)
    return 0


def _check(options: argparse.Namespace) -> None:
    if options.jobs is not None and options.jobs < 1:
        raise PtexploreError("--jobs must be 1 or more", f"{options.jobs} write nothing", "--jobs 2", USAGE)
    for name, url in (("--base-url", options.base_url), ("--repo-url", options.repo_url)):
        if url is not None and not url.startswith(("https://", "http://")):
            raise PtexploreError(f"{name} {url} is no URL", "it must begin with https://", f"{name} https://…", USAGE)
    if options.serve is not None and not 0 <= options.serve <= 65535:
        raise PtexploreError(f"--serve {options.serve} is no port", "0 to 65535", "--serve 8000", USAGE)


def _tell(written: Written, options: argparse.Namespace) -> None:
    from ptexplore.render.plain import clean

    kept = f", {written.kept:,} kept as they were" if written.kept else ""
    gone = f", {written.gone:,} removed" if written.gone else ""
    beside = f", {written.size / written.text:.2f} x the source text" if written.text else ""
    print(f"{written.made:,} files written{kept}{gone}: {written.size / 1e6:,.1f} MB{beside}")
    for problem in written.problems:
        print(clean(f"! {problem}"))
    if written.lost:
        names = ", ".join(written.lost[:_NAMED]) + (" …" if len(written.lost) > _NAMED else "")
        print(clean(f"! {len(written.lost)} stops have no place in this source, and their pages say so: {names}"))
    print(clean(f"open {Path(options.out).resolve() / 'index.html'}"))


def _follow(root: Path) -> None:
    from ptexplore.errors import FAILED
    from ptexplore.render.html.check import broken

    count, found = broken(root)
    if not found:
        print(f"{count:,} links lead to something")
        return
    from ptexplore.render.plain import clean

    for one in found[:20]:
        print(clean(f"! {one}"))
    why = f"{len(found):,} of {count:,} lead to nothing"
    raise PtexploreError("the site has broken links", why, "ptexplore html OUT --force writes it again", FAILED)
