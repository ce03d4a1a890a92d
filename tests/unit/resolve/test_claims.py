"""What every pass may look at, and the numbers that hops get at the end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptexplore.model import reasons
from ptexplore.resolve.claims import number, numbers, rewrite
from tests.unit.conftest import ATEN
from tests.unit.resolve.making import Rows, Small, claim, entry, op, place, session, tensor

HAND = "aten/src/ATen/native/Blend.cpp"


def test_hops_are_numbered_in_reading_order_and_mere_frames_come_last() -> None:
    """A number means the same hop the next time: native frames vary, and what is closed varies most."""
    tree = (
        claim("python", "f",
              claim("closed", "malloc", instructions=3),
              claim("native", "helper", claim("op", "aten::a"), instructions=9),
              claim("native", "stub kernel")),
        claim("op", "aten::b"),
    )  # fmt: skip
    found = numbers(tree)
    named = {found[one.identity]: one.hop.name for top in tree for one in top.walk()}
    assert [named[n] for n in sorted(named)] == ["f", "aten::a", "stub kernel", "aten::b", "helper", "malloc"]
    (first, second) = number(tree, numbers(tree))
    assert [first.id, *(one.id for one in first.children), second.id] == [1, 6, 5, 3, 4]


def test_a_native_hop_that_text_concluded_is_no_mere_frame() -> None:
    """It has no instructions: nobody stepped it."""
    tree = (claim("native", "stepped", instructions=0), claim("native", "predicted"))
    assert [numbers(tree)[one.identity] for one in tree] == [2, 1]


def test_changes_reach_every_claim_and_children_first() -> None:
    seen: list[str] = []

    def change(one):  # type: ignore[no-untyped-def]
        seen.append(one.hop.name)
        return one.but(replace(one.hop, status="derived"), reasons.Said("because"))

    (changed,) = rewrite((claim("op", "a", claim("op", "b")),), change)
    assert seen == ["b", "a"]
    assert [one.hop.status for one in changed.walk()] == ["derived", "derived"]
    added = changed.but(changed.hop, reasons.Said("and so")).hop.why
    assert added == (reasons.Said("because"), reasons.Said("and so")), "reasons add up"


def test_the_traced_processs_table_counts_before_the_catalogues(small: Small) -> None:
    rows = Rows(tables={"aten::a": [entry("CPU", "Meta", raw="catalogue")], "aten::b": [entry("CPU", raw="catalogue")]})
    context = small.context(None, rows, changed={"aten::a": [entry("CPU", raw="changed")]})
    mine, other = context.effective("aten::a", "CPU"), context.effective("aten::b", "CPU")
    assert mine is not None
    assert other is not None
    assert (mine.raw, other.raw) == ("changed", "catalogue")
    assert context.effective("aten::a", "Meta") is None, "the changed table is all of it"
    assert context.effective("aten::b", "CUDA") is None


def test_devices_and_layouts_of_all_tensors_that_operators_were_given(small: Small) -> None:
    given = [tensor(1, device="cuda:1"), [tensor(2), tensor(3, layout="torch.sparse_coo")], 7, None]
    context = small.context(session([op("aten::a", inputs=given)]))
    assert context.devices == {"cpu", "cuda"}
    assert context.layouts == {"strided", "sparse_coo"}
    assert small.context(session()).devices == frozenset()


def test_a_definition_is_told_from_its_overloads_by_its_declaration(small: Small) -> None:
    context = small.context(None, None, small.source())
    header = f"{ATEN}/ops/blend_native.h"
    declared = context.lookup.declaration("at::native::blend_sparse")
    assert declared is not None
    assert place(declared) == (header, small.line(header, "blend_sparse("), "located")
    assert place(context.lookup.definition("at::native::blend_sparse")) == (
        HAND,
        small.line(HAND, "Tensor blend_sparse("),
        "located",
    )
    assert context.lookup.definition("at::native::blend_many").precision == "ambiguous", (
        "declared twice, and nobody calls it"
    )
    cpu = f"{ATEN}/RegisterCPU_0.cpp"
    caller = (cpu, small.line(cpu, "wrapper_CPU__twice("))
    assert context.lookup.declaration("at::native::blend_many", caller) is not None


@pytest.mark.parametrize(
    "setup, may",
    [("g = torch.Generator()", True), ("import mine", True), ("from mine import f", True), ("import torch.fx", False),
     ("x = 1", False)],
)  # fmt: skip
def test_a_generator_may_come_from_the_setup_or_what_it_imports(small: Small, setup: str, may: bool) -> None:
    seen = session([op("aten::a", inputs=[])])
    assert small.context(replace(seen, options=replace(seen.options, setup=(setup,)))).may_give_generators is may
