"""Run one pass: bind names, evaluate the expression under one recorder, and say what was seen as plain data."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import torch

from . import dispatch, events, frames
from . import torch_api as api
from .names import Namespace, Refused, check_attributes, describe, parse

GRAPH_LIMIT = 20_000  # autograd nodes told of one result

Observations = list[dict[str, Any]]


class Raised(Exception):
    """The user's own code raised; `stage` says where: "expression", "backward", "script", "context"."""

    def __init__(self, stage: str, error: BaseException) -> None:
        super().__init__(str(error))
        self.stage = stage
        self.error = error


def run(recorder: str, request: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
    """One pass in this process. `recorder`: "ops", "frames", "dispatch", or "once" for all in one.

    Returns bound names, the result's description and the observations. Raises Refused or Raised.
    """
    tree = parse(request["expression"], "the expression") if request.get("script") is None else None
    names = Namespace(request)
    names.fill(tree)
    if tree is not None:
        check_attributes(tree, names.values)
    evaluate, calls = _evaluator(recorder, request, names, tree)
    found: Observations = []
    result = _observe(recorder, request, names, evaluate, calls, found)
    if calls is not None:
        # The calls come first: events refer to them.
        found[:0] = [{"recorder": "dispatch", "kind": "call", "data": c} for c in calls.calls]
    if recorder in ("ops", "once"):
        found += _tables(found, known)
    return {"bound": names.bound, "result": result, "observations": found}


def _evaluator(
    recorder: str, request: dict[str, Any], names: Namespace, tree: ast.Expression | None
) -> tuple[Callable[[], Any], dispatch.Recorder | None]:
    if tree is None:
        return lambda: _script(request), None
    calls = None
    if recorder in ("dispatch", "once"):
        source = request["expression"].strip()
        tree, calls = dispatch.rewrite(tree, source)
        names.values[dispatch.HELPER] = calls
    code = compile(tree, "<expression>", "eval")
    return lambda: eval(code, names.values), calls


def _script(request: dict[str, Any]) -> None:
    """Run a script as Python would: its folder first on sys.path, its name __main__, its own arguments empty."""
    import os
    import runpy

    script = request["script"]
    sys.argv = [script]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    runpy.run_path(script, run_name="__main__")


def _observe(
    recorder: str,
    request: dict[str, Any],
    names: Namespace,
    evaluate: Callable[[], Any],
    calls: dispatch.Recorder | None,
    found: Observations,
) -> dict[str, Any]:
    """Evaluate under the profiler (and the frame hook), then read the trees into `found`."""
    user_files = (request["script"],) if request.get("script") else ()
    with_frames = recorder in ("frames", "once")
    hook = frames.recording(user_files) if with_frames else nullcontext(None)
    with ExitStack() as stack:
        _enter_contexts(stack, request, names)
        profile = api.profiler()
        with profile, hook as seen, calls or nullcontext():
            result = _evaluate(evaluate, "script" if request.get("script") else "expression")
            if request["backward"]:
                _backward(result)
        graph = _graph(result) if recorder in ("ops", "once") else []
        described = {"type": f"{type(result).__module__}.{type(result).__qualname__}", "description": describe(result)}
    marked = dict(seen.marked) if seen is not None else {}
    if calls is not None:
        marked |= calls.marked()
    tree, cut = events.collect(profile, marked)
    for name in _recorders(recorder):
        found += [{"recorder": name, "kind": "event", "data": e} for e in _of(tree, name)]
    found += [{"recorder": "ops", "kind": "graph", "data": g} for g in graph]
    if cut or (seen is not None and seen.cut) or (calls is not None and calls.cut):
        found.append(
            {"recorder": recorder, "kind": "cut", "data": {"text": "the run was longer than the recorder keeps"}}
        )
    return described


def _recorders(recorder: str) -> tuple[str, ...]:
    """A single run speaks for all three recorders: the same events, each with the markers it is about."""
    return ("ops", "frames", "dispatch") if recorder == "once" else (recorder,)


def _of(tree: list[dict[str, Any]], recorder: str) -> Iterator[dict[str, Any]]:
    """The events that concern one recorder; others' markers are taken out and their children hoisted."""
    foreign = {"ops": ("frame", "builtin", "call"), "frames": ("call",), "dispatch": ("frame", "builtin")}[recorder]
    parents = {e["event"]: e["parent"] for e in tree if e["type"] in foreign}
    for event in tree:
        if event["type"] in foreign:
            continue
        parent = event["parent"]
        while parent in parents:
            parent = parents[parent]
        yield event if parent == event["parent"] else {**event, "parent": parent}


def _enter_contexts(stack: ExitStack, request: dict[str, Any], names: Namespace) -> None:
    for text in request["contexts"]:
        tree = parse(text, f"--with {text}")
        try:
            manager = eval(compile(tree, "<--with>", "eval"), names.values)
            stack.enter_context(manager)
        except Exception as error:
            raise Refused("context", f"--with {text} is no context manager: {type(error).__name__}: {error}") from error


@contextmanager
def _stage(name: str) -> Iterator[None]:
    try:
        yield
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            raise Raised(name, leaving) from leaving
    except dispatch.Broken:
        raise
    except BaseException as error:
        raise Raised(name, error) from error


def _evaluate(evaluate: Callable[[], Any], stage: str) -> Any:
    with _stage(stage):
        return evaluate()


def _backward(result: Any) -> None:
    """Run backward from a result: from a tensor (summed where it is no scalar), or the first that requires grad."""
    root = next((t for t in _tensors(result) if t.requires_grad), None)
    if root is None:
        raise Refused(
            "backward", f"the result ({describe(result)}) does not require grad: there is nothing to run backward"
        )
    with _stage("backward"):
        scalar = root if math.prod(root.shape) == 1 else root.sum()
        with api.marker(events.BACKWARD):
            scalar.backward()


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)


def _graph(result: Any) -> Observations:
    """The autograd nodes that the result's tensors lead to, with the sequence numbers of the calls that made them."""
    numbers: dict[Any, int] = {}
    pending = [t.grad_fn for t in _tensors(result) if t.grad_fn is not None]
    order: list[Any] = []
    while pending and len(order) < GRAPH_LIMIT:
        node = pending.pop()
        if node is None or node in numbers:
            continue
        numbers[node] = len(order)
        order.append(node)
        pending += [following for following, _ in node.next_functions]
    return [
        {
            "id": numbers[node],
            "name": node.name(),
            "sequence": api.sequence_number(node),
            "next": [numbers[following] for following, _ in node.next_functions if following in numbers],
        }
        for node in order
    ]


def _tables(found: Observations, known: dict[str, str]) -> Observations:
    """Registrations of operators seen that are not as the catalogue knows them."""
    if not known:
        return []
    bases = {o["data"]["name"] for o in found if o["kind"] == "event" and o["data"]["type"] == "op"}
    changed = []
    for op in api.operator_names():
        if op.partition(".")[0] not in bases:
            continue
        dumped, table = api.dump(op), api.dump_table(op)
        if known.get(op) != api.digest(dumped, table):
            data = {"op": op, "schema": api.schema_and_tags(op)[0], "dump": dumped, "table": table}
            changed.append({"recorder": "ops", "kind": "table", "data": data})
    return changed
