"""`ptexplore refs`: who uses a name, by what the use is, with the line itself; what cannot be meant is left out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Searching
from tests.harness import CONTROL

pytestmark = pytest.mark.e2e

MIX = "aten/src/ATen/native/Mix.cpp"


def uses(mini: Searching, *arguments: str) -> dict[str, list[dict[str, Any]]]:
    data = mini("refs", *arguments, "--json").data
    assert data["format"] == 1
    return {group["name"]: group["uses"] for group in data["groups"]}


def texts(found: list[dict[str, Any]]) -> list[str]:
    return [one["text"] for one in found]


def test_every_line_is_the_line_of_the_file(mini_here: Searching) -> None:
    seen = 0
    for name in ("mix", "blend_stub", "blend", "turn", "Mixer", "blend_kernel", "compute", "aten::blend", "relu"):
        for group in uses(mini_here, name, "--limit", "0").values():
            for one in group:
                assert one["text"] == mini_here.line_of(one["source"]).strip(), one
                assert name.rsplit("::", 1)[-1] in one["text"] or one["how"] not in ("name-matched", "resolved"), one
                seen += 1
    assert seen > 25


def test_calls_with_the_function_around_them(mini_here: Searching) -> None:
    calls = uses(mini_here, "mix")["calls"]
    inside = {one["inside"] for one in calls}
    assert {"at::native::mix", "at::native::Mixer::turn", "at::native::use", "other::through"} <= inside
    assert {one["how"] for one in calls} == {"name-matched"}


def test_a_qualified_name_leaves_out_what_is_written_as_another(mini_here: Searching) -> None:
    data = mini_here("refs", "at::native::mix", "--limit", "0", "--json").data
    calls = {
        (one["source"]["line"], one["written"]) for g in data["groups"] if g["name"] == "calls" for one in g["uses"]
    }
    assert all("other" not in written for _line, written in calls), calls
    assert any(written == "at::native::mix" for _line, written in calls)
    assert any("other::mix" in remark for remark in data["remarks"])
    theirs = uses(mini_here, "other::mix", "--limit", "0")["calls"]
    assert any(one["inside"] == "other::through" for one in theirs)
    assert all(one["written"] != "at::native::mix" for one in theirs)


def test_registrations_stubs_bindings_yaml_and_tests(mini_here: Searching) -> None:
    stub = uses(mini_here, "blend_stub")
    assert {one["how"] for one in stub["stubs"]} == {"DECLARE_DISPATCH", "DEFINE_DISPATCH", "REGISTER_DISPATCH"}
    assert stub["calls"][0]["text"] == "blend_stub(self.numel());"
    assert uses(mini_here, "blend_kernel")["stubs"][0]["how"] == "REGISTER_DISPATCH"
    operator = uses(mini_here, "aten::blend")
    assert operator["registrations"][0]["text"] == 'm.impl("blend", TORCH_FN(at::native::blend));'
    assert operator["YAML"][0]["text"].startswith("- func: blend")
    assert any("torch.ops.aten.blend.default" in text for text in texts(operator["calls"]))
    assert uses(mini_here, "THPMix")["bindings"][0]["how"] == "PyMethodDef"
    assert uses(mini_here, "at::native::mix")["tests"][0]["source"]["path"] == "aten/src/ATen/test/mix_test.cpp"


def test_classes(mini_here: Searching) -> None:
    found = uses(mini_here, "Mixer")
    assert found["inherits"][0]["text"].startswith("struct FastMixer : public Mixer")
    assert uses(mini_here, "turn")["overrides"][0]["inside"] in ("at::native::FastMixer::turn", "at::native::FastMixer")


def test_how_sure_it_is_is_said(mini_here: Searching) -> None:
    text = mini_here("refs", "mix").out
    assert "uses are found by name, not by types" in text
    assert "  aten/src/ATen/native/Mix.cpp" in text.splitlines(), "a file stands above its uses"
    assert "name-matched" in mini_here("refs", "mix", "--full").out
    assert "3 definitions have this name" in text
    assert "name it as a type are not indexed" in mini_here("refs", "Mixer").out


def test_kinds_and_limits(mini_here: Searching) -> None:
    assert set(uses(mini_here, "mix", "--kind", "calls")) == {"calls"}
    assert set(uses(mini_here, "mix", "--kind", "test")) == {"tests"}
    data = mini_here("refs", "mix", "--limit", "1", "--json").data
    assert all(len(group["uses"]) == 1 for group in data["groups"])
    assert any(group["total"] > 1 for group in data["groups"])
    assert "more: --limit 0" in mini_here("refs", "mix", "--limit", "1").out
    mini_here("refs", "mix", "--kind", "nonsense").three_parts(2)


def test_something_that_nothing_uses(mini_here: Searching) -> None:
    result = mini_here("refs", "hostile_one")
    assert result.code == 0, result
    assert "no use is indexed here" in result.out


@pytest.mark.parametrize(
    "name", ["zzz", "a::zzz", "a.*b", "x" * 900, "\x1b[2J", "%", "::", ".", "'; DROP TABLE ref", "é", "a\nb"]
)
def test_what_is_not_there(mini_here: Searching, name: str) -> None:
    mini_here("refs", "--", name).three_parts(1)


@pytest.mark.parametrize("name", ["operator()", "operator+=", "Mixer::operator()"])
def test_names_of_signs(mini_here: Searching, name: str) -> None:
    assert mini_here("refs", name).code == 0


def test_what_is_not_there_gets_the_nearest(mini_here: Searching) -> None:
    assert "blend_kernel" in mini_here("refs", "blend_kernle").three_parts(1).err


def test_plain_and_clean_in_a_pipe(mini_here: Searching) -> None:
    result = mini_here("refs", "mix")
    assert not CONTROL.search(result.out.replace("\n", ""))
