"""The document of a run of `index`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ptexplore.view.documents.parts import FORMAT
from ptexplore.view.index_summary import IndexSummary, WrittenTags

if TYPE_CHECKING:
    from ptexplore.index.semantic.refine import Refined, UnitReport


class FileProblem(Struct, frozen=True):
    """A file that could not be read or followed."""

    path: str  # the canonical path
    problem: str  # the problem, in words


class IndexEntry(Struct, frozen=True):
    """The index of one tree."""

    name: str  # `runtime`, or the checkout's name
    files: int  # how many files it has
    lines: int  # how many lines the files have
    bytes: int  # their size
    read: int  # how many of them this run read
    unchanged: int  # how many were already indexed
    removed: int  # how many files left the tree since the last run
    anew: bool  # whether the index was built from nothing
    seconds: float  # how long the run took
    symbols: Mapping[str, int]  # the number of symbols of each kind
    refs: Mapping[str, int]  # the number of uses of each kind
    dialect: Mapping[str, int]  # the number of rows of macros of each kind
    problems: tuple[FileProblem, ...]  # the files that could not be read or followed
    database: str  # the file of the index
    database_bytes: int  # its size


class TagsEntry(Struct, frozen=True):
    """An export that was written: a tags file, or an index in SCIP."""

    checkout: str  # the checkout that it is of
    file: str  # the name of the checkout
    tags: int  # how many tags it has; of SCIP: symbols


class ReferencesResolved(Struct, frozen=True):
    """How the uses in files that libclang read are resolved."""

    resolved: int  # by libclang
    by_name: int  # only by their name
    before: int  # how many were resolved before this run


class UnitMessage(Struct, frozen=True):
    """A message of libclang about a line."""

    severity: str  # `error` or `warning`
    path: str  # the file
    line: int  # the line in that file
    text: str  # the text of the message


class UnitEntry(Struct, frozen=True):
    """A translation unit that libclang read."""

    path: str  # the canonical path
    errors: int  # how many errors it had
    warnings: int  # how many warnings
    failed: str | None  # why it could not be read
    messages: tuple[UnitMessage, ...]  # the errors and warnings


class SemanticEntry(Struct, frozen=True):
    """The result of libclang."""

    files: int  # how many files
    references: ReferencesResolved  # how the uses in these files are resolved now
    units: tuple[UnitEntry, ...]  # the translation units, the worst first
    not_read: tuple[str, ...]  # named files that libclang cannot read
    changed: tuple[str, ...]  # files that changed during the run
    note: str  # a remark about the headers
    seconds: float  # how long that took


class IndexDocument(Struct, frozen=True, omit_defaults=True):
    """`index --json`."""

    format: int  # 1
    indexes: tuple[IndexEntry, ...]  # one for each tree
    exported: TagsEntry | None  # with `--export`: the file that was written
    semantic: SemanticEntry | None = None  # with `--semantic`: what libclang read; else left out


def index_document(
    summaries: Sequence[IndexSummary], refined: Refined | None, note: str, tags: WrittenTags | None
) -> IndexDocument:
    """Returns the document of a run of the indexer. `note` is a remark about the headers that libclang used."""
    return IndexDocument(
        format=FORMAT,
        indexes=tuple(map(_index_entry, summaries)),
        exported=TagsEntry(tags.checkout, tags.file, tags.tags) if tags is not None else None,
        semantic=_semantic_entry(refined, note) if refined is not None else None,
    )


def _index_entry(summary: IndexSummary) -> IndexEntry:
    return IndexEntry(
        name=summary.name,
        files=summary.counts["files"],
        lines=summary.counts["lines"],
        bytes=summary.counts["bytes"],
        read=summary.built.read,
        unchanged=summary.built.kept,
        removed=summary.built.removed,
        anew=summary.built.anew,
        seconds=round(summary.built.seconds, 3),
        symbols=summary.kinds("symbol"),
        refs=summary.kinds("ref"),
        dialect=summary.kinds("dialect"),
        problems=tuple(FileProblem(path, problem) for path, problem in summary.problems),
        database=summary.database,
        database_bytes=summary.database_bytes,
    )


def _semantic_entry(done: Refined, note: str) -> SemanticEntry:
    return SemanticEntry(
        files=done.files,
        references=ReferencesResolved(done.resolved, done.kept, done.before),
        units=tuple(map(_unit_entry, done.units)),
        not_read=done.not_read,
        changed=tuple(done.changed),
        note=note,
        seconds=round(done.seconds, 3),
    )


def _unit_entry(unit: UnitReport) -> UnitEntry:
    return UnitEntry(
        path=unit.path,
        errors=unit.errors,
        warnings=unit.warnings,
        failed=unit.failed,
        messages=tuple(
            UnitMessage(message.severity, message.path, message.line, message.text) for message in unit.messages
        ),
    )
