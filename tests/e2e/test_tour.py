"""`ptexplore tour`: listed, printed, walked in a terminal; what is wrong is said where it is."""

from __future__ import annotations

import json
import shutil
import stat
import time
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import in_process
from tests.e2e.conftest import Searching
from tests.harness import REPOSITORY, Cli, InProcess, Result
from tests.terminal import Terminal, editor

pytestmark = pytest.mark.e2e
DATA = REPOSITORY / "tests/data/tours"
MIX = "aten/src/ATen/native/Mix.cpp"


class Reader:
    """A reader with the small tour as ./notes, the small tree, and a data folder of their own."""

    def __init__(self, mini: Searching, folder: Path) -> None:
        self.mini = mini
        self.here: InProcess | None = None  # asks without a process of its own
        self.folder = folder
        self.data = folder / "data"
        self.cli = replace(mini.cli, cwd=folder)
        shutil.copytree(DATA, folder / "notes")

    def __call__(self, *arguments: str, **env: str) -> Result:
        ask = self.here or self.cli
        return ask("tour", *arguments, *self.tree(arguments), env={"PTEXPLORE_DATA": str(self.data), **env})

    def walk(self, *arguments: str, columns: int = 100, rows: int = 200, **env: str) -> Terminal:
        env = {"PTEXPLORE_DATA": str(self.data), **env}
        return Terminal(self.cli, "tour", *arguments, *self.tree(arguments), columns=columns, rows=rows, **env)

    def tree(self, arguments: tuple[str, ...]) -> tuple[str, ...]:
        return ("--tree", self.mini.root.name) if "--tree" not in arguments else ()

    def progress(self) -> Any:
        return json.loads((self.data / "progress.json").read_text(encoding="utf-8"))

    def line(self, path: str, text: str) -> int:
        return next(number for number, line in enumerate(self.mini.lines(path), 1) if text in line)


@pytest.fixture(scope="session")
def settled(mini: Searching) -> Searching:
    """The tree with an index that no walk makes anew: files just written are read again until they are older."""
    time.sleep(2.1)
    assert mini.cli("index", "--checkout", mini.root.name).code == 0
    return mini


@pytest.fixture
def reader(
    settled: Searching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Reader:
    reader = Reader(settled, tmp_path)
    reader.here = in_process(reader.cli, monkeypatch, capsys)
    return reader


def test_tours_are_listed_with_how_far_one_is(reader: Reader) -> None:
    listed = reader()
    assert "blending  0/4 seen  How things are blended  basic, notes/tours/blending.md" in listed.out, listed
    assert "next: ptexplore tour blending" in listed.out, "the basic one comes first"
    shipped = [one["id"] for one in reader("--json").data["tours"] if one["shipped"]]
    assert shipped, "those that came with ptexplore are there too"
    one = next(one for one in reader("--json").data["tours"] if one["id"] == "blending")
    assert (one["stops"], one["done"], one["last"], one["level"]) == (4, 0, None, "basic")


def test_a_pipe_gets_the_whole_tour_without_prompts(reader: Reader) -> None:
    shown = reader("blending")
    assert shown.code == 0, shown
    out = shown.out
    assert reader("blending", "--all").out == out
    assert "> " not in "".join(line for line in out.splitlines() if "Enter" in line)
    for part in ("How things are blended", "1/4  The entry", "2/4  One token of many", "4/4  Two of one name"):
        assert part in out, part
    assert "a token (stop 2) comes later" in out
    assert "the site (https://example.org/blend)" in " ".join(out.split())
    assert "picture:\n  1. entry --> 2\n  2. kernel\n" in out
    assert " 1 first\n" in out
    assert "\nA heading below\n" in out
    assert "lab sum-of-two\n  1 + 1\n" in out
    assert "its value is" not in out, "nobody reads the answer before the question"
    assert out.endswith("answers: ptexplore tour blending --answers\n")
    assert "  blending#entry/sum-of-two\n    its value is 2\n" in reader("blending", "entry", "--answers").out
    assert "lab not-three\n  x = 1\n> x + 1\n" in out, "what it runs is told apart from what comes before"
    also = "see also: ptexplore tour blending token, ptexplore op blend, native::use in " + MIX
    assert also in " ".join(out.split())
    assert "anchor" not in out


def test_the_token_meant_is_marked_on_its_line(reader: Reader) -> None:
    line = reader.line(MIX, "int use(")
    out = reader("blending", "token").out
    assert f"not pinned  {MIX}:{line}  mini 2.99.0a0 version-skew" in out
    rows = out.splitlines()
    at = next(number for number, row in enumerate(rows) if row.startswith(f">{line} int use("))
    text, carets = rows[at], rows[at + 1]
    assert text[carets.index("^") : carets.rindex("^") + 1] == "turn"
    assert "How things are blended" not in out, "one stop is one stop"


def test_a_stop_by_number_and_by_its_full_name(reader: Reader) -> None:
    assert reader("blending", "2").out == reader("blending#token").out == reader("blending", "token").out


def test_an_anchor_that_is_nowhere_is_said_in_its_place(reader: Reader) -> None:
    out = reader("blending", "gone").out
    assert f"lost  {MIX}  nobody_has_this_name" in out
    assert f"{MIX} has no nobody_has_this_name" in out
    assert f"read it at https://github.com/pytorch/pytorch/blob/v2.99.0/{MIX}" in out
    assert "Prose that is read all the same." in out
    both = reader("blending", "both").out
    assert both.startswith("4/4")
    assert "ambiguous" in both
    assert "choose has 2 definitions" in both
    assert "source" not in both.split("Which of the two")[1], "none is chosen"


def test_json_has_every_stop_with_its_place(reader: Reader) -> None:
    data = reader("blending", "--json").data
    assert [one["outcome"] for one in data["stops"]] == ["unpinned", "unpinned", "lost", "ambiguous"]
    token = data["stops"][1]
    assert token["source"]["line"] == reader.line(MIX, "int use(")
    assert token["lines"]["text"][token["source"]["line"] - token["lines"]["first"]].startswith("int use(")
    assert (data["stops"][2]["source"], data["stops"][2]["lines"]) == (None, None)
    assert len(data["stops"][3]["candidates"]) == 2
    assert [lab["lab"]["id"] for lab in data["stops"][0]["parts"] if "lab" in lab] == ["sum-of-two", "not-three"]
    assert len(reader("blending", "token", "--json").data["stops"]) == 1


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("blendin",), "the closest name is blending"),
        (("nothing-like-it",), "the tours are blending"),
        (("blending", "tokn"), "the closest names are token"),
        (("blending", "99"), "it has 4 stops: entry, token, gone, both"),
        (("blending", "--path"), "--path shows all tours"),
        (("blending", "--notes", "nowhere"), "the folder of notes nowhere does not exist"),
        (("blending", "--tree", "nowhere"), "no tree in use is called nowhere"),
    ],
)
def test_names_that_are_none(reader: Reader, arguments: tuple[str, ...], said: str) -> None:
    assert said in reader(*arguments).three_parts(2, 3).err


def test_a_tour_without_a_stop_that_can_be_read(reader: Reader) -> None:
    text = "---\nid: hollow\ntitle: T\nlevel: core\nsummary: s\nbaseline: v2.99.0\n---\n\nWords.\n"
    (reader.folder / "notes/tours/hollow.md").write_text(text)
    assert "has no stop that can be read" in reader("hollow").three_parts(2).err
    listed = reader()
    assert "hollow" not in listed.out.split("next:")[0]
    assert "notes/tours/hollow.md" in listed.err


def test_what_a_note_says_does_not_act_on_the_terminal(reader: Reader) -> None:
    file = reader.folder / "notes/tours/blending.md"
    text = file.read_text().replace("The call of", "\x1b[2J\x1b]0;gone\x07 \u202ered The call of")
    file.write_text(text)
    out = reader("blending", "token").out
    assert "The call of" in out
    assert not any(sign in out for sign in "\x1b\x07\u202e")
    for bad in ("<script>alert(1)</script>", "[x](javascript:alert(1))"):
        file.write_text(text.replace("The call of", bad))
        assert reader("blending", "token").code == 2, "the stop is left out"
        assert "has no stop token" in reader("blending", "token").err


# --- the path ---


def test_the_path_shows_stages_concepts_and_what_is_done(reader: Reader) -> None:
    out = reader("--path").out
    assert out.index("Basic use") < out.index("Principles") < out.index("Systems level") < out.index("Advanced")
    assert "[ ] Turning  turning\n      Who turns what?\n      taught by blending#gone\n" in out
    terminal = reader.walk("blending", "gone")
    assert "question\nWho turns what?" in terminal.prompt()
    terminal.type("a\n")
    terminal.until("your answer > ")
    terminal.type("the mixer\n")
    terminal.until("was your answer right.*> ")
    terminal.type("n\n")
    assert f"missed; it is asked again from {date.today() + timedelta(2)} on" in terminal.prompt()
    assert reader.progress()["done"] == []
    terminal.type("a\n")
    terminal.until("your answer > ")
    terminal.type("the mixer\n")
    terminal.until("was your answer right.*> ")
    terminal.type("y\n")
    assert "right: the stop is done" in terminal.prompt()
    terminal.type("b\n")
    terminal.prompt()
    terminal.type("q\n")
    assert terminal.end()[0] == 0
    data = reader("--path", "--json").data
    by_id = {one["id"]: one for stage in data["stages"] for one in stage["concepts"]}
    assert (by_id["turning"]["state"], by_id["mixing"]["state"]) == ("done", "begun")
    stops = [(one["stop"], one["done"], one["visited"]) for one in by_id["mixing"]["stops"]]
    assert stops == [("blending#entry", False, False), ("blending#token", False, True)]
    assert "taught by blending#entry, blending#token (visited)" in reader("--path").out
    assert by_id["turning"]["lab"] is None
    assert [stage["title"] for stage in data["stages"]] == ["Basic use", "Principles", "Systems level", "Advanced"]
    assert "[x] Turning" in reader("--path").out


def test_concepts_that_are_wrong_are_told_by_line(reader: Reader) -> None:
    file = reader.folder / "notes/concepts.md"
    file.write_text(file.read_text().replace('stops: ["blending#gone"]', 'stops: ["blending#nowhere"]\ncolour: red'))
    shown = reader("--path")
    assert "Turning" not in shown.out
    assert "Mixing" in shown.out
    assert "notes/concepts.md:23: 'colour' is not a key" in shown.err


# --- walking ---


def test_a_walk_from_first_to_last(reader: Reader) -> None:
    terminal = reader.walk("blending", EDITOR=editor(reader.folder), VISUAL="")
    first = terminal.prompt()
    places = [first.index(part) for part in ("An introduction", "1/4  The entry", "\nsource\n", "Enter")]
    assert places == sorted(places)
    assert "its value is" not in first, "what a lab gives is not told before it ran"
    terminal.type("c\n")
    assert "> [.] 1  The entry" in terminal.prompt()
    terminal.type("\n")
    assert "2/4  One token of many" in terminal.prompt()
    terminal.type("o\n")
    terminal.prompt()
    opened = (reader.folder / "opened").read_text().split("\n")
    assert opened[-1] == str(reader.mini.root / MIX), opened
    terminal.type("g gone\n")
    assert "3/4" in terminal.prompt()
    terminal.type("open\n")
    assert "no file to open" in terminal.prompt()
    terminal.type("2\n")
    assert "2/4" in terminal.prompt()
    terminal.type("b\n")
    assert "1/4" in terminal.prompt()
    terminal.type("back\n")
    assert "this is the first stop" in terminal.prompt()
    terminal.type("g nonsense\n")
    assert "blending has no stop nonsense" in terminal.prompt()
    terminal.type("dance\n")
    assert "dance is not a command" in terminal.prompt()
    terminal.type("?\n")
    assert "quit; next time you continue here" in terminal.prompt()
    terminal.type("l 7\n")
    assert "this stop has 2 labs" in terminal.prompt()
    for number in (2, 3, 4):
        terminal.type("n\n")
        assert f"{number}/4" in terminal.prompt()
    terminal.type("n\n")
    code, out = terminal.end()
    assert (code, "that was the last stop: 4 of 4 seen, 0 done" in out) == (0, True), out
    assert reader.progress()["visited"] == [f"blending#{name}" for name in ("both", "entry", "gone", "token")]
    assert (reader.progress()["done"], reader.progress()["last"]) == ([], {})
    assert "blending  4/4 seen" in reader().out


WAYS_OUT = ("\x04", "\x03", "q\n", "exit\n")


@pytest.mark.parametrize("key", WAYS_OUT)
def test_every_way_out_is_clean_and_one_goes_on_there(reader: Reader, key: str) -> None:
    terminal = reader.walk("blending", "token")
    terminal.prompt()
    terminal.type(key)
    code, out = terminal.end()
    assert code == 0, out
    assert "Traceback" not in out
    assert reader.progress()["last"] == {"blending": "token"}
    assert reader.progress()["done"] == [], "what was only shown is not read"
    if key != WAYS_OUT[0]:
        return  # it goes on from what was kept, which is the same
    again = reader.walk("blending")
    assert "you continue at stop 2" in again.prompt()
    again.type("q\n")
    assert again.end()[0] == 0


def test_a_stop_that_is_longer_than_the_screen_comes_in_parts(reader: Reader) -> None:
    terminal = reader.walk("blending", "entry", rows=14)
    first = terminal.prompt()
    assert "more lines: Enter" in first
    assert len(first.splitlines()) <= 14
    seen = first
    while "more lines: Enter" in seen[-80:]:
        terminal.type("\n")
        seen += terminal.prompt()
    assert "Enter next, l labs, a answer, c contents" in seen
    assert "see also" in seen
    terminal.type("q\n")
    assert terminal.end()[0] == 0


@pytest.mark.parametrize("columns", [20, 80, 119])
def test_narrow_terminals_have_the_source_under_the_prose(reader: Reader, columns: int) -> None:
    terminal = reader.walk("blending", "token", columns=columns, NO_COLOR="1")
    out = terminal.prompt()
    terminal.type("q\n")
    assert terminal.end()[0] == 0
    body = out[out.index("───") :].split("Enter")[0]
    assert max(map(len, body.splitlines())) <= max(columns, 26), "20 columns of text beside what is set in"
    words = " ".join(body.split())
    assert words.index("is what is meant.") < words.index(" source ", words.index("its text may differ"))


def test_wide_terminals_have_it_beside(reader: Reader) -> None:
    terminal = reader.walk("blending", "token", columns=120)
    out = terminal.prompt()
    terminal.type("q\n")
    assert terminal.end()[0] == 0
    line = reader.line(MIX, "int use(")
    row = next(row for row in out.splitlines() if f">{line} int use(" in row)
    assert " │ " in row
    assert "The call of turn is what is meant." in " ".join(one.split(" │ ")[0] for one in out.splitlines())
    assert max(map(len, out.splitlines())) <= 120


def test_a_lab_of_notes_that_nobody_trusts_does_not_run(reader: Reader) -> None:
    terminal = reader.walk("blending", "entry")
    terminal.prompt()
    terminal.type("l 1\n")
    out = terminal.prompt()
    assert "lab sum-of-two: untrusted" in out
    assert "ptexplore notes trust notes/tours/blending.md" in out
    terminal.type("g token\n")
    terminal.prompt()
    terminal.type("l\n")
    assert "this stop has no lab" in terminal.prompt()
    terminal.type("q\n")
    assert terminal.end()[0] == 0


def test_labs_run_from_the_walk(warm_cache: Path, mini: Searching, tmp_path: Path) -> None:
    shutil.copytree(warm_cache, tmp_path / "cache")
    reader = Reader(replace(mini, cli=Cli(tmp_path / "cache", tmp_path)), tmp_path / "reader")
    assert reader.cli("fetch", "--from", str(mini.root)).code == 0
    assert reader.cli("notes", "trust", "notes/tours/blending.md").code == 0
    terminal = reader.walk("blending", "entry")
    terminal.prompt()
    terminal.type("l\n")
    terminal.until(r"What will it give\?\s+sum-of-two: your prediction.*> ")
    terminal.type("2\n")
    out = terminal.until("not-three: your prediction.*> ")
    assert "lab sum-of-two: passed" in out
    assert "you    2" in out
    assert "as you predicted" in out
    terminal.type("\n")
    out = terminal.prompt()
    assert "lab not-three: failed" in out
    assert "its value is 2, not 3" in out
    terminal.type("e 1 + 41\n")
    assert "torch  42" in terminal.prompt()
    terminal.type("\x04")
    assert terminal.end()[0] == 0
    assert reader.progress()["labs"] == ["blending#entry/sum-of-two"]
    assert reader.progress()["done"] == ["blending#entry"], "its lab was predicted right"
    assert "(it passed here)" in reader("--path").out


# --- progress ---


def test_progress_that_cannot_be_read_is_put_aside(reader: Reader) -> None:
    reader.data.mkdir()
    (reader.data / "progress.json").write_text('{"format": 1, "done": ["blend')
    assert "your progress cannot be read" in reader().err
    terminal = reader.walk("blending", "token")
    terminal.prompt()
    terminal.type("c\n")
    assert "> [.] 2  One token" in terminal.prompt()
    terminal.type("q\n")
    assert terminal.end()[0] == 0
    assert reader.progress()["visited"] == ["blending#token"]
    assert (reader.data / "progress.json.damaged").exists()


def test_where_progress_cannot_be_kept_the_walk_goes_on(reader: Reader) -> None:
    reader.data.write_text("a file where a folder should be")
    terminal = reader.walk("blending", "token")
    assert "your progress cannot be saved" in terminal.prompt()
    terminal.type("n\n")
    assert "3/4" in terminal.prompt()
    terminal.type("q\n")
    assert terminal.end()[0] == 0
    assert not stat.S_ISDIR(reader.data.stat().st_mode)


def test_stops_that_are_gone_do_not_count(reader: Reader) -> None:
    reader.data.mkdir()
    kept = {"format": 1, "done": ["blending#token", "blending#removed"], "labs": [], "last": {"blending": "removed"}}
    (reader.data / "progress.json").write_text(json.dumps(kept))
    assert "blending  1/4 seen" in reader().out
    terminal = reader.walk("blending")
    assert "1/4  The entry" in terminal.prompt()
    terminal.type("q\n")
    assert terminal.end()[0] == 0
    assert "blending#removed" in reader.progress()["done"], "it may come back with another version"


def test_a_tour_can_be_read_before_there_is_an_index(reader: Reader, tmp_path: Path) -> None:
    cache = {"PTEXPLORE_CACHE": str(tmp_path / "cache")}
    assert reader.cli("fetch", "--from", str(reader.mini.root), env=cache).code == 0
    terminal = reader.walk("blending", **cache)
    shown = terminal.prompt()
    assert "indexing the source" in shown
    assert "not indexed yet" in shown
    terminal.type("g 2\n")
    assert "2/" in terminal.prompt()
    terminal.type("q\n")
    assert terminal.end()[0] == 0


def test_a_tour_is_printed_at_once_without_an_index(reader: Reader, tmp_path: Path) -> None:
    cache = {"PTEXPLORE_CACHE": str(tmp_path / "cache")}
    assert reader.cli("fetch", "--from", str(reader.mini.root), env=cache).code == 0
    for arguments in (("blending",), ("blending", "token", "--all"), ("blending", "--answers")):
        printed = reader(*arguments, **cache)
        assert printed.code == 0, printed
        assert "ptexplore index" in printed.err
        assert printed.out.strip()
        assert not list((tmp_path / "cache").glob("index/*.sqlite")), "nothing was indexed"
    printed = reader("blending")
    assert printed.code == 0, printed
    assert "ptexplore index" not in printed.err, "a tree with an index has its lines"
