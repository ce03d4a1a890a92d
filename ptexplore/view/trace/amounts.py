"""Times and byte counts as text."""

from __future__ import annotations


def seconds(nanoseconds: int) -> str:
    """Formats nanoseconds: `2.93 s`, `124 ms`, `3.1 ms`, `45 us`."""
    if nanoseconds >= 1e9:
        return f"{nanoseconds / 1e9:.2f} s"
    unit, factor = ("ms", 1e6) if nanoseconds >= 1e6 else ("us", 1e3)
    value = nanoseconds / factor
    return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"


TOLD_FROM = 100_000  # nanoseconds of calls into a library: shorter times vary too much to be of use


def library_time(nanoseconds: int) -> str:
    """Formats the time that a library reports for its calls; "" if it is too short."""
    return seconds(nanoseconds) if nanoseconds >= TOLD_FROM else ""


def size(count: int) -> str:
    """Formats a number of bytes: `24.8 MB`, `129 kB`, `512 B`."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}" if count < 100 * factor else f"{count / factor:,.0f} {unit}"
    return f"{count} B"
