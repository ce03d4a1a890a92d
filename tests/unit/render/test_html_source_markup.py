"""Source text as HTML: what is marked, that nothing is lost, that nothing in it is markup."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from importlib.resources import files

import pytest

from ptexplore.lookup.link_targets import Look
from ptexplore.render.html.source_markup import begins_long, marked_lines
from ptexplore.tui.widgets.colours import word
from ptexplore.view.site.site import apart, between, safe, source_url
from ptexplore.view.site.source_page import Link
from ptexplore.view.tokens import Tokens

CPP = 'auto s = R"x(a "b" // no\n)x"; /* two\nlines */ int n = 1\'000; // <b>&amp;\nreturn at::add(f("<"), s.add(1));\n'


def test_the_text_is_all_there_and_escaped() -> None:
    lines = marked_lines("cpp", CPP, {}, {})
    plain = html.unescape(re.sub(r"<[^>]*>", "", "\n".join(lines)))
    assert plain == CPP
    assert lines[0] == '<var>auto</var> s = R<s>"x(a "b" // no</s>'
    assert lines[2] == "<i>lines */</i> <var>int</var> n = <samp>1'000</samp>; <i>// &lt;b>&amp;amp;</i>"


@pytest.mark.parametrize("line", ["#include  <a.h>", "#include<a.h>", '# include\t"a.h" // b', "#include <a.h>"])
def test_an_include_keeps_its_blanks(line: str) -> None:
    for includes in ({}, {1: Link("", 2)}):
        assert html.unescape(re.sub(r"<[^>]*>", "", marked_lines("cpp", line, {}, includes)[0])) == line


def test_what_a_phone_must_not_break_is_marked_in_lines_that_it_breaks() -> None:
    long = "    operands_.emplace_back(std::move(tensor), config->flags_);"
    short, called, told = "  a->b();", "  const auto& shape = tensor->sizes();", "  // why: https://example.org/a->b"
    lines = marked_lines("cpp", "\n".join([long, short, called, told]), {}, {})
    assert [line.count("<q>-></q>") for line in lines] == [1, 0, 1, 0]
    assert html.unescape(re.sub(r"<[^>]*>", "", lines[2])) == called
    assert [begins_long(line) for line in (long, short, called, told, f"  {'x' * 40}", "x" * 60)] == [
        True, False, False, False, True, False,
    ]  # fmt: skip


def test_a_name_is_linked_where_its_qualifiers_stand_before_it() -> None:
    words = {4: {"add": [Link("at::", 7), Link("s.", 8, 0, sure=False)]}}
    line = marked_lines("cpp", CPP, words, {})[3]
    assert "at::<a href=#r7>add</a>(" in line
    assert "s.<a href=#r8 class=q>add</a>(" in line


def test_a_name_in_a_string_or_a_comment_is_no_link() -> None:
    lines = marked_lines("cpp", 'x("add"); // add', {1: {"add": [Link("", 1)]}}, {})
    assert "<a" not in lines[0]


def test_a_definitions_own_name_leads_to_its_uses_and_is_not_taken_for_what_qualifies_it() -> None:
    text = "int Foo::Foo(int a) {\n  return Foo(a); }\n"
    lines = marked_lines("cpp", text, {2: {"Foo": [Link("", 3)]}}, {}, {1: {"Foo"}})
    assert lines[0] == "<var>int</var> Foo::<a href=#u1>Foo</a>(<var>int</var> a) {"
    assert "<a href=#r3>Foo</a>(a)" in lines[1]


WORDS = """template <typename T>
static int64_t blend(const Tensor& self, int64_t times, Blender<T> how) {
  if (times < 2 || how.isEmpty()) { // not blend(1)
    TORCH_CHECK(false, "no \\"blend\\" of ", times);
    return static_cast<int64_t>(self.numel());
  }
  for (auto& each : parts(self)) at::native::add_one(each, 0x1f, 1.5e3);
  sizes_ = self.width + how->impl()->count_ - strides_.add_(1);
  return sizeof(Tensor) + how->weigh(nullptr, this);
}
"""
TAGS = {
    "b": "keyword",
    "var": "type",
    "em": "function",
    "samp": "number",
    "i": "comment",
    "s": "string",
    "u": "macro",
    "bdi": "member",
}


def test_words_look_as_they_do_in_the_terminals_browser() -> None:
    """Every word of a text, by this scanner and by view/tokens, which parses: the same but where either knows more."""
    looks: defaultdict[str, Look] = defaultdict(lambda: "")
    looks |= {"Tensor": "type", "Blender": "type", "TORCH_CHECK": "macro"}
    lines = marked_lines("cpp", WORDS, {}, {}, looks=looks)
    lines = [re.sub(r"</?q>", "", line) for line in lines]  # of arrows, which have no colour
    spans = Tokens(WORDS, "cpp").spans(1, len(lines))
    differ = {}
    for text, line, parsed in zip(WORDS.split("\n"), lines, spans, strict=True):
        shown, inside = "", [""]
        kinds: list[str] = []
        for part in re.findall(r"<[^>]*>|&[a-z]+;|.", line):
            if part.startswith("<"):
                inside = inside[:-1] if part.startswith("</") else [*inside, TAGS[part[1:-1]]]
            else:
                shown += html.unescape(part)
                kinds.append(inside[-1])
        assert shown == text
        for match in re.finditer(r"\w+", text):
            told = next((kind for begin, end, kind in parsed if begin <= match.start() < end), "")
            if told != kinds[match.start()]:
                differ[match[0]] = (told, kinds[match.start()])
    assert differ == {
        "TORCH_CHECK": ("function", "macro"),
        "static_cast": ("", "keyword"),
        "add_one": ("", "function"),  # qualified twice
        "Tensor": ("", "type"),  # in a sizeof
    }


def test_the_colours_of_words_are_the_terminals() -> None:
    sheet = (files("ptexplore.render.html") / "assets" / "site.css").read_text(encoding="utf-8")
    light, dark, *_ = (
        dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", part))
        for part in sheet.split("@media (prefers-color-scheme: dark)")
    )
    named = {"string": "string", "number": "number", "keyword": "keyword", "type": "type", "function": "call"}
    for kind, name in (named | {"preproc": "preproc", "member": "member"}).items():
        for is_dark, colours in ((False, light), (True, dark)):
            colour = word(kind, dark=is_dark).color
            assert colour is not None
            assert colours[name] == colour.name, (kind, is_dark)


@pytest.mark.parametrize("language", ["cpp", "python", "yaml", "other"])
def test_broken_text_is_shown_as_it_is(language: str) -> None:
    text = '"open \'x\n/* open\x00\x01\n\u202e#if <\n"""open\n- a: b'
    lines = marked_lines(language, text, {}, {})
    assert len(lines) == text.count("\n") + 1
    assert not set("\x00\x01\x02\u202e") & set("".join(lines))


def test_names_are_safe_for_every_file_system() -> None:
    assert safe('a b#%"é.h') == "a~20b~23~25~22~C3~A9.h"
    assert safe("..") not in ("..", ".")
    assert safe("CON.h") == "~43ON.h"
    assert len(safe("x" * 300)) <= 120
    parted = apart(["x/A.h", "x/a.h"], source_url)
    assert len({one.lower() for one in parted.values()}) == 2


def test_the_way_between_two_pages() -> None:
    assert between("src/a/b.html", "src/a/c.html") == "c.html"
    assert between("src/a/b.html", "ops/x.html") == "../../ops/x.html"
    assert between("index.html", "ops/x.html") == "ops/x.html"
