"""Find the definitions of a C++ file by its braces: functions, classes, arrays and registration blocks, with scopes.

Exact for the C++ that torchgen writes and for PyTorch's headers: strings, comments and both arms of an
`#if` are followed, nothing is expanded. What cannot be told apart is left to the caller as several results.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ptexplore.index import heads

Kind = Literal["function", "class", "array", "block", "declaration"]

_TOKEN = re.compile(
    r'[{};]|"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|#(?:\\\n|[^\n])*|\'(?:[^\'\\\n]|\\[^\n]{1,3})\'', re.DOTALL
)
_BODY_TOKEN = re.compile(
    r'[{}]|"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|#(?:\\\n|[^\n])*|\'(?:[^\'\\\n]|\\[^\n]{1,3})\'', re.DOTALL
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
        plain = heads.plain(heads.without_noise(self._head(semicolon)))
        name = heads.function(plain)
        if name is not None and "=" not in plain[: name[1]] and plain[: name[1]].strip():
            at = self.statement + name[1]
            self._add("declaration", name[0], at, at, semicolon, plain)

    def _head(self, brace: int) -> str:
        return self.text[self.statement : brace]

    def _opened(self, brace: int) -> int:
        """Handle an opening brace outside function bodies; the offset to go on from."""
        head = heads.without_noise(self._head(brace)).rstrip()
        namespace = heads.namespace(head)
        if namespace is not None:
            self.scopes.append(namespace)
            self.stack.append("namespace")
            self.statement = brace + 1
            return brace + 1
        readers: tuple[tuple[Kind, Callable[[str], heads.Named | None]], ...] = (
            ("block", heads.block),
            ("array", heads.array),
            ("function", heads.macro_function),
        )
        for kind, reader in readers:
            named = reader(head)
            if named is not None:
                return self._body(brace, kind, named, head)
        return self._opened_plainly(brace, head)

    def _opened_plainly(self, brace: int, head: str) -> int:
        """Functions and classes; whatever else has braces is passed over."""
        plain = heads.plain(head)
        if heads.goes_on(plain):
            return self._skip(brace) + 1
        function = heads.function(plain)
        if function is not None:
            return self._body(brace, "function", function, head)
        klass = heads.klass(plain)
        if klass is not None:
            return self._opened_class(brace, head, *klass)
        self.statement = self._skip(brace) + 1
        return self.statement

    def _opened_class(self, brace: int, head: str, name: str, at: int) -> int:
        self.scopes.append(name)
        self.stack.append("class")
        self.open_class.append((name, brace, head, self.statement + at))
        self.statement = brace + 1
        return brace + 1

    def _body(self, brace: int, kind: Kind, named: heads.Named, head: str) -> int:
        closing = self._skip(brace)
        self._add(kind, named[0], self.statement + named[1], brace, closing, head)
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
        depth = 0
        saved: list[int] = []
        for match in _BODY_TOKEN.finditer(self.text, brace):
            token = match[0]
            first = token[0]
            if first == "{":
                depth += 1
            elif first == "}":
                depth -= 1
                if depth == 0:
                    return match.start()
            elif first == "#":
                word = token[1:].lstrip()
                if word.startswith("if"):
                    saved.append(depth)
                elif word.startswith("el") and saved:
                    depth = saved[-1]
                elif word.startswith("endif") and saved:
                    saved.pop()
        return len(self.text)

    def _directive(self, text: str, at: int) -> None:
        word = text[1:].lstrip()
        if word.startswith("if"):
            self.arms.append(heads.one_line(text))
        elif word.startswith("el"):
            if self.arms:
                self.arms[-1] = f"{heads.one_line(text)} of {self.arms[-1].split(' of ')[-1]}"
        elif word.startswith("endif") and self.arms:
            self.arms.pop()
        if not self._head(at).strip():
            self.statement = at + len(text)
