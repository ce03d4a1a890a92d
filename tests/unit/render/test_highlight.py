"""Source in colour: every line whole in itself, the text unchanged, context read first."""

from __future__ import annotations

import re

import pytest

from ptexplore.render.terminal.highlight import BIGGEST, highlighted

SGR = re.compile(r"\x1b\[[0-9;]*m")
CPP = ["// hi", "#include <x>", "static int f(const char* s) {", '  return s ? 1 : "two"[0]; /* a', "b */", "}", "", ""]


def plain(lines: list[str]) -> list[str]:
    return [SGR.sub("", line) for line in lines]


@pytest.mark.parametrize("language", ["cpp", "python", "yaml", "other"])
def test_the_text_stays_as_it_is(language: str) -> None:
    assert plain(list(highlighted(CPP, language))) == CPP


def test_no_colour_runs_over_a_line_end() -> None:
    for line in highlighted(CPP, "cpp"):
        assert line.count("\x1b[0m") * 2 == len(SGR.findall(line))


def test_a_comment_begun_above_colours_what_is_shown() -> None:
    (line,) = highlighted(["int x;"], "cpp", ["/* begun"], ["ended */"])
    assert line == "\x1b[90mint x;\x1b[0m"
    (line,) = highlighted(["int x;"], "cpp")
    assert "\x1b[90m" not in line


def test_what_is_too_big_stays_plain() -> None:
    line = "int x; " * (BIGGEST // 7 + 1)
    assert list(highlighted([line], "cpp")) == [line]
