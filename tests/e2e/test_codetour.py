"""`ptexplore notes export --codetour`: files that CodeTour opens at the right lines."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import here
from tests.e2e.conftest import Searching
from tests.harness import REPOSITORY, Cli, Result

pytestmark = pytest.mark.e2e
MIX = "aten/src/ATen/native/Mix.cpp"
# What the schema allows (github.com/microsoft/codetour, schema.json; `pattern` by its player).
TOUR = {"$schema": str, "title": str, "description": str, "ref": str, "isPrimary": bool, "steps": list}
STEP = {"file": str, "line": int, "pattern": str, "title": str, "description": str}


class Exporting:
    def __init__(self, mini: Searching, cli: Cli) -> None:
        self.mini, self.cli, self.folder = mini, cli, cli.cwd
        shutil.copytree(REPOSITORY / "tests/data/tours", self.folder / "notes")

    def __call__(self, *arguments: str) -> Result:
        return self.cli("notes", "export", "--tree", self.mini.root.name, "--codetour", "out", *arguments)

    def tour(self, name: str) -> Any:
        return json.loads((self.folder / "out" / name).read_text(encoding="utf-8"))

    def shown_at(self, step: dict[str, Any]) -> int | None:
        """The line at which CodeTour's player shows a step of a file."""
        if "line" in step:
            return int(step["line"])
        text = "\n".join(self.mini.lines(step["file"]))
        match = re.search(step["pattern"], text, re.MULTILINE)
        return text.count("\n", 0, match.start()) + 1 if match else None


@pytest.fixture
def exporting(
    mini: Searching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Exporting:
    return Exporting(mini, here(replace(mini.cli, cwd=tmp_path), monkeypatch, capsys))


def test_both_files_open_at_the_lines_of_the_stops(exporting: Exporting) -> None:
    done = exporting("blending")
    assert done.code == 0, done
    assert sorted(one.name for one in (exporting.folder / "out").iterdir()) == [
        "blending-v2.99.0.tour",
        "blending.tour",
    ]
    shown = exporting.cli("tour", "blending", "--json", "--tree", "mini").data["stops"]
    lines = [one["source"]["line"] if one["source"] else None for one in shown]
    for name in ("blending.tour", "blending-v2.99.0.tour"):
        tour = exporting.tour(name)
        assert {type(value) for value in tour.values()} <= set(TOUR.values())
        assert tour.keys() <= TOUR.keys()
        assert tour["$schema"] == "https://aka.ms/codetour-schema"
        assert len(tour["steps"]) == 5, "the introduction, then each stop"
        for step in tour["steps"]:
            assert step.keys() <= STEP.keys()
            assert all(isinstance(value, STEP[key]) for key, value in step.items())
            assert step["description"]
        placed = [exporting.shown_at(step) if "file" in step else None for step in tour["steps"][1:]]
        assert placed == lines == [lines[0], lines[1], None, None]
    assert exporting.tour("blending.tour")["isPrimary"] is True
    assert "ref" not in exporting.tour("blending.tour")
    assert not any("line" in step for step in exporting.tour("blending.tour")["steps"])
    pinned = exporting.tour("blending-v2.99.0.tour")
    assert pinned["ref"] == "v2.99.0"
    assert not any("pattern" in step for step in pinned["steps"])


def test_a_stop_without_a_place_is_there_and_told(exporting: Exporting) -> None:
    done = exporting("blending")
    assert "blending#gone has no place" in done.out
    step = exporting.tour("blending.tour")["steps"][3]
    assert step.keys() == {"title", "description"}
    assert "Not placed in this source" in step["description"]
    assert "Prose that is read all the same." in step["description"]


def test_links_labs_and_what_codetour_would_run(exporting: Exporting) -> None:
    file = exporting.folder / "notes/tours/blending.md"
    file.write_text(file.read_text().replace("The call of", ">> rm -rf everything\n\nThe call of"))
    assert exporting("blending").code == 0
    steps = exporting.tour("blending.tour")["steps"]
    assert "[a token][#3]" in steps[1]["description"], "the introduction is step 1"
    assert "Lab `sum-of-two`:\n\n    1 + 1" in steps[1]["description"]
    assert "```anchor" not in steps[1]["description"]
    assert not any(re.search(r"^\s*>>", step["description"], re.MULTILINE) for step in steps)


def test_files_that_are_there_are_not_written_over(exporting: Exporting) -> None:
    assert exporting("blending").code == 0
    file = exporting.folder / "out/blending.tour"
    file.write_text("mine")
    assert "exist already" in exporting("blending").three_parts(2).err
    assert file.read_text() == "mine"
    assert exporting("blending", "--force").code == 0
    assert exporting.tour("blending.tour")["steps"]


def test_every_tour_where_none_is_named_and_names_that_are_none(exporting: Exporting) -> None:
    assert exporting().code == 0
    files = {one.name for one in (exporting.folder / "out").iterdir()}
    assert {"blending.tour", "dispatcher.tour"} <= files
    assert sum(exporting.tour(name).get("isPrimary", False) for name in files) == 1
    assert "the closest name is blending" in exporting("blendin").three_parts(2).err
    (exporting.folder / "out2").write_text("a file")
    assert exporting.cli("notes", "export", "--tree", "mini", "--codetour", "out2").three_parts(1)


def test_without_a_checkout_there_is_nothing_to_export_for(cli: Cli) -> None:
    refused = cli("notes", "export", "--codetour", "out", "--tree", "nowhere")
    assert "no tree in use is called nowhere" in refused.three_parts(2).err
