"""Prints the results of the indexer and of libclang, as plain lines: quick to print and to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ptexplore.safe_text import clean

if TYPE_CHECKING:
    from ptexplore.index.semantic.refine import Refined
    from ptexplore.view.index_summary import IndexSummary, WrittenTags

_PROBLEMS = 5  # unless all are asked for
_UNITS = 10  # units with diagnostics, unless all are asked for


def print_summary(summary: IndexSummary, *, every_problem: bool) -> None:
    """Print a few lines on stdout, and every problem if asked."""
    built, counts = summary.built, summary.counts
    size = f"{counts['files']:,} files, {counts['lines']:,} lines, {_size(counts['bytes'])}"
    print(f"{clean(summary.name)}: {size}")
    work = f"read {built.read:,}, unchanged {built.kept:,}, removed {built.removed:,}"
    _print_fact("files", f"{work} in {built.seconds:.1f} s")
    _print_fact("symbols", _counted(counts["symbols"], summary.kinds("symbol")))
    _print_fact("uses", _counted(counts["refs"], summary.kinds("ref")))
    _print_fact("dialect", _counted(counts["dialect"], summary.kinds("dialect")))
    files = len({path for path, _ in summary.problems})
    _print_fact("problems", f"in {files:,} files" if files else "none")
    shown = summary.problems if every_problem else summary.problems[:_PROBLEMS]
    for path, problem in shown:
        print(f"    {clean(path)}: {clean(problem)}")
    if len(shown) < len(summary.problems):
        print(f"    … and {len(summary.problems) - len(shown):,} more: --problems lists them")
    _print_fact("database", f"{_size(summary.database_bytes)}, {clean(summary.database)}")


def _print_fact(title: str, text: str, width: int = 10) -> None:
    print(f"  {title:<{width}}{text}")


def _counted(total: int, kinds: Mapping[str, int]) -> str:
    return f"{total:,}{': ' if kinds else ''}{', '.join(f'{kind} {count:,}' for kind, count in kinds.items())}"


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count:,} bytes"


def print_exported(tags: WrittenTags) -> None:
    """Print one line on the export."""
    print(f"{tags.tags:,} {tags.what} of {clean(tags.checkout)} in {clean(tags.file)}")


def print_refined(refined: Refined, note: str, *, everything: bool) -> None:
    """Print what libclang resolved, and its complaints; if asked, every diagnostic that was kept."""
    units = refined.units
    troubled = [unit for unit in units if unit.failed is not None or unit.errors or unit.warnings]
    sound = sum(not unit.errors and unit.failed is None for unit in units)
    print(f"libclang: {len(units):,} units parsed in {refined.seconds:.1f} s, {sound:,} without an error")
    if note:
        _print_fact("note", clean(note), 12)
    uses = f"{refined.resolved:,} resolved, {refined.kept:,} still by name, in {refined.files:,} files"
    _print_fact("references", f"{uses} ({refined.before:,} before)", 12)
    diagnostics = _diagnostics(sum(unit.errors for unit in units), sum(unit.warnings for unit in units))
    _print_fact("diagnostics", f"{diagnostics}; {sum(unit.failed is not None for unit in units):,} units failed", 12)
    shown = troubled if everything else troubled[:_UNITS]
    for unit in shown:
        print(f"    {clean(unit.path)}: {clean(unit.failed or _diagnostics(unit.errors, unit.warnings))}")
        for message in unit.messages if everything else unit.messages[:1]:
            print(f"      {clean(message.path)}:{message.line}: {message.severity}: {clean(message.text)}")
    if len(shown) < len(troubled):
        print(f"    … and {len(troubled) - len(shown):,} more units: --problems lists them")
    for title, paths in (("not read", refined.not_read), ("changed", refined.changed)):
        if paths:
            _print_fact(title, f"{len(paths):,}, for example {clean(paths[0])}", 12)


def _diagnostics(errors: int, warnings: int) -> str:
    return f"{errors:,} errors, {warnings:,} warnings"
