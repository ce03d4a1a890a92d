"""The meaning of every sign and word in a view: `--explain legend`."""

from __future__ import annotations

from collections.abc import Iterator

from ptexplore.model import details as says
from ptexplore.model.details import within
from ptexplore.model.run import CARRIED
from ptexplore.model.trace import walk
from ptexplore.view.trace.hop_weights import figures
from ptexplore.view.trace.page import IN_CALL, TraceView
from ptexplore.view.words.legend import (
    OF_EXPRESSIONS,
    OF_PROGRAMS,
    OF_ROWS,
    ORDERS,
    PRECISION_MEANS,
    SHARES,
    SIGNS,
    STATUS_MEANS,
)
from ptexplore.view.words.weights import ENGLISH, in_expressions, in_programs


def whole_legend(page: TraceView) -> tuple[tuple[str, str], ...]:
    """Returns the signs and words of this view with their meanings. For a tree, also those of its rows.

    The view's own explanations take the place of the general ones for the same words.
    """
    own = [(", ".join(words), means) for words, means in page.explained]
    replaced = {word for words, _ in page.explained for word in words}
    general = [(sign, means) for sign, means in _signs(page) if sign not in replaced]
    at = 0 if replaced & {"share", "time", "calls"} else len(own and general[:1])
    return (*general[:at], *own, *general[at:])


def _of_expression(page: TraceView) -> Iterator[tuple[str, str]]:
    """Yields the figures in the view `modules` of an expression."""
    if any(row.share is not None for row in page.table):
        yield _sign("share-of-whole", SHARES["time" if "time" in page.columns else "instructions"])
    means = OF_EXPRESSIONS | in_expressions()
    yield from ((name, means[name]) for name in page.columns)
    yield SIGNS["recorded"]
    if any(row.is_rest for row in page.table):
        yield SIGNS["rest"]
    if any(row.times > 1 for row in page.table):
        yield SIGNS["runs"]


def _of_path(page: TraceView) -> Iterator[tuple[str, str]]:
    """Yields the figures in the views `path` and `operators`."""
    if any(row.share is not None for row in page.table):
        is_time = bool({"time", IN_CALL} & {*page.columns})
        yield _sign("share", SHARES["time of calls" if is_time else "instructions of steps"])
    if "time" in page.columns:
        yield SIGNS["time"]
    yield SIGNS["operator-calls"]
    if any(SIGNS["warm"][0] in fact for fact in page.facts):
        yield SIGNS["warm"]
    if any(row.times > 1 for row in page.table):
        yield SIGNS["times"]
    if "instr" in page.columns:
        yield SIGNS["instr"]
    if any(row.own is not None for row in page.table):
        yield SIGNS["self"]
    weighed = {*page.columns, *(name for row in walk(page.rows) for name in figures(row.weights))}
    yield from ((words.heading, words.in_expression) for name, words in ENGLISH.items()
                if name in CARRIED and words.heading in weighed)  # fmt: skip


def _signs(page: TraceView) -> Iterator[tuple[str, str]]:
    details = tuple(within(detail for row in page.table for detail in row.details))
    if page.traced == "expression" and page.view == "modules":
        yield from _of_expression(page)
    elif page.traced != "expression" and page.table:
        weights = in_programs()
        shown = {name: means for name, means in weights.items() if name in page.columns}
        at_top = {name: means for name, means in OF_PROGRAMS.items() if name == "share"}
        if any(row.share is not None for row in page.table):
            yield from at_top.items()
        yield from (shown | {name: means for name, means in OF_PROGRAMS.items() if name not in at_top}).items()
    else:
        yield from _of_path(page)
    if page.table:
        by_cost = {"time", "instr"} & {*page.columns}
        orders = {"operators": "cost" if by_cost else "calls", "modules": "first", "lines": "line"}
        yield _sign("inside", ORDERS[orders.get(page.view, "ran")])
    if any(isinstance(detail, says.WithKeys) and detail.keys[-1:] == (says.UNKNOWN_KEY,) for detail in details):
        yield SIGNS["next-key"]
    yield from (sign for kinds, sign in OF_ROWS.items() if any(isinstance(detail, kinds) for detail in details))
    seen = {row.status for row in page.table} | {row.status for row in page.rows}
    seen |= {detail.status for detail in details if isinstance(detail, says.KnownAs)}
    for status, means in STATUS_MEANS.items():
        if status in seen or page.view == "tree":
            yield status, means
    if page.table:
        yield SIGNS["place"]
        yield _sign("skewed", PRECISION_MEANS["version-skew"])
        yield SIGNS["uncertain"]
        yield SIGNS["more"]
    else:
        yield SIGNS["number"]
        yield SIGNS["frames"]
        yield from PRECISION_MEANS.items()
    yield SIGNS["open"]


def _sign(code: str, of: str) -> tuple[str, str]:
    """Returns a sign whose meaning contains a name: `of` is put in for it."""
    sign, means = SIGNS[code]
    return sign, means.format(of)
