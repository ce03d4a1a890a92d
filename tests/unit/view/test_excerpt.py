"""What a highlighter reads around a stretch of a file, so that the stretch gets its true colours."""

from __future__ import annotations

from ptexplore.view.tokens import surroundings

CPP = ["int a;", "/* one", "two", "three */", "int b;", 'auto s = "/*";', "int c; // */", "int d;"]
PYTHON = ["x = 1", '"""', "doc", '"""', "y = '#'", "z = 2"]


def test_inside_a_comment_it_reads_the_whole_comment() -> None:
    assert surroundings(CPP, 3, 3, "cpp") == (("/* one",), ("three */",))
    assert surroundings(CPP, 4, 8, "cpp") == (("/* one", "two"), ())
    assert surroundings(CPP, 1, 2, "cpp") == ((), ("two", "three */"))


def test_elsewhere_nothing_is_needed() -> None:
    for first in (1, 5, 6, 7, 8):
        assert surroundings(CPP, first, first, "cpp") == ((), ()), first
    assert surroundings(CPP, 2, 4, "cpp") == ((), ())
    assert surroundings(CPP, 1, len(CPP), "cpp") == ((), ())


def test_python_strings_over_several_lines() -> None:
    assert surroundings(PYTHON, 3, 3, "python") == (('"""',), ('"""',))
    assert surroundings(PYTHON, 5, 6, "python") == ((), ())


def test_a_comment_that_never_ends() -> None:
    assert surroundings(["/* a", "b", "c"], 3, 3, "cpp") == (("/* a", "b"), ())
    assert surroundings(["/* a", "b", "c"], 1, 1, "cpp") == ((), ("b", "c"))
