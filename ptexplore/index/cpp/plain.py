"""Statements plain enough to be read by one expression: the parser, twenty times as slow, gets what is left of a text.

A statement counts as plain only where its form leaves the grammar no choice: one type, one name, named parameters. All
others stay for the parser, and so do the scopes around both, unless nothing in the whole text is left for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ptexplore.index.cpp.names import CAST
from ptexplore.index.cpp.scopes import closing, is_scope
from ptexplore.index.cpp.text import words

_INSIDE = r"[\w\s:,*&.()\[\]=!|+-]*"
_ANGLES = rf"<{_INSIDE}(?:<{_INSIDE}(?:<{_INSIDE}>{_INSIDE})*>{_INSIDE})*>"
TEMPLATE = rf"template\s*<{_INSIDE}(?:<{_INSIDE}(?:<{_INSIDE}(?:<{_INSIDE}>{_INSIDE})*>{_INSIDE})*>{_INSIDE})*>"
_SIZED = r"(?:unsigned|signed|long|short)\s+(?:long\s+){0,2}(?:int|long|char|short|double)\b"
_WORD = r"[A-Za-z_]\w*\b"  # never the begin of one: what follows is not tried behind each of its letters
_TYPE = rf"(?:{_SIZED}|(?:::)?{_WORD}(?:{_ANGLES})?(?:::{_WORD}(?:{_ANGLES})?)*)(?:\s+const\b)?"
_SPECIFIER = "static|inline|constexpr|virtual|extern|const|mutable"
_THEN_NAME = r"(?:\s*[*&]+\s*|\s+)"
_DEFAULT = rf"\s*=\s*(?:[\w:.]+(?:{_ANGLES}[\w:]*)?(?:\(\)|-\w+)?|-[\w.]+|\{{\s*\}}|\"\s*\")"
_PACK = rf"(?:const\s+)?{_TYPE}\s*[*&]*\s*\.\.\.\s*(?:{_WORD})?|\.\.\."
_UNNAMED = rf"const\s+{_TYPE}\s*[*&]*|{_TYPE}\s*[*&]+|void(?=\s*\))"
_NAMED = (
    rf"(?:const\s+)?(?:(?:struct|union)\s+)?{_TYPE}(?:\s*[*&]+\s*(?:const\b\s*)?|\s+){_WORD}"
    r"(?:\s*\[[\w\s]*\])*"
)
_PARAMETER = rf"(?:{_NAMED}(?=\s*[,)=])|{_PACK}|{_UNNAMED}|(?P<BARE>{_TYPE})(?=\s*[,)=]))(?:{_DEFAULT})?"
_PARAMETERS = rf"\(\s*(?:{_PARAMETER}(?:\s*,\s*{_PARAMETER})*)?\s*\)"
_OPERATOR = r"operator\s*(?:\(\s*\)|\[\s*\]|[^\w\s()\[\]{};,\"']+)"
_NAME = rf"(?:\w+\b(?:{_ANGLES})?::\s*)*(?:{_OPERATOR}|\w+\b(?:{_ANGLES})?)"
_CODE = r"[^(){};]*(?:\{\s*\}[^(){};]*)*"
_CALLED = rf"\({_CODE}(?:\({_CODE}(?:\({_CODE}(?:\({_CODE}\){_CODE})*\){_CODE})*\){_CODE})*\)"
_PLAIN_CODE = r"[^;{}<>,()]*"
_VALUE = rf"{_PLAIN_CODE}(?:(?:{_ANGLES}(?=::|\()|{_CALLED}|->|<<){_PLAIN_CODE})*"
_NOEXCEPT = r"noexcept\b(?:\s*\(\w*\))?"
_GIVEN = r"(?:[^,(){};<>\"]|<<|>>)*"
_BRACKETED = r"\([^(){};\"]*(?:\([^(){};\"]*\)[^(){};\"]*)*\)"
ENUMERATOR = rf"\w+\s*(?:={_GIVEN}(?:{_BRACKETED}{_GIVEN})*)?"
_INITIALISER = rf"[\w:]+(?:{_ANGLES})?\s*(?:{_CALLED}|\{{\s*\}})"
_AFTER = rf"(?:\s*(?:const\b|override\b|final\b|{_NOEXCEPT}|&))*(?:\s*->\s*{_TYPE}(?:\s*[*&]+)?)?"


def _parameters(bare: str) -> str:
    """A list in brackets; one without a name is in the groups `bare` and a number."""
    return _PARAMETERS.replace("BARE", bare + "1", 1).replace("BARE", bare + "2", 1)


_STATEMENT = re.compile(
    rf"""(?:
    (?P<close>\}}(?:\s*;)?|;)
    |(?P<access>(?:public|private|protected)\s*:(?!:))
    |(?P<inline>inline\s+)?(?P<scope>namespace)(?:\s+(?P<namespace>\w+(?:::\w+)*))?\s*\{{
    |(?P<linkage>extern\s*"[^"]*")\s*\{{
    |(?P<enum>enum)(?P<scoped>\s+(?:class|struct))?(?:\s+(?P<enum_name>\w+))?\s*(?::(?!:)[\w\s:]*)?
      \{{\s*(?P<enumerators>(?:{ENUMERATOR},\s*)*(?:{ENUMERATOR})?)(?P<enum_end>\}})\s*;
    |(?P<other>namespace)\s+\w+\s*=\s*[\w:]+\s*;
    |(?P<template>{TEMPLATE}\s*)?(?:
     (?P<class>struct|class)\s+(?P<class_name>\w+)(?P<special>{_ANGLES})?\s*
      (?:(?P<forward>;)|(?:final\s*)?(?P<bases>:(?!:)[\w\s:,<>]*)?\{{)
     |(?P<friend>friend)\s+(?:(?:class|struct|union)\s+)?[\w:]+(?:{_ANGLES}[\w:]*)*\s*;
     |(?P<using>using)\s+(?:(?P<all_of>namespace\s+)?[\w:]+(?:{_ANGLES}[\w:\s]+)*\s*;|(?P<alias>\w+)\s*=[^;{{}}]*;)
     |(?P<assertion>static_assert)\s*{_CALLED}\s*;
     |typedef\s+(?:struct\s+)?{_TYPE}{_THEN_NAME}(?P<typedef>\w+)\s*;
     |(?!explicit\b)(?P<specifiers>(?:(?:{_SPECIFIER}|struct|enum|thread_local)\s+)*)
      (?!(?:{_SPECIFIER}|struct|class)\b)(?P<type>{_TYPE})(?:\s+inline\b)?
      {_THEN_NAME}(?P<name>{_NAME})\s*(?:
       (?P<listed>{_parameters("bare")})(?P<after>{_AFTER})\s*
        (?:(?P<body>\{{\s*\}})|(?:=\s*0\s*)?;)
       |(?P<further>(?:,\s*\w+\b\s*)+);
       |(?:\[[\w\s:*+-]*\]\s*)*(?P<value>={_VALUE}(?:\{{\s*\}})?|\{{\s*\}}|:\s*\d+|(?=\(\s*(?:"|{CAST})){_CALLED})?\s*;)
     |(?:(?:inline|constexpr|virtual|explicit)\s+)*(?P<conversion>operator)\s+(?:const\s+)?{_TYPE}\s*[*&]*\s*
      (?P<converted>\(\s*\))(?P<converted_after>{_AFTER})\s*(?:(?P<converts>\{{\s*\}})|;)
     |(?P<made_specifiers>(?:(?:inline|constexpr|virtual|explicit)\s+)*)
      (?P<made>(?:\w+\b(?:{_ANGLES})?::)*~?\w+\b)\s*(?P<made_of>{_parameters("made_bare")})
      (?P<made_after>(?:\s*(?:override\b|{_NOEXCEPT}))*)\s*
      (?:(?P<unmade>;)|(?::(?!:)\s*{_INITIALISER}(?:\s*,\s*{_INITIALISER})*)?\s*\{{\s*\}}(?!\s*;))
    ))""",
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*(?:\\\n\s*)*")
_END = re.compile(r"[;{}]")
_NO_TYPE = words(
    """static inline constexpr virtual extern const mutable volatile explicit friend return using typedef struct class
    enum union typename template namespace public private protected operator goto case new delete throw else do if for
    while switch catch try concept requires export import module default thread_local consteval constinit register
    static_assert asm and or not co_return co_await co_yield final override noexcept sizeof decltype alignas"""
)
_NO_NAME = (_NO_TYPE - words("module import")) | words(
    "int void bool char float double auto unsigned signed long short"
)
_CLASS = re.compile(r"\b(?:class|struct|union)\s+(?:\w+::)*(\w+)")


class Plain(NamedTuple):
    """One statement that was understood, or the head of a scope: what the expression found, and where it ends."""

    # "function", "made" (constructor, destructor), "conversion", "variable", "alias", "enum", "forward"; or a scope:
    # "namespace", "linkage", "class"
    kind: str
    match: re.Match[str]
    start: int
    end: int


class Scan(NamedTuple):
    """What a text holds: its plain statements, what to cut for the parser, whether that leaves it nothing to do."""

    statements: list[Plain]
    cuts: list[tuple[int, int]]
    all: list[Plain] | None


def scan(text: str, around: str | None = None) -> Scan:
    """The plain statements of a text whose bodies are empty, with the white space before every statement cut too.

    `around` names the class that the whole text stands in, "" where that has no name; None where it stands in none.
    """
    found = _Scanner(text, around)
    found.run()
    return Scan(found.statements, found.cuts, found.all if found.known and not found.open else None)


class _Scanner:
    def __init__(self, text: str, around: str | None) -> None:
        self.text = text
        self.around = (around,)
        self.statements: list[Plain] = []
        self.cuts: list[tuple[int, int]] = []
        self.all: list[Plain] = []
        # Where each open scope is in `all`, -1 for one that is left to the parser; the classes that it may be.
        self.open: list[tuple[int, Sequence[str | None]]] = []
        self.known = True

    def run(self) -> None:
        text, length, match_at, space = self.text, len(self.text), _STATEMENT.match, _SPACE.match
        at = 0
        while at < length:
            start = space(text, at).end()  # type: ignore[union-attr]
            match = match_at(text, start)
            at = self._other(at, start) if match is None else self._understood(match, at)

    def _cut(self, start: int, end: int) -> None:
        if self.cuts and self.cuts[-1][1] == start:
            self.cuts[-1] = (self.cuts[-1][0], end)
        elif start < end:
            self.cuts.append((start, end))

    def _understood(self, match: re.Match[str], at: int) -> int:
        """Take what the expression found at `at`; where to go on."""
        close, access, class_, name, made = match.group("close", "access", "class", "name", "made")
        if name is not None:
            if not _is_clear(match, name):
                return self._other(at, match.start())
            self._leaf("variable" if match["listed"] is None else "function", match, at)
        elif close is not None:
            self._close(close, match.start("close"))
        elif access is not None:
            self._cut(at, match.start("access"))
        elif made is not None:
            bare = match["unmade"] is not None and (match["made_bare1"] or match["made_bare2"])
            invoked = match["unmade"] is None and "::" not in made and all(one is None for one in self._classes())
            if not invoked and (bare or not self._makes(made)):
                return self._other(at, match.start())
            self._leaf("" if invoked else "made", match, at)  # a macro with a body behind it declares nothing
        elif match["enum"] is not None:
            self._leaf("enum", match, at)
        elif match["conversion"] is not None:
            self._leaf("conversion", match, at)
        elif match["using"] or match["typedef"] or match["assertion"] or match["friend"] or match["other"]:
            if match["all_of"] is None:  # looked for where it stands
                self._leaf("typedef" if match["alias"] or match["typedef"] else "", match, at)
        elif match["forward"] is not None:
            self._leaf("forward", match, at)
        else:
            self._cut(at, match.start())
            self.open.append((len(self.all), (match["class_name"],)))
            kind = "class" if class_ is not None else "namespace" if match["scope"] else "linkage"
            self.all.append(Plain(kind, match, match.start(), match.end()))
        return match.end()

    def _makes(self, name: str) -> bool:
        """Whether a function without a type is a constructor or destructor: it has the name of the class around it."""
        *around, last = name.split("::")
        classes = [around[-1].partition("<")[0]] if around else self._classes()
        return last.lstrip("~") in classes

    def _classes(self) -> Sequence[str | None]:
        """What the class may be called that a statement stands in; None, or nothing, where it stands in none."""
        return self.open[-1][1] if self.open else self.around

    def _leaf(self, kind: str, match: re.Match[str], at: int) -> None:
        """Cut a statement out, and keep it where it declares something."""
        end = match.end()
        self._cut(at, end)
        if kind:
            one = Plain(kind, match, match.start(), end)
            self.statements.append(one)
            self.all.append(one)

    def _close(self, close: str, start: int) -> None:
        if close[0] == ";":
            return
        opened = self.open.pop()[0] if self.open else -1
        if opened < 0:
            self.known = False
            return
        one = self.all[opened]
        self.all[opened] = one._replace(end=start + 1)
        self.known = self.known and (one.kind != "class" or len(close) > 1)

    def _other(self, at: int, start: int) -> int:
        """Pass over what is left to the parser, up to its end or into its scope."""
        text = self.text
        if start == len(text):
            return start
        self.known = False
        if not text.startswith("using", start):  # a line's first word, as `using namespace` is looked for
            self._cut(at, start)
        found = _END.search(text, start)
        if found is None:
            return len(text)
        if found[0] == "{":
            head = text[start : found.start()]
            if is_scope(head):
                self.open.append((-1, _CLASS.findall(head)))
                return found.end()
            end = closing(text, found.start())
            return len(text) if end < 0 else end
        return found.end() if found[0] == ";" else found.start()


def _is_clear(match: re.Match[str], name: str) -> bool:
    """Whether what looks like a function or variable is one and nothing else."""
    type_, listed = match.group("type", "listed")
    if type_ in _NO_TYPE or type_.endswith("operator") or name in _NO_NAME:
        return False
    if "::" in name and not _NO_NAME.isdisjoint(map(str.strip, name.split("::"))):
        return False
    if listed is None:
        return "operator" not in name  # "operator>>=(…)" may look like a variable
    if match["bare1"] is None and match["bare2"] is None:
        return True
    # "T x(y);" may be a variable
    return bool(match["body"] or match["after"]) or "virtual" in match["specifiers"]
