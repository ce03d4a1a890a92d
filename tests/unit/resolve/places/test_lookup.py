"""Where a function, a registration or a binding stands: the runtime tree first, other trees after it, in order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptexplore.model.operators import Registration
from ptexplore.model.place_reasons import (
    ComparedWith,
    EntryNamesNoFile,
    HeaderHolds,
    LeftOut,
    NoDefinition,
    NoMacro,
    NotInWheel,
    RecordHandWritten,
    RecordNamesLine,
    RecordUnconfirmed,
)
from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import within
from ptexplore.resolve.places.lookup import ANY, PLUMBING_HEADER, Lookup
from tests.unit.conftest import ATEN
from tests.unit.resolve.making import Rows, Small, entry, place, registration

HAND, MANUAL = "aten/src/ATen/native/Blend.cpp", "torch/csrc/autograd/FunctionsManual.cpp"
CPU = f"{ATEN}/RegisterCPU_0.cpp"
BATCHED = "TORCH_LIBRARY_IMPL(aten, FuncTorchBatched"


# --- functions ---


def test_generated_text_comes_before_any_checkout(small: Small) -> None:
    rows = Rows(definitions=[("at::native::weave", CPU, 12, 14)])
    assert place(small.lookup(rows, small.source()).function("at::native::weave")) == (CPU, 12, "located")
    twice = Rows(definitions=[("at::native::weave", CPU, 12, 14), ("at::native::weave", CPU, 30, 32)])
    found = small.lookup(twice, small.source()).function("at::native::weave")
    assert found.path == HAND, "of two in generated text none is taken"


def test_the_first_tree_that_has_it(small: Small) -> None:
    skewed, matching = small.source("version-skew"), small.source("matches")
    assert small.lookup(None, skewed, matching).function("at::native::weave").precision == "version-skew"
    assert small.lookup(None, matching, skewed).function("at::native::weave").precision == "located"


def test_what_no_tree_has_says_what_the_first_says(small: Small) -> None:
    assert small.lookup().function("at::native::weave") == SourceRef(None, None, None, "unknown", reason=NotInWheel())
    missing = small.lookup(None, small.source()).function("at::native::gone")
    assert missing.reason == NoDefinition("at::native::gone", "tree")


def test_an_overload_by_its_parameters(small: Small) -> None:
    lookup = small.lookup(None, small.source())
    assert lookup.function("at::native::blend_many").precision == "ambiguous"
    told = lookup.function("at::native::blend_many", ("const at::Tensor &", "int64_t"))
    assert place(told) == (HAND, small.line(HAND, "Tensor blend_many("), "located")


def test_the_lines_of_a_reference(small: Small) -> None:
    lookup = small.lookup(None, small.source())
    weave = lookup.function("at::native::weave")
    assert lookup.lines(weave)[0].startswith("Tensor weave(")
    assert lookup.lines(weave)[-1] == "}"
    assert lookup.lines(SourceRef(None, None, None, "unknown")) == []
    assert lookup.tree_of(weave).info.name == "tree"
    assert [one.name for one in lookup.infos] == ["runtime", "tree"]
    there = lookup.place_of(weave)
    assert there is not None
    assert (there[0].endswith(HAND), there[1]) == (True, weave.line)


# --- the lines of registrations ---


def hand(op: str, key: str, line: int) -> Registration:
    """A hand-written registration as the binary records it: its macro's line."""
    return registration(op, key, (HAND, line), origin="handwritten", confirmed=False, why_not=RecordHandWritten())


@pytest.mark.parametrize(
    "word, precision", [("matches", "registered"), ("consistent", "registered"), ("version-skew", "version-skew")]
)
def test_a_record_is_held_against_the_macro_at_its_line(small: Small, word: str, precision: str) -> None:
    line = small.line(HAND, BATCHED)
    found = small.lookup(None, small.source(word)).registered(hand("aten::blend.Pair", "FuncTorchBatched", line))
    assert found is not None
    assert place(found.record) == (HAND, line, precision)
    assert found.entry is not None
    assert found.entry.line == small.line(HAND, 'm.impl("blend.Pair", boxed_rule)')
    assert (found.name, found.expression) == ("at::native::boxed_rule", "boxed_rule")
    assert found.body is not None
    assert found.body.line == small.line(HAND, "Tensor boxed_rule(")


@pytest.mark.parametrize(
    "op, key, shift",
    [
        ("aten::blend.Pair", "FuncTorchBatched", 1),  # no macro is at that line
        ("aten::blend.Pair", "CPU", 0),  # the macro there is of another key
        ("aten::absent", "FuncTorchBatched", 0),  # its block does not name that operator
    ],
)
def test_a_record_that_the_text_does_not_bear_out_confirms_nothing(small: Small, op: str, key: str, shift: int) -> None:
    record = hand(op, key, small.line(HAND, BATCHED) + shift)
    assert small.lookup(None, small.source()).registered(record) is None


def test_the_last_line_of_a_macro_counts_too(small: Small) -> None:
    """GCC records the line where an invocation ends, clang the one where it begins."""
    last = small.line(HAND, "    m) {")
    for line in (last - 3, last):
        found = small.lookup(None, small.source()).registered(hand("aten::blend.Pair", "Autocast", line))
        assert found is not None, line
        assert found.record.precision == "registered"


def test_a_source_without_text_confirms_no_record(small: Small) -> None:
    """An atlas has names and lines; what a line holds nobody can see there."""
    line = small.line(HAND, BATCHED)
    atlas = small.source(checkout=None, layer="atlas")
    found = small.lookup(None, atlas).registered(hand("aten::blend.Pair", "FuncTorchBatched", line))
    assert found is not None
    assert found.record.precision == "located"


def test_in_another_versions_tree_the_one_registration_of_that_operator_and_key(small: Small) -> None:
    """Its line is another one there: the record's own is said."""
    source = small.source("version-skew")
    found = small.lookup(None, source).registered(hand("aten::blend.Pair", "FuncTorchBatched", 3))
    assert found is not None
    assert place(found.record) == (HAND, small.line(HAND, BATCHED), "version-skew")
    assert RecordNamesLine(3) in within(found.record.reason)
    assert small.lookup(None, source).registered(hand("aten::blend.Pair", "CPU", 3)) is None, "none of that key"
    assert small.lookup(None, source).registered(hand("aten::twice", "Named", 3)) is None, "two of it"


def test_an_alias_of_a_key_is_that_key(small: Small) -> None:
    """c10/core/DispatchKey.h: Autocast is AutocastCUDA."""
    line = small.line(HAND, "    m) {") - 3
    assert small.lookup(None, small.source()).registered(hand("aten::blend.Pair", "AutocastCUDA", line)) is not None


def test_a_generated_record_is_not_looked_for_in_a_checkout(small: Small) -> None:
    record = registration("aten::blend.Pair", "FuncTorchBatched", (HAND, small.line(HAND, BATCHED)))
    assert small.lookup(None, small.source()).registered(record) is None


# --- what is registered ---


def batched(small: Small, op: str) -> tuple[str | None, SourceRef | None]:
    record = hand(op, "FuncTorchBatched", small.line(HAND, BATCHED))
    found = small.lookup(None, small.source()).registered(record)
    assert found is not None
    return found.name, found.body


def test_a_batching_rule_is_wrapped_by_a_template_of_the_wheels_header(small: Small) -> None:
    name, body = batched(small, "aten::mirror")
    assert name == "at::functorch::blend_generated_plumbing"
    assert body is not None
    first = small.line(PLUMBING_HEADER, "blend_generated_plumbing(")
    assert (*place(body), body.end_line) == (PLUMBING_HEADER, first, "located", first + 3)


def test_a_template_that_stands_there_twice_is_not_chosen(small: Small) -> None:
    _, body = batched(small, "aten::fold")
    assert body is not None
    assert body.precision == "unknown"
    assert body.reason == HeaderHolds("mirror_generated_plumbing", PLUMBING_HEADER, 2)


def test_what_is_no_function_has_no_body(small: Small) -> None:
    assert batched(small, "aten::weave") == (None, None)


def test_a_function_that_the_build_leaves_out(small: Small) -> None:
    name, body = batched(small, "aten::spin")
    assert name == "left_out"
    assert body is not None
    assert body.reason == LeftOut("left_out", "tree")


# --- table entries ---


def test_an_entry_of_a_confirmed_registration(small: Small) -> None:
    lookup = small.lookup()
    found = lookup.entry(entry("CPU", at=(CPU, 21)), "CPU", registration("aten::blend.Pair", "CPU", (CPU, 21)))
    assert place(found) == (CPU, 21, "registered")


def test_an_entry_that_names_no_file_of_torchs(small: Small) -> None:
    found = small.lookup().entry(entry("Meta", raw="registered at /dev/null:241"), "Meta", None)
    assert place(found) == (None, None, "unknown")
    assert found.reason == EntryNamesNoFile("registered at /dev/null:241")


def test_an_entry_that_nothing_confirms_says_why(small: Small) -> None:
    line = small.line(HAND, BATCHED)
    record = hand("aten::blend.Pair", "FuncTorchBatched", line)
    found = small.lookup().entry(entry("FuncTorchBatched", at=(HAND, line)), "FuncTorchBatched", record)
    assert place(found) == (HAND, line, "unknown")
    assert found.reason == RecordUnconfirmed(RecordHandWritten())
    shifted = hand("aten::blend.Pair", "FuncTorchBatched", line + 1)
    made = entry("FuncTorchBatched", at=(HAND, line + 1))
    found = small.lookup(None, small.source()).entry(made, "FuncTorchBatched", shifted)
    told = ComparedWith("tree", NoMacro(line + 1))
    assert found.reason == RecordUnconfirmed(told), "the tree that relates says it"


def test_the_fallback_of_a_key_is_one_for_every_operator(small: Small) -> None:
    line = small.line(HAND, "TORCH_LIBRARY_IMPL(_, Conjugate")
    made = entry("Conjugate", at=(HAND, line), reason="backend fallback")
    lookup = small.lookup(None, small.source())
    found = lookup.fallback(made, "Conjugate")
    assert found is not None
    assert found.name == "conjugate_fallback"
    assert place(lookup.entry(made, "Conjugate", None)) == (HAND, line, "registered")
    assert lookup.fallback(made, "Negative") is None, "that macro is of another key"
    assert lookup.fallback(entry("Conjugate"), "Conjugate") is None, "no file is named"
    skewed = small.lookup(None, small.source("version-skew")).fallback(entry("Conjugate", at=(HAND, 3)), "Conjugate")
    assert skewed is not None
    assert place(skewed.record) == (HAND, line, "version-skew"), "in another version it is at another line"
    assert ANY == "_::*"


# --- bindings ---


def lookup_with(small: Small, *words: str) -> Lookup:
    return small.lookup(None, *(small.source(word) for word in words))


def test_a_hand_written_table_names_the_c_function(small: Small) -> None:
    found = lookup_with(small, "matches").method("hand", ("torch_functions_manual",))
    assert found is not None
    name, row, body = found
    assert name == "THPVariable_hand"
    assert place(row) == (MANUAL, small.line(MANUAL, '{"hand", THPVariable_hand'), "located")
    assert place(body) == (MANUAL, small.line(MANUAL, "THPVariable_hand(PyObject*"), "located")


def test_rows_of_two_tables_name_none(small: Small) -> None:
    lookup = lookup_with(small, "matches")
    assert lookup.method("hand", ("torch_functions_manual", "elsewhere")) is None
    assert lookup.method("hand", ("another",)) is None
    assert lookup.method("absent", ("elsewhere",)) is None


def test_a_name_in_a_scope_is_the_function_of_its_own_file(small: Small) -> None:
    source = small.source()
    ref = source.refs(source.scoped("boxed_rule", HAND, small.line(HAND, BATCHED) + 1), "boxed_rule")
    assert place(ref) == (HAND, small.line(HAND, "Tensor boxed_rule("), "located")
    elsewhere = source.refs(source.scoped("boxed_rule", MANUAL, 3), "boxed_rule")
    assert elsewhere.precision == "unknown", "it has internal linkage"
    assert replace(elsewhere, reason=None) == SourceRef(None, None, None, "unknown")
