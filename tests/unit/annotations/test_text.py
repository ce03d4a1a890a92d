"""Notes in UTF-8 and, where they say so, GB18030; else the byte is named."""

from __future__ import annotations

import pytest

from ptexplore.annotations.format import LARGEST, decode
from ptexplore.annotations.markdown import tokens
from ptexplore.annotations.records import Unreadable

TEXT = "---\nid: x\n{}---\n\n张量有步幅\n"


def declared(name: str) -> str:
    return TEXT.format(f"encoding: {name}\n")


def test_utf8_with_and_without_its_mark() -> None:
    plain = TEXT.format("")
    assert decode(plain.encode()) == plain
    assert decode(b"\xef\xbb\xbf" + plain.encode()) == plain
    assert decode(declared("utf-8").encode()) == declared("utf-8")


@pytest.mark.parametrize("name", ["gb18030", "GB18030", "GB-18030", '"gb18030"', "gb18030  # 国标"])
def test_gb18030_where_it_is_declared(name: str) -> None:
    text = declared(name)
    assert decode(text.encode("gb18030")) == text
    assert decode(text.replace("\n", "\r\n").encode("gb18030")) == text
    assert decode(b"\x84\x31\x95\x33" + text.encode("gb18030")) == text


def test_gb18030_that_nobody_declared() -> None:
    data = TEXT.format("").encode("gb18030")
    with pytest.raises(Unreadable, match=r"byte 15 \(0xd5\) is not UTF-8.*gb18030") as caught:
        decode(data)
    assert caught.value.line == 5
    assert data[15] == 0xD5


def test_what_is_declared_and_is_not_so() -> None:
    with pytest.raises(Unreadable, match="is not GB18030") as caught:
        decode(declared("gb18030").encode("gb18030") + b"\n\xff\xff\n")
    assert caught.value.line == 8
    with pytest.raises(Unreadable, match="declares gb18030"):
        decode(b"\xef\xbb\xbf" + declared("gb18030").encode())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_other_encodings_are_refused(encoding: str) -> None:
    with pytest.raises(Unreadable):
        decode(TEXT.format("").encode(encoding))


@pytest.mark.parametrize("name", ["latin-1", "shift_jis", "rot13", "idna", ""])
def test_only_two_names_may_be_declared(name: str) -> None:
    with pytest.raises(Unreadable, match="is not supported") as caught:
        decode(declared(name).encode())
    assert caught.value.line == 3


def test_a_word_in_the_body_declares_nothing() -> None:
    text = TEXT.format("") + "encoding: gb18030\n"
    assert decode(text.encode()) == text


def test_size() -> None:
    with pytest.raises(Unreadable, match="the limit"):
        decode(b"x" * (LARGEST + 1))


@pytest.mark.parametrize("mark", ["[", "![", "a [b] "])
@pytest.mark.parametrize("end", ["\n\n", "\n \t\n"])
def test_the_brackets_of_a_paragraph_are_limited(mark: str, end: str) -> None:
    """Markdown looks for the end of each to the end of the paragraph."""
    assert tokens((mark * 100 + end) * 3)
    for text in (mark * 101, mark * 75 + "\n\u00a0\n" + mark * 26):
        with pytest.raises(ValueError, match="brackets"):
            tokens(f"before{end}{text}{end}after")


@pytest.mark.parametrize("tables", [1, 20])
def test_the_cells_of_tables_are_limited_before_they_are_made(tables: int) -> None:
    """A row of one cell is filled up to as many as the table has columns."""
    columns, rows = 250 // tables, 262
    table = "\n".join(["|" * (columns + 1), "|" + "-|" * columns, *["|x"] * rows])
    with pytest.raises(ValueError, match="cells"):
        tokens("\n\n".join([table] * 20))
    usual = "\n".join(["|a|b|c|", "|-|-|-|", *["|x|y|z|"] * 50])
    assert sum(token.type == "table_open" for token in tokens("\n\n".join([usual] * 20))) == 20
