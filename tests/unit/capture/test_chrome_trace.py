"""Traces that torch.profiler wrote, read in pieces; whatever else a file may hold is refused in three parts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ptexplore.capture import chrome_trace
from ptexplore.capture.chrome_trace import TimedOperator, read_chrome_trace
from ptexplore.errors import USAGE, PtexploreError


def event(name: str, ts: float, dur: float, tid: int = 1, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 7, "tid": tid, "ts": ts, "dur": dur, **more}


EVENTS = [
    {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "python"}},
    event("aten::add", 5.5, 1.25),
    event("aten::linear", 1, 4, args={"Sequence number": 3, "External id": 1}),
    event("aten::t", 1, 1),
    event("aten::addmm", 3, 2, args={"Sequence number": True}),
    event("AddmmBackward0", 2, 2, 9, args={"Sequence number": 3}),
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 7, "tid": 1, "ts": 0, "dur": 9},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 0, "dur": 9},
    {"ph": "i", "cat": "cpu_op", "name": "no duration"},
]


def shape(operators: tuple[TimedOperator, ...] | list[TimedOperator]) -> list[Any]:
    return [(o.name, o.time, o.sequence, shape(o.inside)) for o in operators]


@pytest.mark.parametrize("piece", [1, 7, 64, 1 << 20])
@pytest.mark.parametrize("form", ["object", "list", "spaced", "packed", "bom"])
def test_operators_nest_by_time_and_thread(
    form: str, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chrome_trace, "PIECE", piece)
    document = {"schemaVersion": 1, "deviceProperties": [{"name": "[é]"}], "traceEvents": EVENTS, "traceName": "x"}
    text = json.dumps(
        EVENTS if form == "list" else document, indent=1 if form == "spaced" else None, ensure_ascii=False
    )
    data = text.encode("utf-8-sig" if form == "bom" else "utf-8")
    file = tmp_path / "trace.json"
    file.write_bytes(gzip.compress(data) if form == "packed" else data)
    trace = read_chrome_trace(str(file))
    linear = ("aten::linear", 4000, 3, [("aten::t", 1000, None, []), ("aten::addmm", 2000, None, [])])
    assert [shape(thread) for thread in trace.threads] == [
        [linear, ("aten::add", 1250, None, [])],
        [("AddmmBackward0", 2000, 3, [])],
    ]
    assert trace.device_events == 1


def write(tmp_path: Path, data: bytes) -> str:
    (tmp_path / "x.json").write_bytes(data)
    return str(tmp_path / "x.json")


WHOLE = json.dumps({"traceEvents": EVENTS}).encode()


@pytest.mark.parametrize(
    "data, why",
    [
        (b"", "neither a JSON object"),
        (b"\x7fELF\x00", "neither a JSON object"),
        (b"\xff\xfe{", "not JSON"),
        (b"{}", "no list called traceEvents"),
        (b'{"traceEvents": {}}', "no list called traceEvents"),
        (b'{"traceEvents": []}', "no operators"),
        (b'{"traceEvents": [1, 2]}', "something other than events"),
        (b'{"traceEvents": [{"a" 1}]}', "cut off, or not JSON"),
        (WHOLE[:-40], "cut off"),
        (WHOLE[:-2], "cut off"),
        (WHOLE[:150], "cut off"),
        (b"[" * 100_000, "not JSON"),
        (json.dumps([event("x", 1, -1)]).encode(), "no name or no time"),
        (b'[{"ph":"X","cat":"cpu_op","name":"x","ts":NaN,"dur":1}]', "no name or no time"),
        (b'[{"ph":"X","cat":"cpu_op","name":"x","ts":1e400,"dur":1}]', "no name or no time"),
        (json.dumps([event("x", 10**400, 1)]).encode(), "no name or no time"),
        (b'[{"ph":"X","cat":"cpu_op","name":"x","ts":"1","dur":1}]', "no name or no time"),
        (json.dumps([{**event("x", 1, 1), "name": ["x"]}]).encode(), "no name or no time"),
        (gzip.compress(WHOLE)[:-30], "cannot be read"),
        (b"\x1f\x8bnothing", "cannot be read"),
    ],
)
def test_what_is_no_whole_trace_is_refused(data: bytes, why: str, tmp_path: Path) -> None:
    name = write(tmp_path, data)
    with pytest.raises(PtexploreError) as caught:
        read_chrome_trace(name)
    error = caught.value
    assert error.exit_code == USAGE
    assert name in error.message
    assert why in f"{error.message}: {error.why}"
    assert "export_chrome_trace" in error.hint


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for name in (tmp_path / "none.json", tmp_path):
        with pytest.raises(PtexploreError, match="cannot be read"):
            read_chrome_trace(str(name))


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome_trace, "MOST", 3)
    with pytest.raises(PtexploreError) as caught:
        read_chrome_trace(write(tmp_path, WHOLE))
    assert "more than 3 operators" in caught.value.why
    monkeypatch.setattr(chrome_trace, "LONGEST", 100)
    monkeypatch.setattr(chrome_trace, "PIECE", 50)
    for data in (b'{"a": "' + b"x" * 500 + b'", "traceEvents": []}', b'[{"a": "' + b"x" * 500 + b'"}]'):
        with pytest.raises(PtexploreError) as caught:
            read_chrome_trace(write(tmp_path, data))
        assert "longer than" in caught.value.why or "no list" in caught.value.why


@pytest.mark.parametrize("packed, says", [(True, "250 times its size"), (False, "more than 1,000 events")])
def test_events_that_cost_nothing_to_write_are_refused(
    packed: bool, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chrome_trace, "MOST_EVENTS", 1_000 if not packed else 12_000_000)
    monkeypatch.setattr(chrome_trace, "FREE", 1 << 20)
    text = b"[" + b"{}," * 1_000_000 + b"{}]"
    with pytest.raises(PtexploreError) as refused:
        read_chrome_trace(write(tmp_path, gzip.compress(text) if packed else text))
    assert says in refused.value.why


def test_blanks_are_dropped_as_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Held, they would be looked through anew with each piece, and fill the memory."""
    monkeypatch.setattr(chrome_trace, "PIECE", 1000)
    held = []
    read_on = chrome_trace._Text.read_on

    def counted(text: chrome_trace._Text) -> bool:
        more = read_on(text)
        held.append(len(text.held))
        return more

    monkeypatch.setattr(chrome_trace._Text, "read_on", counted)
    gap = b" " * 100_000
    trace = read_chrome_trace(write(tmp_path, gap + b"[" + gap + json.dumps(EVENTS[1]).encode() + b"," + gap + b"]"))
    assert [operator.name for thread in trace.threads for operator in thread] == ["aten::add"]
    assert len(held) > 300
    assert max(held) <= 2000
