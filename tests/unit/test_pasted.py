"""Commands that ptexplore prints are pasted: each name in them that came from outside is one word of the shell."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ptexplore.annotations.blocks import anchor
from ptexplore.annotations.folders import parse
from ptexplore.annotations.records import Lab, See, Unreadable, Where
from ptexplore.capture.probing import TraceRequest
from ptexplore.cli.app import report
from ptexplore.errors import PtexploreError
from ptexplore.model.options import TraceOptions
from ptexplore.model.places import Checkout
from ptexplore.render.terminal.tour import _command
from ptexplore.source.fetch import install
from ptexplore.view.notes.labs import trace_command
from ptexplore.view.words.commands import words_of
from ptexplore.workspace.consent import of_page
from tests.harness import REPOSITORY

EVIL = ["x; id", "x$(id)", "x`id`", "x' 'y", 'x" "y', "x && id", "x\\", "-x", "x | id", "x > y", "~", "*", "x #y", "!x"]


# Names that stand unquoted in a printed command, by the file, and why each is one word of the shell all the same.
_ID = "an id of a tour or a stop: small letters, digits and hyphens (annotations/blocks.py: ID and STOP)"
_NAME = "a checkout's name: letters, digits and ._+- (source/fetch/checkouts.py: is_name)"
_TYPED = "no command: it repeats an option that you typed"
_OURS = "a text or a number of ours"
PLAIN = {
    ("annotations/layers.py", "OWN"): _OURS,
    ("cli/browse.py", "load"): _TYPED,
    ("cli/browse.py", "target"): _TYPED,
    ("cli/exercise.py", "' '.join(close)"): _ID,
    ("cli/exercise.py", "chosen.id"): _ID,
    ("cli/exercise.py", "following"): _ID,
    ("cli/notes.py", "OWN"): _OURS,
    ("cli/notes.py", "next(iter(plan.elsewhere))"): "a baseline: v, digits and dots (annotations/format.py)",
    ("cli/show.py", "next_target(view.candidates[0])"): "it quotes",
    ("cli/tour.py", "file"): "quoted a line before",
    ("cli/tour.py", "left.id"): _ID,
    ("cli/tour.py", "stop"): _ID,
    ("cli/tour.py", "tour.id"): _ID,
    ("render/terminal/coverage.py", "coverage.side"): _OURS,
    ("render/terminal/folder.py", "row.first"): _OURS,
    ("render/terminal/folder.py", "row.tour.id"): _ID,
    ("render/terminal/search.py", "next_target(view.candidates[0])"): "it quotes",
    ("render/terminal/search.py", "next_target(rows[0])"): "it quotes",
    ("render/terminal/tour.py", "see.text.replace('#', ' ')"): _ID,
    ("render/terminal/tour_list.py", "chosen.tour.id"): _ID,
    ("render/terminal/tour_list.py", "view.following.replace('#', ' ')"): _ID,
    ("saved/document.py", "newest"): _OURS,
    ("view/coverage.py", "group[0] if group else 'CPU'"): "a dispatch key of torch: letters and digits",
    ("view/coverage.py", "side"): _OURS,
    ("view/tensor/page.py", "JOINED.words"): _OURS,
    ("source/fetch/fetch.py", "request.project"): _NAME,
    ("source/fetch/install.py", "checkout.name"): _NAME,
    ("source/fetch/install.py", "taken.name"): _NAME,
    ("source/fetch/remotes.py", "PYTORCH"): _OURS,
    ("source/fetch/remotes.py", "file"): "a known release's archive (source/fetch/releases.json)",
    ("tui/screens/trace.py", "step"): "the name in it is quoted a line before",
    ("view/notes/tour.py", "close[0] if close else names[0]"): _ID,
    ("view/notes/tour.py", "tour.id"): _ID,
    ("workspace/workspace.py", "checkout.name"): _NAME,
}
COMMAND = re.compile(
    r"(?:\bptexplore [a-z-]+|-m pip install|(?:^|[ `])rm"
    r"|--(?:from|python|notes|tree|native-op|load|ref|remove|use|name))[ =][^;:()`]*$"
)


def unquoted(source: str) -> Iterator[str]:
    """What stands in a command of an f-string and is not quoted for the shell."""
    for node in ast.walk(ast.parse(source)):
        before = ""
        for part in node.values if isinstance(node, ast.JoinedStr) else ():
            if isinstance(part, ast.Constant):
                before += str(part.value)
            elif isinstance(part, ast.FormattedValue):
                value = ast.unparse(part.value)
                if COMMAND.search(before) and not value.startswith(("shlex.quote(", "shlex.join(")):
                    yield value
                before += "X"


def test_no_name_stands_unquoted_in_a_command() -> None:
    assert list(unquoted('f"ptexplore op {a} --json {b}, --from {shlex.quote(c)}: {d}"')) == ["a", "b"]
    package = REPOSITORY / "ptexplore"
    found = {
        (file.relative_to(package).as_posix(), value)
        for file in package.rglob("*.py")
        for value in unquoted(file.read_text(encoding="utf-8"))
    }
    assert found - PLAIN.keys() == set()
    assert PLAIN.keys() - found == set(), "a row that nothing needs"


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
    lab = Lab(Where("a.md", 1), "x", name, trace=(("op", "x"),), setup=(name,))
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
    with pytest.raises(Unreadable, match="an entry of `see` is"):
        anchor(source, 1, "a.md")
    assert shlex.split(_command(See(Where("a.md", 1), "op", f"op:{name}"))) == ["ptexplore", "op", name]


def test_operators_to_see_are_read() -> None:
    names = ("op:add", "op:add.Tensor", "op:aten::add.out", "op:aten::__and__.Scalar", "op:prims::mul")
    source = "path: a.h\nsymbol: a\nsee:\n" + "".join(f"  - {name}\n" for name in names)
    assert tuple(see.text for see in anchor(source, 1, "a.md").see) == names


def test_no_line_of_a_name_is_a_part_of_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    report(PtexploreError("a\ntry:   evil", "b\ntry:   evil", "good\ntry:   evil"))
    parts = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("       ")]
    assert parts == ["error: a try:   evil", "why:   b", "try:   good try:   evil"]
