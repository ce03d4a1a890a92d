"""What overrides torch::autograd::Node::apply, beside a reading of the text that knows braces and bases alone."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import here
from tests.harness import Cli, Here

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif("PTEXPLORE_TEST_PYTHON" in os.environ, reason="looks at the torch that runs the tests"),
]

ASKED = "torch::autograd::Node::apply"
BY_HAND = 18  # in the hand-written files of 2.6.0, each looked at
_HEAD = re.compile(
    r"\b(?:struct|class)\s+(?:[A-Z][A-Z_0-9]+(?:\([^)]*\))?\s+)*([\w:]+)(?:<[^{};]*>)?(?:\s+final)?"
    r"\s*(?::\s*([^{};()]*))?\{"
)
_SILENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_OVERRIDES = re.compile(r"\bapply\s*\(([^;{}]*)\)[\s\w]*\boverride\b")
_ACCESS = re.compile(r"\b(?:public|private|protected|virtual)\b|<.*")


def classes(text: str) -> Iterator[tuple[str, list[str], list[int]]]:
    """Each class of a text with the last parts of its bases' names, and the lines on which it overrides `apply`."""
    text = _SILENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for head in _HEAD.finditer(text):
        depth, end = 1, head.end()
        while depth and end < len(text):
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
        body = text[head.end() : end]
        named = [_ACCESS.sub("", base).strip().rpartition("::")[2] for base in (head[2] or "").split(",")]
        lines = [
            text.count("\n", 0, head.end() + match.start()) + 1
            for match in _OVERRIDES.finditer(body)
            if body.count("{", 0, match.start()) == body.count("}", 0, match.start())  # no class inside of it
        ]
        yield head[1].rpartition("::")[2], list(filter(None, named)), lines


def by_text(files: dict[str, str]) -> set[tuple[str, int]]:
    """The lines on which classes that have Node among their bases, at any depth, override `apply`."""
    bases: defaultdict[str, set[str]] = defaultdict(set)
    overriding: list[tuple[str, str, int]] = []
    for path, text in files.items():
        for name, named, lines in classes(text):
            bases[name].update(named)
            overriding += [(name, path, line) for line in lines]

    def is_node(name: str, seen: tuple[str, ...] = ()) -> bool:
        return name == "Node" or any(is_node(base, (*seen, name)) for base in bases[name] - set(seen))

    return {(path, line) for name, path, line in overriding if any(is_node(base) for base in set(bases[name]))}


@pytest.fixture
def sourced(sourced: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return here(sourced, monkeypatch, capsys)


def told(cli: Here, *tree: str) -> tuple[set[tuple[str, int]], int]:
    """The lines that are sure to override it, and how many may."""
    data = cli("refs", ASKED, "--limit", "0", "--json", *tree).data
    uses = [use for group in data["groups"] if group["name"] == "overrides" for use in group["uses"]]
    assert data["overridden"] == len(uses)
    sure = {(use["source"]["path"], use["source"]["line"]) for use in uses if use["certain"]}
    assert data["may_override"] == len(uses) - len(sure)
    return sure, data["may_override"]


def test_those_that_people_wrote(sourced: Here, source_tree: Path) -> None:
    files = {}
    for folder in ("aten", "c10", "torch/csrc", "functorch"):
        for file in sorted((source_tree / folder).rglob("*")):
            if file.suffix in (".h", ".cpp", ".cu", ".cuh"):
                files[file.relative_to(source_tree).as_posix()] = file.read_text(encoding="utf-8", errors="replace")
    wanted = by_text(files)
    sure, may = told(sourced, "--tree", source_tree.name)
    assert sure == wanted
    assert len(wanted) == BY_HAND
    assert may < BY_HAND, "of classes whose bases the text does not show whole"


def test_those_that_a_generator_wrote(sourced: Here) -> None:
    """Of each backward node one, in the wheel's own header."""
    path = "torch/csrc/autograd/generated/Functions.h"
    text = sourced.text_of(path)
    wanted = len(re.findall(r"^\s*variable_list apply\(variable_list&& grads\) override;", text, re.MULTILINE))
    sure, _may = told(sourced, "--tree", "runtime")
    assert sum(where == path for where, _line in sure) == wanted > 600


def test_the_first_lines_say_so(sourced: Here) -> None:
    lines = sourced("refs", ASKED, "--kind", "overrides", "--tree", "pytorch-v2.6.0").out
    assert "no use is indexed" not in lines
    assert f"overridden by {BY_HAND} functions of derived classes" in lines
