"""Indexing what is broken, killed, damaged, shared or full: said, counted, and the next run gives the same database."""

from __future__ import annotations

import os
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from ptexplore.processes import ending_workers
from tests import small_source
from tests.harness import THOROUGH, Cli

pytestmark = pytest.mark.e2e

FAILED, USAGE, MISSING = 1, 2, 3
ARGUMENTS = ("index", "--checkout", "mini", "--json")


def fetched(folder: Path, root: Path, name: str = "cache") -> Cli:
    """The command with a cache of its own that knows the tree at `root`."""
    (folder / "cwd").mkdir(exist_ok=True)
    cli = Cli(folder / name, folder / "cwd")
    assert cli("fetch", "--from", str(root)).code == 0
    return cli


def database(cli: Cli) -> Path:
    return cli.cache / "index" / "checkout-mini.sqlite"


def started(cli: Cli) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ptexplore", *ARGUMENTS]
    return subprocess.Popen(
        command, env=cli.environment(), cwd=cli.cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


@pytest.fixture
def small(tmp_path: Path) -> Cli:
    return fetched(tmp_path, small_source.write(tmp_path / "mini"))


# --- files --------------------------------------------------------------------------------------


def test_odd_files_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    root = small_source.write(tmp_path / "mini")
    odd = {
        "latin.cpp": "// caf\xe9\nint latin() { return 1; }\n".encode("latin-1"),
        "empty.cpp": b"",
        "empty.py": b"",
        "no_end.cpp": b"int no_end() { return 1; }",
        "dos.cpp": b"int one() { return 1; }\r\nint two() { return 2; }\r\n",
        "nul.cpp": b"int nul() { return 1; }\n\0\0\0\n",
        "long.cpp": b"int data[] = {" + b"1," * 1_000_000 + b"};\nint after() { return 1; }\n",
        "broken.py": b"def broken(:\n    pass\n\n\ndef sound():\n    pass\n",
        "deep.cpp": b"int deep() { return " + b"(" * 20_000 + b"1" + b")" * 20_000 + b"; }\n",
        "escape.cpp": b"int \x1b[31mred() { return 1; }\n",
    }
    for name, data in odd.items():
        (root / "c10" / name).write_bytes(data)
    cli = fetched(tmp_path, root)
    summary = cli(*ARGUMENTS).data["indexes"][0]
    assert summary["read"] == 7 + len(odd)
    problems = {row["path"].removeprefix("c10/"): row["problem"] for row in summary["problems"]}
    assert "UTF-8" in problems["latin.cpp"]
    assert "500,000" in problems["long.cpp"]
    assert "line 1" in problems["broken.py"]
    assert "failed" not in str(problems), "no reader may stumble"
    found = small_source.rows(database(cli))
    lines = {symbol[1]: symbol[4] for name in odd for symbol in found[f"c10/{name}"][1]}
    assert {"latin": 2, "no_end": 1, "one": 1, "two": 2}.items() <= lines.items()
    assert found["c10/empty.cpp"][0][5] == 0
    shown = cli("index", "--checkout", "mini", "--problems")
    assert shown.code == 0, shown
    assert "\x1b" not in shown.out


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_said_and_read_later(tmp_path: Path) -> None:
    root = small_source.write(tmp_path / "mini")
    cli = fetched(tmp_path, root)
    file = root / "torch/csrc/blend.cpp"
    file.chmod(0)
    for _ in range(2):
        problems = cli(*ARGUMENTS).data["indexes"][0]["problems"]
        assert [row["path"] for row in problems] == ["torch/csrc/blend.cpp"]
    file.chmod(0o644)
    assert cli(*ARGUMENTS).data["indexes"][0]["problems"] == []


def test_a_folder_that_is_gone(small: Cli, tmp_path: Path) -> None:
    (tmp_path / "mini").rename(tmp_path / "moved")
    assert "mini" in small(*ARGUMENTS).three_parts(MISSING).err


def test_what_is_wrong_on_the_command_line(small: Cli) -> None:
    small("index", "--checkout", "nobody").three_parts(MISSING)
    for jobs in ("0", "-1", "many", "1e3"):
        small("index", "--jobs", jobs).three_parts(USAGE)


# --- killed -------------------------------------------------------------------------------------


def kills(cli: Cli) -> int:
    """Kill the indexer after longer and longer times until it ends by itself; how often that was."""
    killed = 0
    delay = 0.3
    while True:
        process = started(cli)
        try:
            process.wait(delay)
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
        finally:
            assert process.stderr is not None
            process.stderr.close()
        if database(cli).exists():
            small_source.rows(database(cli))  # as it was, or complete: never half
        delay *= 1.7 if THOROUGH else 3
    return killed


@pytest.mark.slow
def test_killed_at_any_moment_the_next_run_gives_the_same(tmp_path: Path) -> None:
    copies = 160 if THOROUGH else 60
    root = small_source.write(tmp_path / "mini", copies=copies)
    cold = fetched(tmp_path, root, "cold")
    assert cold(*ARGUMENTS).code == 0
    expected = small_source.rows(database(cold))
    cli = fetched(tmp_path, root)
    assert kills(cli) > 0
    assert cli(*ARGUMENTS).code == 0
    assert small_source.rows(database(cli)) == expected
    # And the same where an index is changed in place.
    for number in range(copies):
        file = root / f"aten/src/ATen/native/cpu/copies/Blend{number}.cpp"
        file.write_text(f"int before_{number}() {{ return 0; }}\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert cold(*ARGUMENTS).code == 0
    expected = small_source.rows(database(cold))
    assert kills(cli) > 0
    assert cli(*ARGUMENTS).code == 0
    assert small_source.rows(database(cli)) == expected
    assert sorted(path.name for path in database(cli).parent.iterdir()) == [
        "checkout-mini.sqlite", "checkout-mini.sqlite.lock"
    ]  # fmt: skip


def reads(process: subprocess.Popen[bytes]) -> None:
    """Wait until its workers read files."""
    assert process.stderr is not None
    assert any(b": reading " in line for line in process.stderr), "it never came to that"


def test_workers_end_with_the_indexer(tmp_path: Path) -> None:
    cli = fetched(tmp_path, small_source.write(tmp_path / "mini", copies=160))
    process = started(cli)
    reads(process)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL, "it was not at its end"
    deadline = time.monotonic() + 10
    while subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True, check=False).stdout:
        assert time.monotonic() < deadline, "a worker outlived the indexer"
        time.sleep(0.2)


def test_interrupted(tmp_path: Path) -> None:
    cli = fetched(tmp_path, small_source.write(tmp_path / "mini", copies=160))
    process = started(cli)
    reads(process)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert b"Traceback" not in err
    assert cli(*ARGUMENTS).code == 0


def half_an_answer(begun: Path) -> None:
    """What a worker writes that is ended while it answers: how long its answer is, and not all of it."""
    frame = sys._getframe()
    while "result_queue" not in frame.f_locals:
        assert frame.f_back is not None
        frame = frame.f_back
    os.write(frame.f_locals["result_queue"]._writer.fileno(), struct.pack("!i", 1000) + b"not all")
    begun.touch()
    time.sleep(600)


def test_a_worker_that_is_ended_within_its_answer_stops_nobody(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    with pytest.raises(KeyboardInterrupt), ProcessPoolExecutor(1, get_context("fork")) as pool, ending_workers(pool):
        pool.submit(half_an_answer, begun)
        while not begun.exists():
            time.sleep(0.01)
        raise KeyboardInterrupt


# --- damaged, shared, full ----------------------------------------------------------------------


def other_version(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")


def other_recipe(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = 'older' WHERE key = 'recipe'")


def unfinished(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM meta WHERE key = 'complete'")


def overwritten(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
        pytest.param(lambda path: path.write_bytes(b"not a database at all" * 1000), id="another-format"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:-5000]), id="cut-off"),
        pytest.param(overwritten, id="overwritten"),
        pytest.param(other_version, id="other-version"),
        pytest.param(other_recipe, id="other-recipe"),
        pytest.param(unfinished, id="unfinished"),
    ],
)
def test_a_damaged_or_older_index_is_made_anew(small: Cli, damage) -> None:
    assert small(*ARGUMENTS).code == 0
    expected = small_source.rows(database(small))
    damage(database(small))
    summary = small(*ARGUMENTS).data["indexes"][0]
    assert summary["anew"], summary
    assert small_source.rows(database(small)) == expected


def test_two_at_once_give_one_index(tmp_path: Path) -> None:
    cli = fetched(tmp_path, small_source.write(tmp_path / "mini", copies=40))
    both = [started(cli) for _ in range(2)]
    outcomes = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], outcomes
    assert sum(b"waiting for another" in err for _, err in outcomes) == 1
    again = cli(*ARGUMENTS).data["indexes"][0]
    assert again["unchanged"] == 47


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", "-l", folder], check=False)


def test_a_full_disk(tmp_path: Path, small_disk: Path) -> None:
    root = small_source.write(tmp_path / "mini", copies=200)
    cli = fetched(tmp_path, root, small_disk.name)
    result = cli(*ARGUMENTS).three_parts(FAILED, MISSING)
    assert "No space left" in result.err
    assert "PTEXPLORE_CACHE" in result.err
    assert [path.suffix for path in database(cli).parent.iterdir()] == [".lock"]
    subprocess.run(["mount", "-o", "remount,size=90m", small_disk], check=True)
    assert cli(*ARGUMENTS).code == 0


def test_nothing_outside_the_cache_is_written(tmp_path: Path) -> None:
    root = small_source.write(tmp_path / "mini")
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in root.rglob("*")}
    cli = fetched(tmp_path, root)
    assert cli(*ARGUMENTS).code == 0
    assert {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in root.rglob("*")} == before
    assert not list(cli.cwd.iterdir())
