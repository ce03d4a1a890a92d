"""End with the terminal: where it went away without a word (no SIGHUP), nobody could end the screen any more."""

from __future__ import annotations

import os
import select
import sys
import threading

from ptexplore.tui import jobs

HUNG_UP = 128 + 1  # as a shell tells of SIGHUP


def watch() -> None:
    """End this process, and what it started, once the terminal that it reads from is gone.

    In a thread of its own: the event loop may spin on a terminal that is always ready to read and has nothing. There is
    nothing to restore then.
    """
    stream = sys.__stdin__
    if stream is None or not stream.isatty():
        return
    poll = select.poll()
    poll.register(stream.fileno(), 0)  # errors and hang-ups are always told

    def wait() -> None:
        poll.poll()
        jobs.stop_all()
        os._exit(HUNG_UP)

    threading.Thread(target=wait, name="hangup", daemon=True).start()
