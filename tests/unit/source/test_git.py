"""git is started in an environment of its own: the caller's variables neither reach it nor are edited for it."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from ptexplore.errors import PtexploreError
from ptexplore.model.places import Checkout
from ptexplore.source.fetch import git_folder
from ptexplore.source.fetch.git import Git, GitFailed, TreeTooLarge
from ptexplore.source.fetch.install import _git_state, _stamp
from ptexplore.source.fetch.remotes import fetch_ref, parse_remote
from ptexplore.source.listing import checkout_files
from ptexplore.source.progress import Silent
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
    monkeypatch.setenv("GIT_DIR", "/nonexistent")

    class Watched(type(os.environ)):  # type: ignore[misc]
        def __setitem__(self, name: str, value: str) -> None:
            raise AssertionError(f"{name} was set")

        def __delitem__(self, name: str) -> None:
            raise AssertionError(f"{name} was taken away")

    plain = os.environ
    states: list[git_folder.GitState | None] = []
    with monkeypatch.context() as patched:
        watched = Watched(plain._data, plain.encodekey, plain.decodekey, plain.encodevalue, plain.decodevalue)  # type: ignore[attr-defined]
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


# --- what is made to keep ptexplore waiting, or to fill the memory ---


def objects_of(root: Path, kind: str, *rows: bytes) -> str:
    """Write one object into a repository; its name."""
    command = ["git", "-C", str(root), "hash-object", "-t", kind, "-w", "--stdin", "--literally"]
    return subprocess.run(command, input=b"".join(rows), capture_output=True, check=True).stdout.decode().strip()


def committed(root: Path, tree: str) -> str:
    """A commit of a tree, which HEAD then is."""
    facts = f"tree {tree}\nauthor x <x@x> 0 +0000\ncommitter x <x@x> 0 +0000\n\nx\n"
    commit = objects_of(root, "commit", facts.encode())
    (root / ".git/HEAD").write_text(f"{commit}\n")
    return commit


@pytest.mark.parametrize("leaf", [True, False], ids=["files at the end", "folders alone"])
def test_a_tree_of_trees_without_end_is_refused(folder: Path, leaf: bool, tmp_path: Path) -> None:
    """Nine levels of ten names each that are all one tree: 10^9 paths of a few kilobytes."""
    blob = objects_of(folder, "blob", b"int x;\n")
    rows = [b"100644 x.h\0" + bytes.fromhex(blob)] if leaf else []
    tree = objects_of(folder, "tree", *rows)
    for _ in range(9):
        tree = objects_of(folder, "tree", *(b"40000 %d\0" % n + bytes.fromhex(tree) for n in range(10)))
    commit = committed(folder, tree)
    with pytest.raises(TreeTooLarge, match="lists more than 400,000 files and folders"):
        list(git_folder.tree_of(folder, commit))
    assert git_folder.look(folder, {"top.h"}) == git_folder.GitState(commit, modified=True)
    with pytest.raises(PtexploreError) as refused:
        fetch_ref(tmp_path / "fetched", parse_remote(folder.as_uri()), commit, (), Silent())
    assert "lists more than 400,000 files" in refused.value.why


@pytest.mark.parametrize(
    ("size", "names", "why"),
    [(1 << 20, 6200, "has files of more than 6 GiB"), ((256 << 20) + 1, 1, "has a file of more than 256 MiB")],
    ids=["one blob under many names", "a large blob"],
)
def test_a_commit_that_would_fill_the_disk_is_refused(
    folder: Path, size: int, names: int, why: str, tmp_path: Path
) -> None:
    blob = bytes.fromhex(objects_of(folder, "blob", bytes(size)))
    tree = objects_of(folder, "tree", *(b"100644 %05d.h\0" % n + blob for n in range(names)))
    commit = committed(folder, tree)
    with pytest.raises(PtexploreError) as refused:
        fetch_ref(tmp_path / "fetched", parse_remote(folder.as_uri()), commit, (), Silent())
    assert why in refused.value.why
    written = [file for file in (tmp_path / "fetched").rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in written) < 10 << 20


def test_folders_deeper_than_any_and_names_longer_than_any_are_refused(folder: Path) -> None:
    blob = bytes.fromhex(objects_of(folder, "blob", b"int x;\n"))
    tree = objects_of(folder, "tree", b"100644 x.h\0" + blob)
    for _ in range(150):
        tree = objects_of(folder, "tree", b"40000 a\0" + bytes.fromhex(tree))
    with pytest.raises(TreeTooLarge, match="more than 100 deep"):
        list(git_folder.tree_of(folder, committed(folder, tree)))
    tree = objects_of(folder, "tree", b"100644 " + b"a" * 5000 + b"\0" + blob)
    with pytest.raises(GitFailed, match="more than"):
        list(git_folder.tree_of(folder, committed(folder, tree)))


@pytest.mark.parametrize(
    "name",
    ["config", "HEAD", "packed-refs", "info/exclude", "objects/info/alternates", "commondir", "shallow", "index",
     "refs/zz", "config.worktree", "refs/linked/zz", "objects/ab/0123456789", "objects/pack/pack-1.idx",
     "objects/info/commit-graphs/commit-graph-chain"],
)  # fmt: skip
@pytest.mark.parametrize("what", ["fifo", "device"])
def test_a_fifo_or_a_device_in_a_repository_keeps_nobody_waiting(
    folder: Path, tmp_path: Path, name: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Git, "start", lambda *_, **__: pytest.fail("git is not asked"))
    (tmp_path / "elsewhere").mkdir()
    (folder / ".git/refs/linked").symlink_to(tmp_path / "elsewhere")
    file = folder / ".git" / name
    file.unlink(missing_ok=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    if what == "fifo":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    assert git_folder.look(folder, {"top.h"}) is None
    checkout = Checkout("mine", "folder", str(folder), str(folder))
    assert len(_stamp(checkout, checkout_files(checkout))) == 64


def test_what_git_names_is_looked_at_too(folder: Path, tmp_path: Path) -> None:
    """`.git` that is a FIFO, that names another folder, and a folder that several work trees have in common."""
    other = tmp_path / "other work tree"
    git(folder, "worktree", "add", "--quiet", "--detach", str(other))
    state = git_folder.look(other, {"top.h", "c10/core/näher.h"})
    assert state is not None
    assert not state.modified
    (folder / ".git/shallow").symlink_to("/dev/zero")
    assert git_folder.look(other, {"top.h"}) is None
    (other / ".git").unlink()
    os.mkfifo(other / ".git")
    assert git_folder.look(other, {"top.h"}) is None


@pytest.mark.parametrize("which", ["alternates", "alternates of alternates", "include", "include, quoted", "includeIf"])
def test_a_fifo_that_a_repository_names_keeps_nobody_waiting(
    folder: Path, tmp_path: Path, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Git, "start", lambda *_, **__: pytest.fail("git is not asked"))
    for name in ("one", "two"):
        (tmp_path / name / "info").mkdir(parents=True)
        (tmp_path / name / "ab").mkdir()
    os.mkfifo(tmp_path / "one/ab/0123456789")
    (tmp_path / "two/info/alternates").write_text("../one\n")
    if which.startswith("alternates"):
        named = tmp_path / ("one" if which == "alternates" else "two")
        (folder / ".git/objects/info/alternates").write_text(f"{named}\n")
    else:
        section = '[includeIf "gitdir:/"]' if which == "includeIf" else "[Include]"
        value = tmp_path / "one/ab/0123456789"
        shown = f'"{value}"' if "quoted" in which else value
        (folder / ".git/config").write_text(f"{section}\n\tpath = {shown}\n")
    assert git_folder.look(folder, {"top.h"}) is None


@pytest.mark.parametrize("which", ["gitdir", "commondir", "alternates", "long configuration", "long alternates"])
def test_what_git_reads_otherwise_than_we_do_is_not_asked_of_it(
    folder: Path, tmp_path: Path, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git keeps blanks at the end of a path, unquotes a folder of objects, and reads a file to its end."""
    monkeypatch.setattr(Git, "start", lambda *_, **__: pytest.fail("git is not asked"))
    dot = folder / ".git"
    if which == "gitdir":
        dot.rename(tmp_path / "repository")
        dot.write_text(f"gitdir: {tmp_path / 'repository'} \n")
    elif which == "commondir":
        (dot / "commondir").write_text("../.git \n")
    elif which == "alternates":
        (dot / "objects/info/alternates").write_text(f'"{tmp_path}\\057a"\n')
    else:
        file = dot / ("config" if "configuration" in which else "objects/info/alternates")
        file.parent.mkdir(exist_ok=True)
        file.write_text("# nothing\n" * 110_000)
    assert git_folder.look(folder, {"top.h"}) is None


def test_what_git_ignores_is_no_difference_and_a_fifo_in_its_place_keeps_nobody_waiting(folder: Path) -> None:
    committed_ = {"top.h", "c10/core/näher.h"}

    def is_modified(*more: str) -> bool:
        state = git_folder.look(folder, {*committed_, *more})
        assert state is not None
        return state.modified

    (folder / "c10/.gitignore").write_text("made.h\n")
    for name in ("c10/made.h", "c10/new.h", ":(top)new.h", "c10/inner/a.h"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("int a;\n")
    git(folder / "c10/inner", "init", "--quiet")
    os.mkfifo(folder / "c10/inner/.gitignore")
    assert not is_modified("c10/made.h")
    assert not is_modified("c10/inner/a.h"), "another repository's"
    assert is_modified("c10/made.h", "c10/new.h")
    assert is_modified(":(top)new.h")
    (folder / "c10/.gitignore").unlink()
    os.mkfifo(folder / "c10/.gitignore")
    assert is_modified("c10/made.h")


def test_a_git_that_does_not_end_is_ended(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What its configuration includes lies anywhere, and a `.gitignore` in any folder."""
    os.mkfifo(tmp_path / "fifo")
    (folder / ".git/config").write_text(f"[include]\n  path = {tmp_path / 'fifo'}\n")
    with pytest.raises(GitFailed, match="did not end within 1 seconds"):
        Git(folder, git_dir=folder / ".git").read("rev-parse", "HEAD", seconds=1)
    (folder / ".git/config").write_text("[core]\n  bare = false\n")
    os.mkfifo(folder / "c10/.gitignore")
    (folder / "c10/new.h").write_text("int a;\n")
    monkeypatch.setattr("ptexplore.source.fetch.git.STALL", 1.0)
    with pytest.raises(GitFailed, match="did not end within 1 seconds"):
        Git(folder, git_dir=folder / ".git").read("ls-files", "--others", "--exclude-standard", seconds=1)


def test_a_git_that_takes_more_memory_than_any_has_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".git/config").write_text("[include]\n  path = /dev/zero\n")
    monkeypatch.setattr("ptexplore.source.fetch.git.MEMORY", 64 * 1024**2)
    with pytest.raises(GitFailed):
        Git(folder, git_dir=folder / ".git").read("rev-parse", "HEAD", seconds=60)


def test_a_listing_that_nobody_reads_to_its_end_leaves_no_git(folder: Path) -> None:
    head = Git(folder).line("rev-parse", "HEAD")
    listing = git_folder.tree_of(folder, head)
    next(listing)
    listing.close()  # type: ignore[attr-defined]
    children = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "comm="], capture_output=True, check=False)
    assert b"git" not in children.stdout.split()


def unfinished(tmp_path: Path) -> tuple[Path, Path]:
    """An aside folder as a try leaves it that ended early, and a folder of the user's beside it."""
    aside, victim = tmp_path / "cache/.fetching-git-0", tmp_path / "victim"
    (victim / "c10/core").mkdir(parents=True)
    (victim / "c10/core/näher.h").write_text("precious", encoding="utf-8")
    aside.mkdir(parents=True)
    return aside / "tree", victim


def test_an_unfinished_fetch_of_somebody_else_runs_nothing_and_writes_nowhere(folder: Path, tmp_path: Path) -> None:
    """A cache may come from others: of what a try left, git reads the objects alone."""
    tree, victim = unfinished(tmp_path)
    commit = git(folder, "rev-parse", "HEAD").strip()
    fetch_ref(tree, parse_remote(folder.as_uri()), commit, (), Silent())
    for name, value in (
        ("remote.origin.uploadpack", f"touch {tmp_path}/ran; git-upload-pack"),
        ("core.worktree", str(victim)),
        ("core.sshCommand", f"touch {tmp_path}/ran"),
    ):
        git(tree, "config", name, value)
    (tree / ".git/shallow").unlink()  # so that it is asked for once more
    (tree / ".git/hooks").mkdir(exist_ok=True)
    (tree / "planted.h").write_text("planted")
    (tree / "top.h").unlink()
    (tree / "top.h").symlink_to(victim / "c10/core/näher.h")
    (tree / ".git/objects/info").mkdir(exist_ok=True)
    (tree / ".git/objects/info/alternates").write_text("/nonexistent\n")
    fetch_ref(tree, parse_remote(folder.as_uri()), commit, (), Silent())
    assert not (tmp_path / "ran").exists()
    assert [file.read_text() for file in victim.rglob("*.h")] == ["precious"]
    assert (tree / "top.h").read_text() == "int top;\n"
    assert not (tree / "top.h").is_symlink()
    assert not (tree / "planted.h").exists()
    config = (tree / ".git/config").read_text()
    assert not any(word in config for word in ("uploadpack", "worktree =", "sshCommand"))


@pytest.mark.parametrize("what", ["busy", "aside", "tree", ".git", "objects", "a pack", "a FIFO"])
def test_no_link_of_an_unfinished_fetch_is_followed(folder: Path, tmp_path: Path, what: str) -> None:
    tree, victim = unfinished(tmp_path)
    precious = victim / "c10/core/näher.h"
    commit = git(folder, "rev-parse", "HEAD").strip()
    if what == "busy":
        (tree.parent / "busy").symlink_to(precious)
    elif what == "aside":
        (victim / "tree").mkdir()
        (victim / "tree/thesis.tex").write_text("precious")
        tree.parent.rmdir()
        tree.parent.symlink_to(victim)
    elif what == "tree":
        tree.symlink_to(victim)
    else:
        place = {".git": tree / ".git", "objects": tree / ".git/objects"}.get(what, tree / ".git/objects/pack/x.pack")
        place.parent.mkdir(parents=True)
        if what == "a FIFO":
            os.mkfifo(place)
        else:
            place.symlink_to(precious if what == "a pack" else victim)
    before = {file: file.read_bytes() for file in victim.rglob("*") if file.is_file()}
    fetch_ref(tree, parse_remote(folder.as_uri()), commit, (), Silent())
    assert {file: file.read_bytes() for file in victim.rglob("*") if file.is_file()} == before
    assert not (tree.parent / "busy").is_symlink()
    assert (tree / "top.h").read_text() == "int top;\n"
