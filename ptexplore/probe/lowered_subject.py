"""The module and the inputs that `ptexplore lower` lowers: of a call of a module, or of any other expression."""

from __future__ import annotations

import ast
import copy
import difflib
import inspect
import linecache
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from . import passes, rung_api
from .expression import EXPRESSION as GIVEN
from .expression import Refused, is_program, parse
from .frames import EXPRESSION
from .raising import Raised
from .reasons import reason
from .values import describe, type_name

if TYPE_CHECKING:
    from .messages import BoundNameData, LoweredSubjectData, RunRequestData


@dataclass(frozen=True)
class Subject:
    """A module, with the inputs of one call. Each rung gets its own copies."""

    module: nn.Module
    given: tuple[Any, ...]
    names: tuple[str, ...]  # of the inputs
    text: str  # the class of the module; "" for an expression
    seed: int

    def copied(self) -> tuple[nn.Module, tuple[Any, ...]]:
        """Return copies of the module and the inputs, which share memory with each other as the originals do."""
        held: dict[int, Any] = {}
        for leaf in rung_api.tree_leaves((self.given, list(api_tensors(self.module)))):
            if isinstance(leaf, torch.Tensor) and not _can_be_copied(leaf):
                held[id(leaf)] = leaf.detach().clone().requires_grad_(leaf.requires_grad)
        module, given = copy.deepcopy((self.module, self.given), held)
        return module, given

    def seeded(self) -> None:
        """Begin the random numbers again: each run draws the same."""
        torch.manual_seed(self.seed)

    def data(self) -> LoweredSubjectData:
        """Return the description of the subject."""
        inputs: list[BoundNameData] = [
            {"name": name, "description": describe(value), "how": "seeded"}
            for name, value in zip(self.names, self.given, strict=True)
        ]
        return {
            "text": self.text,
            "inputs": inputs,
            "parameters": sum(1 for _ in self.module.parameters()),
            "is_training": bool(self.text) and self.module.training,
        }


def _can_be_copied(tensor: torch.Tensor) -> bool:
    """Return whether `deepcopy` takes a tensor: it takes leaves, and no subclass without a copy of its own."""
    return tensor.is_leaf and type(tensor) in (torch.Tensor, nn.Parameter)


def api_tensors(module: nn.Module) -> Iterator[torch.Tensor]:
    """Yield parameters and buffers."""
    yield from module.parameters()
    yield from module.buffers()


def prepared(request: RunRequestData, stack: ExitStack) -> tuple[Subject, list[BoundNameData]]:
    """Return the module with its inputs, and the bound names. The contexts of --with are entered on `stack`.

    Raises Refused for code that cannot be run, Raised if an input raises.
    """
    running = passes.prepared("ladder", request)
    names = running.names
    with passes.stage("context"):
        passes.enter_contexts(stack, running)
    if is_program(request):
        return _of_program(running, request.get("only") or "", int(request.get("seed", 0))), []
    text = request.get("expression") or ""
    tree = parse(text, GIVEN)
    _keep_lines(text)
    seed = int(request.get("seed", 0))
    called = _called_module(tree.body, names.values)
    if called is not None:
        module, given = called
        return Subject(module, given, _input_names(module, given), type_name(module), seed), names.bound
    return _wrapped(text, tree, names.values, [entry["name"] for entry in names.bound], seed), names.bound


class _Reached(BaseException):
    """The program calls the wanted module. Code of the program that handles errors does not handle this one."""

    def __init__(self, module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        super().__init__()
        self.module, self.given, self.named = module, given, dict(named)


def _of_program(running: passes.Pass, only: str, seed: int) -> Subject:
    """Run the program until it calls a module of this class or path, and return the module with these inputs.

    Raises Raised if the program raises before, Refused if it ends without such a call.
    """
    paths: dict[int, str] = {}
    called: dict[str, None] = {}

    def looks(module: nn.Module, given: tuple[Any, ...]) -> None:
        if id(module) not in paths:  # an outermost module
            paths.update((id(inner), path) for path, inner in module.named_modules())
        names = (type(module).__qualname__, type_name(module), paths[id(module)])
        called.update(dict.fromkeys(name for name in names if name))
        if only in names:
            raise _Reached(module, given, _named_inputs(sys._getframe(1)))

    hook = nn.modules.module.register_module_forward_pre_hook(looks)
    try:
        running.evaluate()
    except _Reached as reached:
        given = _positional(reached.module, reached.given, reached.named)
        return Subject(reached.module, given, _input_names(reached.module, given), type_name(reached.module), seed)
    except SystemExit:
        pass  # as at the end of the program
    except BaseException as error:
        raise Raised("script", error) from error
    finally:
        hook.remove()
    raise Refused("only", reason("module-not-called", name=only), close=difflib.get_close_matches(only, called, 4, 0.3))


def _named_inputs(frame: FrameType | None) -> Mapping[str, Any]:
    """Return the inputs that a module is called with by name: torch gives a hook for all modules only the others."""
    for _ in range(3):
        if frame is not None and isinstance(frame.f_locals.get("kwargs"), dict):
            return dict(frame.f_locals["kwargs"])
        frame = frame.f_back if frame is not None else None
    return {}


def _keep_lines(code: str) -> None:
    """Keep the code of the expression where `inspect` and tracebacks look for it."""
    linecache.cache[EXPRESSION] = (len(code), None, code.splitlines(keepends=True), EXPRESSION)


def _called_module(body: ast.expr, values: dict[str, Any]) -> tuple[nn.Module, tuple[Any, ...]] | None:
    """Return the module and its inputs, if the expression is one call of a module. Raises Raised."""
    if not isinstance(body, ast.Call):
        return None
    try:
        function = eval(compile(ast.fix_missing_locations(ast.Expression(body.func)), EXPRESSION, "eval"), values)
        if not isinstance(function, nn.Module):
            return None
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[],
                                vararg=ast.arg("given"), kwarg=ast.arg("named"))  # fmt: skip
        both = ast.Tuple([ast.Name("given", ast.Load()), ast.Name("named", ast.Load())], ast.Load())
        gather = ast.Call(ast.Lambda(nothing, both), body.args, body.keywords)
        tree = ast.fix_missing_locations(ast.Expression(ast.copy_location(gather, body)))
        given, named = eval(compile(tree, EXPRESSION, "eval"), values)
    except BaseException as error:
        raise Raised("expression", error) from error
    return function, _positional(function, given, named)


def _positional(module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return all inputs by position. Raises Refused if one can be given by name only."""
    if not named:
        return tuple(given)
    try:
        bound = inspect.signature(module.forward).bind(*given, **named)
    except TypeError as error:
        raise Raised("expression", error) from error
    if any(name in bound.kwargs for name in named):
        only = next(name for name in named if name in bound.kwargs)
        parameters = list(inspect.signature(module.forward).parameters.values())
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        if all(parameter.kind in by_position for parameter in parameters):
            bound.apply_defaults()
            return tuple(bound.arguments.values())
        raise Refused("input", reason("input-by-name", name=only))
    return tuple(bound.args)


def _input_names(module: nn.Module, given: Sequence[Any]) -> tuple[str, ...]:
    try:
        known = list(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):
        known = []
    return tuple(known[number] if number < len(known) else f"input {number}" for number in range(len(given)))


def _wrapped(text: str, tree: ast.Expression, values: dict[str, Any], bound: Sequence[str], seed: int) -> Subject:
    """Return a module whose forward is the expression. Names of tensors are its inputs, and modules are part of it."""
    inputs = [
        name for name in bound if any(isinstance(leaf, torch.Tensor) for leaf in rung_api.tree_leaves(values[name]))
    ]
    modules = [name for name in bound if isinstance(values[name], nn.Module)]
    inside = text.strip()
    for node in sorted(_uses(tree, modules), key=lambda node: (-node.lineno, -node.col_offset)):
        lines = inside.split("\n")
        line = lines[node.lineno - 1].encode()
        lines[node.lineno - 1] = (line[: node.col_offset] + b"self." + line[node.col_offset :]).decode()
        inside = "\n".join(lines)
    # One line before the expression's own first line would move all lines.
    code = f"def forward(self{''.join(f', {name}' for name in inputs)}): return ({inside}\n)"
    _keep_lines(code)
    module = nn.Module.__new__(type("Expression", (nn.Module,), {"__module__": values.get("__name__", "")}))
    nn.Module.__init__(module)
    for name in modules:
        module.add_module(name, values[name])
    made: dict[str, Any] = {}
    exec(compile(code, EXPRESSION, "exec"), values, made)
    type(module).forward = made["forward"]
    return Subject(module, tuple(values[name] for name in inputs), tuple(inputs), "", seed)


def _uses(tree: ast.Expression, names: Sequence[str]) -> Iterator[ast.Name]:
    """Yield the places of an expression that name a module."""
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in names)
