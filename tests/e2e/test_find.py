"""`ptexplore find`: what a name, a part of it, an operator, a file or a text leads to, best first."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Searching
from tests.harness import CONTROL, HEAVY, PRECISIONS

pytestmark = pytest.mark.e2e


def results(mini: Searching, *arguments: str, group: str | None = None) -> list[dict[str, Any]]:
    data = mini("find", *arguments, "--json").data
    assert data["format"] == 1
    return [one for g in data["groups"] for one in g["results"] if group in (None, g["sort"])]


@pytest.mark.parametrize(
    "query, first",
    [
        ("blend_kernel", "at::native::blend_kernel"),
        ("at::native::blend_kernel", "at::native::blend_kernel"),
        ("blend_k", "at::native::blend_kernel"),
        ("BlendIt", "at::native::BlendIterator"),
        ("FM", "at::native::FastMixer"),
        ("blendd_kernel", "at::native::blend_kernel"),
        ("BLEND_KERNEL", "at::native::blend_kernel"),
        ("native::choose", "at::native::choose"),
        ("torch.nn.blend.Blend", "torch.nn.blend.Blend"),
        ("shade_kernel", "at::native::shade_kernel"),
        ("operator()", "at::native::Mixer::operator()"),
    ],
)
def test_names_and_parts_of_names(mini_here: Searching, query: str, first: str) -> None:
    assert results(mini_here, query, group="symbol")[0]["name"] == first


def test_every_place_is_true(mini_here: Searching) -> None:
    """The line that is named holds the name's last part; so does what a macro made, by its argument."""
    seen = 0
    for query in ("mix", "blend", "Mixer", "choose", "hostile", "operator", "latin", "through"):
        for one in results(mini_here, query, "--limit", "0", "--declarations", group="symbol"):
            if one["kind"] == "namespace":
                continue
            last = one["name"].replace(".", "::").rsplit("::", 1)[-1]
            line = mini_here.line_of(one["source"])
            assert last in line or (one["macro"] and one["macro"] in line), one
            assert one["source"]["precision"] in PRECISIONS
            assert one["source"]["tree"] == "mini"
            seen += 1
    assert seen > 20


def test_a_result_says_what_it_is(mini_here: Searching) -> None:
    one = next(r for r in results(mini_here, "shade_kernel") if r["kind"] == "function")
    assert one["macro"] == "MAKE_KERNEL"
    text = mini_here("find", "choose", "--full").out
    assert "#if defined(USE_CUDA)" in text
    assert "#if !(defined(USE_CUDA))" in text
    assert "(int a)" in text
    assert "ambiguous" in text


def test_definitions_stand_for_their_declarations(mini_here: Searching) -> None:
    data = mini_here("find", "numel", "--json").data
    roles = [r["role"] for g in data["groups"] if g["sort"] == "symbol" for r in g["results"]]
    assert roles == ["definition"]
    assert data["remarks"]
    assert {r["role"] for r in results(mini_here, "numel", "--declarations")} >= {"definition", "declaration"}


def test_files(mini_here: Searching) -> None:
    found = results(mini_here, "Mix.cpp", group="file")
    assert found[0]["name"] == "aten/src/ATen/native/Mix.cpp"
    assert results(mini_here, "native/cpu", group="file")[0]["name"].endswith("BlendKernel.cpp")


def test_operators_that_only_the_source_defines(mini_here: Searching) -> None:
    (one,) = results(mini_here, "blend", group="operator")
    assert one["name"] == "aten::blend"
    assert "func: blend" in mini_here.line_of(one["source"])


@pytest.mark.parametrize(
    "query, path, line",
    [
        ("return mix<int>(a, 1)", "aten/src/ATen/native/Mix.cpp", "  return mix<int>(a, 1);"),
        ("a.*b(c|d)+", "torch/csrc/hostile.cpp", None),
        ("compute(a)", "aten/src/ATen/native/cpu/BlendKernel.cpp", None),
        ("int   choose(int", "aten/src/ATen/native/Mix.cpp", None),
    ],
)
def test_text_is_literal(mini_here: Searching, query: str, path: str, line: str | None) -> None:
    found = results(mini_here, "--text", query, group="text")
    assert found[0]["source"]["path"] == path
    shown = mini_here.line_of(found[0]["source"])
    assert " ".join(query.split()) in " ".join(shown.split())
    assert line in (None, shown)


@pytest.mark.parametrize("query", ["mix.", "m.x", "mix*x", "(mix", '"mix" OR "blend"', "NEAR(mix blend)", "mix -blend"])
def test_query_syntax_means_nothing(mini_here: Searching, query: str) -> None:
    """Neither a regular expression nor the language of a full-text index: such a text is nowhere."""
    data = mini_here("find", "--kind", "text", "--json", "--", query)
    assert data.code == 1 or all(
        query.lower() in r["detail"].lower() for g in data.data["groups"] for r in g["results"]
    )


def test_text_is_found_when_no_name_fits(mini_here: Searching) -> None:
    assert results(mini_here, "narrow() { return 1", group="text")[0]["source"]["path"] == "torch/csrc/oneline.cpp"


def test_kinds_and_limits(mini_here: Searching) -> None:
    assert {r["kind"] for r in results(mini_here, "Mix", "--kind", "struct")} == {"struct"}
    assert len(results(mini_here, "mix", "--limit", "2", group="symbol")) == 2
    data = mini_here("find", "mix", "--limit", "1", "--json").data
    assert data["groups"][0]["more"] != 0
    everything = mini_here("find", "mix", "--limit", "0", "--json").data
    assert all(g["more"] == 0 for g in everything["groups"] if g["sort"] != "text"), everything["groups"]
    mini_here("find", "mix", "--kind", "nonsense").three_parts(2)
    mini_here("find", "mix", "--limit", "-1").three_parts(2)
    mini_here("find", "mix", "--limit", "x").three_parts(2)


@pytest.mark.parametrize(
    "query", ["zzzqqq", "at::native::zzzqqq", "%", "\x1b[2J", "é", "x" * 900, "::", ".", "a\nb", "'"]
)
def test_nothing_fits(mini_here: Searching, query: str) -> None:
    mini_here("find", "--json", "--", query).three_parts(1)


def test_nothing_fits_but_something_is_near(mini_here: Searching) -> None:
    assert "blend_kernel" in mini_here("find", "--kind", "macro", "blend_kernle").three_parts(1).err


@pytest.mark.parametrize("query", ["", "   "])
def test_nothing_is_asked(mini_here: Searching, query: str) -> None:
    mini_here("find", query).three_parts(2)


def test_what_comes_from_source_does_nothing_to_the_terminal(mini_here: Searching) -> None:
    result = mini_here("find", "--text", "markup")
    assert result.code == 0, result
    assert "[bold]markup[/bold]" in result.out
    assert not CONTROL.search(result.out)
    assert "\u202e" not in result.out


def test_plain_in_a_pipe(mini_here: Searching) -> None:
    result = mini_here("find", "blend", env={"COLUMNS": ""})
    assert "\x1b" not in result.out
    assert any(
        line.split() == ["at::native::blend_kernel", "function", "aten/src/ATen/native/cpu/BlendKernel.cpp:4", "~"]
        for line in result.out.splitlines()
    ), result.out
    assert "…" not in result.out, "nothing is cut for a program that reads it"


def test_a_row_fits_the_terminal_and_tells_apart_what_has_one_name(mini_here: Searching) -> None:
    rows = mini_here("find", "choose").out.splitlines()
    first, second = [number for number, row in enumerate(rows) if row.startswith("  at::native::choose")]
    assert "Mix.cpp:16 ?" in rows[first]
    assert rows[first + 1].startswith("    #if defined(USE_CUDA)")
    assert rows[second + 1].startswith("    #if !(defined(USE_CUDA))")
    assert "--full shows whole signatures and every place" in rows


def test_a_tree_that_is_not_there(mini: Searching) -> None:
    mini.cli("find", "--tree", "nowhere", "mix").three_parts(2)


def test_neither_torch_nor_parsers_are_imported(mini: Searching) -> None:
    for words in (("find", "mix"), ("show", "at::native::use"), ("refs", "mix")):
        heavy = HEAVY & mini.cli.imported(words[0], "--tree", "mini", *words[1:])
        assert not heavy, words
