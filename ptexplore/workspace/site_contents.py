"""The contents of a site, and which of them get pages: files, operators, stops, notes beside their lines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from ptexplore.annotations.about import MarksByTree
from ptexplore.annotations.folders import FolderPages
from ptexplore.annotations.load import NoteLibrary
from ptexplore.annotations.marks import Mark
from ptexplore.errors import USAGE, PtexploreError
from ptexplore.lookup.trees import IndexedTree
from ptexplore.lookup.use_meaning import UseReader
from ptexplore.model.autograd_graph import LocatedGraph
from ptexplore.model.compiled import CompileReport
from ptexplore.model.places import SourceRef
from ptexplore.model.rungs import LowerReport
from ptexplore.model.tensor_layouts import TensorLayouts
from ptexplore.model.trace import Session, Trace
from ptexplore.source.fetch.project_file import find_project
from ptexplore.source.python_docs import DocLine
from ptexplore.view.notes.folder import MAP
from ptexplore.view.site.site import (
    Extents,
    Scope,
    Settings,
    Site,
    apart,
    around,
    in_scope,
    operator_url,
    operators_of,
    safe,
    source_url,
    stop_url,
    touched,
)
from ptexplore.workspace.opening import InstalledTorch
from ptexplore.workspace.saved_compiles import COMPILES
from ptexplore.workspace.saved_lowers import LOWERS
from ptexplore.workspace.saved_traces import load_trace

_LONG = 5000  # lines; a small site omits a longer file even if it has a kernel, and the operator's card says so


class OtherRecordings(Struct, frozen=True):
    """Recordings for a site that are no traces: files that `compile` and `lower` saved, graphs, and tensors."""

    compiles: tuple[str, ...] = ()
    lowers: tuple[str, ...] = ()
    graphs: tuple[LocatedGraph, ...] = ()
    tensors: tuple[tuple[str, TensorLayouts], ...] = ()  # each with the statements that gave them


NOTHING = OtherRecordings()


@dataclass(frozen=True)
class SiteContents:
    """The input of a site: trees (the one in use first), the installed torch, notes and their places, traces.

    Each trace has the name of its page. `torch` is None if the site is only of a checkout.
    """

    trees: Sequence[IndexedTree]
    torch: InstalledTorch | None
    library: NoteLibrary
    folder_pages: FolderPages
    marks_by_tree: MarksByTree
    traces: Sequence[tuple[str, Trace, Session | None]]
    reader: UseReader  # resolves names, over the indexes of the trees
    # the Python documentation of ATen's operators
    docs: Mapping[str, DocLine] = field(default_factory=dict)
    compiles: Sequence[tuple[str, CompileReport]] = ()  # runs of torch.compile, each with the name of its page
    graphs: Sequence[LocatedGraph] = ()
    lowers: Sequence[tuple[str, LowerReport]] = ()  # runs of `lower`, each with the name of its page
    tensors: Sequence[tuple[str, TensorLayouts]] = ()


def load_traces(files: Sequence[str]) -> list[tuple[str, Trace, Session | None]]:
    """Returns saved traces, each with the name of its page. Raises PtexploreError if a file is not a trace."""
    return [(name, *load_trace(file)) for name, file in zip(_page_names(files), files, strict=True)]


def load_compiles(files: Sequence[str]) -> list[tuple[str, CompileReport]]:
    """Returns saved runs of torch.compile, each with the name of its page. Raises PtexploreError for another file."""
    return [(name, COMPILES.load(file)) for name, file in zip(_page_names(files), files, strict=True)]


def load_lowers(files: Sequence[str]) -> list[tuple[str, LowerReport]]:
    """Returns saved runs of `lower`, each with the name of its page. Raises PtexploreError for another file."""
    return [(name, LOWERS.load(file)) for name, file in zip(_page_names(files), files, strict=True)]


def _page_names(files: Sequence[str]) -> Iterator[str]:
    """Yields the name of the page of each saved file. No two names are the same, and none is "index"."""
    times: Counter[str] = Counter()
    for file in files:
        name = safe(Path(file).name.removesuffix(".gz").removesuffix(".json"))
        name = f"{name}~" if name.lower() == "index" else name
        times[name.lower()] += 1
        yield name if times[name.lower()] == 1 else f"{name}~{times[name.lower()]}"


def site_settings(scope: Scope, title: str | None, base_url: str | None, repo_url: str | None) -> Settings:
    """Returns the settings: the given ones, else those of the project's file."""
    project = find_project(Path.cwd())
    known = project.site if project is not None else {}
    base = base_url or known.get("url", "")
    if base and not base.startswith(("https://", "http://")):
        where = project.file if project is not None else "ptexplore.toml"
        raise PtexploreError(f"{base!r} is not a URL", f"{where} gives it as url", "it must begin with https://", USAGE)
    name = title or known.get("title") or "PyTorch internals"
    return Settings(name, scope, f"{base.rstrip('/')}/" if base else "", (repo_url or "").rstrip("/"))


def plan_site(
    contents: SiteContents, settings: Settings, kernels: Callable[[Iterable[str]], Iterable[SourceRef]] = lambda _: ()
) -> Site:
    """Decides which files, operators and stops get a page, and which notes are beside which lines.

    `kernels` returns the places of operators' kernels: a small site includes those files too, unless they are very
    long.
    """
    reader, names, trees = contents.reader, contents.reader.names, contents.trees
    marks = [mark for placed in contents.marks_by_tree.values() for mark in placed]
    traces = [trace for _name, trace, _session in contents.traces]
    extents = touched(marks, traces)
    paths = {path for path in names.owner if in_scope(path, settings.scope)}
    paths |= {path for path in extents if path in names.owner}
    paths |= {see.path for _t, stop in contents.library.stops() for see in stop.anchor.see if see.path in names.owner}
    paths |= {"tools/autograd/derivatives.yaml"} & set(names.owner) if settings.scope != "tours" else set()
    if settings.scope == "tours":
        paths |= around(reader, trees, extents)
        paths |= {path for path in _to_begin_with(contents.folder_pages) if path in names.owner}
    operators: dict[str, str] = {}
    if contents.torch is not None:
        every = contents.torch.catalogue.all_names()
        wanted = operators_of(marks, traces) if settings.scope == "tours" else set(every)
        operators = apart((name for name in every if name in wanted), operator_url)
        if settings.scope == "tours":
            of_kernels = _of_kernels(contents, kernels(operators))
            paths |= set(of_kernels)
            paths |= {
                path for path in around(reader, trees, of_kernels, overloads=True) if _lines(contents, path) <= _LONG
            }
    owner = {path: names.owner[path][0] for path in sorted(paths)}
    has_traces = any((contents.traces, contents.compiles, contents.lowers, contents.graphs, contents.tensors))
    site = Site(settings, trees, apart(paths, source_url), owner, operators, traces=has_traces)
    site.stops = {tour.name_of(stop): stop_url(tour.name_of(stop)) for tour, stop in contents.library.stops()}
    site.notes = _margins(contents, site)
    site.at = _generated(contents, site)
    return site


def _to_begin_with(pages: FolderPages) -> Iterator[str]:
    """Yields the files to begin with, according to the pages of folders on the map and of the folders around these."""
    for folder, page in pages.pages.items():
        if any(f"{on_map}/".startswith(f"{folder}/") for on_map in MAP):
            yield from (entry.path for entry in page.start)


def _of_kernels(contents: SiteContents, kernels: Iterable[SourceRef]) -> Extents:
    """Returns the lines of kernels, in the tree that the site takes their files from. Very long files are left out."""
    names = contents.reader.names
    extents: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for path, tree, line in {(ref.path, ref.tree, ref.line) for ref in kernels if ref.path is not None and ref.line}:
        number = names.owner.get(path, (-1, 0))[0]
        indexed = contents.trees[number] if number >= 0 else None
        if indexed is not None and indexed.tree.info.name == tree and line and _lines(contents, path) <= _LONG:
            extents[path].add((line, max((s.end_line for s in names.defined(path) if s.line == line), default=line)))
    return {path: sorted(lines) for path, lines in sorted(extents.items())}


def _lines(contents: SiteContents, path: str) -> int:
    number = contents.reader.names.owner.get(path, (-1, 0))[0]
    file = contents.trees[number].store.file(path) if number >= 0 else None
    return file.lines if file is not None else 0


def _margins(contents: SiteContents, site: Site) -> Mapping[str, Sequence[Mark]]:
    """Returns the stops beside each file of the site, on the tree whose text the page shows."""
    margins: dict[str, list[Mark]] = {}
    for number, indexed in enumerate(contents.trees):
        for mark in contents.marks_by_tree.get(indexed.tree.info.name, ()):
            if mark.placed and site.owner.get(mark.path) == number and mark.stop in site.stops:
                margins.setdefault(mark.path, []).append(mark)
    return margins


def _generated(contents: SiteContents, site: Site) -> Mapping[str, Mapping[int, str]]:
    """Returns the operator of each generated function, by file and line, for files that the site takes as installed."""
    if contents.torch is None:
        return {}
    operators: dict[str, dict[int, str]] = {}
    runtime = next((number for number, indexed in enumerate(contents.trees) if indexed.checkout is None), -1)
    for name in site.operators:
        for row in contents.torch.catalogue.registrations(name):
            path, line = row.body_path, row.body_line
            if path and line and site.owner.get(path) == runtime:
                operators.setdefault(path, {}).setdefault(line, name)
    return operators
