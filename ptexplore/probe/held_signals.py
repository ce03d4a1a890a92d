"""Signals that wait: while a recorder is put in place or taken away, no handler of the program's runs.

A handler runs in the main thread between two instructions of Python, and may raise. Raised inside of a recorder's own
code, that would leave half of the hooks set. So the handlers of the program are replaced by a function of C that only
notes which signal came; afterwards they are put back, and each signal that came is told to them.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # C's part of `signal`
import _thread
import ctypes
import functools
import signal
import threading
from collections import deque
from types import CodeType, TracebackType
from typing import Any

NUMBERS = tuple(sorted(signal.valid_signals()))
ACTION = 512  # bytes: more than any system's struct sigaction
_get_handler, _set_handler = _signal.getsignal, _signal.signal  # C's: a program may replace what `signal` calls
_interrupt: Any = _thread.interrupt_main
_get_ident, _main_thread = _thread.get_ident, threading.main_thread


class HeldSignals:
    """Holds the signals of this process from `hold` to `release`, or to `put_back`; in another thread it does nothing.

    Both may be called again, as where an exception came between. One may be inside of another.
    """

    def __init__(self) -> None:
        self.came: dict[int, Any] = {}  # the signals that came meanwhile, each once, as the system has it
        self._before: list[tuple[int, Any, Any]] = []  # number, handler, how the system knows it

    @property
    def is_holding(self) -> bool:
        """Whether a handler is still to be put back."""
        return bool(self._before)

    def hold(self) -> None:
        """Hold them. A handler that was due before may still raise here."""
        if _get_ident() != _main_thread().ident:
            return
        for number in NUMBERS:
            handler = _get_handler(number)
            if callable(handler):
                # Known before it is replaced: to put back what is there does no harm.
                self._before.append((number, handler, _action(number)))
                _set_handler(number, self.came.setdefault)

    def put_back(self) -> None:
        """Put the handlers back. They know nothing yet of the signals that came, which stay in `came`."""
        try:
            self._put_back()
        except BaseException:  # a handler that was back already raised: the others are put back too
            self._put_back()
            raise

    def _put_back(self) -> None:
        while self._before:
            number, handler, action = self._before[-1]
            _set_handler(number, handler)
            if action is not None:
                _system_action()(number, action, None)  # with its flags, as siginterrupt sets them
            self._before.pop()

    def release(self) -> None:
        """Put the handlers back, and have them called for the signals that came. Raises what they raise."""
        try:
            self.put_back()
        finally:
            numbers = list(self.came)
            self.came.clear()
            # All at once, in C: if the first handler raises, the others' turn comes later, and none is lost.
            deque(map(_interrupt, numbers), maxlen=0)


@functools.cache
def _system_action() -> Any:
    """The C library's `sigaction`; None if it has none."""
    try:
        return ctypes.PyDLL(None).sigaction
    except (OSError, AttributeError, TypeError):
        return None


def _action(number: int) -> Any:
    """What the system does at a signal, as the system writes it; None if that cannot be asked for."""
    ask = _system_action()
    if ask is None:
        return None
    action = ctypes.create_string_buffer(ACTION)
    return action if ask(number, None, action) == 0 else None


def is_the_programs(error: BaseException) -> bool:
    """Whether an exception that came out of a recorder's own code is the program's: a handler of a signal raised it.

    A Ctrl-C, an exit and their like are. Any other exception is if one of the functions that it left is a handler.
    """
    if not isinstance(error, Exception):
        return True
    if isinstance(error, (RecursionError, MemoryError)):
        return False
    handlers = [handler for number in NUMBERS if callable(handler := _get_handler(number))]
    codes = {code for handler in handlers if (code := _code(handler)) is not None}
    at: TracebackType | None = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code in codes:
            return True
        at = at.tb_next
    return False


def _code(handler: Any) -> CodeType | None:
    """The code of a function of Python that a handler is, or calls; None for any other."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    for named in (handler, getattr(handler, "__func__", None), vars(type(handler)).get("__call__")):
        code = getattr(named, "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None


_system_action()
