"""The one gate for text from outside: it lets no character steer a terminal, turn the direction of text or hide.

Documents pass the gate when they are read (`clean_json`, `clean_document`), so no renderer has to remember it.
Renderers also clean the text that they print (`clean`, `clean_lines`), because some text comes in no document: source,
file names, messages of the system. This module imports nothing heavy: the error boundary needs it at once.
"""

from __future__ import annotations

import re
from typing import Any

# Every character of Unicode's categories Cc (except tab and line feed), Cf, Zl, Zp and Cs: control characters, marks
# that turn the direction of text, invisible characters, line ends that only some programs know, halves of characters.
_RANGES = (
    (0x0, 0x8), (0xB, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x600, 0x605), (0x61C, 0x61C), (0x6DD, 0x6DD),
    (0x70F, 0x70F), (0x890, 0x891), (0x8E2, 0x8E2), (0x180E, 0x180E), (0x200B, 0x200F), (0x2028, 0x202E),
    (0x2060, 0x206F), (0xD800, 0xDFFF), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0x110BD, 0x110BD), (0x110CD, 0x110CD),
    (0x13430, 0x1343F), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE007F),
)  # fmt: skip
INSTEAD = "\ufffd"
UNSAFE = frozenset(code for first, last in _RANGES for code in range(first, last + 1))
_UNSAFE = re.compile(f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in _RANGES)}]")

# Colours of a terminal. `clean` writes U+FFFD for the first character.
_COLOURS = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]|\ufffd\[[0-9;]{1,20}m")

_SAFE_BYTES = bytes(code for code in range(0x80) if code not in UNSAFE)

# In the text of a JSON document: an escape, or a pair of escapes that may stand for the two halves of a character.
_ESCAPE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL)
# Whether the text may have an escape to replace. This is quick, and true for some texts without one.
_SUSPECT = re.compile(rb"\\[bfr]|\\u(?:00[0189aA]|007[fF]|0[678]|18|20[0-6]|[dD][89a-fA-F]|[fF][eEfF])")
_LETTERS = {b"\\b": 8, b"\\f": 12, b"\\r": 13}


def is_clean(data: bytes) -> bool:
    """Whether UTF-8 text is safe to show as it is; tabs and line feeds are allowed. It is quick for large texts."""
    rest = data.translate(None, _SAFE_BYTES)
    return not rest or _UNSAFE.search(rest.decode("utf-8", "surrogatepass")) is None


def clean(text: str) -> str:
    """Returns text as one line that is safe to show. Source, notes and sessions are only data."""
    if text.isascii() and text.isprintable():
        return text  # nearly all texts
    return _UNSAFE.sub(INSTEAD, text).replace("\n", " ").replace("\t", " ")


def clean_lines(text: str) -> str:
    """Returns text that is safe to show, with its line breaks."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(INSTEAD, text).replace("\t", " ")


_LONG_GAP = 8  # blanks inside a line; so many and more are replaced by their number
_MANY_LINES = 3  # empty lines; more than these are replaced by their number


def revealed(code: str) -> list[str]:
    """Returns somebody else's code as lines in which nothing can hide: all of it, in ASCII.

    Every other character becomes Python's escape for it. So no letter that looks like another, no blank of another
    script and no mark that turns text can deceive you. A backslash of the code is doubled; a single one begins such an
    escape. A single carriage return ends a line, as in Python. Long runs of blanks and of empty lines become a number,
    so that they cannot push the rest off the screen. The number is between ⟨ and ⟩, which no other text here can
    contain.
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


_DEEP = 40  # blanks at the start of a line; more are replaced by their number


def _plain(letter: str) -> str:
    if letter == "\\":
        return "\\\\"
    return letter if " " <= letter <= "~" else letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def unsafe_in(text: str) -> str:
    """Returns the first character of the text that is not safe to show, as `U+202E`; "" if all are safe."""
    match = _UNSAFE.search(text)
    return f"U+{ord(match[0]):04X}" if match is not None else ""


def clean_json(data: bytes) -> bytes:
    """Make all strings in the text of a JSON document safe, keys too. Tabs and line feeds stay.

    This changes the text before it is parsed: a character that no escape and no byte stands for is in no value. Text
    that is not JSON or not UTF-8 stays invalid, so that its reader still reports it.
    """
    if _SUSPECT.search(data) is not None:
        data = _ESCAPE.sub(_safe_escape, data)
    if not data.isascii():
        text = data.decode("utf-8", "surrogateescape")
        data = _UNSAFE.sub(_safe_letter, text).encode("utf-8", "surrogateescape")
    return data


def safe_json(value: Any) -> str:
    """Returns plain data as JSON on one line, with safe texts, for a script: a browser reads each escape there."""
    import json

    text = _UNSAFE.sub(INSTEAD, json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return clean_json(text.encode()).decode()


def _safe_letter(match: re.Match[str]) -> str:
    """Replace an unsafe character that is written as itself. White space between values and invalid UTF-8 stay."""
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
    """Make the texts in plain data safe, keys too. Plain data are lists, tables and texts from TOML or JSON."""
    if isinstance(value, str):
        return _UNSAFE.sub(INSTEAD, value)
    if isinstance(value, dict):
        return {clean_document(key): clean_document(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [clean_document(inner) for inner in value]
    return value


def without_colours(text: str) -> str:
    """Returns a text without the escapes that colour it in a terminal."""
    return _COLOURS.sub("", text)
