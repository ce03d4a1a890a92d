"""The documents of `find` and `refs`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ptexplore.lookup.find import FindView
from ptexplore.lookup.ranking import HitSort
from ptexplore.lookup.refs import GROUPS, NameUse, OverriddenAt, RefsView, UseGroup
from ptexplore.lookup.trees import Candidate
from ptexplore.model.symbols import Role
from ptexplore.view.documents.parts import FORMAT, Reference, TreeEntry, reference, tree_entry
from ptexplore.view.words.headings import heading
from ptexplore.view.words.remarks import remark_in_words


class FoundResult(Struct, frozen=True):
    """One result of a search."""

    kind: str  # the kind: `function`, `struct`, `operator`, `file`, `note`, `text`, …
    name: str  # the qualified name
    role: Role  # whether the text defines or declares it
    detail: str  # the signature, the schema or the line itself
    macro: str | None  # the macro that made it
    guards: tuple[str, ...]  # the `#if` conditions around the definition
    source: Reference  # where it is
    also: tuple[Reference, ...]  # the same thing in other trees


class FoundResults(Struct, frozen=True):
    """The results of one sort."""

    name: str  # the heading
    more: int | None  # how many results are left out; null if nobody counted
    results: tuple[FoundResult, ...]  # the best first
    sort: HitSort  # `symbol`, `operator`, …


class FindDocument(Struct, frozen=True):
    """`find --json`."""

    format: int  # 1
    query: str  # the query
    trees: tuple[TreeEntry, ...]  # where it was searched for
    groups: tuple[FoundResults, ...]  # the results by sort
    best: tuple[FoundResult, ...]  # the best results of all sorts; they are also in their groups
    remarks: tuple[str, ...]  # remarks about the answer


def find_document(view: FindView) -> FindDocument:
    """Returns the results in groups. Each place has its tree and precision."""
    return FindDocument(
        format=FORMAT,
        query=view.query,
        trees=tuple(map(tree_entry, view.trees)),
        groups=tuple(
            FoundResults(heading(group), group.more, tuple(map(_found_result, group.hits)), group.sort)
            for group in view.groups
        ),
        best=tuple(map(_found_result, view.best)),
        remarks=tuple(map(remark_in_words, view.remarks)),
    )


def _found_result(hit: Candidate) -> FoundResult:
    symbol = hit.symbol
    return FoundResult(
        kind=hit.kind,
        name=hit.name,
        role=symbol.role if symbol is not None else "definition",
        detail=hit.detail,
        macro=symbol.macro if symbol is not None else None,
        guards=hit.guards,
        source=reference(hit.spot.ref),
        also=tuple(reference(other.ref) for other in hit.also),
    )


class NamedDefinition(Struct, frozen=True):
    """A definition of the name."""

    name: str  # the qualified name
    kind: str  # the kind of symbol
    source: Reference  # where it is


class UseEntry(Struct, frozen=True):
    """A line that uses the name."""

    source: Reference  # where it is
    text: str  # the line
    inside: str | None  # the function or class around it
    how: str  # `resolved`, `name-matched`, or the macro of the row
    written: str  # the name as the line spells it
    detail: str  # further details of a macro's row
    certain: bool  # whether it can mean nothing else


class UsesOfSort(Struct, frozen=True):
    """The lines that use the name in one way."""

    name: str  # the sort of use: `Calls`, `Mentions`, …
    total: int  # number of lines
    certain: int  # number of lines that can mean nothing else
    uses: tuple[UseEntry, ...]  # certain ones first


class OverriddenEntry(Struct, frozen=True):
    """A function of a base class."""

    name: str  # the qualified name
    source: Reference  # where it is
    certain: bool  # whether the function is certainly overridden


class OverridesOf(Struct, frozen=True):
    """What a function of the name overrides."""

    name: str  # the qualified name of the function
    functions: tuple[OverriddenEntry, ...]  # the functions that it overrides
    all_bases_known: bool  # whether all bases of its class are indexed


class RefsDocument(Struct, frozen=True):
    """`refs --json`. Each line is in one group, so the totals add up to the number of lines."""

    format: int  # 1
    symbol: str  # the name that was asked for
    trees: tuple[TreeEntry, ...]  # where uses were looked for
    defined: tuple[NamedDefinition, ...]  # the definitions of the name
    defined_more: int  # how many further definitions there are
    lines: int  # how many lines use it
    certain: int | None  # how many lines can mean nothing else; null if you asked for the name only
    otherwise: int  # further lines with the name that certainly mean something else
    untold: int  # used instead of `otherwise` if nothing else of that name is indexed: the meaning is unknown
    definitions: int  # how many definitions have this name; overloads are not distinguished
    overridden: int  # how many functions of derived classes override it
    may_override: int  # how many of these have a class whose bases are not all known
    overrides: tuple[OverridesOf, ...]  # what the functions of that name override
    groups: tuple[UsesOfSort, ...]  # the lines by the sort of use
    remarks: tuple[str, ...]  # remarks about the answer


def refs_document(view: RefsView) -> RefsDocument:
    """Returns the lines by the sort of use, with totals."""
    return RefsDocument(
        format=FORMAT,
        symbol=view.asked,
        trees=tuple(map(tree_entry, view.trees)),
        defined=tuple(NamedDefinition(name, kind, reference(spot.ref)) for name, kind, spot in view.defined),
        defined_more=view.more,
        lines=view.lines,
        certain=view.certain,
        otherwise=view.otherwise,
        untold=view.unknown,
        definitions=view.definitions,
        overridden=view.overridden,
        may_override=view.may_override,
        overrides=tuple(map(_overrides_of, view.overrides)),
        groups=tuple(_uses_of_sort(name, view.groups) for name in GROUPS if any(g.name == name for g in view.groups)),
        remarks=tuple(map(remark_in_words, view.remarks)),
    )


def _overrides_of(overridden: OverriddenAt) -> OverridesOf:
    functions = (OverriddenEntry(name, reference(spot.ref), sure) for name, spot, sure in overridden.functions)
    return OverridesOf(overridden.name, tuple(functions), overridden.all_known)


def _uses_of_sort(name: str, groups: Sequence[UseGroup]) -> UsesOfSort:
    """Returns the lines of one sort, certain ones first."""
    some = [group for group in groups if group.name == name]
    return UsesOfSort(
        name=name,
        total=sum(group.total for group in some),
        certain=sum(group.total for group in some if group.certain),
        uses=tuple(_use_entry(use) for group in some for use in group.uses),
    )


def _use_entry(use: NameUse) -> UseEntry:
    return UseEntry(
        source=reference(use.spot.ref),
        text=use.text,
        inside=use.inside,
        how=use.how,
        written=use.written,
        detail=use.detail,
        certain=use.certain,
    )
