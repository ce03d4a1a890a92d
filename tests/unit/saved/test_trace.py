"""Saved traces are data from others: whole ones come back as they were, all others are refused in words."""

from __future__ import annotations

import gzip
import json
import random
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model.actions import StepOperator
from ptexplore.model.observed import Remark, SavedObservation, SteppedCalls, records
from ptexplore.model.operators import KernelRef
from ptexplore.model.options import TraceOptions
from ptexplore.model.place_reasons import OutsideTorch, SharedCode
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.model.program_order import began
from ptexplore.model.reasons import (
    ArgumentSets,
    BackwardFrom,
    BeganAt,
    BeganAtRealSum,
    BeganAtSum,
    BudgetSpent,
    ByCalling,
    EventsCut,
    ForEach,
    InAnotherProcess,
    KeptByTorch,
    KeyNotKnown,
    KindsLeft,
    KindsStepped,
    LeftByGuards,
    ListUntold,
    MarksRange,
    NativeNotAsked,
    NotJoined,
    OneOfEach,
    OnStack,
    Reason,
    RunsOnce,
    Said,
    ToldByRun,
    TreeEnds,
    UnknownCode,
    ValueSize,
)
from ptexplore.model.trace import (
    TRACE_FORMAT,
    BindingRef,
    BoundName,
    CallNotTaken,
    Captured,
    Cause,
    CauseCase,
    ComparedValue,
    CopyRef,
    DerivativeRef,
    Dispatch,
    Ending,
    Finding,
    FormulaRef,
    FreedGraph,
    HandedError,
    Hop,
    HopError,
    LaunchRef,
    LeftFunction,
    LibraryEntry,
    LoopRef,
    MissingKernel,
    ModifiedTensor,
    ModuleRef,
    NativeCall,
    NodeRef,
    OperatorRef,
    PythonCall,
    RecordingCall,
    ResultInfo,
    Session,
    StubKernelRef,
    StubRef,
    TensorRef,
    TorchInfo,
    Trace,
    TransformLayer,
    UntoldArgument,
    walk,
)
from ptexplore.saved.document import MAX_TEXT, costs_too_much
from ptexplore.saved.trace import DEEPEST, trace_from_json
from ptexplore.view.trace.explain import RECORDS
from ptexplore.view.why_there import why_there
from ptexplore.view.words.reasons import given_in_words, sentence
from ptexplore.view.words.saved import trace_to_json
from tests.harness import THOROUGH

SAVED = Path(__file__).parents[2] / "data" / "saved"
Document = dict[str, Any]


def a_trace() -> Trace:
    """A Trace with every kind of record in it, and a reference in every place that can hold one."""
    place = SourceRef("build/aten/src/ATen/Operators_2.cpp", 12, "generated", "located")
    several = SourceRef(None, None, None, "ambiguous", reason=SharedCode(2), candidates=(place, place))
    dispatch = Dispatch(
        "CPU", "0x1", "kernel", ("ADInplaceOrView",), {"self": "CPU"}, "", "AutocastCPU", True, LeftByGuards()
    )
    dispatch = replace(
        dispatch, unread=("other",), wrapped={"self": ("CPU",)}, transforms=(TransformLayer(1, "Vmap", {"self": 0}),)
    )
    derivative = DerivativeRef(
        place, "aten::add.Tensor", "AddBackward0", "exact", (FormulaRef("self", 3, calls=("f",)),)
    )
    given = TensorRef("self", "float32", "cpu", (3,), (2,))
    inner = Hop(
        4, "kernel", "wrapper_CPU_add", "observed", place, key="CPU", registration=place, declaration=several,
        kernel=KernelRef(5, "wrapper", place), stub=StubRef("CPU", place, ("f",), place), instructions=812,
        stub_kernel=StubKernelRef("AVX2", (LoopRef("cpu_kernel", place),), place),
        native=NativeCall("f()", "_Z1fv", "libc10.so", 7), not_taken=(CallNotTaken("add_stub", place, place, ("f",)),),
        library=LibraryEntry("oneDNN", "matmul", "2x2:2x2", "ref:any"), launch=LaunchRef("cudaLaunchKernel", 1184),
        weights={"device": 1184, "saved": 36},
        caught=HopError("sizes differ", place), copy=CopyRef(given, given, 12, "self", True),
    )  # fmt: skip
    key = Hop(3, "key", "CPU", "derived", place, dispatch=dispatch, children=(inner,))
    operator = Hop(
        2, "op", "aten::add.Tensor", "observed", place, op="aten::add.Tensor", evidence=(3,),
        why=(Said("seen"), KeyNotKnown(LeftByGuards())), derivative=derivative,
        operator=OperatorRef("add(…)", place, "at::_ops::add_Tensor::call"), children=(key,),
        node=NodeRef(True, (place,)), tensors=(given,),
    )  # fmt: skip
    binding = BindingRef("torch.add", place, place)
    top = Hop(
        1,
        "binding",
        "add",
        "derived",
        several,
        binding=binding,
        python=PythonCall(4),
        module=ModuleRef("Linear", "layers.0", 1, None),
        children=(operator,),
    )
    last = Hop(5, "op", "aten::sum", "observed", place)
    missing = MissingKernel(
        "aten::sum", "SparseCPU", ("self",), ("CPU",), ("CPU",), (), "aten::add", place, "to_dense()"
    )
    modified = ModifiedTensor("torch.FloatTensor [3]", "ExpBackward0", 0, 2, 1, ("aten::exp",), ("a.add_(1)",), True)
    call = RecordingCall("aten::exp", "y = x.exp()", "step", place)
    freed = FreedGraph("ExpBackward0", call, 0, call, 1, 2, (call,), (call,), ("h",), True, "state")
    ending = Ending(
        "backward", "RuntimeError", "no", place, "check", 5, "a.sum()", (("self", "float32[3] cpu"),),
        (LeftFunction("backward", place),), ("f()",), missing, modified,
        (KeptByTorch(ToldByRun(), InAnotherProcess()),), ("sum",),
        module="b (Linear) of Net", further=3,
        handed=HandedError("ValueError", "DataLoader worker process 0", "no", (LeftFunction("fetch", place),)),
        freed=freed, cause=Cause("why", "mend", (CauseCase("sign", "mend"),)), raising=ByCalling("PyErr_SetString"),
        compared=(ComparedValue("3", argument="self", of=ValueSize(1)),),
        untold=(UntoldArgument("indices", ListUntold()),), in_memory=NotJoined(0, 1, 1, 3, 4),
    )  # fmt: skip
    return Trace(
        expression="torch.add(a, b)",
        bound=(BoundName("a", "Tensor[3, 3]", "seeded"),),
        torch=TorchInfo("2.13.0", "a" * 40, "wheel", "3.11.2"),
        trees=(TreeInfo("runtime", "2.13.0", ("generated", "wheel")),),
        captured=Captured(ops=True, reason=NativeNotAsked()),
        result=ResultInfo("torch.Tensor", "Tensor[3, 3]"),
        findings=(Finding("cut", Said("cut here"), 2),),
        hops=(top, last),
        ending=ending,
    )


def test_what_an_ending_is_said_of_has_words_for_who_reads_json() -> None:
    """What is read back has codes alone; of an older file, whose words had no codes, it has the words."""
    written = document()
    ending = written["ending"]
    assert ending["how"] == sentence(ByCalling("PyErr_SetString"))
    assert ending["compared"][0]["what"] == ending["compared"][0]["of"]["text"] == sentence(ValueSize(1))
    assert ending["given"][-1] == ["indices", sentence(ListUntold())]
    del ending["raising"], ending["untold"], ending["compared"][0]["of"]
    older = trace_from_json(json.dumps(written).encode(), "older.json")[0].ending
    assert older is not None
    assert (older.how, older.compared[0].what) == (ending["how"], ending["compared"][0]["what"])
    assert older.given[-1] == ("indices", sentence(ListUntold()))
    assert given_in_words(older)[-1] == older.given[-1]


def document() -> Document:
    return json.loads(trace_to_json(a_trace()))


def read(document: Any) -> Trace:
    return trace_from_json(json.dumps(document).encode(), "x.json")[0]


def refused(read: Callable[[], object], code: int = USAGE) -> PtexploreError:
    with pytest.raises(PtexploreError) as caught:
        read()
    assert caught.value.exit_code == code
    assert caught.value.message
    assert caught.value.why
    assert caught.value.hint
    return caught.value


def harmless(read: Callable[[], str], path: tuple[Any, ...]) -> None:
    """Reading either works or is refused in words."""
    try:
        told = read()
    except PtexploreError as error:
        told = error.why
    assert told, path


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def put(document: Document, path: tuple[Any, ...], value: Any) -> Document:
    inner: Any = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return document


def test_round_trip() -> None:
    trace, session = trace_from_json(trace_to_json(a_trace()).encode(), "x.json")
    assert trace == a_trace()
    assert session is None


def test_every_record_of_a_hop_is_in_the_round_trip_and_explained() -> None:
    hops = list(walk(a_trace().hops))
    assert [name for name in RECORDS if all(getattr(hop, name) is None for hop in hops)] == []
    optional = {name for name, value in document()["hops"][0].items() if value is None or isinstance(value, dict)}
    others = {
        "op",
        "key",
        "registration",
        "declaration",
        "source",
        "derivative",
        "instructions",
        "parent",
        "weights",
        "time",
        "sequence",
    }
    assert optional - others == set(RECORDS)


def test_hops_are_a_flat_table_in_reading_order() -> None:
    assert [(row["id"], row["parent"]) for row in document()["hops"]] == [(1, None), (2, 1), (3, 2), (4, 3), (5, None)]


def test_what_unpacks_to_too_much_is_refused_before_it_is_there() -> None:
    bomb = gzip.compress(b" " * (64 << 20))
    tracemalloc.start()
    try:
        assert "unpacks to more than" in (refused(lambda: trace_from_json(bomb, "x.json")).why or "")
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()


def test_it_may_be_packed() -> None:
    assert trace_from_json(gzip.compress(trace_to_json(a_trace()).encode()), "x.json")[0] == a_trace()


@pytest.mark.parametrize("value", [1e-4 / 3, -9.8765432109876543e-5, 5e-324, 1.7976931348623157e308, 2**64 - 1])
def test_any_number_of_a_machine_is_read(value: float) -> None:
    """Between 1e-5 and 1e-4 a float is written without an exponent: 21 digits in a row."""
    event = {"event": 1, "parent": None, "type": "op", "thread": 0, "phase": "forward", "name": "aten::clamp"}
    seen = SavedObservation(1, "ops", "event", event | {"inputs": [value]})
    told = Session("x", TorchInfo("2.13.0"), (), TraceOptions(), Captured(), ResultInfo(), (seen.as_seen(),))
    session = trace_from_json(trace_to_json(a_trace(), told).encode(), "x.json")[1]
    assert session is not None
    assert session.observations[0].as_saved().data["inputs"] == [value]


def test_further_keys_are_passed_over() -> None:
    further = document() | {"more": {"deep": [[1]]}}
    further["hops"][0] |= {"more": 1}
    further["hops"][0]["source"] |= {"more": 1}
    assert read(further) == a_trace()


def test_a_text_that_is_no_unicode_is_kept_as_far_as_it_is() -> None:
    trace = replace(a_trace(), expression="--script \udcff…")
    text = trace_to_json(trace)
    assert text.isascii()
    assert trace_from_json(text.encode(), "x.json")[0].expression == "--script ?…"


@pytest.mark.parametrize(
    "change",
    [
        {"format": "2"},
        {"format": True},
        {"format": 0},
        {"format": 2.0},
        {"hops": {}},
        {"hops": [{"kind": "op"}]},
        {"expression": 7},
        {"bound": {"a": "Tensor"}},
        {"trees": [{"name": "x", "version": "1", "layers": ["moon"]}]},
        {"findings": [{"kind": "cut", "told": {"code": "said", "sentence": "x"}, "hop": "3"}]},
        {"captured": {"native": 1}},
    ],
)
def test_refused(change: Document) -> None:
    error = refused(lambda: read(document() | change))
    assert error.message == "x.json is not a saved trace"


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"[]", b"{}", b"{", b"3", b'{"format": 2}', b'{"format": 1}', b"\x1f\x8bx", b"\xff", b"[" * 100_000),
        b'{"format": 1, "hops": ' + b"[" * 100_000,
        b'{"format": ' + b"9" * 9000 + b"}",
    ],
    ids=lambda text: repr(text[:24]),
)
def test_what_is_no_trace(text: bytes) -> None:
    refused(lambda: trace_from_json(text, "x.json"))


def test_a_value_of_the_wrong_kind_is_told_with_its_place() -> None:
    wrong = put(document(), ("hops", 1, "operator", "yaml", "line"), "12")
    assert refused(lambda: read(wrong)).why == "Expected `int | null`, got `str` - at `$.hops[1].operator.yaml.line`"


WRONG: tuple[Any, ...] = (None, 3, -1, 10**30, 1.5, "text", [], {}, [[]], {"x": {}}, True)


def test_any_one_thing_wrong_is_refused_or_harmless() -> None:
    for path in places(document()):
        for wrong in random.Random(str(path)).sample(WRONG, 4):
            spoilt = put(document(), path, wrong)
            harmless(lambda spoilt=spoilt: trace_to_json(read(spoilt)), path)


NO_TREES: dict[str, Callable[[list[Document]], object]] = {
    "an id twice": lambda rows: rows[1].update(id=1),
    "a parent that is not there": lambda rows: rows[1].update(parent=77),
    "a parent further down": lambda rows: rows[0].update(parent=2),
    "a circle": lambda rows: rows[1].update(parent=2),
    "its parent after it": lambda rows: rows.reverse(),
}


@pytest.mark.parametrize("label", NO_TREES)
def test_hops_that_are_no_tree(label: str) -> None:
    spoilt = document()
    NO_TREES[label](spoilt["hops"])
    refused(lambda: read(spoilt))


def test_nesting_without_end() -> None:
    row = document()["hops"][0]
    chain = [row | {"id": number, "parent": number - 1 or None} for number in range(1, DEEPEST + 2)]
    refused(lambda: read(document() | {"hops": chain}))
    assert len(list(walk(read(document() | {"hops": chain[:3000]}).hops))) == 3000
    ref = document()["hops"][0]["source"]
    for levels in (100, 5000):
        deep = ref
        for _ in range(min(levels, 100)):
            deep = ref | {"candidates": [deep]}
        text = json.dumps(put(document(), ("hops", 0, "source"), deep))
        if levels > 100:
            opening = '{"path":null,"line":null,"layer":null,"precision":"unknown","candidates":['
            text = json.dumps(put(document(), ("hops", 0, "source"), "HERE"))
            text = text.replace('"HERE"', opening * levels + "]}" * levels)
        refused(lambda text=text: trace_from_json(text.encode(), "x.json"))


PATHS = [path for path in places(document()) if path[-1] == "path"]


@pytest.mark.parametrize("outside", ["/etc/passwd", "../../etc/passwd", "a/../../b", "~/x", "a\n/.."])
def test_a_path_out_of_a_tree_is_refused_wherever_it_is(outside: str) -> None:
    assert len({tuple(key for key in path if isinstance(key, str)) for path in PATHS}) == 26
    for path in PATHS:
        error = refused(lambda path=path: read(put(document(), path, outside)))
        assert "leads out of a tree" in error.why, path


def test_a_file_of_the_users_own_is_named_as_python_has_it() -> None:
    """It is in no tree, so nothing reads it."""
    at = PATHS[0][:-1]
    yours = {**value_at(document(), at), "path": "/mine.py", "layer": None, "precision": "located", "url": None}
    trace = read(put(document(), at, yours))
    assert json.loads(trace_to_json(trace))["hops"] == put(document(), at, yours)["hops"]


def test_a_link_is_made_of_tree_path_and_line_and_never_read() -> None:
    """A file's link may lead anywhere: of it counts only that there was one."""
    commit = "b" * 40
    known = {**document(), "trees": [{**document()["trees"][0], "commit": commit}]}
    tree = known["trees"][0]["name"]
    for evil in ("javascript:alert(1)", "https://evil.example/", "http://github.com/", "", "//evil.example"):
        for path in PATHS:
            assert read(put(document(), (*path[:-1], "url"), evil)) == a_trace(), path  # no tree says which text it is
            place = put(put(known, (*path[:-1], "url"), evil), (*path[:-1], "tree"), tree)
            assert "evil" not in trace_to_json(read(place))
    at = PATHS[0][:-1]
    place = put(put(put(known, (*at, "url"), "https://evil.example/"), (*at, "tree"), tree), (*at, "layer"), "checkout")
    made = value_at(json.loads(trace_to_json(read(place))), at)
    line = f"#L{made['line']}" if made["line"] else ""
    assert made["url"] == f"https://github.com/pytorch/pytorch/blob/{commit}/{quote(made['path'])}{line}"
    for no_commit in ("../../../../evil/evil/" + "a" * 18, "main", "B" * 40, "b" * 39):
        spoilt = put(place, ("trees", 0, "commit"), no_commit)
        assert value_at(json.loads(trace_to_json(read(spoilt))), at)["url"] is None


def value_at(held: Any, path: Any) -> Any:
    """What a document holds there."""
    for part in path:
        held = held[part]
    return held


def test_newer_format_says_so() -> None:
    error = refused(lambda: read(document() | {"format": TRACE_FORMAT + 1}), MISSING)
    assert f"format {TRACE_FORMAT + 1}" in error.message
    assert "upgrade" in error.hint


# --- format 4: why a place is no better known was a sentence ---


def with_sentences(held: Any) -> Any:
    """What formats up to 4 wrote: the same, with sentences as the reasons of places."""
    if isinstance(held, list):
        return [with_sentences(part) for part in held]
    if not isinstance(held, dict):
        return held
    made = {key: with_sentences(part) for key, part in held.items()}
    if "precision" in held and held["reason"] is not None:
        made["reason"] = held["reason"]["text"]
    return made


def of_format_4() -> Document:
    return with_sentences(document()) | {"format": 4}


@pytest.mark.parametrize("name", ["backward", "program"])
def test_the_saved_bytes_of_format_5_are_a_weight(name: str) -> None:
    """Format 5 had them as a key of hops and calls, and the time of a launch on its device in its own record alone."""
    packed = (SAVED / f"format5-{name}.json.gz").read_bytes()
    before: Document = json.loads(gzip.decompress(packed))
    trace, session = trace_from_json(packed, name)
    now: Document = json.loads(trace_to_json(trace, session))
    assert (before["format"], now["format"]) == (5, TRACE_FORMAT)
    rows = [(old, new) for old, new in zip(before["hops"], now["hops"], strict=True)]
    if name == "program":
        rows += zip(before["program"]["calls"], now["program"]["calls"], strict=True)
    assert [new["weights"] for _, new in rows] == [{"saved": old["saved"]} if old["saved"] else None for old, _ in rows]
    assert sum((new["weights"] or {}).get("saved", 0) for _, new in rows) == {"backward": 36, "program": 192}[name]


def test_a_launch_of_format_5_has_its_time_as_a_weight() -> None:
    made = document() | {"format": 5}
    hop = next(hop for hop in made["hops"] if hop["launch"] is not None)
    del hop["weights"]
    hop["saved"] = 0
    assert hop["launch"]["took"] > 0
    assert next(h for h in walk(read(made).hops) if h.id == hop["id"]).weights == {"device": hop["launch"]["took"]}


def test_why_a_place_is_unknown_is_written_with_its_sentence_and_read_without() -> None:
    trace, made = a_trace(), document()
    assert made["hops"][0]["source"]["reason"] == {"code": "shared-code", "count": 2, "text": why_there(SharedCode(2))}
    made["hops"][0]["source"]["reason"]["text"] = "what somebody wrote"
    assert read(made) == trace
    assert "somebody" not in trace_to_json(read(made))


def test_sentences_of_places_in_format_4_are_kept() -> None:
    made = of_format_4()
    assert made["hops"][0]["source"]["reason"] == why_there(SharedCode(2))
    trace = read(made)
    assert trace.format == TRACE_FORMAT
    assert trace.hops[0].source.reason == Said(why_there(SharedCode(2)))
    again = json.loads(trace_to_json(trace))
    assert again["hops"][0]["source"]["reason"]["text"] == why_there(SharedCode(2))
    assert read(again) == trace


def test_a_file_outside_of_torch_is_known_of_format_4() -> None:
    """--explain error asks for it, wherever the place is: of a hop, of what an error left, of a program's path."""
    outside = {"path": None, "line": 3, "layer": None, "precision": "unknown", "reason": "outside torch: <--setup 1>"}
    made = of_format_4()
    made["hops"][0]["source"] = outside
    made["ending"]["python"][0]["source"] = outside
    path = {"kind": "user", "name": "x", "calls": 1, "time": 1, "source": outside}
    made["program"] = {"paths": [path], "sets": [], "kinds": [], "routes": [], "calls": [], "order": "", "ordered": 0,
                       "wall": 1, "overhead": 0}  # fmt: skip
    trace = read(made)
    assert trace.ending is not None
    assert trace.program is not None
    places = (trace.hops[0].source, trace.ending.python[0].source, trace.program.paths[0].source)
    assert [place.reason for place in places if place is not None] == [OutsideTorch("<--setup 1>")] * 3


def test_a_code_of_a_newer_version_is_kept_with_its_arguments() -> None:
    newer = {
        "code": "of-next-year",
        "text": "what somebody wrote",
        "names": ["f"],
        "because": {"code": "left-by-guards"},
    }
    made = put(put(document(), ("hops", 0, "source", "reason"), newer), ("findings", 0, "told"), newer)
    made["hops"][0]["why"] = [newer, {"code": "key-not-known", "because": {"code": "of-next-year"}}]
    trace = read(made)
    kept = UnknownCode("of-next-year", '{"names":["f"],"because":{"code":"left-by-guards"}}')
    assert trace.hops[0].source.reason == trace.findings[0].told == kept
    assert trace.hops[0].why == (kept, KeyNotKnown(UnknownCode("of-next-year")))
    assert read(json.loads(trace_to_json(trace))) == trace


@pytest.mark.parametrize("reason", [{}, {"code": 3}, {"code": None}, "left-by-guards", ["left-by-guards"]])
def test_a_reason_without_a_code_is_refused(reason: object) -> None:
    for keys in (("hops", 0, "source", "reason"), ("findings", 0, "told")):
        refused(lambda keys=keys: read(put(document(), keys, reason)))


def test_reasons_of_places_that_nest_without_end_are_refused() -> None:
    inner: dict[str, Any] = {"code": "nothing-confirms"}
    for _ in range(300):
        inner = {"code": "record-unconfirmed", "because": inner}
    refusal = refused(lambda: read(put(document(), ("hops", 0, "source", "reason"), inner)))
    assert "nest" in refusal.why


# --- format 2: reasons were sentences ---

WHYS = ("tls_why", "redispatch", "unread_why")


def of_format_2() -> Document:
    """What format 2 wrote: the same but for its reasons."""
    made = of_format_4()
    for hop in made["hops"]:
        hop["why"] = [why["text"] for why in hop["why"]]
        for key in WHYS if hop["dispatch"] else ():
            hop["dispatch"][key] = hop["dispatch"][key]["text"] if hop["dispatch"].get(key) else None
    for finding in made["findings"]:
        del finding["told"]
    made["ending"]["why"] = [why["text"] for why in made["ending"]["why"]]
    made["captured"]["reason"] = made["captured"]["reason"]["text"]
    return made | {"format": 2}


def test_sentences_of_format_2_are_kept() -> None:
    trace = read(of_format_2())
    told = [list(map(sentence, hop.why)) for hop in walk(trace.hops)]
    assert told == [[why["text"] for why in hop["why"]] for hop in document()["hops"]]
    (dispatch,) = (hop.dispatch for hop in walk(trace.hops) if hop.dispatch is not None)
    assert dispatch.tls_why == Said(sentence(LeftByGuards()))
    assert trace.format == TRACE_FORMAT
    assert [finding.told for finding in trace.findings] == [Said("cut here")]
    assert trace.ending is not None
    assert [type(why) for why in trace.ending.why] == [Said]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the native tree ends early: too many calls", TreeEnds(Said("too many calls"))),
        ("the native tree of mm ends early: time", TreeEnds(Said("time"), "mm")),
        (
            "3 of 1,200 kinds of operator calls and nodes were stepped, one call of each, 7 instructions",
            KindsStepped(3, 1200, Said("one call of each, 7 instructions")),
        ),
        ("something else", Said("something else")),
    ],
)
def test_what_is_asked_of_findings_is_known_of_format_2(text: str, expected: Reason) -> None:
    made = of_format_2() | {"findings": [{"kind": "cut", "text": text, "hop": None}]}
    assert [finding.told for finding in read(made).findings] == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("which key this call goes to is not known: a guard may be on", KeyNotKnown(Said("a guard may be on"))),
        ("which key this call goes to after CPU is not known: it ended", KeyNotKnown(Said("it ended"), "CPU")),
        ("C++'s stack held it when the error was thrown", OnStack()),
        ("the body of f calls it", Said("the body of f calls it")),
    ],
)
def test_what_is_asked_of_reasons_is_known_of_format_2(text: str, expected: Reason) -> None:
    made = of_format_2()
    made["hops"][0]["why"] = [text]
    trace = read(made)
    assert trace.hops[0].why == (expected,)


# --- format 3: what recorders say of themselves were sentences ---


def of_format_3(**changed: Any) -> Document:
    """What format 3 wrote: the same but for what recorders say."""
    made = of_format_4()
    made["captured"]["reason"] = made["captured"]["reason"]["text"]
    return made | {"format": 3} | changed


def test_what_recorders_said_in_format_3_is_kept() -> None:
    first = {"imported": 2, "why": "raises ValueError: x"}
    captured = {"ops": True, "reason": "the native pass was not asked for", "first": first}
    bound = [{"name": "a", "description": "1", "how": how} for how in ("seeded", "--var", "--setup")]
    trace = read(of_format_3(captured=captured, bound=bound))
    assert trace.format == TRACE_FORMAT
    assert [name.how for name in trace.bound] == ["seeded", "variable", "setup"]
    assert trace.captured.reason == Said("the native pass was not asked for")
    assert trace.captured.first is not None
    assert trace.captured.first.why == Said("raises ValueError: x")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"code": "tree-ends", "why": "time", "op": "mm"}, TreeEnds(Said("time"), "mm")),
        (
            {
                "code": "kinds-stepped", "kinds": 1, "all_kinds": 3, "of_each": {"code": "one-of-each"},
                "left": [{"code": "kinds-left", "count": 2, "why": "the budget was spent"}], "op": "mm",
                "command": "ptexplore trace --script 'a b.py' --native-op mm",
            },
            KindsStepped(
                1, 3, OneOfEach(), left=(KindsLeft(2, BudgetSpent()),), then=StepOperator("a b.py", "mm"), op="mm"
            ),
        ),
    ],
)  # fmt: skip
def test_what_findings_told_in_format_3_is_kept(told: Document, expected: Reason) -> None:
    made = of_format_3(findings=[{"kind": "cut", "told": told, "text": "", "hop": None}])
    assert [finding.told for finding in read(made).findings] == [expected]


def test_a_finding_of_an_older_format_that_is_made_to_cost_is_refused() -> None:
    """A command is split a character at a time, and Python makes no number of more than 4,300 digits."""
    command = {"code": "kinds-left", "count": 1, "why": "x", "left": [], "command": "x" * 250_000}
    with pytest.raises(PtexploreError) as refused:
        read(of_format_3(findings=[{"kind": "cut", "told": command, "text": "", "hop": None}]))
    assert "more than 10,000 characters" in refused.value.why
    text = f"{'9' * 5000} of 1 kinds of operator calls and nodes were stepped, x"
    older = {**of_format_3(), "format": 2, "findings": [{"kind": "stepped", "text": text, "hop": None}]}
    with pytest.raises(PtexploreError):
        read(older)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from Tensor[3, 3] float32 cpu, summed", BackwardFrom((BeganAtSum("Tensor[3, 3] float32 cpu"),))),
        ("from Tensor[] float32 and Tensor[2] cfloat, its real part, summed and more",
         BackwardFrom((BeganAt("Tensor[] float32"), BeganAtRealSum("Tensor[2] cfloat")), 1)),
    ],
)  # fmt: skip
def test_what_backward_ran_from_is_known_of_format_3(text: str, expected: Reason) -> None:
    made = of_format_3()
    made["result"]["backward"] = text
    assert read(made).result.backward == expected


def test_observations_and_programs_of_format_3_are_read() -> None:
    route = {"kind": 0, "sets": 0, "unstepped": "the budget was spent"}
    path = {"kind": "program", "name": "x", "calls": 1, "time": 1}
    kind, sets = {"type": "op", "name": "aten::a"}, {"include": 0, "exclude": 0}
    program = {
        "paths": [path], "sets": [sets], "kinds": [kind], "routes": [route], "calls": [], "order": "", "ordered": 0,
        "wall": 1, "overhead": 0, "cuts": ["processes were started"], "stepping": {"most": 9, "reason": "no fork"},
    }  # fmt: skip
    seen = {"id": 1, "recorder": "ops", "kind": "cut", "data": {"text": "too many"}}
    calls = dict.fromkeys(("functions", "function", "depth", "begin", "end", "tail"), ()) | {"part": "forward"}
    calls |= {"instructions": 1, "registers": {}, "closed": {}, "cut": "it took long", "unordered": None}
    stepped = {"id": 2, "recorder": "native", "kind": "calls", "data": calls}
    made = of_format_3(program=program)
    session = {name: made[name] for name in ("expression", "torch", "bound", "captured", "result")}
    session |= {"format": 3, "options": {}, "observations": [seen, stepped]}
    trace, kept = trace_from_json(json.dumps(made | {"session": session}).encode(), "x.json")
    assert trace.program is not None
    assert trace.program.cuts == (Said("processes were started"),)
    assert trace.program.stepping is not None
    assert trace.program.stepping.reason == Said("no fork")
    assert [route.unstepped for route in trace.program.routes] == [BudgetSpent()]
    assert kept is not None
    (remark,) = records(kept.observations, "cut", Remark)
    assert remark.told == Said("too many")
    (part,) = records(kept.observations, "calls", SteppedCalls)
    assert (part.cut, part.unordered) == (Said("it took long"), None)


def test_what_recorders_say_is_written_with_its_sentence_and_read_without() -> None:
    told = {"code": "events-cut", "most": 9, "text": "somebody's"}
    seen = SavedObservation(1, "ops", "cut", {"told": told, "text": "somebody's"}).as_seen()
    trace = a_trace()
    session = Session("x", trace.torch, (), TraceOptions(), Captured(reason=RunsOnce()), trace.result, (seen,))
    text = trace_to_json(trace, session)
    assert "somebody" not in text
    written = json.loads(text)["session"]
    assert written["captured"]["reason"] == {"code": "runs-once", "text": sentence(RunsOnce())}
    assert written["observations"][0]["data"]["text"] == sentence(EventsCut(9))
    kept = trace_from_json(text.encode(), "x.json")[1]
    assert kept is not None
    assert kept.observations[0].as_saved().data["told"] == {"code": "events-cut", "most": 9}
    assert kept.captured.reason == RunsOnce()


def test_a_reason_may_follow_from_many() -> None:
    many = ForEach(tuple(ArgumentSets((f"a{number}",), LeftByGuards()) for number in range(500)))
    trace = a_trace()
    trace = replace(trace, hops=(replace(trace.hops[0], why=(many,)), *trace.hops[1:]))
    assert read(json.loads(trace_to_json(trace))).hops[0].why == (many,)


def test_reasons_that_nest_without_end_are_refused() -> None:
    made = document()
    inner: dict[str, Any] = {"code": "left-by-guards"}
    for _ in range(300):
        inner = {"code": "not-read", "because": inner}
    made["hops"][0]["why"] = [inner]
    assert "nest" in refused(lambda: read(made)).why


def test_a_sentence_beside_a_code_is_not_taken_from_a_file() -> None:
    made = document()
    said = {"code": "left-by-guards", "text": "what somebody wrote"}
    made["hops"][0]["why"] = [said, {"code": "key-not-known", "because": said}]
    trace = read(made)
    assert trace.hops[0].why == (LeftByGuards(), KeyNotKnown(LeftByGuards()))
    assert "somebody" not in trace_to_json(trace)


# --- format 1: two files that ptexplore saved when that was its format ---


def old(name: str) -> Document:
    return json.loads(gzip.decompress((SAVED / f"format1-{name}.json.gz").read_bytes()))


def old_hops(hops: list[Document]) -> Iterator[Document]:
    for hop in hops:
        yield hop
        yield from old_hops(hop["children"])


@pytest.fixture(params=["add-native", "softmax-backward"])
def both(request: pytest.FixtureRequest) -> tuple[Document, Trace]:
    file = SAVED / f"format1-{request.param}.json.gz"
    return old(request.param), trace_from_json(file.read_bytes(), file.name)[0]


def test_an_ending_from_before_a_field_was_there_is_read() -> None:
    """A graph used twice, saved when an ending had no `freed` and its cause no `cases`."""
    file = SAVED / "format2-freed.json.gz"
    before = json.loads(gzip.decompress(file.read_bytes()))["ending"]
    assert "freed" not in before
    assert "cases" not in before["cause"]
    ending = trace_from_json(file.read_bytes(), file.name)[0].ending
    assert ending is not None
    assert ending.freed is None
    assert ending.cause is not None
    assert (ending.cause.why, ending.cause.remedy, ending.cause.cases) == (*before["cause"].values(), ())
    assert (ending.message, ending.hop, len(ending.python)) == (before["message"], before["hop"], 4)


def test_format_1_keeps_every_hop_in_its_place(both: tuple[Document, Trace]) -> None:
    document, trace = both
    before, after = list(old_hops(document["hops"])), list(walk(trace.hops))
    assert trace.format == TRACE_FORMAT
    assert [(h["id"], h["name"], h["kind"], h["status"]) for h in before] == [
        (h.id, h.name, h.kind, h.status) for h in after
    ]
    assert [[c["id"] for c in h["children"]] for h in before] == [[c.id for c in h.children] for h in after]
    assert [(h["source"]["path"], h["source"]["line"], h["why"], h["evidence"]) for h in before] == [
        (h.source.path, h.source.line, list(map(sentence, h.why)), list(h.evidence)) for h in after
    ]
    assert [(b.name, b.description) for b in trace.bound] == list(document["bound"].items())


# Where the keys of format 1's open objects are now.
NOW: dict[str, Callable[[Hop], Any]] = {
    "schema": lambda h: h.operator.schema, "yaml": lambda h: h.operator.yaml, "entry": lambda h: h.operator.entry,
    "python": lambda h: h.binding.python, "table_row": lambda h: h.binding.table_row,
    "assigned": lambda h: h.binding.assigned, "called_from_line": lambda h: h.python.called_from_line,
    "registered_op_line": lambda h: h.kernel.registered_op_line, "registers": lambda h: h.kernel.registers,
    "op_entry": lambda h: h.kernel.op_entry, "device": lambda h: h.stub.device, "called_at": lambda h: h.stub.called_at,
    "through": lambda h: h.stub.through, "cpu_capability": lambda h: h.stub_kernel.cpu_capability,
    "loops": lambda h: h.stub_kernel.loops, "recorded": lambda h: h.node.recorded,
    "derivatives": lambda h: h.node.derivatives, "symbol": lambda h: h.native.symbol,
    "mangled": lambda h: h.native.mangled, "library": lambda h: h.native.library, "self": lambda h: h.native.own,
    "tail": lambda h: h.native.tail, "of": lambda h: h.native.third_party,
}  # fmt: skip


def test_format_1_keeps_what_was_known_of_each_hop(both: tuple[Document, Trace]) -> None:
    document, trace = both
    kept = Counter[str]()
    for before, after in zip(old_hops(document["hops"]), walk(trace.hops), strict=True):
        for key, value in before["detail"].items():
            now = NOW[key](after)
            if isinstance(value, dict):
                assert (value["path"], value["line"]) == (now.path, now.line)
            elif key == "loops":
                assert [(one["call"], one["path"], one["line"]) for one in value] == [
                    (one.call, one.source.path, one.source.line) for one in now
                ]
            else:
                assert (tuple(value) if isinstance(value, list) else value) == now
            kept[key] += 1
        for key, value in (before["dispatch"] or {}).items():
            now = getattr(after.dispatch, key)
            now = sentence(now) if isinstance(now, Reason) else now
            empty = key in WHYS and not value  # an empty sentence says nothing
            assert (None if empty else value) == (list(now) if isinstance(now, tuple) else now)
        if before["derivative"]:
            assert after.derivative is not None
            assert (before["derivative"]["path"], before["derivative"]["line"]) == (
                after.derivative.source.path, after.derivative.source.line,
            )  # fmt: skip
            assert [(f["inputs"], f["line"], f["mode"], f["calls"]) for f in before["derivative"]["formulas"]] == [
                (f.inputs, f.line, f.mode, list(f.calls)) for f in after.derivative.formulas
            ]
    assert {"schema", "python", "registers"} <= set(kept)


def test_format_1_is_saved_anew_as_format_3(both: tuple[Document, Trace]) -> None:
    _, trace = both
    assert trace_from_json(trace_to_json(trace).encode(), "x.json")[0] == trace


def test_the_session_of_format_1() -> None:
    document = old("softmax-backward")
    _, session = trace_from_json(json.dumps(document).encode(), "x.json")
    assert session is not None
    assert session.format == TRACE_FORMAT
    assert [o.as_saved().data for o in session.observations] == [o["data"] for o in document["session"]["observations"]]
    assert session.options.backward is True
    assert session.torch.version == document["session"]["torch"]["version"]


def test_any_one_thing_wrong_in_format_1() -> None:
    text = json.dumps(old("softmax-backward") | {"session": None})
    ways: dict[tuple[str, ...], tuple[Any, ...]] = {}
    for path in places(json.loads(text)):  # one place of each shape: there are thousands of hops' fields
        ways.setdefault(tuple(key for key in path if isinstance(key, str) and key != "children"), path)
    for path in ways.values():
        for wrong in random.Random(str(path)).sample(WRONG, 4 if THOROUGH else 2):
            spoilt = put(json.loads(text), path, wrong)
            harmless(lambda spoilt=spoilt: trace_to_json(read(spoilt)), path)


def test_what_costs_more_than_its_size_says_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three bytes of an empty object take 64 of memory; the limits are small here, so that the test is."""
    from ptexplore.saved import document as codec
    from ptexplore.saved import trace as saved

    text = json.dumps(document() | {"more": [{}] * 2_000}).encode()
    assert trace_from_json(text, "x.json")[0].expression
    for limit, most, told in (("MAX_LISTS", 2_000, "lists and objects"), ("MAX_VALUES", 2_000, "values")):
        with monkeypatch.context() as patch, pytest.raises(PtexploreError) as raised:
            patch.setattr(codec, limit, most)
            patch.setattr(codec, "from_json", None)  # it is not read: that would raise another error
            trace_from_json(text, "x.json")
        assert raised.value.exit_code == USAGE
        assert "the limit is 2,000" in raised.value.why
        assert told in raised.value.why
    with pytest.raises(PtexploreError) as raised:  # Python takes seconds to make a number of that
        trace_from_json(json.dumps(document())[:-1].encode() + b', "more": ' + b"1" * 4_001 + b"}", "x.json")
    assert "a number with more digits than any real one" in raised.value.why
    monkeypatch.setattr(saved, "MAX_HOPS", 1)
    with pytest.raises(PtexploreError, match="is not a saved trace") as raised:
        trace_from_json(json.dumps(document()).encode(), "x.json")
    assert "the limit is 1" in raised.value.why


def test_kinds_that_hold_one_another_without_end_are_refused() -> None:
    """A kind that calls the one before it twice: forty of them are 2^40 calls."""
    document = json.loads(gzip.decompress((SAVED / "format2-program.json.gz").read_bytes()))
    program = document["program"]
    first = len(program["kinds"])
    for number in range(40):
        inside = [[first + number - 1, None]] * 2 if number else []
        program["kinds"].append(program["kinds"][0] | {"inside": inside})
    read(document)  # that nobody calls the last of them is harmless
    program["routes"][0]["kind"] = first + 39
    assert "its routes hold more than 500,000 calls" in refused(lambda: read(document)).why


def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ptexplore.saved import document as codec
    from ptexplore.workspace.saved_traces import save_trace

    for limit in ("MAX_LISTS", "MAX_VALUES"):
        with monkeypatch.context() as patch, pytest.raises(PtexploreError, match="was not written") as raised:
            patch.setattr(codec, limit, 5)
            save_trace(tmp_path / "x.json", a_trace(), None)
        assert "could not be loaded again" in raised.value.why
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("long", ["a", '\\"', "\\\\", "0,"])
def test_one_text_is_limited(long: str) -> None:
    """The layout of an expression of twelve million characters took half a minute."""
    most = MAX_TEXT // len(long)
    for before in ("", "x" * 1000, '", "' * 40_000):
        fits = f'["{before}", "{long * most}", [{"1," * MAX_TEXT}2]]'
        assert costs_too_much(fits.encode()) is None
        refused = costs_too_much(f'["{before}", "{long * most}aa", [{"1," * MAX_TEXT}2]]'.encode())
        assert refused == "it has a text of more than 262,144 bytes"


def test_of_format_3_a_file_outside_of_torch_and_a_marked_range_are_no_sentences() -> None:
    at = {"path": None, "line": 3, "layer": None, "precision": "unknown", "reason": "outside torch: <--setup 1>"}
    made = of_format_3()
    hop = made["hops"][0]
    marked = {**hop["source"], "path": None, "reason": "a range marked for the profiler (record_function)"}
    made["hops"] = [
        {**hop, "source": at, "native": None},
        {**hop, "id": 999_999, "kind": "python", "parent": None, "source": marked, "native": None},
    ]
    trace = read(made)
    assert [hop.source.outside for hop in trace.hops] == ["<--setup 1>", ""]
    assert [MarksRange() in hop.why for hop in trace.hops] == [False, True]


@pytest.mark.parametrize("ordered", [2**26 + 1, 2**62, 2**63, 10**19])
def test_an_order_without_end_is_not_read(ordered: int) -> None:
    document = json.loads(gzip.decompress((SAVED / "format5-program.json.gz").read_bytes()))
    document["program"]["ordered"] = ordered
    trace, _ = trace_from_json(json.dumps(document).encode(), "x")
    assert trace.program is not None
    assert began(trace.program) == list(range(len(trace.program.calls)))
