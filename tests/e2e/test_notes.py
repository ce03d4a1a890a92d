"""`ptexplore notes`: check, pin, new, trust, and labs that behave and that do not."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import searched_source
from tests.harness import TARGET, Cli, InProcess, Result

MIX = "aten/src/ATen/native/Mix.cpp"


def note(name: str, *stops: str) -> str:
    return "\n".join([f"---\nid: {name}\ntitle: T\nbaseline: v2.99.0\n---\n", *stops])


def stop(name: str, path: str, symbol: str, more: str = "", prose: str = "Prose.") -> str:
    return f"## {name} {{#{name}}}\n\n```anchor\npath: {path}\nsymbol: {symbol}\n{more}```\n\n{prose}\n"


def lab(name: str, run: str, expect: str, more: str = "") -> str:
    return f"```lab\nid: {name}\nrun: |-\n  {run}\n{more}expect:\n  {expect}\n```\n"


@dataclass(frozen=True)
class Study:
    """A study group's folder: a small source tree in use, notes beside it, and the command there."""

    command: InProcess
    root: Path
    folder: Path

    def __call__(self, *arguments: str) -> Result:
        return self.command("notes", *arguments)

    def put(self, name: str, text: str | bytes) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def check(self, *arguments: str) -> Any:
        named = any(not one.startswith("-") for one in arguments)
        own = [] if named else self.own()
        result = self("check", "--json", "--notes", "notes", *own, *arguments)
        assert result.out, result
        return json.loads(result.out) | {"code": result.code}

    def own(self) -> list[str]:
        """What the test wrote, by id: what ships is about another source than the small one."""
        files = sorted((self.folder / "notes").glob("*.md"))
        texts = [file.read_text(encoding="utf-8", errors="replace")[:1000] for file in files]
        return sorted({match[1] for text in texts if (match := re.search(r"^id: (\w+)$", text, re.MULTILINE))})


@pytest.fixture(scope="session")
def world(warm_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The warm cache with the small tree fetched and indexed beside the installed torch."""
    base = tmp_path_factory.mktemp("notes")
    shutil.copytree(warm_cache, base / "cache")
    root = searched_source.write(base / "mini")
    cli = Cli(base / "cache", base)
    assert cli("fetch", "--from", str(root)).code == 0
    assert cli("index", "--checkout", "mini").code == 0
    return base / "cache", root


@pytest.fixture
def study(world: tuple[Path, Path], command: InProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[Study]:
    cache, root = world
    before = (root / MIX).read_text(encoding="utf-8")
    monkeypatch.setenv("PTEXPLORE_CACHE", str(cache))
    yield Study(command, root, Path.cwd())
    (root / MIX).write_text(before, encoding="utf-8")


def test_check_pin_and_check_after_the_source_changed(study: Study) -> None:
    study.put("notes/one.md", note("one", stop("use", MIX, "native::use"), stop("turn", MIX, "Mixer::turn")))
    first = study.check()
    assert (first["summary"]["unpinned"], first["code"]) == (2, 0)
    refused = study("pin", "one", "--notes", "notes")
    assert refused.code == 1
    assert "+" in refused.out
    assert not (study.folder / "notes/anchors.lock").exists()
    pinned = study("pin", "one", "--notes", "notes", "--yes")
    assert pinned.code == 0, pinned
    lock = (study.folder / "notes/anchors.lock").read_text(encoding="utf-8")
    assert len(lock.splitlines()) == 3
    assert "m.turn" not in lock, "no line of the source"
    same = study.check()
    assert [one["outcome"] for one in same["anchors"]] == ["exact", "exact"]
    assert study("pin", "one", "--notes", "notes").out == "", "there is nothing to change"
    text = (study.root / MIX).read_text(encoding="utf-8")
    text = text.replace("struct Mixer {", "// one more line\nstruct Mixer {").replace("m.turn(1) + mix(2)", "m.turn(7)")
    (study.root / MIX).write_text(text, encoding="utf-8")
    after = study.check()
    by_name = {one["stop"]: one for one in after["anchors"]}
    assert (by_name["one#turn"]["outcome"], by_name["one#use"]["outcome"], after["code"]) == ("moved", "changed", 0)
    for one in after["anchors"]:
        assert one["line"] == one["was"]["line"] + 1
        line = text.splitlines()[one["line"] - 1]
        assert one["symbol"]["name"].rsplit("::", 1)[1] in line
    shown = study("check", "--notes", "notes")
    assert (
        f"one#turn  {MIX}:{by_name['one#turn']['line']}  (was line {by_name['one#turn']['was']['line']})" in shown.out
    )
    again = study("pin", "one", "--notes", "notes", "--yes")
    assert again.out.count('\n-{"stop"') == again.out.count('\n+{"stop"') == 2


def test_lost_and_ambiguous_end_with_three(study: Study) -> None:
    study.put("notes/a.md", note("a", stop("good", MIX, "native::use"), stop("lost", MIX, "nowhere_to_be_found")))
    found = study.check()
    assert (found["summary"]["lost"], found["code"]) == (1, 3)
    study.put("notes/a.md", note("a", stop("both", MIX, "choose")))
    found = study.check()
    assert (found["summary"]["ambiguous"], found["code"]) == (1, 3)
    (one,) = found["anchors"]
    assert (one["line"], len(one["candidates"])) == (None, 2)
    shown = study("check", "--notes", "notes", "a")
    assert (shown.code, "written at notes/a.md:" in shown.out) == (3, True)
    assert study("pin", "--notes", "notes", "--yes").code == 1
    study.put("notes/a.md", note("a", stop("elsewhere", MIX.replace("Mix", "Wrong"), "at::native::use")))
    pinned = study("pin", "--notes", "notes", "--yes")
    assert (pinned.code, "the definition is not in" in pinned.err) == (1, True), pinned


def test_bad_files_are_told_with_file_and_line_and_the_rest_is_there(study: Study) -> None:
    study.put("notes/good.md", note("good", stop("use", MIX, "native::use")))
    study.put("notes/yaml.md", note("yaml", stop("x", MIX, "[")))
    study.put("notes/key.md", note("key", stop("x", MIX, "use", "colour: red\n")))
    study.put("notes/twice.md", note("good"))
    study.put("notes/outside.md", note("outside", stop("x", "../../../etc/passwd", "root")))
    study.put("notes/script.md", note("script", stop("x", MIX, "use", prose="<script>alert(1)</script>")))
    study.put("notes/link.md", note("link", stop("x", MIX, "use", prose="[x](javascript:alert(1))")))
    study.put("notes/huge.md", b"---\n" + b"x" * 10_000_000)
    study.put("notes/bomb.md", note("bomb", stop("x", MIX, "use", "a: &a [1]\nb: [*a, *a]\n")))
    study.put("notes/control.md", note("control", stop("use", MIX, "native::use", prose="\x1b[31mred\x1b]0;x\x07")))
    study.put("notes/chinese.md", note("chinese", stop("use", MIX, "native::use", prose="张量")).encode("gb18030"))
    declared = note("declared", stop("use", MIX, "native::use", prose="张量")).replace("id:", "encoding: gb18030\nid:")
    study.put("notes/declared.md", declared.encode("gb18030"))
    study.put("notes/mark.md", b"\xef\xbb\xbf" + note("mark", stop("use", MIX, "native::use")).encode())
    found = study.check("control", "declared", "good", "mark")
    there = {one["stop"] for one in found["anchors"]}
    assert there == {"good#use", "control#use", "declared#use", "mark#use"}
    assert found["code"] == 1
    told = {Path(one["file"]).stem: one for one in found["problems"] if one["file"].startswith("notes/")}
    wrong = {"yaml", "key", "twice", "outside", "script", "link", "huge", "bomb", "control", "chinese"}
    assert set(told) == wrong
    assert all(one["line"] >= 1 for one in told.values())
    shown = study("check", "--notes", "notes")
    assert "\x1b" not in shown.out
    assert "notes/key.md:12:" in shown.out
    assert "byte" in told["chinese"]["text"]


def test_wrong_arguments(study: Study) -> None:
    study("check", "--notes", "gone").three_parts(3)
    study("check", "nobody#wrote-it").three_parts(2)
    study("check", "--tree", "nowhere").three_parts(2)
    study().three_parts(2)
    study("new", "").three_parts(2)
    study("new", "nothing_is_called_so", "--tree", "mini").three_parts(2)
    study("new", "mix", "--tree", "mini").three_parts(2)
    study("new", MIX, "--tree", "mini").three_parts(2)
    study("trust", "gone").three_parts(3)


@pytest.mark.parametrize(
    "target, said",
    [
        ("at::native::use", ["symbol: use"]),
        (f"{MIX}:12", ["symbol: at::native::mix", "signature: '(int)'", "lines: [1, 1]"]),
        ("FastMixer::turn", ["symbol: FastMixer::turn"]),
        ("torch.nn.blend.Blend", ["symbol: Blend", "path: torch/nn/blend.py"]),
        ("aten::blend", ["symbol: blend", "native_functions.yaml"]),
        ("aten/src/ATen/native/native_functions.yaml:3", ["symbol: blend", "lines: [2, 2]"]),
    ],
)
def test_a_new_note_means_the_place_that_was_asked_for(
    study: Study, monkeypatch: pytest.MonkeyPatch, target: str, said: list[str]
) -> None:
    editor = study.put("editor.sh", '#!/bin/sh\necho "edited $*" > "$(dirname "$0")/edited"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    made = study("new", target, "--tree", "mini", "--id", "mine")
    assert made.code == 0, made
    text = (study.folder / "notes/mine.md").read_text(encoding="utf-8")
    assert all(one in text for one in said), text
    assert "notes/mine.md" in (study.folder / "edited").read_text(encoding="utf-8")
    found = study.check()
    assert [one["outcome"] for one in found["anchors"]] == ["unpinned"]
    if ":" in target and target[-1].isdigit():
        assert found["anchors"][0]["line"] == int(target.rpartition(":")[2])
    study("new", target, "--tree", "mini", "--id", "mine").three_parts(2)


def test_a_new_note_is_written_through_no_link(study: Study, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    study.put("notes/other.md", note("other", stop("x", MIX, "native::use")))
    (study.folder / "notes/mine.md").symlink_to(outside / "mine.md")
    study("new", "at::native::use", "--tree", "mini", "--id", "mine").three_parts(2)
    shutil.rmtree(study.folder / "notes")
    (study.folder / "notes").symlink_to(outside)
    study("new", "at::native::use", "--tree", "mini", "--id", "mine").three_parts(2)
    assert list(outside.iterdir()) == []


def run_labs(study: Study, *more: str) -> dict[str, dict[str, Any]]:
    python = ("--python", TARGET) if TARGET else ()
    found = study.check("--run", *python, *more)
    return {one["lab"]: one for one in found["labs"] if one["file"].startswith("notes/")}


@pytest.mark.slow
def test_labs_run_only_where_they_are_trusted(study: Study) -> None:
    labs = lab("adds", "torch.add(a, b)", "trace: [op aten::add.Tensor, key AutogradCPU]", "grad: true\n")
    labs += lab("strides", "torch.arange(6).reshape(2, 3).t().stride()", "value: (1, 3)")
    labs += lab("wrong", "1 + 1", "value: 3") + lab("order", "torch.add(a, b)", "trace: [key CPU, op aten::add.Tensor]")
    study.put("notes/a.md", note("a", stop("x", MIX, "native::use", prose=labs)))
    assert {one["outcome"] for one in run_labs(study, "a").values()} == {"untrusted"}
    trusted = study("trust", "notes")
    assert trusted.code == 0, trusted
    assert "torch.add(a, b)" in trusted.out, "what is trusted is shown"
    found = run_labs(study, "a")
    assert {name.partition("/")[2]: one["outcome"] for name, one in found.items()} == {
        "adds": "passed", "strides": "passed", "wrong": "failed", "order": "failed",
    }  # fmt: skip
    assert "its value is 2, not 3" in found["a#x/wrong"]["why"]
    assert "comes earlier" in found["a#x/order"]["why"]
    python = ("--python", TARGET) if TARGET else ()
    assert study.check("--run", *python, "a")["code"] == 1
    study.put("notes/a.md", (study.folder / "notes/a.md").read_bytes() + b"\n")
    assert {one["outcome"] for one in run_labs(study, "a").values()} == {"untrusted"}


@pytest.mark.slow
def test_labs_that_misbehave_are_told_and_the_rest_runs(study: Study) -> None:
    outside = study.folder / "written"
    runs = {
        "raises": "1 / 0",
        "hangs": "[x for x in iter(int, 1)]",
        "dies": "__import__('os').abort()",
        "leaves": "__import__('os').open('left', __import__('os').O_RDONLY)",
        "writes": f"open({str(outside)!r}, 'w').write('x')",
        "here": "open('here', 'w').write('x')",
        "starts": "__import__('subprocess').run(['true'])",
        "temporary": "__import__('tempfile').TemporaryFile().write(b'xy')",
        "listens": "__import__('socket').socket().bind(('127.0.0.1', 0))",
        "joins-others": f"__import__('socket').socket(1).bind({str(outside)!r})",
        "joins-its-own": "__import__('socket').socket(1).bind(__import__('tempfile').mkdtemp() + '/s') or 2",
        "good": "1 + 1",
    }
    labs = "".join(lab(name, code, "value: 2") for name, code in runs.items())
    study.put("notes/a.md", note("a", stop("x", MIX, "native::use", prose=labs)))
    assert study("trust", "notes/a.md").code == 0
    found = {name.partition("/")[2]: one for name, one in run_labs(study, "a", "--timeout", "3").items()}
    passed = {name for name, one in found.items() if one["outcome"] == "passed"}
    assert passed == {"temporary", "joins-its-own", "good"}
    assert "did not end within 3 s" in found["hangs"]["why"]
    assert "may not write files" in found["writes"]["why"]
    assert "may not write files" in found["here"]["why"]
    for name in ("starts", "listens", "joins-others"):
        assert "may not do this" in found[name]["why"], name
    assert not outside.exists()
    assert list(study.folder.iterdir()) == [study.folder / "notes"]


def test_what_ships_is_read_from_the_package(study: Study) -> None:
    found = json.loads(study("check", "--json").out)
    assert "annotations" in found["folders"]
    assert found["summary"].keys() >= {"exact", "moved", "changed", "ambiguous", "lost"}


def test_no_name_of_a_file_forges_what_is_trusted(study: Study) -> None:
    code = lab("adds", "torch.add(a, b)", "value: 2")
    study.put("notes/zz\n\nthe expression:\n    1\n.md", note("a", stop("x", MIX, "native::use", prose=code)))
    trusted = study("trust", "notes")
    assert trusted.code == 0, trusted
    at = [number for number, line in enumerate(trusted.out.splitlines()) if line.startswith("the expression:")]
    assert [trusted.out.splitlines()[number + 1] for number in at] == ["   1 | torch.add(a, b)"]
