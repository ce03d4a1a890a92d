"""The text of one C++ file, for every extractor: blanked comments, lines, brackets, `#if` guards."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Set
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from ptexplore.cpp.brackets import Brackets
from ptexplore.lazy import lazy

# Whole literals with their prefix. In a raw literal, the delimiter and the content are groups.
LITERAL = r"(?:u8|[uUL])?(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
RAW_LITERAL = r"(?:u8|[uUL])?R\"([^()\\\s]{0,16})\((.*?)\)\1\""
# Every alternative begins with a fixed character, so that the regular expression engine skips ahead fast.
COMMENT_OR_STRING = re.compile(
    r"//[^\n\\]*(?:\\\n?[^\n\\]*)*|/\*.*?(?:\*/|\Z)"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*(?:"|(?=\n)|\Z)'
    r"|'(?<![0-9A-Fa-f]')(?:[^'\\\n]|\\[^\n]{1,10})'"
    r'|R"(?<![A-Za-tv-z0-9_]R")([^()\\\s]{0,16})\(.*?(?:\)\1"|\Z)',
    re.DOTALL,
)
_NOT_NEWLINE = re.compile(r"[^\n]")
_DIRECTIVE = re.compile(r"#[ \t]*([a-z_]*)")
_LOGICAL_LINE = re.compile(r"[^\n\\]*(?:\\\n?[^\n\\]*)*")
_CONDITIONALS = frozenset(("if", "ifdef", "ifndef", "elif", "else", "endif"))
_DEEPEST_IF = 100  # nested `#if`s; PyTorch has about ten levels
# greatest length of the condition of an arm, in characters, with the conditions of the arms before it
_LONGEST_ARM = 2000
_UNKNOWN = "…"  # stands for a longer condition; it cannot be evaluated
_WORD_BYTES = bytes(c if c > 127 or c == 95 or chr(c).isalnum() else 32 for c in range(256))


def words(text: str) -> frozenset[str]:
    """Returns the words of a text as a set."""
    return frozenset(text.split())


class Words(NamedTuple):
    """Every distinct word of a file, comments included:

    `all` as bytes; `listed` has the words that may be identifiers.
    """

    all: Set[bytes]
    listed: str

    @classmethod
    def of(cls, data: bytes) -> Words:
        """Returns the words of a file's content."""
        distinct = set(data.translate(_WORD_BYTES).split())
        return cls(distinct, b" ".join([word for word in distinct if word[0] > 57]).decode("utf-8", "replace"))


def blank(text: str) -> str:
    """Replaces a text by spaces of equal length. Line ends stay."""
    return _NOT_NEWLINE.sub(" ", text) if "\n" in text else " " * len(text)


class Directive(NamedTuple):
    """One preprocessor line with its continuations: offsets, its word ("ifdef"), and the text behind the word."""

    start: int
    end: int
    word: str
    rest: str

    @property
    def condition(self) -> str:
        """The condition of an #if, #ifdef, #ifndef or #elif, on one line."""
        asked = " ".join(self.rest.replace("\\\n", " ").split())
        return {"ifdef": f"defined({asked})", "ifndef": f"!defined({asked})"}.get(self.word, asked)


def _blanked(raw: str, literals: bool) -> str:
    """Blanks comments. With `literals`, blanks the insides of literals as well."""
    if not literals and "/" not in raw:
        return raw
    at = 0
    parts: list[str] = []
    for match in COMMENT_OR_STRING.finditer(raw):
        start, end = match.span()
        if raw[start] != "/":
            if not literals:
                continue
            start += 2 if raw[start] == "R" else 1
            end -= raw[end - 1] in "\"'"
            if start >= end:
                continue
        word = raw[start:end]
        parts += (raw[at:start], _NOT_NEWLINE.sub(" ", word) if "\n" in word else " " * (end - start))
        at = end
    return "".join(parts) + raw[at:]


class Text:
    """A C++ text in three forms:

    `raw` unchanged, `code` without comments, `bare` without the insides of literals either.

    Removed text is blanked, so all three have the same length and an offset is valid in each. Offsets are in
    characters.
    """

    def __init__(self, path: str, raw: str) -> None:
        self.path = path
        self.raw = raw
        self.words: Words | None = None  # set by the caller, if known

    @lazy
    def code(self) -> str:
        """The text with comments blanked; strings stay."""
        return _blanked(self.raw, literals=False)

    @property
    def names(self) -> str:
        """A text to search for parts of identifiers.

        It contains all identifiers of the file, and searching it is faster.
        """
        return self.raw if self.words is None else self.words.listed

    def code_between(self, start: int, end: int) -> str:
        """Returns `code[start:end]` without computing all of `code`.

        `start` must not be inside a comment or literal.
        """
        if "code" in self.__dict__:
            return self.code[start:end]
        return _blanked(self.raw[start:end], literals=False)

    @lazy
    def bare(self) -> str:
        """The text with comments and the insides of literals blanked; the quotes stay."""
        return _blanked(self.raw, literals=True)

    @lazy
    def _starts(self) -> list[int]:
        """The offset of the beginning of each line."""
        return [0, *accumulate(map((1).__add__, map(len, self.raw.split("\n"))))]

    @lazy
    def line(self) -> Callable[[int], int]:
        """A function that returns the 1-based line of an offset.

        It is not a method, since every use of a name calls it.
        """
        return partial(bisect_right, self._starts)

    @lazy
    def brackets(self) -> Brackets:
        """The brackets of `bare`."""
        return Brackets(self.bare)

    @lazy
    def directives(self) -> list[Directive]:
        """Every preprocessor line, in order."""
        raw, bare = self.raw, self.bare
        last = 0  # the end of the line before
        directives: list[Directive] = []
        while (hash_ := bare.find("#", last)) >= 0:
            start = bare.rfind("\n", last, hash_) + 1
            if bare[start:hash_].strip(" \t"):
                last = bare.find("\n", hash_)
                if last < 0:
                    break
                continue
            match = _DIRECTIVE.match(bare, hash_)
            assert match is not None
            behind = match.end()
            # In the raw text, since a comment may hide the backslash that continues a line.
            last = raw.find("\n", behind)
            if last < 0 or raw[last - 1] == "\\":
                last = _LOGICAL_LINE.match(raw, behind).end()  # type: ignore[union-attr]
            directives.append(Directive(start, last, match[1], bare[behind:last]))
        return directives

    @lazy
    def _arms(self) -> tuple[list[int], list[tuple[str, ...]]]:
        """The first line and the conditions of every stretch between conditional directives.

        If `#if`s nest deeper than _DEEPEST_IF, the inner ones have the conditions of the outer ones.
        """
        stack: list[_Conditional] = []
        lines, conditions = [1], [()]  # type: list[int], list[tuple[str, ...]]
        deeper = 0
        for directive in self.directives:
            word = directive.word
            if word not in _CONDITIONALS:
                continue
            opens = word in ("if", "ifdef", "ifndef")
            if deeper or (opens and len(stack) == _DEEPEST_IF):
                deeper += opens - (word == "endif")
                continue
            if opens:
                stack.append(_Conditional(conditions[-1]))
            if not stack:
                now: tuple[str, ...] = ()
            elif word == "endif":
                now = stack.pop().around
            else:
                now = (*stack[-1].around, stack[-1].arm("" if word == "else" else directive.condition))
            lines.append(self.line(directive.end) + 1)
            conditions.append(now)
        return lines, conditions

    @lazy
    def include_guard(self) -> str | None:
        """The condition of the file's include guard, "!defined(X)", or None if it has no guard."""
        first, second = [*self.directives[:2], None, None][:2]
        if first is None or second is None or first.word != "ifndef" or self.bare[: first.start].strip():
            return None
        name = first.rest.strip()
        defines = second.word == "define" and not self.bare[first.end : second.start].strip()
        return f"!defined({name})" if name and defines and second.rest.split()[:1] == [name] else None

    @lazy
    def guards(self) -> Callable[[int], tuple[str, ...]]:
        """A function: line -> the conditions around it, outermost first, without the include guard.

        Fast, like `line`.
        """
        lines, conditions = self._arms
        guard = self.include_guard if len(lines) > 1 else None
        arms = [arm[1:] if arm and arm[0] == guard else arm for arm in conditions]
        if not any(arms):
            return lambda _: ()
        arms.insert(0, arms[0])  # before the first line
        return lambda line: arms[bisect_right(lines, line)]


class _Conditional:
    """An open `#if`: the conditions around it, and the negated conditions of its arms so far."""

    def __init__(self, around: tuple[str, ...]) -> None:
        self.around = around
        self._denied = ""

    def arm(self, condition: str) -> str:
        """Returns the full condition of the next arm, whose own condition is `condition` ("" for `#else`)."""
        condition = condition if len(condition) <= _LONGEST_ARM else _UNKNOWN
        arm = " && ".join(filter(None, (self._denied, condition)))
        if self._denied != _UNKNOWN:
            self._denied = " && ".join(filter(None, (self._denied, f"!({condition})")))
            if len(self._denied) > _LONGEST_ARM:
                self._denied = _UNKNOWN
        return arm
