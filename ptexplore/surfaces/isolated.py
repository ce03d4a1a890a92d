"""Runs a ptexplore command for code that an agent wrote: in a folder of its own, with limits, without the network.

The limits are the system's. What the code writes in your folders stays written: only the network is closed, and only
where the system allows it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

GRACE = 30.0  # seconds for ptexplore's own work beside the limit of the code
MOST_OUTPUT = 8 << 20  # bytes of output that are read


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Seconds of one run, and bytes of memory of each of its processes."""

    seconds: float = 60.0
    memory: int = 8 << 30


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed. `code` is its exit code. `is_over`: it was ended after the time limit."""

    out: str
    err: str
    code: int
    is_over: bool = False


async def run(words: Sequence[str], limits: RunLimits, width: int) -> Ran:
    """Runs `ptexplore WORDS`, for output of `width` columns. A cancelled task ends the process and its children."""
    with tempfile.TemporaryDirectory(prefix="ptexplore-run-", ignore_cleanup_errors=True) as folder:
        command = [*without_network(), sys.executable, "-m", "ptexplore", *words]
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env=os.environ | {"COLUMNS": str(width), "NO_COLOR": "1"}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, limit=MOST_OUTPUT,
        )  # fmt: skip
        _limit(process.pid, limits.memory)  # at once: Python itself takes longer to begin
        try:
            out, err = await asyncio.wait_for(process.communicate(), limits.seconds + GRACE)
        except asyncio.TimeoutError:
            return Ran("", "", -signal.SIGKILL, is_over=True)
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return Ran(_text(out), _text(err), process.returncode or 0)


def _text(data: bytes) -> str:
    return data[:MOST_OUTPUT].decode("utf-8", "replace")


def _limit(process: int, memory: int) -> None:
    """Limits the memory that a process and its children can write to. A reserved range of a GPU does not count."""
    import resource

    with contextlib.suppress(ValueError, OSError):  # a lower limit is set already, or the process has ended
        resource.prlimit(process, resource.RLIMIT_DATA, (memory, memory))
        resource.prlimit(process, resource.RLIMIT_CORE, (0, 0))


@lru_cache(maxsize=1)
def without_network() -> tuple[str, ...]:
    """Returns the words before a command that close the network for it: none if the system does not allow it."""
    unshare = shutil.which("unshare")
    true = shutil.which("true")
    if unshare is None or true is None:
        return ()
    words = (unshare, "--net", "--map-root-user") if os.getuid() else (unshare, "--net")
    try:
        done = subprocess.run([*words, true], capture_output=True, stdin=subprocess.DEVNULL, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return words if done.returncode == 0 else ()
