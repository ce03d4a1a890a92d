"""The one place that decides how precise a source reference is.

The words are the design's: `registered` needs the binary's own record and a text that confirms it,
`located` the one definition in a matching tree; nothing is ever rounded up, and what is not known says why.
A line of another version's tree is never more than `version-skew`, even where a record happens to name that very line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ptexplore.model.places import Layer, Precision, SourceRef
from ptexplore.source.tree import SourceTree


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about one place: how many definitions were found, how the tree relates, what confirms it."""

    definitions: int = 1
    relation: str = "runtime"  # TreeInfo.relation
    recorded: bool = False  # the binary's own record names this line
    confirmed: bool = False  # …and this tree's text holds the macro, key and operator there


def decide(evidence: Evidence) -> Precision:
    """The precision that this evidence carries, never more."""
    if evidence.recorded and evidence.relation != "version-skew":
        return "registered" if evidence.confirmed else "unknown"
    if evidence.definitions == 0:
        return "unknown"
    if evidence.definitions > 1:
        return "ambiguous"
    if evidence.relation in ("runtime", "matches"):
        return "located"
    return "consistent" if evidence.relation == "consistent" else "version-skew"


def layer_of(tree: SourceTree, path: str) -> Layer | None:
    """The layer that gives `path` in this tree, None where no layer holds it."""
    found = tree.read(path)
    return found.layer if found else None


def unknown(reason: str, path: str | None = None, line: int | None = None) -> SourceRef:
    """Not known, and why."""
    return SourceRef(path=path, line=line, layer=None, precision="unknown", reason=reason)


def in_runtime(
    tree: SourceTree, path: str, line: int | None, end_line: int | None = None, definitions: int = 1
) -> SourceRef:
    """A definition that was found in the runtime tree's own text."""
    layer = layer_of(tree, path)
    if layer is None or line is None:
        return unknown(f"{path} is not in the runtime tree", path, line)
    return SourceRef(path, line, layer, decide(Evidence(definitions=definitions)), end_line=end_line)


def recorded(tree: SourceTree, path: str, line: int | None, confirmed: bool, why_not: str | None) -> SourceRef:
    """A line that the binary's own registration record names."""
    precision = decide(Evidence(recorded=True, confirmed=confirmed))
    layer = layer_of(tree, path)
    reason = None if confirmed else f"the binary names this line, but {why_not or 'no text here confirms it'}"
    return SourceRef(path, line, layer, precision, reason=reason)


def several(found: Sequence[SourceRef], reason: str) -> SourceRef:
    """What the one or several places found are together: the only one as it is, several as candidates of one."""
    if len(found) == 1:
        return found[0]
    first = found[0]
    precision = decide(Evidence(definitions=len(found)))
    same = first.path if all(one.path == first.path for one in found) else None
    return SourceRef(same, None, first.layer, precision, tree=first.tree, reason=reason, candidates=tuple(found))
