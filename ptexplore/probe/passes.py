"""Run one pass: bind names, evaluate the expression under one recorder, and say what was seen as plain data."""

from __future__ import annotations

import ast
import hashlib
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from . import autograd, dispatch, events, frames
from . import torch_api as api
from .names import Namespace, check_attributes, text_of
from .syntax import Refused, check_script, parse
from .values import describe, type_name

Observations = list[dict[str, Any]]


class Raised(Exception):
    """The user's own code raised; `stage` says where: "expression", "backward", "script", "context"."""

    def __init__(self, stage: str, error: BaseException) -> None:
        super().__init__(stage)
        self.stage = stage
        self.error = error


@dataclass
class Pass:
    """One pass as it runs. `recorder`: "ops", "frames", "dispatch", "once" for all in one, "again" for ops again."""

    recorder: str
    request: dict[str, Any]
    names: Namespace
    evaluate: Callable[[], Any]
    calls: dispatch.CallRecorder | None = None
    cuts: list[str] = field(default_factory=list)
    graph: list[dict[str, Any]] = field(default_factory=list)
    imported: int = 0  # modules that the evaluation imported


def run(recorder: str, request: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
    """One pass in this process.

    Returns a digest of the operators in order, how many modules the first call imported and whether this is the second,
    bound names, the result's description and the observations. Raises Refused or Raised.
    """
    tree = None
    if request.get("script") is None:
        tree = parse(request["expression"], "the expression")
    else:
        check_script(request["script"])
    warm = int(request.get("warm", 0))
    if warm and tree is not None:
        _warm_up(request, tree)
    names = Namespace(request)
    names.fill(tree)
    if tree is not None:
        check_attributes(tree, names.values)
    one = prepared(recorder, request, names, tree)
    result, trees = _observe(one)
    found: Observations = []
    if one.calls is not None:  # the calls come first: events refer to them
        found += [{"recorder": "dispatch", "kind": "call", "data": c} for c in one.calls.calls]
    for name, tree_of_events in trees.items():
        found += [{"recorder": name, "kind": "event", "data": e} for e in tree_of_events]
    found += [{"recorder": "ops", "kind": "graph", "data": g} for g in one.graph]
    found += [{"recorder": recorder, "kind": "cut", "data": {"text": text}} for text in one.cuts]
    if recorder in ("ops", "once"):
        found += _tables(found, known)
    sequence = _sequence(next(iter(trees.values())))
    told = {"sequence": sequence, "imported": warm or one.imported, "warm": bool(warm)}
    return {**told, "bound": names.bound, "result": result, "observations": found}


def _warm_up(request: dict[str, Any], tree: ast.Expression) -> None:
    """Evaluate once with inputs of its own, unseen."""
    names = Namespace(request)
    names.fill(tree)
    one = prepared("", request, names, tree)
    with stage("context"), ExitStack() as stack:
        enter_contexts(stack, one)
        _evaluated(one)


def prepared(recorder: str, request: dict[str, Any], names: Namespace, tree: ast.Expression | None) -> Pass:
    """The pass with its way to evaluate: the script, the expression, or the expression with the recorder in it."""
    if tree is None:
        return Pass(recorder, request, names, lambda: _script(request["script"]))
    code = compile(tree, "<expression>", "eval")
    one = Pass(recorder, request, names, lambda: eval(code, names.values))
    if recorder in ("dispatch", "once"):
        try:
            changed, one.calls = dispatch.rewrite(tree, request["expression"].strip())
            instrumented = compile(changed, "<expression>", "eval")
        except (RecursionError, MemoryError):
            one.calls = None
            one.cuts.append("the expression nests too deeply for its calls to be recorded")
            return one
        names.values[dispatch.HELPER] = one.calls
        one.evaluate = lambda: eval(instrumented, names.values)
    return one


def _script(script: str) -> None:
    """Run a script as Python would: its folder first on sys.path, its name __main__, no arguments."""
    sys.argv = [script]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    runpy.run_path(script, run_name="__main__")


def _observe(one: Pass) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """Evaluate under the profiler (and the frame hook): the result described, and each recorder's tree of events."""
    script = one.request.get("script")
    hook = frames.recording((script,) if script else ()) if one.recorder in ("frames", "once") else nullcontext(None)
    profile = api.profiler()
    with stage("context"), ExitStack() as stack:
        enter_contexts(stack, one)
        with profile, hook as seen, one.calls or nullcontext():
            with api.marker(events.MAIN):
                pass
            result, starts = _evaluated(one)
    # Only now: asking a view for its grad_fn can itself call operators.
    described: dict[str, Any] = {
        "type": type_name(result),
        "description": describe(result),
        **autograd.told(starts),
    }
    if one.request.get("sample") is not None:
        described["fingerprint"] = one.names.digest(result)
    if one.recorder in ("ops", "once"):
        one.graph, cut = autograd.graph(result)
        if cut:
            one.cuts.append(f"only the first {autograd.GRAPH_LIMIT} autograd nodes are told")
    marked = dict(seen.marked) if seen is not None else {}
    if one.calls is not None:
        marked |= one.calls.marked()
    tree, cut = events.collect(profile, marked)
    if cut:
        one.cuts.append(f"only the first {events.LIMIT} events are kept")
    if seen is not None and seen.cut:
        one.cuts.append(f"Python frames are told up to the {frames.LIMIT}th")
    if seen is not None and seen.lost:
        one.cuts.append("the traced code took the profile hook away: some Python frames are not told")
    if seen is not None and seen.other_threads and not api.records_all_threads():
        one.cuts.append(f"{len(seen.other_threads)} more threads called torch; this torch's profiler records only one")
    if one.calls is not None and one.calls.cut:
        one.cuts.append(f"the expression's calls are told up to the {dispatch.CALLS}th")
    return described, {name: list(_of(tree, name)) for name in _recorders(one.recorder)}


def _evaluated(one: Pass) -> tuple[Any, autograd.Starts]:
    """The result, and what backward was run from where it was asked for."""
    before = len(sys.modules)
    try:
        return _run(one)
    finally:
        one.imported = max(len(sys.modules) - before, 0)


def _run(one: Pass) -> tuple[Any, autograd.Starts]:
    with stage("script" if one.request.get("script") else "expression"):
        result = one.evaluate()
    if not one.request["backward"]:
        return result, []
    starts = autograd.roots(result)
    with stage("backward"):
        return result, autograd.backward(starts)


def _recorders(recorder: str) -> tuple[str, ...]:
    """A single run speaks for all three recorders: the same events, each with the markers it is about."""
    return ("ops", "frames", "dispatch") if recorder == "once" else (recorder,)


def _of(tree: list[dict[str, Any]], recorder: str) -> Iterator[dict[str, Any]]:
    """The events that concern one recorder; others' markers are taken out and their children hoisted."""
    own = {"frames": ("frame", "builtin"), "dispatch": ("call",)}.get(recorder, ())
    foreign = set(events.MARKERS) - set(own)
    parents = {e["event"]: e["parent"] for e in tree if e["type"] in foreign}
    for event in tree:
        if event["type"] in foreign:
            continue
        parent = event["parent"]
        while parent in parents:
            parent = parents[parent]
        yield event if parent == event["parent"] else {**event, "parent": parent}


def enter_contexts(stack: ExitStack, one: Pass) -> None:
    """Enter what --with names, on `stack`. Raises Refused for what is no context manager."""
    for text in one.request["contexts"]:
        tree = parse(text, f"--with {text}")
        try:
            stack.enter_context(eval(compile(tree, "<--with>", "eval"), one.names.values))
        except BaseException as error:
            what = f"--with {text} is no context manager: {type(error).__name__}: {text_of(error)}"
            raise Refused("context", what) from error


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Tell whatever the user's code raises by where it did; a script that exits with 0 has ended well."""
    try:
        yield
    except SystemExit as leaving:
        if name != "script" or leaving.code not in (None, 0):
            raise Raised(name, leaving) from leaving
    except (dispatch.Broken, Raised, Refused):
        raise
    except BaseException as error:
        raise Raised(name, error) from error


def _sequence(tree: list[dict[str, Any]]) -> str:
    """A digest of the operators and nodes that ran, in order: equal where two passes saw the same."""
    names = [event["name"] for event in tree if event["type"] in ("op", "node")]
    return hashlib.sha1("\n".join(names).encode(), usedforsecurity=False).hexdigest()


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
