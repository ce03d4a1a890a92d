"""Source text as HTML: what is marked, that nothing is lost, that nothing in it is markup."""

from __future__ import annotations

import html
import re

import pytest

from ptexplore.render.html.source_markup import marked_lines
from ptexplore.view.site.site import apart, between, safe, source_url
from ptexplore.view.site.source_page import Link

CPP = 'auto s = R"x(a "b" // no\n)x"; /* two\nlines */ int n = 1\'000; // <b>&amp;\nreturn at::add(f("<"), s.add(1));\n'


def test_the_text_is_all_there_and_escaped() -> None:
    lines = marked_lines("cpp", CPP, {}, {})
    plain = html.unescape(re.sub(r"<[^>]*>", "", "\n".join(lines)))
    assert plain == CPP
    assert lines[0] == '<b>auto</b> s = R<s>"x(a "b" // no</s>'
    assert lines[2] == "<i>lines */</i> <b>int</b> n = 1'000; <i>// &lt;b>&amp;amp;</i>"


def test_a_name_is_linked_where_its_qualifiers_stand_before_it() -> None:
    words = {4: {"add": [Link("at::", 7), Link("s.", 8, 0, sure=False)]}}
    line = marked_lines("cpp", CPP, words, {})[3]
    assert "at::<a href=#r7>add</a>(" in line
    assert "s.<a href=#r8 class=q>add</a>(" in line


def test_a_name_in_a_string_or_a_comment_is_no_link() -> None:
    lines = marked_lines("cpp", 'x("add"); // add', {1: {"add": [Link("", 1)]}}, {})
    assert "<a" not in lines[0]


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
