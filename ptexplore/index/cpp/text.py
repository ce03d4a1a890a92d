"""One C++ file's text for every extractor: comments blanked at equal length, lines, balanced brackets, `#if` guards."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

_COMMENT_OR_STRING = re.compile(
    r"//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)"
    r'|(?:\bu8|\b[uUL])?R"([^()\\\s]{0,16})\(.*?\)\1"'
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\[^\n]{1,10})'",
    re.DOTALL,
)
_NOT_NEWLINE = re.compile(r"[^\n]")
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b((?:\\\n|[^\n])*)", re.MULTILINE)
_OPEN_CLOSE = re.compile(r"[(){}\[\]]")
_PAIRS = {"(": ")", "{": "}", "[": "]"}


def blank(text: str) -> str:
    """Spaces of equal length; line ends stay."""
    return _NOT_NEWLINE.sub(" ", text) if "\n" in text else " " * len(text)


class Text:
    """`raw` as it is; `code` with comments blanked; `bare` with the insides of strings and characters blanked too.

    All three have the same length, so that an offset means the same in each. Every offset is in characters.
    """

    def __init__(self, path: str, raw: str) -> None:
        self.path = path
        self.raw = raw

    @cached_property
    def code(self) -> str:
        """Comments blanked, strings kept."""
        return _COMMENT_OR_STRING.sub(lambda m: blank(m[0]) if m[0].startswith(("//", "/*")) else m[0], self.raw)

    @cached_property
    def bare(self) -> str:
        """Comments and the insides of literals blanked; the quotes stay."""

        def inside(match: re.Match[str]) -> str:
            word = match[0]
            if word.startswith(("//", "/*")):
                return blank(word)
            quote = word.index('"') if '"' in word else 0
            return word[: quote + 1] + blank(word[quote + 1 : -1]) + word[-1]

        return _COMMENT_OR_STRING.sub(inside, self.raw)

    @cached_property
    def _newlines(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.raw)]

    def line(self, offset: int) -> int:
        """The 1-based line of an offset."""
        return bisect_right(self._newlines, offset - 1) + 1

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
    def _arms(self) -> list[tuple[int, tuple[str, ...]]]:
        """(first line, conditions) of every stretch between conditional directives."""
        stack: list[list[str]] = []  # the conditions tried so far of each open #if
        found: list[tuple[int, tuple[str, ...]]] = [(1, ())]
        for match in _DIRECTIVE.finditer(self.code):
            word, condition = match[1], " ".join(match[2].replace("\\\n", " ").split())
            if word in ("if", "ifdef", "ifndef"):
                shape = {"if": "{}", "ifdef": "defined({})", "ifndef": "!defined({})"}[word]
                stack.append([shape.format(condition)])
            elif word == "elif" and stack:
                stack[-1].append(condition)
            elif word == "else" and stack:
                stack[-1].append("")
            elif word == "endif" and stack:
                stack.pop()
            found.append((self.line(match.end()) + 1, tuple(_arm(tried) for tried in stack)))
        return found

    @cached_property
    def include_guard(self) -> str | None:
        """The condition of the file's own include guard, "!defined(X)", where it has one."""
        match = _DIRECTIVE.search(self.code)
        if match is None or match[1] != "ifndef" or self.code[: match.start()].strip():
            return None
        name = match[2].strip()
        defined = re.compile(rf"\s*#[ \t]*define[ \t]+{re.escape(name)}\b")
        return f"!defined({name})" if name and defined.match(self.code, match.end()) else None

    def guards(self, line: int) -> tuple[str, ...]:
        """The conditions around `line`, outermost first, the include guard left out."""
        at = bisect_right(self._arms, line, key=lambda arm: arm[0]) - 1
        arms = self._arms[max(at, 0)][1]
        return arms[1:] if arms and arms[0] == self.include_guard else arms


def _arm(tried: list[str]) -> str:
    """The condition of the last arm, given those of the arms before it."""
    *before, last = tried
    parts = [f"!({one})" for one in before] + ([last] if last else [])
    return " && ".join(parts)
