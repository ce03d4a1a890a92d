"""What a profiler recorded on a GPU, replayed: everything a device was given is told once, with its time, in its place.

The events were recorded on an NVIDIA H200 with torch 2.11.0+cu130 and CUPTI. Each recording has the tree that is read,
and the profiler's flat list, which alone says what ran on the device: the two are compared. Torch's own records cannot
be made in Python, so objects of the same attributes stand in for them.
"""

from __future__ import annotations

import base64
import gzip
import json
import struct
import zlib
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

torch = pytest.importorskip("torch")

from ptexplore.probe import events, fold, profiled, trace, twice  # noqa: E402
from ptexplore.probe import torch_api as api  # noqa: E402
from ptexplore.probe.isolate import ChildOutcome  # noqa: E402
from ptexplore.probe.paths import Label  # noqa: E402
from ptexplore.probe.paths import Path as CallPath  # noqa: E402
from ptexplore.probe.slice_cut import NOT_CUT  # noqa: E402

FILE = Path(__file__).parents[1] / "data" / "device" / "events.json.gz"
RECORDED = json.loads(gzip.decompress(FILE.read_bytes()))["recorded"]


class Operator:
    inputs = ()

    def __init__(self, scope: str, sequence: int) -> None:
        self.scope = getattr(torch._C._profiler.RecordScope, scope)
        self.sequence_number = sequence


class OfDevice:
    """The fields of an event of the device's runtime, or of its work."""


class Event:
    overload_name = ""

    def __init__(self, tag: str, name: str, thread: int, start: int, took: int, *fields: Any) -> None:
        self.name, self.start_tid, self.start_time_ns, self.duration_time_ns = name, thread, start, took
        self.correlation_id, scope, sequence = fields
        self.extra_fields = Operator(scope, sequence) if tag == "TorchOp" else OfDevice()
        self.children: list[Event] = []
        self.parent: Event | None = None


class FlatEvent:
    """An event of the flat list: what it tells it tells when it is asked."""

    def __init__(self, name: str, on_device: bool, _took: int, start: int, thread: int, recorder: int) -> None:
        kinds = torch._C._autograd.DeviceType
        answers = {"name": name, "device_type": kinds.CUDA if on_device else kinds.CPU, "start_ns": start}
        answers |= {"start_thread_id": thread, "fwd_thread_id": recorder}
        for asked, value in answers.items():
            setattr(self, asked, partial(lambda given: given, value))


class Profile:
    """A finished profile; its `kineto_results` are itself."""

    use_device = "cuda"

    def __init__(self, recorded: dict[str, Any]) -> None:
        self._flat = [FlatEvent(*fields) for fields in recorded["flat"]]
        self._roots: list[Event] = []
        around: list[Event] = []
        for depth, *fields in recorded["tree"]:
            event = Event(*fields)
            del around[depth:]
            event.parent = around[-1] if around else None
            (around[-1].children if around else self._roots).append(event)
            around.append(event)

    def mark_main(self) -> None:
        """The marker that every recorder sets first: in the thread of what began first."""
        first = self._roots[0]
        self._roots.insert(0, Event("TorchOp", api.MARK + events.MAIN, first.start_tid, -1, 0, 0, "USER_SCOPE", -1))

    @property
    def kineto_results(self) -> Profile:
        return self

    def events(self) -> list[FlatEvent]:
        return self._flat

    def experimental_event_tree(self) -> list[Event]:
        return list(self._roots)


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold, "_OPERATOR", Operator)
    monkeypatch.setattr(profiled, "_OPERATOR", Operator)
    monkeypatch.setattr(api, "OPERATOR_FIELDS", Operator)
    monkeypatch.setattr(api, "KINETO_FIELDS", OfDevice)
    monkeypatch.setattr(api.DeviceWork, "_names", {})


def on_device(recorded: dict[str, Any]) -> list[tuple[str, int]]:
    """What the flat list says of the device: names and nanoseconds, sorted."""
    return sorted((name, took) for name, is_device, took, *_ in recorded["flat"] if is_device)


@pytest.mark.parametrize("name", RECORDED)
def test_every_launch_is_an_event(name: str) -> None:
    tree, cut = events.collect(Profile(RECORDED[name]), {})
    launches = [event for event in tree if event["type"] == events.LAUNCH]
    assert sorted((event["name"], event["took"]) for event in launches) == on_device(RECORDED[name])
    assert on_device(RECORDED[name])
    assert not cut


@pytest.mark.parametrize("name", RECORDED)
def test_every_launch_is_folded_as_often_as_it_was_made(name: str) -> None:
    folded = fold.Fold()
    root = CallPath(0, None, Label("program", "program"), None)
    for _ in range(3):  # what is met for the first time takes another way than what was met before
        folded.take(Profile(RECORDED[name]), {}, root, lambda: root, NOT_CUT)
    result = folded.result([root])
    seen = [
        (launch, calls["calls"] * times, took)
        for calls in result.calls
        for (launch, times), took in zip(
            launches_in(result.kinds, result.routes[calls["route"]]["kind"]), calls.get("device", ()), strict=True
        )
    ]
    each = [launch for launch, count, _ in seen for _ in range(count)]
    assert sorted(each) == sorted(launch for launch, _ in on_device(RECORDED[name]) * 3)
    assert sum(took for *_, took in seen) == 3 * sum(took for _, took in on_device(RECORDED[name]))


def launches_in(kinds: list[dict[str, Any]], number: int) -> list[tuple[str, int]]:
    """The launches of a kind, in order, each once."""
    own = [(kinds[number]["name"], 1)] if kinds[number]["type"] == events.LAUNCH else []
    return own + [launch for inner, _ in kinds[number]["inside"] if inner >= 0 for launch in launches_in(kinds, inner)]


def test_what_a_runtime_did_is_sorted_among_the_operators_by_time() -> None:
    """The tree has the device's runtime first: a copy that FFT made stands behind the operators that ran before it."""
    tree, _ = events.collect(Profile(RECORDED["fft"]), {})
    inner = next(event["event"] for event in tree if event["name"] == "aten::_fft_r2c")
    order = [event["name"].partition("<")[0].removeprefix("void ") for event in tree if event["parent"] == inner]
    assert order[:4] == ["aten::empty", "aten::permute", "aten::reshape", "aten::resize_"]
    assert order.index("regular_fft_r2c") < order.index("aten::as_strided_") < order.index("aten::slice")


def test_a_graph_replayed_and_a_compiled_kernel() -> None:
    """A graph's kernels have no operator around them; Triton's are launched by the driver's own function."""
    (graph,) = (event for event in events.collect(Profile(RECORDED["graph"]), {})[0] if event["type"] == events.LAUNCH)
    assert (graph["parent"], graph["through"]) == (None, "cudaGraphLaunch")
    tree, _ = events.collect(Profile(RECORDED["compiled"]), {})
    (compiled,) = (event for event in tree if event["type"] == events.LAUNCH)
    assert (compiled["name"], compiled["through"]) == ("triton_poi_fused_add_mul_relu_0", "cuLaunchKernel")
    assert tree[compiled["parent"]]["type"] == "op"


def test_nodes_that_ran_in_the_device_s_thread_belong_to_the_calls_that_recorded_them() -> None:
    """Backward of `(a @ w).relu().sum()`: nodes have a number of the main thread's, and run in another one."""
    folded = fold.Fold()
    root = CallPath(0, None, Label("program", "program"), None)
    folded.take(Profile(RECORDED["backward"]), {}, root, lambda: root, NOT_CUT)
    result = folded.result([root])
    names = [result.kinds[result.routes[calls["route"]]["kind"]]["name"] for calls in result.calls]
    recorded = {
        name.rpartition(" ")[2]: names[calls["recorded"]]
        for name, calls in zip(names, result.calls, strict=True)
        if "recorded" in calls
    }
    expected = {"SumBackward0": "aten::sum", "ReluBackward0": "aten::relu", "MmBackward0": "aten::matmul"}
    assert recorded == expected


def test_a_second_run_tells_what_a_device_s_thread_did_apart() -> None:
    """Nothing says where among the main thread's calls nodes ran: while a program is recorded, a marker holds them."""
    profile = Profile(RECORDED["backward"])
    profile.mark_main()
    effects = twice._pack_operators(profile)
    order = struct.unpack_from(f"<{effects['main']}I", zlib.decompress(base64.b64decode(effects["order"])))
    names = [effects["names"][number] for number in order]
    assert effects["apart"]
    assert names[0] == "aten::matmul"
    assert not [name for name in names if name.startswith(events.ENGINE)]
    assert "SumBackward0" in effects["names"]


@pytest.mark.parametrize(("once", "runs"), [(False, 3), (True, 1)])
def test_a_device_that_no_text_named_is_begun_before_a_second_run(once: bool, runs: int) -> None:
    """Of `--once` its launches are not told, and that is said. Else the third run is shown: a repeated one."""
    asked: list[dict[str, Any]] = []

    def forked(_recorder: str, request: dict[str, Any], *_: Any) -> ChildOutcome:
        asked.append(request)
        began = request.get("begin") is None
        message = {"type": "pass", "recorder": "ops", "sequence": "1f", "imported": 0, "raised": ""}
        text = json.dumps({**message, "began": "cuda" if began else None}, separators=(",", ":"))
        return ChildOutcome(answer=bytearray(text.encode() + b"\n"))

    made = cast("Any", SimpleNamespace(forked=forked, channel=None))
    outcomes, request = trace._warmed({"once": once, "timeout": 1, "setup": []}, made)
    (outcome,) = outcomes.values()
    assert len(asked) == runs
    assert request.get("begin") == (None if once else "cuda")
    assert (b'"began":"cuda"' in outcome.answer) == once
