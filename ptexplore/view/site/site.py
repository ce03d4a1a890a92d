"""A site: which files it shows, where each page is, and what every page shares: settings, trees, notes by file."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ptexplore.annotations.marks import Mark
from ptexplore.lookup.trees import IndexedTree
from ptexplore.lookup.use_meaning import UseReader
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.model.trace import Hop, Trail, walk
from ptexplore.source.permalink import page_on
from ptexplore.view.site.source_page import source_data


@dataclass(frozen=True)
class Settings:
    """What was asked for. `base` ends in a slash, where it is given; `repo` is the URL before a path, without one."""

    title: str
    scope: Scope
    base: str = ""
    repo: str = ""


@dataclass
class Site:
    """One site. `sources` are the URLs of published files by path, `owner` the number of the tree each is from.

    `operators` are the URLs of published cards by name, `at` those whose generated function begins at a line of a file.
    """

    settings: Settings
    trees: Sequence[IndexedTree]
    sources: Mapping[str, str]
    owner: Mapping[str, int]
    operators: Mapping[str, str] = field(default_factory=dict)
    at: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    notes: Mapping[str, Sequence[Mark]] = field(default_factory=dict)  # the stops beside each file, by its path
    stops: Mapping[str, str] = field(default_factory=dict)  # "tour#stop" -> URL
    traces: bool = False  # whether there are saved traces on it

    @property
    def id(self) -> str:
        """The same for every page of a site, and for the site when it is built again."""
        return hashlib.sha256(self.settings.title.encode("utf-8", "replace")).hexdigest()[:12]

    @property
    def of(self) -> str:
        """What the site is of, in words."""
        return ", ".join(dict.fromkeys(shown(indexed.tree.info) for indexed in self.trees))

    def place(self, page: str, path: str, line: int | None) -> str | None:
        """The way from a page to a line of a file; None where the file is not on the site."""
        url = self.sources.get(path)
        return None if url is None else between(page, url) + (f"#L{line}" if line else "")

    def permalink(self, path: str, line: int | None = None) -> str | None:
        """Where the file can be read elsewhere, at the very text of this site; None where nobody can say."""
        number = self.owner.get(path, 0)
        if not self.settings.repo or self.trees[number].checkout is None:
            return None
        return page_on(self.settings.repo, path, line)

    def skewed(self, first: int, second: int) -> bool:
        """Whether two trees are of different versions."""
        return first != second and any(self.trees[n].tree.info.relation == "version-skew" for n in (first, second))


def shown(info: TreeInfo) -> str:
    """A tree in words: "pytorch-v2.6.0", "torch 2.6.0 as installed"."""
    return f"torch {info.version} as installed" if info.relation == "runtime" else info.label


def operator_url(name: str) -> str:
    """The page of an operator's card."""
    namespace, rest = operator_names(name)
    return f"ops/{_folder(namespace or 'none')}/{safe(rest)}.html"


def stop_url(name: str) -> str:
    """The page of a stop "tour#stop", or of a tour."""
    tour, _, stop = name.partition("#")
    return f"tours/{safe(tour)}/{safe(stop)}.html" if stop else f"tours/{_page(tour)}.html"


def picture_url(tour: str, name: str) -> str:
    """Where a picture beside a tour is: among its stops, whose pages end in another way."""
    stem, _, suffix = name.rpartition(".")
    return f"tours/{safe(tour)}/{safe(stem)}.{suffix}"


def namespace_url(namespace: str) -> str:
    """The list of the operators of a namespace."""
    return f"ops/{_page(namespace or 'none')}.html"


_UNSAFE = re.compile(rb"[^A-Za-z0-9._+-]|^\.|\.$")
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
_LONGEST = 120  # characters of one name: with its suffixes it must fit every file system


def safe(name: str) -> str:
    """A file's name that every file system and URL takes as it is: other bytes of its UTF-8 as ~XX."""
    made = _UNSAFE.sub(lambda match: b"~%02X" % match[0][0], name.encode("utf-8", "surrogateescape")).decode("ascii")
    if made.partition(".")[0].lower() in _RESERVED:
        made = f"~{ord(made[0]):02X}{made[1:]}"
    if len(made) > _LONGEST:
        made = f"{made[: _LONGEST - 9]}~{_hash(name, 8)}"
    return made


# Names that others chose cannot meet those that the site has: a folder never ends as a file of the site does, and no
# page of theirs is an index. What is written instead (~2E, ~69) no other name can give: `safe` writes their ~ as ~7E.


def _page(name: str) -> str:
    """The name of a page, without its ending: none is the index of its folder."""
    made = safe(name)
    return f"~{ord(made[0]):02X}{made[1:]}" if made.lower() == "index" else made


def _folder(name: str) -> str:
    """The name of a folder: it may not end as the page of a file beside it does."""
    made = safe(name)
    stem, _, suffix = made.rpartition(".")
    return f"{stem}~2E{suffix}" if suffix.lower() in ("html", "js") else made


def source_url(path: str) -> str:
    """The page of a file of source."""
    *folders, name = path.split("/")
    return f"src/{''.join(f'{_folder(folder)}/' for folder in folders)}{_page(name)}.html"


def folder_url(folder: str) -> str:
    """The page of a folder of source; of all of them for ""."""
    return f"src/{'/'.join(map(_folder, folder.split('/')))}/index.html" if folder else "src/index.html"


def _hash(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def apart(names: Iterable[str], page: Callable[[str], str]) -> dict[str, str]:
    """The page of each name; of those that differ in case alone all but the first get the beginning of a hash."""
    pages: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names):
        url = page(name)
        pages[name] = f"{url.removesuffix('.html')}~{_hash(name, 6)}.html" if url.lower() in taken else url
        taken.add(pages[name].lower())
    return pages


def up(url: str) -> str:
    """The way from a page to the site's root ("../../")."""
    return "../" * url.count("/")


def between(page: str, target: str) -> str:
    """The shortest way from one page to another, both from the root."""
    ours, theirs = page.split("/")[:-1], target.split("/")
    same = 0
    while same < min(len(ours), len(theirs) - 1) and ours[same] == theirs[same]:
        same += 1
    return "../" * (len(ours) - same) + "/".join(theirs[same:])


def operator_names(name: str) -> tuple[str, str]:
    """An operator's namespace and the rest: "aten::add.Tensor" -> "aten", "add.Tensor"."""
    namespace, _, rest = name.partition("::")
    return (namespace, rest) if rest else ("", name)


Scope = Literal["tours", "core", "all"]
_ALL = ("aten/", "c10/", "torch/csrc/", "build/")
_CORE = ("c10/core/", "c10/util/", "c10/macros/", "aten/src/ATen/core/", "aten/src/ATen/ops/",
         "aten/src/ATen/detail/", "aten/src/ATen/cpu/", "aten/src/ATen/native/cpu/", "torch/csrc/autograd/",
         "torch/csrc/utils/", "build/")  # fmt: skip
_CORE_FOLDERS = ("aten/src/ATen", "aten/src/ATen/native", "aten/src/ATen/templates", "torch/csrc", "torch/_C",
                 "tools/autograd", "tools/autograd/templates")  # fmt: skip
_SMALL = "build/aten/src/ATen/ops/"  # seven thousand headers of a few lines: the card of the operator says it all
_MOST_LINES = 400  # of a symbol that is looked through for what it leads to

Extents = Mapping[str, Sequence[tuple[int, int]]]  # path -> first and last lines


def in_scope(path: str, scope: Scope) -> bool:
    """Whether a file belongs to the site whatever is written about it."""
    if scope == "all":
        return path.startswith(_ALL) and not path.startswith(_SMALL)
    if scope == "core":
        return (path.startswith(_CORE) and not path.startswith(_SMALL)) or path.rpartition("/")[0] in _CORE_FOLDERS
    return False


def touched(marks: Iterable[Mark], trails: Iterable[Trail]) -> Extents:
    """The lines that stops and traces are about, by path."""
    extents: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for mark in marks:
        if mark.placed:
            extents[mark.path].add((mark.begin or mark.line, mark.symbol_end or mark.end_line))
    for trail in trails:
        for hop in walk(trail.hops):
            for ref in refs(hop):
                if ref.path is not None:
                    extents[ref.path].add((ref.line or 1, ref.end_line or ref.line or 1))
    return {path: sorted(lines) for path, lines in sorted(extents.items())}


def refs(hop: Hop) -> Iterable[SourceRef]:
    """Every place that a hop names."""
    for ref in filter(None, (hop.source, hop.registration, hop.declaration)):
        yield ref
        yield from ref.candidates


def around(reader: UseReader, trees: Sequence[IndexedTree], extents: Extents, *, overloads: bool = False) -> set[str]:
    """The files that these lines lead to: where the names in them are defined for sure.

    With `overloads` also where it is not sure which is meant of several that stand in one file.
    """
    files: set[str] = set()
    for path, lines in extents.items():
        number = reader.names.owner.get(path, (-1, 0))[0]
        text = trees[number].tree.read(path) if number >= 0 else None
        if text is None:
            continue
        wanted = frozenset(n for first, last in lines for n in range(first, min(last, first + _MOST_LINES) + 1))
        for _name, meant in source_data(reader, path, text.text, wanted).entries:
            paths = {place.path for place in meant.places}
            if meant.sure or (overloads and len(paths) == 1):
                files |= paths
    return files


def operators_of(marks: Iterable[Mark], trails: Iterable[Trail]) -> set[str]:
    """The operators that stops point to and traces ran, by full name."""
    pointed_to = {op if "::" in op else f"aten::{op}" for mark in marks for op in mark.ops}
    return pointed_to | {hop.op for trail in trails for hop in walk(trail.hops) if hop.op}
