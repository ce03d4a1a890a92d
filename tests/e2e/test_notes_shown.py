"""Notes beside what they are about: in show, find, op and trace."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ptexplore.model.places import Runtime
from tests import searched_source
from tests.conftest import in_process
from tests.e2e.conftest import Searching
from tests.harness import REPOSITORY, Cli, InProcess, Result

pytestmark = pytest.mark.e2e
MIX = "aten/src/ATen/native/Mix.cpp"
YAML = "aten/src/ATen/native/native_functions.yaml"
OWN = "aten/src/ATen/native/Own.cpp"  # a body for an operator of the installed torch, in the small tree
NOTE = f"""---
id: mine
title: What we found
baseline: v2.99.0
---

## Where it turns {{#turns}}

```anchor
path: {MIX}
symbol: native::use
token: turn
```

A word that is nowhere else: quetzalcoatl.

## Clamped from below {{#entry}}

```anchor
path: {YAML}
symbol: relu
```

The entry.

## The body of it {{#body}}

```anchor
path: {OWN}
symbol: at::native::relu
```

The body.

## Nowhere {{#lost}}

```anchor
path: {MIX}
symbol: nobody
see: ["op:relu"]
```

Nothing.
"""


@dataclass(frozen=True)
class Group:
    """A study group's folder with one note; the command there, on the small tree."""

    cli: Cli
    root: Path
    here: InProcess | None = None  # asks without a process of its own

    def __call__(self, *arguments: str, **env: str) -> Result:
        return (self.here or self.cli)(*arguments, env=env)

    def data(self, *arguments: str) -> Any:
        return json.loads(self(*arguments).out)

    def line(self, path: str, text: str) -> int:
        lines = (self.root / path).read_text(encoding="utf-8").split("\n")
        return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.fixture
def group(
    mini: Searching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Group:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/mine.md").write_text(NOTE)
    cli = Cli(mini.cli.cache, tmp_path)
    return Group(cli, mini.root, in_process(cli, monkeypatch, capsys))


@pytest.fixture(scope="session")
def beside_torch(warm_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Group:
    """The same beside the installed torch, with the small tree as its checkout."""
    base = tmp_path_factory.mktemp("shown")
    shutil.copytree(warm_cache, base / "cache")
    root = searched_source.write(base / "mini")
    (root / OWN).write_text("namespace at::native {\nTensor relu(const Tensor& self) {\n  return self;\n}\n}\n")
    with (root / YAML).open("a") as stream:
        stream.write("\n- func: relu(Tensor self) -> Tensor\n")
    (base / "cwd/notes").mkdir(parents=True)
    (base / "cwd/notes/mine.md").write_text(NOTE)
    cli = Cli(base / "cache", base / "cwd")
    assert cli("fetch", "--from", str(root)).code == 0
    assert cli("index", "--checkout", "mini").code == 0
    return Group(cli, root)


@pytest.fixture
def traced(
    beside_torch: Group, warm: Runtime, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Group:
    """The same, asked without a process of its own."""
    del warm
    return replace(beside_torch, here=in_process(beside_torch.cli, monkeypatch, capsys))


def test_show_marks_the_line_and_names_the_note(group: Group) -> None:
    line = group.line(MIX, "int use(")
    shown = group("show", "--tree", "mini", "at::native::use")
    assert f"\n {line}* int use(" in shown.out, shown
    assert f"{line}* Where it turns  ptexplore tour mine turns" in shown.out
    page = group.data("show", "--tree", "mini", "at::native::use", "--json")["pages"][0]
    assert [(one["stop"], one["line"], one["outcome"]) for one in page["notes"]] == [("mine#turns", line, "unpinned")]
    without = group("show", "--tree", "mini", "at::native::use", "--no-notes")
    assert "*" not in without.out.split("\n", 2)[2]
    assert "mine" not in without.out
    elsewhere = group("show", "--tree", "mini", "at::native::choose", "--all")
    assert "mine" not in elsewhere.out
    whole = group("show", "--tree", "mini", MIX)
    assert whole.out.count("ptexplore tour mine") == 1, "a stop that is placed nowhere is at no line"


def test_notes_follow_their_file_and_the_tree(group: Group) -> None:
    assert "mine turns" in group("show", "--tree", "mini", "at::native::use").out
    file = group.cli.cwd / "notes/mine.md"
    file.write_text(NOTE.replace("Where it turns", "Where it really turns"))
    assert "Where it really turns" in group("show", "--tree", "mini", "at::native::use").out
    file.unlink()
    assert "mine" not in group("show", "--tree", "mini", "at::native::use").out


def test_a_damaged_cache_of_notes_is_made_anew(group: Group) -> None:
    group("show", "--tree", "mini", "at::native::use")
    kept = list((group.cli.cache / "notes").glob("*.json"))
    assert kept
    for file in kept:
        file.write_text('{"marks": [["only one"]]}')
    assert "mine turns" in group("show", "--tree", "mini", "at::native::use").out


def test_find_knows_notes_by_id_title_and_words(group: Group) -> None:
    for query in ("mine#turns", "turns", "where it turns", "Quetzalcoatl"):
        found = group.data("find", "--tree", "mini", query, "--kind", "note", "--json")["groups"]
        result = found[0]["results"][0]
        assert (found[0]["name"], result["kind"], result["name"]) == ("notes", "note", "mine#turns"), query
        assert result["source"]["line"] == group.line(MIX, "int use(")
    shown = group("find", "--tree", "mini", "where it turns")
    assert "mine#turns  Where it turns  stop  ptexplore tour mine turns" in shown.out, shown
    lost = group.data("find", "--tree", "mini", "mine#lost", "--kind", "note", "--json")["groups"][0]["results"][0]
    assert (lost["source"]["line"], lost["source"]["precision"]) == (None, "unknown")
    assert group("find", "--tree", "mini", "xquetzalcoatl", "--kind", "note").three_parts(1)


def test_a_projects_notes_that_are_missing_are_said_and_the_rest_works(group: Group) -> None:
    (group.cli.cwd / "ptexplore.toml").write_text('notes = ["gone"]\n')
    shown = group("show", "--tree", "mini", "at::native::use")
    assert shown.code == 0
    assert "int use(" in shown.out
    assert "notes are not shown: the folder of notes gone does not exist" in shown.err


def test_op_names_what_there_is_to_read(traced: Group) -> None:
    shown = traced("op", "relu")
    assert "to read" in shown.out, shown
    for stop in ("entry", "body", "lost"):
        assert f"ptexplore tour mine {stop}" in shown.out
    assert "mine turns" not in shown.out
    stops = {one["stop"]: one for one in traced.data("op", "relu", "--json")["notes"]}
    assert stops["mine#body"]["line"] == traced.line(OWN, "Tensor relu")
    assert traced.data("op", "sin", "--json")["notes"] == []


def test_a_trace_names_the_stops_of_its_hops(traced: Group) -> None:
    data = traced.data("trace", "torch.relu(a)", "--no-native", "--json")
    by_note: dict[str, list[str]] = {}
    for hop in data["hops"]:
        for name in hop["notes"]:
            by_note.setdefault(name, []).append(f"{hop['kind']} {hop['name']}")
    assert by_note["mine#entry"] == ["op aten::relu"]
    assert all("relu" in name for name in by_note["mine#body"])
    assert "mine#turns" not in by_note
    shown = traced("trace", "torch.relu(a)", "--no-native")
    assert shown.out.count("ptexplore tour mine entry") == 1, "once, not at each row"
    assert "\nread: ptexplore tour mine entry\n" in shown.out
    traced("trace", "torch.relu(a)", "--no-native", "--save", "kept.json")
    assert "\nread: ptexplore tour mine entry\n" in traced("trace", "--load", "kept.json").out
    file = traced.cli.cwd / "kept.json"
    file.write_text(file.read_text().replace("mine#entry", "$(touch pwned)").replace("mine#body", "mine#body; rm x"))
    loaded = traced("trace", "--load", "kept.json")
    assert (loaded.code, "touch" in loaded.out, "rm x" in loaded.out) == (0, False, False)


def test_the_shipped_tours_are_found(mini: Searching, tmp_path: Path) -> None:
    found = Cli(mini.cli.cache, tmp_path)("find", "--tree", "mini", "fallthrough", "--kind", "note", "--json").data
    names = [one["name"] for one in found["groups"][0]["results"]]
    assert names[0] == "dispatcher#fallthrough"
    assert (REPOSITORY / "annotations/tours/dispatcher.md").is_file()
