"""The recorders' events as one tree: frames around operators where frames were recorded, each hop with its evidence."""

from __future__ import annotations

import pytest

from ptexplore.model.place_reasons import NodeOnlyReached, RangeBegun, RangeMarked
from ptexplore.resolve.claims import Claim
from ptexplore.resolve.merge import build
from tests.unit.resolve.making import Event, Small, bits, builtin, event, frame, only, op, session, shape, walk

FILE = "/site/torch/_refs.py"


def built(small: Small, ops: list[Event], frames: list[Event] | None = None) -> tuple[Claim, ...]:
    return build(small.context(session(ops, frames=frames or [])), ())


def test_operators_nest_as_they_ran(small: Small) -> None:
    assert shape(built(small, [op("aten::a", op("aten::b"), op("aten::c")), op("aten::d")])) == (
        "aten::a(aten::b aten::c) aten::d"
    )


def test_the_frames_pass_gives_the_tree_where_there_is_one(small: Small) -> None:
    """Only there operators nest in the Python that called them."""
    calls = [frame("f", builtin("torch", "a", op("aten::a")), file=FILE, line=3)]
    assert shape(built(small, [op("aten::a")], calls)) == "f(torch.a(aten::a))"


def test_each_operator_is_concluded_from_both_passes(small: Small) -> None:
    """Observations are numbered in the order given: 1 and 2 of the ops pass, 3 the frame, 4 and 5 what ran inside."""
    calls = [frame("f", op("aten::a"), op("aten::b"), file=FILE, line=3)]
    claims = built(small, [op("aten::a"), op("aten::b")], calls)
    assert only(claims, "op", "aten::a").hop.evidence == (4, 1)
    assert only(claims, "op", "aten::b").hop.evidence == (5, 2)
    assert only(claims, "python").hop.evidence == (3,), "the ops pass knows no frames"


def test_passes_that_ran_other_operators_are_not_joined(small: Small) -> None:
    claims = built(small, [op("aten::a"), op("aten::b")], [op("aten::a"), op("aten::c")])
    assert [one.hop.evidence for one in claims] == [(3,), (4,)], "the frames pass speaks for itself"


def test_the_order_of_operators_is_compared_and_their_nesting_is_not(small: Small) -> None:
    claims = built(small, [op("aten::a", op("aten::b"))], [op("aten::a"), op("aten::b")])
    assert [one.hop.evidence for one in claims] == [(3, 1), (4, 2)]


@pytest.mark.parametrize(
    "given, kind, name",
    [
        (op("aten::a"), "op", "aten::a"),
        (op("my range"), "native", "my range"),  # RECORD_FUNCTION inside a kernel: no dispatcher call
        (event("user", name="step"), "python", "step"),
        (event("node", name="AddBackward0"), "node", "AddBackward0"),
        (event("engine", name="autograd::engine::evaluate_function: Odd"), "native", "Odd"),
        (builtin("Tensor", "add"), "binding", "torch.add"),
        (frame("forward", file=FILE, line=3), "python", "forward"),
        (builtin("Tensor", "add", name=None, qualname="Tensor.add"), "binding", "Tensor.add"),
    ],
)
def test_what_an_event_is(small: Small, given: Event, kind: str, name: str) -> None:
    (claim,) = built(small, [given])
    assert (claim.hop.kind, claim.hop.name, claim.hop.status) == (kind, name, "observed")
    assert claim.event.type == given.data["type"]


def test_the_engines_event_around_a_node_is_no_hop(small: Small) -> None:
    name = "autograd::engine::evaluate_function: AddBackward0"
    node = event("node", op("aten::a"), name="AddBackward0")
    assert shape(built(small, [event("engine", node, name=name)])) == "AddBackward0(aten::a)"
    other = event("node", name="MulBackward0")
    assert shape(built(small, [event("engine", other, name=name)])) == "AddBackward0(MulBackward0)", "another's node"
    assert shape(built(small, [event("engine", op("aten::a"), name=name)])) == "AddBackward0(aten::a)"


def sets(include: str, *inside: Event) -> Event:
    """What a Python frame found the thread-local sets to be, and what it ran from then on."""
    return event("sets", *inside, tls_include=bits(include), tls_exclude=0)


def included(claims: tuple[Claim, ...], name: str) -> int | None:
    return only(claims, "op", name).event.tls_include


def test_what_python_calls_has_the_sets_that_were_read_last(small: Small) -> None:
    inner = frame("g", sets("Tracer", op("aten::b", op("aten::c"))), file=FILE, line=5)
    claims = built(small, [], [sets("CPU"), frame("f", op("aten::a"), inner, op("aten::d"), file=FILE, line=3)])
    assert shape(claims) == "f(aten::a g(aten::b(aten::c)) aten::d)", "a reading is no hop"
    assert included(claims, "aten::a") == bits("CPU")
    assert included(claims, "aten::b") == bits("Tracer")
    assert included(claims, "aten::d") == bits("Tracer"), "nobody put them back"
    assert included(claims, "aten::c") is None, "a kernel's guards are between"


def test_what_a_kernel_changes_on_its_way_to_python_it_takes_back(small: Small) -> None:
    inner = op("aten::a", sets("Python", op("aten::b")), op("aten::d"))
    claims = built(small, [], [sets("CPU"), inner, op("aten::c")])
    assert shape(claims) == "aten::a(aten::b aten::d) aten::c"
    assert included(claims, "aten::b") == bits("Python")
    assert included(claims, "aten::d") is None, "Python has ended: the kernel may have set others"
    assert included(claims, "aten::c") == bits("CPU")


def test_what_cpp_sets_for_a_function_of_pythons_ends_with_it(small: Small) -> None:
    """A frame that C++ called: what was read in it is C++'s, whether it is a hop or not."""
    called = frame("g", sets("Python", op("aten::b")), file=FILE, line=5, by_c=True)
    folded = event("sets", op("aten::e"), tls_include=bits("Tracer"), tls_exclude=0, by_c=True)
    claims = built(
        small, [], [sets("CPU"), frame("f", called, op("aten::c"), folded, op("aten::d"), file=FILE, line=3)]
    )
    assert included(claims, "aten::b") == bits("Python")
    assert included(claims, "aten::e") == bits("Tracer")
    assert included(claims, "aten::c") == included(claims, "aten::d") == bits("CPU")


def test_a_bindings_own_reading_counts_for_it_and_its_text_for_what_it_calls(small: Small) -> None:
    binding = builtin(
        "torch", "f", op("aten::a"), sets("Tracer", op("aten::b")), op("aten::d"), tls_include=bits("CPU")
    )
    claims = built(small, [], [sets("CPU"), binding, sets("CPU"), op("aten::c")])
    assert only(claims, "binding").event.tls_include == bits("CPU")
    assert included(claims, "aten::a") is None
    assert included(claims, "aten::b") == bits("Tracer"), "Python ran inside of it, and found others"
    assert included(claims, "aten::d") is None
    assert included(claims, "aten::c") == bits("CPU")


def test_a_call_that_the_dispatch_pass_marks_is_no_hop(small: Small) -> None:
    assert shape(built(small, [event("call", op("aten::a"), call=1)])) == "aten::a"


def test_an_event_whose_parent_was_cut_off_is_at_the_top(small: Small) -> None:
    claims = built(small, [op("aten::a", parent=7)])
    assert shape(claims) == "aten::a"


def test_phase_and_thread_are_the_events(small: Small) -> None:
    (claim,) = built(small, [op("aten::a", phase="backward", thread=2)])
    assert (claim.hop.phase, claim.hop.thread) == ("backward", 2)


def test_what_has_no_source_says_why(small: Small) -> None:
    ranges = built(small, [op("my range"), event("user", name="x"), event("engine", name="?")])
    assert [one.hop.source.reason for one in ranges] == [RangeMarked(), RangeBegun(), NodeOnlyReached()]
    assert all(one.hop.source.precision == "unknown" for one in ranges)


def test_an_operator_in_a_function_that_names_a_guard_says_so(small: Small) -> None:
    """With `with torch._C._AutoDispatchBelowAutograd():` Python enters C, and no reading tells of what it then is."""
    read = {"tls_include": 0, "tls_exclude": 0}
    guarding = frame("f", event("sets", op("aten::mul"), **read), op("aten::add"), file="f.py", line=1, guards=True)
    plain = frame("g", event("sets", op("aten::sub"), **read), file="f.py", line=9)
    told = walk(built(small, [], [guarding, plain]))
    assert [(one.hop.name, one.event.guards) for one in told if one.hop.kind == "op"] == [
        ("aten::mul", True), ("aten::add", True), ("aten::sub", False),
    ]  # fmt: skip
