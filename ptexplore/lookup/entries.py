"""Gives each name the facts for its order in a search: its sort, its likelihood, its number of uses."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ptexplore.source.canonical import FOREIGN, area, language_of
from ptexplore.store.index.search import lowered, word_starts

# The order of the sorts of things, if the names fit equally well. The second number is for a query in small letters: it
# may be a word, and notes are about words.
RANKS = {
    "tour": (4, 0), "stop": (4, 1), "note": (4, 1), "concept": (4, 1), "folder": (5, 2), "operator": (2, 3),
    "class": (1, 4), "struct": (1, 4), "union": (1, 4), "enum": (1, 4), "function": (3, 5), "concept of C++": (4, 6),
    "macro": (3, 5), "typedef": (4, 6), "file": (6, 7), "heading": (7, 7), "trace": (7, 8), "method": (8, 8),
    "enumerator": (8, 9), "member": (9, 9), "variable": (9, 9), "namespace": (10, 10),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """A name that a search may find, with the facts that order it.

    `kind` is a key of `RANKS`. `context` is the scope or folder before the name. `minor` and `area` say how likely the
    name is meant. `uses` is how often the name is used, as a number of bits. `order` is the place in its own family.
    `python` says that it is in Python; `path` is the file of a symbol.
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
        """The family of the name: the overloads of one function, or of one operator."""
        if self.kind == "folder":
            return f"folder {self.context}/{self.name}".replace(" /", " ")
        name = self.name.partition(".")[0] if self.kind == "operator" else self.name
        return f"{self.kind} {self.context} {name}"

    @property
    def answer_family(self) -> str:
        """The family among answers to several words: all things with one name, ignoring case and "_"."""
        name = self.name.partition(".")[0] if self.kind == "operator" else self.name
        return lowered(name).replace("_", "")


def symbol_entry(kind: str, name: str, container: str, path: str, *, declared: bool, uses: int) -> Entry:
    """Returns the entry of a symbol (its kind is a SymbolKind). `container` is its scope without the last separator."""
    outer = re.split(r"::|\.", container)[-1]
    # PyTorch's classes begin with a capital; its namespaces and modules do not.
    method = kind == "function" and outer.lstrip("_")[:1].isupper()
    shown = "method" if method else "concept of C++" if kind == "concept" else kind
    near = area(path)
    minor = declared or near >= FOREIGN or shown in ("method", "enumerator", "member", "variable", "namespace")
    python = language_of(path) == "python"
    minor = minor or (python and kind == "function" and not method and _is_local(container, path))
    return Entry(shown, name, container, minor, near, uses, python=python, path=path)


def _is_local(container: str, path: str) -> bool:
    """Whether a function of Python is inside another function: its scope is more than the module of its file."""
    module = path.rpartition(".")[0].removesuffix("/__init__").replace("/", ".")
    return len(container) > len(module) and container.startswith(f"{module}.")


def operator_entry(namespace: str, name: str, uses: int) -> Entry:
    """Returns the entry of an operator ("add.Tensor").

    ATen's own come first, and overloads that return the result come before those that write it (`out`).
    """
    overload = name.partition(".")[2]
    order = 0 if overload in ("", "Tensor") else 1
    order = 2 if "out" in overload else order
    own = namespace == "aten"
    return Entry("operator", name, namespace, minor=False, area=0 if own else 1, uses=uses if own else 0, order=order)


def file_entry(path: str, uses: int) -> Entry:
    """Returns the entry of a file, by the last part of its path."""
    folder, _, name = path.rpartition("/")
    near = area(path)
    return Entry("file", name, folder, near >= FOREIGN, near, uses)


def folder_entry(path: str, *, written: bool) -> Entry:
    """Returns the entry of a folder, by the last part of its path. A folder with a page (`written`) comes first."""
    outer, _, name = path.rpartition("/")
    near = area(f"{path}/x")
    return Entry("folder", name, outer, not written and near >= FOREIGN, 0 if written else near)


def use_bits(count: int) -> int:
    """Returns roughly how often a name is used: twice as many uses add one."""
    return min(count.bit_length(), 15)


def row_code(entry: Entry) -> str:
    """Returns the code of an entry in the site's rows: how likely it is meant, its uses, and "m" for a method."""
    inner = "m" if entry.kind in ("method", "enumerator") else ""
    return f"{int(entry.minor) + 2 * entry.area}{entry.uses:x}{inner}"


def row_place(entry: Entry) -> tuple[int, ...]:
    """Returns the key that orders entries with the same beginning before anyone asks. Fewer words come first."""
    words = len(word_starts(entry.name))
    return (int(entry.minor), words, RANKS[entry.kind][0], entry.area, -entry.uses, entry.order)
