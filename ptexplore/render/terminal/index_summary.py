"""Print what the indexer did: plain lines, quick to print and to read."""

from __future__ import annotations

from ptexplore.safe_text import clean
from ptexplore.view.index_summary import IndexSummary, WrittenTags

_SHOWN = 5  # problems, unless all are asked for


def print_summary(one: IndexSummary, *, every_problem: bool) -> None:
    """A few lines on stdout; every problem where asked for."""
    built, counts = one.built, one.counts
    work = f"read {built.read:,}, unchanged {built.kept:,}, removed {built.removed:,}"
    size = f"{counts['files']:,} files, {counts['lines']:,} lines, {_size(counts['bytes'])}"
    print(f"{clean(one.name)}: {size}")
    print(f"  {'files':<10}{work} in {built.seconds:.1f} s")
    for title, key, of in (
        ("symbols", "symbols", "symbol"),
        ("uses", "refs", "ref"),
        ("dialect", "dialect", "dialect"),
    ):
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in one.kinds(of).items())
        print(f"  {title:<10}{counts[key]:,}{': ' if kinds else ''}{kinds}")
    files = len({path for path, _ in one.problems})
    print(f"  {'problems':<10}{f'in {files:,} files' if files else 'none'}")
    shown = one.problems if every_problem else one.problems[:_SHOWN]
    for path, problem in shown:
        print(f"    {clean(path)}: {clean(problem)}")
    if len(shown) < len(one.problems):
        print(f"    … and {len(one.problems) - len(shown):,} more: --problems lists them")
    print(f"  {'database':<10}{_size(one.database_bytes)}, {clean(one.database)}")


def print_exported(tags: WrittenTags) -> None:
    """One line on what was exported."""
    print(f"{tags.tags:,} tags of {clean(tags.checkout)} in {clean(tags.file)}")


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count:,} bytes"
