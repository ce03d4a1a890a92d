"""What scripts/accuracy measured: figures with their denominators, and how they are printed."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field

MOST = 6  # rows of a list in docs/accuracy.md


@dataclass(frozen=True)
class Figure:
    """One measured share. `least` is the threshold in percent; `peer` is Ctags' share by the same rule."""

    what: str
    hit: int
    total: int
    least: float
    means: str  # what the denominator is
    peer: tuple[int, int] | None = None

    @property
    def percent(self) -> float:
        return 100.0 * self.hit / self.total if self.total else 0.0

    @property
    def good(self) -> bool:
        return self.total > 0 and self.percent >= self.least


@dataclass
class Report:
    """Everything to print: the machine and versions, figures, and what lies behind them."""

    facts: list[tuple[str, str]] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    details: list[tuple[str, list[str]]] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return all(one.good for one in self.figures)


def machine() -> str:
    """The processor, cores and system."""
    model = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), model)
    except OSError:
        pass
    return f"{model}, {platform.system()} {platform.release().split('-')[0]}"


def share(hit: int, total: int) -> str:
    """As in 99.12% (1,234 of 1,245): cut, never rounded up."""
    percent = int(10000 * hit / total) / 100 if total else 0.0
    return f"{percent:.2f}% ({hit:,} of {total:,})"


def text(report: Report) -> str:
    """For a terminal."""
    lines = [f"{name:<12}{value}" for name, value in report.facts]
    for one in report.figures:
        lines += ["", f"{one.what}: {share(one.hit, one.total)}  {'ok' if one.good else f'BELOW {one.least:g}%'}"]
        lines.append(f"    of {one.means}")
        if one.peer is not None:
            lines.append(f"    Universal Ctags: {share(*one.peer)}")
    for title, rows in report.details:
        lines += ["", f"{title}:", *(f"    {row}" for row in rows)]
    return "\n".join(lines)


def markdown(report: Report) -> str:
    """For docs/accuracy.md."""
    lines = [f"- {name}: {value}" for name, value in report.facts]
    lines += ["", "| figure | ptexplore | wanted | Universal Ctags | of |", "|---|---|---|---|---|"]
    for one in report.figures:
        peer = share(*one.peer) if one.peer is not None else "–"
        wanted = "all" if one.least == 100 else f"≥ {one.least:g}%"
        lines.append(f"| {one.what} | {share(one.hit, one.total)} | {wanted} | {peer} | {one.means} |")
    for title, rows in report.details:
        lines += ["", f"**{title}**", "", *_listed(rows[:MOST])]
        if len(rows) > MOST:
            lines.append(f"- and {len(rows) - MOST:,} more: `scripts/accuracy` prints them")
    return "\n".join(lines)


def _listed(rows: Sequence[str]) -> list[str]:
    return [f"- {row}".replace("<", "&lt;") for row in rows] or ["- none"]
