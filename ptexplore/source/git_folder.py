"""What a git folder is: its commit, and whether its files are that commit's; nothing that the folder configures is run.

`git status` would run filters and the file system monitor of the folder's own configuration. So git only lists what the
commit holds, and the files are hashed here, by the rule of git-hash-object.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ptexplore.source.git import Git, GitFailed
from ptexplore.source.listing import SUFFIXES

_FILES = {b"100644", b"100755", b"100664"}


@dataclass(frozen=True, slots=True)
class GitState:
    """The commit of a folder; `modified` says how its source differs from it, empty where it does not."""

    commit: str
    modified: str = ""


def look(root: Path, paths: Iterable[str], tops: tuple[str, ...] = ()) -> GitState | None:
    """The state of the git folder `root`, judged by `paths`, the files of it that are read; None where it is none.

    A file that the commit lacks counts as a difference unless git ignores it, as what a build writes; one that is gone
    counts below the folders `tops` (everywhere where empty) unless a sparse checkout left it out.
    """
    if not (root / ".git").exists():
        return None
    git = Git(root, git_dir=root / ".git")
    try:
        commit = git.line("rev-parse", "--verify", "HEAD^{commit}")
        return GitState(commit, _difference(git, commit, set(paths), tops))
    except GitFailed:
        return None


def _difference(git: Git, commit: str, there: set[str], tops: tuple[str, ...]) -> str:
    held = {path: blob for path, blob, kind in tree_of(git, commit) if kind == "file"}
    for path in sorted(there & held.keys()):
        if not is_blob(git.folder / path, held[path]):
            return f"{path} was changed"
    extra = there - held.keys()
    if extra:
        listed = git.read("ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
        new = sorted(extra & {os.fsdecode(path) for path in listed})
        if new:
            return f"{new[0]} is not in the commit"
    read = {path for path in held if not tops or path.partition("/")[0] in tops}
    gone = {path for path in read if os.path.splitext(path)[1] in SUFFIXES} - there
    missing = sorted(path for path in gone if not os.path.lexists(git.folder / path))
    if missing:
        rows = git.read("ls-files", "-z", "-t").split(b"\0")  # S: left out on purpose, by a sparse checkout
        sparse = {os.fsdecode(row[2:]) for row in rows if row.startswith(b"S ")}
        missing = [path for path in missing if path not in sparse]
    return f"{missing[0]} is missing" if missing else ""


def differing(git: Git, commit: str, paths: Iterable[str]) -> Iterator[str]:
    """Those of `paths` whose file is not, byte for byte, what `commit` has there."""
    wanted = {path: blob for path, blob, _ in tree_of(git, commit)}
    for path in paths:
        if path not in wanted or not is_blob(git.folder / path, wanted[path]):
            yield path


def tree_of(git: Git, commit: str) -> Iterator[tuple[str, str, str]]:
    """Path, blob and kind ("file", "link", "other") of everything in `commit`. Raises GitFailed."""
    for row in git.read("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
        if row:
            head, path = row.split(b"\t", 1)
            mode, _, blob = head.split(b" ")[:3]
            yield (
                os.fsdecode(path),
                blob.decode(),
                "file" if mode in _FILES else "link" if mode == b"120000" else "other",
            )


def is_blob(file: Path, blob: str) -> bool:
    """Whether `file` is a regular file whose content has the id `blob`; CRLF passes for LF, its lines are the same."""
    try:
        if file.is_symlink() or not file.is_file():
            return False
        raw = file.read_bytes()
    except OSError:
        return False
    return _id(raw, blob) == blob or (b"\r\n" in raw and _id(raw.replace(b"\r\n", b"\n"), blob) == blob)


def _id(content: bytes, like: str) -> str:
    hasher = hashlib.sha256() if len(like) == 64 else hashlib.sha1(usedforsecurity=False)
    hasher.update(b"blob %d\0" % len(content))
    hasher.update(content)
    return hasher.hexdigest()
