"""Bytes of a notes file as text: UTF-8 (with its mark or not), GB18030 where declared; else refused by place."""

from __future__ import annotations

import re

LARGEST = 256 * 1024  # bytes; the longest honest tour is a sixth of it
_FRONT = re.compile(rb"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_DECLARED = re.compile(rb"^encoding:[ \t]*[\"']?([A-Za-z0-9_-]*)[\"']?[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_NAMES = {"utf8": "utf-8", "gb18030": "gb18030"}
_MARKS = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"), (b"\x84\x31\x95\x33", "GB18030"))


class Unreadable(ValueError):
    """The file is no text that may be read; `line` is where."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def decode(data: bytes) -> str:
    """The text, line ends made one. Raises Unreadable that names the byte."""
    if len(data) > LARGEST:
        raise Unreadable(1, f"the file has {len(data):,} bytes, and {LARGEST:,} is the limit")
    declared = _declared(data)
    if data.startswith(b"\xef\xbb\xbf"):
        if declared not in (None, "utf-8"):
            raise Unreadable(1, f"it begins with UTF-8's mark (byte 0) and declares {declared}")
        data, declared, skipped = data[3:], "utf-8", 3
    else:
        skipped = 0
    for mark, name in _MARKS:
        if data.startswith(mark) and not (name == "GB18030" and declared == "gb18030"):
            raise Unreadable(1, f"it begins with {name}'s mark at byte 0: write it in UTF-8")
    encoding = declared or "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = "; where it is GB18030, its front matter must say `encoding: gb18030`" if declared is None else ""
        place = f"byte {error.start + skipped} (0x{data[error.start]:02x}) is no {encoding.upper()}"
        raise Unreadable(line, f"{place}{hint}") from None
    if encoding == "gb18030":
        text = text.removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _declared(data: bytes) -> str | None:
    """The encoding that the front matter names. Raises Unreadable where it is not one of those that may be."""
    front = _FRONT.match(data.removeprefix(b"\xef\xbb\xbf").removeprefix(b"\x84\x31\x95\x33"))
    found = _DECLARED.search(front[1]) if front else None
    if front is None or found is None:
        return None
    name = found[1].decode()
    known = _NAMES.get(name.lower().replace("-", "").replace("_", ""))
    if known is None:
        line = front[1].count(b"\n", 0, found.start()) + 2
        raise Unreadable(line, f"encoding {name!r} is not read: utf-8 and gb18030 are")
    return known


def without_controls(text: str) -> tuple[str, list[tuple[int, str]]]:
    """The text with control characters and direction overrides replaced, and the line and code of each first of a line.

    They would act on a terminal, or make a line read as what it is not.
    """
    found: dict[int, str] = {}
    for match in _CONTROL.finditer(text):
        found.setdefault(text.count("\n", 0, match.start()) + 1, f"U+{ord(match[0]):04X}")
        if len(found) >= 20:
            break
    return (_CONTROL.sub("\ufffd", text) if found else text), list(found.items())
