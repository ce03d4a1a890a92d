"""A git repository as GitPython reads it, without running anything that the repository configures.

GitPython asks git for refs and objects. `IsolatedGit` is the git that it asks: started by git.py, in an environment of
its own. GitPython's own `Repo.is_dirty` and `Repo.untracked_files` are not used, since they run a folder's filters.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import git
from git.exc import GitCommandError, GitError
from git.objects import Tree

from ptexplore.source.fetch.git import Git, GitFailed

_FILES = {0o100644, 0o100755, 0o100664}
_LINK = 0o120000
# What GitPython raises for a repository that is damaged, or that it does not know how to read.
_UNREADABLE = (GitError, ValueError, KeyError, IndexError, AssertionError, OSError, git.BadObject)


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


def head_of(folder: Path) -> str:
    """The id of the commit that HEAD names in the git folder. Raises GitFailed."""
    with _unreadable_is_failed(), Repository(folder, expand_vars=False) as repository:
        # GitPython's own `head` reads the files below refs/, which a repository with reftables does not have.
        return str(repository.git.rev_parse("--verify", "HEAD^{commit}")).strip()


def tree_of(folder: Path, commit: str) -> Iterator[tuple[str, str, str]]:
    """Path, blob and kind ("file", "link", "other") of everything in `commit` of the git folder. Raises GitFailed."""
    with _unreadable_is_failed(), Repository(folder, expand_vars=False) as repository:
        trees = [repository.commit(commit).tree]
        while trees:
            for entry in trees.pop():
                if isinstance(entry, Tree):
                    trees.append(entry)
                else:
                    kind = "file" if entry.mode in _FILES else "link" if entry.mode == _LINK else "other"
                    yield str(entry.path), entry.hexsha, kind


@contextmanager
def _unreadable_is_failed() -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        raise GitFailed([str(error)], None) from error
