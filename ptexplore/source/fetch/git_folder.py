"""What a git folder is: its commit, and whether its files are that commit's; nothing that the folder configures is run.

`git status` would run filters and the file system monitor of the folder's own configuration, and a library that parses
that configuration itself would read whatever it includes. So git only lists what the commit holds, and the files are
hashed here, by the rule of git-hash-object. Before git is asked, the folder's own files are looked at: a FIFO among
them would keep git waiting, a device would fill its memory. What stands elsewhere (a file that the configuration
includes) meets the limits of time and memory that `Git` sets.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ptexplore.errors import BROKEN
from ptexplore.source.fetch.archive import DEEPEST, LONGEST_PATH, MEMBERS
from ptexplore.source.fetch.git import Git, GitFailed, TreeTooLarge
from ptexplore.source.listing import SUFFIXES, first_bytes, is_at

_FILES = {b"100644", b"100755", b"100664"}
_LINK = b"120000"
_SOON = 30.0  # seconds for what git knows at once: which commit is checked out
_LOOKED_AT = 200_000  # entries of a repository's folder, without its objects


@dataclass(frozen=True, slots=True)
class GitState:
    """The commit of a folder; `modified` says that its source differs from it, or cannot be compared with it."""

    commit: str
    modified: bool


def look(root: Path, present: set[str], tops: tuple[str, ...] = ()) -> GitState | None:
    """The state of the git folder `root`, judged by `present`, the files of it that are read; None where it is none.

    A file that the commit lacks counts as a difference unless git ignores it, as what a build writes; one that is gone
    counts below the folders `tops` (everywhere where empty) unless a sparse checkout left it out.
    """
    commands = Git(root, git_dir=root / ".git")
    try:
        _check(root / ".git")
        commit = commands.line("rev-parse", "--verify", "HEAD^{commit}", seconds=_SOON)
        if len(commit) == 64:
            return GitState(commit, modified=True)  # its objects have SHA-256 names, and files are hashed by SHA-1 here
        return GitState(commit, _differs(commands, commit, present, tops))
    except TreeTooLarge:
        return GitState(commit, modified=True)  # nobody compares files with that
    except GitFailed:
        return None


def _check(dot: Path) -> None:
    """Raise GitFailed where git would wait for, or read without end, something in its own folder."""
    pending, met = _folders(dot), 0
    looked: set[tuple[int, int]] = set()
    while pending:
        folder = pending.pop()
        for entry in _entries(folder):
            met += 1
            if met > _LOOKED_AT:
                raise GitFailed([f"{dot} has more than {_LOOKED_AT:,} files beside its objects"], None)
            state = _state(entry.path)
            if state is None:
                continue
            if not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
                raise GitFailed([f"{entry.path} is neither a file nor a folder"], None)
            is_objects = len(entry.name) == 2 and os.path.basename(folder) == "objects"
            if stat.S_ISDIR(state.st_mode) and not is_objects and (state.st_dev, state.st_ino) not in looked:
                looked.add((state.st_dev, state.st_ino))
                pending.append(entry.path)


def _folders(dot: Path) -> list[str]:
    """The folder of a repository, which `.git` is or names; and the one that several work trees have in common."""
    state = _state(str(dot))
    folder = dot
    if state is not None and stat.S_ISREG(state.st_mode):
        named = first_bytes(dot)
        folder = dot.parent / os.fsdecode(named.removeprefix(b"gitdir:").strip())
        state = _state(str(folder)) if named.startswith(b"gitdir:") else None
    if state is None or not stat.S_ISDIR(state.st_mode):
        raise GitFailed([f"{dot} is no repository"], None)
    common = first_bytes(folder / "commondir").strip()
    return [str(folder), *([os.path.join(folder, os.fsdecode(common))] if common else [])]


def _state(path: str) -> os.stat_result | None:
    """What a path leads to; None for nothing."""
    try:
        return os.stat(path)
    except OSError as error:
        if error.errno in BROKEN:
            raise
    except ValueError:  # a NUL
        pass
    return None


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        if error.errno in BROKEN:
            raise
        raise GitFailed([f"{folder}: {error.strerror}"], None) from error


def _differs(commands: Git, commit: str, present: set[str], tops: tuple[str, ...]) -> bool:
    held = {path: blob for path, blob, kind in tree_of(commands.folder, commit) if kind == "file"}
    if not all(is_blob(commands.folder / path, held[path]) for path in present & held.keys()):
        return True
    extra = present - held.keys()
    if extra:
        listed = commands.read("ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
        if not extra.isdisjoint(os.fsdecode(path) for path in listed):
            return True
    read = {path for path in held if not tops or path.partition("/")[0] in tops}
    gone = {path for path in read if os.path.splitext(path)[1] in SUFFIXES} - present
    missing = {path for path in gone if not is_at(commands.folder / path)}
    if missing:
        rows = commands.read("ls-files", "-z", "-t").split(b"\0")  # S: left out on purpose, by a sparse checkout
        missing -= {os.fsdecode(row[2:]) for row in rows if row.startswith(b"S ")}
    return bool(missing)


def tree_of(folder: Path, commit: str) -> Iterator[tuple[str, str, str]]:
    """Path, blob and kind ("file", "link", "other") of everything in `commit` of the git folder.

    Raises GitFailed; TreeTooLarge where that is more than an archive may have.
    """
    listing = ["ls-tree", "-r", "-t", "-z", "--full-tree", commit]  # -t: of a folder in a folder without end, too
    for count, row in enumerate(Git(folder, git_dir=folder / ".git").records(listing, LONGEST_PATH + 100), 1):
        facts, _, path = row.partition(b"\t")
        mode, of, name = facts.split(b" ", 2)
        if count > MEMBERS:
            raise TreeTooLarge(f"lists more than {MEMBERS:,} files and folders")
        if path.count(b"/") > DEEPEST:
            raise TreeTooLarge(f"has folders more than {DEEPEST} deep")
        if of != b"tree":
            kind = "file" if mode in _FILES else "link" if mode == _LINK else "other"
            yield os.fsdecode(path), name.decode("ascii"), kind


def is_blob(file: Path, blob: str) -> bool:
    """Whether `file` is a regular file whose content has the id `blob`; CRLF passes for LF, its lines are the same."""
    try:
        if file.is_symlink() or not file.is_file():
            return False
        raw = file.read_bytes()
    except OSError as error:
        if error.errno in BROKEN:
            raise
        return False
    return _id(raw) == blob or (b"\r\n" in raw and _id(raw.replace(b"\r\n", b"\n")) == blob)


def _id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
