"""`ptexplore doctor`: what is there, how it relates, and the truth check's counts."""

from __future__ import annotations

import pytest

from tests.harness import GENERATED, InProcess, torch_version

pytestmark = pytest.mark.e2e


def test_every_generated_record_is_confirmed(command: InProcess) -> None:
    counts = command("doctor", "--json").data["registrations"]
    assert counts["generated"]["confirmed"] == counts["generated"]["total"]
    expected = GENERATED.get(torch_version())
    if expected:
        assert counts["generated"]["total"] == expected
    assert counts["generated"]["total"] > 10_000
    assert counts["handwritten"]["total"] > 1_000
    assert counts["python"]["total"] > 100
    assert counts["handwritten"]["confirmed"] <= counts["handwritten"]["total"]


def test_it_says_what_is_there(command: InProcess) -> None:
    text = command("doctor").out
    assert torch_version().split("+")[0] in text
    compact = text.replace(",", "")
    expected = GENERATED.get(torch_version())
    if expected:
        assert str(expected) in compact
    assert "cache" in text
    confirmed = command("doctor", "--json").data["registrations"]["handwritten"]["confirmed"]
    words = "not compared, because there is no checkout of this version"
    assert (words in " ".join(text.split())) is (confirmed == 0)


def test_json_names_trees_and_torch(command: InProcess) -> None:
    data = command("doctor", "--json").data
    assert data["torch"]["version"] == torch_version()
    assert len(data["torch"]["git_version"]) == 40
    assert data["trees"][0]["layers"] == ["generated", "wheel"]
