"""The prose of notes on a page: flowcharts, headings, pictures."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from ptexplore.render.html.flowchart import figure
from ptexplore.render.html.prose import LARGEST, headings, html_of, picture_size, safe_picture

LOOP = """flowchart TD
    a["where it <begins>"] --> b["what comes next"]
    b -- "not yet" --> a
    b --> c
"""


def _boxes(drawn: str) -> dict[str, tuple[float, float]]:
    found = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"[^>]*/><text[^>]*><tspan[^>]*>([^<]*)', drawn)
    return {text: (float(x), float(y)) for x, y, text in found}


def test_boxes_stand_below_what_leads_to_them_and_an_arrow_back_is_told_in_words() -> None:
    drawn = figure(LOOP)
    assert drawn is not None
    boxes = _boxes(drawn)
    assert boxes["where it &lt;begins>"][1] < boxes["what comes next"][1] < boxes["c"][1]
    assert drawn.count('class="head"') == 3
    assert "1. where it &lt;begins> --> 2\n2. what comes next --> 3\n   -- not yet --> 1\n3. c" in drawn
    assert "style=" not in drawn


def test_what_is_no_flowchart_stays_text_and_a_large_one_is_told_in_words() -> None:
    assert figure("sequenceDiagram\n a->>b: c") is None
    many = "graph LR\n" + "\n".join(f"n{n} --> n{n + 1}" for n in range(60))
    told = figure(many)
    assert told is not None
    assert "<svg" not in told
    assert "n59" in told


def test_a_block_of_a_note_is_drawn_and_its_headings_are_linked() -> None:
    page = html_of(f"### What it is\n\n```mermaid\n{LOOP}```\n", lambda _: None, lambda _: None)
    assert "<svg" in page
    assert '<h4 id="part-what-it-is">' in page
    assert headings(["### What it is\n\ntext"]) == [("What it is", "part-what-it-is")]


def test_code_that_names_a_place_leads_there_but_not_inside_of_a_link() -> None:
    page = html_of("`a.h`, `b.h`, [`a.h` too](https://x.org)", str, lambda _: None, {"a.h": "../a.h.html"}.get)
    assert page.startswith('<p><a href="../a.h.html"><code>a.h</code></a>, <code>b.h</code>, ')
    assert page.count("<a ") == 2


def test_a_picture_says_how_large_it_is() -> None:
    assert picture_size(b'<svg xmlns="x" viewBox="0 0 640 220.5">') == (640, 220)
    assert picture_size(b'<svg width="30px" height="20">') == (30, 20)
    assert picture_size(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x08") == (16, 8)
    assert picture_size(b"<svg>") is None


def test_a_picture_is_whole_or_not_shown(tmp_path: Path) -> None:
    begin = b"\x89PNG\r\n\x1a\n"
    for name, size in (("small.png", 1000), ("large.png", LARGEST), ("huge.png", LARGEST + 1)):
        (tmp_path / name).write_bytes(begin.ljust(size, b"x"))
    assert [len(safe_picture(str(tmp_path), f"{name}.png") or b"") for name in ("small", "large", "huge")] == [
        1000,
        LARGEST,
        0,
    ]
    (tmp_path / "link.png").symlink_to(tmp_path / "small.png")
    assert safe_picture(str(tmp_path), "link.png") is None


def test_a_picture_that_a_bad_disk_keeps_back_is_not_taken_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert safe_picture(str(tmp_path), "there.png")
    assert safe_picture(str(tmp_path), "not-there.png") is None

    def refuse(path: object, *_given: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(OSError, match="Input/output error"):
        safe_picture(str(tmp_path), "there.png")


@pytest.mark.parametrize(
    "data",
    [
        b'<svg width="' + b"1" * 5000 + b'" height="1">',
        b'<svg viewBox="0 0 1 ' + b"1" * 5000 + b'">',
        b'<svg viewBox="0 0 ' + b"1" * 5000 + b' 1">',
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xff\xff\xff\0\0\0\x08",
    ],
)
def test_a_picture_that_says_to_be_larger_than_any_screen_has_no_size(data: bytes) -> None:
    assert picture_size(data) is None
