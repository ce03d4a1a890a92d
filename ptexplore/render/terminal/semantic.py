"""Print what libclang resolved and what it complained of, the worst file first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptexplore.safe_text import clean

if TYPE_CHECKING:
    from ptexplore.index.semantic.refine import Refined

_SHOWN = 10  # units with diagnostics, unless all are asked for


def print_refined(done: Refined, note: str, *, everything: bool) -> None:
    """A few lines on stdout; every diagnostic that was kept where asked for."""
    failed = sum(one.failed is not None for one in done.units)
    errors = sum(one.errors for one in done.units)
    warnings = sum(one.warnings for one in done.units)
    clean_units = sum(not one.errors and one.failed is None for one in done.units)
    print(f"libclang: {len(done.units):,} units parsed in {done.seconds:.1f} s, {clean_units:,} without an error")
    if note:
        print(f"  {'note':<12}{clean(note)}")
    print(
        f"  {'references':<12}{done.resolved:,} resolved, {done.kept:,} still by name, in {done.files:,} files "
        f"({done.before:,} before)"
    )
    print(f"  {'diagnostics':<12}{errors:,} errors, {warnings:,} warnings; {failed:,} units failed")
    worst = [one for one in done.units if one.failed is not None or one.errors or one.warnings]
    for one in worst if everything else worst[:_SHOWN]:
        said = one.failed or f"{one.errors:,} errors, {one.warnings:,} warnings"
        print(f"    {clean(one.path)}: {clean(said)}")
        for message in one.messages if everything else one.messages[:1]:
            print(f"      {clean(message.path)}:{message.line}: {message.severity}: {clean(message.text)}")
    if len(worst) > _SHOWN and not everything:
        print(f"    … and {len(worst) - _SHOWN:,} more units: --problems lists them")
    for title, paths in (("not read", done.not_read), ("changed", done.changed)):
        if paths:
            print(f"  {title:<12}{len(paths):,}, such as {clean(paths[0])}")
