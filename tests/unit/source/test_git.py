"""git is started in an environment of its own: the caller's variables neither reach it nor are edited for it."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from ptexplore.model.places import Checkout
from ptexplore.source.fetch import git_folder
from ptexplore.source.fetch.git import Git, GitFailed, import_gitpython
from ptexplore.source.fetch.install import _git_state
from ptexplore.source.listing import checkout_files
from tests.upstream import git


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A git folder with a file, a file two folders down, a link, and one file that was changed since the commit."""
    root = tmp_path / "work tree"
    (root / "c10/core").mkdir(parents=True)
    (root / "top.h").write_text("int top;\n", encoding="utf-8")
    (root / "c10/core/näher.h").write_text("int near;\n", encoding="utf-8")
    (root / "link").symlink_to("top.h")
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "x")
    return root


def expected(folder: Path) -> set[tuple[str, str, str]]:
    """Path, blob and kind by git's own hashing."""

    def blob(content: bytes) -> str:
        run = subprocess.run(["git", "hash-object", "--stdin"], input=content, capture_output=True, check=True)
        return run.stdout.decode().strip()

    names = ("top.h", "c10/core/näher.h")
    return {(n, blob((folder / n).read_bytes()), "file") for n in names} | {("link", blob(b"top.h"), "link")}


CALLERS = {
    "GIT_DIR": "/nonexistent",
    "GIT_WORK_TREE": "/nonexistent",
    "GIT_INDEX_FILE": "/nonexistent",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "/nonexistent",
}


def test_the_callers_variables_do_not_reach_git(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    want = expected(folder)
    trace = tmp_path / "trace"
    for name, value in {**CALLERS, "GIT_TRACE": str(trace)}.items():
        monkeypatch.setenv(name, value)
    state = git_folder.look(folder, {"top.h", "c10/core/näher.h"})
    assert state is not None
    assert not state.modified
    assert set(git_folder.tree_of(folder, state.commit)) == want
    (folder / "top.h").write_text("int other;\n", encoding="utf-8")
    assert git_folder.look(folder, {"top.h"}) == git_folder.GitState(state.commit, modified=True)
    assert not trace.exists()


def test_the_environment_of_this_process_is_not_edited_while_threads_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_gitpython()
    monkeypatch.setenv("GIT_DIR", "/nonexistent")

    class Watched(type(os.environ)):  # type: ignore[misc]
        def __setitem__(self, name: str, value: str) -> None:
            raise AssertionError(f"{name} was set")

        def __delitem__(self, name: str) -> None:
            raise AssertionError(f"{name} was taken away")

    plain = os.environ
    states: list[git_folder.GitState | None] = []
    with monkeypatch.context() as patched:
        watched = Watched(plain._data, plain.encodekey, plain.decodekey, plain.encodevalue, plain.decodevalue)
        patched.setattr(os, "environ", watched)
        look = lambda: states.append(git_folder.look(folder, {"top.h"}))  # noqa: E731
        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(states) == 4
    assert {state.modified for state in states if state} == {False}


def test_what_cannot_be_read_is_no_git_folder(folder: Path) -> None:
    head = Git(folder).line("rev-parse", "HEAD")
    assert git_folder.look(folder.parent, set()) is None
    with pytest.raises(GitFailed):
        list(git_folder.tree_of(folder, "0" * 40))
    for blob in (folder / ".git/objects").glob("??/*"):
        blob.unlink()
    with pytest.raises(GitFailed):
        list(git_folder.tree_of(folder, head))
    assert git_folder.look(folder, {"top.h"}) is None


def test_a_work_tree_that_a_bad_disk_keeps_back_is_not_one_without_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it no git folder: what would be kept of it then would be wrong for good."""
    checkout, real = Checkout("mine", "folder", str(folder), str(folder)), os.lstat
    assert _git_state(checkout, checkout_files(checkout)) == git_folder.look(folder, {"top.h", "c10/core/näher.h"})
    for name in (".git", "c10/core/näher.h"):

        def refuse(path: object, kept: Path = folder / name, **given: Any) -> os.stat_result:
            if path in (kept, str(kept)):
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(kept))
            return real(path, **given)  # type: ignore[arg-type]

        with monkeypatch.context() as broken:
            broken.setattr(os, "lstat", refuse)
            with pytest.raises(OSError, match="Input/output error"):
                _git_state(checkout, [])


def test_objects_named_by_sha256_cannot_be_compared(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256")
    (tmp_path / "x.h").write_text("int x;\n", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "x")
    state = git_folder.look(tmp_path, {"x.h"})
    assert state is not None
    assert len(state.commit) == 64
    assert state.modified
