"""What a git folder is: its commit, and whether its files are that commit's; nothing that the folder configures is run.

`git status` would run filters and the file system monitor of the folder's own configuration. So GitPython only lists
what the commit holds, and the files are hashed here, by the rule of git-hash-object.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ptexplore.source.fetch.git import Git, GitFailed, import_gitpython
from ptexplore.source.listing import SUFFIXES


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
    import_gitpython()
    from ptexplore.source.fetch.repository import head_of

    try:
        commit = head_of(root)
    except GitFailed:
        return None
    if len(commit) == 64:
        return GitState(commit, "its objects have SHA-256 names, so its files cannot be compared with the commit's")
    try:
        return GitState(commit, _difference(Git(root, git_dir=root / ".git"), commit, set(paths), tops))
    except GitFailed:
        return None


def _difference(git: Git, commit: str, present: set[str], tops: tuple[str, ...]) -> str:
    held = {path: blob for path, blob, kind in tree_of(git.folder, commit) if kind == "file"}
    for path in sorted(present & held.keys()):
        if not is_blob(git.folder / path, held[path]):
            return f"{path} was changed"
    extra = present - held.keys()
    if extra:
        listed = git.read("ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
        new = sorted(extra & {os.fsdecode(path) for path in listed})
        if new:
            return f"{new[0]} is not in the commit"
    read = {path for path in held if not tops or path.partition("/")[0] in tops}
    gone = {path for path in read if os.path.splitext(path)[1] in SUFFIXES} - present
    missing = sorted(path for path in gone if not os.path.lexists(git.folder / path))
    if missing:
        rows = git.read("ls-files", "-z", "-t").split(b"\0")  # S: left out on purpose, by a sparse checkout
        sparse = {os.fsdecode(row[2:]) for row in rows if row.startswith(b"S ")}
        missing = [path for path in missing if path not in sparse]
    return f"{missing[0]} is missing" if missing else ""


def differing(folder: Path, commit: str, paths: Iterable[str]) -> Iterator[str]:
    """Those of `paths` whose file is not, byte for byte, what `commit` has there. Raises GitFailed."""
    blobs = {path: blob for path, blob, _ in tree_of(folder, commit)}
    for path in paths:
        if path not in blobs or not is_blob(folder / path, blobs[path]):
            yield path


def tree_of(folder: Path, commit: str) -> Iterator[tuple[str, str, str]]:
    """Path, blob and kind ("file", "link", "other") of everything in `commit` of the git folder. Raises GitFailed."""
    import_gitpython()
    from ptexplore.source.fetch import repository

    return repository.tree_of(folder, commit)


def is_blob(file: Path, blob: str) -> bool:
    """Whether `file` is a regular file whose content has the id `blob`; CRLF passes for LF, its lines are the same."""
    try:
        if file.is_symlink() or not file.is_file():
            return False
        raw = file.read_bytes()
    except OSError:
        return False
    return _id(raw) == blob or (b"\r\n" in raw and _id(raw.replace(b"\r\n", b"\n")) == blob)


def _id(content: bytes) -> str:
    hasher = hashlib.sha1(usedforsecurity=False)
    hasher.update(b"blob %d\0" % len(content))
    hasher.update(content)
    return hasher.hexdigest()
