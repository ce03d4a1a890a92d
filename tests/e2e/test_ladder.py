"""`ptexplore op --ladder`, `--core`, `--prims`: beside what torch answers itself, and the text at each line."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from ptexplore.model.places import Runtime
from tests.harness import Cli, InProcess

pytestmark = pytest.mark.e2e

Document = dict[str, Any]


def ladder_of(command: InProcess, name: str) -> Document:
    result = command("op", name, "--ladder", "--json")
    assert result.code == 0, result
    document: Document = json.loads(result.out)
    return document


def rungs_of(document: Document) -> Document:
    return {rung["rung"]: rung for rung in document["ladder"]["rungs"]}


def test_gelu_stays_in_core_aten_and_is_taken_apart_by_inductor(cli: Cli, command: InProcess) -> None:
    document = ladder_of(command, "gelu")
    rungs = rungs_of(document)
    assert document["core_aten"]["is_core"] is True
    assert rungs["export"]["state"]["code"] == "is-kept"
    inductor = rungs["inductor"]
    assert inductor["state"]["code"] == "replaced-by-python"
    assert inductor["state"]["arguments"]["function"] == "torch._refs.nn.functional.gelu"
    assert re.match(r"\s*def gelu\(", cli.line_of(inductor["source"]))
    tables = {table["table"]: table["has"] for table in document["ladder"]["tables"]}
    assert (tables["registered"], tables["export"], tables["inductor"]) == (True, False, True)


def test_every_line_of_python_is_the_def_of_its_function(cli: Cli, command: InProcess) -> None:
    seen = 0
    for name in ("addcdiv", "native_dropout", "upsample_nearest2d.vec", "hardshrink", "cumsum", "log_sigmoid_forward"):
        document = ladder_of(command, name)
        places = [(rung["state"]["arguments"].get("function"), rung["source"]) for rung in document["ladder"]["rungs"]]
        places += [(table["read_by"], table["source"]) for table in document["ladder"]["tables"]]
        for function, source in places:
            if function and source["line"] is not None:
                assert f"def {function.rpartition('.')[2]}(" in cli.line_of(source), (name, function, source)
                seen += 1
    assert seen > 40


def test_a_composite_is_taken_apart_in_cpp(command: InProcess) -> None:
    document = ladder_of(command, "linear")
    rungs = rungs_of(document)
    assert document["core_aten"]["code"] == "is-composite"
    assert rungs["eager"]["state"]["arguments"]["kernel"] == "at::native::linear"
    assert rungs["export"]["state"]["code"] == rungs["inductor"]["state"]["code"] == "decomposed-before"


def test_a_write_is_no_core_aten(command: InProcess) -> None:
    document = ladder_of(command, "aten::add_.Tensor")
    assert document["core_aten"]["is_core"] is False
    assert document["core_aten"]["arguments"] == {"arguments": ["self"]}


def test_the_first_screen_has_one_line_and_asks_no_probe(
    cli: Cli, command: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    del cli
    asked: list[Runtime] = []
    monkeypatch.setattr("ptexplore.capture.decompositions.dump_decompositions", asked.append)
    text = command("op", "addcdiv").out
    assert len([line for line in text.splitlines() if "Core ATen: " in line]) == 1, text
    assert "--ladder" in text
    assert not asked


def test_core_lists_every_operator_that_the_yaml_tags(cli: Cli, command: InProcess) -> None:
    """Read from the YAML by its text alone."""
    shown = json.loads(command("op", "--core", "--limit", "0", "--json").out)
    tagged, name = set(), ""
    for line in cli.text_of("aten/src/ATen/native/native_functions.yaml").splitlines():
        func, tags = re.match(r"- func: ([\w.]+)\(", line), re.match(r"  tags: \[?([\w, ]*)\]?", line)
        name = f"aten::{func[1]}" if func else name
        if tags and "core" in tags[1].replace(" ", "").split(","):
            tagged.add(name)
    assert {row["name"] for row in shown["rows"]} == tagged
    assert shown["total"] == len(tagged) > 150
    assert not shown["unknown"]


def test_lists_in_a_terminal(command: InProcess) -> None:
    result = command("op", "--prims", "--limit", "200")
    assert result.code == 0, result
    assert "prims::erf " in result.out
    few = command("op", "--core", "--limit", "3").out
    assert "ptexplore op --core --limit 0" in few
    assert few.count("aten::") == 3


@pytest.mark.parametrize(
    ("query", "function"),
    [
        ("decomposition of gelu", "torch._refs.nn.functional.gelu"),
        ("how is hardswish backward decomposed", "torch._decomp.decompositions.hardswish_backward"),
        ("layer norm decomposition", "torch._refs.native_layer_norm"),
    ],
)
def test_a_search_for_a_decomposition_finds_its_function(command: InProcess, query: str, function: str) -> None:
    result = command("find", query, "--json", "--limit", "2")
    assert result.code == 0, result
    document = json.loads(result.out)
    assert document["best"][0]["name"] == function
    names = [result["name"] for group in document["groups"] for result in group["results"]]
    assert names.count(function) == 1


def test_other_searches_with_that_word_are_as_they_were(command: InProcess) -> None:
    document = json.loads(command("find", "decomposition table", "--json").out)
    assert "gelu" not in document["best"][0]["name"]


@pytest.mark.parametrize(
    "arguments",
    [("--ladder",), ("gelu", "--ladder", "--full"), ("--core", "--prims"), ("gelu", "--core"), ("--core", "--ladder")],
)
def test_questions_that_exclude_each_other(command: InProcess, arguments: tuple[str, ...]) -> None:
    result = command("op", *arguments)
    assert result.code == 2, result
    assert [line.partition(":")[0] for line in result.err.splitlines()] == ["error", "why", "try"]
