"""The templates of a catalogue: `{name}` is an argument; `[…]` is left out if an argument in it is empty.

`{keys: and }` gives the text between several values. `{count#call|calls}` has two forms: the first one is for 1, for
true and for a value that is there. A second language would be a second catalogue of templates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:  # a search has its own words and no reasons, so it does not import msgspec
    from msgspec import Struct

# Arguments that are written without commas.
_PLAIN = frozenset(("line", "lines", "ordinal", "few", "stride", "inner_size", "inner_stride"))
_PART = re.compile(
    r"\[(?P<optional>[^\[\]]*)\]"
    r"|\{(?P<name>\w+)(?:#(?P<one>[^{}|]*)\|(?P<other>[^{}|]*)|:(?P<join>[^{}]*))?\}"
)


class _Piece(NamedTuple):
    """A part of a template: fixed words before an argument, the argument's name, and the text between several values.

    `forms`: two texts; the argument only chooses one of them and is not printed.
    """

    before: str
    name: str = ""
    join: str = ", "
    forms: tuple[str, str] | None = None


class _Segment(NamedTuple):
    """Pieces that are printed together. If `optional`, they are left out if one of their arguments is empty."""

    pieces: tuple[_Piece, ...]
    optional: bool = False


def filled(template: str, record: object, worded: Callable[[Any], str]) -> str:
    """Fills a template with a record's fields. If a field is itself a record, `worded` returns its words."""
    made = []
    for segment in _parsed(template):
        shown = (getattr(record, piece.name) for piece in segment.pieces if piece.name and piece.forms is None)
        if not segment.optional or all(value not in ("", None, (), 0) for value in shown):
            made += [f"{piece.before}{_argument(piece, record, worded)}" for piece in segment.pieces]
    return "".join(made)


def _argument(piece: _Piece, record: object, worded: Callable[[Any], str]) -> str:
    """Returns the text for an argument."""
    value = getattr(record, piece.name) if piece.name else ""
    if piece.forms is None:
        if piece.name in _PLAIN:
            return piece.join.join(map(str, value)) if isinstance(value, tuple) else str(value)
        return _worded(value, piece.join, worded)
    is_first = value == 1 if isinstance(value, int) else bool(value)
    return piece.forms[not is_first]


def names(template: str) -> frozenset[str]:
    """Returns the names of a template's arguments."""
    return frozenset(piece.name for segment in _parsed(template) for piece in segment.pieces if piece.name)


def _worded(value: Any, join: str, worded: Callable[[Any], str]) -> str:
    if isinstance(value, tuple):
        return join.join(_worded(part, join, worded) for part in value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return worded(value) if hasattr(value, "__struct_fields__") else str(value)


@cache
def _parsed(template: str) -> tuple[_Segment, ...]:
    segments: list[_Segment] = []
    pieces: list[_Piece] = []
    end = 0
    for part in _PART.finditer(template):
        before, end = template[end : part.start()], part.end()
        if part["name"] is not None:
            forms = (part["one"], part["other"]) if part["one"] is not None else None
            join = part["join"] if part["join"] is not None else ", "
            pieces.append(_Piece(before, part["name"], join, forms))
            continue
        segments.append(_Segment((*pieces, _Piece(before))))
        pieces = []
        segments += [segment._replace(optional=True) for segment in _parsed(part["optional"])]
    return (*segments, _Segment((*pieces, _Piece(template[end:]))))


Catalogue: TypeAlias = "Mapping[type[Struct], str]"  # the template of each code
