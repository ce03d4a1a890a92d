"""Hold signals back: while a recorder is put in place or taken away, no signal handler of the program runs.

A handler runs in the main thread between two instructions of Python, and may raise. If it raised inside the code of a
recorder, only half of the hooks would be set. So the program's handlers are replaced by a C function that only notes
which signal came. Afterwards the handlers are put back, and each handler whose signal came is called.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the C part of `signal`
import _thread
import ctypes
import functools
import signal
import threading
from collections import deque
from types import CodeType, TracebackType
from typing import Any

NUMBERS = tuple(sorted(signal.valid_signals()))
ACTION = 512  # bytes: more than the struct sigaction of any system
_get_handler, _set_handler = _signal.getsignal, _signal.signal  # the C functions: a program may replace `signal`'s own
_interrupt: Any = _thread.interrupt_main
_get_ident, _main_thread = _thread.get_ident, threading.main_thread


class HeldSignals:
    """Holds the signals of this process from `hold` to `release` or `put_back`; in another thread it does nothing.

    Each of these may be called again, in case an exception interrupted the first call. Objects may be nested.
    """

    def __init__(self) -> None:
        self.came: dict[int, Any] = {}  # the signals that came meanwhile; each is listed once, as in the system
        self._before: list[tuple[int, Any, Any]] = []  # number, handler, and the system's record of the handler

    @property
    def is_holding(self) -> bool:
        """Whether a handler is still to be put back."""
        return bool(self._before)

    def hold(self) -> None:
        """Hold the signals. A handler whose signal came before may still raise here."""
        if _get_ident() != _main_thread().ident:
            return
        for number in NUMBERS:
            handler = _get_handler(number)
            if callable(handler):
                # Noted before the handler is replaced: putting back a handler that is still there does no harm.
                self._before.append((number, handler, _action(number)))
                _set_handler(number, self.came.setdefault)

    def put_back(self) -> None:
        """Put the handlers back. They do not hear yet of the signals that came, which stay in `came`."""
        try:
            self._put_back()
        except BaseException:  # a handler that was back already raised: put back the others, too
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
        """Put the handlers back, and have them called for the signals that came. Raises what the handlers raise."""
        try:
            self.put_back()
        finally:
            numbers = list(self.came)
            self.came.clear()
            # All at once, in C: if the first handler raises, the others are called later, and no signal is lost.
            deque(map(_interrupt, numbers), maxlen=0)


@functools.cache
def _system_action() -> Any:
    """Returns `sigaction` of the C library; None if it has none."""
    try:
        return ctypes.PyDLL(None).sigaction
    except (OSError, AttributeError, TypeError):
        return None


def _action(number: int) -> Any:
    """Returns the system's action for a signal, as a struct sigaction; None if it cannot be read."""
    ask = _system_action()
    if ask is None:
        return None
    action = ctypes.create_string_buffer(ACTION)
    return action if ask(number, None, action) == 0 else None


def is_the_programs(error: BaseException) -> bool:
    """Returns whether an exception from a recorder's own code is the program's, raised by a handler of a signal.

    Ctrl-C, an exit and similar exceptions count as the program's. Others count if they came through a handler.
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
    """Returns the code of the Python function that a handler is or calls; None if there is none."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    for named in (handler, getattr(handler, "__func__", None), vars(type(handler)).get("__call__")):
        code = getattr(named, "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None


_system_action()
