"""`ptexplore html OUT`: a static site of source, tours, operators and traces, for a study group."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from ptexplore.cli.options import Notes, Python, Tree, fetch_if_none, open_workspace
from ptexplore.errors import FAILED, MISSING, USAGE, PtexploreError
from ptexplore.safe_text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptexplore.render.html.build import Written

_NAMED = 5  # lost stops that are listed by name
PORT = 8000
_OF_GRAPH = {"grad": True, "native": False}  # the options of a run, as of `ptexplore graph`
EPILOG = """\
scopes: tours  what tours, notes and traces touch, and one step around it (the default)
        core   c10, ATen's core, its native functions, autograd and the generated code, with all operators
        all    aten, c10, torch/csrc and the generated code, with all operators
"""


def html(
    out: Annotated[str, Argument(metavar="OUT", help="the folder to write into")],
    scope: Annotated[
        Literal["tours", "core", "all"], Option(help="how much source to include (default: tours)")
    ] = "tours",
    trace: Annotated[
        list[str] | None, Option(metavar="FILE ...", help="add traces that `ptexplore trace --save` wrote")
    ] = None,
    compiled: Annotated[
        list[str] | None,
        Option("--compile", metavar="FILE ...", help="add runs that `ptexplore compile --save` wrote"),
    ] = None,
    lower: Annotated[
        list[str] | None, Option(metavar="FILE ...", help="add runs that `ptexplore lower --save` wrote")
    ] = None,
    graph: Annotated[
        list[str] | None, Option(metavar="EXPR ...", help="run these expressions, and add their autograd graphs")
    ] = None,
    tensor: Annotated[
        list[str] | None, Option(metavar="EXPR ...", help="run these statements, and draw their tensors in memory")
    ] = None,
    notes: Notes = None,
    tree: Tree = None,
    python: Python = None,
    title: Annotated[str | None, Option(metavar="TEXT", help="the site's name")] = None,
    base_url: Annotated[
        str | None, Option(metavar="URL", help="the site's public address, for canonical links")
    ] = None,
    repo_url: Annotated[
        str | None, Option(metavar="URL", help="where the source can be read online: …/blob/TAG")
    ] = None,
    jobs: Annotated[
        int | None, Option(metavar="N", help="number of processes (default: one per core, at most eight)")
    ] = None,
    force: Annotated[bool, Option("--force", help="write into a folder that is not empty")] = False,
    strict: Annotated[bool, Option("--strict", help="fail (exit code 3) if a stop of a tour has no place")] = False,
    fetch: Annotated[
        bool, Option("--fetch", help="first download the source of the installed torch, if there is none")
    ] = False,
    check: Annotated[bool, Option("--check", help="afterwards check every link and anchor")] = False,
    serve: Annotated[
        str | None, Option(metavar="[PORT]", help="afterwards serve the site on this machine only (port 8000)")
    ] = None,
) -> int:
    """
    Write a static site with tours, annotated source, operators, traces and a search. It needs no server.
    Pages that have not changed are kept.
    """
    from ptexplore.capture.probing import asked_for
    from ptexplore.render.html.build import build_site
    from ptexplore.render.html.check import broken
    from ptexplore.render.html.output import check_output
    from ptexplore.workspace.site_contents import OtherRecordings, site_settings
    from ptexplore.workspace.typed import typed

    if jobs is not None and jobs < 1:
        raise PtexploreError("--jobs must be 1 or more", f"{jobs} processes write nothing", "--jobs 2", USAGE)
    for name, url in (("--base-url", base_url), ("--repo-url", repo_url)):
        if url is not None and not url.startswith(("https://", "http://")):
            raise PtexploreError(
                f"{name} {url} is not a URL", "it must begin with https://", f"{name} https://…", USAGE
            )
    port = _port(serve) if serve is not None else None
    folder, settings = Path(out), site_settings(scope, title, base_url, repo_url)
    check_output(folder, force=force)  # before the expressions run
    with open_workspace(python, tree, notes) as workspace:
        if fetch:
            fetch_if_none(workspace)
        graphs = tuple(workspace.graph(typed(asked_for(each, dict(_OF_GRAPH)))) for each in graph or ())
        drawn = tuple(
            (" ".join(each.split()), workspace.tensors(typed(asked_for(each, {"native": False}))).layouts)
            for each in tensor or ()
        )
        others = OtherRecordings(tuple(compiled or ()), tuple(lower or ()), graphs, drawn)
        written = build_site(workspace, folder, settings, trace or [], others, jobs=jobs, force=force)
    lost = ", ".join(written.lost[:_NAMED]) + (" …" if len(written.lost) > _NAMED else "")
    _tell(written, lost, folder)
    if written.absent:
        stops = f"{written.absent} of {written.stops} stops are about hand-written C++, which is not here"
        print(clean(f"! {stops}: ptexplore html {shlex.quote(out)} --fetch downloads it first (or ptexplore fetch)"))
    if check:
        _report_links(*broken(folder))
    if written.lost and strict:
        why = f"{len(written.lost)} stops have no place in this source: {lost}"
        raise PtexploreError("stops of tours have no place", why, "ptexplore notes check", MISSING)
    if port is not None:
        from ptexplore.render.html.serve import show_site

        show_site(folder, port)
    return 0


def _port(text: str) -> int:
    if text and (not text.isdecimal() or len(text) > 5 or int(text) > 65535):
        raise PtexploreError(
            f"--serve {text} is not a port", "a port is a number from 0 to 65535", f"--serve {PORT}", USAGE
        )
    return int(text or PORT)


def _tell(written: Written, lost: str, root: Path) -> None:
    kept = f", {written.kept:,} unchanged" if written.kept else ""
    gone = f", {written.gone:,} removed" if written.gone else ""
    beside = f", {written.size / written.text:.2f} x the source text" if written.text else ""
    print(f"{written.made:,} files written{kept}{gone}: {written.size / 1e6:,.1f} MB{beside}")
    for problem in written.problems:
        print(clean(f"! {problem}"))
    if written.lost:
        print(clean(f"! {len(written.lost)} stops have no place in this source; their pages say so: {lost}"))
    print(clean(f"open {root.resolve() / 'index.html'}"))


def _report_links(count: int, dead: Sequence[str]) -> None:
    """Prints how many links work. Raises PtexploreError if any is broken."""
    if not dead:
        print(f"{count:,} links checked: all have a target")
        return
    for link in dead[:20]:
        print(clean(f"! {link}"))
    why = f"{len(dead):,} of {count:,} links have no target"
    raise PtexploreError("the site has broken links", why, "ptexplore html OUT --force writes it again", FAILED)
