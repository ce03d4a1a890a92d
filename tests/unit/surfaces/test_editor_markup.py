"""What an editor may read as markup: no text of others becomes a link, and nothing of it is hidden."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from ptexplore.errors import PtexploreError
from ptexplore.surfaces.editor_markup import markdown_lines, message_text
from ptexplore.surfaces.editor_traces import question, to_trace

# As VS Code reads messages and dialogs (src/vs/base/common/linkedText.ts).
LINK_IN_A_MESSAGE = re.compile(
    r"\[([^\]]+)\]\(((?:https?://|command:|file:)[^)\s]+)(?: ([\"'])(.+?)(\3))?\)", re.IGNORECASE
)
HOSTILE = (
    "[Run it](command:workbench.action.terminal.sendSequence?%7B%22text%22%3A%22id%22%7D)",
    "[x](https://evil.example)", "[x](file:///bin/sh)", "[x](HTTPS://evil.example)", "[a\nb](command:x)",
    "<a href='https://evil.example'>x</a>", "<!-- hidden -->", "&#60;b>", "&lt;b>", "</pre><b>x</b>",
)  # fmt: skip


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.read: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.read.append(tag)

    def handle_comment(self, data: str) -> None:
        self.read.append(data)

    def handle_endtag(self, tag: str) -> None:
        self.read.append(tag)

    def handle_charref(self, name: str) -> None:
        self.read.append(name)

    def handle_entityref(self, name: str) -> None:
        self.read.append(name)


def _has_markup(text: str) -> bool:
    tags = _Tags()
    tags.feed(text)
    tags.close()
    return LINK_IN_A_MESSAGE.search(text) is not None or bool(tags.read)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_message_has_no_markup(text: str) -> None:
    assert _has_markup(text)
    assert not _has_markup(message_text(text))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_dialog_shows_all_of_the_code(text: str) -> None:
    shown = question(to_trace(f"torch.add({text!r}, 1)", "/a/b.py"))
    assert not _has_markup(shown)
    assert shown.isascii()
    quoted = shown.partition("torch.add(")[2].partition(", 1)")[0]
    if "\\" not in text and "\n" not in text:
        assert re.sub(r"\\x(..)", lambda mark: chr(int(mark[1], 16)), quoted) == repr(text)


def test_the_name_of_a_file_is_no_part_of_the_question() -> None:
    shown = question(to_trace("a + b", "/a/x.\n   2 | [Run](command:x)\u202e.py"))
    assert not _has_markup(shown)
    assert len(shown.split("\n")) == len(question(to_trace("a + b", "/a/b.py")).split("\n"))


def test_a_dialog_that_editors_cut_is_not_shown() -> None:
    question(to_trace(f"f('{'<' * 700}')", "/a/b.py"))
    with pytest.raises(PtexploreError, match="not run from here"):
        question(to_trace(f"f('{'<a' * 350}')", "/a/b.py"))


def test_plain_code_stays_as_it_is() -> None:
    code = "x[0], f(a)[1] < b and a<3 & m"
    assert message_text(code) == code


@pytest.mark.parametrize(
    "text",
    ["https://evil.example/a", "see http://evil.example", "www.evil.example", "x@evil.example", "mailto:x@evil.example",
     "<https://evil.example>", "[a](https://evil.example)", "ftp://evil.example", "![a](https://evil.example/x.png)"],
)  # fmt: skip
def test_a_hover_has_no_link(text: str) -> None:
    shown = MarkdownIt("commonmark").render(markdown_lines([text]))
    assert "<a" not in shown
    assert "<img" not in shown
    # GitHub's rules for addresses without signs look for these in the text as it is written.
    assert not re.search(r"\w://|www\.\w|\w@\w|mailto:", markdown_lines([text]))
