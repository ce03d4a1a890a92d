"""Expand macros as the preprocessor does, just far enough to see what a wrapper or a list macro registers.

Arguments are expanded first, `#` and `##` work on them as written, and a name never expands inside its own expansion
(the C++ standard, [cpp.replace]). Conditionals are not evaluated: of several definitions in force
the last with a body counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ptexplore.index.cpp.macros import Define, MacroTable
from ptexplore.index.cpp.text import Text
from ptexplore.index.lazy import lazy

_TOKEN = re.compile(
    r'(?:u8|[uUL])?R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
    r"|[A-Za-z_]\w*|\.?[0-9](?:[eEpP][+-]|'[0-9A-Fa-f]|[\w.])*|\s+|\#\#|::|->|.",
    re.DOTALL,
)
_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*(?:define[ \t]+(\w+)(\(([^()]*)\))?((?:\\\r?\n|[^\n])*)|undef[ \t]+(\w+))", re.MULTILINE
)
_LIMIT = (
    250_000  # characters that one invocation's expansions may give, all levels counted; PyTorch's longest take 42,000
)


@dataclass(frozen=True)
class Macro:
    """One `#define`. `parameters` is None for an object-like macro; a variadic one's last is "__VA_ARGS__" or named."""

    name: str
    parameters: tuple[str, ...] | None
    body: str
    variadic: bool = False

    @lazy
    def tokens(self) -> list[str]:
        return [" " if token.isspace() else token for token in tokens(self.body)]

    @lazy
    def names(self) -> frozenset[str]:
        """The identifiers of the body."""
        return frozenset(re.findall(r"[A-Za-z_]\w*", self.body))


Lookup = Callable[[str], "Macro | None"]


class TooLong(Exception):
    """An expansion grows past what any real registration needs."""


def tokens(code: str) -> list[str]:
    """Preprocessing tokens and white space, in order; joined they are `code`."""
    return [match[0] for match in _TOKEN.finditer(code)]


def macro(name: str, parameters: str | None, body: str) -> Macro:
    """A macro from the text of its `#define`: the list between the parentheses, or None, and what follows."""
    body = body.replace("\\\r\n", "\n").replace("\\\n", "\n").strip()
    if parameters is None:
        return Macro(name, None, body)
    names = [one.strip() for one in parameters.replace("\\\n", " ").split(",")] if parameters.strip() else []
    variadic = bool(names) and names[-1].endswith("...")
    if variadic:
        names[-1] = names[-1][:-3].strip() or "__VA_ARGS__"
    return Macro(name, tuple(names), body, variadic)


@lru_cache(maxsize=1 << 14)
def of_header(define: Define) -> Macro:
    """The macro of a table's definition."""
    return macro(define.name, None if define.parameters is None else ",".join(define.parameters), define.body)


def lookup_in(table: MacroTable, name: str) -> Macro | None:
    """What the headers mean by a name: of several definitions the likeliest that has a body."""
    found = table.get(name)
    return of_header(next((one for one in found if one.body), found[0])) if found else None


class LocalMacros:
    """The macros that one file itself defines, by place: what is in force at an offset."""

    def __init__(self, text: Text) -> None:
        self.by_name: dict[str, list[tuple[int, Macro | None]]] = {}
        for match in _DEFINE.finditer(text.code):
            name = match[1] or match[5]
            if text.bare[text.code.index("#", match.start())] != "#":
                continue  # in a raw string: source for a compiler that runs later
            made = macro(name, match[3] if match[2] else None, match[4]) if match[1] else None
            self.by_name.setdefault(name, []).append((match.start(), made))

    def all(self) -> Iterator[Macro]:
        """Every definition, wherever it is in force."""
        return (one for all_ in self.by_name.values() for _, one in all_ if one is not None)

    def get(self, name: str, at: int, inherited: Macro | None = None) -> Macro | None:
        """The definition of `name` in force at offset `at`, given that of the headers; None where it was undefined."""
        found = inherited
        own = False
        for offset, one in self.by_name.get(name, ()):
            if offset > at:
                break
            if one is None:
                found, own = None, False
            elif not own or one.body:  # two in a row stand in two arms of an #if
                found, own = one, True
        return found


_Token = tuple[str, frozenset[str]]  # the token, and the names that must not expand in it
_NONE: frozenset[str] = frozenset()


def expand(code: str, lookup: Lookup, budget: list[int] | None = None) -> str:
    """`code` with every macro that `lookup` knows expanded. Raises TooLong; RecursionError for absurd nesting.

    `budget` is what many expansions may give together, in characters; each one takes its part from it.
    """
    left = [min(_LIMIT, budget[0]) if budget is not None else _LIMIT]
    before = left[0]
    try:
        source = [(token, _NONE) for token in tokens(code)]
        return "".join(token for token, _ in _expand(source, lookup, left))
    finally:
        if budget is not None:
            budget[0] -= before - left[0]


def _expand(source: list[_Token], lookup: Lookup, budget: list[int]) -> list[_Token]:
    pending = source[::-1]  # a stack: what an expansion gives is read again
    out: list[_Token] = []
    while pending:
        token, hidden = pending.pop()
        found = lookup(token) if (token[0].isalpha() or token[0] == "_") and token not in hidden else None
        replaced = None if found is None else _replace(found, hidden, pending, lookup, budget)
        if replaced is None:
            out.append((token, hidden))
        else:
            budget[0] -= sum(len(one) for one, _ in replaced) + 1
            if budget[0] < 0:
                raise TooLong
            pending.extend(reversed(replaced))
    return out


def _replace(
    found: Macro, hidden: frozenset[str], pending: list[_Token], lookup: Lookup, budget: list[int]
) -> list[_Token] | None:
    """What the invocation whose name was just taken becomes; None where it is none (no parenthesis follows)."""
    hide = hidden | {found.name}
    if found.parameters is None:
        return _substitute(found, {}, {}, hide)
    given = _arguments(pending)
    if given is None:
        return None
    arguments, taken = given
    if found.variadic and len(arguments) >= len(found.parameters):
        fixed = len(found.parameters) - 1
        rest: list[_Token] = []
        for one in arguments[fixed:]:
            rest.extend([*one, (",", _NONE)])
        arguments = [*arguments[:fixed], rest[:-1]]
    if len(arguments) > len(found.parameters) and not (not found.parameters and not arguments[0]):
        return None
    del pending[-taken:]
    arguments += [[] for _ in range(len(found.parameters) - len(arguments))]
    raw = dict(zip(found.parameters, arguments, strict=False))
    full = {name: _expand(list(value), lookup, budget) for name, value in raw.items()}
    return _substitute(found, raw, full, hide)


def _arguments(pending: list[_Token]) -> tuple[list[list[_Token]], int] | None:
    """The arguments that follow on the stack, white space around them taken off, and how many tokens they took."""
    depth = 0
    found: list[list[_Token]] = [[]]
    for taken, one in enumerate(reversed(pending), 1):
        token = one[0]
        if depth == 0:
            if token == "(":
                depth = 1
            elif not token.isspace():
                return None
            continue
        if token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
            if depth == 0:
                return [_trim(argument) for argument in found], taken
        if token == "," and depth == 1:
            found.append([])
        else:
            found[-1].append((" ", one[1]) if token.isspace() else one)
    return None


def _trim(argument: list[_Token]) -> list[_Token]:
    start, stop = 0, len(argument)
    while start < stop and argument[start][0].isspace():
        start += 1
    while stop > start and argument[stop - 1][0].isspace():
        stop -= 1
    return argument[start:stop]


def _substitute(
    found: Macro, raw: dict[str, list[_Token]], full: dict[str, list[_Token]], hide: frozenset[str]
) -> list[_Token]:
    """The body with arguments put in: as written beside `#` and `##`, expanded elsewhere."""
    body = found.tokens
    out: list[_Token] = []
    at = 0
    while at < len(body):
        token = body[at]
        following = _next(body, at + 1)
        if token == "#" and found.parameters is not None and following < len(body) and body[following] in raw:
            out.append((_string(raw[body[following]]), hide))
            at = following + 1
            continue
        if token == "##" and out and following < len(body):
            while out and out[-1][0].isspace():
                out.pop()
            right = raw.get(body[following], [(body[following], hide)])
            _paste(out, right, hide)
            at = following + 1
            continue
        if token in raw:
            value = raw[token] if following < len(body) and body[following] == "##" else full[token]
            out.extend((one, hidden | hide) for one, hidden in value)
        else:
            out.append((token, hide))
        at += 1
    return out


def _paste(out: list[_Token], right: list[_Token], hide: frozenset[str]) -> None:
    """Join the last token of `out` with the first of `right`; an empty side joins to the other."""
    if not right:
        return
    if out and out[-1][0] != ",":  # GNU's `, ## __VA_ARGS__` keeps its comma
        out[-1] = (out[-1][0] + right[0][0], hide)
        right = right[1:]
    out.extend((one, hidden | hide) for one, hidden in right)


def _next(body: list[str], at: int) -> int:
    while at < len(body) and body[at].isspace():
        at += 1
    return at


def _string(argument: list[_Token]) -> str:
    inner = "".join(one.replace("\\", "\\\\").replace('"', '\\"') if one[:1] in "\"'" else one for one, _ in argument)
    return f'"{inner}"'
