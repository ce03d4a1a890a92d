"""What a row opens: an operator's card, a stop of a tour, or a place in source; or why it opens nothing.

A place can be opened if its text is at hand, and if it is exactly the text that the place refers to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ptexplore.annotations.anchors import Resolver
from ptexplore.annotations.records import Anchor, See
from ptexplore.lookup.trees import Candidate, IndexedTree, spot
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import Trace
from ptexplore.source.permalink import permalink, permalink_of, public_commit, tagged
from ptexplore.view.line import Line
from ptexplore.view.why_there import why_there

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Opening:
    """What opens: an operator by its full name, a stop ("tour#stop") or tour, a place, or a folder's page.

    If nothing opens, `why` is the reason.
    """

    operator: str | None = None
    stop: str | None = None
    ref: SourceRef | None = None
    why: str = ""
    folder: SourceRef | None = None


def open_hit(hit: Candidate) -> Opening:
    """Returns what a search result opens."""
    if hit.kind == "operator":
        return Opening(operator=hit.name)
    if hit.stop:
        return Opening(stop=hit.stop)
    ref = hit.spot.ref
    if hit.kind == "folder":
        return Opening(folder=ref)
    if ref.path is None or ref.layer == "atlas":
        return Opening(why=f"its text is not here: {why_there(ref.reason) or 'ptexplore fetch gets the source'}")
    return Opening(ref=ref)


def open_line(line: Line, trees: Sequence[IndexedTree]) -> Opening:
    """Returns what a line of an operator's card opens. The line names places in these trees."""
    ref = line.ref
    if line.operator is not None or line.stop is not None or ref is None:
        return Opening(operator=line.operator, stop=line.stop)
    if ref.path is None or ref.line is None:
        candidates = ", ".join(f"{candidate.path}:{candidate.line}" for candidate in ref.candidates)
        return Opening(why=candidates or why_there(ref.reason) or f"its place is {ref.precision}")
    if ref.layer == "atlas" or _tree(trees, ref.tree) is None:
        return Opening(why=f"{ref.path}:{ref.line}: its text is not here: ptexplore fetch, ptexplore index")
    return Opening(ref=ref)


def open_see(see: See, trees: Sequence[IndexedTree]) -> Opening:
    """Returns what a stop's reference to another place opens. Source opens in the first tree that has it."""
    if see.kind == "op":
        name = see.text.removeprefix("op:")
        return Opening(operator=name if "::" in name else f"aten::{name}")
    if see.kind == "stop":
        return Opening(stop=see.text)
    anchor = Anchor(see.where, see.path, see.symbol)
    for indexed in trees:
        resolved = Resolver(indexed.tree, indexed.store).resolve(see.text, anchor)
        if resolved.placed:
            return Opening(ref=spot(indexed, resolved.path, resolved.line, resolved.end_line).ref)
    return Opening(why=f"{see.symbol} in {see.path} is in none of these trees: ptexplore fetch gets the source")


def first_to_open(places: Sequence[SourceRef], trace: Trace, trees: Sequence[IndexedTree]) -> Opening:
    """Returns the first of a row's places that can be opened, else why the first one cannot."""
    troubles = [(ref, _why_not(ref, trace, trees)) for ref in places]
    opens = next((Opening(ref=ref) for ref, why in troubles if why is None), None)
    return opens or Opening(why=(troubles[0][1] or "") if troubles else "its place is not known")


def permalink_of_place(ref: SourceRef | None, trace: Trace, trees: Sequence[IndexedTree]) -> tuple[str | None, str]:
    """Returns the URL of a trace's place in PyTorch's repository, with a remark; or None with the reason.

    If the text is not at hand, the trace's information about the tree gives the commit, or at least the version.
    """
    if ref is None or ref.path is None or ref.line is None:
        return None, "this row names no place"
    indexed = _tree(trees, ref.tree)
    if indexed is not None and _why_not(ref, trace, trees) is None:
        return permalink_of(indexed.tree, indexed.checkout, ref.path, ref.line)
    if ref.layer == "generated":
        return None, "this file is generated: it is in no repository, so there is no permalink"
    known = next((info for info in trace.trees if info.name == ref.tree), None)
    if known is None:
        return None, f"the commit of {ref.tree} is not known"
    if _COMMIT.fullmatch(known.commit or ""):
        return permalink(known.commit or "", ref.path, ref.line), ""
    tag, remark = tagged(known.version, known.name)
    return (permalink(tag, ref.path, ref.line) if tag is not None else None), remark


def _why_not(ref: SourceRef, trace: Trace, trees: Sequence[IndexedTree]) -> str | None:
    """Returns why a place of a trace cannot be opened; None if it can.

    It can be opened only in exactly the tree that the trace refers to.
    """
    if ref.path is None or (ref.line is None and ref.precision in ("unknown", "ambiguous")):
        return why_there(ref.reason) or f"its place is {ref.precision}"
    known = next((info for info in trace.trees if info.name == ref.tree), None)
    if ref.layer == "atlas" or (known is not None and known.layers == ("atlas",)):
        return f"{ref.path}:{ref.line} is known only by name and line: ptexplore fetch gets its text"
    indexed = _tree(trees, ref.tree)
    if ref.layer is None and (indexed is None or not indexed.tree.exists(ref.path)):
        return f"{ref.path}:{ref.line} is in no source of PyTorch: it is a file of yours, or of another package"
    if indexed is None:
        return f"{ref.path}:{ref.line} is in {ref.tree}, which is not here"
    info, checkout = indexed.tree.info, indexed.checkout
    commit = (public_commit(checkout) if checkout is not None else None) or info.commit  # as a trace records it
    if known is None or (known.version, known.commit) != (info.version, commit):
        was, now = (known.version if known is not None else "another version"), info.version
        if known is not None and was == now:
            was, now = (f"{now} ({(name or 'no known commit')[:15]})" for name in (known.commit, commit))
        return f"the trace names {ref.tree} {was}, but {now} is here: line {ref.line} is a different line there"
    return None


def in_words(ref: SourceRef) -> str:
    """Returns a place with everything known about it."""
    where = f"{ref.path}:{ref.line}" if ref.path and ref.line else ref.path or "no place"
    reason = f" ({why_there(ref.reason)})" if ref.reason is not None else ""
    return f"{where}  {ref.tree} {ref.precision}{reason}"


def _tree(trees: Sequence[IndexedTree], name: str) -> IndexedTree | None:
    return next((indexed for indexed in trees if indexed.tree.info.name == name), None)
