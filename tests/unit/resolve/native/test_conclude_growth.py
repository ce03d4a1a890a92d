"""Frames become branches: the interpreter's wrappers go, what left no frame is put around what it holds."""

from __future__ import annotations

import pytest

from ptexplore.model.reasons import ArgumentSets, ForEach, MayBeGenerator, OtherSet, Reason, UndefinedTensor
from ptexplore.model.trace import Dispatch, Hop
from ptexplore.resolve.claims import NOT_YET, Claim
from ptexplore.resolve.native import conclude
from ptexplore.resolve.native.call_tree import NativeFrame
from ptexplore.resolve.native.conclude import (
    Branch,
    entered,
    fill,
    finish,
    grow,
    insert,
    later,
    span,
    without_assumed,
    wrap,
)
from tests.unit.resolve.native_calls import calls, part


def claim(name: str) -> Claim:
    return Claim(Hop(0, "python", name, "observed", NOT_YET))


def native(frame: NativeFrame, children: tuple[Claim, ...]) -> Claim:
    return Claim(Hop(0, "native", frame.function.name.qualified, "observed", NOT_YET), children=children)


def shape(claims: tuple[Claim, ...]) -> str:
    return " ".join(c.hop.name + (f"({shape(c.children)})" if c.children else "") for c in claims)


def grown(text: str) -> tuple[Branch, dict[str, Branch]]:
    found = grow(part(1, calls(text)))
    return found.root, {frame.function.name.qualified: branch for frame, branch in found.of.items()}


def test_the_interpreter_that_only_wraps_moves_up() -> None:
    root, _ = grown(
        "@libpython3.11.so.1.0 Eval\n @libpython3.11.so.1.0 Look\n  @libc.so.6 cmp\n f\n  @libc.so.6 malloc\n"
    )
    assert shape(finish(root, native)) == "Look(cmp) f(malloc)"


def test_other_closed_code_stays_around_what_it_calls() -> None:
    root, _ = grown("@libgomp.so.1 parallel\n f\n")
    assert shape(finish(root, native)) == "parallel(f)"


def test_a_claim_goes_around_the_calls_it_holds_and_all_between() -> None:
    root, at = grown("a\nb\n b1\nc\nd\n")
    held = span(root, [at["b1"], at["c"]])
    assert held is not None
    outer = wrap(held, claim("P"))
    assert shape(finish(root, native)) == "a P(b(b1) c) d"
    inner = span(outer, [at["b1"]])
    assert inner is not None
    wrap(inner, claim("Q"))
    assert shape(finish(root, native)) == "a P(b(Q(b1)) c) d"
    assert span(at["a"], [at["d"]]) is None, "d is not inside a"


def test_python_code_is_around_what_calls_without_the_interpreter() -> None:
    """A binding that calls an operator is inside the Python function whose only operator that is."""
    eval_, binding = "@libpython3.11.so.1.0 Eval\n", " THPVariable_add\n  add\n"
    for text, expected in (
        (f"{eval_}{binding}", "P(THPVariable_add(add))"),
        (f"{eval_} THPFunction_apply\n  @libpython3.11.so.1.0 Call\n   b\n    add\n", "THPFunction_apply(P(b(add)))"),
    ):
        root, at = grown(text)
        held = span(root, [at["add"]])
        assert held == [at["add"]]
        wrap(entered(held, root), claim("P"))
        assert shape(finish(root, native)) == expected


def test_a_claim_inside_a_frame_takes_all_it_holds() -> None:
    root, at = grown("a\n b\n c\n")
    fill(at["a"], claim("K"))
    assert shape(finish(root, native)) == "a(K(b c))"


def test_a_claim_without_frames_stands_behind_its_neighbour() -> None:
    root, at = grown("a\n b\nc\n")
    insert(root, claim("P"), at["b"])
    insert(root, claim("Q"), None)
    assert shape(finish(root, native)) == "Q a(b) P c"


def test_deep_nesting_is_whole() -> None:
    found = grow(part(1, calls("\n".join(" " * depth + f"f{depth}" for depth in range(2000)))))
    assert not found.cut
    assert len(found.of) == 2000


def test_endless_nesting_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conclude, "DEEPEST", 300)
    found = grow(part(1, calls("\n".join(" " * depth + f"f{depth}" for depth in range(2000)))))
    assert found.cut
    assert len(found.of) == 300
    assert shape(finish(found.root, native)).count("(") == 299


NONE, OTHER = UndefinedTensor(), OtherSet()
EACH = ForEach((ArgumentSets(("bias",), NONE), ArgumentSets(("g",), MayBeGenerator())))
OTHERS = ArgumentSets(("input", "weight"), OTHER)


@pytest.mark.parametrize(
    ("unread", "told", "expected"),
    [
        ((), None, OTHER),
        (("bias",), NONE, ForEach((ArgumentSets(("bias",), NONE), OTHERS))),
        (("bias", "g"), EACH, ForEach((*EACH.reasons, OTHERS))),
        (("x", "bias"), NONE, ForEach((ArgumentSets(("x", "bias"), NONE), OTHERS))),
    ],
)
def test_each_unread_argument_has_its_own_reason(
    unread: tuple[str, ...], told: Reason | None, expected: Reason
) -> None:
    sets = {"input": "CPU", "weight": "CPU"}
    dispatch = Dispatch("CPU", "", "kernel", (), arguments=sets, unread=unread, unread_why=told, assumed=tuple(sets))
    changed = without_assumed(dispatch)
    assert (changed.unread, changed.unread_why) == ((*unread, "input", "weight"), expected)
    assert (changed.arguments, changed.assumed) == ({}, ())


def test_what_has_no_frame_keeps_its_order_among_its_like() -> None:
    """As copies that a library made, an operator that lies in a frame before them, and a kernel of that library's."""
    root = Branch(None)
    holder = Branch(root)
    root.children.append(holder)
    inner = Branch(holder)
    holder.children.append(inner)
    copied = insert(root, claim("copy"), inner)
    after = later(root, copied, inner)
    assert after is copied
    ran = insert(root, claim("kernel"), after)
    assert root.children == [holder, copied, ran]
    assert later(root, None, inner) is inner
