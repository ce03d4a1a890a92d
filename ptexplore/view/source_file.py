"""A file of a tree as text: its lines, safe to show, their colours, its symbols, and the name at a place."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from ptexplore.safe_text import clean
from ptexplore.view.tokens import Span, Tokens

if TYPE_CHECKING:
    from ptexplore.lookup.trees import IndexedTree
    from ptexplore.model.symbols import Symbol

COLOURED = 8_000_000  # characters; a larger file is shown plain, and so is a file with a line longer than this:
LONGEST = 20_000
_STRETCH = 64  # lines that are coloured together
# Types of C++ itself.
_BUILTIN = {"auto", "bool", "char", "double", "float", "int", "long", "short", "signed", "unsigned", "void", "wchar_t"}
NAME = re.compile(r"[^\W\d]\w*")
_QUALIFIED = re.compile(r"(?:~?[^\W\d]\w*\s*(?:::|\.)\s*)*~?[^\W\d]\w*|(?:::)[^\W\d]\w*")
# A name in a comment or string has no blanks inside. It differs from a plain word by a qualifier, an underscore or a
# capital inside.
_WRITTEN = re.compile(r"(?:[^\W\d]\w*(?:::|\.))*[^\W\d]\w*")
_CODE_LIKE = re.compile(r"::|\w_\w|[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}|\w{2}\.\w{2}")
_INCLUDE = re.compile(r"\s*#\s*(?:include|import)\s*[<\"]([^>\"]+)[>\"]")


class SourceFile:
    """A file of a tree. `raw` are its lines; none if its text is missing."""

    def __init__(self, indexed: IndexedTree, path: str) -> None:
        self.indexed = indexed
        self.path = path
        text = indexed.tree.read(path)
        self.there = text is not None
        self.text = text.text if text is not None else ""
        self.raw = self.text.removesuffix("\n").split("\n") if self.text else []
        self.widest = max(map(len, self.raw), default=0)
        self._tokens: Tokens | None = None
        self._spans: dict[int, list[list[Span]]] = {}
        known = indexed.store.file(path)
        self.language = known.language if known is not None else "text"

    def line(self, number: int, begin: int = 0, end: int | None = None) -> str:
        """Returns line `number` (from 1), or some columns of it. Each control character becomes another one."""
        return clean(self.raw[number - 1][begin:end]) if 0 < number <= len(self.raw) else ""

    def length(self, number: int) -> int:
        """Returns the number of characters in a line."""
        return len(self.raw[number - 1]) if 0 < number <= len(self.raw) else 0

    # --- colours ---

    def parse(self) -> None:
        """Parse the text for its colours. Do this in a thread: a large file takes a moment."""
        if self._tokens is None and len(self.text) <= COLOURED and self.widest <= LONGEST:
            self._tokens = Tokens(self.text, self.language)

    @property
    def parsed(self) -> bool:
        return self._tokens is not None

    def spans(self, number: int) -> list[Span]:
        """Returns the spans of line `number`; none until the text is parsed."""
        if self._tokens is None:
            return []
        stretch, row = divmod(number - 1, _STRETCH)
        if stretch not in self._spans:
            first = stretch * _STRETCH + 1
            self._spans[stretch] = self._tokens.spans(first, first + _STRETCH - 1)
        lines = self._spans[stretch]
        return lines[row] if row < len(lines) else []

    def rest(self) -> None:
        """Drop data that can be made again: another file is shown now."""
        self._tokens = None
        self._spans.clear()

    # --- symbols ---

    @cached_property
    def outline(self) -> list[Symbol]:
        """Every symbol of the file, by line."""
        return self.indexed.store.outline(self.path)

    def around(self, line: int) -> Symbol | None:
        """Returns the innermost definition that contains a line."""
        definitions = (symbol for symbol in self.outline if symbol.role == "definition")
        inside = (symbol for symbol in definitions if symbol.begin <= line <= symbol.end_line)
        return min(inside, key=lambda symbol: (symbol.end_line - symbol.begin, -symbol.line), default=None)

    def beside(self, line: int, step: int) -> int | None:
        """Returns the line of the next (1) or previous (-1) definition."""
        definitions = (symbol for symbol in self.outline if symbol.role == "definition")
        lines = sorted({symbol.line for symbol in definitions if symbol.kind != "namespace"})
        at = bisect_right(lines, line) if step > 0 else bisect_right(lines, line - 1) - 1
        return lines[at] if 0 <= at < len(lines) else None

    # --- words ---

    def word(self, line: int, column: int) -> tuple[int, int] | None:
        """Returns the columns (end exclusive) of the name at or after a column; None if there is none left."""
        return next((m.span() for m in NAME.finditer(self.line(line)) if m.end() > column), None)

    def words(self, line: int) -> list[int]:
        """Returns the columns where names begin."""
        return [match.start() for match in NAME.finditer(self.line(line))]

    def landing(self, line: int) -> int:
        """Returns the column for the cursor on a new line: the name that is defined there, else the first name."""
        defined = {symbol.name.lstrip("~") for symbol in self.outline if symbol.line == line}
        names = list(NAME.finditer(self.line(line)))
        named = next((match.start() for match in names if match[0] in defined), None)
        if named is None:
            _symbol, named = self._made(line)
        return named if named is not None else names[0].start() if names else 0

    def _made(self, line: int) -> tuple[Symbol | None, int | None]:
        """Returns the symbol that a macro makes on a line without its name, and the column of the argument for it.

        In TORCH_IMPL_FUNC(blend_out) this is the column of `blend_out`. Both are None unless there is exactly one such
        symbol.
        """
        made = [symbol for symbol in self.outline if symbol.line == line and symbol.macro is not None]
        if len(made) != 1:
            return None, None
        behind = re.search(rf"\b{re.escape(made[0].macro or '')}\s*\(\s*(?=\w)", self.line(line))
        return made[0], behind.end() if behind is not None else None

    def name(self, line: int, column: int) -> str | None:
        """Returns the name at a place with its qualifier on the left, or the included file.

        A namespace before a name stands for that name: `at` in `at::Tensor`.
        """
        text = self.line(line)
        included = _INCLUDE.match(text)
        if included is not None:
            return included[1]
        word = self.word(line, column)
        if word is None:
            return None
        for match in _QUALIFIED.finditer(text):
            if match.start() <= word[0] < match.end():
                while text.startswith("::", word[1]) and self._is_namespace(text[slice(*word)]):
                    after = self.word(line, word[1])
                    if after is None or after[0] >= match.end():
                        break
                    word = after
                return re.sub(r"\s+", "", text[match.start() : word[1]]).removeprefix("::")
        return text[word[0] : word[1]]

    def is_prose(self, line: int, column: int) -> bool:
        """Whether a column is in a comment or in a string."""
        return any(begin <= column < end and kind in ("comment", "string") for begin, end, kind in self.spans(line))

    def _is_namespace(self, name: str) -> bool:
        """Whether a name belongs to a namespace and to no class."""
        kinds = self.indexed.store.kinds_named(name)
        return "namespace" in kinds and not kinds & {"class", "struct", "union", "enum"}

    def meant(self, line: int, column: int) -> str | None:
        """Returns the name at or after a place; for a symbol's own name, the full qualified name.

        None for a keyword, and for a word in a comment or string that does not look like a name.
        """
        if self.is_keyword(line, column):  # for `struct X` and `const X& x` it is X
            own = self.landing(line)
            names = (at for at in self.words(line) if at > column and not self.is_keyword(line, at))
            column = own if self.defined_at(line, own) is not None else next(names, column)
        symbol = self.defined_at(line, column)
        if symbol is not None:
            return symbol.qualified
        if self.is_keyword(line, column):
            return None
        word = self.word(line, column)
        if word is not None and self.is_prose(line, word[0]) and not _INCLUDE.match(self.line(line)):
            return self._name_in_prose(line, word)
        return self.name(line, column)

    def _name_in_prose(self, line: int, word: tuple[int, int]) -> str | None:
        """Returns the name that a word in a comment or string writes, with its qualifier; None if it is no name."""
        text = self.line(line)
        for match in _WRITTEN.finditer(text):
            if match.start() <= word[0] < match.end():
                called = text.startswith("(", match.end())
                quoted = text[: match.start()].endswith("`") and text.startswith("`", match.end())
                if called or quoted or _CODE_LIKE.search(match[0]):
                    return text[match.start() : word[1]]
        return None

    def is_keyword(self, line: int, column: int) -> bool:
        """Whether the word at or after a column is a keyword of the language."""
        word = self.word(line, column)
        if word is None:
            return False
        kinds = {kind for begin, end, kind in self.spans(line) if begin <= word[0] < end}
        return "keyword" in kinds or ("type" in kinds and self.line(line)[slice(*word)] in _BUILTIN)

    def defined_at(self, line: int, column: int) -> Symbol | None:
        """Returns the symbol whose own name is at a place."""
        word = self.word(line, column)
        name = self.line(line)[slice(*word)] if word is not None else None
        named = next(
            (symbol for symbol in self.outline if symbol.line == line and symbol.name.lstrip("~") == name), None
        )
        made, at = self._made(line) if named is None and word is not None else (None, None)
        return made if word is not None and at == word[0] else named
