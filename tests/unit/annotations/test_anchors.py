"""Anchors on trees that changed: same, moved, changed, ambiguous, lost; never at a place that only looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptexplore.annotations.anchors import ResolvedAnchor, Resolver
from ptexplore.annotations.lock import LockEntry
from ptexplore.annotations.records import Anchor, Where
from ptexplore.model.places import TreeInfo
from ptexplore.source.tree import SourceTree
from ptexplore.store.index.reader import IndexStore
from tests import searched_source
from tests.unit.annotations.conftest import MakeTree

MIX = "aten/src/ATen/native/Mix.cpp"
BLEND = "aten/src/ATen/native/Blend.cpp"
YAML = "aten/src/ATen/native/native_functions.yaml"
PYTHON = "torch/nn/blend.py"
TEXT = searched_source.FILES


def anchor(path: str, symbol: str, **more: object) -> Anchor:
    return Anchor(Where("notes/x.md", 1), path, symbol, **more)  # type: ignore[arg-type]


def pin(resolver: Resolver, one: Anchor) -> LockEntry:
    found = resolver.resolve("x#y", one)
    assert found.outcome == "unpinned", found
    return resolver.pin(found, "v2.99.0")


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


@pytest.fixture
def base(make_tree: MakeTree) -> Resolver:
    return make_tree({})


KINDS = {
    "function": (anchor(MIX, "at::native::use"), "int use("),
    "ending": (anchor(MIX, "Mixer::turn"), "virtual int turn"),
    "class, not its constructors": (anchor(MIX, "Mixer"), "struct Mixer {"),
    "overload": (anchor(MIX, "at::native::mix", signature="(int)"), "int mix(int a) {\n  return mix<"),
    "enclosing": (anchor(MIX, "turn", inside="FastMixer"), "int turn(int a) override"),
    "operator": (anchor(YAML, "blend"), "- func: blend"),
    "operator in full": (anchor(YAML, "aten::blend"), "- func: blend"),
    "registration": (anchor(BLEND, "TORCH_LIBRARY_IMPL(aten, CPU, m)"), "TORCH_LIBRARY_IMPL(aten"),
    "registration, short": (anchor(BLEND, "TORCH_LIBRARY_IMPL( aten,CPU )"), "TORCH_LIBRARY_IMPL(aten"),
    "made by a macro": (anchor("aten/src/ATen/native/cpu/BlendKernel.cpp", "shade_kernel"), "MAKE_KERNEL(shade)"),
    "stub": (anchor(BLEND, "blend_stub"), "DEFINE_DISPATCH(blend_stub)"),
    "Python": (anchor(PYTHON, "Blend.forward"), "def forward"),
    "Python, nested": (anchor(PYTHON, "torch.nn.blend.Blend"), "class Blend"),
    "token": (anchor(MIX, "native::use", token="mix"), "int use("),
    "token in YAML": (anchor(YAML, "blend", token="CPU"), "    CPU: blend"),
    "lines": (anchor(MIX, "at::native::mix", signature="(int)", lines=(1, 1)), "  return mix<int>(a, 1);"),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_name(base: Resolver, name: str) -> None:
    one, part = KINDS[name]
    entry = pin(base, one)
    found = base.resolve("x#y", one, entry)
    assert (found.outcome, found.path) == ("exact", one.path)
    assert found.line == line_of(TEXT[one.path], part)
    assert found.begin <= found.symbol <= found.symbol_end


def test_the_same_text_elsewhere_is_moved(base: Resolver, make_tree: MakeTree) -> None:
    one = anchor(MIX, "native::use", token="turn")
    entry = pin(base, one)
    lower = make_tree({MIX: "// comment\n\n" + TEXT[MIX].replace("int use(", "int   use( /* new */ ")})
    found = lower.resolve("x#y", one, entry)
    assert (found.outcome, found.line) == ("moved", entry.at + 2), "comments and white space are no text"
    text = "namespace at::native {\nint use(Mixer& m) { return m.turn(1) + mix(2); }\n}\n"
    without = TEXT[MIX].replace("int use(Mixer& m) { return m.turn(1) + mix(2); }\n", "")
    other = make_tree({MIX: without, "aten/src/ATen/native/Use.cpp": text})
    found = other.resolve("x#y", one, entry)
    assert (found.outcome, found.path, found.line) == ("moved", "aten/src/ATen/native/Use.cpp", 2)
    assert found.was == entry


def test_other_text_is_changed_and_the_token_is_found_only_where_it_is_certain(
    base: Resolver, make_tree: MakeTree
) -> None:
    one = anchor(MIX, "native::use", token="turn")
    entry = pin(base, one)
    old = "int use(Mixer& m) { return m.turn(1) + mix(2); }"

    def changed(body: str) -> Resolver:
        return make_tree({MIX: TEXT[MIX].replace(old, f"int use(Mixer& m) {{\n{body}\n}}")})

    once = changed("  m.more();\n  return m.turn(1) * mix(2);")
    found = once.resolve("x#y", one, entry)
    assert (found.outcome, found.line, found.why) == ("changed", line_of(TEXT[MIX], old) + 2, "")
    twice = make_tree(
        {MIX: TEXT[MIX].replace(old, "int use(Mixer& m) {\n  m.turn(2);\n  return m.turn(1) * mix(2);\n}")}
    )
    found = twice.resolve("x#y", one, entry)
    assert (found.outcome, found.line) == ("changed", line_of(TEXT[MIX], old))
    assert "2 times" in found.why
    never = changed("  return mix(2);")
    found = never.resolve("x#y", one, entry)
    assert (found.outcome, found.line, found.end_line) == (
        "changed",
        line_of(TEXT[MIX], old),
        line_of(TEXT[MIX], old) + 2,
    )
    assert "no longer there" in found.why


def test_lines_follow_their_own_text(base: Resolver, make_tree: MakeTree) -> None:
    one = anchor(MIX, "at::native::mix", signature="(int)", lines=(1, 1))
    entry = pin(base, one)
    line = "  return mix<int>(a, 1);"
    lower = make_tree({MIX: TEXT[MIX].replace(line, f"  a += 1;\n  // more\n{line}")})
    found = lower.resolve("x#y", one, entry)
    assert (found.outcome, found.line, found.why) == ("changed", line_of(TEXT[MIX], line) + 2, "")
    only_comments = make_tree({MIX: TEXT[MIX].replace(line, f"  // more\n{line}")})
    found = only_comments.resolve("x#y", one, entry)
    assert (found.outcome, found.line) == ("moved", line_of(TEXT[MIX], line) + 1)
    gone = make_tree({MIX: TEXT[MIX].replace(line, "  return 3;")})
    found = gone.resolve("x#y", one, entry)
    assert (found.outcome, found.line) == ("changed", entry.line)
    assert "these lines have changed" in found.why
    twice = make_tree({MIX: TEXT[MIX].replace(line, f"{line}\n{line}")})
    assert twice.resolve("x#y", one, entry).why


AMBIGUOUS = {
    "overloads": anchor(MIX, "at::native::mix"),
    "arms of an #if": anchor(MIX, "choose"),
    "endings": anchor(MIX, "turn"),
    "scopes": anchor(MIX, "mix", signature="(int)"),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_several_things_are_ambiguous(base: Resolver, name: str) -> None:
    found = base.resolve("x#y", AMBIGUOUS[name])
    assert (found.outcome, found.path, found.line, found.placed) == ("ambiguous", "", 0, False)
    assert len(found.candidates) == 2
    assert all(f"{path}:{line}" in found.why for path, line in found.candidates)


def test_a_new_overload_makes_nothing_ambiguous_that_was_pinned(base: Resolver, make_tree: MakeTree) -> None:
    one = anchor(MIX, "other::through")
    entry = pin(base, one)
    more = TEXT[MIX].replace("int through(int a)", "int through(long a) { return 3; }\nint through(int a)")
    found = make_tree({MIX: more}).resolve("x#y", one, entry)
    assert (found.outcome, found.line) == ("moved", entry.line + 1)
    changed = more.replace("return other::mix(a)", "return 7")
    found = make_tree({MIX: changed}).resolve("x#y", one, entry)
    assert (found.outcome, found.line) == ("changed", entry.line + 1), "it has the parameters that it had"
    neither = more.replace("int through(int a)", "int through(char a)")
    assert make_tree({MIX: neither}).resolve("x#y", one, entry).outcome == "ambiguous"


LOST = {
    "name": anchor(MIX, "nothing_of_that_name"),
    "file": anchor("aten/src/ATen/native/Gone.cpp", "at::native::gone"),
    "signature": anchor(MIX, "at::native::mix", signature="(double)"),
    "enclosing": anchor(MIX, "turn", inside="Blend"),
    "token": anchor(MIX, "native::use", token="nowhere"),
    "occurrence": anchor(MIX, "native::use", token="mix", occurrence=2),
    "lines": anchor(MIX, "native::use", lines=(0, 5)),
    "operator": anchor(YAML, "blend.out"),
    "a part of a name": anchor(MIX, "ixer::turn"),
}


@pytest.mark.parametrize("name", LOST)
def test_what_is_not_there_is_lost(base: Resolver, name: str) -> None:
    found = base.resolve("x#y", LOST[name])
    assert (found.outcome, found.line, found.placed) == ("lost", 0, False)
    assert found.why


def test_the_message_names_what_is_there(base: Resolver) -> None:
    found = base.resolve("x#y", LOST["signature"])
    assert "at::native::mix(int a) (function, " in found.why


def test_another_thing_of_that_name_is_not_it(base: Resolver, make_tree: MakeTree) -> None:
    """The ending is unique again, or the name is elsewhere, and still it is something else."""
    one = anchor(MIX, "FastMixer::turn")
    entry = pin(base, one)
    renamed = TEXT[MIX].replace("struct FastMixer : public Mixer", "struct Slow { struct FastMixer")
    renamed = renamed.replace("return at::native::mix(a) + other::mix(a); }\n};", "return 1; }\n};};")
    found = make_tree({MIX: renamed}).resolve("x#y", one, entry)
    assert found.outcome == "lost", found
    local = anchor(BLEND, "at::native::operator==")
    entry = pin(base, local)
    text = "namespace at::native {\nstatic bool operator==(const A& a, const A& b) { return true; }\n}\n"
    gone = TEXT[BLEND].replace("static bool operator==", "static bool equals")
    found = make_tree({BLEND: gone, "aten/src/ATen/native/Other.cpp": text}).resolve("x#y", local, entry)
    assert found.outcome == "lost", "what two files keep to themselves are two things"
    kind = anchor(MIX, "native::use")
    entry = pin(base, kind)
    found = make_tree({MIX: TEXT[MIX].replace("int use(Mixer& m)", "struct use").replace("mix(2); }", "mix(2); };")})
    assert found.resolve("x#y", kind, entry).outcome == "lost"  # type: ignore[attr-defined]


def test_a_namespace_renamed_is_followed_by_its_text_alone(base: Resolver, make_tree: MakeTree) -> None:
    one = anchor(MIX, "Mixer::turn")
    entry = pin(base, one)
    renamed = make_tree({MIX: TEXT[MIX].replace("namespace at::native", "namespace at::fresh")})
    found = renamed.resolve("x#y", one, entry)
    assert (found.outcome, found.name) == ("exact", "at::fresh::Mixer::turn")
    changed = (
        TEXT[MIX].replace("namespace at::native", "namespace at::fresh").replace("return mix(a); }", "return 2; }")
    )
    assert make_tree({MIX: changed}).resolve("x#y", one, entry).outcome == "lost"


def test_an_anchor_that_was_rewritten_is_not_compared(base: Resolver) -> None:
    entry = pin(base, anchor(MIX, "native::use"))
    for other in (anchor(MIX, "native::use", token="turn"), anchor(MIX, "other::through"), anchor(MIX, "Mixer::turn")):
        assert base.resolve("x#y", other, entry).outcome == "unpinned"


def wheel(base: Resolver, root: Path) -> Resolver:
    """The same index, as that of an installed torch."""
    tree = SourceTree(TreeInfo("runtime", "2.99.0", ("generated", "wheel")), base.tree.layers)
    return Resolver(tree, IndexStore.open(base.store.path))


def test_what_a_tree_cannot_hold_is_not_lost(base: Resolver, make_tree: MakeTree, tmp_path: Path) -> None:
    cpp = anchor("aten/src/ATen/native/quantized/Q.cpp", "at::native::use")
    here = wheel(base, tmp_path)
    assert here.resolve("x#y", cpp).outcome == "absent"
    assert base.resolve("x#y", cpp).outcome == "unpinned", "a checkout could hold it, so its one definition is it"
    generated = anchor("torch/csrc/autograd/generated/VariableType_0.cpp", "torch::autograd::X")
    assert base.resolve("x#y", generated).outcome == "absent"
    header = anchor("aten/src/ATen/native/Gone.h", "at::native::gone")
    found: ResolvedAnchor = here.resolve("x#y", header)
    assert found.outcome == "lost", "the tree has other headers of that folder"


def test_a_path_that_was_wrong_from_the_start_is_told(base: Resolver) -> None:
    found = base.resolve("x#y", anchor("aten/src/ATen/native/Wrong.cpp", "at::native::use"))
    assert (found.outcome, found.path) == ("unpinned", MIX)
    assert found.why == "the definition is not in aten/src/ATen/native/Wrong.cpp"
