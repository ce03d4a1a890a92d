"""Commands that ptexplore prints are pasted: each name in them that came from outside is one word of the shell."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from ptexplore.annotations.folders import parse
from ptexplore.annotations.records import Lab, Where
from ptexplore.capture.probing import TraceRequest, words_of
from ptexplore.errors import PtexploreError
from ptexplore.model.trace import TraceOptions
from ptexplore.view.notes.labs import trace_command
from ptexplore.workspace.consent import of_page

EVIL = ["x; id", "x$(id)", "x`id`", "x' 'y", 'x" "y', "x && id", "x\\", "-x", "x | id", "x > y", "~", "*", "x #y", "!x"]


@pytest.mark.parametrize("name", EVIL)
def test_a_file_of_notes_is_one_word_of_the_command_that_trusts_it(name: str) -> None:
    text = '---\nfolder: aten\ntitle: "t"\nsummary: "s"\nbaseline: v2.6.0\ntry: a + b\n---\nWhat it is.\n'
    page, _ = parse(text.encode(), f"notes/folders/{name}.md")
    assert page is not None
    with pytest.raises(PtexploreError) as refused:
        of_page(page, TraceRequest()).allowed()
    assert shlex.split(refused.value.hint) == ["ptexplore", "notes", "trust", f"notes/folders/{name}.md"]


@pytest.mark.parametrize("name", EVIL)
def test_all_of_a_request_comes_back_from_the_shell_as_it_was(name: str) -> None:
    options = TraceOptions(variables=(("a", name),), setup=(name,), contexts=(name,), native=True)
    words = words_of(name, options)
    assert shlex.split(shlex.join(words)) == list(words)
    assert words[0] == (f"({name})" if name.startswith("-") else name)
    assert words[1:] == ("--var", f"a={name}", "--setup", name, "--with", name)


@pytest.mark.parametrize("name", EVIL)
def test_a_lab_is_pasted_as_it_is_written(name: str) -> None:
    lab = Lab(Where("a.md", 1), "x", name, trail=(("op", "x"),), setup=(name,))
    command = trace_command(lab)
    assert command is not None
    run = f"({name})" if name.startswith("-") else name.strip()
    assert shlex.split(command) == ["ptexplore", "trace", run, "--setup", name]
    for hidden in ("a" + " " * 30 + "evil()", "a\u2800evil()", "a\nevil()", "a\tevil()", "\u202ea"):
        assert trace_command(replace(lab, run=hidden)) is None
