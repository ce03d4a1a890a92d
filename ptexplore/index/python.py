"""Python source -> symbols and references, with tree-sitter: definitions, assignments, calls, imports, operators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from ptexplore.model.symbols import Ref, RefKind, Symbol, SymbolKind

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, QueryCursor

_QUERY = """
(function_definition) @function
(class_definition) @class
(assignment left: [(identifier) (pattern_list) (tuple_pattern)] @assigned)
(type_alias_statement . (type) @alias)
(call function: [(identifier) (attribute)] @call)
(decorator) @decorator
(import_statement) @import
(import_from_statement) @import
"""
_OPERATOR = re.compile(rb"\b(?:torch\s*\.\s*ops\s*\.\s*(\w+)|(?<!\.)(aten|prims))\s*\.\s*(\w+)(?:\s*\.\s*(\w+))?")
# The beginning of an operator, as literal letters: a search for these is twenty times faster than one for `\b`.
_BEGINNINGS = [re.compile(begin) for begin in (rb"torch\s*\.\s*ops\s*\.", rb"aten\s*\.", rb"prims\s*\.")]
_SPACE = re.compile(rb"\s+")
_DOTTED_END = re.compile(rb"[\w.]*\Z")
_PLAIN = re.compile(rb"[\w.]*").fullmatch  # text that `dotted` leaves unchanged
_CHAIN = re.compile(rb"[^\W\d]\w*(?:\s*\.\s*\w+)+")
_NOT_CODE = frozenset({"comment", "string_content", "string", "string_start", "string_end", "escape_sequence"})
_PLACE = itemgetter(1, 2, 3, 4)  # line, name, text, kind
_LONGEST = 400  # greatest length of a signature, in characters


@cache
def _tools() -> tuple[Parser, QueryCursor]:
    """Returns the parser and the query for its trees, made once in a process."""
    import tree_sitter_python
    from tree_sitter import Language, Parser, Query, QueryCursor

    language = Language(tree_sitter_python.language())
    return Parser(language), QueryCursor(Query(language, _QUERY))


def extract(path: str, raw: str) -> tuple[list[Symbol], list[Ref], list[str]]:
    """Returns the symbols, references and problems of one Python file.

    The module is a "namespace" that spans the file. Qualified names are dotted, from the root of the repository
    ("torch.nn.functional.conv2d"). Inside a function, `scope` contains "<locals>", like Python's `__qualname__`. Names
    bound inside functions are left out. A use of an operator ("torch.ops.aten.add.Tensor") also counts as a use of its
    name without the overload ("add").
    """
    source = raw.encode("utf-8", "replace")
    parser, cursor = _tools()
    tree = parser.parse(source)
    reader = _Reader(path, source)
    captured = cursor.captures(tree.root_node)
    reader.definitions(captured)
    reader.calls(captured.get("call", ()))
    for node in captured.get("decorator", ()):
        reader.decorator(node)
    for node in captured.get("import", ()):
        reader.imports(node)
    reader.operators(tree.root_node)
    problems = [f"line {_error_line(tree.root_node)}: not valid Python"] if tree.root_node.has_error else []
    reader.refs.sort(key=_PLACE)  # captures are not sorted
    return reader.symbols, reader.refs, problems


def module_name(path: str) -> str:
    """Returns the dotted name of a file: "torch/nn/__init__.py" is "torch.nn"."""
    stem = path.rsplit(".", 1)[0]
    return stem.removesuffix("/__init__").replace("/", ".")


class _Open(NamedTuple):
    """A definition whose body is being read."""

    end: int
    qualified: str
    scope: str  # the scope of names inside it
    function: bool


@dataclass
class _Reader:
    path: str
    source: bytes
    symbols: list[Symbol] = field(default_factory=list)
    refs: list[Ref] = field(default_factory=list)

    def text(self, node: Node) -> bytes:
        return self.source[node.start_byte : node.end_byte]

    # --- symbols ---

    def definitions(self, captured: dict[str, list[Node]]) -> None:
        """Adds the module and every definition in it, in classes and in functions, in the order of the text."""
        module = module_name(self.path)
        lines = self.source.count(b"\n") + (not self.source.endswith(b"\n"))
        last = module.rsplit(".", 1)[-1]
        outer = module[: -len(last)].removesuffix(".")
        self.symbols.append(Symbol(self.path, last, module, "namespace", 1, max(lines, 1), 1, scope=outer))
        order = [(node.start_byte, kind, node) for kind in ("class", "function", "assigned", "alias") for node in
                 captured.get(kind, ())]  # fmt: skip
        order.sort(key=lambda item: item[0])
        stack = [_Open(len(self.source) + 1, module, module, function=False)]
        for start, kind, node in order:
            while stack[-1].end <= start:
                stack.pop()
            inside = stack[-1]
            if kind in ("class", "function"):
                stack.append(self.definition(node, inside, is_function=kind == "function"))
            elif not inside.function:
                is_class = len(stack) > 1
                self.assignment(node, inside, "typedef" if kind == "alias" else "member" if is_class else "variable")

    def definition(self, node: Node, inside: _Open, *, is_function: bool) -> _Open:
        """Adds a class or function. Returns the scope for the definitions inside."""
        named = node.child_by_field_name("name")
        if named is None:
            return _Open(node.start_byte, "", "", function=True)
        name = self.text(named).decode("utf-8", "replace")
        parent = node.parent
        decorated = parent if parent is not None and parent.type == "decorated_definition" else node
        qualified = f"{inside.qualified}.{name}"
        bases = None if is_function else node.child_by_field_name("superclasses")
        for base in bases.named_children if bases is not None else ():
            if base.type in ("identifier", "attribute"):
                self.ref(base.end_point[0] + 1, self.dotted(base), "inherit")
        self.symbols.append(
            Symbol(
                self.path,
                name,
                qualified,
                "function" if is_function else "class",
                named.start_point[0] + 1,
                node.end_point[0] + 1,
                decorated.start_point[0] + 1,
                scope=inside.scope,
                signature=self.signature(node) if is_function else "",
            )
        )
        within = f"{inside.scope}.{name}.<locals>" if is_function else f"{inside.scope}.{name}"
        return _Open(node.end_byte, qualified, within, is_function)

    def signature(self, node: Node) -> str:
        """Returns the parameter list as written, on one line, with the return type."""
        parameters, result = node.child_by_field_name("parameters"), node.child_by_field_name("return_type")
        text = self.text(parameters) if parameters is not None else b""
        if parameters is not None and b"#" in text:
            for comment in reversed([child for child in parameters.children if child.type == "comment"]):
                start, end = comment.start_byte - parameters.start_byte, comment.end_byte - parameters.start_byte
                text = text[:start] + text[end:]
        if b"\n" in text:
            text = (
                _SPACE.sub(b" ", text)
                .replace(b"( ", b"(")
                .replace(b", )", b")")
                .replace(b",)", b")")
                .replace(b" )", b")")
            )
        if result is not None:
            text += b" -> " + _SPACE.sub(b" ", self.text(result))
        signature = text.decode("utf-8", "replace")
        return signature if len(signature) <= _LONGEST else f"{signature[: _LONGEST - 1]}…"

    def assignment(self, node: Node, inside: _Open, kind: SymbolKind) -> None:
        """Adds each name on the left side of an assignment at module or class level."""
        statement = node.parent or node
        for target in self.targets(node):
            name = self.text(target).decode("utf-8", "replace")
            self.symbols.append(
                Symbol(
                    self.path,
                    name,
                    f"{inside.qualified}.{name}",
                    kind,
                    target.start_point[0] + 1,
                    statement.end_point[0] + 1,
                    statement.start_point[0] + 1,
                    scope=inside.scope,
                )
            )

    def targets(self, node: Node) -> Iterator[Node]:
        if node.type == "identifier":
            yield node
        elif node.type in ("pattern_list", "tuple_pattern", "type"):
            for child in node.named_children:
                yield from self.targets(child)

    # --- references ---

    def ref(self, line: int, text: bytes, kind: RefKind, name: bytes | None = None) -> None:
        """Adds a reference. Its name is the last part of `text`, unless given."""
        last = (name or text.rsplit(b".", 1)[-1]).decode("utf-8", "replace")
        if last:
            self.refs.append(Ref(self.path, line, last, text.decode("utf-8", "replace"), kind))

    def dotted(self, node: Node) -> bytes:
        """Returns a name or attribute chain without spaces.

        For a call on an expression, returns the chain behind it.
        """
        text = self.text(node)
        if node.type == "identifier":
            return text
        text = _SPACE.sub(b"", text)
        plain = _DOTTED_END.search(text)
        return plain[0] if plain else text

    def calls(self, nodes: Iterable[Node]) -> None:
        """Adds every call, at the line of the called name."""
        path, source, add = self.path, self.source, self.refs.append
        for node in nodes:  # the most frequent references: `ref` and `dotted` are inlined
            text = source[node.start_byte : node.end_byte]
            if not _PLAIN(text):
                text = self.dotted(node)
            written = text.decode("utf-8", "replace")
            name = written[written.rfind(".") + 1 :]
            if name:
                add(Ref(path, node.end_point[0] + 1, name, written, "call"))

    def decorator(self, node: Node) -> None:
        """Adds a decorator as a call. Dotted names in its arguments become references, too."""
        inner = node.named_children[0] if node.named_children else None
        if inner is None:
            return
        if inner.type in ("identifier", "attribute"):
            self.ref(inner.end_point[0] + 1, self.dotted(inner), "call")
        arguments = inner.child_by_field_name("arguments") if inner.type == "call" else None
        if arguments is not None:
            for match in _CHAIN.finditer(self.source, arguments.start_byte, arguments.end_byte):
                if self.is_code(arguments, match):
                    line = arguments.start_point[0] + 1
                    line += self.source.count(b"\n", arguments.start_byte, match.end())
                    self.ref(line, _SPACE.sub(b"", match[0]), "address")

    def imports(self, node: Node) -> None:
        """Adds each imported module or name, with its full dotted name."""
        module = node.child_by_field_name("module_name")
        prefix = self.text(module) if module is not None else b""
        joint = b"" if prefix.endswith(b".") or not prefix else b"."
        names = node.children_by_field_name("name")
        for child in names:
            named = child.child_by_field_name("name") if child.type == "aliased_import" else child
            if named is not None:
                self.ref(named.start_point[0] + 1, prefix + joint + _SPACE.sub(b"", self.text(named)), "import")
        if not names and module is not None:
            self.ref(module.start_point[0] + 1, prefix, "import")

    def operators(self, root: Node) -> None:
        """Adds every use of an operator by its name: "add" for torch.ops.aten.add.Tensor and aten.add.Tensor."""
        line, at = 1, 0
        for match in _operators(self.source):
            line += self.source.count(b"\n", at, match.end(3))
            at = match.end(3)
            operator, overload = match[3], match[4]
            called = overload or operator
            if not self.is_code(root, match):
                continue
            text = _SPACE.sub(b"", match[0])
            is_called = self.source[match.end() : match.end() + 1] == b"("
            if not is_called or called != operator:
                self.ref(line, text, "call" if is_called else "address", operator)

    def is_code(self, node: Node, match: re.Match[bytes]) -> bool:
        """Whether a match is neither in a comment nor in a string."""
        inside = node.descendant_for_byte_range(match.start(), match.start() + 1)
        return inside is not None and inside.type not in _NOT_CODE


def _operators(source: bytes) -> Iterator[re.Match[bytes]]:
    """Yields the matches of _OPERATOR."""
    starts = [match.start() for beginning in _BEGINNINGS for match in beginning.finditer(source)]
    at = 0
    for start in sorted(starts):
        match = _OPERATOR.match(source, start) if start >= at else None
        if match is not None:
            at = match.end()
            yield match


def _error_line(root: Node) -> int:
    """Returns the line of the first syntax error."""
    node = root
    while True:
        broken = next((child for child in node.children if child.is_error or child.is_missing or child.has_error), None)
        if broken is None or broken.is_error or broken.is_missing:
            return (broken or node).start_point[0] + 1
        node = broken
