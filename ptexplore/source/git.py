"""Run git through GitPython so that nothing but git itself runs: no hooks, no helpers, nobody's configuration.

What is switched off, by git's own documentation (git-config, git, gitattributes): hooks, fsmonitor, pagers, credential
helpers and prompts, external diffs, system and global configuration, object replacement, and every transport that was
not asked for. A configuration inside a repository is overridden from the command line, which it cannot undo.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ptexplore.errors import MISSING, PtexploreError

OLDEST = (2, 32)  # the first that knows GIT_CONFIG_GLOBAL
STALL = 180.0  # seconds without a word from git before it is taken for hanging
_REMEMBERED = 60  # lines of what git said last

_OVERRIDES = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.askPass=",
    "core.pager=cat",
    "core.editor=false",
    "core.alternateRefsCommand=false",
    "core.autocrlf=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "credential.helper=",
    "diff.external=",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "http.lowSpeedLimit=500",
    "http.lowSpeedTime=30",
    "advice.detachedHead=false",
)
_KEPT = frozenset({"GIT_SSL_CAINFO", "GIT_SSL_CAPATH"})  # certificates of a company's own proxy
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # set and empty: git asks no other helper either
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=15 -oServerAliveInterval=15 -oServerAliveCountMax=4",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PYTHON_REFRESH": "quiet",  # a git that is missing or odd is our message, not an ImportError
}


class Watcher(Protocol):
    """A Progress that also shows a word on the step that is running (how much, how fast)."""

    def step(self, name: str, done: float | None = None) -> None:
        """As in source/progress.py."""

    def detail(self, text: str) -> None:
        """`text` belongs to the step that is running."""


class GitFailed(Exception):
    """git ended with an error; `lines` is what it said, `status` how it ended (None: we ended it, it hung)."""

    def __init__(self, lines: Sequence[str], status: int | None) -> None:
        super().__init__("; ".join(lines) or f"git ended with {status}")
        self.lines = list(lines)
        self.status = status


@dataclass(frozen=True)
class Git:
    """git in one folder. `protocols` are the transports it may use; none at all is right for reading.

    `git_dir` names the repository where git must not look for one; `hold` is a descriptor that git keeps open; `url` is
    that of its remote "origin" where that must stand in no file and no command line, since it may hold a password.
    """

    folder: Path
    protocols: tuple[str, ...] = ()
    git_dir: Path | None = None
    hold: int | None = None
    url: str | None = None

    def read(self, *arguments: str) -> bytes:
        """What `git arguments` prints. Raises GitFailed."""
        command = self._command(arguments)
        import git.cmd

        with _clean_environment(self.protocols, self.url):
            status, out, err = git.cmd.Git(self.folder).execute(
                command,
                with_extended_output=True,
                with_exceptions=False,
                stdout_as_string=False,
                strip_newline_in_stdout=False,
            )
        if status:
            raise GitFailed(str(err).splitlines(), status)
        return bytes(out)

    def line(self, *arguments: str) -> str:
        """The one line that `git arguments` prints. Raises GitFailed."""
        return self.read(*arguments).decode("utf-8", errors="replace").strip()

    def watch(self, arguments: Sequence[str], on_line: Callable[[str], None], stdin: bytes = b"") -> None:
        """Run `git arguments` and hand on each line of its progress. Raises GitFailed; ends git when interrupted."""
        command = self._command(arguments)
        import git.cmd

        said: list[str] = []
        heard = [time.monotonic()]

        def hear(line: str) -> None:
            heard[0] = time.monotonic()
            said.append(line.strip())
            del said[:-_REMEMBERED]
            on_line(line.rstrip())

        with tempfile.TemporaryFile() as given, _clean_environment(self.protocols, self.url):
            given.write(stdin)
            given.seek(0)
            process = git.cmd.Git(self.folder).execute(
                command,
                istream=given,
                as_process=True,
                with_stdout=False,
                universal_newlines=True,
                errors="replace",
                start_new_session=True,  # git's own children can be ended with it
                pass_fds=(self.hold,) if self.hold is not None else (),
            )
            running: Any = process.proc
            with _ending(running, heard) as stalled:
                git.cmd.handle_process_output(process, None, hear, decode_streams=False)
                status = running.wait()
        if status or stalled:
            raise GitFailed(said, None if stalled else status)

    def _command(self, arguments: Sequence[str]) -> list[str]:
        where = [f"--git-dir={self.git_dir}", f"--work-tree={self.folder}"] if self.git_dir else []
        return [executable(), "--no-pager", *where, *(p for o in _OVERRIDES for p in ("-c", o)), *arguments]


@functools.cache
def executable() -> str:
    """The absolute path of a git that is new enough. Raises PtexploreError(MISSING)."""
    found = shutil.which("git")
    hint = "install git, or give an unpacked folder or an archive: ptexplore fetch --from FILE"
    if found is None:
        raise PtexploreError("git is not there", "fetch runs it, and no folder of PATH holds it", hint, MISSING)
    with _clean_environment(()):
        import git.cmd  # which runs git itself when it is first imported

        said = str(git.cmd.Git().execute([found, "--version"], with_exceptions=False))
    match = re.search(r"(\d+)\.(\d+)", said)
    if match is None or (int(match[1]), int(match[2])) < OLDEST:
        why = f"{found} is {said.strip()[:60] or 'silent'}; fetch needs {OLDEST[0]}.{OLDEST[1]} or later"
        raise PtexploreError("this git is too old", why, hint, MISSING)
    return found


@contextlib.contextmanager
def _clean_environment(protocols: tuple[str, ...], url: str | None = None) -> Iterator[None]:
    """The environment that git gets: none of the caller's own GIT_ variables, and ours.

    GitPython can add variables and cannot take any away, so it is done around it.
    """
    saved = {name: value for name, value in os.environ.items() if name.startswith("GIT_") and name not in _KEPT}
    ours = {**_ENVIRONMENT, "GIT_ALLOW_PROTOCOL": ":".join(protocols)}
    if url is not None:
        ours |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "remote.origin.url", "GIT_CONFIG_VALUE_0": url}
    for name in saved:
        del os.environ[name]
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)
        os.environ.update(saved)


@contextlib.contextmanager
def _ending(process: Any, heard: list[float]) -> Iterator[list[bool]]:
    """While in here, git is ended when it says nothing for long; after here, nothing of it is left running.

    Yields a list that is non-empty when git was ended for its silence.
    """
    stalled: list[bool] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(1.0):
            if time.monotonic() - heard[0] > STALL:
                stalled.append(True)
                _kill(process.pid)
                return

    watchman = threading.Thread(target=watch, daemon=True)
    watchman.start()
    try:
        yield stalled
    finally:
        over.set()
        watchman.join()
        _kill(process.pid)
        process.wait()


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
