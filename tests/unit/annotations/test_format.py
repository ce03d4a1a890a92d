"""A file of notes is read with the line of everything; what is wrong is told by line, and the rest loads."""

from __future__ import annotations

import hashlib

import pytest

from ptexplore.annotations import blocks
from ptexplore.annotations.format import Origin, parse
from ptexplore.annotations.records import Problem, Tour
from tests.hanging import ends

FRONT = """---
id: sample
title: A sample
level: core
summary: one sentence
baseline: v2.6.0
prerequisites: [storage]
concepts: [dispatch-key]
---
"""
ANCHOR = """```anchor
path: c10/core/Blend.h
symbol: Blend
```
"""
GOOD = f"""{FRONT}
An introduction.

## First things {{#first}}

```anchor
path: aten/src/ATen/native/native_functions.yaml
symbol: add.Tensor
token: CPU#2
see: ["sample#second", "op:add.Tensor", "src:c10/core/Blend.h::Blend::numel"]
```

What it is; a [link](https://x.invalid/y) and `std::vector<int>`.

```lab
id: adds
run: torch.add(a, b)
grad: true
var: {{a: "torch.randn(2, 3)"}}
setup: ["import math"]
with: ["torch.no_grad()"]
expect:
  trace:
    - op aten::add.Tensor
    - key AutogradCPU
```

After it.

```lab
id: strides
run: torch.arange(6).reshape(2, 3).t().stride()
expect:
  value: (1, 3)
```

## Second {{#second}}

{ANCHOR}
Prose.
"""


def read(text: str | bytes) -> tuple[Tour | None, list[Problem]]:
    data = text if isinstance(text, bytes) else text.encode()
    return parse(data, "tour", Origin("notes/sample.md"))


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_everything_of_a_good_file() -> None:
    tour, problems = read(GOOD)
    assert problems == []
    assert tour is not None
    assert (tour.id, tour.level, tour.baseline) == ("sample", "core", "v2.6.0")
    assert (tour.prerequisites, tour.concepts, tour.intro) == (("storage",), ("dispatch-key",), "An introduction.")
    first, second = tour.stops
    assert tour.name_of(first) == "sample#first"
    assert (first.title, first.where.line) == ("First things", line_of(GOOD, "## First"))
    assert str(first.anchor.where) == f"notes/sample.md:{line_of(GOOD, 'path: aten')}"
    assert (first.anchor.symbol, first.anchor.token, first.anchor.occurrence) == ("add.Tensor", "CPU", 2)
    assert [(see.kind, see.path, see.symbol) for see in first.anchor.see] == [
        ("stop", "", ""), ("op", "", ""), ("src", "c10/core/Blend.h", "Blend::numel"),
    ]  # fmt: skip
    adds, strides = first.labs
    assert adds.where.line == line_of(GOOD, "id: adds")
    assert (adds.grad, adds.backward, adds.variables) == (True, False, (("a", "torch.randn(2, 3)"),))
    assert (adds.setup, adds.contexts) == (("import math",), ("torch.no_grad()",))
    assert adds.trace == (("op", "aten::add.Tensor"), ("key", "AutogradCPU"))
    assert (strides.value, strides.trace) == ("(1, 3)", ())
    kinds = ["lab" if part.lab else part.text.split()[0] for part in first.parts]
    assert kinds == ["What", "lab", "After", "lab"]
    assert first.parts[0].line == line_of(GOOD, "What it is")
    assert "lab" not in first.prose
    assert second.labs == ()


@pytest.mark.parametrize(
    "value, kept",
    [("[1, 3]", "[1, 3]"), ("True", "True"), ("null", None), ("\"'text'\"", "'text'"), ("-0.5", "-0.5"),
     ("torch.Size([2])", None), ("text", None), ("{1: 2}", "{1: 2}"), ("None", "None"), ("__import__('os')", None)],
)  # fmt: skip
def test_a_value_is_a_python_literal_as_it_is_written(value: str, kept: str | None) -> None:
    tour, problems = read(GOOD.replace("value: (1, 3)", f"value: {value}"))
    assert tour is not None
    assert [lab.value for lab in tour.stops[0].labs[1:]] == ([] if kept is None else [kept])
    assert bool(problems) == (kept is None)


WRONG_FRONT = {
    "id: sample": ("id: Not an id", "id"),
    "title: A sample\n": ("", "'title' is missing"),
    "level: core": ("level: wizard", "'wizard' is not a level"),
    "baseline: v2.6.0": ("baseline: yesterday", "baseline"),
    "summary: one sentence": ("summary: {a: b}", "text is expected here"),
    "concepts: [dispatch-key]": ("concepts: &a [dispatch-key]", "aliases"),
    "prerequisites: [storage]": ("colour: blue", "'colour' is not a key"),
    "level: core\n": ("level: core\nlevel: basic\n", "twice"),
    "title: A sample": ("title: [A, sample", "not YAML"),
    "---\nid": ("id", "front matter"),
}


@pytest.mark.parametrize("old", WRONG_FRONT)
def test_front_matter_that_cannot_be_used(old: str) -> None:
    new, said = WRONG_FRONT[old]
    tour, problems = read(GOOD.replace(old, new, 1))
    assert tour is None
    assert len(problems) == 1
    assert said in problems[0].text
    assert problems[0].where.file == "notes/sample.md"
    assert 1 <= problems[0].where.line <= 10


WRONG_STOP = {
    "yaml": ("symbol: add.Tensor", "symbol: [add.Tensor", "not YAML"),
    "unknown key": ("symbol: add.Tensor", "symbol: add.Tensor\nline: 12", "'line' is not a key"),
    "key twice": ("symbol: add.Tensor", "symbol: add.Tensor\nsymbol: b", "twice"),
    "no symbol": ("symbol: add.Tensor\n", "", "'symbol' is missing"),
    "outside": ("path: aten/src", "path: ../../etc", "inside the tree"),
    "absolute": ("path: aten/src/ATen/native/native_functions.yaml", "path: /etc/passwd", "inside the tree"),
    "alias": ("symbol: add.Tensor", "symbol: *x", "aliases"),
    "tag": ("symbol: add.Tensor", "symbol: !!python/name:os.system x", "tags"),
    "token": ("token: CPU#2", "token: two words", "one identifier"),
    "both": ("token: CPU#2", "token: CPU\nlines: [0, 2]", "either `token` or `lines`"),
    "lines": ("token: CPU#2", "lines: [3, 1]", "[first, last]"),
    "signature": ("token: CPU#2", "signature: int", "brackets"),
    "see": ('"op:add.Tensor"', '"somewhere"', "an entry of `see` is"),
    "see no operator": ('"op:add.Tensor"', '"op:aten::add; touch x"', "an entry of `see` is"),
    "see a line of the shell": ('"op:add.Tensor"', '"op:x$(touch x)"', "an entry of `see` is"),
    "see outside": ("src:c10/core/Blend.h::Blend::numel", "src:../x::y", "an entry of `see` is"),
    "heading id": ("{#first}", "{#First Things}", "must end with an id"),
    "no heading id": (" {#first}", "", "must end with an id"),
    "duplicate id": ("{#first}", "{#second}", "already"),
    "html": ("What it is;", "What <script>alert(1)</script> it is;", "raw HTML"),
    "html block": ("What it is;", "<div onclick='x'>\nWhat it is\n</div>\n", "raw HTML"),
    "comment": ("What it is;", "<!-- hidden -->\n", "raw HTML"),
    "a type without backticks": ("`std::vector<int>`", "std::vector<int>", "backticks"),
    "javascript": ("https://x.invalid/y", "javascript:alert(1)", "javascript:"),
    "javascript, veiled": ("https://x.invalid/y", "java&#115;cript&colon;alert(1)", "javascript:"),
    "data": ("[link](https://x.invalid/y)", "![x](data:image/png;base64,AA)", "picture"),
    "file": ("https://x.invalid/y", "file:///etc/passwd", "file:"),
    "absolute link": ("https://x.invalid/y", "//x.invalid/y", "relative"),
    "a picture from elsewhere": ("[link]", "![link]", "beside the tour"),
}


@pytest.mark.parametrize("name", WRONG_STOP)
def test_a_stop_that_cannot_be_used(name: str) -> None:
    """The line is told, and the other stop is there."""
    old, new, said = WRONG_STOP[name]
    text = GOOD.replace(old, new, 1)
    tour, problems = read(text)
    assert tour is not None
    assert len(tour.stops) == 1
    assert any(said in problem.text for problem in problems), problems
    first, last = line_of(text, "## First"), line_of(text, "## Second")
    assert all(first <= problem.where.line <= (last if name == "duplicate id" else last - 1) for problem in problems)


WRONG_LAB = {
    "no yaml": ("run: torch.add(a, b)", "run: {", "not YAML"),
    "unknown key": ("grad: true", "timeout: 5", "'timeout' is not a key"),
    "no expectation": (
        "expect:\n  trace:\n    - op aten::add.Tensor\n    - key AutogradCPU\n",
        "",
        "'expect' is missing",
    ),
    "no python": ("run: torch.add(a, b)", "run: torch.add(a,", "not a Python"),
    "a statement": ("run: torch.add(a, b)", "run: import os", "not a Python"),
    "kind": ("- key AutogradCPU", "- magic AutogradCPU", "kind"),
    "flag": ("grad: true", "grad: perhaps", "true or false"),
    "id": ("id: adds", "id: Adds!", "is not an id"),
    "name": ("{a:", "{a b:", "name of a variable"),
}


@pytest.mark.parametrize("name", WRONG_LAB)
def test_a_lab_that_cannot_be_used_leaves_its_stop(name: str) -> None:
    old, new, said = WRONG_LAB[name]
    text = GOOD.replace(old, new, 1)
    tour, problems = read(text)
    assert tour is not None
    assert [stop.id for stop in tour.stops] == ["first", "second"]
    assert [lab.id for lab in tour.stops[0].labs] == ["strides"]
    assert len(problems) == 1
    assert said in problems[0].text
    assert line_of(text, "```lab") <= problems[0].where.line <= line_of(text, "After it.")
    assert "torch.add" not in tour.stops[0].prose


def test_a_stop_has_one_anchor() -> None:
    none = read(GOOD.replace("```anchor\npath: c10", "```yaml\npath: c10"))
    assert [stop.id for stop in none[0].stops] == ["first"]  # type: ignore[union-attr]
    assert "no anchor" in none[1][0].text
    two = read(GOOD.replace("Prose.", ANCHOR))
    assert "one anchor" in two[1][0].text
    inside = read(GOOD.replace("Prose.", "- item\n\n  ```lab\n  id: x\n  ```\n"))
    assert "at the margin" in inside[1][0].text


def test_control_characters_are_taken_out_and_told() -> None:
    tour, problems = read(GOOD.replace("After it.", "After \x1b[31mred\x07 \u202eit."))
    assert tour is not None
    assert [problem.text for problem in problems] == ["the control character U+001B is left out"]
    assert problems[0].where.line == line_of(GOOD, "After it.")
    assert "After \ufffd[31mred\ufffd \ufffdit." in tour.stops[0].prose


def test_an_alias_bomb_costs_nothing() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*{'a' if not n else f'b{n - 1}'}, *a]\n" for n in range(40))
    with ends():
        tour, problems = read(GOOD.replace("symbol: Blend\n", f"symbol: Blend\n{bomb}"))
    assert tour is not None
    assert [stop.id for stop in tour.stops] == ["first"]
    assert "aliases" in problems[0].text


@pytest.mark.parametrize(
    "text",
    [
        GOOD + "x" * 10_000_000,
        FRONT + "[" * 400_000,
        FRONT + ("[" * 7_900 + "\n\n") * 8,
        FRONT + ("*a _b " * 1_300 + "\n\n") * 30,
        FRONT + "> " * 200_000,
        FRONT + "- " * 200_000,
        FRONT + "`" * 400_000,
        FRONT + "![](" * 100_000,
        FRONT.replace("[storage]", "[" * 15_000),
        GOOD.replace("see: [", "see: " + "[" * 5000),
        GOOD.replace("symbol: Blend", "symbol: " + "B" * 15_000),
    ],
    ids=[
        "10 MB",
        "brackets",
        "many brackets",
        "stars",
        "quotes",
        "lists",
        "ticks",
        "pictures",
        "yaml",
        "nested",
        "long",
    ],
)
def test_what_is_meant_to_take_long_does_not(text: str) -> None:
    with ends():
        _tour, problems = read(text)
    assert problems


def test_nothing_and_almost_nothing() -> None:
    for data in (b"", b"---", b"---\n---\n", b"\n" * 50, b"---\nid: x\n"):
        tour, problems = read(data)
        assert tour is None
        assert len(problems) == 1
    tour, problems = read(FRONT)
    assert tour is not None
    assert tour.stops == ()
    assert "no stops" in problems[0].text


def test_windows_line_ends_mean_nothing() -> None:
    unix, windows = read(GOOD), read(GOOD.replace("\n", "\r\n"))
    assert windows[1] == []
    assert windows[0].stops == unix[0].stops  # type: ignore[union-attr]


def test_a_lab_that_cannot_be_read_here_makes_it_another_content_than_where_it_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Trust is in the content: what was not read was not shown, and a later Python may read it."""
    lab = "```lab\nid: later\nrun: \"print('shown')\"\nexpect: {value: 2}\n```\n"
    block = "```anchor\npath: a.cpp\nsymbol: b\n```\n"
    data = f"---\nid: x\ntitle: T\nbaseline: v2.6.0\n---\n\n## S {{#s}}\n\n{block}\n{lab}".encode()
    later, problems = parse(data, "note", Origin("x.md"))
    assert later is not None
    assert not problems
    assert later.sha == hashlib.sha256(data).hexdigest()

    def refuse(*_given: object, **_named: object) -> None:
        raise SyntaxError("this Python does not know it")

    monkeypatch.setattr(blocks.ast, "parse", refuse)  # type: ignore[attr-defined]
    earlier, problems = parse(data, "note", Origin("x.md"))
    assert earlier is not None
    assert problems
    assert not earlier.stops[0].labs
    assert earlier.sha != later.sha
