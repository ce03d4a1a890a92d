"""The keys of steps: what changes one, and what does not."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from ptexplore.model.hop_keys import hop_keys
from ptexplore.model.hop_kinds import HopKind
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import Hop, NativeCall, walk

NUMBERS = count(1)


def hop(name: str, *children: Hop, kind: HopKind = "python", native: NativeCall | None = None) -> Hop:
    """A step whose number is another one each time, as in another trace."""
    place = SourceRef("runtime", None, None, "unknown")
    return Hop(next(NUMBERS), kind, name, "observed", place, native=native, children=children)


def named(*hops: Hop) -> dict[str, list[str]]:
    """The keys by the steps' names, in the order of the trace."""
    keys = hop_keys(hops)
    found: dict[str, list[str]] = {}
    for each in walk(hops):
        found.setdefault(each.name, []).append(keys[each.id])
    return found


def test_the_same_code_has_the_same_keys_whatever_its_numbers() -> None:
    first = named(hop("f", hop("g"), hop("h", hop("g"))))
    assert first == named(hop("f", hop("g"), hop("h", hop("g"))))
    assert len(set(first["g"])) == 2, "one key is of one path of callees"


def test_what_runs_elsewhere_changes_no_key() -> None:
    before = named(hop("f", hop("g", hop("k"))))
    after = named(hop("new", hop("g")), hop("f", hop("also"), hop("g", hop("k"), hop("new"))), hop("new"))
    assert before["f"] == after["f"]
    assert before["g"][0] in after["g"]
    assert before["k"] == after["k"]


def test_calls_alike_by_one_caller_differ_by_their_order_alone() -> None:
    two, three = named(hop("f", hop("g"), hop("g"))), named(hop("f", hop("g"), hop("x"), hop("g"), hop("g")))
    assert three["g"][:2] == two["g"]
    assert len(set(three["g"])) == 3


def test_what_a_step_is_makes_its_key() -> None:
    plain = hop("aten::add", kind="op")
    others = [
        replace(plain, op="aten::add.Tensor"),
        replace(plain, key="CPU"),
        replace(plain, phase="backward"),
        replace(plain, kind="kernel"),
        replace(plain, name="aten::sub"),
    ]
    keys = {hop_keys([each])[each.id] for each in (plain, *others)}
    assert len(keys) == 1 + len(others)
    known_better = replace(plain, status="derived", calls=7, instructions=12, time=3, evidence=(4,))
    assert hop_keys([plain])[plain.id] == hop_keys([known_better])[plain.id]


def test_a_native_function_is_known_by_the_binarys_own_name() -> None:
    one = hop("c10::f", kind="native", native=NativeCall("c10::f(int)", mangled="_ZN3c101fEi"))
    overload = replace(one, native=NativeCall("c10::f(long)", mangled="_ZN3c101fEl"))
    elsewhere = replace(one, native=NativeCall("c10::f(int)", mangled="_ZN3c101fEi", unit="Other.cpp"))
    assert len({hop_keys([each])[each.id] for each in (one, overload, elsewhere)}) == 3


def test_a_deep_stack_is_no_recursion() -> None:
    deep = hop("f")
    for _ in range(5_000):
        deep = hop("f", deep)
    assert len(set(hop_keys([deep]).values())) == 5_001
