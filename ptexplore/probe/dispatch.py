"""Record what the user's own expression calls: the callable, its arguments' key sets and the thread-local sets.

The expression's tree is rewritten so that each call, operator, subscript and tensor attribute goes through
a helper that records and then does just that. Evaluation order and short circuits stay as they are; lambdas and
generators, which run later and elsewhere, and calls that look at their own frame are left alone.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch

from . import torch_api as api
from .catalogue import place_of
from .names import describe

HELPER = "__ptexplore__"
FRAME_SENSITIVE = {"super", "locals", "globals", "vars", "dir", "eval", "exec", "__import__", "breakpoint"}

BINARY: dict[type[ast.operator], tuple[str, Callable[..., Any]]] = {
    ast.Add: ("add", operator.add), ast.Sub: ("sub", operator.sub), ast.Mult: ("mul", operator.mul),
    ast.Div: ("truediv", operator.truediv), ast.FloorDiv: ("floordiv", operator.floordiv),
    ast.Mod: ("mod", operator.mod), ast.Pow: ("pow", operator.pow), ast.MatMult: ("matmul", operator.matmul),
    ast.BitAnd: ("and", operator.and_), ast.BitOr: ("or", operator.or_), ast.BitXor: ("xor", operator.xor),
    ast.LShift: ("lshift", operator.lshift), ast.RShift: ("rshift", operator.rshift),
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], tuple[str, Callable[..., Any]]] = {
    ast.Eq: ("eq", operator.eq), ast.NotEq: ("ne", operator.ne), ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le), ast.Gt: ("gt", operator.gt), ast.GtE: ("ge", operator.ge),
}  # fmt: skip
UNARY: dict[type[ast.unaryop], tuple[str, Callable[..., Any]]] = {
    ast.USub: ("neg", operator.neg), ast.UAdd: ("pos", operator.pos), ast.Invert: ("invert", operator.invert),
}  # fmt: skip
MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
WITHOUT = object()


class Broken(BaseException):
    """A fault of the recorder's own: never to be taken for one of the expression's."""


def _operation(table: Mapping[Any, tuple[str, Callable[..., Any]]], name: str) -> Callable[..., Any]:
    return next(function for known, function in table.values() if known == name)


class Rewriter(ast.NodeTransformer):
    """Send calls, operators, subscripts and attributes through the helper; `sites` says where each stands."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.sites: list[dict[str, Any]] = []

    def _through(self, node: ast.expr, how: str, syntax: str, *arguments: ast.expr) -> ast.Call:
        self.sites.append(
            {
                "source": ast.get_source_segment(self.source, node) or "",
                "line": node.lineno,
                "col": node.col_offset,
                "end_col": node.end_col_offset,
                "syntax": syntax,
            }
        )
        site = ast.Constant(len(self.sites) - 1)
        function = ast.Attribute(ast.Name(HELPER, ast.Load()), how, ast.Load())
        return ast.copy_location(ast.Call(function, [site, *arguments], []), node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id in FRAME_SENSITIVE:
            return node
        original = ast.Call(node.func, node.args, node.keywords)
        ast.copy_location(original, node)
        # The function's own attribute is no separate step: the call says which method it is.
        function = self._inside_attribute(node.func)
        arguments = [self.visit(a) for a in node.args]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        call = self._through(original, "call", "call", function, *arguments)
        call.keywords = keywords
        return call

    def _inside_attribute(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Attribute):
            changed = ast.Attribute(self.visit(node.value), node.attr, node.ctx)
            return ast.copy_location(changed, node)
        return self.visit(node)  # type: ignore[no-any-return]

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        name = ast.Constant(BINARY[type(node.op)][0])
        return self._through(node, "binary", "binop", name, self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        known = UNARY.get(type(node.op))
        if known is None:  # `not x` asks for a truth value, which no operator function does the same way
            self.generic_visit(node)
            return node
        return self._through(node, "unary", "unaryop", ast.Constant(known[0]), self.visit(node.operand))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        known = COMPARE.get(type(node.ops[0]))
        if len(node.ops) != 1 or known is None:  # a chain evaluates its middle once; leave it alone
            self.generic_visit(node)
            return node
        left, right = self.visit(node.left), self.visit(node.comparators[0])
        return self._through(node, "compare", "compare", ast.Constant(known[0]), left, right)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or any(isinstance(n, ast.Starred) for n in ast.walk(node.slice)):
            return node
        return self._through(node, "item", "subscript", self.visit(node.value), self._index(node.slice))

    def _index(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Slice):
            parts = [
                self.visit(p) if p is not None else ast.Constant(None) for p in (node.lower, node.upper, node.step)
            ]
            make = ast.Attribute(ast.Name(HELPER, ast.Load()), "slice", ast.Load())
            return ast.Call(make, parts, [])
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._index(e) for e in node.elts], ast.Load())
        return self.visit(node)  # type: ignore[no-any-return]

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return node
        return self._through(node, "attribute", "attribute", self.visit(node.value), ast.Constant(node.attr))


class Recorder:
    """The helper that the rewritten expression calls. `calls` holds one record a call, in order of execution."""

    slice = slice

    def __init__(self, sites: list[dict[str, Any]]) -> None:
        self.sites = sites
        self.calls: list[dict[str, Any]] = []

    def call(self, site: int, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        bound = getattr(function, "__self__", WITHOUT)
        owner = [("self", bound)] if issubclass(type(bound), api.TENSOR_BASE) else []
        arguments = [*owner, *((str(i), a) for i, a in enumerate(args)), *kwargs.items()]
        return self._record(site, _callable(function), arguments, lambda: function(*args, **kwargs))

    def binary(self, site: int, name: str, left: Any, right: Any, /) -> Any:
        perform = _operation(BINARY, name)
        target = _slot(f"__{name}__", left) or _slot(f"__r{name}__", right)
        return self._record(site, target, [("left", left), ("right", right)], lambda: perform(left, right))

    def compare(self, site: int, name: str, left: Any, right: Any, /) -> Any:
        perform = _operation(COMPARE, name)
        target = _slot(f"__{name}__", left) or _slot(f"__{MIRRORED[name]}__", right)
        return self._record(site, target, [("left", left), ("right", right)], lambda: perform(left, right))

    def unary(self, site: int, name: str, operand: Any, /) -> Any:
        perform = _operation(UNARY, name)
        return self._record(site, _slot(f"__{name}__", operand), [("operand", operand)], lambda: perform(operand))

    def item(self, site: int, container: Any, index: Any, /) -> Any:
        target = _slot("__getitem__", container)
        return self._record(site, target, [("self", container), ("index", index)], lambda: container[index])

    def attribute(self, site: int, owner: Any, name: str, /) -> Any:
        target = _slot(name, owner)
        return self._record(site, target, [("self", owner)], lambda: getattr(owner, name))

    def _record(
        self, site: int, target: dict[str, Any] | None, arguments: list[tuple[str, Any]], perform: Callable[[], Any]
    ) -> Any:
        if target is None:  # nothing of torch's is behind this syntax
            return perform()
        number = len(self.calls)
        try:
            self.calls.append({"call": number, **self.sites[site], "callable": target, **_state(arguments)})
        except Exception as error:
            raise Broken(f"the dispatch recorder failed: {error!r}") from error
        with api.marker(f"c:{number}"):
            return perform()

    def marked(self) -> dict[str, dict[str, Any]]:
        """The markers' data, for the event tree."""
        return {f"c:{c['call']}": {"type": "call", "call": c["call"]} for c in self.calls}


def _state(arguments: list[tuple[str, Any]]) -> dict[str, Any]:
    include, exclude = api.local_sets()
    return {
        "arguments": [a for name, value in arguments for a in _arguments(name, value)],
        "tls_include": {"raw": include[0], "keys": include[1]},
        "tls_exclude": {"raw": exclude[0], "keys": exclude[1]},
    }


def _callable(function: Any) -> dict[str, Any]:
    """What is called: a torch builtin by table and method, a Python function or module by its code's place."""
    known = (
        api.identify(function)
        if type(function).__name__ in ("builtin_function_or_method", "method_descriptor")
        else None
    )
    if known is not None:
        return {
            "kind": "builtin",
            "table": known[0],
            "method": known[1],
            "qualname": getattr(function, "__qualname__", None),
        }
    target = function
    if not hasattr(function, "__code__") and not hasattr(function, "__func__") and not isinstance(function, type):
        # The type's own __call__, as the interpreter takes it.
        target = getattr(type(function), "__call__", function)  # noqa: B004
    code = getattr(getattr(target, "__func__", target), "__code__", None)
    qualname = getattr(function, "__qualname__", None) or type(function).__qualname__
    if code is not None:
        return {"kind": "python", "qualname": qualname, "file": code.co_filename, "line": code.co_firstlineno}
    return {"kind": "class" if isinstance(function, type) else "other", "qualname": qualname}


def _slot(name: str, operand: Any) -> dict[str, Any] | None:
    """What attribute or operator syntax finds on a tensor's type; None where the operand is no tensor."""
    kind = type(operand)
    if not issubclass(kind, api.TENSOR_BASE):
        return None
    for base in kind.__mro__:
        if name not in vars(base):
            continue
        value = vars(base)[name]
        common = {
            "method": name,
            "qualname": f"{'torch.Tensor' if base is api.TENSOR_BASE else kind.__qualname__}.{name}",
        }
        place = place_of(value) if callable(value) and hasattr(value, "__code__") else None
        if place is not None:
            return {
                "kind": "python",
                **common,
                "file": value.__code__.co_filename,
                "line": value.__code__.co_firstlineno,
            }
        forms = {"method_descriptor": "method", "wrapper_descriptor": "slot"}
        table = "Tensor" if base is api.TENSOR_BASE else None
        return {"kind": forms.get(type(value).__name__, "attribute"), "table": table, **common}
    return None


def _arguments(name: str, value: Any) -> list[dict[str, Any]]:
    """The tensors of one argument, itself or in a list or tuple, with their key sets."""
    if isinstance(value, (list, tuple)):
        return [a for i, item in enumerate(value[:256]) for a in _arguments(f"{name}[{i}]", item)]
    if not issubclass(type(value), api.TENSOR_BASE):
        return []
    raw, names = api.key_set(value)
    return [
        {
            "name": name,
            "description": describe(value) if isinstance(value, torch.Tensor) else type(value).__name__,
            "raw": raw,
            "keys": names,
            "impl": api.address(value),
            "requires_grad": bool(value.requires_grad),
        }
    ]


def rewrite(tree: ast.Expression, source: str) -> tuple[ast.Expression, Recorder]:
    """The instrumented expression and the recorder that its namespace must hold under HELPER."""
    rewriter = Rewriter(source)
    changed = ast.fix_missing_locations(rewriter.visit(tree))
    return changed, Recorder(rewriter.sites)
