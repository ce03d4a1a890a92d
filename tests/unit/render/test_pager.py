"""The command that opens a file at a line, for the editors people use; pagers are started in tests/e2e/test_show.py."""

from __future__ import annotations

import pytest

from ptexplore.errors import PtexploreError
from ptexplore.render.terminal.pager import editor_command


@pytest.mark.parametrize(
    "editor, expected",
    [
        ("vim", ["vim", "+7", "/a b/c.cpp"]),
        ("/usr/bin/nvim -R", ["/usr/bin/nvim", "-R", "+7", "/a b/c.cpp"]),
        ("nano", ["nano", "+7", "/a b/c.cpp"]),
        ("emacsclient -n", ["emacsclient", "-n", "+7", "/a b/c.cpp"]),
        ("code --wait", ["code", "--wait", "-g", "/a b/c.cpp:7"]),
        ("subl", ["subl", "/a b/c.cpp:7"]),
        ("hx", ["hx", "/a b/c.cpp:7"]),
        ("'/my tools/ed it'", ["/my tools/ed it", "/a b/c.cpp"]),
        ("less", ["less", "+7", "/a b/c.cpp"]),
    ],
)
def test_editors_open_at_the_line(editor: str, expected: list[str]) -> None:
    assert editor_command(editor, "/a b/c.cpp", 7) == expected


@pytest.mark.parametrize("editor", ["", "  ", "vim 'x"])
def test_what_is_no_editor(editor: str) -> None:
    with pytest.raises(PtexploreError):
        editor_command(editor, "f", 1)
