"""Find the definitions of a C++ file by its braces: functions, classes, arrays and registration blocks, with scopes.

Exact for the C++ that torchgen writes and for PyTorch's headers: strings, comments and both arms of an
`#if` are followed, nothing is expanded. What cannot be told apart is left to the caller as several results.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Kind = Literal["function", "class", "array", "block", "declaration"]

_TOKEN = re.compile(
    r'[{};]|"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|#(?:\\\n|[^\n])*|\'(?:[^\'\\\n]|\\[^\n]{1,3})\'', re.DOTALL
)
_BODY_TOKEN = re.compile(
    r'[{}]|"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|#(?:\\\n|[^\n])*|\'(?:[^\'\\\n]|\\[^\n]{1,3})\'', re.DOTALL
)
_NAMESPACE = re.compile(r"\b(?:inline\s+)?namespace\b\s*((?:\w+(?:::(?:inline\s+)?\w+)*)?)\s*$")
_CLASS = re.compile(
    r"\b(?:struct|class|union)\s+(?:(?:[A-Z][A-Z0-9_]*|alignas\([^)]*\))\s+)*(?!final\b)(\w+)\s*(?:final\s*)?(?::(?!:).*)?$",
    re.DOTALL,
)
_ENUM = re.compile(r"\benum\b")
_ARRAY = re.compile(r"\b(\w+)\s*\[\s*\w*\s*\]\s*=\s*$")
_BLOCK = re.compile(r"(?:^|\s)(TORCH_LIBRARY(?:_IMPL|_FRAGMENT)?)\s*\(([^()]*)\)\s*$")
_LONE_MACRO = re.compile(r"^[ \t]*[A-Z][A-Z0-9_]*\([^()\n]*\)[ \t]*\n(?=\s*\S)", re.MULTILINE)
_MACRO_FUNCTION = re.compile(r"(?:^|\s)(TORCH_IMPL_FUNC|TORCH_META_FUNC2?|TORCH_PRECOMPUTE_META_FUNC2?)\s*\(([^()]*)\)")
_NAME_BEFORE_PAREN = re.compile(
    r"((?:~?\w+\s*(?:<[^<>]*>)?\s*::\s*)*(?:operator\s*[^\s\w(]{1,3}|operator\s*\(\s*\)|~?\w+))\s*\("
)
_MEMBER_INITIALIZER = re.compile(r"\)\s*:(?!:)(?:.*,)?\s*\w+$", re.DOTALL)
_NOT_A_NAME = frozenset(
    {"if", "for", "while", "switch", "catch", "return", "decltype", "noexcept", "alignas", "sizeof", "static_assert"}
)


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition: `name` as written in its declarator, `scope` the namespaces and classes around it.

    `line` is the line of the name in its declarator (for a block, of the macro), `end` that of the closing
    brace; `start` and `stop` are the offsets of the text between the braces, `head` what stands before them.
    `arms` are the conditional directives around it, outermost first.
    """

    kind: Kind
    name: str
    scope: tuple[str, ...]
    line: int
    end: int
    start: int
    stop: int
    head: str
    arms: tuple[str, ...] = ()

    @property
    def qualified(self) -> str:
        """The name with its scopes; anonymous namespaces leave no trace, as in PyTorch's own messages."""
        return "::".join([*(part for part in self.scope if part), self.name])


class ScannedFile:
    """One file's text and its definitions."""

    def __init__(self, path: str, text: str, *, declarations: bool = False) -> None:
        self.path = path
        self.text = text
        self.declarations = declarations

    @cached_property
    def definitions(self) -> list[Definition]:
        """Every definition outside function bodies, in order; function declarations too where asked for."""
        return _Scanner(self).run()

    @cached_property
    def by_name(self) -> dict[str, list[Definition]]:
        """Definitions by the last part of their name."""
        found: dict[str, list[Definition]] = {}
        for definition in self.definitions:
            found.setdefault(definition.name.rsplit("::", 1)[-1], []).append(definition)
        return found

    @cached_property
    def _newlines(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]

    def line_of(self, offset: int) -> int:
        """The 1-based line of an offset."""
        return bisect_right(self._newlines, offset - 1) + 1

    def body(self, definition: Definition) -> str:
        """The text between the braces of `definition`."""
        return self.text[definition.start : definition.stop]


class _Scanner:
    """One pass over the tokens; keeps the stack of open namespaces and classes."""

    def __init__(self, file: ScannedFile) -> None:
        self.file = file
        self.text = file.text
        self.scopes: list[str] = []
        self.open_class: list[tuple[str, int, str, int]] = []
        self.stack: list[Literal["namespace", "class", "other"]] = []
        self.arms: list[str] = []
        self.saved: list[tuple[int, int]] = []
        self.found: list[Definition] = []
        self.statement = 0

    def run(self) -> list[Definition]:
        position, end = 0, len(self.text)
        while position < end:
            match = _TOKEN.search(self.text, position)
            if match is None:
                break
            position = match.end()
            first = match[0][0]
            if first == "{":
                position = self._opened(match.start())
            elif first == "}":
                self._closed(match.start())
                self.statement = position
            elif first == ";":
                if self.file.declarations:
                    self._declared(match.start())
                self.statement = position
            elif first == "#":
                self._directive(match[0], match.start())
        return self.found

    def _declared(self, semicolon: int) -> None:
        """A function declaration: a name before a parenthesis, in a namespace or class, without `=` before it."""
        plain = _blank(_LONE_MACRO, _blank_templates(_without_noise(self._head(semicolon))))
        name = _declarator(plain) if "(" in plain else None
        if name is not None and "=" not in plain[: name[1]] and plain[: name[1]].strip():
            at = self.statement + name[1]
            self._add("declaration", re.sub(r"\s+", "", name[0]), at, at, semicolon, plain)

    def _head(self, brace: int) -> str:
        return self.text[self.statement : brace]

    def _opened(self, brace: int) -> int:
        """Handle an opening brace outside function bodies; the offset to go on from."""
        head = _without_noise(self._head(brace))
        stripped = head.rstrip()
        namespace = _NAMESPACE.search(stripped)
        if namespace:
            parts = re.split(r"::(?:inline\s+)?", namespace[1]) if namespace[1] else [""]
            self.scopes.append("::".join(parts))
            self.stack.append("namespace")
        elif 'extern "C"' in head and "(" not in head:
            self.scopes.append("")
            self.stack.append("namespace")
        else:
            return self._opened_definition(brace, head, stripped)
        self.statement = brace + 1
        return brace + 1

    def _opened_definition(self, brace: int, head: str, stripped: str) -> int:
        block = _BLOCK.search(stripped)
        if block:
            return self._body(brace, "block", f"{block[1]}({block[2]})", self.statement + block.start(1), head)
        macro = _MACRO_FUNCTION.search(stripped)
        if macro:
            return self._body(brace, "function", f"{macro[1]}({macro[2]})", self.statement + macro.start(2), head)
        array = _ARRAY.search(stripped)
        if array:
            return self._body(brace, "array", array[1], self.statement + array.start(1), head)
        plain = _blank(_LONE_MACRO, _blank_templates(stripped))
        if plain.count("(") > plain.count(")") or _MEMBER_INITIALIZER.search(plain):
            return self._skip(brace) + 1  # a default argument or a member's initial value: the declarator goes on
        if "(" in plain and not stripped.endswith("="):
            name = _declarator(plain)
            if name is not None:
                return self._body(brace, "function", re.sub(r"\s+", "", name[0]), self.statement + name[1], head)
        klass = _CLASS.search(plain)
        if klass and not _ENUM.search(plain):
            self.scopes.append(klass[1])
            self.stack.append("class")
            self.open_class.append((klass[1], brace, head, self.statement + klass.start(1)))
            self.statement = brace + 1
            return brace + 1
        closing = self._skip(brace)
        self.statement = closing + 1
        return closing + 1

    def _body(self, brace: int, kind: Kind, name: str, at: int, head: str) -> int:
        closing = self._skip(brace)
        self._add(kind, name, at, brace, closing, head)
        self.statement = closing + 1
        return closing + 1

    def _add(self, kind: Kind, name: str, at: int, brace: int, closing: int, head: str) -> None:
        line_of = self.file.line_of
        self.found.append(
            Definition(
                kind,
                name,
                tuple(self.scopes),
                line_of(at),
                line_of(closing),
                brace + 1,
                closing,
                head.strip(),
                tuple(self.arms),
            )
        )

    def _closed(self, brace: int) -> None:
        if not self.stack:
            return
        kind = self.stack.pop()
        self.scopes.pop()
        if kind == "class":
            name, opened, head, at = self.open_class.pop()
            self._add("class", name, at, opened, brace, head)

    def _skip(self, brace: int) -> int:
        """The offset of the brace that closes the one at `brace`; of two `#if` arms the first counts."""
        depth, position = 0, brace
        saved: list[int] = []
        while True:
            match = _BODY_TOKEN.search(self.text, position)
            if match is None:
                return len(self.text)
            position = match.end()
            first = match[0][0]
            if first == "{":
                depth += 1
            elif first == "}":
                depth -= 1
                if depth == 0:
                    return match.start()
            elif first == "#":
                word = match[0][1:].lstrip()
                if word.startswith("if"):
                    saved.append(depth)
                elif word.startswith("el") and saved:
                    depth = saved[-1]
                elif word.startswith("endif") and saved:
                    saved.pop()

    def _directive(self, text: str, at: int) -> None:
        word = text[1:].lstrip()
        if word.startswith("if"):
            self.arms.append(_one_line(text))
        elif word.startswith("el"):
            if self.arms:
                self.arms[-1] = f"{_one_line(text)} of {self.arms[-1].split(' of ')[-1]}"
        elif word.startswith("endif") and self.arms:
            self.arms.pop()
        if not self._head(at).strip():
            self.statement = at + len(text)


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("\\\n", " ")).strip()


_ATTRIBUTE = re.compile(r"\[\[[^\]]*\]\]")
_NOISE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|^[ \t]*#(?:\\\n|[^\n])*', re.DOTALL | re.MULTILINE)


def _without_noise(head: str) -> str:
    """`head` with comments and directives blanked to spaces of equal length, so that offsets stay."""
    if "/" not in head and "#" not in head:
        return head
    return _NOISE.sub(lambda match: match[0] if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0]), head)


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """`text` with what `pattern` matches turned to spaces of equal length."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _blank_templates(head: str) -> str:
    """`head` without `template <…>` and attributes, blanked to spaces of equal length."""
    if "template" not in head and "[[" not in head:
        return head
    head = _blank(_ATTRIBUTE, head)
    match = re.search(r"\btemplate\s*<", head)
    while match:
        depth, position = 1, match.end()
        while depth and position < len(head):
            depth += {"<": 1, ">": -1}.get(head[position], 0)
            position += 1
        head = head[: match.start()] + re.sub(r"[^\n]", " ", head[match.start() : position]) + head[position:]
        match = re.search(r"\btemplate\s*<", head)
    return head


def _declarator(head: str) -> tuple[str, int] | None:
    """The function's name in `head` and its offset: the name before the first parenthesis outside < >."""
    depth = 0
    for match in re.finditer(r"[<>(]", head):
        character, at = match[0], match.start()
        if character == "<":
            depth += 1
        elif character == ">":
            if at and head[at - 1] != "-":
                depth = max(0, depth - 1)
        elif depth == 0:
            names = list(_NAME_BEFORE_PAREN.finditer(head, 0, at + 1))
            if not names or names[-1].end() != at + 1:
                return None
            name = names[-1]
            if name[1] in _NOT_A_NAME:
                return None
            return name[1], name.start(1)
    return None
