"""The document of `show`."""

from __future__ import annotations

from msgspec import Struct, structs

from ptexplore.lookup.trees import Candidate
from ptexplore.model.symbols import Role
from ptexplore.view.documents.parts import FORMAT, Reference, StopMark, TreeEntry, reference, stop_mark, tree_entry
from ptexplore.view.search.show import Page, ShowView


class ShowCandidate(Struct, frozen=True):
    """One thing that the target may name."""

    kind: str  # the kind: `function`, `struct`, `operator`, `file`, …
    name: str  # the qualified name
    detail: str  # the signature or the schema
    role: Role | None  # for a symbol: whether the text defines or declares it
    macro: str | None  # the macro that made it
    guards: tuple[str, ...]  # the `#if` conditions around the definition
    source: Reference  # where it is
    also: tuple[Reference, ...]  # the same thing in other trees
    handed_on: tuple[str, ...]  # the lines that give a public Python name to it: `torch/nn/__init__.py:8`


class PageKernel(Struct, frozen=True):
    """What dispatch keys of an operator run."""

    keys: tuple[str, ...]  # the dispatch keys; empty for a function that the kernel before it calls
    name: str  # the qualified name
    depth: int  # how many calls below the kernel it is
    source: Reference  # where it is


class ShowPage(ShowCandidate, frozen=True, kw_only=True, omit_defaults=True):
    """A candidate with its text."""

    first: int  # the number of the first line
    mark: int | None  # the line that was asked for
    lines: tuple[str, ...]  # the text
    language: str  # the language of the text
    file: str | None  # the file on this machine
    file_line: int | None  # the line in it
    inside: str | None  # the function, class or namespace around the line that was asked for
    facts: tuple[str, ...]  # remarks about the page
    notes: tuple[StopMark, ...]  # the stops and notes on its lines
    kernels: tuple[PageKernel, ...] = ()  # for an operator: what its keys run; left out if nothing is known


class ShowDocument(Struct, frozen=True):
    """`show --json`."""

    format: int  # 1
    target: str  # the target that you asked for
    trees: tuple[TreeEntry, ...]  # the trees that were searched
    candidates: tuple[ShowCandidate, ...]  # everything that it may name
    pages: tuple[ShowPage, ...]  # empty if the target names several things, without `--all`


def show_document(view: ShowView) -> ShowDocument:
    """Returns the pages with their lines, and everything that the target may name."""
    return ShowDocument(
        format=FORMAT,
        target=view.target,
        trees=tuple(map(tree_entry, view.trees)),
        candidates=tuple(map(_show_candidate, view.candidates)),
        pages=tuple(map(_show_page, view.pages)),
    )


def _show_candidate(candidate: Candidate) -> ShowCandidate:
    symbol = candidate.symbol
    return ShowCandidate(
        kind=candidate.kind,
        name=candidate.name,
        detail=candidate.detail,
        role=symbol.role if symbol is not None else None,
        macro=symbol.macro if symbol is not None else None,
        guards=candidate.guards,
        source=reference(candidate.spot.ref),
        also=tuple(reference(other.ref) for other in candidate.also),
        handed_on=candidate.handed_on,
    )


def _show_page(page: Page) -> ShowPage:
    candidate = structs.replace(_show_candidate(page.candidate), source=reference(page.spot.ref))
    return ShowPage(
        **structs.asdict(candidate),
        first=page.first,
        mark=page.mark,
        lines=tuple(page.lines),
        language=page.language,
        file=page.file,
        file_line=page.file_line,
        inside=page.inside.qualified if page.inside is not None else None,
        facts=page.facts,
        notes=tuple(map(stop_mark, page.marks)),
        kernels=tuple(
            PageKernel(kernel.keys, kernel.name, kernel.depth, reference(kernel.ref)) for kernel in page.kernels
        ),
    )
