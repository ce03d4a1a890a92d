"""The C++ parser, its query (definitions.scm), what its nodes say, and scopes as they nest."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Set

    from tree_sitter import Node

    from ptexplore.model.symbols import Symbol

_QUERY = Path(__file__).with_name("definitions.scm")
_USING = re.compile(r"^using\s+namespace\s+(?:::)?([\w:]+)\s*;", re.MULTILINE)
_TOP = frozenset(("", "at", "c10", "torch", "caffe2", "std", "pybind11"))
_CONVERSION = re.compile(r"(?:\w+(?:<[^<>]*>)?\s*::\s*)*\boperator\s*$")
_INNER = ("reference_declarator", "parenthesized_declarator", "variadic_declarator")


@lru_cache(maxsize=1)
def parser() -> tuple[Any, Any]:
    """The C++ parser and the query over its trees; made once a process."""
    import tree_sitter
    import tree_sitter_cpp

    language = tree_sitter.Language(tree_sitter_cpp.language())
    return tree_sitter.Parser(language), tree_sitter.Query(language, _QUERY.read_text(encoding="utf-8"))


class OpenScope(NamedTuple):
    """A scope that is open: where it ends, what names in it are prefixed with, and what kind it is."""

    end: int
    kind: str  # "namespace", "class", "enum", "code"
    qualified: str
    scope: str
    hidden: bool  # an anonymous namespace is around it
    name: str = ""  # a class's own
    placeholder: int = -1  # where the one stands whose macro gives a function its name, in the file's text


ROOT = OpenScope(1 << 62, "namespace", "", "", False)


class Match(NamedTuple):
    """One match of the query, where it is: what its pattern is called, its node, the node of the name if it has one."""

    start: int
    end: int
    kind: str
    node: Node | None
    name: Node | None = None


def matches(source: bytes) -> tuple[list[Match], bool]:
    """The query's matches in a text, and whether the parser met what it does not understand."""
    import tree_sitter

    made, query = parser()
    root = made.parse(source).root_node
    found = []
    for _, captured in tree_sitter.QueryCursor(query).matches(root):
        names = captured.pop("name", None)
        for kind, (node,) in captured.items():
            found.append(Match(node.start_byte, node.end_byte, kind, node, names[0] if names else None))
    return found, root.has_error


def in_order(found: Iterable[Match], marks: Iterable[int]) -> list[Match]:
    """Matches and marks as they stand in the text, what is around another before it."""
    return sorted([*(Match(mark, ROOT.end, "mark", None) for mark in marks), *found], key=_in_order)


def _in_order(match: Match) -> tuple[int, int]:
    return match[0], -match[1]


def descend(declarator: Node) -> tuple[Node, Node | None]:
    """The node of the declared name, and that of its parameters where it declares a function."""
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
    """The parameters of a conversion operator."""
    found = node.child_by_field_name("declarator")
    while found is not None and found.type != "abstract_function_declarator":
        children = found.named_children
        found = found.child_by_field_name("declarator") or (children[-1] if children else None)
    return found


@lru_cache(maxsize=65536)
def join(outer: str, name: str) -> str:
    """`name` inside `outer`, which may be empty."""
    return f"{outer}::{name}" if outer else name


@lru_cache(maxsize=65536)
def _placed_in(qualified: str, scope: str, parts: tuple[str, ...]) -> tuple[str, str]:
    """The qualified name of `parts` declared inside `qualified` (as written: `scope`), and the scope it stands in."""
    if len(parts) == 1:
        return join(qualified, parts[0]), scope
    if parts[0] == "":
        return "::".join(parts[1:]), "::".join(parts[1:-1])
    written = tuple(part for at, part in enumerate(parts[:-1]) if at == 0 or part != parts[at - 1])
    around = qualified.split("::") if qualified else []
    for length in range(min(len(around), len(written)), 0, -1):  # a scope around it is named again
        if tuple(around[-length:]) == written[:length] and written[0][0].islower():
            whole = "::".join((*around[:-length], *written))
            return f"{whole}::{parts[-1]}", whole
    if around and tuple(around) == written[: len(around)]:
        return "::".join((*written, parts[-1])), "::".join(written)
    inner = "::".join(written)
    return f"{join(qualified, inner)}::{parts[-1]}", join(scope, inner)


def placed(outer: OpenScope, parts: tuple[str, ...]) -> tuple[str, str]:
    """The qualified name of what is declared as `parts` in a scope, and the scope it stands in."""
    return _placed_in(outer.qualified, outer.scope, parts)


def function_name(node: Node, named: Node, listed: Node, text: str) -> tuple[int, str]:
    """Where a function's name begins, and the name as written; given its declaration, its name and its parameters."""
    start, end = named.start_byte, min(named.end_byte, listed.start_byte)
    if text.find("operator", node.start_byte, start) >= 0:
        conversion = _CONVERSION.search(text, node.start_byte, start)
        if conversion:  # "inline A::operator float()" is taken for a type and a name
            start = conversion.start()
    return start, text[start:end]


def end_of_body(node: Node, declarator: Node, function: Node, text: str) -> int:
    """Where the body of a declared function ends, 0 where it has none: `f() {};` is taken for a braced initialiser."""
    value = declarator.child_by_field_name("value") or node.child_by_field_name("default_value")
    return 0 if value is None or text[function.end_byte : value.start_byte].strip() else value.end_byte


def class_name(named: Node, text: str) -> str:
    """What a class is called. (A specialisation's arguments may compare: their > closes nothing.)"""
    written = text[named.start_byte : named.end_byte]
    cut_early = text[named.end_byte : named.end_byte + 99].lstrip().startswith(">")
    return written.partition("<")[0] if cut_early or named.type == "template_type" else written


def unnamed(node: Node, text: str, outer: OpenScope) -> OpenScope:
    """The scope of a class without a name: what a typedef calls it, else what is around it."""
    parent = node.parent
    declarator = parent.child_by_field_name("declarator") if parent and parent.type == "type_definition" else None
    if declarator is None or declarator.type != "type_identifier" or outer.kind == "code":
        return OpenScope(0, "class", outer.qualified, outer.scope, outer.hidden)
    name = text[declarator.start_byte : declarator.end_byte]
    qualified, scope = placed(outer, (name,))
    return OpenScope(0, "class", qualified, join(scope, name), outer.hidden, name)


def enumerators_frame(outer: OpenScope, parts: tuple[str, ...], *, scoped: bool) -> OpenScope:
    """The scope of what an enumeration enumerates; without `scoped` that around it."""
    if not scoped:
        return OpenScope(0, "enum", outer.qualified, outer.scope, outer.hidden)
    qualified, scope = placed(outer, parts)
    return OpenScope(0, "enum", qualified, join(scope, parts[-1]), outer.hidden)


def is_invocation(node: Node, named: Node, text: str, outer: OpenScope, classes: Set[str]) -> bool:
    """Whether what looks like a function is a macro with a body behind it: in no class, without a type.

    One called as one of `classes` is a constructor of a class that the parser lost.
    """
    if outer.kind != "namespace" or named.type != "identifier" or node.child_by_field_name("type") is not None:
        return False
    return text[named.start_byte : named.end_byte] not in classes


def through_using(parts: tuple[str, ...], text: str, at: int, symbols: Sequence[Symbol]) -> tuple[str, ...]:
    """A member defined outside every namespace belongs to a class of a namespace that the text before it uses."""
    if parts[0] in _TOP:
        return parts
    used = list(dict.fromkeys(match[1] for match in _USING.finditer(text, 0, at)))
    opened = {symbol.qualified for symbol in symbols if symbol.kind in ("namespace", "class", "struct")}
    if not used or parts[0] in opened:
        return parts
    best = [one for one in used if f"{one}::{parts[0]}" in opened] or [one for one in used if one in opened] or used
    return (*best[-1].split("::"), *parts)
