"""One gate for text from outside: nothing in it steers a terminal, turns the direction of text or cannot be seen.

Documents pass it when they are read (`clean_json`, `clean_document`), so that no renderer has to remember it. Renderers
clean what they print as well (`clean`, `clean_lines`), for text that came in no document: source, file names, messages
of the system. Nothing heavy is imported: the error boundary needs this at once.
"""

from __future__ import annotations

import re
from typing import Any

# Every character of Unicode's categories Cc (but tab and line feed), Cf, Zl, Zp and Cs: control characters, marks that
# turn the direction of text, characters that are not seen, ends of lines that some programs know, half characters.
_RANGES = (
    (0x0, 0x8), (0xB, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x600, 0x605), (0x61C, 0x61C), (0x6DD, 0x6DD),
    (0x70F, 0x70F), (0x890, 0x891), (0x8E2, 0x8E2), (0x180E, 0x180E), (0x200B, 0x200F), (0x2028, 0x202E),
    (0x2060, 0x206F), (0xD800, 0xDFFF), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0x110BD, 0x110BD), (0x110CD, 0x110CD),
    (0x13430, 0x1343F), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE007F),
)  # fmt: skip
INSTEAD = "\ufffd"
UNSAFE = frozenset(code for first, last in _RANGES for code in range(first, last + 1))
_UNSAFE = re.compile(f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in _RANGES)}]")

_SAFE_BYTES = bytes(code for code in range(0x80) if code not in UNSAFE)

# In the text of a JSON document: an escape, or one that may stand for half of a character with the other half.
_ESCAPE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL)
# Whether there may be an escape to replace; it is told for too many, and quickly.
_SUSPECT = re.compile(rb"\\[bfr]|\\u(?:00[0189aA]|007[fF]|0[678]|18|20[0-6]|[dD][89a-fA-F]|[fF][eEfF])")
_LETTERS = {b"\\b": 8, b"\\f": 12, b"\\r": 13}


def is_clean(data: bytes) -> bool:
    """Whether text as UTF-8 is safe to show as it is, tabs and line feeds aside; a large one is looked through soon."""
    rest = data.translate(None, _SAFE_BYTES)
    return not rest or _UNSAFE.search(rest.decode("utf-8", "surrogatepass")) is None


def clean(text: str) -> str:
    """One line of text that is safe to show: source, notes and sessions are data."""
    if text.isascii() and text.isprintable():
        return text  # as nearly all are
    return _UNSAFE.sub(INSTEAD, text).replace("\n", " ").replace("\t", " ")


def clean_lines(text: str) -> str:
    """The same, with line breaks kept."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(INSTEAD, text).replace("\t", " ")


_LONG_GAP = 8  # blanks within a line that are worth a number
_MANY_LINES = 3  # empty lines that are worth a number


def revealed(code: str) -> list[str]:
    """Code that somebody else wrote, as lines in which nothing can hide: all of it, in ASCII.

    Every other character is written as Python's escape for it, so that no letter that looks like another, no blank of
    another script and no mark that turns text can deceive. A backslash of the code is doubled: what has a single one is
    such an escape. A carriage return alone ends a line, as it does for Python. Long runs of blanks and of empty lines
    are counted: none can push what follows off the screen. A count stands between ⟨ and ⟩, which nothing else here can.
    """
    lines: list[str] = []
    empty = 0
    for line in [*code.replace("\r\n", "\n").replace("\r", "\n").split("\n"), None]:
        if line is not None and not line.strip(" "):
            empty += 1
            continue
        lines += [f"⟨{empty} empty lines⟩"] if empty > _MANY_LINES else [""] * empty
        empty = 0
        if line is not None:
            indent = len(line) - len(line.lstrip(" "))
            shown = "".join(map(_plain, line[indent:]))
            before = " " * indent if indent <= _DEEP else f"⟨{indent} blanks⟩"
            lines.append(before + re.sub(rf" {{{_LONG_GAP},}}", lambda gap: f"⟨{len(gap[0])} blanks⟩", shown))
    return lines


_DEEP = 40  # blanks of an indent


def _plain(letter: str) -> str:
    if letter == "\\":
        return "\\\\"
    return letter if " " <= letter <= "~" else letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def unsafe_in(text: str) -> str:
    """The first character of the text that is not safe to show, as `U+202E`; "" where all are."""
    match = _UNSAFE.search(text)
    return f"U+{ord(match[0]):04X}" if match is not None else ""


def clean_json(data: bytes) -> bytes:
    """The text of a JSON document that says the same with safe strings, keys too; tabs and line feeds stay.

    It is done to the text, before anything is read of it: what no escape and no byte says, no value can hold. What is
    no JSON, or no UTF-8, comes back so that its reader still says so.
    """
    if _SUSPECT.search(data) is not None:
        data = _ESCAPE.sub(_safe_escape, data)
    if not data.isascii():
        text = data.decode("utf-8", "surrogateescape")
        data = _UNSAFE.sub(_safe_letter, text).encode("utf-8", "surrogateescape")
    return data


def safe_json(value: Any) -> str:
    """Plain data as JSON on one line, with safe texts: for a script, in which a browser reads each escape."""
    import json

    text = _UNSAFE.sub(INSTEAD, json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return clean_json(text.encode()).decode()


def _safe_letter(match: re.Match[str]) -> str:
    """A letter that stands in a document as it is: white space between values, and what is no UTF-8, stay."""
    letter = match[0]
    return letter if letter < " " or "\udc80" <= letter <= "\udcff" else INSTEAD


def _safe_escape(match: re.Match[bytes]) -> bytes:
    escape = match[0]
    if len(escape) == 12:
        high, low = int(escape[2:6], 16), int(escape[8:], 16)
        code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
    elif len(escape) == 6:
        code = int(escape[2:], 16)
    else:
        code = _LETTERS.get(escape, 0x20)
    return b"\\ufffd" if code in UNSAFE else escape


def clean_document(value: Any) -> Any:
    """Plain data (lists, tables, texts) as a reader of TOML or JSON gives it, with safe texts, keys too."""
    if isinstance(value, str):
        return _UNSAFE.sub(INSTEAD, value)
    if isinstance(value, dict):
        return {clean_document(key): clean_document(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [clean_document(inner) for inner in value]
    return value
