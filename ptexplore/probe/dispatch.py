"""Record what the user's expression calls: the callable, the key sets of its arguments and the thread-local sets.

The expression's tree is rewritten so that each call, operator, subscript and attribute goes through a recorder. The
recorder finds the callable as Python itself would. It reads what the dispatcher will see, opens a marker in the
profiler's tree, and performs the step.

A call is not moved: the recorder gets the function and the arguments, then the expression's own frame makes the call.
So `locals()`, `eval()` and code that reads its caller's frame work as usual. The order of evaluation and
short circuits stay. Lambdas, generators and f-strings are not rewritten inside: lambdas run later or elsewhere,
generators run later, and the parts of an f-string have column numbers of their own.

Source of the rules by which a callable is found: Objects/abstract.c (binary_op1) and Objects/object.c (do_richcompare)
of CPython; torch/csrc/autograd/python_variable.cpp for what torch.Tensor inherits.
"""

from __future__ import annotations

import ast
import gc
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, TypedDict

from . import torch_api as api
from .taken import threading
from .values import describe

if TYPE_CHECKING:
    from .events import EventMark
    from .messages import (
        CallArgumentData,
        CallTargetData,
        HeldTensorData,
        UserCallData,
        WrittenTensorData,
    )

HELPER = "__ptexplore__"
INTEGERS = 64  # maximum number of integers of one argument that are recorded
ITEMS = 256  # maximum number of tensors of one list argument that are recorded
CALLS = 10_000  # maximum number of calls of one expression that are recorded
MOST_HELD = 20_000  # maximum number of earlier tensors that are recorded
HELD = 1 << 30  # bytes of argument tensors kept alive, so that no other tensor gets the same address

PERFORM: dict[str, Callable[..., Any]] = {
    name: getattr(operator, name + "_" if name in ("and", "or", "not") else name)
    for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift",
        "eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "invert", "not",
    )
}  # fmt: skip
MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
WITHOUT = object()
Arguments = list[tuple[str, Any]]

SOURCE_LIMIT = 2000  # characters kept of the source of one step


class CallSite(TypedDict):
    """A part of the expression: its text, its kind of syntax, and its place in the text."""

    source: str
    syntax: str
    line: int
    col: int
    end_col: int | None


BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not"}


def rewrite(tree: ast.Expression, source: str) -> tuple[ast.Expression, list[CallSite]]:
    """Returns the rewritten expression and its parts. Its namespace must hold a CallRecorder of the parts as HELPER."""
    rewriter = Rewriter(source)
    return ast.fix_missing_locations(rewriter.visit(tree)), rewriter.sites


class Rewriter(ast.NodeTransformer):
    """Puts calls of HELPER's methods into a tree. `sites` has the syntax and place of each step."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.sites: list[CallSite] = []

    def _left_alone(self, node: ast.expr) -> ast.expr:
        return node

    visit_Lambda = visit_JoinedStr = visit_TemplateStr = _left_alone  # noqa: N815 -- ast.NodeVisitor's names

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        # Python evaluates the first iterable at once, and the rest of a generator later.
        node.generators[0].iter = self.visit(node.generators[0].iter)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        site = self._site(node, "call")
        callee = self._ask(node, "callee", site, self._callee(node.func))
        arguments = self._ask(node, "arguments", site, *[self.visit(argument) for argument in node.args])
        arguments.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        keywords = ast.keyword(None, self._ask(node, "keywords"))
        made = ast.Call(callee, [ast.Starred(arguments, ast.Load())], [keywords])
        return self._ask(node, "end", site, ast.copy_location(made, node))

    def _callee(self, node: ast.expr) -> ast.expr:
        """Returns the function part of a call. The lookup of a method is not a step: the call names the method."""
        if isinstance(node, ast.Attribute):
            return ast.copy_location(ast.Attribute(self.visit(node.value), node.attr, node.ctx), node)
        return self.visit(node)  # type: ignore[no-any-return]

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant):
            return node
        name = ast.Constant(BINARY[type(node.op)])
        site = self._site(node, "binop")
        return self._ask(node, "binary", site, name, self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.operand, ast.Constant):
            return node
        site = self._site(node, "unaryop")
        return self._ask(node, "unary", site, ast.Constant(UNARY[type(node.op)]), self.visit(node.operand))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Turn `a < b < c` into `a < b and b < c` with b evaluated once, as Python does."""
        operands = [self.visit(node.left), *[self.visit(operand) for operand in node.comparators]]
        steps: list[ast.expr] = []
        kept: ast.Constant | None = None
        for number, operation in enumerate(node.ops):
            left = operands[number] if kept is None else self._ask(node, "kept", kept)
            right = operands[number + 1]
            kept = None
            if number + 1 < len(node.ops):
                kept = self._site(node, "compare")
                right = self._ask(node, "keep", kept, right)
            steps.append(self._compare(node, operation, left, right))
        return steps[0] if len(steps) == 1 else ast.copy_location(ast.BoolOp(ast.And(), steps), node)

    def _compare(self, node: ast.Compare, operation: ast.cmpop, left: ast.expr, right: ast.expr) -> ast.expr:
        name = COMPARE.get(type(operation))
        if name is not None:
            return self._ask(node, "compare", self._site(node, "compare"), ast.Constant(name), left, right)
        if isinstance(operation, (ast.In, ast.NotIn)):
            contains = self._ask(node, "contains", self._site(node, "compare"), left, right)
            negated = isinstance(operation, ast.NotIn)
            return ast.copy_location(ast.UnaryOp(ast.Not(), contains), node) if negated else contains
        return ast.copy_location(ast.Compare(left, [operation], [right]), node)  # `is` calls nothing

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return node
        site = self._site(node, "subscript")
        return self._ask(node, "item", site, self.visit(node.value), self._index(node.slice))

    def _index(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Slice):
            parts = [
                self.visit(p) if p is not None else ast.Constant(None) for p in (node.lower, node.upper, node.step)
            ]
            return self._ask(node, "slice", *parts)
        if isinstance(node, ast.Tuple):
            return ast.copy_location(ast.Tuple([self._index(e) for e in node.elts], ast.Load()), node)
        return self.visit(node)  # type: ignore[no-any-return]

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return node
        site = self._site(node, "attribute")
        return self._ask(node, "attribute", site, self.visit(node.value), ast.Constant(node.attr))

    def _site(self, node: ast.expr, syntax: str) -> ast.Constant:
        self.sites.append(
            {
                "source": (ast.get_source_segment(self.source, node) or "")[:SOURCE_LIMIT],
                "line": node.lineno,
                "col": node.col_offset,
                "end_col": node.end_col_offset,
                "syntax": syntax,
            }
        )
        return ast.Constant(len(self.sites) - 1)

    def _ask(self, node: ast.expr, method: str, *arguments: ast.expr) -> ast.Call:
        function = ast.Attribute(ast.Name(HELPER, ast.Load()), method, ast.Load())
        return ast.copy_location(ast.Call(function, list(arguments), []), node)


class Broken(BaseException):
    """An error of the recorder itself. It must not be taken for an error of the expression."""


_settled: list[Any] = []  # the tensors among the objects that `settle` froze


def settle() -> None:
    """Freeze all objects that exist now, before the passes are forked.

    Otherwise the garbage collector of each pass would visit all objects that torch made at import. Its writes to them
    would make the system copy their memory.
    """
    with api.without_overrides():
        _settled.extend(value for value in gc.get_objects() if issubclass(type(value), api.TENSOR_BASE))
    gc.freeze()


class Held:
    """Every tensor that is a Python object now, with its key set: parameters, globals, tensors that closures hold.

    The tensors are kept alive, so that no new tensor gets the address of one. If the expression drops its last
    reference to a tensor, the tensor is not freed.
    """

    def __init__(self) -> None:
        with api.without_overrides():
            tensors = [value for value in gc.get_objects() if issubclass(type(value), api.TENSOR_BASE)]
            tensors += _settled  # gc.get_objects does not list frozen objects
            self.data: list[HeldTensorData] = [
                {"impl": int(t._cdata), "raw": api.raw_key_set(t)} for t in tensors[:MOST_HELD]
            ]
        self._alive = tensors


@dataclass(frozen=True)
class OpenCall:
    """A call that has begun: its site, its number, its marker, and the versions of its tensors.

    `held`: the function and the arguments. Python releases them after the call. They are held until the marker has
    closed, so that code which runs at their release is outside the marker.
    """

    site: int
    number: int
    mark: Any
    versions: list[tuple[Any, int]]
    held: tuple[Any, ...]

    def written(self) -> Iterator[WrittenTensorData]:
        """Yields the tensors that were written to since the call began."""
        with api.without_overrides():
            for tensor, before in self.versions:
                after = api.version(tensor)
                if after is not None and after > before:
                    yield {
                        "tensor": api.kind_and_sizes(tensor),
                        "memory": api.memory(tensor),
                        "before": before,
                        "after": after,
                    }


def integers_of(given: Arguments) -> list[int]:
    """Returns the integers among the arguments, in order: the sizes of view(2, -1) and of reshape(x, (2, -1)).

    Returns [] if there is any other argument beside tensors: then the integers may mean something else.
    """
    integers: list[int] = []
    for _, value in given:
        if issubclass(type(value), api.TENSOR_BASE):
            continue
        items = value if type(value) in (list, tuple, api.SIZE) else (value,)
        if len(items) > INTEGERS or any(type(item) is not int for item in items):
            return []
        integers += items
    return integers


def versions(given: Arguments) -> list[tuple[Any, int]]:
    """Returns the tensors among the arguments, also in a list or tuple, each with its version: how often written to."""
    values = [item for _, value in given for item in (value[:ITEMS] if type(value) in (list, tuple) else (value,))]
    read = {}
    with api.without_overrides():
        for tensor in values:
            version = api.version(tensor) if issubclass(type(tensor), api.TENSOR_BASE) else None
            if version is not None:
                read[id(tensor)] = (tensor, version)
    return list(read.values())


class CallRecorder:
    """Records what the rewritten expression calls. `calls` has one record a step, in the order of execution.

    It is a context manager. Its end closes the markers that an exception left open.
    """

    slice = slice

    def __init__(self, sites: list[CallSite]) -> None:
        self.sites = sites
        self.calls: list[UserCallData] = []
        self.cut = False
        self._pending: list[tuple[int, Any]] = []
        self._keywords: dict[str, Any] = {}
        self._open: list[OpenCall] = []
        self.left: list[int] = []  # numbers of the calls that an exception ended, outermost first
        self.part = ""  # the source of the part that raised, if that part is not a call
        self._kept: dict[int, Any] = {}
        self._alive: list[Any] = []
        self._held = 0
        self.asks_in = 0  # the thread in which the recorder asks a callable or tensor, which may run user code; 0: none

    def __enter__(self) -> CallRecorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.left = [call.number for call in self._open]
        while self._open:
            self._close()

    # --- a call: the expression itself makes the call, between `arguments` and `end` ---

    def callee(self, site: int, function: Any, /) -> Any:
        self._pending.append((site, function))
        return function

    def arguments(self, site: int, /, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        _, function = self._pending.pop()
        self._keywords = kwargs
        given = [*((str(i), a) for i, a in enumerate(args)), *kwargs.items()]
        self._begin(site, lambda: of_builtin(function, args) or of_call(function), given, (function, args, kwargs))
        return args

    def keywords(self) -> dict[str, Any]:
        keywords, self._keywords = self._keywords, {}
        return keywords

    def end(self, site: int, result: Any, /) -> Any:
        if self._open and self._open[-1].site == site:
            self._close()
        return result

    # --- any other step is performed here ---

    def binary(self, site: int, name: str, left: Any, right: Any, /) -> Any:
        return self._operator(site, f"__{name}__", f"__r{name}__", PERFORM[name], left, right)

    def compare(self, site: int, name: str, left: Any, right: Any, /) -> Any:
        return self._operator(site, f"__{name}__", f"__{MIRRORED[name]}__", PERFORM[name], left, right)

    def contains(self, site: int, item: Any, container: Any, /) -> bool:
        given = [("self", container), ("key", item)]
        return bool(self._step(site, of_slot("__contains__", container), given, lambda: item in container))

    def unary(self, site: int, name: str, operand: Any, /) -> Any:
        target = of_slot("__bool__" if name == "not" else f"__{name}__", operand)
        return self._step(site, target, [("self", operand)], lambda: PERFORM[name](operand))

    def item(self, site: int, container: Any, index: Any, /) -> Any:
        given = [("self", container), ("index", index)]
        return self._step(site, of_slot("__getitem__", container), given, lambda: container[index])

    def attribute(self, site: int, owner: Any, name: str, /) -> Any:
        return self._step(site, of_slot(name, owner), [("self", owner)], lambda: getattr(owner, name))

    def keep(self, site: int, value: Any, /) -> Any:
        self._kept[site] = value
        return value

    def kept(self, site: int, /) -> Any:
        return self._kept.pop(site)

    def _operator(self, site: int, name: str, reflected: str, perform: Any, left: Any, right: Any) -> Any:
        target, owner, other = of_operator(name, reflected, left, right)
        return self._step(site, target, [("self", owner), ("other", other)], lambda: perform(left, right))

    def _step(self, site: int, target: CallTargetData | None, given: Arguments, perform: Callable[[], Any]) -> Any:
        if target is None:  # no tensor takes part in this step
            try:
                return perform()
            except BaseException:
                self.part = str(self.sites[site]["source"])
                raise
        self._begin(site, lambda: target, given)
        return self.end(site, perform())

    def _begin(
        self, site: int, target: Callable[[], CallTargetData], given: Arguments, held: tuple[Any, ...] = ()
    ) -> None:
        if len(self.calls) >= CALLS:
            self.cut = True
            return
        number = len(self.calls)
        self.asks_in = threading.get_ident()
        try:
            given = [*_owner(held), *given]
            self.calls.append(self._describe_call(number, self.sites[site], target(), given))
            written_to = versions(given)
        except Exception as error:
            raise Broken(f"the dispatch recorder failed: {error!r}") from error
        finally:
            self.asks_in = 0
        mark = api.marker(f"c:{number}")
        mark.__enter__()
        self._open.append(OpenCall(site, number, mark, written_to, held))

    def _close(self) -> None:
        ended = self._open.pop()
        ended.mark.__exit__(None, None, None)
        self.asks_in = threading.get_ident()
        try:
            with api.without_overrides():
                written = list(ended.written())
        finally:
            self.asks_in = 0
        if written:
            self.calls[ended.number]["written"] = written

    def _describe_call(self, number: int, site: CallSite, target: CallTargetData, given: Arguments) -> UserCallData:
        include, exclude = api.local_sets()
        with api.without_overrides():
            arguments = [tensor for name, value in given for tensor in self._tensors(name, value)]
        call: UserCallData = {
            "call": number,
            "source": site["source"],
            "line": site["line"],
            "col": site["col"],
            "end_col": site["end_col"],
            "syntax": site["syntax"],
            "callable": target,
            "arguments": arguments,
            "tls_include": {"raw": include[0], "keys": include[1]},
            "tls_exclude": {"raw": exclude[0], "keys": exclude[1]},
        }
        level = api.forward_level()
        if level is not None:
            call["forward_level"] = level
        integers = integers_of(given)
        if integers:
            call["integers"] = integers
        return call

    def _tensors(self, name: str, value: Any) -> list[CallArgumentData]:
        """Returns the tensors of one argument, also in a list or tuple, with their key sets."""
        if type(value) in (list, tuple):
            return [a for i, item in enumerate(value[:ITEMS]) for a in self._tensors(f"{name}[{i}]", item)]
        if not issubclass(type(value), api.TENSOR_BASE):
            return []
        raw, names = api.key_set(value)
        return [
            {
                "name": name,
                "description": describe(value),
                "raw": raw,
                "keys": names,
                "impl": api.address(value) if self._hold(value) else None,
                "memory": api.memory(value),
                "requires_grad": bool(value.requires_grad),
            }
        ]

    def _hold(self, tensor: Any) -> bool:
        """Keep the tensor alive, so that no other tensor gets its address. False if HELD bytes are held already."""
        try:
            sizes = tensor.shape
        except RuntimeError:  # a nested tensor has no single shape
            sizes = ()
        # A symbolic size may have no value, and to ask for the value would add a guard to its shape environment.
        size = math.prod(sizes) * tensor.element_size() if all(type(n) is int for n in sizes) else 0
        if self._held + size > HELD:
            return False
        self._held += size
        self._alive.append(tensor)
        return True

    def marked(self) -> dict[str, EventMark]:
        """Returns the data of the markers by name, for the event tree."""
        return {f"c:{c['call']}": {"type": "call", "call": c["call"]} for c in self.calls}


def _owner(held: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """Returns the tensor whose method is called, as an argument named `self`, or no argument."""
    function = held[0] if held else None
    bound = attribute(function, "__self__", WITHOUT) if type(function) is not type else WITHOUT
    return [("self", bound)] if issubclass(type(bound), api.TENSOR_BASE) else []


_BUILTINS = ("builtin_function_or_method", "method_descriptor")
_SLOTS = ("method-wrapper", "wrapper_descriptor")  # how Python shows a type's C functions: a.__setitem__
_FORMS = {"method_descriptor": "method", "wrapper_descriptor": "slot", "getset_descriptor": "attribute"}


def of_call(function: Any) -> CallTargetData:
    """Describe a callable: table and method of a torch builtin, the place of a Python function's code, a class, …"""
    known = api.identify(function) if type(function).__name__ in _BUILTINS else None
    if known is not None:
        table, method = known
        return {"kind": "builtin", "table": table, "method": method, "qualname": api.public_name(table, method)}
    if type(function).__name__ in _SLOTS and function.__objclass__ is api.TENSOR_BASE:
        name = function.__name__
        return {"kind": "slot", "table": "Tensor", "method": name, "qualname": api.public_name("Tensor", name)}
    if not callable(function):  # only its class's name is known: nothing of it runs
        return {"kind": "uncallable", "qualname": api.qualname_of(type(function))}
    if issubclass(type(function), type):
        return {
            "kind": "class",
            "qualname": api.qualname_of(function),
            **_place(api.defined_by(function).get("__init__")),
        }
    named = _bound_by_others(function) or attribute(function, "__qualname__")
    qualname = named if isinstance(named, str) else api.qualname_of(type(function))
    target = function
    if type(function) not in (FunctionType, MethodType):
        # The `__call__` of the type, which is the one that the interpreter uses.
        target = attribute(type(function), "__call__", function)
    place = _place(target.__func__ if type(target) is MethodType else target)
    return {"kind": "python" if place else "other", "qualname": qualname, **place}


def _bound_by_others(function: Any) -> str | None:
    """Returns the name of a builtin whose bound object has no attribute of that name; None for any other function.

    pybind11 binds each function to a record of its own, and Python derives the builtin's `__qualname__` from the
    record's class.
    """
    builtin = function.__func__ if type(function) is MethodType else function
    if type(builtin) is not BuiltinFunctionType:
        return None
    name, holder = builtin.__name__, builtin.__self__
    is_its_own = any(name in api.defined_by(base) for base in api.bases_of(type(holder)))
    if holder is None or type(holder) is ModuleType or issubclass(type(holder), type) or is_its_own:
        return None
    if type(function) is not MethodType:
        return str(name)
    bases = api.bases_of(type(function.__self__))
    owner = next((base for base in bases if name in api.defined_by(base)), type(function.__self__))
    return f"{api.qualname_of(owner)}.{name}"


# Builtins of Python that call a slot of their argument.
THROUGH = ((float, "__float__"), (int, "__int__"), (complex, "__complex__"), (bool, "__bool__"), (len, "__len__"),
           (operator.index, "__index__"))  # fmt: skip


def of_builtin(function: Any, given: tuple[Any, ...]) -> CallTargetData | None:
    """Describe what a Python builtin calls on its only argument, a tensor: float(t) calls t.__float__.

    Returns None for any other call.
    """
    slot = next((name for builtin, name in THROUGH if builtin is function), None)
    target = of_slot(slot, given[0]) if slot is not None and len(given) == 1 else None
    return {**target, "through": function.__name__} if target is not None else None


def of_operator(name: str, reflected: str, left: Any, right: Any) -> tuple[CallTargetData | None, Any, Any]:
    """Find what a binary operator or comparison calls, and its `self` and `other`; None if neither operand is a tensor.

    If the class of the right operand is derived from the left's and overrides the reflected method, the right one is
    called first. A left operand that is not a tensor, say a number, answers NotImplemented to a tensor, and then the
    right one is called. A text that a tensor is formatted into (`"%f" % t`) does not answer so. The answer of
    a Python class is known only from its frame. A tensor answers NotImplemented to an operand of a class that it does
    not take; then the other operand's method is called.
    """
    mine, theirs = type(left), type(right)
    is_tensor = issubclass(mine, api.TENSOR_BASE)
    if is_tensor or issubclass(theirs, api.TENSOR_BASE):
        own = _of_class(reflected, theirs) if is_tensor and not _is_operand(theirs) else None
        own = _of_class(name, mine, written=True) if not is_tensor and not _is_operand(mine) else own
        if own is not None:
            return own, left, right
    if name == "__mod__" and issubclass(mine, (str, bytes, bytearray)):
        return {"kind": "other", "qualname": f"{mine.__name__}.__mod__"}, left, right
    reflects = not is_tensor or (
        mine is not theirs and issubclass(theirs, mine) and _find(theirs, reflected) != _find(mine, reflected)
    )
    return (of_slot(reflected, right), right, left) if reflects else (of_slot(name, left), left, right)


def _is_operand(kind: type) -> bool:
    """Returns whether tensor operators take values of a class: tensors, numbers, a class with `__torch_function__`.

    Source: THPUtils_checkScalar of torch/csrc/utils/python_numbers.h, and check_has_torch_function.
    """
    if issubclass(kind, (api.TENSOR_BASE, *api.NUMBERS)) or _find(kind, "__torch_function__")[0] is not None:
        return True
    return any((api.module_name_of(base), api.qualname_of(base)) == ("numpy", "generic") for base in api.bases_of(kind))


# Classes that compare by identity or not at all: the tensor's answer decides. From Python 3.12 on, the class of None
# has comparison methods of its own.
PLAIN = (object, type(None))


def _of_class(name: str, kind: type, *, written: bool = False) -> CallTargetData | None:
    """Describe the operator method of a class that is not a tensor's; with `written`, only one written in Python.

    A method written in Python may answer NotImplemented, too. So the method gets no name here, only the place that
    identifies its frame.
    """
    base, value = _find(kind, name)
    if base is None or base in PLAIN or value is None:
        return None
    place = _place(value)
    if place:
        return {"kind": "python", **place}
    return {"kind": "other", "qualname": f"{api.qualname_of(kind)}.{name}"} if not written else None


def of_slot(name: str, operand: Any) -> CallTargetData | None:
    """Find what attribute or operator syntax calls on a tensor's type. None if not a tensor, or nothing is found."""
    kind = type(operand)
    if not issubclass(kind, api.TENSOR_BASE):
        return None
    base, value = _find(kind, name)
    if base is None or base is object:
        return None
    owner = "torch.Tensor" if base is api.TENSOR_BASE or api.module_name_of(base) == "torch" else api.qualname_of(base)
    target: CallTargetData = {"method": name, "qualname": f"{owner}.{name}"}
    place = _place(value.fget if isinstance(value, property) else value)
    if place:
        return {"kind": "attribute" if isinstance(value, property) else "python", **target, **place}
    form = _FORMS.get(type(value).__name__, "attribute")
    if form == "method" and value.__objclass__ is api.TENSOR_BASE:
        # A class may define the slot as a method of another name: `__neg__ = _C.TensorBase.neg`.
        return {**target, "kind": form, "table": "Tensor", "method": value.__name__}
    return {"kind": form, "table": "Tensor" if base is api.TENSOR_BASE else None, **target}


def _find(kind: type, name: str) -> tuple[type | None, Any]:
    """Returns the first class of `kind`'s method resolution order that defines `name`, and the value."""
    for base in api.bases_of(kind):
        if name in api.defined_by(base):
            return base, api.defined_by(base)[name]
    return None, None


def attribute(value: Any, name: str, default: Any = None) -> Any:
    """Returns an attribute of any user's object, or the default: its class may raise any error."""
    try:
        return getattr(value, name, default)
    except Exception:
        return default


def _place(function: Any) -> CallTargetData:
    """Returns where a Python function's code begins, as its frame will say; {} if it has no code."""
    code = attribute(function, "__code__")
    return {"file": code.co_filename, "line": code.co_firstlineno} if type(code) is CodeType else {}
