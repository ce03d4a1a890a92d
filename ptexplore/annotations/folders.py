"""Welcome pages of folders: the purpose of a folder of PyTorch, where to start, a sentence for each subfolder.

A page is `folders/*.md` in a folder of notes. It refers to everything by name, never by line number.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ptexplore.annotations.blocks import bounded
from ptexplore.annotations.files import names_in, read_bytes
from ptexplore.annotations.format import LARGEST, LARGEST_FOLDER, decode, front_matter, without_controls
from ptexplore.annotations.layers import Layer
from ptexplore.annotations.markdown import HeadedSection, line_of, sections, tokens, troubles
from ptexplore.annotations.records import Problem, Unreadable, Where, unread
from ptexplore.errors import NOT_PYTHON
from ptexplore.source.tree import is_plain

if TYPE_CHECKING:
    from markdown_it.token import Token

    from ptexplore.annotations.blocks import Field

FOLDERS = "folders"
_KEYS = ("folder", "title", "summary", "baseline", "try")
_NEEDED = ("folder", "title", "summary", "baseline")
_START, _FOLDERS, _RARE, _BUILD, _NEWER = "start here", "folders", "rarely needed", "in a build", "in "
_ENTRY = re.compile(r"`([^`]+)`(?: at `([^`]+)`)?: +(\S.*)", re.DOTALL)
_VERSION = re.compile(r"in ([0-9]+\.[0-9]+\.[0-9]+)")
_LONGEST_TRY = 200  # characters
_AT_A_GLANCE = re.compile(r"[!-~]+(?: [!-~]+)*")
_MOST = 500  # pages of one folder of notes


@dataclass(frozen=True, slots=True)
class FileToRead:
    """A file to begin with, and the reason. `symbol` is the name in it to look at; "" means its beginning."""

    where: Where
    path: str  # in the repository
    symbol: str
    why: str


@dataclass(frozen=True, slots=True)
class Subfolder:
    """A sentence about a subfolder. `rare`: readers seldom need it."""

    where: Where
    path: str  # in the repository
    text: str
    rare: bool = False


@dataclass(frozen=True, slots=True)
class FolderPage:
    """The page about one folder. `folder` is its path in the repository; "" is the root.

    `intro`, `build` and the text of `newer` are Markdown. `newer` has the differences of later releases: (version,
    text). `expression` can be traced and runs through the folder; "" if there is none.
    """

    where: Where
    folder: str
    title: str
    summary: str
    baseline: str
    expression: str = ""
    intro: str = ""
    start: tuple[FileToRead, ...] = ()
    subfolders: tuple[Subfolder, ...] = ()
    build: str = ""
    newer: tuple[tuple[str, str], ...] = ()
    shipped: bool = False  # whether it came with ptexplore
    sha: str = ""  # the hash of the file's bytes, which trust in its expression is bound to


@dataclass
class FolderPages:
    """All pages by folder. A later layer's page replaces an earlier one. `problems` are errors in pages."""

    pages: dict[str, FolderPage] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def sentence(self, folder: str) -> Subfolder | None:
        """Returns the sentence for a folder from the page of its parent folder, else the summary of its own page."""
        around = self.pages.get(folder.rpartition("/")[0])
        for subfolder in around.subfolders if around is not None else ():
            if subfolder.path == folder:
                return subfolder
        page = self.pages.get(folder)
        return Subfolder(page.where, folder, page.summary) if page is not None else None


@bounded()
def load_folders(layers: Sequence[Layer]) -> FolderPages:
    """Reads the pages of every layer. An error in one page becomes a problem, and the others still load."""
    made = FolderPages()
    for layer in layers:
        own: dict[str, FolderPage] = {}
        room = LARGEST_FOLDER
        for shown, file in _files(layer, made.problems):
            try:
                data = read_bytes(file, LARGEST)
            except OSError as error:
                made.problems.append(unread(shown, error))
                continue
            room -= len(data)
            if room < 0:
                text = f"more than {LARGEST_FOLDER:,} bytes of pages: the other pages are left out"
                made.problems.append(Problem(Where(f"{layer.shown}/{FOLDERS}", 1), text))
                break
            page, problems = parse(data, shown, is_shipped=layer.shipped)
            made.problems += problems
            if page is None:
                continue
            if page.folder in own:
                text = f"the folder {page.folder!r} already has the page {own[page.folder].where.file}"
                made.problems.append(Problem(page.where, text))
            else:
                own[page.folder] = page
        made.pages |= own
    return made


def _files(layer: Layer, problems: list[Problem]) -> Iterator[tuple[str, Path]]:
    """Yields the shown name and the path of each page's file. A folder that cannot be read becomes a problem."""
    try:
        names = names_in(layer.root / FOLDERS, layer.root)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        problems.append(unread(f"{layer.shown}/{FOLDERS}", error))
        return
    for name in [name for name in names if name.lower().endswith(".md") and name.lower() != "readme.md"][:_MOST]:
        yield f"{layer.shown}/{FOLDERS}/{name}", layer.root / FOLDERS / name


def parse(data: bytes, shown: str, *, is_shipped: bool = False) -> tuple[FolderPage | None, list[Problem]]:
    """Returns the page in `data` and all its problems. The page is None if its front matter cannot be used."""
    problems: list[Problem] = []
    try:
        text, controls = without_controls(decode(data))
        left_out = "the control character {} is left out"
        problems += [Problem(Where(shown, line), left_out.format(code)) for line, code in controls]
        lines = text.split("\n")
        end, front = front_matter(lines, _KEYS, _NEEDED)
        folder = _folder(front["folder"])
        document = tokens("\n" * end + "\n".join(lines[end:]))
    except Unreadable as error:
        return None, [*problems, Problem(Where(shown, error.line), str(error))]
    except (RecursionError, ValueError) as error:
        return None, [*problems, Problem(Where(shown, 1), f"the Markdown cannot be read: {str(error)[:80]}")]
    problems += [Problem(Where(shown, line), trouble) for line, trouble in troubles(document)]
    if len(problems) > len(controls):
        return None, problems  # something in it must not be shown
    page = _Page(shown, folder, lines)
    for section in sections(document, ("h2",), len(lines)):
        page.take(section)
    first = next((line_of(token) for token in document if token.type == "heading_open"), len(lines) + 1)
    intro = "\n".join(lines[end : first - 1]).strip()
    if not intro:
        page.problem(end, "a page begins with the purpose of the folder")
    made = FolderPage(
        Where(shown, 1), folder, front["title"].text(), front["summary"].text(), front["baseline"].text(),
        page.expression(front["try"]) if "try" in front else "", intro,
        tuple(page.start), tuple(page.subfolders), page.build, tuple(page.newer),
        is_shipped, hashlib.sha256(data).hexdigest(),
    )  # fmt: skip
    return made, [*problems, *page.problems]


def _folder(given: Field) -> str:
    """Returns the folder that a page is about. "" is written as '""'. Raises Unreadable."""
    if given.node.id == "scalar" and given.node.value == "":
        return ""
    path = given.text().rstrip("/")
    if not is_plain(path):
        raise Unreadable(given.line, f"{path!r} is not a path inside the tree")
    return path


@dataclass
class _Page:
    """The sections of one page while they are read."""

    shown: str
    folder: str
    lines: list[str]
    start: list[FileToRead] = field(default_factory=list)
    subfolders: list[Subfolder] = field(default_factory=list)
    build: str = ""
    newer: list[tuple[str, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def problem(self, line: int, text: str) -> None:
        """Adds a problem at a line (1-based)."""
        self.problems.append(Problem(Where(self.shown, line), text))

    def expression(self, given: Field) -> str:
        """Returns the expression to try.

        It is printed as a command, so one that is hard to read becomes "" and a problem.
        """
        code = given.code()
        try:
            ast.parse(code, mode="eval")
        except NOT_PYTHON:
            self.problem(given.line, "try: it must be one Python expression")
            return ""
        if len(code) > _LONGEST_TRY or not _AT_A_GLANCE.fullmatch(code):
            self.problem(given.line, f"try: at most {_LONGEST_TRY} ASCII characters in one line, with single blanks")
            return ""
        return code

    def take(self, section: HeadedSection) -> None:
        """Reads one section, according to its title."""
        title = section.title.lower()
        version = _VERSION.fullmatch(title)
        prose = "\n".join(self.lines[section.body - 1 : section.last]).strip()
        if title == _START:
            for line, path, symbol, text in self._entries(section):
                self.start.append(FileToRead(Where(self.shown, line), path, symbol, text))
        elif title in (_FOLDERS, _RARE):
            for line, path, symbol, text in self._entries(section):
                if symbol:
                    self.problem(line, "an entry for a folder has no name: write `folder`: a sentence")
                self.subfolders.append(Subfolder(Where(self.shown, line), path, text, rare=title == _RARE))
        elif title == _BUILD:
            self.build = prose
        elif version is not None:
            self.newer.append((version[1], prose))
        else:
            known = "Start here, Folders, Rarely needed, In a build, In 2.13.0"
            self.problem(section.first, f"{section.title!r} is not a section; the sections are {known}")

    def _entries(self, section: HeadedSection) -> Iterator[tuple[int, str, str, str]]:
        """Yields line, path in the repository, name and sentence of each entry in a section's list."""
        for line, token in _items(section):
            match = _ENTRY.fullmatch(token.content.strip())
            path = match[1].strip().rstrip("/") if match is not None else ""
            whole = path.removeprefix("/") if path.startswith("/") or not self.folder else f"{self.folder}/{path}"
            if match is None or not is_plain(whole):
                self.problem(line, "write an entry as `path`: a sentence, or `path` at `name`: a sentence")
            else:
                yield line, whole, match[2] or "", " ".join(match[3].split())


def _items(section: HeadedSection) -> Iterator[tuple[int, Token]]:
    """Yields the text of each list item in a section, with its line."""
    line, is_open = section.first, False
    for token in section.tokens:
        if token.type == "list_item_open":
            line, is_open = line_of(token), True
        elif token.type == "inline" and is_open:
            is_open = False
            yield line, token
