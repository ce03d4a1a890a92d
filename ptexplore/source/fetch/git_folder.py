"""What a git folder is: its commit, and whether its files are that commit's; nothing that the folder configures is run.

`git status` would run filters and the file system monitor of the folder's own configuration, and so would GitPython's
`Repo.is_dirty` and `Repo.untracked_files`. So GitPython only lists what the commit holds, and the files are hashed
here, by the rule of git-hash-object. The git that GitPython asks is `IsolatedGit`, which git.py starts.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ptexplore.errors import BROKEN
from ptexplore.source.fetch.git import Git, GitFailed, import_gitpython
from ptexplore.source.listing import SUFFIXES, is_at

import_gitpython()
import git  # noqa: E402  (in an environment that `import_gitpython` has made safe)
from git.exc import GitCommandError, GitError  # noqa: E402

_FILES = {0o100644, 0o100755, 0o100664}
_LINK = 0o120000
# What GitPython raises for a repository that is damaged, or that it does not know how to read.
_UNREADABLE = (GitError, ValueError, KeyError, IndexError, AssertionError, OSError, git.BadObject)


@dataclass(frozen=True, slots=True)
class GitState:
    """The commit of a folder; `modified` says that its source differs from it, or cannot be compared with it."""

    commit: str
    modified: bool


class IsolatedGit(git.Git):
    """GitPython's git command, started by our own `Git`: its environment, its overrides, no transport."""

    def execute(  # type: ignore[override]  # what GitPython's own callers here ask for
        self, command: list[str], istream: int | None = None, as_process: bool = False, **_: Any
    ) -> str | git.Git.AutoInterrupt:
        """What `command` prints, or its process. Raises GitCommandError."""
        folder = Path(str(self.working_dir))
        ours = Git(folder, git_dir=folder / ".git")
        arguments = [os.fspath(argument) for argument in command[1:]]
        if as_process:
            process = ours.start(arguments, stdin=istream or subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return self.AutoInterrupt(process, arguments)
        try:
            return os.fsdecode(ours.read(*arguments))
        except GitFailed as error:
            raise GitCommandError(arguments, error.status, "\n".join(error.lines)) from error


class Repository(git.Repo):
    """The repository of a work tree. Close it, or use it in a `with`: it may have a git running."""

    GitCommandWrapperType = IsolatedGit


def look(root: Path, present: set[str], tops: tuple[str, ...] = ()) -> GitState | None:
    """The state of the git folder `root`, judged by `present`, the files of it that are read; None where it is none.

    A file that the commit lacks counts as a difference unless git ignores it, as what a build writes; one that is gone
    counts below the folders `tops` (everywhere where empty) unless a sparse checkout left it out.
    """
    try:
        with _opened(root) as repository:
            # GitPython's own `head` reads the files below refs/, which a repository with reftables does not have.
            commit = str(repository.git.rev_parse("--verify", "HEAD^{commit}")).strip()
        if len(commit) == 64:
            return GitState(commit, modified=True)  # its objects have SHA-256 names, and files are hashed by SHA-1 here
        return GitState(commit, _differs(Git(root, git_dir=root / ".git"), commit, present, tops))
    except GitFailed:
        return None


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
    """Path, blob and kind ("file", "link", "other") of everything in `commit` of the git folder. Raises GitFailed."""
    with _opened(folder) as repository:
        for entry in repository.commit(commit).tree.traverse():
            if isinstance(entry, (git.Blob, git.Submodule)):
                kind = "file" if entry.mode in _FILES else "link" if entry.mode == _LINK else "other"
                yield str(entry.path), entry.hexsha, kind


@contextmanager
def _opened(folder: Path) -> Iterator[git.Repo]:
    """The repository of a git folder. Whatever GitPython raises in there becomes GitFailed."""
    try:
        with Repository(folder, expand_vars=False) as repository:
            yield repository
    except _UNREADABLE as error:
        raise GitFailed([str(error)], None) from error


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
