"""Folders for a while: what a killed command left is removed, and nothing that is in use or somebody else's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ptexplore.temporary import LOCK, clear_left_over, temporary_folder

WAITS = """
from ptexplore.temporary import temporary_folder
with temporary_folder("test") as folder:
    (folder / "file").write_text("text")
    print(folder, flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_folder_is_gone_afterwards(place: Path) -> None:
    with temporary_folder("test") as folder:
        assert folder.is_dir()
        assert not list(folder.iterdir())
    assert not list(place.iterdir())


def test_what_a_killed_command_left_is_removed_and_what_is_in_use_is_not(place: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        folder = Path(child.stdout.readline().strip())
        clear_left_over()
        assert (folder / "file").read_text() == "text", "it is in use"
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert folder.exists()
    clear_left_over()
    assert not list(place.iterdir())


@pytest.mark.parametrize(("age", "stays"), [(0, True), (2 * 86400, False)])
def test_an_empty_one_is_removed_when_it_is_old(place: Path, age: int, stays: bool) -> None:
    folder = place / "ptexplore-test-abcd_123"
    folder.mkdir(mode=0o700)
    now = folder.stat().st_mtime
    os.utime(folder, (now - age, now - age))
    clear_left_over()
    assert folder.exists() == stays


@pytest.mark.parametrize("name", ["ptexplore-site", "ptexplore-main", "ptexplore-2.0", "ptexplore-test-abcd_123"])
@pytest.mark.parametrize("lock", [None, "", "made by ptexplore for a while: ptexplore-other-abcd_123\n"])
def test_a_folder_of_the_users_own_stays_whatever_it_is_called(place: Path, name: str, lock: str | None) -> None:
    for further in ("in", "sub"):
        folder = place / name
        (folder / further).mkdir(parents=True, mode=0o700)
        folder.chmod(0o700)
        (folder / further / "thesis.tex").write_text("precious")
        if lock is not None:
            (folder / LOCK).write_text(lock)
        os.utime(folder, (0, 0))
        clear_left_over()
        assert (folder / further / "thesis.tex").read_text() == "precious"


def test_links_files_and_what_others_can_write_to_stay(place: Path) -> None:
    target = place / "mine"
    target.mkdir()
    (target / LOCK).touch()
    (place / "ptexplore-link").symlink_to(target)
    (place / "ptexplore-file").touch()
    shared = place / "ptexplore-shared"
    shared.mkdir()
    (shared / LOCK).touch()
    shared.chmod(0o777)
    clear_left_over()
    assert {entry.name for entry in place.iterdir()} == {"mine", "ptexplore-link", "ptexplore-file", "ptexplore-shared"}
