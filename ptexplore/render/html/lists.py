"""Writes the pages that list other pages: folders, operators by namespace. Also the page about the site."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from markupsafe import Markup

from ptexplore import __version__
from ptexplore.render.html.pages import render
from ptexplore.render.html.prose import html_of
from ptexplore.view.notes.folder import line_named, map_rows, tours_through
from ptexplore.view.site.operator_list import GROUPS, families, sections
from ptexplore.view.site.site import Site, apart, folder_url, namespace_url, operator_names, shown
from ptexplore.view.words.glossary import GLOSSARY
from ptexplore.view.words.legend import PRECISION_MEANS, RELATION_MEANS, STATUS_MEANS

if TYPE_CHECKING:
    from ptexplore.annotations.folders import FileToRead, FolderPage, FolderPages
    from ptexplore.annotations.load import NoteLibrary
    from ptexplore.render.html.output import Output
    from ptexplore.source.python_docs import DocLine
    from ptexplore.view.notes.folder import MapRow

_LICENCE = 200_000  # characters


def folders(site: Site, out: Output, pages: FolderPages, library: NoteLibrary) -> None:
    """Write a page for each folder, and one for all: its notes, and its files and folders on the site."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    inside: defaultdict[str, set[str]] = defaultdict(set)
    count: Counter[str] = Counter()
    for path in sorted(site.sources):
        *parts, _name = path.split("/")
        way = ["/".join(parts[:n]) for n in range(len(parts) + 1)]
        files[way[-1]].append(path)
        count.update(way)
        for parent, folder in pairwise(way):
            inside[parent].add(folder)
    for folder in sorted({"", *files, *inside}):
        parts = folder.split("/") if folder else []
        parents = [("source", folder_url(""))] if folder else []
        parents += [(part, folder_url("/".join(parts[:n]))) for n, part in enumerate(parts[:-1], 1)]
        written = pages.pages.get(folder)
        page = render(
            site, "folder.html", folder_url(folder), kind="folder", id=folder, folders=parents,
            title=written.title if written is not None else parts[-1] if parts else "Source", page=written,
            intro=_prose(written.intro if written is not None else "", site, folder),
            build=_prose(written.build if written is not None else "", site, folder),
            newer=[(at, _prose(text, site, folder)) for at, text in written.newer] if written is not None else [],
            start=_start(site, folder, written),
            map=map_of(site, pages) if not folder else [],
            inside=_inside(pages, sorted(inside[folder]), count, site, folder),
            files=[(path.rsplit("/", 1)[-1], site.sources[path]) for path in files[folder]],
            tours=tours_through(folder, library),
        )  # fmt: skip
        out.write(folder_url(folder), page)


def map_of(site: Site, pages: FolderPages) -> list[tuple[MapRow, str]]:
    """Returns the way from Python to the machine: each folder with its page, or "" if the site has no file of it."""
    shown = {path.rpartition("/")[0] for path in site.sources}
    folders = {"/".join(folder.split("/")[:n]) for folder in shown for n in range(1, folder.count("/") + 2)}
    return [(row, folder_url(row.folder) if row.folder in folders else "") for row in map_rows(pages)]


def _prose(text: str, site: Site, folder: str) -> Markup:
    """Returns a folder's Markdown as HTML, without pictures. Links lead out of the site, file names to their pages."""
    if not text:
        return Markup()
    named = partial(_file_named, site, folder)
    return html_of(text, lambda url: url if url.startswith("http") else None, lambda _url: None, named)


def _file_named(site: Site, folder: str, code: str) -> str | None:
    """Returns the URL of a file that a folder's page names: relative to the folder, or to the root ("/torch/...")."""
    inside = f"{folder}/{code}" if folder else code
    return site.place(folder_url(folder), code[1:] if code.startswith("/") else inside, None)


def _start(site: Site, folder: str, page: FolderPage | None) -> list[tuple[FileToRead, str | None, Markup]]:
    """Returns each file to begin with, its URL from the folder's page (None if not on the site), and the reason."""
    if page is None:
        return []
    ways = []
    for entry in page.start:
        indexed = site.trees[site.owner.get(entry.path, 0)]
        line = line_named(indexed, entry) if entry.path in site.sources else None
        ways.append((entry, site.place(folder_url(folder), entry.path, line), _prose(entry.why, site, folder)))
    return ways


def _inside(
    pages: FolderPages, paths: Sequence[str], count: Mapping[str, int], site: Site, folder: str
) -> list[tuple[str, str, str, Markup, bool]]:
    """Returns the folders inside: name, page, number of files on the site, note, and whether it is rarely needed."""
    rows = []
    for path in paths:
        sentence = pages.sentence(path)
        text = _prose(sentence.text, site, folder) if sentence is not None else Markup()
        rare = sentence is not None and sentence.rare
        rows.append((path.rpartition("/")[2], folder_url(path), f"{count[path]:,}", text, rare))
    return sorted(rows, key=lambda row: row[4])


def operators(site: Site, out: Output, docs: Mapping[str, DocLine], *, runtime: bool) -> None:
    """Write the operators of each namespace: popular ones first, then by letter.

    The index page has the operators of `aten`, else of the largest namespace, and links to the other namespaces.
    """
    spaces: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, url in sorted(site.operators.items()):
        namespace, rest = operator_names(name)
        spaces[namespace].append((rest, url))
    order = sorted(spaces, key=lambda space: (space != "aten", -len(spaces[space]), space))
    pages = apart(order[1:], namespace_url)
    others = [
        (space, pages[space], f"{len(spaces[space]):,} operator{'s' * (len(spaces[space]) != 1)}")
        for space in order[1:]
    ]
    lists = [("ops/index.html", "ops", order[0] if order else "", "Operators")]
    for url, kind, space, title in [*lists, *((url, "namespace", space, f"{space}::") for space, url in pages.items())]:
        of_space = families(spaces[space], docs if space == "aten" else {}) if space in spaces else []
        popular, parts = sections(of_space)
        groups = {group for family in of_space for group in family.groups}
        page = render(
            site, "ops.html", url, kind=kind, id=space, title=title, runtime=runtime, popular=popular, sections=parts,
            groups=[(group, words) for group, words in GROUPS.items() if group in groups],
            overloads=len(spaces[space]) if space in spaces else 0, namespaces=others if kind == "ops" else [],
            count=len(of_space),
        )  # fmt: skip
        out.write(url, page)


def _glossary(site: Site, out: Output) -> None:
    """Write the page of words, with a place for each."""
    words = [
        (word.replace(" ", "-"), word, html_of(meaning, lambda _link: None, lambda _picture: None))
        for word, meaning in GLOSSARY.items()
    ]
    page = render(site, "glossary.html", "glossary.html", kind="glossary", id="", title="Glossary", words=words)
    out.write("glossary.html", page)


def about(site: Site, out: Output, problems: Sequence[str]) -> None:
    """Write the page with the versions, commit, precision and licence of the text, and the page of words."""
    licence = next((file.text for each in site.trees if (file := each.tree.read("LICENSE")) is not None), "")
    page = render(
        site, "about.html", "about.html", kind="about", id="", title="About", version=__version__, shown=shown,
        files=Counter(site.owner[path] for path in site.sources), problems=problems,
        precision=list(PRECISION_MEANS.items()), status=list(STATUS_MEANS.items()),
        relations=RELATION_MEANS, licence=licence[:_LICENCE],
    )  # fmt: skip
    out.write("about.html", page)
    _glossary(site, out)
