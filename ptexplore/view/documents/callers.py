"""The document of `refs --callers`."""

from __future__ import annotations

from msgspec import Struct

from ptexplore.lookup.callers import CallersView, FunctionCallers
from ptexplore.lookup.calls import CallEnd, CallNode
from ptexplore.view.documents.parts import FORMAT, Reference, TreeEntry, reference, tree_entry
from ptexplore.view.words.remarks import remark_in_words


class CallerEntry(Struct, frozen=True):
    """A function that calls, with its own callers."""

    name: str  # the qualified name
    defined: tuple[Reference, ...]  # where it is defined
    call: Reference  # the place of its first call
    times: int  # how many calls it has
    how: str  # `resolved` or `name-matched`
    certain: bool  # whether its calls can mean nothing else
    end: CallEnd  # why `callers` is cut; empty if `callers` is whole
    callers: tuple[CallerEntry, ...]  # the functions that call this caller
    more: int  # further calls with this name


class CalledEntry(Struct, frozen=True):
    """A function whose callers were asked for."""

    name: str  # the qualified name
    source: Reference  # where it is
    definitions: int  # how many definitions have this name
    registered: tuple[str, ...]  # the names it is registered under
    overrides: tuple[str, ...]  # functions of bases that it overrides
    callers: tuple[CallerEntry, ...]  # the functions that call it
    more: int  # further calls with this name


class CallersDocument(Struct, frozen=True):
    """`refs --callers --json`."""

    format: int  # 1
    symbol: str  # the name that was asked for
    depth: int  # how many levels of callers there are
    trees: tuple[TreeEntry, ...]  # where calls were looked for
    functions: tuple[CalledEntry, ...]  # the functions of that name
    functions_more: int  # how many more there are
    remarks: tuple[str, ...]  # remarks about the answer


def callers_document(view: CallersView) -> CallersDocument:
    """Returns the tree of callers of each function, as a document."""
    return CallersDocument(
        format=FORMAT,
        symbol=view.asked,
        depth=view.depth,
        trees=tuple(map(tree_entry, view.trees)),
        functions=tuple(map(_called_entry, view.functions)),
        functions_more=view.more,
        remarks=tuple(map(remark_in_words, view.remarks)),
    )


def _called_entry(function: FunctionCallers) -> CalledEntry:
    return CalledEntry(
        name=function.name,
        source=reference(function.spot.ref),
        definitions=function.same,
        registered=function.registered,
        overrides=function.overridden,
        callers=tuple(map(_caller_entry, function.callers)),
        more=function.more,
    )


def _caller_entry(node: CallNode) -> CallerEntry:
    return CallerEntry(
        name=node.name,
        defined=tuple(reference(place.ref) for place in node.places),
        call=reference(node.call.ref),
        times=node.times,
        how=node.how,
        certain=not node.is_choice,
        end=node.end,
        callers=tuple(map(_caller_entry, node.further)),
        more=node.more,
    )
