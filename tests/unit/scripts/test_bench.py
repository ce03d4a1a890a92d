"""scripts/lib: what the bench measures with, and that its peers find what they are asked for."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
MEMORY = """
import subprocess, sys, time
filled = b"x" * {size}
if {more}:
    subprocess.run([sys.executable, "-c", {code!r}], check=True)
time.sleep(0.3)
"""


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


@pytest.fixture
def measure() -> ModuleType:
    return importlib.import_module("lib.measure")


@pytest.fixture
def peers() -> ModuleType:
    return importlib.import_module("lib.peers")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_that_of_all_processes_at_once(measure: ModuleType, tmp_path: Path) -> None:
    child = MEMORY.format(size=60_000_000, more=False, code="")
    code = MEMORY.format(size=40_000_000, more=True, code=child)
    runner = measure.Runner(tmp_path)
    together = runner.run(sys.executable, "-c", code, memory=True).megabytes
    largest = runner.run(sys.executable, "-c", code).megabytes
    assert largest > 57  # no upper bound: until it runs its own program a child counts what its parent holds
    assert 95 < together < 150


def test_a_command_that_fails_ends_the_bench(measure: ModuleType, tmp_path: Path) -> None:
    runner = measure.Runner(tmp_path)
    assert runner.run(sys.executable, "-c", "print(5); raise SystemExit(1)", ends=(0, 1)).output == b"5\n"
    with pytest.raises(SystemExit, match="ended with 4"):
        runner.run(sys.executable, "-c", "raise SystemExit(4)")


def test_a_row_says_whether_its_budget_was_kept(measure: ModuleType) -> None:
    assert measure.Row("x", 0.251, "s", 0.25).cells() == ("x", "0.25 s", "<= 0.25 s", "BROKEN", "")
    assert measure.Row("x", 120, "MB", 120, "y").cells() == ("x", "120 MB", "<= 120 MB", "kept", "y")
    assert measure.Row("x", 9, "MB").cells() == ("x", "9 MB", "", "", "")
    assert measure.Row("x", 9, "MB").kept


@pytest.mark.parametrize("name", ["gtags", "cscope", "ctags"])
def test_the_peers_find_what_they_are_asked_for(peers: ModuleType, tmp_path: Path, name: str) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a.cpp").write_text("int target(int x) {\n  return x;\n}\nint caller() {\n  return target(1);\n}\n")
    names = tmp_path / "names"
    names.write_text("a.cpp\n")
    found = [one for one in peers.installed(root, names, tmp_path / "peers") if one.peer.name == name]
    if not found:
        pytest.skip(f"{name} is not installed")
    [peer] = found
    assert peer.version.split()[1][0].isdigit()
    peer.build()
    peer.again()
    peer.build()
    assert b"a.cpp" in peer.ask("find", "target").output
    assert b"a.cpp" not in peer.ask("find", "nothing").output
    if name != "ctags":
        assert b"return target(1)" in peer.ask("refs", "target").output
    assert peer.ask("show", "target") is None
    assert peer.megabytes > 0


def test_the_floor_reads_every_file(measure: ModuleType, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.cpp").write_text(f"int f{number}() {{ return 0; }}\n")
    (tmp_path / "names").write_text("0.cpp\n1.cpp\n2.cpp\n")
    (tmp_path / "functions.scm").write_text("(function_definition) @function")
    script = str(SCRIPTS / "lib/parse_floor.py")
    assert measure.Runner(tmp_path).run(sys.executable, script, "names", "functions.scm").output == b"3\n"
