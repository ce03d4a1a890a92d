"""Saved sessions: what goes out comes back, and whatever else is fed in is refused in three parts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model.observed import SavedObservation
from ptexplore.model.options import TraceOptions
from ptexplore.model.reasons import Reason, Said
from ptexplore.model.trace import BoundName, Captured, ResultInfo, SavedSession, Session, TorchInfo
from ptexplore.saved.changed import session_with
from ptexplore.saved.document import from_json, to_json
from ptexplore.saved.session import checked, portable

SITE = "/someone/env/lib/python3.11/site-packages"
SET = {"raw": 65537, "keys": ["CPU"]}
EVENT = {"event": 0, "parent": None, "thread": 0, "phase": "forward"}
OBSERVED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("ops", "event", {**EVENT, "type": "op", "name": "aten::add", "overload": "Tensor", "inputs": [], "sequence": 0}),
    ("frames", "event", {**EVENT, "type": "frame", "file": f"{SITE}/torch/functional.py", "line": 5, "function": "f"}),
    ("frames", "event", {**EVENT, "type": "frame", "file": "/someone/mine.py", "line": 5, "function": "g"}),
    (
        "frames",
        "event",
        {**EVENT, "type": "builtin", "table": "torch", "method": "add", "tls_include": 1, "tls_exclude": 0},
    ),
    (
        "dispatch",
        "call",
        {
            "call": 0,
            "source": "torch.add(a, b)",
            "syntax": "call",
            "callable": {"kind": "python", "file": f"{SITE}/torch/x.py"},
            "arguments": [{"name": "0", "raw": 65537, "keys": ["CPU"]}],
            "tls_include": SET,
            "tls_exclude": SET,
        },
    ),
    ("ops", "graph", {"id": 0, "name": "AddBackward0", "sequence": 0, "next": [1]}),
    (
        "ops",
        "table",
        {"op": "a::b", "dump": f"CPU: registered at {SITE}/torch/y.py:3", "table": "CPU: …", "schema": None},
    ),
    ("ops", "output", {"text": "printed", "cut": False}),
    ("compare", "nondeterministic", {"told": {"code": "said", "sentence": "two runs …"}}),
    (
        "native",
        "calls",
        {
            "part": "forward",
            "instructions": 40,
            "functions": [["libc10.so", "function", "_Z1fv", "f()"], ["libc.so.6", "unknown", "", ""]],
            "function": [0, 1, 0],
            "depth": [0, 1, 1],
            "begin": [1, 5, 20],
            "end": [39, 9, 30],
            "tail": [2],
            "registers": {"0": [1, 2, 3]},
            "closed": {"libc.so.6": 4},
        },
    ),
)


@pytest.fixture
def session() -> Session:
    return Session(
        expression="torch.add(a, b)",
        torch=TorchInfo("2.13.0", torch_dir=f"{SITE}/torch"),
        bound=(BoundName("a", "Tensor[3, 3] float32 cpu", "seeded"),),
        options=TraceOptions(variables=(("x", "1"),)),
        captured=Captured(ops=True, reason=Said("…")),
        result=ResultInfo("torch.Tensor", "…"),
        observations=tuple(SavedObservation(n, r, k, d).as_seen() for n, (r, k, d) in enumerate(OBSERVED, 1)),
    )


def same(reason: Reason) -> Reason:
    return reason


def text_of(session: Session) -> str:
    return to_json(session_with(portable(session), same))


def document_of(session: Session) -> dict[str, Any]:
    return json.loads(text_of(session))


def read(given: Any) -> Session:
    """The session of a document or of its text."""
    data = given.encode() if isinstance(given, str) else json.dumps(given).encode()
    return checked(from_json(data, SavedSession, "x.json"), same, "x.json")


def test_round_trip(session: Session) -> None:
    text = text_of(session)
    again = read(text)
    assert [o.id for o in again.observations] == [o.id for o in session.observations]
    assert text_of(again) == text
    assert replace(again, torch=session.torch, observations=session.observations) == session


def test_nothing_of_the_machine_is_kept(session: Session) -> None:
    text = text_of(session)
    assert "/someone" not in text
    files = [o["data"].get("file") for o in json.loads(text)["observations"]]
    assert "torch/functional.py" in files
    assert "mine.py" in files


def test_further_keys_and_kinds_are_let_through(session: Session) -> None:
    document = document_of(session)
    document["more"] = 1
    document["observations"][0]["data"]["more"] = [1]
    document["observations"].append({"id": 99, "recorder": "native", "kind": "tree", "data": {"calls": []}})
    assert read(document).observations[-1].recorder == "native"


def test_a_newer_format(session: Session) -> None:
    with pytest.raises(PtexploreError) as caught:
        read(document_of(session) | {"format": 99})
    assert caught.value.exit_code == MISSING
    assert "99" in caught.value.message


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "{}", "3", '"x"', "NaN", "[" * 100_000, '{"a":' * 100_000, "9" * 5000, '{"format": 1}'],
    ids=lambda text: text[:10] or "empty",
)
def test_what_is_no_session(text: str) -> None:
    refused(lambda: read(text))


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_truncated(session: Session, part: float) -> None:
    text = text_of(session)
    refused(lambda: read(text[: int(len(text) * part)]))


def refused(read: Callable[[], object]) -> None:
    with pytest.raises(PtexploreError) as caught:
        read()
    assert caught.value.exit_code in (USAGE, MISSING)
    assert caught.value.message
    assert caught.value.why
    assert caught.value.hint


WRONG: tuple[Any, ...] = (None, 3, -1, 10**30, 1.5, "text", [], {}, [[]], {"x": {}}, True)


def spoilt(good: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The document with one value of the wrong kind in it, at every place in turn."""

    def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in items:
            yield (*path, key)
            yield from places(item, (*path, key))

    for path in places(json.loads(good)):
        for wrong in random.Random(str(path)).sample(WRONG, 3):
            document = json.loads(good)
            inner = document
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = wrong
            yield f"{path} = {wrong!r}", document


def test_any_one_thing_wrong_is_refused_or_harmless(session: Session) -> None:
    for label, document in spoilt(text_of(session)):
        try:
            again = read(document)
        except PtexploreError as error:
            found = (error.why, error.hint)
        else:
            found = ("read", text_of(again))
        assert all(found), label


def test_nesting_without_end(session: Session) -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    document = document_of(session)
    document["observations"][0]["data"].update(inputs=deep)
    refused(lambda: read(document))
    for part in ("options", "result", "captured", "torch"):
        document = document_of(session)
        document[part].update(x=deep)
        assert text_of(read(document)) == text_of(session), "a key that nobody knows is passed over, whatever it holds"
        endless = text_of(session).replace(f'"{part}":{{', f'"{part}":{{"x":' + "[" * 100_000)
        refused(lambda endless=endless: read(endless))


NO_TREES: tuple[dict[str, Any], ...] = (
    {"depth": [0, 2, 1]},
    {"depth": [1, 1, 1]},
    {"begin": [1, 5]},
    {"function": [0, 2, 0]},
    {"end": [0, 9, 30]},
    {"registers": {"0": [1, 2]}},
)


@pytest.mark.parametrize("wrong", NO_TREES)
def test_calls_that_are_no_tree(session: Session, wrong: dict[str, Any]) -> None:
    document = document_of(session)
    document["observations"][-1]["data"].update(wrong)
    refused(lambda: read(document))


def test_two_observations_of_one_id(session: Session) -> None:
    document = document_of(session)
    document["observations"][1]["id"] = document["observations"][0]["id"]
    refused(lambda: read(document))
