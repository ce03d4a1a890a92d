"""Record what the user's own expression calls: the callable, its arguments' key sets and the thread-local sets.

probe/rewrite.py hands each step to this recorder, which reads what the dispatcher will see, opens a marker
in the profiler's tree, and lets the step happen.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from . import callables
from . import torch_api as api
from .rewrite import rewrite as rewritten
from .values import describe

HELPER = "__ptexplore__"
ITEMS = 256  # tensors told of one list argument
CALLS = 10_000  # calls told of one expression
HELD = 1 << 30  # bytes of argument tensors kept alive, so that no other tensor takes their address

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


class Broken(BaseException):
    """A fault of the recorder's own: never to be taken for one of the expression's."""


class CallRecorder:
    """What the rewritten expression calls. `calls` holds one record a step, in order of execution.

    A context manager: leaving it closes the markers that an exception left open.
    """

    slice = slice

    def __init__(self, sites: list[dict[str, Any]]) -> None:
        self.sites = sites
        self.calls: list[dict[str, Any]] = []
        self.cut = False
        self._pending: list[tuple[int, Any]] = []
        self._keywords: dict[str, Any] = {}
        self._open: list[tuple[int, Any]] = []
        self._kept: dict[int, Any] = {}
        self._alive: list[Any] = []
        self._held = 0

    def __enter__(self) -> CallRecorder:
        return self

    def __exit__(self, *_: object) -> None:
        while self._open:
            self._close()

    # --- a call: the expression itself makes it, between `arguments` and `end` ---

    def callee(self, site: int, function: Any, /) -> Any:
        self._pending.append((site, function))
        return function

    def arguments(self, site: int, /, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        _, function = self._pending.pop()
        self._keywords = kwargs
        bound = callables.attribute(function, "__self__", WITHOUT) if type(function) is not type else WITHOUT
        owner = [("self", bound)] if issubclass(type(bound), api.TENSOR_BASE) else []
        given = [*owner, *((str(i), a) for i, a in enumerate(args)), *kwargs.items()]
        self._begin(site, lambda: callables.of_call(function), given)
        return args

    def keywords(self) -> dict[str, Any]:
        found, self._keywords = self._keywords, {}
        return found

    def end(self, site: int, result: Any, /) -> Any:
        if self._open and self._open[-1][0] == site:
            self._close()
        return result

    # --- everything else is performed here ---

    def binary(self, site: int, name: str, left: Any, right: Any, /) -> Any:
        return self._operator(site, f"__{name}__", f"__r{name}__", PERFORM[name], left, right)

    def compare(self, site: int, name: str, left: Any, right: Any, /) -> Any:
        return self._operator(site, f"__{name}__", f"__{MIRRORED[name]}__", PERFORM[name], left, right)

    def contains(self, site: int, item: Any, container: Any, /) -> bool:
        target = callables.of_slot("__contains__", container)
        return bool(self._step(site, target, [("self", container), ("key", item)], lambda: item in container))

    def unary(self, site: int, name: str, operand: Any, /) -> Any:
        target = callables.of_slot("__bool__" if name == "not" else f"__{name}__", operand)
        return self._step(site, target, [("self", operand)], lambda: PERFORM[name](operand))

    def item(self, site: int, container: Any, index: Any, /) -> Any:
        target = callables.of_slot("__getitem__", container)
        return self._step(site, target, [("self", container), ("index", index)], lambda: container[index])

    def attribute(self, site: int, owner: Any, name: str, /) -> Any:
        return self._step(site, callables.of_slot(name, owner), [("self", owner)], lambda: getattr(owner, name))

    def keep(self, site: int, value: Any, /) -> Any:
        self._kept[site] = value
        return value

    def kept(self, site: int, /) -> Any:
        return self._kept.pop(site)

    def _operator(self, site: int, name: str, reflected: str, perform: Any, left: Any, right: Any) -> Any:
        target, owner, other = callables.of_operator(name, reflected, left, right)
        return self._step(site, target, [("self", owner), ("other", other)], lambda: perform(left, right))

    def _step(self, site: int, target: dict[str, Any] | None, given: Arguments, perform: Callable[[], Any]) -> Any:
        if target is None:  # no tensor has a part in this
            return perform()
        self._begin(site, lambda: target, given)
        result = perform()
        return self.end(site, result)

    def _begin(self, site: int, target: Callable[[], dict[str, Any]], given: Arguments) -> None:
        if len(self.calls) >= CALLS:
            self.cut = True
            return
        number = len(self.calls)
        try:
            self.calls.append({"call": number, **self.sites[site], "callable": target(), **self._state(given)})
        except Exception as error:
            raise Broken(f"the dispatch recorder failed: {error!r}") from error
        mark = api.marker(f"c:{number}")
        mark.__enter__()
        self._open.append((site, mark))

    def _close(self) -> None:
        self._open.pop()[1].__exit__(None, None, None)

    def _state(self, given: Arguments) -> dict[str, Any]:
        include, exclude = api.local_sets()
        with api.without_overrides():
            arguments = [found for name, value in given for found in self._tensors(name, value)]
        return {
            "arguments": arguments,
            "tls_include": {"raw": include[0], "keys": include[1]},
            "tls_exclude": {"raw": exclude[0], "keys": exclude[1]},
        }

    def _tensors(self, name: str, value: Any) -> list[dict[str, Any]]:
        """The tensors of one argument, itself or in a list or tuple, with their key sets."""
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
                "requires_grad": bool(value.requires_grad),
            }
        ]

    def _hold(self, tensor: Any) -> bool:
        """Keep the tensor alive, so that its address stays its own; False when too much is held already."""
        try:
            size = math.prod(int(n) for n in tensor.shape) * tensor.element_size()
        except RuntimeError:  # a nested tensor has no one shape
            size = 0
        if self._held + size > HELD:
            return False
        self._held += size
        self._alive.append(tensor)
        return True

    def marked(self) -> dict[str, dict[str, Any]]:
        """The markers' data, for the event tree."""
        return {f"c:{c['call']}": {"type": "call", "call": c["call"]} for c in self.calls}


def rewrite(tree: ast.Expression, source: str) -> tuple[ast.Expression, CallRecorder]:
    """The instrumented expression and the recorder that its namespace must hold under HELPER."""
    changed, sites = rewritten(tree, source, HELPER)
    return changed, CallRecorder(sites)
