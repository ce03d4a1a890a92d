"""Text for an editor that reads it as markup: no link is made, and nothing of it can hide.

A hover is Markdown. A message is plain text by the protocol, but some editors read markup in it. VS Code makes a link
of `[label](command:NAME)`, and shows only the label (src/vs/base/common/linkedText.ts). Others may read HTML.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ptexplore.safe_text import clean_lines

_TICKS = re.compile("`+")
# Signs that mean something in Markdown inside a line. An underscore inside a word means nothing. The last three rows
# begin a link that has no signs around it, as GitHub's Markdown makes it: of an address, a host and a mailbox.
_MARKS = re.compile(
    r"[\\`*\[\]<>~&]|(?<!\w)_|_(?!\w)"
    r"|:(?=//|mailto|xmpp)|(?<=mailto):|(?<=xmpp):"
    r"|(?<=www)\.|(?<=WWW)\."
    r"|@"
)
# In a message: the end of a link's label, the beginning of a tag or a comment, and of a character's name.
_IN_A_MESSAGE = re.compile(r"\](?=\()|<(?=[A-Za-z/!?])|&(?=[A-Za-z#])")


def message_text(text: str) -> str:
    """Returns a text for a message or a dialog. Markup in it becomes Python's escapes."""
    return _IN_A_MESSAGE.sub(lambda mark: f"\\x{ord(mark[0]):02x}", clean_lines(text))


def markdown_lines(lines: Sequence[str]) -> str:
    """Returns lines of plain text as one paragraph of Markdown."""
    return "  \n".join(_MARKS.sub(r"\\\g<0>", clean_lines(line)) for line in lines)


def fenced(code: str, language: str) -> str:
    """Returns code as a block of Markdown, which it cannot end."""
    code = clean_lines(code)
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(code)), default=0))
    return f"{fence}{language}\n{code}\n{fence}"
