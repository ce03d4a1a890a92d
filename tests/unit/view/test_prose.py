"""The Markdown of notes as what is drawn: flowcharts in a terminal, texts and links that are safe once decoded."""

from __future__ import annotations

import re

import pytest

from ptexplore.render.html.prose import headings, html_of
from ptexplore.view.notes.prose import arrows, plain_text, prose_tokens
from tests.unit.test_safe_text import unsafe


def test_of_a_flowchart_each_box_is_said_once_and_its_arrows_say_where_they_lead() -> None:
    picture = 'flowchart TD\n    a["one, two"] --> b["three"]\n    b -- "again" --> a\n    b --> bare\n'
    assert arrows(picture) == ["1. one, two --> 2", "2. three --> 3", "   -- again --> 1", "3. bare"]
    fork = 'graph LR\n    a["one"] --> c\n    b["two"] --> c["three"]\n    b --> a\n'
    assert arrows(fork) == ["1. one --> 3", "2. two --> 3, 1", "3. three"]


@pytest.mark.parametrize(
    "other",
    ["", "graph LR", "sequenceDiagram\n    a->>b: x", "graph LR\n    a --> b --> c", "flowchart TD\n    a{x} --> b"],
)
def test_any_other_picture_is_left_as_it_is(other: str) -> None:
    assert arrows(other) is None


def test_the_words_of_a_text_keep_the_underscores_of_names() -> None:
    text = "The *generated* `at::_ops::add_Tensor::call`, and\n**`__torch_dispatch__`**: see [`_make_grads`](#x), a_b."
    assert plain_text(text) == "The generated at::_ops::add_Tensor::call, and __torch_dispatch__: see _make_grads, a_b."


# Characters that turn, hide or steer text, each written as what Markdown decodes.
ENTITIES = [
    "&#x202e;", "&#x2066;", "&rlm;", "&lrm;", "&shy;", "&zwj;", "&zwnj;", "&ZeroWidthSpace;", "&NoBreak;", "&#xE0041;",
    "&#8238;", "&#x1b;]0;owned&#7;", "&#27;[31m", "&#x9b;31m", "&#xFEFF;", "&#x2028;", "&#127;", "&af;", "&it;", "&ic;",
    "&#x1b;]8;;https://evil.example&#x1b;\\",
]  # fmt: skip
WRITTEN = [
    "a {} b", "# a {} b", "- a {} b\n- c", "> a {} b", "| a {} | b |\n|---|---|\n| {} | c |", "*a {} b*", "**{}**",
    "[a {} b](https://example.org/)", "[a](https://example.org/{})", '[a](b.md "a {} b")', "![a {} b](x.svg)",
    '![a](x{}.svg "{}")', "<https://example.org/{}>", "~~~ {}\ncode\n~~~", "[a]\n\n[a]: https://example.org/{} '{}'",
    "a\\\n{}", "1. {}\n\n   {}", "``` {}\ncode\n```",
]  # fmt: skip


@pytest.mark.parametrize("entity", ENTITIES)
@pytest.mark.parametrize("written", WRITTEN)
def test_what_is_decoded_is_clean_wherever_it_is_shown(entity: str, written: str) -> None:
    text = written.replace("{}", entity)
    shown = [plain_text(text), str(html_of(text, lambda url: url, lambda url: (url, None)))]
    shown += [str(part) for heading in headings([text]) for part in heading]
    pending = list(prose_tokens(text))
    while pending:
        token = pending.pop()
        shown += [token.content, token.info, *(str(value) for value in token.attrs.values())]
        pending += token.children or ()
    for one in shown:
        assert not unsafe(one), one


@pytest.mark.parametrize(
    "url",
    [
        "javascript:x", "JaVaScRiPt:x", "java&#115;cript:x", "&#106;avascript&colon;x", "java&Tab;script:x",
        "java&NewLine;script:x", "javascript&#58;x", "data:text/html,x", "vbscript:x", "file:///etc",
        "vscode://file/x", "smb://evil.example/x", "ssh://evil.example", "command:x", "blob:x", "intent://x",
        "//evil.example", "\\\\evil.example\\x", "/\\evil.example", "%6aavascript:x", "jav%0aascript:x", "ms-msdt:x",
        "x:y",
    ],
)  # fmt: skip
def test_a_link_of_another_scheme_is_no_link_however_it_is_written(url: str) -> None:
    ways = ("[a]({})", "[a](<{}>)", "<{}>", "[a]\n\n[a]: {}", "![a]({})", "[![b](c.svg)]({})")
    for written in (way.replace("{}", url) for way in ways):
        page = str(html_of(written, lambda url: url, lambda url: (url, None)))
        for kind, target in re.findall(r'(href|src)="([^"]*)"', page):
            assert re.match(r"https?://|[\w.%#-]+$", target), (kind, target)
            assert ":" not in target.replace("https://", ""), (kind, target)
