"""The one place that decides how precise a source reference is.

The words are the design's: `registered` needs the binary's own record and a text that confirms it,
`located` the one definition in a matching tree; nothing is ever rounded up, and what is not known says why.
A line of another version's tree is never more than `version-skew`, even where a record happens to name that very line.
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
    """The precision that the evidence for one place carries, never more.

    `relation` is TreeInfo's, `definitions` how many were found. `recorded`: the binary's own record names this line;
    `confirmed`: and this tree's text holds the macro, key and operator there.
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
    """The layer that gives `path` in this tree, None where no layer holds it."""
    file = tree.read(path)
    return file.layer if file else None


def unknown(reason: Reason | AnswerRemark, path: str | None = None, line: int | None = None) -> SourceRef:
    """Not known, and why."""
    return SourceRef(path=path, line=line, layer=None, precision="unknown", reason=reason)


def outside(file: str, line: int | None) -> SourceRef:
    """A line of Python outside of torch, whose file nobody here may name as a tree's."""
    return replace(unknown(place_reasons.OutsideTorch(file), None, line), outside=file)


def of_yours(file: str, line: int) -> SourceRef:
    """A function of your own: Python, or what its compiler left in the library, says where it is.

    The file is named as they have it.
    """
    return SourceRef(file, line, None, decide())


def in_runtime(tree: SourceTree, path: str, line: int | None, end_line: int | None = None) -> SourceRef:
    """A definition that was found in the runtime tree's own text."""
    layer = layer_of(tree, path)
    if layer is None or line is None:
        return unknown(place_reasons.NotInRuntime(path), path, line)
    return SourceRef(path, line, layer, decide(), end_line=end_line)


def recorded(tree: SourceTree, path: str, line: int | None, confirmed: bool, why_not: Reason | None) -> SourceRef:
    """A line that the binary's own registration record names."""
    precision = decide(recorded=True, confirmed=confirmed)
    reason = None if confirmed else place_reasons.RecordUnconfirmed(why_not or place_reasons.NothingConfirms())
    return SourceRef(path, line, layer_of(tree, path), precision, reason=reason)


def several(places: Sequence[SourceRef], reason: Callable[[int], Reason]) -> SourceRef:
    """One or several places as one reference: the only place as it is, several as candidates.

    `reason` makes of their number why it is not known which.
    """
    first = places[0]
    if len(places) == 1:
        return first
    precision = decide(definitions=len(places))
    path = first.path if all(place.path == first.path for place in places) else None
    return SourceRef(
        path, None, first.layer, precision, tree=first.tree, reason=reason(len(places)), candidates=tuple(places)
    )
