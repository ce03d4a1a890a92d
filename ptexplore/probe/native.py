"""The native pass: step the expression, or one operator call of it, and say which instructions went where.

Runs in a child of its own, which may die of what it does. What is stepped is warm: it has run twice before, since
a first call runs the dynamic linker, fills caches and allocates; and it runs on one thread, which alone is seen.
"""

from __future__ import annotations

import base64
import math
import time
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch

from . import autograd, events, native_call, passes
from . import torch_api as api
from .names import Namespace
from .stepper import Stepper, Steps, Unavailable, rows_of, why_not
from .syntax import Refused, check_script, parse
from .values import describe, type_name

RECORDER = "native"
SPEED = 2e9  # instructions a second that the processor runs at full speed, when caches are cold
STEPPED = 80_000  # instructions a second that are stepped, about
PATIENCE = 5.0  # seconds of stepping that a whole expression may take; beyond it one operator call is stepped
COLD = 20  # times as long as a warm one that a second run may take
WARM_UPS, AT_MOST = 2, 6  # runs before the stepped one; more of them where they become faster still
WHOLE, OPERATOR, ASKED = 20.0, 6.0, 30.0  # seconds after which stepping ends: of all, of an operator unasked, asked
MOST = 3_000_000  # instructions, however long they take
ROWS = 1 << 20  # rows of the log: 64 MB
SLOW = 2.0  # seconds; what takes longer is not run once more only to know it better

ONCE = "--once runs it a single time, and the native pass needs runs of its own"
SCRIPT = "a script is never stepped whole; --native-op NAME[#N] steps one operator call of it"


def run(request: dict[str, Any]) -> dict[str, Any]:
    """The pass in this process: observations "steps" (one a stepped part), "maps", and "result".

    Raises Unavailable where this process cannot be stepped, Refused or Raised as every pass does.
    """
    wanted = request.get("native_op")
    reason = ONCE if request["once"] else SCRIPT if request.get("script") and wanted is None else why_not()
    if reason is not None:
        raise Unavailable(reason)
    asked = native_call.parsed(wanted) if wanted is not None else None
    torch.set_num_threads(1)
    runs = _Runs(request)
    if asked is None and runs.are_short():
        once, parts = _whole(runs)
    else:
        once, parts = _operator_call(runs, asked)
    said = {"warm_ups": runs.count, "threads": torch.get_num_threads(), "projected": round(runs.projected, 3)}
    observations = [{"recorder": "native", "kind": "steps", "data": {**part, **said}} for part in parts]
    observations.append({"recorder": "native", "kind": "maps", "data": {"text": _maps()}})
    observations.append({"recorder": "native", "kind": "result", "data": runs.compared(once)})
    return {"bound": once.names.bound, "result": once.result, "observations": observations}


def _seconds(request: dict[str, Any], most: float) -> float:
    """How long stepping may take: not so long that the trace's own time limit would end it first."""
    return min(most, 0.4 * float(request["timeout"]))


class _Once:
    """One evaluation of the expression with names of its own: every evaluation sees the same fresh inputs."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        tree = None
        if request.get("script") is None:
            tree = parse(request["expression"], "the expression")
        else:
            check_script(request["script"])
        self.names = Namespace(request)
        self.names.fill(tree)
        self.one = passes.prepared("native", request, self.names, tree)
        self.value: Any = None
        self.result: dict[str, Any] = {}

        self.forward: Steps | None = None

    def run(self, how: Callable[[Callable[[], None]], Any] = lambda both: both()) -> Any:
        """Evaluate at full speed, backward included; `how` may do something about it. What `how` returned."""
        with passes.stage("context"), ExitStack() as stack:
            passes.enter_contexts(stack, self.one)
            given = how(self._both)
        self._describe()
        return given

    def stepped(self, stepper: Stepper) -> list[dict[str, Any]]:
        """Evaluate under the stepper: forward, and backward as a part of its own."""
        with passes.stage("context"), ExitStack() as stack:
            passes.enter_contexts(stack, self.one)
            with passes.stage("expression"):  # outside of what is stepped, as little of ours as can be inside
                self.value, self.forward = stepper.step(self.one.evaluate)
            parts = [_part("forward", self.forward, stepper)]
            if self.request["backward"]:
                starts = autograd.roots(self.value)
                with passes.stage("backward"):
                    parts.append(_part("backward", stepper.step(autograd.run_backward, starts)[1], stepper))
        self._describe()
        return parts

    def _both(self) -> None:
        with passes.stage("script" if self.request.get("script") else "expression"):
            self.value = self.one.evaluate()
        if self.request["backward"]:
            starts = autograd.roots(self.value)
            with passes.stage("backward"):
                autograd.run_backward(starts)

    def _describe(self) -> None:
        self.result = {
            "type": type_name(self.value),
            "description": describe(self.value),
            "fingerprint": self.names.digest(self.value),
        }


@dataclass
class _Runs:
    """The runs at full speed before the stepped one: how many, how long the fastest took, what the last gave."""

    request: dict[str, Any]
    count: int = 0
    processor: float = math.inf  # seconds of this thread's time on a processor
    wall: float = math.inf
    result: Any = None

    def warm_up(self, how: Callable[[Callable[[], None]], Any] = lambda both: both()) -> Any:
        """Run once more; what `how` returned."""

        def timed(both: Callable[[], None]) -> Any:
            began = time.thread_time(), time.monotonic()
            given = how(both)
            self.processor = min(self.processor, time.thread_time() - began[0])
            self.wall = min(self.wall, time.monotonic() - began[1])
            return given

        once = _Once(self.request)
        given = once.run(timed)
        self.count, self.result = self.count + 1, once.result["fingerprint"]
        return given

    def are_short(self) -> bool:
        """Warm up, and tell whether all of it can be stepped: a first run takes far longer than the next ones."""
        while self.count < WARM_UPS or (self.count < AT_MOST and self.projected > self.patience):
            self.warm_up()
            if self.wall > SLOW or (self.count > 1 and self.projected > self.patience * COLD):
                return False
        return self.projected <= self.patience

    @property
    def patience(self) -> float:
        """Seconds that all of it may take: a survey, which nobody waits for, says more than is usual."""
        return float(self.request.get("patience", PATIENCE))

    @property
    def projected(self) -> float:
        """Seconds that stepping all of it would take, as the fastest run foretells."""
        return self.processor * SPEED / STEPPED

    def compared(self, once: _Once) -> dict[str, Any]:
        """Whether the stepped run gave what the last one at full speed gave; None where that cannot be told."""
        stepped = once.result["fingerprint"]
        return {"equal": None if None in (stepped, self.result) else stepped == self.result}


def _part(what: str, steps: Steps, stepper: Stepper, **more: Any) -> dict[str, Any]:
    """One stepped part as plain data; the rows packed, since there are many and they repeat."""
    rows = base64.b64encode(zlib.compress(steps.rows, 1)).decode()
    said = {"instructions": steps.instructions, "cut": steps.cut, "seconds": round(steps.seconds, 3)}
    return {"what": what, "rows": rows, "own": list(stepper.code), **said, **more}


def _whole(runs: _Runs) -> tuple[_Once, list[dict[str, Any]]]:
    """Step all of it; its first operator call alone where time ran out before any had begun."""
    once, stepper = _Once(runs.request), Stepper(ROWS, MOST, _seconds(runs.request, WHOLE))
    parts = once.stepped(stepper)
    if once.forward is None or once.forward.cut != stepper.late or len(parts) > 1:
        return once, parts
    called = runs.warm_up(_profiled)
    begun = {row[0] for row in rows_of(once.forward)}
    entries = native_call.of_called(called)
    if not entries or any(entry.address in begun for entry in entries):
        return once, parts
    return _operator_call(runs, None, called)


def _operator_call(
    runs: _Runs, asked: tuple[str, int] | None, called: native_call.Called | None = None
) -> tuple[_Once, list[dict[str, Any]]]:
    """Step one operator call of the expression: the one asked for, else the first. `called` is what it calls."""
    entries = native_call.of_name(asked[0]) if asked else []
    alike = True
    if called is None:
        called, alike = _called(runs)
    entries = entries or native_call.of_called(called)
    if not entries:
        none = "no operator that it calls has an entry point of its own" if called else "it calls no operator"
        raise Unavailable(f"stepping all of it would take about {_duration(runs.projected)}, and {none}")
    number = asked[1] if asked else 1
    addresses = list(dict.fromkeys(entry.address for entry in entries))
    stepper = Stepper(ROWS, MOST, _seconds(runs.request, ASKED if asked else OPERATOR))
    counts = None
    if runs.wall < SLOW or runs.count < 2:
        counts = runs.warm_up(lambda both: stepper.step_call(addresses, 0, both)[1].counts)
    once = _Once(runs.request)
    steps: Steps = once.run(lambda both: stepper.step_call(addresses, number, both, 4 * runs.wall)[1])
    if steps.entry is None:
        name, times = asked[0] if asked else "any operator", sum(steps.counts)
        raise Refused("native", f"{name} is called {times} time(s) through at::_ops::NAME::call, not {number}")
    entry = next(e for e in entries if e.address == addresses[steps.entry])
    seen, mine = native_call.times_called(entry.op, called), steps.counts[steps.entry]
    sure = alike and (seen is None or counts is None or counts[steps.entry] == seen)
    base = f"aten::{entry.op.partition('.')[0]}"
    times = sum(name == base for name, _ in called)
    more = {"op": entry.op, "number": mine if sure else None, "symbol": entry.symbol, "of": times}
    return once, [_part("operator", steps, stepper, **more)]


def _called(runs: _Runs) -> tuple[native_call.Called, bool]:
    """The operators that a warm run calls, and whether the run that the other passes saw called the same.

    Those saw a script's first run; of an expression whose first run imports modules, a later one.
    """
    if runs.request.get("script") is None:
        if not runs.count:
            runs.warm_up()
        return runs.warm_up(_profiled), True
    first = runs.warm_up(_profiled)
    return first, runs.wall >= SLOW or runs.warm_up(_profiled) == first


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min" if seconds < 36_000 else "many hours"


def _profiled(both: Callable[[], None]) -> native_call.Called:
    """Run under the profiler: the operators called, in order, with overloads where it records them."""
    with api.profiler() as profile:
        both()
    tree, _ = events.collect(profile, {})
    return [(event["name"], event["overload"]) for event in tree if event["type"] == "op"]


def _maps() -> str:
    """The executable part of this process's memory map."""
    with open("/proc/self/maps") as maps:
        return "".join(line for line in maps if "x" in line.split(None, 2)[1])
