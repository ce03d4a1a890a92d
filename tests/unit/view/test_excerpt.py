"""Where a highlighter has to begin so that a stretch of a file gets its true colours."""

from __future__ import annotations

from ptexplore.view.excerpt import lead

CPP = ["int a;", "/* one", "two", "three */", "int b;", 'auto s = "/*";', "int c; // */", "int d;"]
PYTHON = ["x = 1", '"""', "doc", '"""', "y = '#'", "z = 2"]


def test_inside_a_comment_it_begins_with_the_comment() -> None:
    assert lead(CPP, 3, "cpp") == ["/* one"]
    assert lead(CPP, 4, "cpp") == ["/* one", "two"]


def test_elsewhere_nothing_is_needed() -> None:
    for first in (1, 2, 5, 6, 7, 8):
        assert not lead(CPP, first, "cpp"), first


def test_python_strings_over_several_lines() -> None:
    assert lead(PYTHON, 3, "python") == ['"""']
    assert not lead(PYTHON, 5, "python")
    assert not lead(PYTHON, 6, "python")


def test_a_comment_that_never_ends() -> None:
    assert lead(["/* a", "b", "c"], 3, "cpp") == ["/* a", "b"]
