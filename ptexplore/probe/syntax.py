"""Read the user's expression without running it: is it one, which names does it need, what does it change in place."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Callable, Iterator

_IN_PLACE_DUNDER = re.compile(r"__(set|del)item__\Z|__i(add|sub|mul|truediv|floordiv|mod|pow|and|or|xor|[lr]shift)__\Z")
_NOT_IN_PLACE = {"requires_grad_", "share_memory_"}


class Refused(Exception):
    """What the user wrote cannot be run.

    `kind` says how, `where` is (line, column) in `source`, both from 1, and `close` are near names.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        where: tuple[int, int] | None = None,
        source: str | None = None,
        close: list[str] | None = None,
    ):
        super().__init__(message)
        self.kind = kind
        self.where = where
        self.source = source
        self.close = close or []


def parse(expression: str, what: str) -> ast.Expression:
    """The expression's tree. Raises Refused for what is no single expression."""
    source = expression.strip()
    if not source:
        raise Refused("empty", f"{what} is empty")
    try:
        tree = ast.parse(source, filename=f"<{what}>", mode="eval")
        compile(tree, f"<{what}>", "eval")  # what parses may still be no expression: `(yield)`
    except SyntaxError as error:
        raise _refused(error, source, what) from None
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:  # NUL bytes, absurd nesting
        raise Refused("syntax", f"{what} does not parse: {str(error) or 'it nests too deeply'}") from None
    return tree


def _refused(error: SyntaxError, source: str, what: str) -> Refused:
    try:
        statements = ast.parse(source).body
        compile(source, f"<{what}>", "exec")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        where = (error.lineno or 1, error.offset or 1)
        return Refused("syntax", f"{what} does not parse: {error.msg}", where=where, source=source)
    noun = f"{len(statements)} statements" if len(statements) > 1 else "a statement"
    return Refused("statements", f"{what} is {noun}, not one expression")


def check_script(script: str) -> None:
    """Raises Refused for a file that cannot be read or is no Python."""
    try:
        with open(script, "rb") as file:
            source = file.read()
        compile(source, script, "exec")
    except SyntaxError as error:
        where = (error.lineno or 1, error.offset or 1)
        text = source.decode(errors="replace")
        raise Refused("script", f"the script does not parse: {error.msg}", where=where, source=text) from None
    except (OSError, ValueError, MemoryError, RecursionError) as error:
        raise Refused("script", f"the script does not parse: {str(error) or 'it nests too deeply'}") from None


def free_names(expression: str) -> list[str]:
    """Names that the expression reads and does not bind itself, in order of appearance."""
    source = expression.strip()
    table = symtable.symtable(source, "<expression>", "eval")
    bound = {s.get_name() for s in table.get_symbols() if s.is_assigned()}
    found: set[str] = set()

    def collect(scope: symtable.SymbolTable) -> None:
        for symbol in scope.get_symbols():
            if symbol.is_global() or (scope is table and symbol.is_referenced()):
                found.add(symbol.get_name())
        for child in scope.get_children():
            collect(child)

    collect(table)
    names = [n for n in ast.walk(ast.parse(source, mode="eval")) if isinstance(n, ast.Name)]
    names.sort(key=lambda n: (n.lineno, n.col_offset))
    return [name for name in dict.fromkeys(n.id for n in names) if name in found - bound]


def called_names(tree: ast.AST) -> set[str]:
    """Names that are called: those can be no tensor."""
    return {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}


def own_names(tree: ast.AST) -> set[str]:
    """Names that the expression binds somewhere itself: parameters, loop variables, `:=`."""
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return stored | {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}


def attribute_chains(tree: ast.AST) -> Iterator[list[str]]:
    """Every `name.a.b` as ["name", "a", "b"]."""
    for node in ast.walk(tree):
        parts: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name):
            yield [inner.id, *reversed(parts)]


def changed_in_place(tree: ast.AST, is_module: Callable[[str], bool]) -> set[str]:
    """Names whose tensors the expression changes, by PyTorch's conventions: `add_`, `inplace=True`, `__setitem__`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        by_name = _is_in_place(node.func.attr if isinstance(node.func, ast.Attribute) else _id(node.func))
        if not by_name and not any(k.arg == "inplace" and not _is_false(k.value) for k in node.keywords):
            continue
        target: ast.expr | None = node.args[0] if node.args else None
        if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value, is_module):
            target = node.func.value
        root = _root(target, is_module) if target is not None else None
        if root is not None:
            found.add(root)
    return found


def _is_module(node: ast.expr, is_module: Callable[[str], bool]) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and is_module(node.id)


def _is_in_place(name: str) -> bool:
    trailing = name.endswith("_") and not name.endswith("__") and name not in _NOT_IN_PLACE
    return trailing or bool(_IN_PLACE_DUNDER.match(name))


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def _id(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _root(node: ast.expr, is_module: Callable[[str], bool]) -> str | None:
    """The name that a chain of methods and subscripts starts from: a view of a leaf is refused as the leaf is."""
    while not isinstance(node, ast.Name):
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if _is_module(node.func.value, is_module):
                return None  # what a function returns is no leaf
            node = node.func.value
        else:
            return None
    return node.id
