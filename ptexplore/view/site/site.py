"""The site: which files it shows, the URL of each page, and data for all pages: settings, trees, notes by file."""

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
from ptexplore.model.trace import Hop, Trace, walk
from ptexplore.source.permalink import page_on
from ptexplore.view.site.source_page import source_data


@dataclass(frozen=True)
class Settings:
    """What the user asked for.

    `base` ends in a slash if given. `repo` is the URL in front of a path, without a slash.
    """

    title: str
    scope: Scope
    base: str = ""
    repo: str = ""


@dataclass
class Site:
    """The site. `sources`: URL of each published file, by path. `owner`: the number of the file's tree, by path.

    `operators`: URL of each published card, by operator. `at`: by path and line, the card of the operator whose
    generated function begins there.
    """

    settings: Settings
    trees: Sequence[IndexedTree]
    sources: Mapping[str, str]
    owner: Mapping[str, int]
    operators: Mapping[str, str] = field(default_factory=dict)
    at: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    notes: Mapping[str, Sequence[Mark]] = field(default_factory=dict)  # the stops beside each file, by path
    stops: Mapping[str, str] = field(default_factory=dict)  # "tour#stop" -> URL
    traces: bool = False  # whether the site has saved traces

    @property
    def id(self) -> str:
        """Returns an id that is the same on all pages, and after the site is built again."""
        return hashlib.sha256(self.settings.title.encode("utf-8", "replace")).hexdigest()[:12]

    @property
    def of(self) -> str:
        """Returns the source trees of the site, in words."""
        return ", ".join(dict.fromkeys(shown(indexed.tree.info) for indexed in self.trees))

    @property
    def versions(self) -> str:
        """Returns which torch is installed and which source is shown, in words."""
        infos = [indexed.tree.info for indexed in self.trees]
        ran = [info.version for info in infos if info.relation == "runtime"]
        read = [info.label for info in infos if info.relation != "runtime"]
        sentences = [f"The installed torch is {', '.join(dict.fromkeys(ran))}."] if ran else []
        sentences += [f"The hand-written source is {', '.join(dict.fromkeys(read))}."] if read else []
        if ran and any(info.relation == "version-skew" for info in infos):
            sentences.append('A place in it is marked "other version": it was found by its name.')
        return " ".join(sentences)

    def place(self, page: str, path: str, line: int | None) -> str | None:
        """Returns the relative URL of a line of a file, seen from a page; None if the file is not on the site."""
        url = self.sources.get(path)
        return None if url is None else between(page, url) + (f"#L{line}" if line else "")

    def permalink(self, path: str, line: int | None = None) -> str | None:
        """Returns the URL of a file in the online repository, with the same text; None if there is no such URL."""
        number = self.owner.get(path, 0)
        if not self.settings.repo or self.trees[number].checkout is None:
            return None
        return page_on(self.settings.repo, path, line)

    def skewed(self, first: int, second: int) -> bool:
        """Whether two trees are of different versions."""
        return first != second and any(self.trees[n].tree.info.relation == "version-skew" for n in (first, second))


def shown(info: TreeInfo) -> str:
    """Names a tree: "pytorch-v2.6.0", "torch 2.6.0 as installed"."""
    return f"torch {info.version} as installed" if info.relation == "runtime" else info.label


def operator_url(name: str) -> str:
    """Returns the URL of an operator's card."""
    namespace, rest = operator_names(name)
    return f"ops/{_folder(namespace or 'none')}/{safe(rest)}.html"


def stop_url(name: str) -> str:
    """Returns the URL of a stop "tour#stop", or of a tour."""
    tour, _, stop = name.partition("#")
    return f"tours/{safe(tour)}/{safe(stop)}.html" if stop else f"tours/{_page(tour)}.html"


def picture_url(tour: str, name: str) -> str:
    """Returns the URL of a tour's picture. Pictures are in the folder of the stops, whose pages have another suffix."""
    stem, _, suffix = name.rpartition(".")
    return f"tours/{safe(tour)}/{safe(stem)}.{suffix}"


def namespace_url(namespace: str) -> str:
    """Returns the URL of a namespace's operator list."""
    return f"ops/{_page(namespace or 'none')}.html"


_UNSAFE = re.compile(rb"[^A-Za-z0-9._+-]|^\.|\.$")
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
_LONGEST = 120  # characters of one name: with suffixes, it must fit every file system


def safe(name: str) -> str:
    """Returns a file name that every file system and URL accepts: other bytes of its UTF-8 become ~XX."""
    made = _UNSAFE.sub(lambda match: b"~%02X" % match[0][0], name.encode("utf-8", "surrogateescape")).decode("ascii")
    if made.partition(".")[0].lower() in _RESERVED:
        made = f"~{ord(made[0]):02X}{made[1:]}"
    if len(made) > _LONGEST:
        made = f"{made[: _LONGEST - 9]}~{_hash(name, 8)}"
    return made


# Names from other people cannot collide with the site's own names: a folder never ends like a file of the site, and no
# page of theirs is called index. No name can produce the replacements (~2E, ~69), since `safe` writes a ~ in a name as
# ~7E.


def _page(name: str) -> str:
    """Returns the name of a page without its ending. No page is called index, like the index of its folder."""
    made = safe(name)
    return f"~{ord(made[0]):02X}{made[1:]}" if made.lower() == "index" else made


def _folder(name: str) -> str:
    """Returns the name of a folder. It must not end like the page of a file beside it."""
    made = safe(name)
    stem, _, suffix = made.rpartition(".")
    return f"{stem}~2E{suffix}" if suffix.lower() in ("html", "js") else made


def source_url(path: str) -> str:
    """Returns the URL of a source file's page."""
    *folders, name = path.split("/")
    return f"src/{''.join(f'{_folder(folder)}/' for folder in folders)}{_page(name)}.html"


def folder_url(folder: str) -> str:
    """Returns the URL of a source folder's page; "" is the folder around all of them."""
    return f"src/{'/'.join(map(_folder, folder.split('/')))}/index.html" if folder else "src/index.html"


def _hash(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def apart(names: Iterable[str], page: Callable[[str], str]) -> dict[str, str]:
    """Returns the page of each name. If names differ only in case, all but the first get the start of a hash."""
    pages: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names):
        url = page(name)
        pages[name] = f"{url.removesuffix('.html')}~{_hash(name, 6)}.html" if url.lower() in taken else url
        taken.add(pages[name].lower())
    return pages


def up(url: str) -> str:
    """Returns the relative URL from a page to the site's root ("../../")."""
    return "../" * url.count("/")


def between(page: str, target: str) -> str:
    """Returns the shortest relative URL between two pages; both are given from the root."""
    ours, theirs = page.split("/")[:-1], target.split("/")
    same = 0
    while same < min(len(ours), len(theirs) - 1) and ours[same] == theirs[same]:
        same += 1
    return "../" * (len(ours) - same) + "/".join(theirs[same:])


def operator_names(name: str) -> tuple[str, str]:
    """Splits an operator's name into its namespace and the rest: "aten::add.Tensor" -> "aten", "add.Tensor"."""
    namespace, _, rest = name.partition("::")
    return (namespace, rest) if rest else ("", name)


Scope = Literal["tours", "core", "all"]
_ALL = ("aten/", "c10/", "torch/csrc/", "build/")
_CORE = ("c10/core/", "c10/util/", "c10/macros/", "aten/src/ATen/core/", "aten/src/ATen/ops/",
         "aten/src/ATen/detail/", "aten/src/ATen/cpu/", "aten/src/ATen/native/cpu/", "torch/csrc/autograd/",
         "torch/csrc/utils/", "build/")  # fmt: skip
_CORE_FOLDERS = ("aten/src/ATen", "aten/src/ATen/native", "aten/src/ATen/templates", "torch/csrc", "torch/_C",
                 "tools/autograd", "tools/autograd/templates")  # fmt: skip
_SMALL = "build/aten/src/ATen/ops/"  # seven thousand short headers: an operator's card has all they say
_MOST_LINES = 400  # lines of a symbol that are searched for links

Extents = Mapping[str, Sequence[tuple[int, int]]]  # path -> first and last lines


def in_scope(path: str, scope: Scope) -> bool:
    """Whether a file is on the site even if no stop or trace mentions it."""
    if scope == "all":
        return path.startswith(_ALL) and not path.startswith(_SMALL)
    if scope == "core":
        return (path.startswith(_CORE) and not path.startswith(_SMALL)) or path.rpartition("/")[0] in _CORE_FOLDERS
    return False


def touched(marks: Iterable[Mark], traces: Iterable[Trace]) -> Extents:
    """Returns the lines that stops and traces are about, by path."""
    extents: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for mark in marks:
        if mark.placed:
            extents[mark.path].add((mark.begin or mark.line, mark.symbol_end or mark.end_line))
    for trace in traces:
        for hop in walk(trace.hops):
            for ref in refs(hop):
                if ref.path is not None:
                    extents[ref.path].add((ref.line or 1, ref.end_line or ref.line or 1))
    return {path: sorted(lines) for path, lines in sorted(extents.items())}


def refs(hop: Hop) -> Iterable[SourceRef]:
    """Yields every place that a hop names."""
    for ref in filter(None, (hop.source, hop.registration, hop.declaration)):
        yield ref
        yield from ref.candidates


def around(reader: UseReader, trees: Sequence[IndexedTree], extents: Extents, *, overloads: bool = False) -> set[str]:
    """Returns the files with definitions of the names in these lines, if the definition is certain.

    With `overloads`, also a file that has all candidates, even if the candidate is not certain.
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


def operators_of(marks: Iterable[Mark], traces: Iterable[Trace]) -> set[str]:
    """Returns the full names of operators that stops refer to or traces ran."""
    pointed_to = {op if "::" in op else f"aten::{op}" for mark in marks for op in mark.ops}
    return pointed_to | {hop.op for trace in traces for hop in walk(trace.hops) if hop.op}
