"""Reads a C++ syntax tree into symbols: the parser, its query (definitions.scm), and nested scopes."""

from __future__ import annotations

import re
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ptexplore.cpp.names import CAST, name_parts, one_line
from ptexplore.cpp.text import words
from ptexplore.cpp.types import BUILTIN, parameter_types
from ptexplore.lazy import lazy
from ptexplore.model.symbols import Role, Symbol, SymbolKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tree_sitter import Node


_QUERY = Path(__file__).with_name("definitions.scm")
# A regular expression that begins with a word runs ten times faster than one that begins with `^` or `\b`.
_USING = re.compile(r"using(?<![^\n]using)\s+namespace\s+(?:::)?([\w:]+)\s*;")
_TOP = frozenset(("", "at", "c10", "torch", "caffe2", "std", "pybind11"))
_CONVERSION = re.compile(r"(?:\w+(?:<[^<>]*>)?\s*::\s*)*\boperator\s*$")
_INNER = ("reference_declarator", "parenthesized_declarator", "variadic_declarator")


@lru_cache(maxsize=1)
def parser() -> tuple[Any, Any]:
    """Returns the C++ parser and the query for its trees, made once in a process."""
    import tree_sitter
    import tree_sitter_cpp

    language = tree_sitter.Language(tree_sitter_cpp.language())
    return tree_sitter.Parser(language), tree_sitter.Query(language, _QUERY.read_text(encoding="utf-8"))


class OpenScope(NamedTuple):
    """An open scope: where it ends, the prefix for names in it, and its kind."""

    end: int
    kind: str  # "namespace", "class", "enum" or "code"
    qualified: str
    scope: str
    hidden: bool  # inside an anonymous namespace
    placeholder: int = -1  # the offset, in the file, of a placeholder whose macro names the function


ROOT = OpenScope(1 << 62, "namespace", "", "", False)


class Match(NamedTuple):
    """A match of the query: its extent, the name of its pattern, its node, and the node of its name if it has one."""

    start: int
    end: int
    kind: str
    node: Node | None
    name: Node | None = None


def matches(source: bytes) -> tuple[list[Match], bool]:
    """Returns the matches of the query in a text, and whether the parser found errors."""
    import tree_sitter

    made, query = parser()
    root = made.parse(source).root_node
    matched: list[Match] = []
    new = tuple.__new__  # does the same as Match(…), in a third of the time
    for _, captured in tree_sitter.QueryCursor(query).matches(root):
        names = captured.pop("name", None)
        name = names[0] if names else None
        for kind, (node,) in captured.items():
            matched.append(new(Match, (node.start_byte, node.end_byte, kind, node, name)))
    return matched, root.has_error


def descend(declarator: Node) -> tuple[Node, Node | None]:
    """Returns the node of the declared name, and the node of its parameters if it is a function."""
    function: Node | None = None
    node = declarator
    while True:
        kind = node.type
        inner: Node | None
        if kind == "function_declarator":
            function, inner = node, node.child_by_field_name("declarator")
        elif kind == "init_declarator":
            inner = node.child_by_field_name("declarator")
        elif kind in ("pointer_declarator", "array_declarator"):
            function, inner = None, node.child_by_field_name("declarator")
        elif kind in _INNER:
            children = node.named_children
            function = function if kind == "parenthesized_declarator" else None
            inner = children[-1] if children else None
        elif kind == "attributed_declarator":
            inner = node.named_children[0]
        elif kind == "operator_cast":
            return node, _abstract(node)
        elif kind == "qualified_identifier" and function is None:
            last = node.child_by_field_name("name")
            while last is not None and last.type == "qualified_identifier":
                last = last.child_by_field_name("name")
            if last is not None and last.type == "operator_cast":
                return node, _abstract(last)
            return node, None
        else:
            return node, function
        if inner is None:
            return node, function
        node = inner


def _abstract(node: Node) -> Node | None:
    """Returns the parameters of a conversion operator."""
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "abstract_function_declarator":
        children = declarator.named_children
        declarator = declarator.child_by_field_name("declarator") or (children[-1] if children else None)
    return declarator


@lru_cache(maxsize=65536)
def join(outer: str, name: str) -> str:
    """Returns `name` inside `outer`, which may be empty."""
    return f"{outer}::{name}" if outer else name


@lru_cache(maxsize=65536)
def _placed_in(qualified: str, scope: str, parts: tuple[str, ...]) -> tuple[str, str]:
    """Returns the qualified name of `parts`, declared inside `qualified` (as written: `scope`), and its scope."""
    if len(parts) == 1:
        return join(qualified, parts[0]), scope
    if parts[0] == "":
        return "::".join(parts[1:]), "::".join(parts[1:-1])
    written = tuple(part for at, part in enumerate(parts[:-1]) if at == 0 or part != parts[at - 1])
    around = qualified.split("::") if qualified else []
    for length in range(min(len(around), len(written)), 0, -1):  # names an enclosing scope again
        if tuple(around[-length:]) == written[:length] and written[0][0].islower():
            container = "::".join((*around[:-length], *written))
            return f"{container}::{parts[-1]}", container
    if around and tuple(around) == written[: len(around)]:
        return "::".join((*written, parts[-1])), "::".join(written)
    inner = "::".join(written)
    return f"{join(qualified, inner)}::{parts[-1]}", join(scope, inner)


def placed(outer: OpenScope, parts: tuple[str, ...]) -> tuple[str, str]:
    """Returns the qualified name of `parts`, declared in a scope, and its own scope."""
    return _placed_in(outer.qualified, outer.scope, parts)


def end_of_body(node: Node, declarator: Node, function: Node, text: str) -> int:
    """Returns the end of the body of a declared function, 0 if it has none.

    The grammar reads `f() {};` as an initialiser.
    """
    value = declarator.child_by_field_name("value") or node.child_by_field_name("default_value")
    return 0 if value is None or text[function.end_byte : value.start_byte].strip() else value.end_byte


def class_name(named: Node, text: str) -> str:
    """Returns the name of a class. The `>` of a comparison in template arguments does not close them."""
    written = text[named.start_byte : named.end_byte]
    cut_early = text[named.end_byte : named.end_byte + 99].lstrip().startswith(">")
    return written.partition("<")[0] if cut_early or named.type == "template_type" else written


def unnamed(node: Node, text: str, outer: OpenScope) -> OpenScope:
    """Returns the scope of a class without a name: the name of its typedef, else the scope around it."""
    parent = node.parent
    declarator = parent.child_by_field_name("declarator") if parent and parent.type == "type_definition" else None
    if declarator is None or declarator.type != "type_identifier" or outer.kind == "code":
        return OpenScope(0, "class", outer.qualified, outer.scope, outer.hidden)
    name = text[declarator.start_byte : declarator.end_byte]
    qualified, scope = placed(outer, (name,))
    return OpenScope(0, "class", qualified, join(scope, name), outer.hidden)


_KEYWORDS = words("if for while switch return else do catch sizeof decltype new delete throw case")
_SPECIFIERS = {"class_specifier": "class", "struct_specifier": "struct", "union_specifier": "union"}
_INITIALISED = re.compile(rf"\w+\s*\(\s*{CAST}")
_PURE = re.compile(r"\s*=\s*0")
_OPENED = frozenset(("namespace", "class", "struct"))


class Reader:
    """Reads the matches of one text into `symbols`.

    `text` is the parsed text, and offsets refer to it. `in_file` converts an offset to one in the file. `line` returns
    the line of an offset in the file, `guards` the conditions of a line. `shown` is the text of the file that
    signatures are taken from. `marks` are offsets whose scopes the caller needs: after `read`, `framed` holds them.
    """

    def __init__(
        self,
        path: str,
        text: str,
        line: Callable[[int], int],
        guards: Callable[[int], tuple[str, ...]],
        shown: str,
        in_file: Callable[[int], int] = int,
    ) -> None:
        self.path, self.text, self.shown = path, text, shown
        self.line, self.guards, self.in_file = line, guards, in_file
        self.symbols: list[Symbol] = []
        self.offsets: list[int] = []  # of the name of each symbol, in the file
        self.inherited: list[tuple[int, str]] = []
        self._classes: set[str] = set()  # names of classes with a body
        self._opened: set[str] = set()  # qualified names of namespaces, classes and structs
        self._around: OpenScope | None = None  # the namespace around a class
        # the body of a function that the grammar reads as a variable
        self._braced = ROOT._replace(end=0)
        self.framed: dict[int, tuple[OpenScope, ...]] = {}
        self.placeholders: frozenset[int] = frozenset()  # offsets, in the file, of placeholders

    def read(
        self,
        in_text: Sequence[Match],
        base: tuple[OpenScope, ...] = (ROOT,),
        marks: tuple[int, ...] = (),
    ) -> None:
        """Reads all symbols of the matches, in text order, inside the scopes of `base`."""
        stack = [frame._replace(end=ROOT.end) for frame in base]
        begin: int | None = None  # of the template head before the next event
        template_end = friend_end = 0
        events = [*(Match(mark, ROOT.end, "mark", None) for mark in marks), *in_text]
        events.sort(key=itemgetter(1), reverse=True)  # outer nodes come before inner ones
        events.sort(key=itemgetter(0))
        for start, end, kind, node, named in events:
            while stack[-1].end <= start:
                stack.pop()
            if kind == "bases":
                self.inherited.append((self.in_file(start), self.text[start:end]))
                continue
            if kind == "template":
                begin = start if begin is None or start >= template_end else begin
                template_end = end
                continue
            if kind == "friend":
                friend_end = end
                continue
            if kind == "mark":
                self.framed[start] = (self._braced,) if start < self._braced.end else tuple(stack)
                continue
            outer = stack[-1]
            template = begin is not None and start < template_end
            if outer.kind == "class":  # a friend belongs to the namespace around the class
                self._around = next((scope for scope in reversed(stack) if scope.kind != "class"), stack[0])
                outer = self._around if start < friend_end else outer
            frame = _HANDLERS[kind](self, node, named, outer, begin if template else start, template)
            begin, friend_end = None, 0
            if frame is not None:
                stack.append(tuple.__new__(OpenScope, (end, *frame[1:])))

    def _add(  # noqa: PLR0913 (all of these differ from symbol to symbol)
        self,
        kind: SymbolKind,
        outer: OpenScope,
        parts: tuple[str, ...],
        at: int,
        begin: int,
        end: int,
        role: Role = "definition",
        *,
        signature: str = "",
        parameters: tuple[str, ...] | None = None,
        template: bool = False,
        static: bool = False,
        virtual: bool = False,
    ) -> Symbol:
        name = parts[-1]
        if len(parts) == 1:
            qualified, scope = join(outer.qualified, name), outer.scope
        else:
            qualified, scope = placed(outer, parts)
        in_file, line_of = self.in_file, self.line
        offset = in_file(at)
        line = line_of(offset)
        last = line_of(in_file(end - 1)) if end > at else line
        first = line if begin == at else line_of(in_file(begin))
        symbol = tuple.__new__(  # does the same as Symbol(…), in a third of the time
            Symbol,
            (self.path, name, qualified, kind, line, last, min(first, line), role, scope, signature, parameters,
             self.guards(line), None, template, static, "tree-sitter", virtual),
        )  # fmt: skip
        self.symbols.append(symbol)
        self.offsets.append(offset)
        if kind in _OPENED:
            self._opened.add(qualified)
        return symbol

    def namespace(self, node: Node, named: Node | None, outer: OpenScope, begin: int, _: bool) -> OpenScope | None:
        """Returns the scope of a namespace.

        Adds a symbol for it, unless the namespace is anonymous, inline or CPU_CAPABILITY.
        """
        if named is None:
            return OpenScope(0, "namespace", outer.qualified, join(outer.scope, "(anonymous namespace)"), True)
        written = "".join(self.text[named.start_byte : named.end_byte].split())
        name = _NAMESPACE_MACROS.get(written, written)
        qualified = outer.qualified
        if written != "CPU_CAPABILITY" and not self.text.startswith("inline", node.start_byte):
            qualified = join(qualified, name.replace("inline", ""))
            self._add("namespace", outer, tuple(name.split("::")), named.start_byte, begin, node.end_byte)
        return OpenScope(0, "namespace", qualified, join(outer.scope, name), outer.hidden)

    def class_(self, node: Node, named: Node | None, outer: OpenScope, begin: int, template: bool) -> OpenScope | None:
        if named is None:
            return unnamed(node, self.text, outer)
        parts = name_parts(class_name(named, self.text))
        self._classes.add(parts[-1])
        kind: Any = _SPECIFIERS[node.type]
        qualified, scope = placed(outer, parts)
        if outer.kind != "code":
            self._add(
                kind, outer, parts, named.start_byte, begin, node.end_byte, template=template, static=outer.hidden
            )
        return OpenScope(0, "class", qualified, join(scope, parts[-1]), outer.hidden)

    def forward(self, node: Node, named: Node | None, outer: OpenScope, begin: int, template: bool) -> None:
        if named is None or outer.kind == "code":
            return
        kind: Any = _SPECIFIERS[node.type]
        parts = name_parts(self.text[named.start_byte : named.end_byte])
        self._add(kind, outer, parts, named.start_byte, begin, node.end_byte, "declaration", template=template)

    def enum(self, node: Node, named: Node | None, outer: OpenScope, begin: int, _: bool) -> OpenScope | None:
        if named is None or outer.kind == "code":
            return OpenScope(0, "code" if outer.kind == "code" else "enum", outer.qualified, outer.scope, outer.hidden)
        parts = name_parts(self.text[named.start_byte : named.end_byte])
        self._add("enum", outer, parts, named.start_byte, begin, node.end_byte)
        words = self.text[node.start_byte : named.start_byte].split()
        if "class" not in words and "struct" not in words:  # the scope around an unscoped enum has the enumerators
            return OpenScope(0, "enum", outer.qualified, outer.scope, outer.hidden)
        qualified, scope = placed(outer, parts)
        return OpenScope(0, "enum", qualified, join(scope, parts[-1]), outer.hidden)

    def enumerator(self, node: Node, named: Node, outer: OpenScope, begin: int, _: bool) -> None:
        if outer.kind != "code":
            name = self.text[named.start_byte : named.end_byte]
            self._add("enumerator", outer, (name,), named.start_byte, begin, node.end_byte)

    def function(self, node: Node, _: None, outer: OpenScope, begin: int, template: bool) -> OpenScope | None:
        declarator = node.child_by_field_name("declarator")
        if outer.kind == "code" or declarator is None:
            return self.code(None, outer)
        named, function = descend(declarator)
        if function is None or self._is_invocation(node, named, outer):
            return self.code(None, outer)
        pure = _PURE.match(self.text, function.end_byte, node.end_byte)
        role: Role = "declaration" if pure else "definition"
        return self.code(self._function(node, (named, function), outer, begin, template, role), outer)

    def _is_invocation(self, node: Node, named: Node, outer: OpenScope) -> bool:
        """Whether a supposed function is a macro invocation with a body: outside classes, and without a type.

        If it has the name of a class in the text, it is a constructor: the parser lost the scope of its class.
        """
        if outer.kind != "namespace" or named.type != "identifier" or node.child_by_field_name("type") is not None:
            return False
        return self.text[named.start_byte : named.end_byte] not in self._classes

    def code(self, symbol: Symbol | None, outer: OpenScope) -> OpenScope:
        """Returns the scope of the body of the last function, or the outer scope if the function has no name here."""
        at = -1 if symbol is None else self.offsets[-1]
        if symbol is None or at in self.placeholders:
            return OpenScope(0, "code", outer.qualified, outer.scope, outer.hidden, at)
        return OpenScope(0, "code", symbol.qualified, join(symbol.scope, symbol.name), outer.hidden)

    def _function(
        self,
        node: Node,
        declared: tuple[Node, Node],
        outer: OpenScope,
        begin: int,
        template: bool,
        role: Role,
        end: int = 0,
    ) -> Symbol | None:
        """Adds a function. `declared` has the nodes of name and parameters; `end` is set if it ends before its node."""
        text = self.text
        named, function = declared
        listed = function.child_by_field_name("parameters")
        if listed is None:
            return None
        start, name_start, listed_start = node.start_byte, named.start_byte, listed.start_byte
        head = text[start:name_start]
        if "operator" in head:
            conversion = _CONVERSION.search(head)
            if conversion:  # the parser reads "inline A::operator float()" as a type and a name
                name_start = start + conversion.start()
        written = text[name_start : min(named.end_byte, listed_start)]
        parts = name_parts(written)
        name = parts[-1]
        if name in _KEYWORDS or not name:
            return None
        if len(parts) > 1 and not outer.qualified and role == "definition":
            parts = self._through_using(parts, name_start)
        at = written.rfind("operator" if name.startswith("operator") else name)
        if outer.kind == "class" and "friend" in head and "friend" in head.split():
            outer = self._around or outer
        static = outer.hidden or (outer.kind == "namespace" and "static" in head and "static" in head.split())
        virtual = outer.kind == "class" and "virtual" in head and "virtual" in head.split()
        signature = self.shown[self.in_file(listed_start) : self.in_file(function.end_byte - 1) + 1]
        types = text[listed_start : listed.end_byte]
        if "#if" in signature:  # the parsed text has no directives
            types = self.shown[self.in_file(listed_start) : self.in_file(listed.end_byte - 1) + 1]
        return self._add(
            "function", outer, parts, name_start + max(at, 0), begin, end or node.end_byte, role,
            signature=one_line(signature),
            parameters=parameter_types(types), template=template, static=static, virtual=virtual,
        )  # fmt: skip

    def _through_using(self, parts: tuple[str, ...], at: int) -> tuple[str, ...]:
        """Qualifies a member defined outside namespaces: a `using` before it names the namespace of its class."""
        if parts[0] in _TOP or parts[0] in self._opened:
            return parts
        used = list(dict.fromkeys(name for end, name in self._used if end <= at))
        if not used:
            return parts
        opened = self._opened
        best = [name for name in used if f"{name}::{parts[0]}" in opened] or [name for name in used if name in opened]
        return (*(best or used)[-1].split("::"), *parts)

    @lazy
    def _used(self) -> list[tuple[int, str]]:
        """The namespaces of `using namespace` directives, each with the offset behind the directive."""
        return [(match.end(), match[1]) for match in _USING.finditer(self.text)]

    def declaration(self, node: Node, _: None, outer: OpenScope, begin: int, template: bool) -> None:
        if outer.kind == "code":
            return
        declarators = node.children_by_field_name("declarator")
        if not declarators:
            named = node.child_by_field_name("type")
            if named is not None and named.type in _SPECIFIERS and named.child_by_field_name("body") is None:
                self.forward(named, named.child_by_field_name("name"), outer, begin, template)
            return
        specifiers = self.text[node.start_byte : declarators[0].start_byte].split()
        for declarator in declarators:
            named, function = descend(declarator)
            if function is not None and _INITIALISED.match(self.text, function.start_byte, function.end_byte):
                function = None  # "Symbol add(static_cast<…>(…));"
            if function is not None:
                end = end_of_body(node, declarator, function, self.text)
                role: Role = "definition" if end else "declaration"
                symbol = self._function(node, (named, function), outer, begin, template, role, end)
                if end:
                    self._braced = self.code(symbol, outer)._replace(end=end)
                continue
            parts = name_parts(self.text[named.start_byte : named.end_byte])
            if not parts[-1].isidentifier():
                continue
            declared = "extern" in specifiers and declarator.type != "init_declarator"
            self._add(
                "member" if outer.kind == "class" else "variable", outer, parts, named.end_byte - len(parts[-1]), begin,
                node.end_byte, "declaration" if declared else "definition", template=template,
                static=outer.hidden or (outer.kind != "class" and "static" in specifiers),
            )  # fmt: skip

    def typedef(self, node: Node, _: None, outer: OpenScope, begin: int, template: bool) -> None:
        if outer.kind == "code":
            return
        for declarator in node.children_by_field_name("declarator"):
            named = descend(declarator)[0]
            parts = name_parts(self.text[named.start_byte : named.end_byte])
            if parts[-1].isidentifier() and parts[-1] not in BUILTIN:  # "typedef int(name)[5];"
                self._add("typedef", outer, parts, named.start_byte, begin, node.end_byte, template=template)

    def alias(self, node: Node, named: Node, outer: OpenScope, begin: int, template: bool) -> None:
        if outer.kind != "code":
            parts = name_parts(self.text[named.start_byte : named.end_byte])
            self._add("typedef", outer, parts, named.start_byte, begin, node.end_byte, template=template)

    def concept(self, node: Node, named: Node, outer: OpenScope, begin: int, _: bool) -> None:
        name = self.text[named.start_byte : named.end_byte]
        self._add("concept", outer, (name,), named.start_byte, begin, node.end_byte, template=True)


_NAMESPACE_MACROS = {"PYBIND11_NAMESPACE": "pybind11"}
_HANDLERS: dict[str, Any] = {
    "namespace": Reader.namespace, "class": Reader.class_, "enum": Reader.enum, "enumerator": Reader.enumerator,
    "function": Reader.function, "declaration": Reader.declaration, "forward": Reader.forward,
    "typedef": Reader.typedef, "alias": Reader.alias, "concept": Reader.concept,
}  # fmt: skip
