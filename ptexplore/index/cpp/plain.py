"""Statements plain enough to be read by one expression: the parser, twenty times as slow, gets what is left of a text.

A statement counts as plain only where its form leaves the grammar no choice: one type, one name, named parameters. All
others stay for the parser, and so do the scopes around both, unless nothing in the whole text is left for it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ptexplore.index.cpp.scopes import is_scope
from ptexplore.index.cpp.text import words

_INSIDE = r"[\w\s:,*&.]*"
_ANGLES = rf"<{_INSIDE}(?:<{_INSIDE}(?:<{_INSIDE}>{_INSIDE})*>{_INSIDE})*>"
_TYPE = rf"(?:::)?[A-Za-z_]\w*(?:{_ANGLES})?(?:::[A-Za-z_]\w*(?:{_ANGLES})?)*(?:\s+const\b)?"
_THEN_NAME = r"(?:\s*[*&]+\s*|\s+)"
_DEFAULT = r"\s*=\s*(?:[\w:.]+(?:\(\)|-\w+)?|-[\w.]+|\{\s*\})"
_PARAMETER = rf"(?:const\s+)?{_TYPE}{_THEN_NAME}[A-Za-z_]\w*(?:{_DEFAULT})?"
_STATEMENT = re.compile(
    rf"""\s*(?:
    (?P<close>\}}(?:\s*;)?|;)
    |(?P<access>(?:public|private|protected)\s*:(?!:))
    |(?P<scope>namespace)(?:\s+(?P<namespace>\w+(?:::\w+)*))?\s*\{{
    |(?P<class>struct|class)\s+(?P<class_name>\w+)\s*(?:(?P<forward>;)|(?:final\s*)?(?P<bases>:[\w\s:,<>]*)?\{{)
    |(?P<using>using)\s+(?:[\w:]+\s*;|(?P<alias>\w+)\s*=[^;{{}}]*;)
    |(?P<specifiers>(?:(?:static|inline|constexpr|virtual|extern|const|mutable)\s+)*)
     (?P<type>{_TYPE}){_THEN_NAME}(?P<name>\w+(?:::\w+)*)\s*(?:
      (?P<listed>\(\s*(?:{_PARAMETER}(?:\s*,\s*{_PARAMETER})*)?\s*\))
       (?P<after>(?:\s*\b(?:const|noexcept|override)\b)*)\s*(?:(?P<body>\{{\s*\}})(?!\s*;)|(?:=\s*0\s*)?;)
      |(?P<value>=[^;{{}}<>,]*)?;)
    )""",
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*")
_END = re.compile(r"[;{}]")
_BRACE = re.compile(r"[{}]")
_NO_TYPE = words(
    """static inline constexpr virtual extern const mutable volatile explicit friend return using typedef struct class
    enum union typename template namespace public private protected operator goto case new delete throw else do if for
    while switch catch try concept requires export import module default thread_local consteval constinit register
    static_assert asm and or not co_return co_await co_yield final override noexcept sizeof decltype alignas unsigned
    signed long short z"""
)
_NO_NAME = _NO_TYPE | {"int", "void", "bool", "char", "float", "double", "auto"}


class Plain(NamedTuple):
    """One statement that was understood, or the head of a scope: what the expression found, and where it ends."""

    kind: str  # "function", "variable", "alias", "forward"; of a scope "namespace", "class"
    match: re.Match[str]
    start: int
    end: int


class Scan(NamedTuple):
    """What a text holds: its plain statements, what to cut for the parser, whether that leaves it nothing to do."""

    statements: list[Plain]
    cuts: list[tuple[int, int]]
    all: list[Plain] | None


def scan(text: str) -> Scan:
    """The plain statements of a text whose bodies are empty, with the white space before every statement cut too."""
    found = _Scanner(text)
    found.run()
    return Scan(found.statements, found.cuts, found.all if found.known and not found.open else None)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.statements: list[Plain] = []
        self.cuts: list[tuple[int, int]] = []
        self.all: list[Plain] = []
        self.open: list[int] = []  # where each open scope is in `all`; -1 for one that is left to the parser
        self.known = True

    def run(self) -> None:
        text, length, match_at = self.text, len(self.text), _STATEMENT.match
        at = 0
        while at < length:
            match = match_at(text, at)
            at = self._other(at) if match is None else self._understood(match, at)

    def _cut(self, start: int, end: int) -> None:
        if self.cuts and self.cuts[-1][1] == start:
            self.cuts[-1] = (self.cuts[-1][0], end)
        elif start < end:
            self.cuts.append((start, end))

    def _understood(self, match: re.Match[str], at: int) -> int:
        """Take what the expression found at `at`; where to go on."""
        close, access, class_, using, name = match.group("close", "access", "class", "using", "name")
        end = match.end()
        if name is not None:
            if (
                match["type"] in _NO_TYPE
                or match["type"].endswith("operator")
                or not _NO_NAME.isdisjoint(name.split("::"))
            ):
                return self._other(at)
            start = match.start("specifiers")
            self._leaf("variable" if match["listed"] is None else "function", match, at, start)
        elif close is not None:
            self._close(close, match.start("close"))
        elif using is not None:
            self._leaf("using" if match["alias"] is None else "alias", match, at, match.start("using"))
        elif access is not None:
            self._cut(at, match.start("access"))
        elif match["forward"] is not None:
            self._leaf("forward", match, at, match.start("class"))
        else:
            kind, start = ("namespace", match.start("scope")) if class_ is None else ("class", match.start("class"))
            self._cut(at, start)
            self.open.append(len(self.all))
            self.all.append(Plain(kind, match, start, end))
        return end

    def _leaf(self, kind: str, match: re.Match[str], at: int, start: int) -> None:
        end = match.end()
        self._cut(at, end)
        if kind != "using":  # which declares nothing of its own
            one = Plain(kind, match, start, end)
            self.statements.append(one)
            self.all.append(one)

    def _close(self, close: str, start: int) -> None:
        if close[0] == ";":
            return
        opened = self.open.pop() if self.open else -1
        if opened < 0:
            self.known = False
            return
        one = self.all[opened]
        self.all[opened] = one._replace(end=start + 1)
        self.known = self.known and (one.kind == "namespace" or len(close) > 1)

    def _other(self, at: int) -> int:
        """Pass over what is left to the parser, up to its end or into its scope."""
        text = self.text
        start = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        if start == len(text):
            return start
        self.known = False
        if not text.startswith("using", start):  # a line's first word, as `using namespace` is looked for
            self._cut(at, start)
        found = _END.search(text, start)
        if found is None:
            return len(text)
        if found[0] == "{":
            if is_scope(text[start : found.start()]):
                self.open.append(-1)
                return found.end()
            return _closing(text, found.end())
        return found.end() if found[0] == ";" else found.start()


def _closing(text: str, start: int) -> int:
    """Behind the brace that closes the one before `start`."""
    depth = 1
    for match in _BRACE.finditer(text, start):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return match.end()
    return len(text)
