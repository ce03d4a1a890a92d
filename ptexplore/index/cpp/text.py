"""One C++ file's text for every extractor: comments blanked at equal length, lines, balanced brackets, `#if` guards."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Set
from functools import cached_property, partial
from itertools import accumulate
from typing import NamedTuple

# Every alternative begins with a literal, so that the regular expression engine skips to the next candidate at once.
_COMMENT_OR_STRING = re.compile(
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
_OPEN_CLOSE = re.compile(r"[(){}\[\]]")
_PAIRS = {"(": ")", "{": "}", "[": "]"}


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


def blank(text: str) -> str:
    """Spaces of equal length; line ends stay."""
    return _NOT_NEWLINE.sub(" ", text) if "\n" in text else " " * len(text)


class Directive(NamedTuple):
    """One preprocessor line with its continuations: offsets, its word ("ifdef"), what follows the word."""

    start: int
    end: int
    word: str
    rest: str

    @property
    def condition(self) -> str:
        """What an #if, #ifdef, #ifndef or #elif asks, on one line."""
        asked = " ".join(self.rest.replace("\\\n", " ").split())
        return {"ifdef": f"defined({asked})", "ifndef": f"!defined({asked})"}.get(self.word, asked)


class Text:
    """`raw` as it is; `code` with comments blanked; `bare` with the insides of strings and characters blanked too.

    All three have the same length, so that an offset means the same in each. Every offset is in characters.
    """

    def __init__(self, path: str, raw: str) -> None:
        self.path = path
        self.raw = raw
        self.words: Set[bytes] | None = None  # every word of it, comments' too, where whoever made this had them

    @cached_property
    def code(self) -> str:
        """Comments blanked, strings kept."""
        return self._blanked(literals=False)

    def code_between(self, start: int, end: int) -> str:
        """`code[start:end]`, without the cost of all of it; `start` must not lie inside a comment or literal."""
        if "code" in self.__dict__:
            return self.code[start:end]
        return Text(self.path, self.raw[start:end]).code

    @cached_property
    def bare(self) -> str:
        """Comments and the insides of literals blanked; the quotes stay."""
        return self._blanked(literals=True)

    def _blanked(self, literals: bool) -> str:
        raw, at = self.raw, 0
        parts: list[str] = []
        for match in _COMMENT_OR_STRING.finditer(raw):
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

    @cached_property
    def _starts(self) -> list[int]:
        """Where every line begins."""
        return [0, *accumulate(map((1).__add__, map(len, self.raw.split("\n"))))]

    @cached_property
    def line(self) -> Callable[[int], int]:
        """The 1-based line of an offset; no method, since every use of a name asks."""
        return partial(bisect_right, self._starts)

    def closing(self, opening: int) -> int:
        """The offset of the bracket that closes the one at `opening`; -1 where none does."""
        stack: list[str] = []
        for match in _OPEN_CLOSE.finditer(self.bare, opening):
            if match[0] in _PAIRS:
                stack.append(_PAIRS[match[0]])
            elif not stack or stack.pop() != match[0]:
                return -1
            if not stack:
                return match.start()
        return -1

    @cached_property
    def directives(self) -> list[Directive]:
        """Every preprocessor line, in order."""
        bare, last = self.bare, 0
        found: list[Directive] = []
        for match in _DIRECTIVE.finditer(bare):
            start = bare.rfind("\n", 0, match.start()) + 1
            if start < last or bare[start : match.start()].strip(" \t"):
                continue
            # In the raw text, since a comment may hide the backslash that continues a line.
            last = _LOGICAL_LINE.match(self.raw, match.end()).end()  # type: ignore[union-attr]
            found.append(Directive(start, last, match[1], bare[match.end() : last]))
        return found

    @cached_property
    def _arms(self) -> tuple[list[int], list[tuple[str, ...]]]:
        """The first line, and the conditions, of every stretch between conditional directives."""
        stack: list[list[str]] = []  # the conditions tried so far of each open #if
        lines, conditions = [1], [()]  # type: list[int], list[tuple[str, ...]]
        for directive in self.directives:
            word = directive.word
            if word not in _CONDITIONALS:
                continue
            condition = directive.condition
            if word in ("if", "ifdef", "ifndef"):
                stack.append([condition])
            elif word == "elif" and stack:
                stack[-1].append(condition)
            elif word == "else" and stack:
                stack[-1].append("")
            elif word == "endif" and stack:
                stack.pop()
            lines.append(self.line(directive.end) + 1)
            conditions.append(tuple(_arm(tried) for tried in stack))
        return lines, conditions

    @cached_property
    def include_guard(self) -> str | None:
        """The condition of the file's own include guard, "!defined(X)", where it has one."""
        first, second = [*self.directives[:2], None, None][:2]
        if first is None or second is None or first.word != "ifndef" or self.bare[: first.start].strip():
            return None
        name = first.rest.strip()
        defines = second.word == "define" and not self.bare[first.end : second.start].strip()
        return f"!defined({name})" if name and defines and second.rest.split()[:1] == [name] else None

    def guards(self, line: int) -> tuple[str, ...]:
        """The conditions around `line`, outermost first, the include guard left out."""
        lines, conditions = self._arms
        arms = conditions[max(bisect_right(lines, line) - 1, 0)]
        return arms[1:] if arms and arms[0] == self.include_guard else arms


def _arm(tried: list[str]) -> str:
    """The condition of the last arm, given those of the arms before it."""
    *before, last = tried
    parts = [f"!({one})" for one in before] + ([last] if last else [])
    return " && ".join(parts)
