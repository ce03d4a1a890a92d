"""The native pass: step the expression, or one operator call of it, and say which instructions went where.

Runs in a child of its own, which may die of what it does. What is stepped is warm: it has run twice before, since
a first call runs the dynamic linker, fills caches and allocates; and it runs on one thread, which alone is seen.
"""

from __future__ import annotations

import base64
import ctypes
import mmap
import os
import time
import zlib
from contextlib import ExitStack
from typing import Any

import torch

from . import autograd, events, passes
from . import torch_api as api
from .names import Namespace
from .stepper import Stepper, Steps
from .syntax import Refused, parse
from .values import describe, type_name

WARM_UPS = 2
SPEED = 2e9  # instructions a second that the processor runs at full speed, about
STEPPED = 80_000  # instructions a second that are stepped, about
PATIENCE = 4.0  # seconds of stepping that a whole expression may take; beyond it one operator call is stepped
MOST = 1_600_000  # instructions, whatever is stepped: about 20 seconds
ROWS = 1 << 21  # rows of the log: 128 MB

LIBRARY = "libtorch_cpu.so"
ENTRY = b"_ZN2at4_ops%d%s4callE"  # the Itanium ABI's name of at::_ops::X::call, without its parameters


def run(request: dict[str, Any]) -> dict[str, Any]:
    """The pass in this process: observations "steps", one for each part that was stepped, and "notstepped" with why.

    Raises Unavailable where this process cannot be stepped, Refused or Raised as every pass does.
    """
    stepper = Stepper(ROWS, MOST)
    torch.set_num_threads(1)
    seconds = 0.0
    for _ in range(WARM_UPS):
        seconds = _Once(request).run()
    projected = seconds * SPEED / STEPPED
    wanted = request.get("native_op")
    once = _Once(request)
    if wanted is None and projected <= PATIENCE:
        steps = once.stepped(stepper)
    else:
        steps = [_operator_call(once, stepper, wanted)]
    said = {"warm_ups": WARM_UPS, "threads": 1, "projected": round(projected, 3), "own": list(stepper.code)}
    observations = [{"recorder": "native", "kind": "steps", "data": {**part, **said}} for part in steps]
    observations.append({"recorder": "native", "kind": "maps", "data": {"text": _maps()}})
    return {"bound": once.names.bound, "result": once.result, "observations": observations}


class _Once:
    """One evaluation of the expression with names of its own: every evaluation sees the same fresh inputs."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        tree = parse(request["expression"], "the expression")
        self.names = Namespace(request)
        self.names.fill(tree)
        self.one = passes.prepared("native", request, self.names, tree)
        self.value: Any = None
        self.result: dict[str, Any] = {}

    def run(self) -> float:
        """Evaluate at full speed, backward included: the CPU seconds of this thread that it took."""
        with passes.stage("context"), ExitStack() as stack:
            passes.enter_contexts(stack, self.one)
            began = time.thread_time()
            self._both()
            return time.thread_time() - began

    def stepped(self, stepper: Stepper) -> list[dict[str, Any]]:
        """Evaluate under the stepper: forward, and backward as a part of its own."""
        with passes.stage("context"), ExitStack() as stack:
            passes.enter_contexts(stack, self.one)
            with passes.stage("expression"):  # outside of what is stepped, as little of ours as can be inside
                self.value, steps = stepper.step(self.one.evaluate)
            parts = [_part("forward", steps)]
            if self.request["backward"]:
                starts = autograd.roots(self.value)
                with passes.stage("backward"):
                    parts.append(_part("backward", stepper.step(autograd.backward, starts)[1]))
        self._describe()
        return parts

    def stepped_call(self, stepper: Stepper, address: int, number: int) -> Steps:
        """Evaluate at full speed but for one call of the code at `address`."""
        with passes.stage("context"), ExitStack() as stack:
            passes.enter_contexts(stack, self.one)
            _, steps = stepper.step_call(address, number, self._both)
        self._describe()
        return steps

    def profiled(self) -> list[tuple[str, str | None]]:
        """Evaluate under the profiler: the operators called, in order, with overloads where it records them."""
        with passes.stage("context"), ExitStack() as stack:
            passes.enter_contexts(stack, self.one)
            with api.profiler() as profile:
                self._both()
        tree, _ = events.collect(profile, {})
        return [(event["name"], event["overload"]) for event in tree if event["type"] == "op"]

    def _forward(self) -> None:
        with passes.stage("expression"):
            self.value = self.one.evaluate()

    def _backward(self) -> None:
        if self.request["backward"]:
            starts = autograd.roots(self.value)
            with passes.stage("backward"):
                autograd.backward(starts)

    def _both(self) -> None:
        self._forward()
        self._backward()

    def _describe(self) -> None:
        self.result = {
            "type": type_name(self.value),
            "description": describe(self.value),
            "fingerprint": self.names.digest(self.value),
        }


def _part(what: str, steps: Steps, **more: Any) -> dict[str, Any]:
    """One stepped part as plain data; the rows packed, since there are many and they repeat."""
    rows = base64.b64encode(zlib.compress(steps.rows, 1)).decode()
    return {"what": what, "rows": rows, "instructions": steps.instructions, "cut": steps.cut, **more}


def _operator_call(once: _Once, stepper: Stepper, wanted: str | None) -> dict[str, Any]:
    """Step one operator call of the expression: the one named ("add.Tensor#2"), else the first."""
    called = _Once(once.request).profiled()
    name, number = _wanted(called, wanted)
    found = {overload for op, overload in called if _fits(op, overload, name)}
    for symbol in sorted(_symbols(name, found)):
        address = _address(symbol)
        steps = once.stepped_call(stepper, address, number) if address else None
        if steps is not None and steps.hits >= number:
            return _part("operator", steps, op=name, number=number, symbol=symbol.decode())
        once = _Once(once.request)
    raise Refused("native", f"{name} was not called {number} time(s) through at::_ops: nothing was stepped")


def _wanted(called: list[tuple[str, str | None]], wanted: str | None) -> tuple[str, int]:
    if wanted is None:
        first = next((name if not overload else f"{name}.{overload}" for name, overload in called), None)
        if first is None:
            raise Refused("native", "the expression runs long and calls no operator: there is no call to step")
        return first.partition("::")[2], 1
    name, _, number = wanted.partition("#")
    if number and not (number.isdigit() and int(number)):
        raise Refused("native", f"--native-op {wanted}: after # comes which call it is, from 1")
    return name.removeprefix("aten::"), int(number or 1)


def _fits(op: str, overload: str | None, name: str) -> bool:
    base, _, wanted = name.partition(".")
    return op == f"aten::{base}" and (not wanted or overload is None or overload == wanted)


def _symbols(name: str, overloads: set[str | None]) -> set[bytes]:
    """The mangled beginnings of at::_ops entry points that the operator named can mean."""
    base, _, overload = name.partition(".")
    wanted = {overload} if overload else {one or "" for one in overloads} or {""}
    names = {f"{base}_{one}" if one else base for one in wanted}
    return {ENTRY % (len(one), one.encode()) for one in names}


def _address(beginning: bytes) -> int | None:
    """The address of the one exported function of libtorch_cpu whose mangled name begins so."""
    path = os.path.join(api.torch_dir(), "lib", LIBRARY)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        at = data.find(b"\0" + beginning)
        if at < 0:
            return None
        name = data[at + 1 : data.find(b"\0", at + 1)]
    return ctypes.cast(ctypes.CDLL(path)[name.decode()], ctypes.c_void_p).value


def _maps() -> str:
    """The executable part of this process's memory map."""
    with open("/proc/self/maps") as maps:
        return "".join(line for line in maps if "x" in line.split(None, 2)[1])
