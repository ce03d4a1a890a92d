"""Which files and operators a site shows: everything, the core, or what tours, notes and traces touch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from ptexplore.model.trace import walk
from ptexplore.view.site.source_page import source_data

if TYPE_CHECKING:
    from ptexplore.annotations.marks import Mark
    from ptexplore.model.places import SourceRef
    from ptexplore.model.trace import Hop, Trail
    from ptexplore.view.site.link_targets import DefinitionsByName
    from ptexplore.view.trees import IndexedTree

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
    found: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for mark in marks:
        if mark.placed:
            found[mark.path].add((mark.begin or mark.line, mark.symbol_end or mark.end_line))
    for trail in trails:
        for hop in walk(trail.hops):
            for ref in refs(hop):
                if ref.path is not None:
                    found[ref.path].add((ref.line or 1, ref.end_line or ref.line or 1))
    return {path: sorted(lines) for path, lines in sorted(found.items())}


def refs(hop: Hop) -> Iterable[SourceRef]:
    """Every place that a hop names."""
    given = [
        hop.source,
        *([hop.registration] if hop.registration else []),
        *([hop.declaration] if hop.declaration else []),
    ]
    for ref in given:
        yield ref
        yield from ref.candidates


def around(names: DefinitionsByName, trees: Sequence[IndexedTree], extents: Extents) -> set[str]:
    """The files that these lines lead to: where the names in them are defined for sure."""
    found: set[str] = set()
    for path, lines in extents.items():
        number = names.owner.get(path, (-1, 0))[0]
        text = trees[number].tree.read(path) if number >= 0 else None
        if text is None:
            continue
        wanted = frozenset(n for first, last in lines for n in range(first, min(last, first + _MOST_LINES) + 1))
        for _name, meant in source_data(names, path, text.text, wanted).entries:
            if meant.sure:
                found.update(place.path for place in meant.places)
    return found


def operators_of(marks: Iterable[Mark], trails: Iterable[Trail]) -> set[str]:
    """The operators that stops point to and traces ran, by full name."""
    found = {op if "::" in op else f"aten::{op}" for mark in marks for op in mark.ops}
    found |= {hop.op for trail in trails for hop in walk(trail.hops) if hop.op}
    return found
