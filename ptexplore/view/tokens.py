"""The kinds of words in a source text (comment, string, keyword, …), line by line. Used for colours, never for claims.

tree-sitter parses C++ and Python once, and continues after text that it cannot read. Afterwards, only the asked lines
are searched. YAML is read line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from ptexplore.cpp.text import COMMENT_OR_STRING
from ptexplore.index.budgets import too_deep

if TYPE_CHECKING:
    from tree_sitter import Node


Kind = Literal["comment", "string", "number", "keyword", "type", "function", "preproc", "decorator", "tag", "member"]
Span = tuple[int, int, Kind]  # first character and end of the span, 0-based, in one line

CPP_WORDS = """alignas alignof break case catch class co_await co_return co_yield concept const consteval constexpr
    constinit continue decltype default delete do else enum explicit extern final for friend goto if inline mutable
    namespace new noexcept operator override private protected public requires return sizeof static static_assert
    struct switch template thread_local throw try typedef typename union using virtual volatile while"""
_CPP = """
(comment) @comment
[(string_literal) (raw_string_literal) (char_literal) (system_lib_string)] @string
(number_literal) @number
[(type_identifier) (primitive_type) (sized_type_specifier) (auto)] @type
[(true) (false) (null) (this)] @keyword
(function_declarator declarator: [(identifier) (field_identifier) (destructor_name)] @function)
(function_declarator declarator: (qualified_identifier name: (identifier) @function))
(call_expression function: (identifier) @function)
(call_expression function: (field_expression field: (field_identifier) @function))
(call_expression function: (qualified_identifier name: (identifier) @function))
(field_identifier) @member
((identifier) @member (#match? @member "^[a-z][A-Za-z0-9_]*_$"))
[(preproc_directive) "#include" "#define" "#if" "#ifdef" "#ifndef" "#else" "#elif" "#endif"] @preproc
"""
PYTHON_WORDS = """and as assert async await break class continue def del elif else except finally for from global if
    import in is lambda nonlocal not or pass raise return try while with yield"""
_PYTHON = """
(comment) @comment
[(string_start) (string_content) (string_end)] @string
[(integer) (float)] @number
[(true) (false) (none)] @keyword
(decorator "@" @decorator)
(decorator (identifier) @decorator)
(decorator (attribute) @decorator)
(decorator (call function: (_) @decorator))
(function_definition name: (identifier) @function)
(class_definition name: (identifier) @type)
(type (identifier) @type)
(call function: (identifier) @function)
(call function: (attribute attribute: (identifier) @function))
(attribute attribute: (identifier) @member)
"""
# Which kind wins if two have the same words. Kinds not listed come after these, and `member` after all.
_RANK: Mapping[str, int] = {
    "comment": 0, "string": 1, "decorator": 2, "number": 3, "preproc": 4, "keyword": 5, "member": 10
}  # fmt: skip
_YAML = re.compile(
    r"""(?P<comment>(?:^|(?<=\s))\#.*)|(?P<tag>^\s*(?:-\s+)*[A-Za-z_][\w. ,-]*(?=:(?:\s|$)))
    |(?P<string>"(?:[^"\\]|\\.)*"|(?<![\w)])'(?:[^']|'')*')|(?P<keyword>\b(?:True|False|true|false|null)\b)
    |(?P<number>(?<![\w.])-?\d+(?:\.\d+)?\b(?!\.))""",
    re.VERBOSE,
)


class Tokens:
    """The words of one text. Making it parses the text (60 ms for 10,000 lines); a query for some lines is cheap."""

    def __init__(self, text: str, language: str) -> None:
        self._lines = text.split("\n")
        self._grammar = _grammar(language)
        self._yaml = language == "yaml"
        self._root: Node | None = None
        data = text.encode("utf-8", "replace") if self._grammar is not None else b""
        if self._grammar is not None and not too_deep(data):
            # A lone surrogate, which a broken file may contain, becomes "?": one character for one.
            self._root = self._grammar[0].parse(data).root_node

    def spans(self, first: int, last: int) -> list[list[Span]]:
        """Returns the spans of each line from `first` to `last` (1-based, both included, lines that exist), in order.

        A language other than "cpp", "python" or "yaml" has no spans.
        """
        lines = self._lines[first - 1 : last]
        if self._yaml:
            return [list(_yaml_spans(line)) for line in lines]
        if self._root is None or self._grammar is None or not lines:
            return [[] for _line in lines]
        from tree_sitter import QueryCursor

        cursor = QueryCursor(self._grammar[1])
        cursor.set_point_range((first - 1, 0), (first - 1 + len(lines), 0))
        spans: list[list[Span]] = [[] for _line in lines]
        for kind, nodes in cursor.captures(self._root).items():
            for node in nodes:
                _lay(spans, lines, first - 1, node, kind)  # type: ignore[arg-type]
        return [_apart(of_line) if len(of_line) > 1 else of_line for of_line in spans]


@lru_cache(maxsize=4)
def _grammar(language: str) -> tuple[Any, Any] | None:
    """Returns the parser and the query of a language. They are made once in a process."""
    if language not in ("cpp", "python"):
        return None
    import tree_sitter

    if language == "cpp":
        import tree_sitter_cpp

        grammar, query, words = tree_sitter.Language(tree_sitter_cpp.language()), _CPP, CPP_WORDS
    else:
        import tree_sitter_python

        grammar, query, words = tree_sitter.Language(tree_sitter_python.language()), _PYTHON, PYTHON_WORDS
    every = " ".join(f'"{word}"' for word in words.split())
    return tree_sitter.Parser(grammar), tree_sitter.Query(grammar, f"{query}\n[{every}] @keyword")


def _lay(spans: Sequence[list[Span]], lines: Sequence[str], offset: int, node: Node, kind: Kind) -> None:
    """Adds a node to the lines that it covers. Converts the parser's byte offsets to characters."""
    (row, start), (end_row, end) = node.start_point, node.end_point
    for at in range(max(row, offset), min(end_row, offset + len(lines) - 1) + 1):
        line = lines[at - offset]
        begin, stop = start if at == row else 0, end if at == end_row else -1
        if not line.isascii():
            begin, stop = _characters(line, begin), _characters(line, stop)
        stop = len(line) if stop < 0 else stop
        if begin < stop:
            spans[at - offset].append((begin, stop, kind))


def _characters(line: str, byte: int) -> int:
    """Returns the number of characters in the first `byte` bytes of a line."""
    return len(line.encode("utf-8", "replace")[:byte].decode("utf-8", "ignore")) if byte > 0 else byte


def _apart(spans: Iterable[Span]) -> list[Span]:
    """Returns the spans in order without overlaps: the span that begins first, and of these the longest, wins."""
    apart: list[Span] = []
    end = 0
    for begin, stop, kind in sorted(spans, key=lambda span: (span[0], -span[1], _RANK.get(span[2], 9))):
        if begin >= end:
            apart.append((begin, stop, kind))
            end = stop
    return apart


def _yaml_spans(line: str) -> Iterator[Span]:
    for match in _YAML.finditer(line):
        begin, end = match.span()
        if match.lastgroup == "tag":
            begin += len(match[0]) - len(match[0].lstrip(" -"))
        yield begin, end, match.lastgroup  # type: ignore[misc]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Some lines of a file, from line `first` on. `before` and `after` are lines around it that a highlighter needs."""

    first: int
    lines: tuple[str, ...]
    language: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


LONGEST = 1_000_000  # characters above a stretch that are searched
FURTHER = 200  # lines below it that are searched
_PYTHON_REGIONS = re.compile(
    r"#[^\n]*|\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL
)


def surroundings(lines: Sequence[str], first: int, last: int, language: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the lines above `first` and below `last` (1-based) that a highlighter needs to colour the lines between.

    These lines belong to a comment or string that crosses an edge. Without such a comment or string, there are none.
    """
    pattern = {"cpp": COMMENT_OR_STRING, "python": _PYTHON_REGIONS}.get(language)
    before = sum(map(len, lines[: first - 1])) + first - 1  # characters
    if pattern is None or before > LONGEST:
        return (), ()
    end_at = before + sum(map(len, lines[first - 1 : last])) + last - first + 1
    text = "\n".join(lines[: last + FURTHER])
    begin, end = first, last
    for match in pattern.finditer(text):
        if match.start() >= end_at:
            break
        if match.start() < before < match.end():
            begin = text.count("\n", 0, match.start()) + 1
        if match.start() < end_at < match.end():
            end = text.count("\n", 0, match.end()) + 1
    return tuple(lines[begin - 1 : first - 1]), tuple(lines[last:end])
