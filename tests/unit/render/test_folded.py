"""A folded line stays one line, whatever text of others is in it."""

from __future__ import annotations

from rich.text import Text

from ptexplore.render.terminal.console import folded, plain_text


def test_a_text_of_others_begins_no_line() -> None:
    text = Text.assemble("written by ", ("x\nerror: forged\r\ntry:   y", "bold"), " z")
    shown = plain_text(lambda console: folded(console, text, "", "    "), 20)
    first, *further = shown.rstrip("\n").split("\n")
    assert first.startswith("written by x")
    assert further
    assert all(line.startswith("    ") for line in further)
    assert text.plain.count("\n") == 2, "the caller's text stays as it is"
