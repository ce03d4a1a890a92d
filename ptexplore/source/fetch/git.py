"""Runs git so that only git itself runs: no hooks, no helpers, nobody's configuration.

These are switched off, according to git's documentation (git-config, git, gitattributes): hooks, fsmonitor, pagers,
credential helpers, prompts and external diffs. So are system and global configuration, object replacement, and every
transport that was not asked for. The command line overrides the configuration inside a repository. Each git process
gets its own environment. The environment of this process is never changed, since other threads may be using it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from ptexplore.errors import MISSING, PtexploreError

OLDEST = (2, 32)  # the first version that knows GIT_CONFIG_GLOBAL
STALL = 180.0  # seconds without output after which git is taken for hanging
MEMORY = 2 * 1024**3  # bytes of memory for a git that reads; PyTorch's whole history needs a tenth
_REMEMBERED = 60  # last lines of git's output

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
_KEPT = frozenset({"GIT_SSL_CAINFO", "GIT_SSL_CAPATH"})  # certificates of a company's proxy
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # set, but empty: so git calls no other helper either
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=15 -oServerAliveInterval=15 -oServerAliveCountMax=4",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LANGUAGE": "C",  # git's messages are parsed here
    "LC_ALL": "C",
}


class GitFailed(Exception):
    """git ended with an error. `lines` is its output; `status` is its exit code, or None if it hung and was killed."""

    def __init__(self, lines: Iterable[str], status: int | None) -> None:
        self.lines = list(lines)
        super().__init__("; ".join(self.lines) or f"git ended with {status}")
        self.status = status


class TreeTooLarge(GitFailed):
    """A commit lists more than any source has: a tree of git may contain the same folder any number of times."""

    def __init__(self, what: str) -> None:
        super().__init__([f"its commit {what}, unlike any source of PyTorch"], None)


@dataclass(frozen=True)
class Git:
    """git in one folder. `protocols` are the transports that it may use; none are needed for reading.

    `git_dir` names the repository if git must not search for one. `hold` is a descriptor that git keeps open. `url` is
    the address of the remote "origin": it may contain a password, so it must be in no file and no command line.
    """

    folder: Path
    protocols: tuple[str, ...] = ()
    git_dir: Path | None = None
    hold: int | None = None
    url: str | None = None

    def read(self, *arguments: str, seconds: float = STALL, given: bytes | None = None) -> bytes:
        """Returns the output of `git arguments`; `given` is its input. Time and memory are limited.

        Raises GitFailed.
        """
        stdin = subprocess.DEVNULL if given is None else subprocess.PIPE
        with self.start(arguments, stdin=stdin, memory=MEMORY) as process:
            try:
                out, err = process.communicate(given, timeout=seconds)
            except subprocess.TimeoutExpired as error:
                process.kill()
                raise GitFailed([f"git {arguments[0]} did not end within {seconds:.0f} seconds"], None) from error
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise GitFailed(err.decode("utf-8", errors="replace").splitlines(), process.returncode)
        return bytes(out)

    def line(self, *arguments: str, seconds: float = STALL) -> str:
        """Returns the only line that `git arguments` prints. Raises GitFailed."""
        return self.read(*arguments, seconds=seconds).decode("utf-8", errors="replace").strip()

    def records(self, arguments: Sequence[str], longest: int) -> Iterator[bytes]:
        """Yields each record of the output of `git arguments`, which ends with a NUL. Closing the iterator kills git.

        Raises GitFailed, also if a record has more than `longest` bytes.
        """
        with (
            tempfile.TemporaryFile() as errors,
            self.start(arguments, stderr=errors.fileno(), memory=MEMORY) as process,
        ):
            stream, rest = cast("IO[bytes]", process.stdout), b""
            try:
                while select.select([stream], [], [], STALL)[0]:
                    chunk = os.read(stream.fileno(), 1 << 16)
                    *rows, rest = (rest + chunk).split(b"\0")
                    if len(rest) > longest or any(len(row) > longest for row in rows):
                        raise GitFailed([f"git {arguments[0]} printed a name of more than {longest} bytes"], None)
                    yield from rows
                    if not chunk:
                        break
                else:
                    raise GitFailed([f"git {arguments[0]} printed nothing for {STALL:.0f} seconds"], None)
                process.wait(STALL)
            finally:
                process.kill()
            errors.seek(0)
            if process.returncode:
                lines = errors.read(1 << 16).decode("utf-8", errors="replace").splitlines()
                raise GitFailed(lines, process.returncode)

    def watch(self, arguments: Sequence[str], on_line: Callable[[str], None], stdin: bytes = b"") -> None:
        """Runs `git arguments` and passes on each line of progress. Raises GitFailed; kills git when interrupted."""
        lines: deque[str] = deque(maxlen=_REMEMBERED)
        status = None
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            with self.start(arguments, stdin=given, stdout=subprocess.DEVNULL, new_session=True) as process:
                try:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        for line in _progress_lines(cast("IO[bytes]", process.stderr)):
                            lines.append(line.strip())
                            on_line(line)
                        status = process.wait(STALL)
                finally:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL)  # kills all processes that git started
        if status != 0:
            raise GitFailed(lines, status)

    def start(
        self,
        arguments: Sequence[str],
        *,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        new_session: bool = False,
        memory: int | None = None,
    ) -> subprocess.Popen[bytes]:
        """Starts `git arguments`. In a new session, its child processes can be killed together with it.

        `memory` is its limit in bytes, if the system supports one; memory-mapped files do not count.
        """
        where = [f"--git-dir={self.git_dir}", f"--work-tree={self.folder}"] if self.git_dir else []
        process = subprocess.Popen(
            [executable(), "--no-pager", *where, *(p for o in _OVERRIDES for p in ("-c", o)), *arguments],
            cwd=self.folder,
            env=_environment(self.protocols, self.url),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=new_session,
            pass_fds=(self.hold,) if self.hold is not None else (),
        )
        if memory is not None and hasattr(resource, "prlimit"):
            with contextlib.suppress(OSError, ValueError):  # git has ended, or has a lower limit already
                resource.prlimit(process.pid, resource.RLIMIT_DATA, (memory, memory))
        return process


@functools.cache
def executable() -> str:
    """Returns the absolute path of a git that is new enough. Raises PtexploreError(MISSING)."""
    path = shutil.which("git")
    hint = "install git, or give an unpacked folder or an archive: ptexplore fetch --from FILE"
    if path is None:
        raise PtexploreError(
            "git is not installed", "ptexplore fetch runs git, and no folder of PATH has it", hint, MISSING
        )
    run = subprocess.run([path, "--version"], env=_environment(()), capture_output=True, check=False)
    version = run.stdout.decode("utf-8", errors="replace").strip()
    match = re.search(r"(\d+)\.(\d+)", version)
    if match is None or (int(match[1]), int(match[2])) < OLDEST:
        why = f"{path} is {version[:60] or 'of an unknown version'}; fetch needs {OLDEST[0]}.{OLDEST[1]} or later"
        raise PtexploreError("this git is too old", why, hint, MISSING)
    return path


@functools.cache
def import_gitpython() -> None:
    """Imports GitPython, after checking that git exists. Raises PtexploreError(MISSING).

    Its import runs `git version` in the environment of this process. So the user's GIT_ variables (GIT_TRACE writes
    files) are removed meanwhile, but only if no other thread could miss them or start a process.
    """
    executable()
    alone = threading.active_count() == 1
    aside = {name: os.environ.pop(name) for name in list(os.environ) if alone and name.startswith("GIT_")}
    try:
        import git  # noqa: F401
    finally:
        os.environ.update(aside)


def _environment(protocols: tuple[str, ...], url: str | None = None) -> dict[str, str]:
    """Returns the environment of a git process: the user's GIT_ variables are replaced by this module's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    ours = {**_ENVIRONMENT, "GIT_ALLOW_PROTOCOL": ":".join(protocols)}
    if url is not None:
        ours |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "remote.origin.url", "GIT_CONFIG_VALUE_0": url}
    return kept | ours


def _progress_lines(stream: IO[bytes]) -> Iterator[str]:
    """Yields each line of git's output. Raises TimeoutExpired if there is none for too long."""
    rest = b""
    while select.select([stream], [], [], STALL)[0]:
        chunk = os.read(stream.fileno(), 1 << 16)
        # git ends a line of progress with a carriage return.
        *lines, rest = re.split(rb"[\r\n]", rest + chunk) if chunk else (rest, b"")
        yield from (line.decode("utf-8", errors="replace").rstrip() for line in lines if line)
        if not chunk:
            return
    raise subprocess.TimeoutExpired("git", STALL)
