"""The one door from a file to the probe: what others wrote is shown whole, asked about, remembered by its content."""

from __future__ import annotations

import json
import os
import shlex
import stat
from dataclasses import fields
from pathlib import Path

import pytest

from ptexplore.annotations import trust
from ptexplore.annotations.folders import parse
from ptexplore.capture.probing import TraceRequest
from ptexplore.errors import PtexploreError
from ptexplore.locations import cache_root, trust_file
from ptexplore.model.options import TraceOptions
from ptexplore.model.program import Program
from ptexplore.model.trace import Captured, ResultInfo, Session, TorchInfo
from ptexplore.safe_text import revealed
from ptexplore.view.words.commands import words_of
from ptexplore.workspace.consent import NotYours, allowed_labs, of_page, of_trace, shown_name
from ptexplore.workspace.opening import check_cache

ASKED = TraceRequest(cwd="/", native=True)


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own folder of what they allowed."""
    monkeypatch.setenv("PTEXPLORE_CONFIG", str(tmp_path / "config"))
    return tmp_path / "config"


def session(expression: str = "torch.add(a, b)", program: Program | None = None, **options: object) -> Session:
    return Session(
        expression, TorchInfo("2.99.0"), (), TraceOptions(**options), Captured(), ResultInfo(), (), program=program
    )  # fmt: skip


def loaded(**options: object) -> NotYours:
    return of_trace(session(**options), "add.json", ASKED, "ptexplore trace --load add.json --rerun")


def test_all_code_of_a_saved_trace_is_shown_before_it_may_run(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import torch\nprint('of the script')\n")
    found = loaded(
        setup=("import os; os.system('id')",), variables=(("a", "evil()"),), contexts=("planted()",), backward=True
    )
    shown = "\n".join(found.lines())
    for code in ("os.system('id')", "evil()", "planted()", "torch.add(a, b)", "backward"):
        assert code in shown
    assert "print('of the script')" in "\n".join(loaded(script=str(script)).lines())
    assert not found.is_allowed
    with pytest.raises(PtexploreError, match="was not run") as caught:
        found.allowed()
    assert (caught.value.exit_code, found.content in caught.value.why) == (2, True)
    assert "--load add.json --rerun" in caught.value.hint


def test_a_yes_is_for_the_very_content(tmp_path: Path) -> None:
    found = loaded(setup=("x = 1",))
    assert found.allow().request.setup == ("x = 1",)
    assert loaded(setup=("x = 1",)).is_allowed
    script = tmp_path / "train.py"
    script.write_text("x = 1")
    loaded(script=str(script)).allow()
    assert loaded(script=str(script)).is_allowed
    script.write_text("x = 2")
    others = [
        loaded(script=str(script)), loaded(setup=("x = 1 ",)), loaded(setup=("x", "= 1")),
        loaded(variables=(("x", "1"),)), loaded(contexts=("x = 1",)), loaded(expression="x = 1"),
    ]  # fmt: skip
    assert not [other for other in others if other.is_allowed]


def test_a_yes_is_for_how_it_runs_too() -> None:
    loaded().allow()
    options: list[dict[str, object]] = [
        {"grad": True}, {"once": True}, {"seed": 3}, {"native_op": "add.Tensor#2"}, {"first": True}, {"twice": True},
        {"again": True}, {"vary": True}, {"backward": True}, {"arguments": ("--epochs", "2")},
    ]  # fmt: skip
    for option in options:
        other = loaded(**option)
        assert not other.is_allowed, option
        assert next(iter(option)) in "\n".join(other.lines()), option
    assert {o.name for o in fields(TraceOptions)} == {name for option in options for name in option} | {
        "script", "variables", "setup", "contexts",  # each is a part of its own
        "timeout", "native", "native_most",  # your own command says these
        "module",  # it never runs again
    }  # fmt: skip
    own = loaded(timeout=1e9, native=False, native_most=10**12)
    assert own.is_allowed
    request = own.allowed().request
    assert (request.timeout, request.native, request.native_most) == (ASKED.timeout, ASKED.native, ASKED.native_most)


def test_only_the_whole_hash_names_it() -> None:
    found = loaded()
    assert found.is_named(found.content)
    assert found.is_named(found.content.upper())
    assert not any(found.is_named(found.content[:digits]) for digits in (0, 12, 32, 63))
    for digits in ("", found.content[:11], "0" * 64, f"{found.content}0"):
        assert not found.is_named(digits)


def test_a_yes_is_for_the_place_where_a_script_really_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies beside it is imported, and not shown: no spelling of a path makes another place the same one."""
    for folder in ("mine", "theirs/deep/mine"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "train.py").write_text("import helper")
    mine, theirs = str(tmp_path / "mine/train.py"), str(tmp_path / "theirs/deep/mine/train.py")
    loaded(script=mine).allow()
    (tmp_path / "link").symlink_to("theirs/deep/mine")
    for spelled in (f"{tmp_path}/link/../mine/train.py", f"{tmp_path}/link/train.py"):
        assert Path(spelled).samefile(theirs)
        asked = loaded(script=spelled)
        assert not asked.is_allowed
        assert json.dumps(theirs) in "\n".join(asked.lines())
        assert asked.request.script == theirs
    monkeypatch.chdir(tmp_path / "theirs/deep/mine")
    for spelled in ("/proc/self/cwd/train.py", "train.py"):
        assert not loaded(script=spelled).is_allowed
    monkeypatch.chdir(tmp_path / "mine")
    assert loaded(script="train.py").is_allowed


@pytest.mark.parametrize("expression", ["--json", "-x", "--script=/tmp/x.py"])
def test_no_expression_is_an_option_of_the_command_that_runs_it(expression: str) -> None:
    word, *_ = words_of(expression, TraceOptions(native=True))
    assert word == f"({expression})"


def test_what_holds_no_code_cannot_be_run_again(tmp_path: Path) -> None:
    folder, fifo = tmp_path / "folder", tmp_path / "fifo"
    folder.mkdir()
    os.mkfifo(fifo)
    large = tmp_path / "large.py"
    large.write_bytes(b"#" * (4 * 1024 * 1024 + 1))
    for script in (folder, fifo, large, tmp_path / "none.py", "/dev/zero", "a\0b"):
        with pytest.raises(PtexploreError, match="cannot be run again"):
            loaded(script=str(script))
    with pytest.raises(PtexploreError, match="cannot be run again"):
        loaded(variables=(("a = 1; b", "2"),))
    with pytest.raises(PtexploreError, match="cannot be run again"):
        of_trace(None, "trace.json", ASKED, "")
    for program in ({}, {"script": str(tmp_path / "train.py")}):  # a module's code cannot be shown
        with pytest.raises(PtexploreError, match="cannot be run again"):
            loaded(module="antigravity", **program)


def test_a_script_of_a_saved_trace_gets_no_input_and_writes_to_no_terminal(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import sys\n")
    found = loaded(script=str(script), arguments=("--evil", "1"))
    assert found.request.passes_on is False
    assert "'--evil'" in "\n".join(found.lines())


@pytest.mark.parametrize(
    "start",
    [
        b"# coding: utf-7\n", b"\n# -*- coding: unicode_escape -*-\n", b"\r# coding: utf-7\n",
        b"# a\r# coding: utf-7\r",
        b"\xef\xbb\xbf# coding: latin-1\n", b"# coding: latin-1\n", b"# coding: no-such\n", b"\xff\xfe", b"# \xe9\n",
    ],
)  # fmt: skip
def test_a_script_that_would_be_read_otherwise_than_it_is_shown_does_not_run(tmp_path: Path, start: bytes) -> None:
    script = tmp_path / "train.py"
    script.write_bytes(start + b"# harmless +AAo-evil()\n")
    with pytest.raises(PtexploreError, match="cannot be run again") as caught:
        loaded(script=str(script))
    assert caught.value.why
    assert caught.value.hint


@pytest.mark.parametrize(
    "start", ["", "# coding: utf-8\n", "# coding: us-ascii\n", "# coding: utf8\n", "\ufeff", "\ufeff# coding: utf-8\n"]
)
def test_a_script_in_utf_8_is_shown(tmp_path: Path, start: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(f"{start}x = 1\n", encoding="utf-8")
    assert any(line.endswith(" | x = 1") for line in loaded(script=str(script)).lines())


def test_nothing_can_hide_in_code_that_is_shown() -> None:
    hidden = "if not __import__('os').system('id')"
    for gap in (" " * 250, "\u2800" * 1500, "\u3164" * 300, "\u00a0" * 300, "\u3000" * 99, "\t" * 200, "\u200b" * 99):
        (line,) = revealed(f"torch.add(a, b){gap}{hidden}")
        assert line.isascii() or gap == " " * 250
        assert line.startswith("torch.add(a, b)")
        assert line.endswith(hidden)
        assert "  " not in line
    assert revealed("a" + " " * 250 + "b") == ["a⟨250 blanks⟩b"]
    assert revealed("⟨9 blanks⟩") == [r"\u27e89 blanks\u27e9"], "a count cannot be written by who wrote the code"
    assert revealed("a" + "\n" * 1500 + "evil()") == ["a", "⟨1499 empty lines⟩", "evil()"]
    assert revealed("x = 1 # a comment\rimport os") == ["x = 1 # a comment", "import os"], "Python ends a line there"
    assert revealed(r"x = '\r\u0430'") == [r"x = '\\r\\u0430'"], "an escape of the code is none of ours"
    assert revealed("\u202etxet") == [r"\u202etxet"]
    assert revealed("p\u0430ss") == [r"p\u0430ss"], "a letter that looks like another"
    assert revealed("x\ud800\x1b[31m") == [r"x\ud800\x1b[31m"]
    assert revealed("def f():\n    return 1\n") == ["def f():", "    return 1", ""]
    assert revealed(" " * 400 + "evil()") == ["⟨400 blanks⟩evil()"]
    long = "a+" * 5000 + "a"
    assert revealed(long) == [long], "nothing is cut"


# --- pages of folders ---

PAGE = '---\nfolder: aten\ntitle: "t"\nsummary: "s"\nbaseline: v2.6.0\ntry: {}\n---\nWhat it is for.\n'


@pytest.mark.parametrize(
    "code",
    [
        '"torch.add(a, b)' + " " * 250 + "if not __import__('os').system('id') else 0\"",
        '"torch.add(a, b)' + "\u2800" * 1500 + "if not __import__('os').system('id') else 0\"",
        '"torch.add(a, b)  # two blanks"',
        '"import os"',
        '"a + \u0430"',
        '"' + "a + " * 60 + 'a"',
        '"a +\\tb"',
    ],
)  # fmt: skip
def test_an_expression_to_try_can_be_read_at_a_glance(code: str) -> None:
    page, problems = parse(PAGE.format(code).encode(), "notes/folders/map.md")
    assert page is None or page.expression == ""
    assert any("try:" in problem.text for problem in problems)


def test_a_page_of_a_folder_of_somebody_else_runs_after_a_yes_only() -> None:
    planted = PAGE.format("torch.add(a, b)").encode()
    page, _ = parse(planted, "notes/folders/map.md")
    assert page is not None
    found = of_page(page, ASKED)
    assert list(found.lines()) == ["the expression:", "   1 | torch.add(a, b)"]
    with pytest.raises(PtexploreError, match="was not run"):
        found.allowed()
    assert found.allow().request.expression == "torch.add(a, b)"
    changed, _ = parse(planted + b"\n", "notes/folders/map.md")
    assert changed is not None
    assert not of_page(changed, ASKED).is_allowed
    shipped, _ = parse(planted + b"\n", "annotations/folders/map.md", is_shipped=True)
    assert shipped is not None
    assert of_page(shipped, ASKED).is_allowed


# --- where a yes is kept ---


def test_a_yes_is_kept_in_a_folder_and_a_file_of_ones_own(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = os.umask(0)
    try:
        loaded().allow()
    finally:
        os.umask(old)
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert stat.S_IMODE(trust_file().stat().st_mode) == 0o600
    assert trust_file().is_relative_to(own), "and not in a cache, which others may have made"


@pytest.mark.parametrize("mode", [0o622, 0o602])
def test_what_others_may_write_is_no_yes(own: Path, mode: int) -> None:
    loaded().allow()
    trust_file().chmod(mode)
    if os.geteuid() == 0 and mode == 0o622:
        os.chown(trust_file(), 0, 12345)
    with pytest.raises(PtexploreError, match="permission cannot be saved") as caught:
        _ = loaded().is_allowed
    assert "other users may write" in caught.value.why
    with pytest.raises(PtexploreError, match="permission cannot be saved"):
        allowed_labs()
    trust_file().chmod(0o600)
    own.chmod(0o777)
    with pytest.raises(OSError, match="other users may write"):
        trust.trusted()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_yes_of_another_user_is_none_and_their_cache_is_refused(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded().allow()
    os.chown(trust_file(), 12345, 12345)
    with pytest.raises(PtexploreError, match="permission cannot be saved") as caught:
        _ = loaded().is_allowed
    assert "belongs to another user" in caught.value.why
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "planted"))
    check_cache()  # it is not there yet
    (tmp_path / "planted").mkdir()
    check_cache()
    os.chown(tmp_path / "planted", 12345, 12345)
    with pytest.raises(PtexploreError, match="another user") as refused:
        check_cache()
    assert refused.value.exit_code == 3
    os.chown(tmp_path / "planted", os.geteuid(), -1)
    (tmp_path / "planted" / "index").mkdir()
    check_cache()
    os.chown(tmp_path / "planted" / "index", 12345, -1)
    with pytest.raises(PtexploreError, match=r"another user: .*planted/index"):
        check_cache()
    os.chown(tmp_path / "planted" / "index", os.geteuid(), -1)
    (tmp_path / "planted" / "checkouts/evil").mkdir(parents=True)
    check_cache()
    os.chown(tmp_path / "planted" / "checkouts/evil", 12345, -1)
    with pytest.raises(PtexploreError, match=r"another user: .*checkouts/evil"):
        check_cache()


def test_a_cache_with_a_link_in_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written and deleted in its folders would lie elsewhere; the cache as a whole may."""
    (tmp_path / "yours").mkdir()
    (tmp_path / "large disk" / "index").mkdir(parents=True)
    (tmp_path / "cache").symlink_to(tmp_path / "large disk")
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "cache"))
    check_cache()
    for name in ("notes", "checkouts"):
        (tmp_path / "cache" / name).symlink_to(tmp_path / "yours")
        with pytest.raises(PtexploreError, match="is a symbolic link") as refused:
            check_cache()
        command = refused.value.hint.partition(";")[0]
        assert shlex.split(command) == ["rm", str(tmp_path / "cache" / name)]
        (tmp_path / "cache" / name).unlink()
    for name in ("index/checkout-x.sqlite", "checkouts/x", "generated/key", "survey/key"):
        (tmp_path / "cache" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "cache" / name).symlink_to(tmp_path / "yours")
        with pytest.raises(PtexploreError, match="is a symbolic link"):
            check_cache()
        (tmp_path / "cache" / name).unlink()
    check_cache()
    (tmp_path / "cache" / "notes").symlink_to(tmp_path / "nothing")
    with pytest.raises(PtexploreError, match="is a symbolic link"):
        check_cache()


def test_a_planted_list_in_the_cache_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path))
    (tmp_path / "trusted-notes.json").write_text(f'{{"format": 1, "trusted": {{"{loaded().content}": "x"}}}}')
    assert not loaded().is_allowed


def test_a_fifo_keeps_nobody_waiting(own: Path) -> None:
    own.mkdir()
    os.mkfifo(own / "trusted.json")
    with pytest.raises(OSError, match="regular"):
        trust.trusted()


def test_a_relative_cache_is_where_the_process_stood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PTEXPLORE_CACHE", f"relative/{tmp_path.name}")
    first = cache_root()
    assert first == tmp_path / "relative" / tmp_path.name
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert cache_root() == first


def test_a_name_among_the_code_looks_like_no_code() -> None:
    """It stands in one line, written as the code is: a file of notes may be called anything."""
    name = "the lab l of notes/tours/zz\n" + "\n" * 40 + "the expression:\n    torch.ones(1)\n\u202e.md"
    shown = shown_name(name)
    assert shown.isascii() or set(shown) - {"⟨", "⟩"} <= {chr(code) for code in range(0x20, 0x7F)}
    assert shown == (
        "the lab l of notes/tours/zz\\n⟨40 empty lines⟩\\nthe expression:\\n    torch.ones(1)\\n\\u202e.md"
    )
    assert shown_name("notes/tours/a.md") == "notes/tours/a.md"
    assert shown_name("a\\nb") == "a\\\\nb", "a backslash of its own is no escape"
