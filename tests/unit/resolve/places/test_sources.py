"""What one tree beyond the runtime's says of a name: its definitions, how precise, and what a scope makes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ptexplore.cpp.matching import Wanted
from ptexplore.model.place_reasons import LeftOut, MayMean, NoDefinition, OtherVersion, RecordNamesLine
from ptexplore.model.places import Checkout
from ptexplore.model.reasons import Reason, within
from ptexplore.resolve.places.precision import unknown
from ptexplore.resolve.places.sources import Source, atlas_source
from ptexplore.source.permalink import SITE
from tests.unit.resolve.making import BUILD, Small, place

HAND = "aten/src/ATen/native/Blend.cpp"
MANUAL = "torch/csrc/autograd/FunctionsManual.cpp"
ZEROS = "0" * 40  # the commit of the small runtime and of its checkout


@pytest.mark.parametrize(
    "word, precision, reason",
    [
        ("matches", "located", None),
        ("consistent", "consistent", None),
        ("version-skew", "version-skew", OtherVersion("tree", "unknown", "2.99.0")),
    ],
)
def test_a_definition_is_as_precise_as_its_tree(small: Small, word: str, precision: str, reason: Reason | None) -> None:
    source = small.source(word)
    ref = source.refs(source.find("at::native::weave", Wanted()), "weave")
    assert ref is not None
    assert place(ref) == (HAND, small.line(HAND, "Tensor weave("), precision)
    assert (ref.tree, ref.layer, ref.end_line) == ("tree", "checkout", (ref.line or 0) + 2)
    assert ref.reason == reason


@pytest.mark.parametrize(
    "word, confirmed, precision",
    [("matches", True, "registered"), ("consistent", True, "registered"), ("version-skew", True, "version-skew"),
     ("matches", False, "located")],
)  # fmt: skip
def test_a_recorded_line_that_the_text_bears_out(small: Small, word: str, confirmed: bool, precision: str) -> None:
    ref = small.source(word).ref(HAND, 3, confirmed=confirmed, reason=RecordNamesLine(7))
    assert ref.precision == precision
    if word == "version-skew":
        assert RecordNamesLine(7) in within(ref.reason)


def test_a_permalink_only_where_the_text_is_that_commits(small: Small) -> None:
    assert small.source().ref(HAND, 3).url == f"{SITE}/{ZEROS}/{HAND}#L3"
    modified = replace(small, checkout=replace(small.checkout, modified=True))
    assert modified.source().ref(HAND, 3).url is None


def test_a_file_of_another_version_that_the_wheel_holds_byte_for_byte(small: Small, tmp_path: Any) -> None:
    """A header that did not change between the versions is the running torch's own."""
    path = "torch/csrc/autograd/FunctionsManual.h"
    found = small.tree.read(path)
    assert found is not None
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(found.text, encoding="utf-8")
    other = replace(small, checkout=Checkout("other", "folder", str(tmp_path), "here"))
    ref = other.source("version-skew").ref(path, 13)
    assert (ref.precision, ref.layer, ref.tree) == ("located", "wheel", "runtime")
    (tmp_path / path).write_text(found.text + "\n", encoding="utf-8")
    assert other.source("version-skew").ref(path, 13).precision == "version-skew"


@pytest.mark.parametrize(
    "name, line_of, expected",
    [
        # Inside at::native: the innermost namespace first, the global one last.
        ("f", "Tensor weave(", ["at::native::f", "at::f", "f"]),
        ("n::f", "Tensor outer_only(", ["at::n::f", "n::f"]),
        ("f", "#include", ["f"]),
    ],
)
def test_what_a_name_can_mean_where_it_is_written(small: Small, name: str, line_of: str, expected: list[str]) -> None:
    assert small.source().meanings(name, HAND, small.line(HAND, line_of)) == expected


@pytest.mark.parametrize(
    "name, text",
    [
        ("weave", "Tensor weave("),  # of the innermost namespace
        ("outer_only", "Tensor outer_only("),  # of the one around it
        ("native::weave", "Tensor weave("),
        ("at::native::weave", "Tensor weave("),
        ("blend_sparse", "Tensor blend_sparse("),
    ],
)
def test_the_function_that_a_written_name_means(small: Small, name: str, text: str) -> None:
    source = small.source()
    found = source.scoped(name, HAND, small.line(HAND, "TORCH_LIBRARY_IMPL(aten"))
    assert [one.line for one in found.left] == [small.line(HAND, text)]


def test_a_name_that_no_scope_has_is_looked_for_by_its_end(small: Small) -> None:
    """`HandNode::apply`, written far from its namespace."""
    found = small.source().scoped("HandNode::apply", HAND, 5)
    assert [(one.path, one.line) for one in found.left] == [(MANUAL, small.line(MANUAL, "HandNode::apply("))]


def test_a_structured_kernel_is_at_the_macro_that_defines_it(small: Small) -> None:
    source = small.source()
    found = source.find("at::native::structured_blend_cpu::impl", Wanted())
    assert [(one.path, one.line) for one in found.left] == [(HAND, small.line(HAND, "TORCH_IMPL_FUNC(blend_cpu)"))]
    assert source.find("at::meta::structured_blend_cpu::meta", Wanted()).left == ()


def test_several_definitions_are_all_listed(small: Small) -> None:
    source = small.source()
    ref = source.refs(source.find("at::native::blend_many", Wanted()), "blend_many")
    assert place(ref) == (HAND, None, "ambiguous")
    assert len(ref.candidates) == 2
    assert ref.reason == MayMean("blend_many", 2)


def test_why_nothing_was_found(small: Small) -> None:
    source = small.source()
    missing = source.find("at::native::gone", Wanted())
    assert source.refs(missing, "gone") == unknown(NoDefinition("gone", "tree"))
    left_out = source.find("at::native::left_out", Wanted())
    assert source.refs(left_out, "left_out") == unknown(LeftOut("left_out", "tree"))


# --- sources of another form ---


class Atlas:
    """Names without text, of one release."""

    release, commit = "2.98.0", "1" * 40


@pytest.mark.parametrize(
    "commit, word, precision", [(ZEROS, "matches", "located"), ("1" * 40, "version-skew", "version-skew")]
)
def test_an_atlas_is_of_its_own_commit(small: Small, commit: str, word: str, precision: str) -> None:
    atlas = Atlas()
    atlas.commit = commit
    source = atlas_source(atlas, BUILD, small.mini.runtime)  # type: ignore[arg-type]
    assert (source.tree.info.relation, source.related) == (word, word == "matches")
    ref = source.ref(HAND, 3)
    assert (ref.precision, ref.layer, ref.tree) == (precision, "atlas", "atlas")
    assert ref.url == f"{SITE}/{commit}/{HAND}#L3"


def test_the_installed_text_is_the_runtimes_own(small: Small) -> None:
    source = Source(small.tree, small.names, BUILD, small.mini.runtime)
    ref = source.ref("torch/_refs.py", 3)
    assert (ref.precision, ref.layer, ref.tree, ref.url) == ("located", "wheel", "runtime", None)
