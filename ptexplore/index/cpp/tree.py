"""One syntax tree read into symbols: scopes kept on a stack while the captures of one query pass in text order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ptexplore.cpp.names import CAST, name_parts, one_line
from ptexplore.cpp.text import words
from ptexplore.cpp.types import BUILTIN, parameter_types
from ptexplore.index.cpp import syntax
from ptexplore.index.cpp.cuts import between
from ptexplore.index.cpp.syntax import ROOT, Match, OpenScope, descend, in_order, join, placed, through_using
from ptexplore.model.symbols import Role, Symbol, SymbolKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tree_sitter import Node

_KEYWORDS = words("if for while switch return else do catch sizeof decltype new delete throw case")
_SPECIFIERS = {"class_specifier": "class", "struct_specifier": "struct", "union_specifier": "union"}
_INITIALISED = re.compile(rf"\w+\s*\(\s*{CAST}")
_PURE = re.compile(r"\s*=\s*0")


class Reader:
    """Reads the captures of one text into `symbols`.

    `text` is what was parsed (offsets count in it), `whole` gives the offset in the file's text of one in `text`,
    `line` the line of an offset in the file's text, `guards` the conditions of a line. `marks` are offsets whose
    frames the caller wants to know: after `read`, `framed` holds them.
    """

    def __init__(
        self, path: str, text: str, line: Callable[[int], int], guards: Callable[[int], tuple[str, ...]]
    ) -> None:
        self.path, self.text, self.line, self.guards = path, text, line, guards
        # What signatures are shown as, between two offsets: the caller may give the text as written.
        self.shown = between(text)
        self.whole: Callable[[int], int] = int
        self.symbols: list[Symbol] = []
        self.offsets: list[int] = []  # of each symbol's name, in the file's text
        self.inherited: list[tuple[int, str]] = []
        self._classes: set[str] = set()  # names of those with a body
        self._around: OpenScope | None = None  # the namespace around a class
        self._braced = ROOT._replace(end=0)  # the body of a function that the grammar takes for a variable
        self.framed: dict[int, tuple[OpenScope, ...]] = {}
        self.placeholders: frozenset[int] = frozenset()  # offsets, in the file's text, of names that are none

    def read(
        self,
        found: Sequence[Match],
        base: tuple[OpenScope, ...] = (ROOT,),
        marks: tuple[int, ...] = (),
    ) -> None:
        """All symbols of the query's matches, in text order, inside the scopes of `base`."""
        stack = [frame._replace(end=ROOT.end) for frame in base]
        begin: int | None = None  # of the template head that the next event belongs to
        template_end = friend_end = 0
        for start, end, kind, node, named in in_order(found, marks):
            while stack[-1].end <= start:
                stack.pop()
            if kind == "bases":
                self.inherited.append((self.whole(start), self.text[start:end]))
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
            if outer.kind == "class":  # what a class befriends belongs to the namespace around it
                self._around = next((one for one in reversed(stack) if one.kind != "class"), stack[0])
                outer = self._around if start < friend_end else outer
            frame = _HANDLERS[kind](self, node, named, outer, begin if template else start, template)
            begin, friend_end = None, 0
            if frame is not None:
                stack.append(tuple.__new__(OpenScope, (end, *frame[1:])))

    def _add(  # noqa: PLR0913  (what differs from symbol to symbol)
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
    ) -> Symbol:
        name = parts[-1]
        if len(parts) == 1:
            qualified, scope = join(outer.qualified, name), outer.scope
        else:
            qualified, scope = placed(outer, parts)
        whole, line_of = self.whole, self.line
        offset = whole(at)
        line = line_of(offset)
        last = line_of(whole(end - 1)) if end > at else line
        first = line if begin == at else line_of(whole(begin))
        symbol = tuple.__new__(  # what Symbol(…) comes to, in a third of the time
            Symbol,
            (self.path, name, qualified, kind, line, last, min(first, line), role, scope, signature, parameters,
             self.guards(line), None, template, static, "tree-sitter"),
        )  # fmt: skip
        self.symbols.append(symbol)
        self.offsets.append(offset)
        return symbol

    def namespace(self, node: Node, named: Node | None, outer: OpenScope, begin: int, _: bool) -> OpenScope | None:
        if named is None:
            return self.opened(outer, None, 0, begin, 0)
        name = "".join(self.text[named.start_byte : named.end_byte].split())
        inline = self.text.startswith("inline", node.start_byte)
        return self.opened(outer, name, named.start_byte, begin, node.end_byte, inline=inline)

    def opened(
        self, outer: OpenScope, name: str | None, at: int, begin: int, end: int, *, inline: bool = False
    ) -> OpenScope:
        """The scope of a namespace, which is noted unless names are looked up through it."""
        if name is None:
            return OpenScope(0, "namespace", outer.qualified, join(outer.scope, "(anonymous namespace)"), True)
        qualified = outer.qualified
        looked_through = name == "CPU_CAPABILITY" or inline
        name = _NAMESPACE_MACROS.get(name, name)
        if not looked_through:
            qualified = join(qualified, name.replace("inline", ""))
            self._add("namespace", outer, tuple(name.split("::")), at, begin, end)
        return OpenScope(0, "namespace", qualified, join(outer.scope, name), outer.hidden)

    def class_(self, node: Node, named: Node | None, outer: OpenScope, begin: int, template: bool) -> OpenScope | None:
        if named is None:
            return syntax.unnamed(node, self.text, outer)
        parts = name_parts(syntax.class_name(named, self.text))
        self._classes.add(parts[-1])
        kind: Any = _SPECIFIERS[node.type]
        qualified, scope = placed(outer, parts)
        if outer.kind != "code":
            self._add(
                kind, outer, parts, named.start_byte, begin, node.end_byte, template=template, static=outer.hidden
            )
        return OpenScope(0, "class", qualified, join(scope, parts[-1]), outer.hidden, parts[-1])

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
        return syntax.enumerators_frame(outer, parts, scoped="class" in words or "struct" in words)

    def enumerator(self, node: Node, named: Node, outer: OpenScope, begin: int, _: bool) -> None:
        if outer.kind != "code":
            name = self.text[named.start_byte : named.end_byte]
            self._add("enumerator", outer, (name,), named.start_byte, begin, node.end_byte)

    def function(self, node: Node, _: None, outer: OpenScope, begin: int, template: bool) -> OpenScope | None:
        declarator = node.child_by_field_name("declarator")
        if outer.kind == "code" or declarator is None:
            return self.code(None, outer)
        named, function = descend(declarator)
        if function is None or syntax.is_invocation(node, named, self.text, outer, self._classes):
            return self.code(None, outer)
        pure = _PURE.match(self.text, function.end_byte, node.end_byte)
        role: Role = "declaration" if pure else "definition"
        return self.code(self._function(node, (named, function), outer, begin, template, role), outer)

    def code(self, symbol: Symbol | None, outer: OpenScope) -> OpenScope:
        """The scope of a function's body, of that noted last; what is around it where the function has no name here."""
        at = -1 if symbol is None else self.offsets[-1]
        if symbol is None or at in self.placeholders:
            return OpenScope(0, "code", outer.qualified, outer.scope, outer.hidden, "", at)
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
        """`declared`: the nodes of the name and of the parameters; `end` where the whole ends sooner than the node."""
        text = self.text
        named, function = declared
        listed = function.child_by_field_name("parameters")
        if listed is None:
            return None
        head = text[node.start_byte : named.start_byte]
        name_start, written = syntax.function_name(node, named, listed, text)
        parts = name_parts(written)
        if parts[-1] in _KEYWORDS or not parts[-1]:
            return None
        if len(parts) > 1 and not outer.qualified and role == "definition":
            parts = through_using(parts, text, name_start, self.symbols)
        at = written.rfind("operator") if parts[-1].startswith("operator") else written.rfind(parts[-1])
        if outer.kind == "class" and "friend" in head and "friend" in head.split():
            outer = self._around or outer
        static = outer.hidden or (outer.kind == "namespace" and "static" in head and "static" in head.split())
        return self._add(
            "function", outer, parts, name_start + max(at, 0), begin, end or node.end_byte, role,
            signature=one_line(self.shown(listed.start_byte, function.end_byte)),
            parameters=parameter_types(text[listed.start_byte : listed.end_byte]), template=template, static=static,
        )  # fmt: skip

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
                end = syntax.end_of_body(node, declarator, function, self.text)
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
