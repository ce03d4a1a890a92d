"""A C++ text made ready for the parser at equal length: directives, attributes and macro invocations out of the way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ptexplore.cpp.macros import Define, FileMacros, MacroTable, attributes
from ptexplore.cpp.text import Text, Words
from ptexplore.index.cpp.arms import Span, hidden_spans
from ptexplore.index.cpp.grammar import rewrite

_RAW_STRING = re.compile(r'R"([^"]*)"')
BRACKETED = frozenset(
    ("__attribute__", "__declspec", "__launch_bounds__", "_Pragma", "__pragma", "alignas", "API_AVAILABLE", "__align__")
)
_NOTHING = Define("", None, "", 0)
_NOTHING_WITH_BRACKETS = Define("", ("...",), "", 0)
_NEXT = re.compile(r"\s*")


class MacroUse(NamedTuple):
    """One place that names a macro: the offsets of its name, and of the end of its brackets where it has some."""

    name: str
    start: int
    end: int
    arguments: tuple[int, int] | None = None


@dataclass
class Prepared:
    """What the parser gets. `views` are the texts to parse (ASCII, each as long as the file), the first with all
    that can stand together; `hidden` are the spans blanked in each. `uses` are the macro names in the text, in order.
    """

    text: Text
    macros: FileMacros
    views: list[bytearray] = field(default_factory=list)
    hidden: list[list[Span]] = field(default_factory=list)
    uses: list[MacroUse] = field(default_factory=list)
    attributes: frozenset[str] = frozenset()

    def definition(self, name: str, at: int) -> Define | None:
        """The one definition to expand a name by: nothing for an attribute, else the likeliest."""
        if name in self.attributes:
            return _NOTHING_WITH_BRACKETS if name in BRACKETED else _NOTHING
        return self.macros.definition(name, at)


def blank(buffer: bytearray, start: int, end: int) -> None:
    """Spaces of equal length, line ends included: the parser needs none, and lines are counted in the file's text."""
    buffer[start:end] = b" " * (end - start)


def prepare(text: Text, table: MacroTable) -> Prepared:
    """Everything before parsing that needs no syntax tree."""
    made = Prepared(text, FileMacros(text, table))
    bare = text.bare
    buffer = bytearray(rewrite(text.path, bare, text.words).encode("ascii", "replace"))
    for directive in text.directives:
        blank(buffer, directive.start, directive.end)
    _plain_strings(bare, buffer)
    own = attributes(made.macros.own, table.attributes) if made.macros.own else table.attributes
    made.attributes = own
    _blank_attributes(made, buffer)
    made.hidden = hidden_spans(text)
    for hidden in made.hidden:
        view = bytearray(buffer) if len(made.hidden) > 1 else buffer
        for start, end in hidden:
            blank(view, start, end)
        made.views.append(view)
    return made


def _occurrences(text: str, names: set[str]) -> Iterator[tuple[int, str]]:
    """Where each name stands as a whole word. (Finding each is faster than one expression of all.)"""
    for name in names:
        at = text.find(name)
        length = len(name)
        while at >= 0:
            before, after = text[at - 1 : at], text[at + length : at + length + 1]
            if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
                yield at, name
            at = text.find(name, at + length)


def _plain_strings(bare: str, buffer: bytearray) -> None:
    """A raw string (already blanked inside) becomes an empty one, since it may span lines."""
    if 'R"' not in bare:
        return
    for match in _RAW_STRING.finditer(bare):
        start, end = match.span()
        buffer[start : start + 3] = b' ""'
        blank(buffer, start + 3, end)


def _blank_attributes(made: Prepared, buffer: bytearray) -> None:
    """Blank attribute macros and their brackets; note every other macro's use."""
    words = made.text.words
    if words is None:
        words = Words.of(bytes(buffer))
    names = {name.decode() for name in words.all & made.macros.table.encoded} | {
        name for name in made.macros.own if name.encode("ascii", "replace") in words.all
    }
    if not names:
        return
    plain = buffer.decode("ascii")
    for start, name in sorted(_occurrences(plain, names)):
        end = start + len(name)
        after = plain[end : end + 1]
        opening = _NEXT.match(plain, end).end() if after.isspace() else end  # type: ignore[union-attr]
        brackets = None
        if plain[opening : opening + 1] == "(":
            closing = made.text.brackets.closing(opening)
            brackets = None if closing < 0 else (opening + 1, closing)
        if name in made.attributes:
            takes = name in BRACKETED or any(one.parameters is not None for one in made.macros.definitions(name, start))
            blank(buffer, start, brackets[1] + 1 if takes and brackets else end)
        made.uses.append(MacroUse(name, start, end, brackets))
