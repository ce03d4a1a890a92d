"""Run git so that nothing but git itself runs: no hooks, no helpers, nobody's configuration.

What is switched off, by git's own documentation (git-config, git, gitattributes): hooks, fsmonitor, pagers, credential
helpers and prompts, external diffs, system and global configuration, object replacement, and every transport that was
not asked for. A configuration inside a repository is overridden from the command line, which it cannot undo. Each git
gets an environment of its own; that of this process is read and never edited, since other threads may be using it.
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

OLDEST = (2, 32)  # the first that knows GIT_CONFIG_GLOBAL
STALL = 180.0  # seconds without a word from git before it is taken for hanging
MEMORY = 2 * 1024**3  # bytes that a git may take that reads: PyTorch's own whole history needs a tenth
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
    "LANGUAGE": "C",  # what git says is read here
    "LC_ALL": "C",
}


class GitFailed(Exception):
    """git ended with an error; `lines` is what it said, `status` how it ended (None: we ended it, it hung)."""

    def __init__(self, lines: Iterable[str], status: int | None) -> None:
        self.lines = list(lines)
        super().__init__("; ".join(self.lines) or f"git ended with {status}")
        self.status = status


class TreeTooLarge(GitFailed):
    """A commit lists more than any source does: the same folder may stand in a tree of git's as often as one likes."""

    def __init__(self, what: str) -> None:
        super().__init__([f"its commit {what}, which no source of PyTorch's has"], None)


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

    def read(self, *arguments: str, seconds: float = STALL, given: bytes | None = None) -> bytes:
        """What `git arguments` prints for what it is given, which has so much time, and MEMORY. Raises GitFailed."""
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
        """The one line that `git arguments` prints. Raises GitFailed."""
        return self.read(*arguments, seconds=seconds).decode("utf-8", errors="replace").strip()

    def records(self, arguments: Sequence[str], longest: int) -> Iterator[bytes]:
        """Each record that `git arguments` prints, which ends in a NUL; git is ended where nobody asks for more.

        Raises GitFailed, also where a record has more than `longest` bytes.
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
                        raise GitFailed([f"git {arguments[0]} named something of more than {longest} bytes"], None)
                    yield from rows
                    if not chunk:
                        break
                else:
                    raise GitFailed([f"git {arguments[0]} said nothing for {STALL:.0f} seconds"], None)
                process.wait(STALL)
            finally:
                process.kill()
            errors.seek(0)
            if process.returncode:
                lines = errors.read(1 << 16).decode("utf-8", errors="replace").splitlines()
                raise GitFailed(lines, process.returncode)

    def watch(self, arguments: Sequence[str], on_line: Callable[[str], None], stdin: bytes = b"") -> None:
        """Run `git arguments` and hand on each line of its progress. Raises GitFailed; ends git when interrupted."""
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
                        os.killpg(process.pid, signal.SIGKILL)  # whatever git left running
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
        """`git arguments`, started; in a new session, git's own children can be ended with it.

        It may take so much `memory`, where the system can limit that; files that it maps do not count.
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
            with contextlib.suppress(OSError, ValueError):  # it ended, or has less already
                resource.prlimit(process.pid, resource.RLIMIT_DATA, (memory, memory))
        return process


@functools.cache
def executable() -> str:
    """The absolute path of a git that is new enough. Raises PtexploreError(MISSING)."""
    path = shutil.which("git")
    hint = "install git, or give an unpacked folder or an archive: ptexplore fetch --from FILE"
    if path is None:
        raise PtexploreError("git is not there", "fetch runs it, and no folder of PATH holds it", hint, MISSING)
    run = subprocess.run([path, "--version"], env=_environment(()), capture_output=True, check=False)
    version = run.stdout.decode("utf-8", errors="replace").strip()
    match = re.search(r"(\d+)\.(\d+)", version)
    if match is None or (int(match[1]), int(match[2])) < OLDEST:
        why = f"{path} is {version[:60] or 'silent'}; fetch needs {OLDEST[0]}.{OLDEST[1]} or later"
        raise PtexploreError("this git is too old", why, hint, MISSING)
    return path


@functools.cache
def import_gitpython() -> None:
    """Import GitPython, once git is known to be there. Raises PtexploreError(MISSING).

    Its import runs `git version` in the environment of this process. So the caller's GIT_ variables (GIT_TRACE writes
    files) are put aside meanwhile, but only while no other thread runs that could miss them or start a process.
    """
    executable()
    alone = threading.active_count() == 1
    aside = {name: os.environ.pop(name) for name in list(os.environ) if alone and name.startswith("GIT_")}
    try:
        import git  # noqa: F401
    finally:
        os.environ.update(aside)


def _environment(protocols: tuple[str, ...], url: str | None = None) -> dict[str, str]:
    """The environment of one git: none of the caller's own GIT_ variables, and ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    ours = {**_ENVIRONMENT, "GIT_ALLOW_PROTOCOL": ":".join(protocols)}
    if url is not None:
        ours |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "remote.origin.url", "GIT_CONFIG_VALUE_0": url}
    return kept | ours


def _progress_lines(stream: IO[bytes]) -> Iterator[str]:
    """Each line that git says. Raises TimeoutExpired when it says nothing for long."""
    rest = b""
    while select.select([stream], [], [], STALL)[0]:
        chunk = os.read(stream.fileno(), 1 << 16)
        # git ends a line of progress with a carriage return.
        *lines, rest = re.split(rb"[\r\n]", rest + chunk) if chunk else (rest, b"")
        yield from (line.decode("utf-8", errors="replace").rstrip() for line in lines if line)
        if not chunk:
            return
    raise subprocess.TimeoutExpired("git", STALL)
