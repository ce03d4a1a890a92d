"""Build a site: gather trees, notes and traces, decide what is shown, have what is new written."""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.annotations.load import Library
    from ptexplore.cli.ready import Indexed, Ready
    from ptexplore.model import Session, Trail
    from ptexplore.render.html.output import Output
    from ptexplore.resolve.lookup import Lookup
    from ptexplore.source.progress import Progress
    from ptexplore.store.index_store import IndexStore
    from ptexplore.view.noted import Noted
    from ptexplore.view.site import Note, Settings, Site
    from ptexplore.view.site_names import Names


@dataclass
class Written:
    """What a build came to: files that changed and that did not, files that went, bytes of all of them and of the
    source's text that they show, what was lost or wrong.
    """

    made: int = 0
    kept: int = 0
    gone: int = 0
    size: int = 0
    text: int = 0
    lost: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass
class _Given:
    """What a site is made of."""

    trees: list[Indexed]
    ready: Ready | None
    library: Library
    traces: list[tuple[str, Trail, Session | None]]  # with the name of its page
    names: Names
    noted: Noted


def build(options: argparse.Namespace) -> Written:
    """Write the site that the options ask for. Raises PtexploreError, with what is written kept."""
    from ptexplore.render.html.output import open_output
    from ptexplore.render.html.work import usual_jobs
    from ptexplore.render.progress import progress_bar

    given = _gather(options)
    roots = [root for one in given.trees for layer in one.tree.layers for root in layer.roots]
    out = open_output(Path(options.out), roots, force=options.force)
    try:
        with progress_bar(f"writing a site to {options.out}") as progress:
            site = _site(given, options)
            out.begin()
            try:
                written = _write(given, site, out, options.jobs or usual_jobs(), progress)
            except BaseException:
                out.keep()
                raise
            written.gone = out.finish()
    finally:
        out.release()
    written.made = len(out.changed)
    written.kept = len(out.pages) - written.made
    written.size = out.size + sum(int(row[1]) for row in out.pages.values())
    written.text = sum(int(out.pages[url][2]) for url in site.sources.values())
    return written


# --- what there is ---


def _gather(options: argparse.Namespace) -> _Given:
    from ptexplore.annotations.load import layers
    from ptexplore.cli.noted import marks_of
    from ptexplore.cli.notes import library_of, tree_of
    from ptexplore.cli.ready import indexes, ready, sources
    from ptexplore.view.site_names import Names

    runtime, _found = sources(options.python)
    first = tree_of(options)
    trees = [first]
    alone = options.tree is not None and first.checkout is not None
    if first.checkout is not None and runtime is not None and not alone:
        trees += indexes(options.python, "runtime")
    library = library_of(options)
    folders = layers(options.notes)
    noted = {one.tree.info.name: marks_of(folders, one.tree, one.store) for one in trees}
    here = ready(options.python) if runtime is not None and not alone else None
    return _Given(trees, here, library, _traces(options.trace), Names([one.store for one in trees]), noted)


def _traces(files: Sequence[str]) -> list[tuple[str, Trail, Session | None]]:
    from ptexplore.cli.trace import load
    from ptexplore.view.site_urls import safe

    found = []
    times: Counter[str] = Counter()
    for file in files:
        trail, session = load(file)
        name = safe(Path(file).name.removesuffix(".gz").removesuffix(".json"))
        name = f"{name}~" if name.lower() == "index" else name
        times[name.lower()] += 1
        found.append((name if times[name.lower()] == 1 else f"{name}~{times[name.lower()]}", trail, session))
    return found


def _lookup(python: str | None) -> Lookup:
    """Everything that can say where something stands, with connections of this process's own."""
    from ptexplore.cli.looking import look
    from ptexplore.cli.ready import ready

    return look(ready(python))


# --- what of it is shown ---


def _site(given: _Given, options: argparse.Namespace) -> Site:
    from ptexplore.view.site import Site, operator_url, stop_url
    from ptexplore.view.site_scope import around, in_scope, operators_of, touched
    from ptexplore.view.site_urls import apart

    names, trees = given.names, given.trees
    marks = [mark for found in given.noted.values() for mark in found]
    trails = [trail for _name, trail, _session in given.traces]
    extents = touched(marks, trails)
    paths = {path for path in names.owner if in_scope(path, options.scope)}
    paths |= {path for path in extents if path in names.owner}
    paths |= {see.path for _t, stop in given.library.stops() for see in stop.anchor.see if see.path in names.owner}
    paths |= {"tools/autograd/derivatives.yaml"} & set(names.owner) if options.scope != "tours" else set()
    if options.scope == "tours":
        paths |= around(names, trees, extents)
    urls = apart(paths)
    operators: dict[str, str] = {}
    if given.ready is not None:
        every = given.ready.store.all_names()
        wanted = operators_of(marks, trails) if options.scope == "tours" else set(every)
        operators = {name: operator_url(name) for name in every if name in wanted}
    owner = {path: names.owner[path][0] for path in sorted(paths)}
    site = Site(
        _settings(options), trees, {path: f"src/{urls[path]}.html" for path in sorted(paths)}, owner, _apart(operators)
    )
    site.stops = {tour.name_of(stop): stop_url(tour.name_of(stop)) for tour, stop in given.library.stops()}
    site.notes = _margins(given, site)
    site.at = _generated(given, site)
    return site


def _apart(operators: dict[str, str]) -> dict[str, str]:
    """Cards whose files would differ in case alone, parted."""
    taken: set[str] = set()
    for name, url in operators.items():
        if url.lower() in taken:
            operators[name] = f"{url.removesuffix('.html')}~{hashlib.sha256(name.encode()).hexdigest()[:6]}.html"
        taken.add(operators[name].lower())
    return operators


def _settings(options: argparse.Namespace) -> Settings:
    from ptexplore.source.project import find_project
    from ptexplore.view.site import Settings

    project = find_project(Path.cwd())
    known = project.site if project is not None else {}
    base = options.base_url or known.get("url", "")
    title = options.title or known.get("title") or "PyTorch, read"
    return Settings(title, options.scope, f"{base.rstrip('/')}/" if base else "", (options.repo_url or "").rstrip("/"))


def _margins(given: _Given, site: Site) -> dict[str, list[Note]]:
    """The stops beside each file of the site, on the tree whose text that page has."""
    from ptexplore.render.html.tours import beginning
    from ptexplore.view.site import Note

    found: dict[str, list[Note]] = {}
    for number, one in enumerate(given.trees):
        for mark in given.noted.get(one.tree.info.name, ()):
            if mark.placed and site.owner.get(mark.path) == number and mark.stop in site.stops:
                note = Note(mark.stop, mark.title, mark.tour, mark.line, site.stops[mark.stop], beginning(mark.text))
                found.setdefault(mark.path, []).append(note)
    return found


def _generated(given: _Given, site: Site) -> dict[str, dict[int, str]]:
    """The operator of each generated function, by its file and line, where the site has that file as installed."""
    if given.ready is None:
        return {}
    found: dict[str, dict[int, str]] = {}
    runtime = next((n for n, one in enumerate(given.trees) if one.checkout is None), -1)
    for name in site.operators:
        for row in given.ready.store.registrations(name):
            path, line = row.body_path, row.body_line
            if path and line and site.owner.get(path) == runtime:
                found.setdefault(path, {}).setdefault(line, name)
    return found


# --- writing ---


def _write(given: _Given, site: Site, out: Output, jobs: int, progress: Progress) -> Written:
    from ptexplore.annotations.concepts import load_path
    from ptexplore.render.html import lists
    from ptexplore.render.html.cards import Cards
    from ptexplore.render.html.finding import write_search
    from ptexplore.render.html.saved import Traces
    from ptexplore.render.html.sources import Sources
    from ptexplore.render.html.statics import write_assets
    from ptexplore.render.html.tours import Tours
    from ptexplore.view.tour import Guide

    written = Written()
    python = given.ready.runtime.python if given.ready is not None else None
    base = _base(given, site)
    stores = [one.store.path for one in given.trees]
    Sources(site, given.names, out, lambda: _reopened(stores), base).write(jobs, progress)
    titles = {tour.name_of(stop): f"{tour.title}: {stop.title}" for tour, stop in given.library.stops()}
    traces = Traces(site, out, given.traces, titles)
    if site.operators:
        Cards(site, out, lambda: _lookup(python), base, given.noted, traces.observed()).write(jobs, progress)
    progress.step("writing tours and lists")
    path = load_path(given.library)
    version = given.ready.runtime.version if given.ready is not None else None
    tours = Tours(site, out, Guide(given.library, given.trees, version), path, given.names)
    tours.write(_counts(given, site))
    traces.write()
    written.lost = tours.lost
    written.problems = [f"{one.where}: {one.text}" for one in (*given.library.problems, *path.problems)]
    lists.folders(site, out)
    lists.operators(site, out, runtime=given.ready is not None)
    lists.about(site, out, written.problems)
    write_search(site, out, given.names, tours, traces, base, progress)
    write_assets(out)
    return written


def _counts(given: _Given, site: Site) -> list[str]:
    counts = [f"{len(site.sources):,} files of source"]
    counts += [f"{len(site.operators):,} operators"] if site.operators else []
    counts += [f"{len(given.traces):,} traces"] if given.traces else []
    return counts


def _reopened(paths: Iterable[Path]) -> list[IndexStore]:
    from ptexplore.store.index_store import IndexStore

    return [IndexStore.open(path) for path in paths]


def _base(given: _Given, site: Site) -> str:
    """A hash of what every page depends on: our own code, the settings, the source, which pages there are."""
    from ptexplore.render.html.output import digest

    parts: list[object] = [_code(), site.settings]
    for one in given.trees:
        parts += [one.tree.info, one.store.meta("recipe"), sorted(one.store.known().items(), key=lambda row: row[0])]
        parts[-1] = digest(*((path, known.sha) for path, known in parts[-1]))  # type: ignore[attr-defined]
    parts += [sorted(site.sources.items()), sorted(site.operators.items())]
    if given.ready is not None:
        parts.append(given.ready.runtime.key)
    return digest(*parts)


def _code() -> str:
    """A hash of the files that make pages: a new ptexplore writes them anew."""
    root = Path(__file__).resolve().parent.parent
    made = hashlib.sha256()
    for folder in ("view", "render/html", "render/html/templates", "resolve", "store"):
        for file in sorted((root / folder).iterdir()):
            if file.suffix in (".py", ".html"):
                made.update(file.name.encode() + b"\0" + file.read_bytes())
    return made.hexdigest()
