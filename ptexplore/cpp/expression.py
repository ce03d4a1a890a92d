"""Evaluate one preprocessor expression with three values: an integer, or None where a macro is not known.

The grammar is that of the conditional expressions of C++ ([cpp.cond]); what is no such expression is not known.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

Macro = Callable[[str], "str | bool"]  # a macro's text; False: certainly not defined; True: nothing is known of it

_TOKEN = re.compile(
    r"\s*(?:(0[xX][0-9A-Fa-f']+|\d[\d']*)[uUlLzZ]*|([A-Za-z_]\w*)|(&&|\|\||[=!<>]=|<<|>>|[-+*/%<>!~()&|^?:,]))"
)
_LEVELS: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge},
    {"<<": operator.lshift, ">>": operator.rshift},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul},
)  # fmt: skip
DEEPEST = 12  # macros that expand to macros; none of PyTorch's nests half as deep
LONGEST = 4000  # characters of a condition


class _NotKnown(Exception):
    """The text is no expression that is followed here."""


def evaluate(condition: str, macro: Macro, depth: int = 0) -> int | None:
    """The value of `condition`, None where it hangs on a macro that is not known, or is no such expression."""
    if depth > DEEPEST or len(condition) > LONGEST:
        return None
    try:
        reader = _Reader(condition, macro, depth)
        value = reader.either()
        return value if reader.at_end() else None
    except (_NotKnown, RecursionError):
        return None


class _Reader:
    """Reads an expression from left to right; every method gives the value of what it read."""

    def __init__(self, text: str, macro: Macro, depth: int) -> None:
        self.text, self.macro, self.depth, self.position = text, macro, depth, 0

    def at_end(self) -> bool:
        return not self.text[self.position :].strip()

    def either(self) -> int | None:
        """Alternatives: one that is true decides, whatever is not known of the others."""
        value = self._both()
        while self._take("||"):
            other = self._both()
            value = 1 if value or other else None if value is None or other is None else 0
        return value

    def _both(self) -> int | None:
        value = self._level(0)
        while self._take("&&"):
            other = self._level(0)
            one_false = value == 0 or other == 0
            value = 0 if one_false else None if value is None or other is None else 1
        return value

    def _level(self, number: int) -> int | None:
        if number == len(_LEVELS):
            return self._unary()
        value = self._level(number + 1)
        while (sign := self._sign(_LEVELS[number])) is not None:
            other = self._level(number + 1)
            known = value is not None and other is not None and abs(other) < 1 << 64
            if known and sign in ("<<", ">>") and not 0 <= (other or 0) < 64:
                known = False
            value = int(_LEVELS[number][sign](value or 0, other or 0)) if known else None
        return value

    def _unary(self) -> int | None:
        if self._take("!"):
            value = self._unary()
            return None if value is None else int(not value)
        if self._take("-"):
            value = self._unary()
            return None if value is None else -value
        if self._take("+"):
            return self._unary()
        if self._take("("):
            value = self.either()
            if not self._take(")"):
                raise _NotKnown
            return value
        return self._primary()

    def _primary(self) -> int | None:
        match = _TOKEN.match(self.text, self.position)
        if match is None or match[3]:
            raise _NotKnown
        self.position = match.end()
        if match[1]:
            return int(match[1].replace("'", ""), 16 if match[1][:2] in ("0x", "0X") else 10)
        if match[2] == "defined":
            return self._defined()
        if match[2] in ("true", "false"):
            return int(match[2] == "true")
        return self._name(match[2])

    def _defined(self) -> int | None:
        bracket = self._take("(")
        match = _TOKEN.match(self.text, self.position)
        if match is None or not match[2]:
            raise _NotKnown
        self.position = match.end()
        if bracket and not self._take(")"):
            raise _NotKnown
        found = self.macro(match[2])
        if found is True and isinstance(self.macro(f"{match[2]}()"), str):
            return 1
        return None if found is True else int(found is not False)

    def _name(self, name: str) -> int | None:
        """A macro's value; one that is certainly not defined counts as 0."""
        if self.text[self.position :].lstrip().startswith("("):
            name = f"{name}()" if self._arguments() == "" else ""
        found: str | bool = self.macro(name) if name else True
        if found is True:
            return None
        return 0 if found is False else evaluate(found, self.macro, self.depth + 1) if found else None

    def _arguments(self) -> str:
        """Pass over a call's brackets; what is between them."""
        start = self.text.index("(", self.position)
        depth = 0
        for position in range(start, len(self.text)):
            depth += {"(": 1, ")": -1}.get(self.text[position], 0)
            if depth == 0:
                self.position = position + 1
                return self.text[start + 1 : position].strip()
        raise _NotKnown

    def _sign(self, signs: dict[str, Callable[[int, int], int]]) -> str | None:
        match = _TOKEN.match(self.text, self.position)
        if match is None or match[3] not in signs:
            return None
        self.position = match.end()
        return match[3]

    def _take(self, sign: str) -> bool:
        match = _TOKEN.match(self.text, self.position)
        if match is None or match[3] != sign:
            return False
        self.position = match.end()
        return True
