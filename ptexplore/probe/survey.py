"""PyTorch's own OpInfo samples, one operator after another: each runs untraced, and then through every pass.

Handles `work: "survey"`. Each line of stdin asks for an operator, and maybe for something to put its sample inside
(`WAYS`). The results are sent as the messages of a trace, with "plain" before and "done" after them.
`torch.testing._internal.common_methods_invocations` is a private module of torch, and part of its wheel. If it cannot
be imported, "no-samples" says why.
"""

from __future__ import annotations

import gc
import itertools
import json
import math
import random
import re
import string
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from . import autograd, passes
from . import torch_api as api
from .expression import Refused, text_of
from .isolate import Channel, isolated
from .raising import Raised
from .reasons import reason
from .trace import encoded, pass_on
from .values import describe, tensors

if TYPE_CHECKING:
    from .messages import (
        NoSampleData,
        NoSamplesData,
        RunBeginsData,
        RunRequestData,
        SampleInsideData,
        SampleToldData,
        SurveyAskedData,
        SurveyDoneData,
        SurveyOperatorsData,
    )
    from .reasons import Said

    SampleTold = SampleToldData | NoSampleData

WHOLE = 3_000_000, 250_000  # instructions stepped in a whole expression, and how many of them singly (see native)
TRIES = 5  # samples to try, the smallest first, before an operator counts as one without samples
TEXT = 200  # characters kept of an error's own message
DTYPES = (torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64)
SPELLABLE = (bool, int, str, type(None), torch.dtype, torch.layout, torch.memory_format)  # values that can be spelt
SPELT = 16  # items of a list that are spelled out
CALLS = 6  # operator calls to step in a sample that is put inside something, if stepping all of it is too much
BATCH = 2  # how often a tensor of a sample is stacked for vmap
AROUND = """\
class Around(torch.autograd.Function):
    @staticmethod
    def forward(ctx, {names}):
        return {expression}
"""

# The code of the reason why torch refuses a sample inside something, by the text of the error. No match: the error's
# text is the reason.
REFUSALS = {
    "no-batching-rule-inside": r"hit the vmap fallback|[Bb]atching rule not implemented|not yet have a batching rule|"
    r"do not yet support|isn't supported yet",
    "data-decide": r"dynamic shape|differently shaped|\.item\(\) on a Tensor|data-dependent|"
    r"explicit positive num_classes",
    "result-no-tensor": r"can be output from traced functions",
}
OPERATOR = re.compile(r"\baten::[\w.]+\w|\btorch\.\w[\w.]*\w")

RunPasses = Callable[["RunRequestData"], None]


def written(op: Any, number: int, dtype: torch.dtype, request: RunRequestData) -> tuple[str, dict[str, Any]]:
    """Return a sample of an operator as an expression, and the values of its names, made anew for each evaluation.

    Making a sample runs operators, which may start threads. So this runs only in a child that no longer forks.
    """
    sample = next(itertools.islice(samples(op, dtype, request), number, None))
    values = _Written()
    callee = public_name(op) or values.name("f", op.op)
    given = [values.text(value) for value in (sample.input, *sample.args)]
    given += [f"{name}={values.text(value)}" for name, value in sample.kwargs.items()]
    return f"{callee}({', '.join(given)})", values.values


@dataclass(frozen=True)
class PutInside:
    """An expression around a sample's expression, with the values of its names, and the code that must run before."""

    expression: str
    values: dict[str, Any]
    setup: tuple[str, ...] = ()
    grad: bool = False


def mapped(expression: str, values: dict[str, Any]) -> PutInside:
    """Put the sample under vmap, over all of its tensors: each is stacked."""
    names = _tensor_names(values)
    stacked = {name: torch.stack([values[name]] * BATCH) for name in names}
    given = ", ".join(names)
    text = f"torch.func.vmap(lambda {given}: {expression}, randomness='different')({given})"
    return PutInside(text, {**values, **stacked})


def jit_traced(expression: str, values: dict[str, Any]) -> PutInside:
    """Put the sample under torch.jit.trace. Each of its tensors is an input."""
    given = ", ".join(_tensor_names(values))
    return PutInside(f"torch.jit.trace(lambda {given}: {expression}, ({given},), check_trace=False)", values)


def in_function(expression: str, values: dict[str, Any]) -> PutInside:
    """Make the sample the forward of an autograd Function, with requires_grad on each tensor that allows it."""
    given = ", ".join(_tensor_names(values))
    return PutInside(f"Around.apply({given})", values, (AROUND.format(names=given, expression=expression),), True)


WAYS: dict[str, Callable[[str, dict[str, Any]], PutInside]] = {
    "vmap": mapped,
    "jit.trace": jit_traced,
    "Function": in_function,
}


def _tensor_names(values: dict[str, Any]) -> list[str]:
    return [name for name, value in values.items() if issubclass(type(value), torch.Tensor)]


class _Written:
    """Values as Python spells them; a value that Python cannot spell gets a name."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        letters = [letter for letter in string.ascii_lowercase if letter != "f"]
        self._free = itertools.chain(letters, (f"{a}{n}" for n in itertools.count(1) for a in letters))

    def name(self, name: str | None, value: Any) -> str:
        """Return the name of a value: always the same name for the same value."""
        if id(value) not in self._names:
            self._names[id(value)] = name or next(self._free)
            self.values[self._names[id(value)]] = value
        return self._names[id(value)]

    def text(self, value: Any, depth: int = 3) -> str:
        kind = type(value)
        if kind in SPELLABLE or (kind is float and math.isfinite(value)):
            return repr(value)
        if kind in (list, tuple) and depth and len(value) <= SPELT:
            inner = ", ".join(self.text(item, depth - 1) for item in value)
            return f"[{inner}]" if kind is list else f"({inner}{',' if len(value) == 1 else ''})"
        return self.name(None, value)


def samples(op: Any, dtype: torch.dtype, request: RunRequestData) -> Iterator[Any]:
    """Yield the operator's samples on the CPU, always from the same state of every source of random numbers."""
    seed = int(request["seed"])
    random.seed(seed)
    torch.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    yield from op.sample_inputs("cpu", dtype, requires_grad=bool(request["backward"]))


def public_name(op: Any) -> str | None:
    """Return the name by which users call the operator; None if OpInfo calls it through a function of its own."""
    named = op.op.name() if isinstance(op.op, torch._ops.OpOverload) else ""
    overload = str(getattr(op.op, "_qualified_op_name", "")) or named
    for name in (f"torch.{op.name}", f"torch.Tensor.{op.name}", f"torch.ops.{overload.replace('::', '.')}"):
        value: Any = torch
        for part in name.split(".")[1:]:
            value = getattr(value, part, None)
        if value is op.op:
            return name
    return None


def serve(request: RunRequestData, channel: Channel, run_passes: RunPasses) -> None:
    """Send the names of all operators, then survey the requested ones until stdin ends."""
    gc.disable()  # everything made here stays, and a search for garbage takes a fifth of the time
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as error:
        lacking: NoSamplesData = {"type": "no-samples", "module": error.name, "message": str(error)}
        channel.send(lacking)
        return
    finally:
        gc.enable()
    known = {op.full_name: op for op in op_db}
    named: SurveyOperatorsData = {"type": "operators", "names": list(known)}
    channel.send(named)
    for line in sys.stdin.buffer:
        asked: SurveyAskedData = json.loads(line)
        _survey(known[asked["op"]], asked, request, channel, run_passes)
        done: SurveyDoneData = {"type": "done", "op": asked["op"]}
        channel.send(done)


def _survey(op: Any, asked: SurveyAskedData, request: RunRequestData, channel: Channel, run_passes: RunPasses) -> None:
    """Survey one operator, with its sample or a sample inside something: untraced in a child, then in the passes."""
    begins: RunBeginsData = {"type": "begin", "recorder": "plain"}
    channel.send(begins)
    inside = asked["inside"]
    outcome = isolated(
        lambda: encoded(lambda: _plain(op, request) if inside is None else _plain_inside(op, inside, request), "plain"),
        channel.descriptor,
    )
    plain = json.loads(outcome.answer) if pass_on("plain", outcome, channel) else {}
    if plain.get("type") != "plain":
        return
    number, dtype = plain["sample"], getattr(torch, plain["dtype"])
    if inside is None:
        made = partial(written, op, number, dtype, request)
        run_passes({**request, "expression": plain["expression"], "sample": made, "whole": WHOLE})
    else:
        again = partial(_made_inside, inside["way"], op, number, dtype, request)
        run_passes(
            {
                **request,
                "expression": plain["expression"],
                "setup": plain["setup"],
                "grad": plain["grad"],
                "whole": WHOLE,
                "calls": CALLS,
                "unlocated": inside["way"] == "jit.trace",
                "sample": again,
            }
        )


def _inside(way: str, op: Any, number: int, dtype: torch.dtype, request: RunRequestData) -> PutInside:
    return WAYS[way](*written(op, number, dtype, request))


def _made_inside(
    way: str, op: Any, number: int, dtype: torch.dtype, request: RunRequestData
) -> tuple[str, dict[str, Any]]:
    """Return the same as `written` for a sample that is put inside something."""
    inside = _inside(way, op, number, dtype, request)
    return inside.expression, inside.values


def _plain_inside(op: Any, asked: SampleInsideData, request: RunRequestData) -> SampleTold:
    """Evaluate a sample inside something, without recorders. If torch refuses it, return the reason."""
    way, number, dtype = asked["way"], asked["sample"], getattr(torch, asked["dtype"])
    if not _tensor_names(written(op, number, dtype, request)[1]):
        return _no_sample(reason("no-tensor-in-sample"))
    try:
        inside = _inside(way, op, number, dtype, request)
        changed: RunRequestData = {
            **request,
            "expression": inside.expression,
            "setup": inside.setup,
            "grad": inside.grad,
            "sample": partial(_made_inside, way, op, number, dtype, request),
        }
        with api.without_vmap_fallback():
            result = _evaluated(changed)
    except (Refused, Raised):
        raise
    except Exception as error:
        return _no_sample(refusal(text_of(error), type(error).__name__))
    given, mark = result
    return {
        "type": "plain",
        "sample": number,
        "dtype": asked["dtype"],
        "expression": inside.expression,
        "setup": inside.setup,
        "grad": inside.grad,
        "result": given,
        "fingerprint": mark,
    }


def _no_sample(why: Said) -> NoSampleData:
    return {"type": "no-sample", "told": why}


def refusal(text: str, kind: str) -> Said:
    """Return why torch refuses a sample inside something: the sort of reason, and the operator or the error's text."""
    first = text.strip().split("\n")[0][:TEXT]
    for code, pattern in REFUSALS.items():
        if re.search(pattern, text):
            operator = OPERATOR.search(first)
            return reason("refused-inside", sort=reason(code), particulars=operator[0] if operator else "")
    return reason("refused-inside", sort=reason("raises-inside", exception=kind), particulars=first)


def _plain(op: Any, request: RunRequestData) -> SampleTold:
    """Evaluate the smallest possible sample without recorders: return the expression and the digest of the result."""
    dtype, why = _dtype(op, request["backward"])
    if dtype is None:
        return _no_sample(why)
    why = reason("no-sample-given")
    for number in _smallest_first(op, dtype, request)[:TRIES]:
        try:
            made = partial(written, op, number, dtype, request)
            expression = made()[0]
            result, mark = _evaluated({**request, "expression": expression, "sample": made})
        except Exception as error:
            text = text_of(error).strip().split("\n")[0][:TEXT]
            why = reason("samples-raise", exception=type(error).__name__, message=text)
        else:
            kind = str(dtype).removeprefix("torch.")
            return {
                "type": "plain",
                "sample": number,
                "dtype": kind,
                "expression": expression,
                "result": result,
                "fingerprint": mark,
            }
    return _no_sample(why)


def _dtype(op: Any, backward: bool) -> tuple[torch.dtype | None, Said]:
    """Return the dtype for the samples, the most usual first, or None; and the reason for None."""
    if backward and not op.supports_autograd:
        return None, reason("no-backward-of")
    supported = op.supported_backward_dtypes("cpu") if backward else op.supported_dtypes("cpu")
    dtype = next((dtype for dtype in (*DTYPES, *sorted(supported, key=str)) if dtype in supported), None)
    return dtype, reason("no-dtype-named", backward=backward)


def _smallest_first(op: Any, dtype: torch.dtype, request: RunRequestData) -> list[int]:
    """Return the numbers of the samples by size. Samples with an empty tensor come last, because they run no loop."""
    order: list[tuple[bool, int, int]] = []
    for number, sample in enumerate(samples(op, dtype, request)):
        sizes = [tensor.numel() for tensor in tensors([sample.input, sample.args, sample.kwargs])]
        order.append((0 in sizes, sum(sizes), number))
    return [number for _, _, number in sorted(order)]


def _evaluated(request: RunRequestData) -> tuple[str, str | None]:
    """Return a description of the result of a sample, and a digest of it."""
    evaluation = passes.prepared("plain", request)
    result = evaluation.evaluate()
    if request["backward"]:
        autograd.backward(autograd.roots(result))
    return describe(result), evaluation.names.digest(result)
