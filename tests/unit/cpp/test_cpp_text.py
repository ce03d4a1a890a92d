"""Comments, literals and directives of a C++ text, and the table of its headers' macros."""

from __future__ import annotations

import pickle

import pytest

from ptexplore.cpp.macros import MacroTable, collect
from ptexplore.cpp.text import Text


@pytest.mark.parametrize(
    ("raw", "bare"),
    [
        ("a = '\"'; // x", "a = ' ';     "),
        ('s = "x\\"y" + z;', 's = "    " + z;'),
        ('r = R"q(a"b)q";', 'r = R"       ";'),
        ("1'000'000 /* c */ + 2", "1'000'000         + 2"),
        ("// a \\\nb\nc", "      \n \nc"),
        ('"open\nnext', '"    \nnext'),
        ("/* open", "       "),
    ],
)
def test_bare_keeps_length_and_lines(raw: str, bare: str) -> None:
    assert Text("a.cpp", raw).bare == bare


def test_a_comment_may_hide_the_backslash_that_continues_a_directive() -> None:
    text = Text("a.h", "#define M(x) /* one \\\n two */ \\\n  x\nint a;\n")
    assert [(one.word, text.line(one.start), text.line(one.end)) for one in text.directives] == [("define", 1, 3)]


def test_line_counts_from_one() -> None:
    text = Text("a.cpp", "a\nbb\n\nc")
    assert [text.line(offset) for offset in range(len(text.raw))] == [1, 1, 2, 2, 2, 3, 4]


def test_guards_leave_out_the_include_guard() -> None:
    text = Text("a.h", "#ifndef A_H // x\n#define A_H\n#ifdef B\nint b;\n#elif C > 1\nint c;\n#endif\n#endif\n")
    assert text.guards(4) == ("defined(B)",)
    assert text.guards(6) == ("!(defined(B)) && C > 1",)
    assert text.guards(8) == ()


HEADER = """#pragma once
#if defined(_WIN32)
#define API __declspec(dllexport)
#else
#define API __attribute__((visibility("default")))
#endif
#define FAST API inline
#define QUIET(w) _Pragma("push") _Pragma(#w)
#define NAME(x) x##_name
#define LIMIT 3
"""


def test_attributes_are_learnt_through_other_macros() -> None:
    table = collect([("a/b.h", HEADER), ("a/c.cpp", "#define LOCAL inline\n")])
    assert {"API", "FAST", "QUIET", "__device__"} <= table.attributes
    assert not {"NAME", "LIMIT", "LOCAL"} & table.attributes


def test_what_changed_follows_the_definitions_alone() -> None:
    table = collect([("a/b.h", HEADER)])
    assert pickle.loads(pickle.dumps(table)).by_name == table.by_name
    assert MacroTable.from_text(table.as_text()).by_name == table.by_name
    moved = collect([("a/z.h", "// more\n" + HEADER), ("a/c.cpp", "#define X 1\n")])
    assert moved.changed_since(table) == set()
    assert collect([("a/b.h", HEADER.replace("LIMIT 3", "LIMIT 4"))]).changed_since(table) == {"LIMIT"}
    assert collect([("a/b.h", HEADER.replace("#define API ", "#define API static "))]).changed_since(table) == {
        "API",
        "FAST",
    }


def test_a_definition_for_another_platform_stands_last() -> None:
    first, second = collect([("a/b.h", HEADER)]).get("API")
    assert "attribute" in first.body
    assert not second.likely
