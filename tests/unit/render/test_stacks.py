"""What ran in the formats of profilers' viewers, each read back as its viewer's own parser reads it."""

from __future__ import annotations

import io
import json
import pickle
import pickletools
import re
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from ptexplore.errors import PtexploreError
from ptexplore.model.places import SourceRef
from ptexplore.model.program import CallPath, LocalSets, OperatorCalls, OperatorKind, OperatorRoute, Program, SourceText
from ptexplore.model.reasons import Said
from ptexplore.model.trace import Captured, Hop, ResultInfo, TorchInfo, Trace
from ptexplore.render.exports import known_format
from ptexplore.render.line_profiler import line_stats
from ptexplore.render.stacks import FORMATS, exported
from ptexplore.view.trace.function_lines import function_lines
from ptexplore.view.trace.stacks import Stacks, stacks_of
from tests.unit.view.test_lines import MS
from tests.unit.view.test_lines import program as program_of_lines
from tests.unit.view.test_lines import trace as trace_of_lines

PLACE = SourceRef("train.py", 7, None, "located")
UNKNOWN = SourceRef(None, None, None, "unknown")


def program() -> Program:
    """`step` calls a module twice, by two lines; a node of backward runs a hook, which calls an operator."""
    kinds = tuple(
        OperatorKind(kind, name)
        for kind, name in (
            ("op", "aten::linear"),
            ("engine", "autograd::engine::evaluate_function: A;B"),
            ("op", "aten::neg"),
        )
    )
    paths = (
        CallPath("program", "program", 1, 1000),
        CallPath("user", "step;1\n", 2, 900, parent=0, source=PLACE, file="/x/train.py"),
        CallPath("module", "head", 1, 300, parent=1, type="Linear", line=3),
        CallPath("module", "head", 1, 200, parent=1, type="Linear", line=4),
        CallPath("builtin", "", 1, 250, parent=1, table="torch._C._EngineBase", method="run_backward"),
        CallPath("user", "hook", 1, 60, 60, parent=4),
        CallPath("thread", "loader", 1, 0, parent=0),
        CallPath("user", "fetch", 3, 5000, parent=6),
    )
    calls = (
        OperatorCalls(2, 0, 0, 1, 280),
        OperatorCalls(3, 0, 0, 1, 150),
        OperatorCalls(4, 1, 0, 1, 240, python=60),
        OperatorCalls(5, 2, 0, 4, 50),
    )
    routes = tuple(OperatorRoute(number, 0) for number in range(3))
    return Program(
        paths, (LocalSets(0, 0),), kinds, routes, calls, "", 0, 1000, 100, folding=40,
        cuts=(Said("something was cut"),), sources=(SourceText("/x/train.py", ((4, "    y = self.head(x)"),)),),
    )  # fmt: skip


def trace(hops: tuple[Hop, ...] = ()) -> Trace:
    torch = TorchInfo("2.13.0", "x", "wheel", "3.11", "")
    return Trace("--script train.py", (), torch, (), Captured(), ResultInfo(), (), hops)


def of_program() -> Stacks:
    return stacks_of(replace(trace(), program=program()), None)


OWN = {  # what each stack takes itself, by hand
    ("--script train.py",): 60,
    ("--script train.py", "ptexplore records"): 40,
    ("--script train.py", "step"): 150,
    ("--script train.py", "step", "line 3", "head"): 20,
    ("--script train.py", "step", "line 3", "head", "linear"): 280,
    ("--script train.py", "step", "y = self.head(x)", "head"): 50,
    ("--script train.py", "step", "y = self.head(x)", "head", "linear"): 150,
    ("--script train.py", "step", "run_backward"): 10,
    ("--script train.py", "step", "run_backward", "A"): 180,
    ("--script train.py", "step", "run_backward", "hook"): 10,
    ("--script train.py", "step", "run_backward", "hook", "neg"): 50,
}
LOADER = {("thread loader", "fetch"): 5000}


def plain(names: list[str]) -> tuple[str, ...]:
    """Names without places, classes, tables and what had to be taken out of them."""
    return tuple(re.sub(r"[;,].*| \(.*|torch\._C\._EngineBase\.", "", name, flags=re.DOTALL) for name in names)


def test_collapsed_stacks_are_what_flamegraph_reads() -> None:
    read: dict[tuple[str, ...], int] = {}
    for line in exported(of_program(), "collapsed").splitlines():
        match = re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line)  # flamegraph.pl's own
        assert match, line
        stack = plain(match[1].split(";"))
        assert stack not in read  # what is alike is one line
        read[stack] = int(match[2])
    assert read == OWN | LOADER
    assert "step,1  (train.py:7)" in exported(of_program(), "collapsed")


def test_speedscope_has_a_profile_for_each_thread() -> None:
    document = json.loads(exported(of_program(), "speedscope"))
    check_speedscope(document)
    names = [frame["name"] for frame in document["shared"]["frames"]]
    read = [
        {
            plain([names[number] for number in stack]): weight
            for stack, weight in zip(p["samples"], p["weights"], strict=True)
        }
        for p in document["profiles"]
    ]
    assert read == [OWN, LOADER]
    assert document["profiles"][0]["endValue"] == 1000
    assert "this is not a timeline" in document["name"]
    step = next(frame for frame in document["shared"]["frames"] if frame["name"].startswith("step"))
    assert (step["file"], step["line"]) == ("train.py", 7)


def check_speedscope(document: dict[str, Any]) -> None:
    """Assert what speedscope's published schema (file-format-schema.json, 1.x) asks of a sampled profile."""
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(document) <= {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}
    assert set(document["shared"]) == {"frames"}
    for frame in document["shared"]["frames"]:
        assert isinstance(frame["name"], str)
        assert set(frame) <= {"name", "file", "line", "col"}
        assert isinstance(frame.get("file", ""), str)
        assert isinstance(frame.get("line", 1), int)
    for profile in document["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled"
        assert profile["unit"] in {"bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"}
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= number < len(document["shared"]["frames"]) for stack in profile["samples"] for number in stack)
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
    assert 0 <= document["activeProfileIndex"] < len(document["profiles"])


def test_chrome_events_nest_and_take_what_is_inside_of_them() -> None:
    document = json.loads(exported(of_program(), "chrome"))
    assert "this is not a timeline" in document["otherData"]["notes"]
    assert "something was cut" in document["otherData"]["notes"]
    events = document["traceEvents"]
    assert all({"name", "ph", "pid", "tid"} <= set(event) for event in events)
    threads = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert threads == {0: "main", 1: "thread loader"}
    own: dict[tuple[str, ...], float] = {}
    for thread in threads:
        around: list[tuple[str, float]] = []
        for event in (e for e in events if e["ph"] == "X" and e["tid"] == thread):
            assert {"ts", "dur"} <= set(event)
            while around and event["ts"] >= around[-1][1]:
                around.pop()
            end = event["ts"] + event["dur"]
            assert not around or end <= around[-1][1] + 1e-9  # it ends inside of what it began in
            names = plain([name for name, _ in around])
            around.append((event["name"], end))
            stack = (*names, *plain([event["name"]]))
            own[stack] = own.get(stack, 0) + event["dur"]
            if around[:-1]:
                own[names] -= event["dur"]
    assert {stack: round(weight * 1000) for stack, weight in own.items() if weight > 1e-9} == OWN | LOADER


def hop(number: int, name: str, instructions: int | None, *children: Hop) -> Hop:
    return Hop(number, "native", name, "observed", UNKNOWN, instructions=instructions, children=children)


def test_an_expression_that_was_stepped_weighs_instructions() -> None:
    tree = hop(
        1, "binding", 100, hop(2, "key", None, hop(3, "kernel", 70, hop(4, "loop", 30)), hop(5, "not run", None))
    )
    stacks = stacks_of(trace((tree,)), None)
    lines = exported(stacks, "collapsed").splitlines()
    head = "--script train.py;binding"
    assert lines == [f"{head} 30", f"{head};kernel 40", f"{head};kernel;loop 30"]
    document = json.loads(exported(stacks, "speedscope"))
    assert document["profiles"][0]["unit"] == "none"
    assert "instruction" in document["name"]


def test_what_weighs_nothing_is_refused() -> None:
    with pytest.raises(PtexploreError, match="no times and no instructions") as caught:
        stacks_of(trace((hop(1, "binding", None),)), None)
    assert "--no-native" in caught.value.hint
    with pytest.raises(PtexploreError, match="is not a format") as caught:
        known_format("speedscop")
    assert caught.value.hint == "--export speedscope FILE"
    assert set(FORMATS) == {"collapsed", "speedscope", "chrome"}


def test_the_time_of_recording_is_in_a_frame_of_its_own() -> None:
    recorded = program()
    paths = list(recorded.paths)
    paths[1] = structs.replace(paths[1], recording=30)
    paths[7] = structs.replace(paths[7], recording=1000)
    lines = exported(
        stacks_of(replace(trace(), program=structs.replace(recorded, paths=tuple(paths))), None), "collapsed"
    )
    read = {plain(line.rpartition(" ")[0].split(";")): int(line.rpartition(" ")[2]) for line in lines.splitlines()}
    step, ours = ("--script train.py", "step"), ("--script train.py", "ptexplore records")
    assert (read[step], read[ours]) == (OWN[step] - 30, OWN[ours] + 30)
    assert (read["thread loader", "fetch"], read["thread loader", "ptexplore records"]) == (4000, 1000)


def test_line_profiler_gets_the_times_and_the_calls_of_lines() -> None:
    made = of_lines(trace_of_lines(program_of_lines()))
    (code,) = {operation.name for operation, _, _ in pickletools.genops(made) if operation.name in ("GLOBAL", "REDUCE")}
    assert code == "GLOBAL", "only the class is named, and nothing is called"
    stats = read_stats(made)
    assert stats.unit == 1e-9
    timings = {key[1:]: {line: rest for line, *rest in lines} for key, lines in stats.timings.items()}
    assert timings[10, "Net.forward"] == {
        10: [5, 50 * MS], 11: [3, 30 * MS], 12: [5, 110 * MS], 13: [3, 100 * MS], 14: [2, 20 * MS]
    }  # fmt: skip
    outside = {first: lines for (first, name), lines in timings.items() if name == "<module>"}
    assert outside == {1: {1: [1, 250 * MS]}, 30: {30: [3, 300 * MS]}, 32: {32: [3, 400 * MS]}}
    with pytest.raises(PtexploreError, match="an expression has no lines"):
        of_lines(trace())


def of_lines(made: Trace) -> bytes:
    return line_stats(function_lines(made))


class LineStats:
    """Stands for line_profiler's class, which has the same two attributes."""

    timings: dict[tuple[str, int, str], list[tuple[int, int, int]]]
    unit: float


def read_stats(content: bytes) -> LineStats:
    """Reads the file as line_profiler does. If it is not installed, a class of the same shape takes its place."""

    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> type:
            assert (module, name) == ("line_profiler._line_profiler", "LineStats")
            return LineStats

    read = Reader(io.BytesIO(content)).load()
    assert isinstance(read, LineStats)
    return read
