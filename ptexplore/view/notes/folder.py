"""A folder's page: its purpose, where to start reading, its subfolders, and the tours that pass through it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ptexplore.annotations.anchors import is_baseline
from ptexplore.annotations.folders import FileToRead, FolderPage, FolderPages
from ptexplore.annotations.load import NoteLibrary
from ptexplore.annotations.records import Problem, Tour, Where
from ptexplore.errors import FAILED, PtexploreError
from ptexplore.lookup.trees import IndexedTree, Spot, project, spot
from ptexplore.model.places import TreeInfo
from ptexplore.model.symbols import IndexedFile

# Short names that people use for folders.
SHORT_NAMES = {"aten": "aten/src/ATen", "c10": "c10", "csrc": "torch/csrc", "torch": "torch"}
ROOT = "."  # the argument that means the whole tree


# The way of a call from Python down to a kernel: the role of each folder.
MAP = {
    "torch": "Python",
    "torch/csrc": "bindings",
    "aten/src/ATen/core": "dispatcher",
    "torch/csrc/autograd": "autograd",
    "aten/src/ATen/native": "operators",
    "aten/src/ATen/native/cpu": "kernels",
    "c10": "foundations",
}
MAP_IN_WORDS = (
    "A call goes from Python through the bindings to the dispatcher. The dispatcher first calls the autograd kernel, "
    "which calls the dispatcher again; then it calls the kernel of the operator. All of them use c10."
)
# The roles in the order of a call that autograd records: the dispatcher comes twice. c10 is under all of them.
CALL_ORDER = ("Python", "bindings", "dispatcher", "autograd", "dispatcher", "operators", "kernels")
FOUNDATIONS = "foundations"


@dataclass(frozen=True, slots=True)
class MapRow:
    """A folder of MAP: its role on the way of a call, and a sentence about it."""

    folder: str
    name: str
    text: str


def map_rows(pages: FolderPages) -> list[MapRow]:
    """Returns the folders of MAP in order, with the sentence of each folder's page."""
    written = {folder: page.summary for folder, page in pages.pages.items()}
    return [MapRow(folder, name, written.get(folder, "")) for folder, name in MAP.items()]


def on_map(path: str) -> str:
    """Returns the innermost folder of MAP that a file is in; "" if it is in none."""
    return max((folder for folder in MAP if path.startswith(f"{folder}/")), key=len, default="")


@dataclass(frozen=True, slots=True)
class FolderRow:
    """A subfolder: the number of files below it (0: not part of this tree), and a sentence about it."""

    path: str
    files: int
    text: str = ""
    rare: bool = False

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class StartRow:
    """A file to start reading with.

    `spot` is its place, with the line of the entry's name; None if the tree lacks the file.
    """

    entry: FileToRead
    spot: Spot | None


@dataclass(frozen=True, slots=True)
class TourThrough:
    """A tour that passes through the folder: the number of its stops in the folder, and the id of the first one."""

    tour: Tour
    stops: int
    first: str


@dataclass(frozen=True, slots=True)
class FolderView:
    """A folder of one tree. `page` is None if nobody wrote one; `folder` is "" for the whole tree.

    `total` counts the files in the folder and below. `facts` says how well the page fits this tree. `newer` is the
    page's text about this tree's version.
    """

    spot: Spot
    folder: str
    page: FolderPage | None
    total: int
    folders: tuple[FolderRow, ...]
    files: tuple[IndexedFile, ...]
    start: tuple[StartRow, ...] = ()
    tours: tuple[TourThrough, ...] = ()
    facts: tuple[str, ...] = ()
    newer: str = ""

    @property
    def version(self) -> str:
        """The release of its tree: "2.13.0"."""
        return release_of(self.spot.tree)

    @property
    def title(self) -> str:
        """The title of its page, else its path."""
        return self.page.title if self.page is not None else self.folder or self.spot.tree.label


def release_of(info: TreeInfo) -> str:
    """Returns the release of a tree, without the suffix of a build: "2.13.0"."""
    return info.version.partition("+")[0].removeprefix("v")


def find_folder(trees: Sequence[IndexedTree], target: str) -> tuple[IndexedTree, str] | None:
    """Returns the first tree that has the folder, and the folder's path. Returns None if no folder has that name.

    `target` is one of SHORT_NAMES, a path, or "." for the whole first tree. The end of a path ("native/cpu") is enough
    if it fits exactly one folder. Raises PtexploreError if no tree here has one of SHORT_NAMES.
    """
    if target == ROOT and trees:
        return trees[0], ""
    if "/" not in target and target not in SHORT_NAMES:
        return None
    path = SHORT_NAMES.get(target, target.rstrip("/"))
    for indexed in trees:
        if indexed.store.has_folder(path):
            return indexed, path
    for indexed in trees if "/" in path else ():
        ending = [folder for folder in indexed.store.folders() if folder.endswith(f"/{path}")]
        if len(ending) == 1:
            return indexed, ending[0]
    if target in SHORT_NAMES:
        why = f"no tree here has {path}"
        raise PtexploreError(f"the folder {target} is not here", why, "ptexplore fetch", FAILED)
    return None


def folder_view(indexed: IndexedTree, folder: str, pages: FolderPages, library: NoteLibrary) -> FolderView:
    """Returns the view of a folder. PyTorch's pages and tours are used only for PyTorch's trees."""
    ours = project(indexed) == "pytorch"
    page = pages.pages.get(folder) if ours else None
    files, inside = _contents(indexed, folder)
    info = indexed.tree.info
    version = release_of(info)
    newer = next((text for at, text in page.newer if at == version), "") if page is not None else ""
    facts = []
    if page is not None and not is_baseline(info, page.baseline):
        differs = f'; known differences are under "In {version}"' if newer else ""
        facts.append(f"written on {page.baseline}{differs}")
    return FolderView(
        spot(indexed, folder, None), folder, page, sum(inside.values()) + len(files),
        tuple(_rows(inside, page, pages)), tuple(files),
        tuple(StartRow(entry, _place(indexed, entry)) for entry in page.start) if page is not None else (),
        tuple(tours_through(folder, library)) if ours else (), tuple(facts), newer,
    )  # fmt: skip


def _contents(indexed: IndexedTree, folder: str) -> tuple[list[IndexedFile], Counter[str]]:
    """Returns the files directly in a folder, and the number of files below each subfolder, by its path."""
    files: list[IndexedFile] = []
    inside: Counter[str] = Counter()
    prefix = f"{folder}/" if folder else ""
    for file in indexed.store.files_below(folder):
        first, _, rest = file.path.removeprefix(prefix).partition("/")
        if rest:
            inside[prefix + first] += 1
        else:
            files.append(file)
    return files, inside


def _rows(inside: Counter[str], page: FolderPage | None, pages: FolderPages) -> Iterator[FolderRow]:
    """Yields the subfolders: first in the order of the page, then those that it does not name; rare ones last."""
    written = [subfolder.path for subfolder in page.subfolders] if page is not None else []
    rows = []
    for path in dict.fromkeys([*written, *sorted(inside, key=str.lower)]):
        sentence = pages.sentence(path) if page is not None or path in pages.pages else None
        rows.append(FolderRow(path, inside[path], sentence.text if sentence else "", bool(sentence and sentence.rare)))
    yield from (row for row in rows if not row.rare)
    yield from (row for row in rows if row.rare)


def _place(indexed: IndexedTree, entry: FileToRead) -> Spot | None:
    """Returns where a start file is: the line of the entry's name if the file defines it."""
    if indexed.store.file(entry.path) is not None:
        return spot(indexed, entry.path, line_named(indexed, entry))
    return spot(indexed, entry.path, None) if indexed.tree.exists(entry.path) else None  # a text that is not indexed


def line_named(indexed: IndexedTree, entry: FileToRead) -> int | None:
    """Returns the line of an entry's name in its file; None if the entry has no name, or the file does not have it."""
    if not entry.symbol:
        return None
    named = [symbol for symbol in indexed.store.outline(entry.path) if _ends(symbol.qualified, entry.symbol)]
    named.sort(key=lambda symbol: (symbol.role != "definition", symbol.line))
    if named:
        return named[0].line
    word = re.compile(rf"\b{re.escape(re.split(r'::|[.]', entry.symbol)[-1])}\b")  # a macro's use, a name in YAML
    lines = indexed.tree.lines(entry.path)
    return next((number for number, line in enumerate(lines, 1) if word.search(line)), None)


def _ends(qualified: str, name: str) -> bool:
    """Whether a qualified name ends with the parts of `name`."""
    whole, part = qualified.replace(".", "::"), name.replace(".", "::")
    return whole == part or whole.endswith(f"::{part}")


def tours_through(folder: str, library: NoteLibrary) -> list[TourThrough]:
    """Returns the tours with stops in the folder, those with most stops first."""
    through = []
    for tour in library.tours.values():
        prefix = f"{folder}/" if folder else ""
        stops = [stop.id for stop in tour.stops if stop.anchor.path.startswith(prefix)]
        if stops and tour.kind == "tour":
            through.append(TourThrough(tour, len(stops), stops[0]))
    return sorted(through, key=lambda row: (-row.stops, row.tour.id))


def plain_sentence(text: str) -> str:
    """Removes Markdown signs from a sentence: only its style marks code."""
    return text.replace("`", "").replace("**", "")


@dataclass(frozen=True, slots=True)
class PagesCheck:
    """How many names on the folders' pages a tree has: `named` counts paths and names, `present` those that exist.

    `judged`: the tree is the complete version that a page was written on, so a missing name is a problem. Otherwise,
    `differ` lists existing files without the name. `newer` counts the pages that describe the differences of this
    tree's version.
    """

    pages: int
    named: int
    present: int
    judged: bool
    problems: tuple[Problem, ...] = ()
    differ: tuple[Problem, ...] = ()
    newer: int = 0


def check_pages(indexed: IndexedTree, pages: FolderPages) -> PagesCheck:
    """Compares everything that the pages name with a tree: files, names in them, subfolders."""
    version = release_of(indexed.tree.info)
    named = present = newer = 0
    judged = False
    problems: list[Problem] = []
    differ: list[Problem] = []
    for page in pages.pages.values():
        own = is_baseline(indexed.tree.info, page.baseline) and indexed.checkout is not None
        judged = judged or own
        newer += any(at == version for at, _text in page.newer)
        for fact in _facts(indexed, page):
            named += 1
            present += fact.present
            if not fact.present and own:
                problems.append(Problem(fact.where, fact.text))
            elif not fact.present and fact.in_a_file:
                differ.append(Problem(fact.where, fact.text))
        known = set(indexed.tree.folders_in(page.folder)) if own else set()
        missing = sorted(known - {subfolder.path for subfolder in page.subfolders}) if page.subfolders else []
        if missing:
            problems.append(Problem(page.where, f"no entry for {', '.join(missing)}"))
    return PagesCheck(len(pages.pages), named, present, judged, tuple(problems), tuple(differ), newer)


@dataclass(frozen=True, slots=True)
class _Fact:
    """Something that a page names, and whether the tree has it. `in_a_file`: a name in a file that exists."""

    where: Where
    text: str  # the message if it is missing
    present: bool
    in_a_file: bool = False


def _facts(indexed: IndexedTree, page: FolderPage) -> Iterator[_Fact]:
    has = indexed.store.has_folder
    if page.folder:
        inside = page.folder in indexed.tree.folders_in(page.folder.rpartition("/")[0]) or has(page.folder)
        yield _Fact(page.where, f"there is no folder {page.folder}", inside)
    for entry in page.start:
        exists = indexed.tree.exists(entry.path)
        yield _Fact(entry.where, f"there is no file {entry.path}", exists)
        if entry.symbol:
            called = exists and (indexed.store.file(entry.path) is None or line_named(indexed, entry) is not None)
            yield _Fact(entry.where, f"{entry.path} has no {entry.symbol}", called, in_a_file=exists)
    known = set(indexed.tree.folders_in(page.folder))
    for subfolder in page.subfolders:
        inside = subfolder.path in known or has(subfolder.path)
        yield _Fact(subfolder.where, f"there is no folder {subfolder.path}", inside)


@dataclass(frozen=True, slots=True)
class PagePart:
    """A part of a shipped page: a heading, or "", and a text."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class ShippedPage:
    """What can be read about a target without any index: prose that comes with ptexplore.

    `parts` are drawn as they are; `stops` are the stops of a tour, whose text is Markdown.
    """

    title: str
    parts: tuple[PagePart, ...]
    stops: tuple[PagePart, ...] = ()


def shipped_page(
    target: str | None, pages: FolderPages | None, library: NoteLibrary | None, problem: str = ""
) -> ShippedPage:
    """Returns the shipped page of a folder, or a tour from the named stop on; for anything else, the map of folders.

    `target` is the text that the user asked for. `problem` says why there are no pages.
    """
    if pages is None or library is None:
        return ShippedPage("ptexplore", (PagePart("", problem),))
    asked = (target or "").strip()
    page = page_of_folder(asked, pages)
    if page is not None:
        return page
    tour = library.tours.get(asked.partition("#")[0])
    if tour is not None:
        named, total = asked.partition("#")[2], len(tour.stops)
        first = next((number for number, stop in enumerate(tour.stops) if stop.id == named), 0)
        stops = [PagePart(f"{number}/{total}  {stop.title}", stop.prose) for number, stop in enumerate(tour.stops, 1)]
        return ShippedPage(tour.title, (PagePart("", tour.summary),), tuple(stops[first:]))
    return ShippedPage("PyTorch, from Python to the machine", tuple(_map_parts(pages, library)))


def page_of_folder(target: str, pages: FolderPages) -> ShippedPage | None:
    """Returns the shipped page of the folder that a target names: one of SHORT_NAMES or a path. Else None."""
    folder = SHORT_NAMES.get(target, target.rstrip("/"))
    page = pages.pages.get(folder) if folder else None
    return ShippedPage(f"{folder}  ›  {page.title}", tuple(_parts_of(page))) if page is not None else None


def _parts_of(page: FolderPage) -> Iterator[PagePart]:
    yield PagePart("", _unwrapped(page.intro))
    if page.start:
        read = "\n".join(
            f"{number}. `{entry.path}`{f' at `{entry.symbol}`' if entry.symbol else ''}: {entry.why}"
            for number, entry in enumerate(page.start, 1)
        )
        yield PagePart("Start here", read)
    if page.subfolders:
        yield PagePart("Folders", "\n".join(f"- `{inner.path}`: {inner.text}" for inner in page.subfolders))
    if page.build:
        yield PagePart("In a build", _unwrapped(page.build))


def _map_parts(pages: FolderPages, library: NoteLibrary) -> Iterator[PagePart]:
    rows = (row for row in map_rows(pages) if row.text)
    yield PagePart(MAP_IN_WORDS, "\n\n".join(f"`{row.folder}` ({row.name}): {row.text}" for row in rows))
    tours = (tour for tour in library.tours.values() if tour.kind == "tour")
    yield PagePart("Tours", "\n".join(f"- `{tour.id}`: {tour.summary}" for tour in tours))


def _unwrapped(text: str) -> str:
    """Returns Markdown paragraphs with one line each, so that a screen wraps them at its own width."""
    return "\n\n".join(" ".join(part.split("\n")) for part in text.strip().split("\n\n"))
