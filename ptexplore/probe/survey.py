"""PyTorch's own OpInfo samples, one operator after another, each run untraced and then through every pass.

Works for `work: "survey"`: names of operators come in on stdin, one a line; what becomes of each goes out as the
messages of a trace, with "plain" before and "done" after them. `torch.testing._internal.common_methods_invocations`
is a private module of torch, shipped in its wheel; where it cannot be imported, "no-samples" says why.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import string
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import answers, autograd, isolate, names
from .syntax import parse
from .values import describe

PATIENCE = 12.0  # seconds of stepping that are projected for a whole expression; what it takes is less
TRIES = 5  # samples that are tried, the smallest first, before an operator counts as one without
TEXT = 200  # characters kept of an error's own message
DTYPES = (torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64)
TOLD = (bool, int, str, type(None), torch.dtype, torch.layout, torch.memory_format)  # what an expression can spell
SPELT = 16  # items of a list that are spelt out

Send = Callable[[dict[str, Any]], None]


class Sample:
    """One sample of one operator, made anew each time it is asked for: every evaluation gets fresh inputs.

    Making one runs operators, which may start threads: only ever in a child that forks no more.
    """

    def __init__(self, op: Any, number: int, dtype: torch.dtype, request: dict[str, Any]) -> None:
        self.op = op
        self.number = number
        self.dtype = dtype
        self.seed = int(request["seed"])
        self.grad = bool(request["backward"])

    def names(self) -> dict[str, Any]:
        """What the expression's names stand for."""
        return self.written()[1]

    def written(self) -> tuple[str, dict[str, Any]]:
        """The expression, and what its names stand for."""
        made = samples(self.op, self.dtype, self.grad, self.seed)
        one = next(itertools.islice(made, self.number, None))
        written = _Written()
        callee = public_name(self.op) or written.name("f", self.op.op)
        given = [written.text(value) for value in (one.input, *one.args)]
        given += [f"{name}={written.text(value)}" for name, value in one.kwargs.items()]
        return f"{callee}({', '.join(given)})", written.values


class _Written:
    """Values as Python would spell them; what it cannot spell gets a name."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        letters = [letter for letter in string.ascii_lowercase if letter != "f"]
        self._free = itertools.chain(letters, (f"{a}{n}" for n in itertools.count(1) for a in letters))

    def name(self, name: str | None, value: Any) -> str:
        """The name that stands for a value: one alone, however often it is given."""
        if id(value) not in self._names:
            self._names[id(value)] = name or next(self._free)
            self.values[self._names[id(value)]] = value
        return self._names[id(value)]

    def text(self, value: Any, depth: int = 3) -> str:
        kind = type(value)
        if kind in TOLD or (kind is float and math.isfinite(value)):
            return repr(value)
        if kind in (list, tuple) and depth and len(value) <= SPELT:
            inner = ", ".join(self.text(item, depth - 1) for item in value)
            return f"[{inner}]" if kind is list else f"({inner}{',' if len(value) == 1 else ''})"
        return self.name(None, value)


def samples(op: Any, dtype: torch.dtype, grad: bool, seed: int) -> Iterator[Any]:
    """The operator's samples on the CPU, from one state of every source of random numbers."""
    random.seed(seed)
    torch.manual_seed(seed)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)
    yield from op.sample_inputs("cpu", dtype, requires_grad=grad)


def public_name(op: Any) -> str | None:
    """What one writes to call the operator; None where OpInfo calls it through a function of its own."""
    overload = str(getattr(op.op, "_qualified_op_name", "")) or _overload(op.op)
    for name in (f"torch.{op.name}", f"torch.Tensor.{op.name}", f"torch.ops.{overload.replace('::', '.')}"):
        value: Any = torch
        for part in name.split(".")[1:]:
            value = getattr(value, part, None)
        if value is op.op:
            return name
    return None


def _overload(op: Any) -> str:
    return str(op.name()) if isinstance(op, torch._ops.OpOverload) else ""


def serve(request: dict[str, Any], channel: Any, run_passes: Callable[[dict[str, Any]], None]) -> None:
    """Say which operators there are, then survey those that are asked for, until stdin ends."""
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as error:
        channel.send({"type": "no-samples", "module": error.name, "message": str(error)})
        return
    known = {op.full_name: op for op in op_db}
    channel.send({"type": "operators", "names": list(known)})
    for line in sys.stdin.buffer:
        name = json.loads(line)
        _survey(known[name], request, channel, run_passes)
        channel.send({"type": "done", "op": name})


def _survey(op: Any, request: dict[str, Any], channel: Any, run_passes: Callable[[dict[str, Any]], None]) -> None:
    """One operator: untraced in a child of its own, then the passes."""
    channel.send({"type": "begin", "recorder": "plain"})
    outcome = isolate.isolated(lambda: answers.encoded(lambda: _plain(op, request), "plain"), channel.descriptor)
    if outcome.signal is not None or not outcome.answer.endswith(b"\n"):
        how = {"signal": outcome.signal, "exit": outcome.exit_code}
        channel.send({"type": "died", "recorder": "plain", **how})
        return
    channel.pass_on(outcome.answer)
    told = json.loads(outcome.answer)
    if told["type"] == "plain":
        sample = Sample(op, told["sample"], getattr(torch, told["dtype"]), request)
        asked = {**request, "expression": told["expression"], "sample": sample.names, "patience": PATIENCE}
        run_passes(asked)


def _plain(op: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Evaluate the smallest sample that can be, with nothing looking on: the expression and the result's digest."""
    dtype, why = _dtype(op, request["backward"])
    if dtype is None:
        return {"type": "no-sample", "why": why}
    why = "its OpInfo gives no sample for the CPU"
    for number in _smallest_first(op, dtype, request)[:TRIES]:
        sample = Sample(op, number, dtype, request)
        try:
            expression = sample.written()[0]
            found = _evaluated({**request, "expression": expression, "sample": sample.names})
        except Exception as error:
            said = names.text_of(error).strip().split("\n")[0][:TEXT]
            why = f"its samples raise untraced too: {type(error).__name__}: {said}"
        else:
            kind = str(dtype).removeprefix("torch.")
            return {"type": "plain", "sample": number, "dtype": kind, "expression": expression, **found}
    return {"type": "no-sample", "why": why}


def _dtype(op: Any, backward: bool) -> tuple[torch.dtype | None, str]:
    """The kind of number to take samples of, the most usual first; None and why where there is none."""
    if backward and not op.supports_autograd:
        return None, "its OpInfo says that it has no backward"
    supported = op.supported_backward_dtypes("cpu") if backward else op.supported_dtypes("cpu")
    for dtype in (*DTYPES, *sorted(supported, key=str)):
        if dtype in supported:
            return dtype, ""
    return None, f"its OpInfo names no dtype for {'a backward on ' if backward else ''}the CPU"


def _smallest_first(op: Any, dtype: torch.dtype, request: dict[str, Any]) -> list[int]:
    """The samples' numbers by how many elements their tensors have; last those with an empty one, which run no loop."""
    found: list[tuple[bool, int, int]] = []
    for number, one in enumerate(samples(op, dtype, request["backward"], int(request["seed"]))):
        sizes = [tensor.numel() for tensor in autograd.tensors([one.input, one.args, one.kwargs])]
        found.append((0 in sizes, sum(sizes), number))
    return [number for _, _, number in sorted(found)]


def _evaluated(request: dict[str, Any]) -> dict[str, Any]:
    tree = parse(request["expression"], "the expression")
    space = names.Namespace(request)
    space.fill(tree)
    result = eval(compile(tree, "<expression>", "eval"), space.values)
    if request["backward"]:
        autograd.backward(autograd.roots(result))
    return {"result": describe(result), "fingerprint": space.digest(result)}
