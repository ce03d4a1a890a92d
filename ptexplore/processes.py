"""Start a Python child by the absolute path of its script, in a neutral folder, with a private JSON channel.

The child gets a pipe's descriptor as `--channel FD` and writes one JSON object a line to it; its
stdout stays free for whatever user code prints. Nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from ptexplore.safe_text import clean_json

PARENT = "PTEXPLORE_PARENT"  # names the variable that tells a child who started it
MESSAGE_LIMIT = 512 * 1024 * 1024  # bytes of one message; more than any honest capture needs


class ChannelError(Exception):
    """The child broke the channel's protocol: not JSON, not an object, or too much of it."""


class ChannelTimeout(Exception):
    """The child did not finish within its time."""


@contextlib.contextmanager
def starting_workers() -> Iterator[None]:
    """What multiprocessing starts in this block does not run the caller's own script first.

    The script of somebody who calls our API may have no `if __name__ == "__main__"`, and would then start itself. What
    our workers run stands in our modules, never in that script.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


@contextlib.contextmanager
def ending_workers() -> Iterator[None]:
    """What multiprocessing starts in this block is ended where an error or Ctrl-C ends the block.

    A pool waits for what its workers are at, which may take many seconds, and nobody wants that any more.
    """
    import multiprocessing

    before = set(multiprocessing.active_children())
    try:
        yield
    except BaseException:  # GeneratorExit too: whoever asked wants no more
        for worker in set(multiprocessing.active_children()) - before:
            worker.kill()
        raise


def end_with_parent(last: Callable[[], None] = lambda: None) -> None:
    """Have this process, which multiprocessing started, end when its parent does, even if that is killed.

    `last` is called before it ends.
    """
    import multiprocessing

    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            last()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@dataclass
class Child:
    """A running child: its process (leader of a process group of its own) and our end of its channel."""

    process: subprocess.Popen[bytes]
    channel: int
    _pending: bytearray = field(default_factory=bytearray)  # of a message that has not come whole

    def messages(
        self, timeout: float | None = None, extend: Callable[[dict[str, Any]], float | None] = lambda _: None
    ) -> Iterator[dict[str, Any]]:
        """Yield each message until the child closes the channel.

        `extend(message)` may give the seconds allowed from that message on. Raises ChannelTimeout when the
        time is up first, ChannelError on bad data.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        pending = self._pending
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise ChannelTimeout
            if not select.select([self.channel], [], [], left)[0]:
                raise ChannelTimeout
            chunk = os.read(self.channel, 1 << 20)
            if not chunk:
                if pending:
                    raise ChannelError("the last message is cut off")
                return
            pending += chunk
            if len(pending) > MESSAGE_LIMIT:
                raise ChannelError(f"a message is longer than {MESSAGE_LIMIT} bytes")
            if b"\n" in chunk:
                *lines, rest = bytes(pending).split(b"\n")
                pending[:] = rest
                for line in lines:
                    message = _decode(line)
                    more = extend(message)
                    deadline = deadline if more is None else time.monotonic() + more
                    yield message

    def interrupt(self) -> None:
        """Interrupt what the child runs as Ctrl-C would; `messages` can be asked again for what it answers."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGINT)

    def stop(self) -> int:
        """Kill whatever is left of the child's process group, reap it, close the channel; its exit status."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        status = self.process.wait()
        with contextlib.suppress(OSError):
            os.close(self.channel)
        return status


def _decode(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(clean_json(line))
    except (ValueError, RecursionError) as error:
        raise ChannelError(f"not JSON: {error}") from error
    if not isinstance(message, dict):
        raise ChannelError("a message is not an object")
    return message


def _ends_with_us() -> dict[str, str]:
    """The variable that has a child end when we do, however we end.

    The system tells a child that the thread is gone which started it: only the first thread lives as long as we do.
    """
    return {PARENT: str(os.getpid())} if threading.current_thread() is threading.main_thread() else {}


def start(
    python: str | Path,
    script: Path,
    arguments: Sequence[str] = (),
    *,
    stdin: int | IO[bytes] | None = subprocess.DEVNULL,
    stdout: int | IO[bytes] | None = subprocess.DEVNULL,
    stderr: int | IO[bytes] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Child:
    """Start `script` under `python`. The neutral folder is the script's own, which holds only our files.

    `environment` are variables that it gets besides ours.
    Raises OSError when `python` cannot be started.
    """
    reader, writer = os.pipe()
    try:
        process = subprocess.Popen(
            [str(python), "-B", str(script.resolve()), "--channel", str(writer), *arguments],
            cwd=script.resolve().parent,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, **_ends_with_us(), **(environment or {})},
            pass_fds=(writer,),
            start_new_session=True,
        )
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    return Child(process, reader)
