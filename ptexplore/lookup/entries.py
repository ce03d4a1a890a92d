"""What is known of a name before anyone asks for it: its sort, how likely it is meant, how often it is used."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ptexplore.source.canonical import FOREIGN, area, language_of
from ptexplore.store.index.search import word_starts

# Of what is alike: the sort of thing. A name in small letters may be a word, which notes are about.
RANKS = {
    "tour": (4, 0), "stop": (4, 1), "note": (4, 1), "concept": (4, 1), "folder": (5, 2), "operator": (2, 3),
    "class": (1, 4), "struct": (1, 4), "union": (1, 4), "enum": (1, 4), "function": (3, 5), "concept of C++": (4, 6),
    "macro": (3, 5), "typedef": (4, 6), "file": (6, 7), "heading": (7, 7), "trace": (7, 8), "method": (8, 8),
    "enumerator": (8, 9), "member": (9, 9), "variable": (9, 9), "namespace": (10, 10),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """A name that a search may find, before it is drawn: what orders it.

    `kind` is a key of the ranks, `context` what stands before the name (a scope, a folder), `minor` and `area` how
    likely it is meant, `uses` the width in bits of how often its name is used, `order` its place in its own family.
    `python` says that it stands in Python, `path` in which file a symbol does.
    """

    kind: str
    name: str
    context: str
    minor: bool = False
    area: int = 0
    uses: int = 0
    order: int = 0
    python: bool = False
    path: str = ""

    @property
    def family(self) -> str:
        """What it is one of: overloads of one function, or of one operator."""
        if self.kind == "folder":
            return f"folder {self.context}/{self.name}".replace(" /", " ")
        name = self.name.partition(".")[0] if self.kind == "operator" else self.name
        return f"{self.kind} {self.context} {name}"


def symbol_entry(kind: str, name: str, container: str, path: str, *, declared: bool, uses: int) -> Entry:
    """A symbol of a SymbolKind; `container` is what qualifies it, without its last separator."""
    outer = re.split(r"::|\.", container)[-1]
    # PyTorch's classes begin with a capital, its namespaces and modules do not.
    method = kind == "function" and outer.lstrip("_")[:1].isupper()
    shown = "method" if method else "concept of C++" if kind == "concept" else kind
    near = area(path)
    minor = declared or near >= FOREIGN or shown in ("method", "enumerator", "member", "variable", "namespace")
    return Entry(shown, name, container, minor, near, uses, python=language_of(path) == "python", path=path)


def operator_entry(namespace: str, name: str, uses: int) -> Entry:
    """An operator ("add.Tensor"): ATen's own first, what returns its result before what writes it."""
    overload = name.partition(".")[2]
    order = 0 if overload in ("", "Tensor") else 1
    order = 2 if "out" in overload else order
    own = namespace == "aten"
    return Entry("operator", name, namespace, minor=False, area=0 if own else 1, uses=uses if own else 0, order=order)


def file_entry(path: str, uses: int) -> Entry:
    """A file, by its last part."""
    folder, _, name = path.rpartition("/")
    near = area(path)
    return Entry("file", name, folder, near >= FOREIGN, near, uses)


def folder_entry(path: str, *, written: bool) -> Entry:
    """A folder, by its last part; one that somebody wrote a page about comes first."""
    outer, _, name = path.rpartition("/")
    near = area(f"{path}/x")
    return Entry("folder", name, outer, not written and near >= FOREIGN, 0 if written else near)


def use_bits(count: int) -> int:
    """How often a name is used, coarsely: what is used twice as often is one more."""
    return min(count.bit_length(), 15)


def row_code(entry: Entry) -> str:
    """What a row of a site keeps of an entry: how likely it is meant, how often its name is used, whether a method."""
    inner = "m" if entry.kind in ("method", "enumerator") else ""
    return f"{int(entry.minor) + 2 * entry.area}{entry.uses:x}{inner}"


def row_place(entry: Entry) -> tuple[int, ...]:
    """Where an entry stands among others that begin alike, before anyone asks: what has few words comes first."""
    words = len(word_starts(entry.name))
    return (int(entry.minor), words, RANKS[entry.kind][0], entry.area, -entry.uses, entry.order)
