"""What is coloured, that broken text is read as far as it goes, and what is read around a stretch of a file."""

from __future__ import annotations

import pytest

from ptexplore.view.tokens import Tokens, surroundings


def kinds(text: bytes | str, language: str):
    """The spans of every line of a text."""
    decoded = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return Tokens(decoded, language).spans(1, decoded.count("\n") + 1)


def named(line: str, spans):
    return [(line[begin:end], kind) for begin, end, kind in spans]


def test_cpp_words():
    text = '#include <x.h>\n/* é */ static int f(Tensor t) { return g(1, "é"); } // end\n'
    first, second, last = kinds(text, "cpp")
    assert named("#include <x.h>", first) == [("#include", "preproc"), ("<x.h>", "string")]
    assert named(text.split("\n")[1], second) == [
        ("/* é */", "comment"), ("static", "keyword"), ("int", "type"), ("f", "function"), ("Tensor", "type"),
        ("return", "keyword"), ("g", "function"), ("1", "number"), ('"é"', "string"), ("// end", "comment"),
    ]  # fmt: skip
    assert last == []


def test_python_words_and_a_string_of_many_lines():
    text = '@a.b(1)\ndef f(x: T):\n    """One\n    two"""\n    return g(f"{x} s")'
    lines = text.split("\n")
    found = [named(line, spans) for line, spans in zip(lines, kinds(text, "python"), strict=True)]
    assert found[0] == [("@", "decorator"), ("a.b", "decorator"), ("1", "number")]
    assert found[1] == [("def", "keyword"), ("f", "function"), ("T", "type")]
    assert found[2] == [('"""', "string"), ("One", "string")]
    assert found[3] == [("    two", "string"), ('"""', "string")]
    assert found[4][:2] == [("return", "keyword"), ("g", "function")]


def test_yaml_words():
    line = "- func: add(Tensor self, *, Scalar alpha=1) -> Tensor  # why"
    (spans,) = kinds(line, "yaml")
    assert named(line, spans) == [("func", "tag"), ("1", "number"), ("# why", "comment")]
    assert named("  a: 'x # y'", kinds("  a: 'x # y'", "yaml")[0]) == [("a", "tag"), ("'x # y'", "string")]


@pytest.mark.parametrize("language", ["cpp", "python", "yaml", "text"])
def test_lines_asked_for_are_those_of_the_whole(language):
    text = 'f(\n"a\nb"\n/* c\nd */ class } X {{ \ud800 é\n\n"""\nreturn 1'
    whole = kinds(text, language)
    assert len(whole) == text.count("\n") + 1
    tokens = Tokens(text, language)
    for first in range(1, len(whole) + 1):
        assert tokens.spans(first, first + 2) == whole[first - 1 : first + 2]
    assert tokens.spans(len(whole) + 1, len(whole) + 5) == []


@pytest.mark.parametrize("text", [b"", b"\xff\xfe\x00\n(", b"\n" * 5, "日本 = '語'\n".encode() * 3])
def test_any_bytes_are_read(text):
    for language in ("cpp", "python", "yaml"):
        lines = text.decode("utf-8", "replace").split("\n")
        for line, spans in zip(lines, kinds(text, language), strict=True):
            ends = [0, *(edge for begin, end, _kind in spans for edge in (begin, end)), len(line)]
            assert ends == sorted(ends)


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


@pytest.mark.parametrize(
    "language, text",
    [
        ("cpp", "a<b<c<d<e(\n" * 5_000),
        ("python", "a = " + "[" * 5_000 + "\n" + "f'{" * 5_000),
        ("cpp", "{" * 5_000 + "}" * 5_000),
    ],
)
def test_what_the_index_does_not_parse_is_not_parsed_to_colour_it(
    language: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tree-sitter takes seconds and gigabytes for such a file."""

    class Never:
        def parse(self, _data: bytes) -> None:
            raise AssertionError("it was parsed")

    monkeypatch.setattr("ptexplore.view.tokens._grammar", lambda _language: (Never(), None))
    assert Tokens(text, language).spans(1, 3) == [[] for _ in text.split("\n")[:3]]
