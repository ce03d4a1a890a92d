"""Commands that ptexplore prints are pasted: each name in them that came from outside is one word of the shell."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from ptexplore.annotations.blocks import anchor
from ptexplore.annotations.folders import parse
from ptexplore.annotations.records import Lab, See, Unreadable, Where
from ptexplore.capture.probing import TraceRequest, words_of
from ptexplore.cli.app import report
from ptexplore.errors import PtexploreError
from ptexplore.model.places import Checkout
from ptexplore.model.trace import TraceOptions
from ptexplore.render.terminal.tour import _command
from ptexplore.source.fetch import install
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


@pytest.mark.parametrize("name", [*EVIL, "x\ntry:    evil"])
def test_a_folder_inside_that_is_fetched_is_one_word(name: str, tmp_path: Path) -> None:
    for inner in ("aten/src/ATen", "c10"):
        (tmp_path / name / inner).mkdir(parents=True)
    with pytest.raises(PtexploreError) as refused:
        install._check_is_pytorch(Checkout("x", "folder", str(tmp_path), str(tmp_path)), tmp_path)
    assert shlex.split(refused.value.hint) == ["ptexplore", "fetch", "--from", str(tmp_path / name)]


@pytest.mark.parametrize("name", ["aten::add; touch x", "add$(id)", "add`id`", "add x", "add'", ""])
def test_what_a_tour_says_to_see_is_the_name_of_an_operator(name: str) -> None:
    source = f"path: a.h\nsymbol: a\nsee:\n  - {json.dumps('op:' + name)}\n"
    with pytest.raises(Unreadable, match="`see` holds"):
        anchor(source, 1, "a.md")
    assert shlex.split(_command(See(Where("a.md", 1), "op", f"op:{name}"))) == ["ptexplore", "op", name]


def test_operators_to_see_are_read() -> None:
    names = ("op:add", "op:add.Tensor", "op:aten::add.out", "op:aten::__and__.Scalar", "op:prims::mul")
    source = "path: a.h\nsymbol: a\nsee:\n" + "".join(f"  - {name}\n" for name in names)
    assert tuple(see.text for see in anchor(source, 1, "a.md").see) == names


def test_no_line_of_a_name_is_a_part_of_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    report(PtexploreError("a\ntry:   evil", "b\ntry:   evil", "good\ntry:   evil"))
    parts = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("       ")]
    assert parts == ["error: a", "why:   b", "try:   good"]
