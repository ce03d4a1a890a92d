"""A command in a terminal of its own: typed to, read from, as wide and high as a test wants."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from tests.harness import Cli

_SGR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b\x07]*(?:\x07|\x1b\\)")


class Terminal:
    """`ptexplore` in a pseudo terminal. What it printed is text without colours and cursor moves."""

    def __init__(self, cli: Cli, *arguments: str, columns: int = 100, rows: int = 200, **env: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.settings = termios.tcgetattr(slave)
        environment = cli.environment() | {"TERM": "xterm", **env}
        for name in ("COLUMNS", "LINES"):  # the terminal says how wide and high it is
            environment.pop(name, None)
        self.child = subprocess.Popen(
            [cli.python, "-m", "ptexplore", *arguments],
            env=environment,
            cwd=cli.cwd,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            # Keys that send signals need a controlling terminal; no thread of ours runs meanwhile.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(slave)
        self.raw = ""

    def until(self, wanted: str, seconds: float = 90) -> str:
        """What is printed up to and with what fits `wanted`; fails where that does not come."""
        end = time.monotonic() + seconds
        while (found := re.search(wanted, plain(self.raw))) is None:
            if not self._read(end - time.monotonic()):
                raise AssertionError(f"{wanted!r} did not come:\n{plain(self.raw)[-3000:]}")
        self.raw, text = plain(self.raw)[found.end() :], plain(self.raw)[: found.end()]
        return text

    def prompt(self) -> str:
        """What is printed up to the next prompt of a walk."""
        return self.until(r"(?:quit|help) > ")

    def type(self, text: str) -> None:
        """Type something; a line where it ends in a line break."""
        time.sleep(0.3)  # a prompt stands there before its reader does, and that drops what was typed earlier
        os.write(self.master, text.encode())

    def end(self, seconds: float = 60) -> tuple[int, str]:
        """The exit code, and what was printed until then."""
        end = time.monotonic() + seconds
        while self._read(end - time.monotonic()):
            pass
        code = self.child.wait(max(end - time.monotonic(), 1))
        os.close(self.master)
        return code, plain(self.raw)

    def _read(self, seconds: float) -> bool:
        if seconds <= 0 or not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # the child is gone
            return False
        self.raw += data.decode("utf-8", "replace")
        return bool(data)


def plain(text: str) -> str:
    """Without colours, and with one kind of line end."""
    return _SGR.sub("", text).replace("\r\n", "\n")


def editor(folder: Path) -> str:
    """An editor that writes what it was asked to open into `folder`/opened."""
    script = folder / "an editor.py"
    script.write_text(f"import sys\nopen({str(folder / 'opened')!r}, 'w').write('\\n'.join(sys.argv[1:]))\n")
    return f"{sys.executable} '{script}'"
