"""A cache that is read-only, full, damaged, shared or interrupted: a clear answer, and never left broken."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ptexplore.source.runtime import generated
from ptexplore.source.runtime.describe import find_runtime
from tests import first_runs
from tests.conftest import made_by
from tests.first_runs import FirstRuns, start
from tests.harness import TARGET, THOROUGH, Cli

pytestmark = pytest.mark.e2e

FAILED, MISSING = 1, 3


def mount(folder: Path, *options: str) -> bool:
    """Mount a small file system; False where this user may not."""
    if os.geteuid() != 0:
        return False
    return subprocess.run(["mount", *options, folder], capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if not mount(folder, "-t", "tmpfs", "-o", "size=8m", "tmpfs"):
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", "-l", folder], check=False)


def answers(cli: Cli) -> None:
    """The cache works: a card with verified lines comes out of it."""
    result = cli("op", "add.Tensor", "--json")
    assert result.code == 0, result
    assert "registered" in result.out


def leftovers(cache: Path) -> list[Path]:
    """What a build that ended badly has left: anything but what is used, and locks."""
    return [p for p in cache.rglob("*") if is_leftover(p.name)]


def is_leftover(name: str) -> bool:
    return any(mark in name for mark in (".tmp", ".part", ".aside", "tmp"))


# --- cannot be written --------------------------------------------------------------------------


def test_a_file_in_the_place_of_the_folder(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    for arguments in (("op", "add", "--json"), ("trace", "a + b", "--json")):
        result = Cli(file, cli.cwd)(*arguments).three_parts(FAILED, MISSING)
        assert "PTEXPLORE_CACHE" in result.err


@pytest.fixture
def read_only(own_cache: Path) -> Iterator[Path]:
    """A built cache that cannot be written: a read-only mount for root, whom permissions do not stop."""
    if os.geteuid() == 0:
        if not mount(own_cache, "--bind", str(own_cache)) or not mount(own_cache, "-o", "remount,ro,bind"):
            pytest.skip("this root may not mount")
        yield own_cache
        subprocess.run(["umount", "-l", own_cache], check=False)
        return
    folders = [own_cache, *(p for p in own_cache.rglob("*") if p.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield own_cache
    for folder in folders:
        folder.chmod(0o755)


def test_a_read_only_cache_that_is_complete_still_answers(cli: Cli, read_only: Path) -> None:
    answers(Cli(read_only, cli.cwd))
    result = Cli(read_only, cli.cwd)("trace", "torch.add(a, b)", "--json")
    assert result.code == 0, result


@pytest.fixture
def empty_read_only(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "empty-read-only"
    folder.mkdir()
    if os.geteuid() == 0:
        if not mount(folder, "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs"):
            pytest.skip("this root may not mount")
        yield folder
        subprocess.run(["umount", "-l", folder], check=False)
        return
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)


def test_a_read_only_cache_with_nothing_in_it(cli: Cli, empty_read_only: Path) -> None:
    for arguments in (("op", "add", "--json"), ("trace", "a + b", "--json")):
        result = Cli(empty_read_only, cli.cwd)(*arguments).three_parts(FAILED, MISSING)
        assert "PTEXPLORE_CACHE" in result.err


# --- full ---------------------------------------------------------------------------------------


@pytest.mark.skipif(not THOROUGH, reason="scripts/test --matched runs it, or PTEXPLORE_TEST_THOROUGH=1")
@pytest.mark.slow
def test_a_full_disk_leaves_nothing_broken(cli: Cli, small_disk: Path) -> None:
    full = Cli(small_disk, cli.cwd)
    full("op", "add", "--json").three_parts(FAILED, MISSING)
    subprocess.run(["mount", "-o", "remount,size=900m", small_disk], check=True)
    answers(full)
    assert not leftovers(small_disk)


# --- damaged ------------------------------------------------------------------------------------


def database(cache: Path) -> Path:
    # The shared cache may hold catalogues of other torches that other tests made up.
    file = cache / "catalogue" / f"{find_runtime(TARGET).key}.sqlite"
    assert file.is_file()
    return file


def garbage(file: Path) -> None:
    file.write_bytes(os.urandom(100_000))


def truncated(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.truncate(file.stat().st_size // 2)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def other_schema(file: Path) -> None:
    file.unlink()
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE something (else_ TEXT)")
    connection.commit()
    connection.close()


def older(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 0")
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    if "meta" in tables:
        connection.execute("DELETE FROM meta")
    connection.commit()
    connection.close()


@pytest.mark.skipif(not THOROUGH, reason="scripts/test --matched runs it, or PTEXPLORE_TEST_THOROUGH=1")
@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [first_runs.overwrite_pages, truncated, older, garbage, empty, other_schema],
    ids=lambda f: f.__name__,
)
def test_a_damaged_database_is_rebuilt(cli: Cli, own_cache: Path, damage: object) -> None:
    damage(database(own_cache))  # type: ignore[operator]
    damaged = Cli(own_cache, cli.cwd)
    answers(damaged)
    rebuilt = database(own_cache).stat()
    answers(damaged)
    again = database(own_cache).stat()
    assert (again.st_ino, again.st_mtime_ns) == (rebuilt.st_ino, rebuilt.st_mtime_ns), "it was rebuilt for good"


def _empty_manifest(folder: Path) -> None:
    (folder / generated.MANIFEST).write_text("")


def _cut_manifest(folder: Path) -> None:
    truncated(folder / generated.MANIFEST)


def _no_manifest(folder: Path) -> None:
    (folder / generated.MANIFEST).unlink()


def _other_manifest(folder: Path) -> None:
    manifest = json.loads((folder / generated.MANIFEST).read_text())
    (folder / generated.MANIFEST).write_text(json.dumps(manifest | {"format": 99}))


def _fewer_rows(folder: Path) -> None:
    manifest = json.loads((folder / generated.MANIFEST).read_text())
    (folder / generated.MANIFEST).write_text(json.dumps(manifest | {"files": {UFUNC: manifest["files"][UFUNC]}}))


def _row_and_file_gone(folder: Path) -> None:
    manifest = json.loads((folder / generated.MANIFEST).read_text())
    del manifest["files"][UFUNC]
    (folder / generated.MANIFEST).write_text(json.dumps(manifest))
    (folder / UFUNC).unlink()


def _file_gone(folder: Path) -> None:
    (folder / UFUNC).unlink()


def _file_cut(folder: Path) -> None:
    truncated(folder / UFUNC)


UFUNC = "build/aten/src/ATen/UfuncCPU_add.cpp"  # it holds a class that inherits from TensorIteratorBase
INHERITS = ("refs", "TensorIteratorBase", "--tree", "runtime", "--kind", "inherits")
DAMAGES = [
    _fewer_rows, _empty_manifest, _cut_manifest, _no_manifest, _other_manifest, _row_and_file_gone, _file_gone,
    _file_cut,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES if THOROUGH else DAMAGES[:1], ids=lambda damage: damage.__name__)
def test_damaged_generated_files_are_made_anew_and_change_no_answer(
    cli: Cli, own_cache: Path, damage: Callable[[Path], None]
) -> None:
    mine = Cli(own_cache, cli.cwd)
    whole = mine(*INHERITS)
    assert whole.code == 0, whole
    # Where another torch is under test the cache may hold those of both: the command reads those of one.
    folders = [path for path in (own_cache / "generated").iterdir() if path.is_dir()]
    assert UFUNC in whole.out
    for folder in folders:
        damage(folder)
        assert not generated.is_complete(folder)
    after = mine(*INHERITS)
    assert (after.code, after.out) == (0, whole.out)
    assert sum(map(generated.is_complete, folders)) == 1


# --- shared and interrupted ---------------------------------------------------------------------


def test_two_first_runs_after_one_that_was_killed_build_once_and_import_nothing_of_the_folder(
    warm_cache: Path, cli: Cli
) -> None:
    """Where a damaged catalogue lay before: it is made anew, and for good."""
    ran = FirstRuns.load(made_by(warm_cache))
    assert ran.codes == (0, 0), ran.errors
    assert ran.outputs[0] == ran.outputs[1]
    assert "registered" in ran.outputs[0]
    # A worker that Python just begins as its parent is killed says so itself, before it runs anything of ours.
    assert not [error for error in ran.errors if "Traceback" in error and "in spawn_main" not in error]
    assert len([file for file in ran.files if file.startswith("catalogue/") and file.endswith(".sqlite")]) == 1
    assert not [file for file in ran.files if is_leftover(file)]
    assert not ran.imported
    built = database(warm_cache).stat()
    answers(cli)
    again = database(warm_cache).stat()
    assert (again.st_ino, again.st_mtime_ns) == (built.st_ino, built.st_mtime_ns), "it was made for good"


def end(process: subprocess.Popen[bytes], sign: signal.Signals, after: float) -> None:
    """End it after so many seconds; no traceback is seen."""
    time.sleep(after)
    process.send_signal(sign)
    _, errors = process.communicate(timeout=60)
    assert b"Traceback" not in errors, errors.decode()


@pytest.mark.skipif(not THOROUGH, reason="scripts/test --matched runs it, or PTEXPLORE_TEST_THOROUGH=1")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("sign", "after"),
    [(signal.SIGINT, 2.0), (signal.SIGKILL, 4.0), (signal.SIGINT, 6.0)],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_first_run_that_is_stopped_leaves_nothing_broken(
    cli: Cli, fresh_cache: Path, after: float, sign: signal.Signals
) -> None:
    interrupted = Cli(fresh_cache, cli.cwd)
    end(start(interrupted), sign, after)
    answers(interrupted)


def test_a_run_that_is_interrupted_leaves_no_process(cli: Cli) -> None:
    mark = f"mark{os.getpid()}{time.monotonic_ns()}"
    target = ["--python", TARGET] if TARGET else []
    setup = f"import time\n{mark} = open('begun', 'w')"
    command = [cli.python, "-m", "ptexplore", "trace", "time.sleep(60)", "--setup", setup, *target]
    process = subprocess.Popen(
        command, env=cli.environment(), cwd=cli.cwd, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    deadline = time.monotonic() + 120
    while not (cli.cwd / "begun").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode not in (0, 1), errors
    assert b"Traceback" not in errors, errors.decode()
    time.sleep(0.5)
    alive = [
        entry.name
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and str(cli.cache).encode() in _environment(entry)
    ]
    own = str(process.pid)
    assert own not in alive


def _environment(entry: Path) -> bytes:
    try:
        return (entry / "environ").read_bytes()
    except OSError:
        return b""


def test_a_moved_torch_is_noticed(cli: Cli) -> None:
    """The key of a catalogue depends on the installation: another Python has another catalogue."""
    assert Path(sys.executable).exists()
    answers(cli)
    assert len(list((cli.cache / "catalogue").glob("*.sqlite"))) >= 1
