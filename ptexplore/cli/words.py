"""A command line as bash has it: parted into words as the shell would, and a candidate put back in its quoting."""

from __future__ import annotations

import re

_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
_SAFE = re.compile(r"[\w@%+=:,./^-]", re.ASCII)


def split_line(line: str) -> tuple[list[str], str, str]:
    """The whole words before the cursor, the word at it, and the quote that is open there ("", "'" or '"').

    Assignments before the command are left out. Nothing is expanded: `$x` stays `$x`.
    """
    words: list[str] = []
    current, quote, begun = "", "", False
    at = 0
    while at < len(line):
        letter = line[at]
        if quote == "'":
            current, quote = (current, "") if letter == "'" else (current + letter, quote)
        elif letter == "\\" and (not quote or line[at + 1 : at + 2] in ('"', "\\", "$", "`")):
            at += 1
            current, begun = current + line[at : at + 1], True
        elif letter in "'\"" and not quote:
            quote, begun = letter, True
        elif letter == quote:
            quote = ""
        elif letter in " \t\n" and not quote:
            if begun:
                words.append(current)
            current, begun = "", False
        else:
            current, begun = current + letter, True
        at += 1
    while len(words) > 1 and _ASSIGNMENT.match(words[0]):
        words.pop(0)
    return words, current, quote


def bash_candidate(name: str, current: str, quote: str, breaks: str) -> str:
    """What replaces the part of the word that readline replaces, quoted so that the shell reads `name` and no more.

    Outside quotes readline parts words at `breaks` ($COMP_WORDBREAKS), so what is before the last colon stays typed.
    """
    if quote == "'":
        return name.replace("'", "'\\''")
    if quote == '"':
        # An exclamation mark would recall history inside double quotes, escaped or not.
        return re.sub(r'([\\"$`])', r"\\\1", name).replace("!", "\"'!'\"")
    start = 0
    if ":" in breaks and name.startswith(current):
        start = current.rfind(":") + 1
    return "".join(letter if _SAFE.match(letter) else f"\\{letter}" for letter in name[start:])
