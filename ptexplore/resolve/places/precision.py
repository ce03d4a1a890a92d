"""Decides the precision of a source reference. No other module does.

`registered` needs a record of the binary and a text that confirms it. `located` is the only definition in a matching
tree. Precision is never rounded up, and an unknown place has a reason. A line in a tree of another version is at most
`version-skew`, even if a record happens to name exactly this line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ptexplore.model.places import Layer, Precision, SourceRef, place_reasons
from ptexplore.source.tree import SourceTree

if TYPE_CHECKING:
    from ptexplore.model.codes import Reason
    from ptexplore.model.remarks import AnswerRemark


def decide(
    relation: str = "runtime", definitions: int = 1, *, recorded: bool = False, confirmed: bool = False
) -> Precision:
    """Returns the precision that the evidence for a place supports.

    `relation` is the relation in TreeInfo, `definitions` the number of definitions found. `recorded`: a record of the
    binary names this line. `confirmed`: the text of this tree has the macro, key and operator there.
    """
    if recorded and relation != "version-skew":
        return "registered" if confirmed else "unknown"
    if definitions == 0:
        return "unknown"
    if definitions > 1:
        return "ambiguous"
    if relation in ("runtime", "matches"):
        return "located"
    return "consistent" if relation == "consistent" else "version-skew"


def layer_of(tree: SourceTree, path: str) -> Layer | None:
    """Returns the layer that has `path` in this tree, or None."""
    file = tree.read(path)
    return file.layer if file else None


def unknown(reason: Reason | AnswerRemark, path: str | None = None, line: int | None = None) -> SourceRef:
    """Returns an unknown place with the reason."""
    return SourceRef(path=path, line=line, layer=None, precision="unknown", reason=reason)


def outside(file: str, line: int | None) -> SourceRef:
    """Returns a Python line outside of torch, whose file belongs to no tree."""
    return replace(unknown(place_reasons.OutsideTorch(file), None, line), outside=file)


def of_yours(file: str, line: int) -> SourceRef:
    """Returns a function of your own. The place comes from Python, or from what the compiler left in the library.

    The file has the name that is used there.
    """
    return SourceRef(file, line, None, decide())


def in_runtime(tree: SourceTree, path: str, line: int | None, end_line: int | None = None) -> SourceRef:
    """Returns a definition that was found in the text of the runtime tree."""
    layer = layer_of(tree, path)
    if layer is None or line is None:
        return unknown(place_reasons.NotInRuntime(path), path, line)
    return SourceRef(path, line, layer, decide(), end_line=end_line)


def recorded(tree: SourceTree, path: str, line: int | None, confirmed: bool, why_not: Reason | None) -> SourceRef:
    """Returns a line that a registration record of the binary names."""
    precision = decide(recorded=True, confirmed=confirmed)
    reason = None if confirmed else place_reasons.RecordUnconfirmed(why_not or place_reasons.NothingConfirms())
    return SourceRef(path, line, layer_of(tree, path), precision, reason=reason)


def several(places: Sequence[SourceRef], reason: Callable[[int], Reason]) -> SourceRef:
    """Returns one reference for several places: a single place unchanged, several as candidates.

    `reason` gets the number of places and returns why the right one is not known.
    """
    first = places[0]
    if len(places) == 1:
        return first
    precision = decide(definitions=len(places))
    path = first.path if all(place.path == first.path for place in places) else None
    return SourceRef(
        path, None, first.layer, precision, tree=first.tree, reason=reason(len(places)), candidates=tuple(places)
    )
