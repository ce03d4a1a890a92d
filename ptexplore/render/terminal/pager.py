"""Shows long text through the reader's own pager, and opens files in the reader's own editor."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from ptexplore.errors import FAILED, USAGE, PtexploreError

_LESS = "FRX"  # quit if it fits one screen, keep colours, and leave the screen as it is
_PLUS = ("vi", "vim", "nvim", "gvim", "view", "nano", "pico", "emacs", "emacsclient", "ed", "joe", "mg", "micro", "jed",
         "less", "kak", "ne")  # fmt: skip
_COLON = ("hx", "helix", "subl", "sublime_text", "zed", "cursor-cli")
_HINT = "EDITOR=vim ptexplore show … --open"
_GOTO = ("code", "code-insiders", "codium", "cursor", "windsurf")


def page(lines: Iterable[str], *, wanted: bool) -> None:
    """Print `lines`, through $PAGER (default: less -R) if this is `wanted` and they do not fit the terminal."""
    pending = iter(lines)
    command = None
    if wanted and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        height = shutil.get_terminal_size().lines
        head = list(islice(pending, height - 1))
        pending = chain(head, pending)
        command = _pager() if len(head) == height - 1 else None
    if command is not None:
        _through(command, pending)
        return
    for line in pending:
        sys.stdout.write(f"{line}\n")


def _pager() -> list[str] | None:
    """Returns the pager's command; None if it is not on the path, or the reader wants none (`cat`, empty)."""
    asked = os.environ.get("PTEXPLORE_PAGER", os.environ.get("PAGER", "less -R"))
    try:
        command = shlex.split(asked)
    except ValueError:
        return None
    wanted = command and command[0] != "cat" and shutil.which(command[0]) is not None
    return command if wanted else None


def _through(command: list[str], lines: Iterator[str]) -> None:
    environment = {"LESS": _LESS, "LESSCHARSET": "utf-8"} | dict(os.environ)
    sys.stdout.flush()
    child = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    assert child.stdin is not None
    try:
        for line in lines:
            child.stdin.write(f"{line}\n".encode("utf-8", "replace"))
    except BrokenPipeError:
        pass  # the reader left before the end
    finally:
        with contextlib.suppress(BrokenPipeError):
            child.stdin.close()
        while child.returncode is None:
            with contextlib.suppress(KeyboardInterrupt):  # the key is meant for the pager
                child.wait()


def editor_command(editor: str, file: str, line: int) -> list[str]:
    """Returns the command that opens `file` at `line`. Raises PtexploreError(USAGE) if `editor` is no command line."""
    try:
        command = shlex.split(editor)
    except ValueError as error:
        raise PtexploreError("the editor cannot be started", f"{editor}: {error}", "EDITOR=vim", USAGE) from error
    if not command:
        raise PtexploreError("no editor is set", "neither VISUAL nor EDITOR is set", _HINT, USAGE)
    name = os.path.basename(command[0]).removesuffix(".exe")
    if name in _GOTO:
        return [*command, "-g", f"{file}:{line}"]
    if name in _COLON:
        return [*command, f"{file}:{line}"]
    return [*command, f"+{line}", file] if name in _PLUS else [*command, file]


def open_in_editor(file: str, line: int) -> None:
    """Open `file` at `line` in $VISUAL or $EDITOR and wait for it. Raises PtexploreError if that fails."""
    command = editor_command(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "", file, line)
    try:
        status = subprocess.run(command, check=False).returncode
    except OSError as error:
        why = f"{command[0]}: {error.strerror or error}"
        raise PtexploreError("the editor cannot be started", why, _HINT, FAILED) from error
    if status:
        raise PtexploreError("the editor failed", f"{command[0]} ended with {status}", f"{command[0]} {file}", FAILED)
