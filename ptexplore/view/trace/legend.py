"""The meaning of every sign and word in a view: `--explain legend`."""

from __future__ import annotations

from collections.abc import Iterator

from ptexplore.model import details as says
from ptexplore.model.details import within
from ptexplore.view.trace.columns import COLUMNS
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
    yield from ((name, OF_EXPRESSIONS[name]) for name in page.columns)
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
    if any(row.times > 1 for row in page.table):
        yield SIGNS["times"]
    if "instr" in page.columns:
        yield SIGNS["instr"]
    if any(row.own is not None for row in page.table):
        yield SIGNS["self"]


def _signs(page: TraceView) -> Iterator[tuple[str, str]]:
    details = tuple(within(detail for row in page.table for detail in row.details))
    if page.traced == "expression" and page.view == "modules":
        yield from _of_expression(page)
    elif page.traced != "expression" and page.table:
        headings = {column.heading for column in COLUMNS} - {*page.columns}
        has_shares = any(row.share is not None for row in page.table)
        shown = (name for name in OF_PROGRAMS if name not in headings and (has_shares or name != "share"))
        yield from ((name, OF_PROGRAMS[name]) for name in shown)
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
