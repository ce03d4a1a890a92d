"""Builds a site from a workspace: decides which pages there are, writes the changed ones, deletes the old ones."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptexplore.annotations.concepts import load_path
from ptexplore.errors import PtexploreError
from ptexplore.index.build import available
from ptexplore.lazy import uncollected
from ptexplore.render.html import lists
from ptexplore.render.html.cards import Cards
from ptexplore.render.html.output import Output, SiteWork, digest, in_processes, open_output
from ptexplore.render.html.pages import write_assets
from ptexplore.render.html.recordings import Recordings
from ptexplore.render.html.search_shards import Search
from ptexplore.render.html.source_pages import Sources
from ptexplore.render.html.tours import Tours
from ptexplore.render.html.traces import Traces
from ptexplore.render.html.use_shards import UsesWriter
from ptexplore.resolve.places.stubs import Stubs
from ptexplore.view.card import card, places_of_key
from ptexplore.view.notes.tour import Guide
from ptexplore.workspace.example_trace import EXAMPLE, example_trace
from ptexplore.workspace.site_contents import NOTHING, OtherRecordings, SiteContents, plan_site

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ptexplore.model.places import SourceRef
    from ptexplore.resolve.places.lookup import Lookup
    from ptexplore.source.progress import Progress
    from ptexplore.store.index.reader import IndexStore
    from ptexplore.view.site.site import Settings, Site
    from ptexplore.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Written:
    """The result of a build.

    `made`, `kept` and `gone` count the files that changed, did not change, and were deleted. `size` is the number of
    bytes of all files, `text` the number of bytes of source text in them. `lost` are the stops without a place,
    `problems` everything that was wrong. Of `stops` stops, `absent` are lost because there is no checkout.
    """

    made: int
    kept: int
    gone: int
    size: int
    text: int
    lost: Sequence[str]
    problems: Sequence[str]
    stops: int = 0
    absent: int = 0


def build_site(
    workspace: Workspace,
    folder: Path,
    settings: Settings,
    traces: Sequence[str] = (),
    others: OtherRecordings = NOTHING,
    *,
    jobs: int | None = None,
    force: bool = False,
) -> Written:
    """Write the site of a workspace into a folder. `traces` are files that `trace --save` wrote.

    Raises PtexploreError. The files that were written before the error are kept.
    """
    with uncollected():  # until all the data for it is gone: searching it for garbage takes seconds
        contents, missing = _with_example(workspace, workspace.site_contents(traces, others))
        return _build(workspace, folder, settings, contents, missing, jobs or min(available(), 8), force=force)


def _build(
    workspace: Workspace, folder: Path, settings: Settings, contents: SiteContents, missing: list[str], jobs: int,
    *, force: bool,
) -> Written:  # fmt: skip
    roots = [root for indexed in contents.trees for layer in indexed.tree.layers for root in layer.roots]
    watched = workspace.watch(f"writing a site to {folder}")
    with open_output(folder, roots, force=force) as out, watched as progress:
        site = plan_site(contents, settings, partial(_cpu_kernels, workspace))
        out.begin()
        try:
            lost, problems = _write(workspace, contents, site, out, jobs, progress)
        except BaseException:
            out.keep()
            raise
        gone = out.finish()
    size = out.size + sum(int(row[1]) for row in out.pages.values())
    text = sum(int(out.pages[url][2]) for url in site.sources.values() if url in out.pages)
    problems += missing
    problems += [f"{url} was not written: {why}" for url, why in sorted(out.lost.items())]
    problems += [out.unrecorded] if out.unrecorded else []
    absent = len(lost) if all(indexed.checkout is None for indexed in contents.trees) else 0
    kept = len(out.pages) - len(out.changed)
    return Written(len(out.changed), kept, gone, size, text, lost, problems, len(site.stops), absent)


def _with_example(workspace: Workspace, contents: SiteContents) -> tuple[SiteContents, list[str]]:
    """Adds the trace of an example if the site has no trace: its home page begins with one. Returns problems too."""
    if contents.traces or contents.torch is None:
        return contents, []
    try:
        trace, session = example_trace(workspace, _code())
    except PtexploreError as error:
        return contents, [f"the home page has no trace of {EXAMPLE}: {error.one_line}"]
    return replace(contents, traces=[("add", trace, session)]), []


def _cpu_kernels(workspace: Workspace, operators: Iterable[str]) -> list[SourceRef]:
    """Returns the places of the CPU kernels of these operators."""
    stubs = Stubs(workspace.lookup)
    return [ref for name in operators for ref in places_of_key(card(workspace.lookup, name, stubs), "CPU")]


def _write(
    workspace: Workspace, contents: SiteContents, site: Site, out: Output, jobs: int, progress: Progress
) -> tuple[list[str], list[str]]:
    """Write all files. Returns the stops without a place, and the problems in notes."""
    library = contents.library
    base = _base(contents, site)

    def reopen() -> list[IndexStore]:
        return [tree.reopened().store for tree in contents.trees]

    titles = {tour.name_of(stop): f"{tour.title}: {stop.title}" for tour, stop in library.stops()}
    traces, others = Traces(site, out, contents.traces, titles), Recordings(site, out, contents)
    path = load_path(library)
    version = contents.torch.runtime.version if contents.torch is not None else None
    shown_map = lists.map_of(site, contents.folder_pages)
    tours = Tours(
        site,
        out,
        Guide(library, contents.trees, version),
        path,
        contents.reader,
        contents.folder_pages,
        shown_map,
        traces.live(),
    )
    wrong = (*library.problems, *path.problems, *contents.folder_pages.problems)
    problems = [f"{problem.where}: {problem.text}" for problem in wrong]

    def light() -> None:
        """Write the pages that one process writes while the others do the rest."""
        tours.write(counts)
        traces.write(others.listed)
        others.write()
        lists.folders(site, out, contents.folder_pages, library)
        lists.operators(site, out, contents.docs, runtime=contents.torch is not None)
        lists.about(site, out, problems)
        if uses.needed:
            uses.read_rows()

    uses = UsesWriter(site, contents.reader, out, base)
    search = Search(site, out, contents.reader.names, contents.folder_pages, reopen, base, contents.docs)
    progress.step("reading every definition")
    if uses.needed:
        uses.begin()
    sources = Sources(site, contents.reader, out, reopen, base, uses if uses.needed else None)
    works: list[SiteWork[Any, Any]] = [search.source_work(), sources.work()]
    if site.operators:
        # Each process that writes cards opens its own databases: a connection does not survive a fork.
        observed = traces.observed()
        lookup = partial(_lookup_apart, workspace)
        works.append(Cards(site, out, lookup, base, contents.marks_by_tree, observed, contents.docs).work())
    # The uses in files without a page are read too. The text about progress does not count these files.
    counts = _counts(contents, site)
    in_processes(works, f"writing {', '.join(counts)}", progress, jobs, light)
    if uses.needed:
        uses.write(jobs, progress)
    progress.step("writing the search")
    search.write(tours, traces, others.listed)
    write_assets(out)
    return tours.lost, problems


def _lookup_apart(workspace: Workspace) -> Lookup:
    return workspace.apart().lookup


def _counts(contents: SiteContents, site: Site) -> list[str]:
    others = sum(map(len, (contents.compiles, contents.lowers, contents.graphs, contents.tensors)))
    further = (
        (len(site.operators), "operator"),
        (len(contents.traces), "trace"),
        (others, f"{'other ' * bool(contents.traces)}recording"),
    )
    files = f"{_number(len(site.sources), 'file')} of source"
    return [files, *(_number(count, kind) for count, kind in further if count)]


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _base(contents: SiteContents, site: Site) -> str:
    """Returns a hash of everything that all pages depend on: our own code, settings, source, and the list of pages."""
    parts: list[object] = [_code(), site.settings, site.traces]
    for indexed in contents.trees:
        files = sorted((path, known.sha) for path, known in indexed.store.known().items())
        parts += [indexed.tree.info, indexed.store.meta("recipe"), digest(*files)]
    parts += [sorted(site.sources.items()), sorted(site.operators.items())]
    if contents.torch is not None:
        parts.append(contents.torch.runtime.key)
    return digest(*parts)


def _code() -> str:
    """Returns a hash of the files that make pages, so that a new ptexplore writes all pages again."""
    root = Path(__file__).resolve().parent.parent.parent
    code = hashlib.sha256()
    for folder in ("cpp", "source", "store", "resolve", "view", "workspace", "render/html"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".py", ".html"):
                code.update(file.name.encode() + b"\0" + file.read_bytes())
    return code.hexdigest()
