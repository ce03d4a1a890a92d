"""Whether a function of Python begins or goes on: of a generator each resumption is told as a call."""

from __future__ import annotations

import dis
import functools
import inspect
from types import CodeType, FrameType

RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def goes_on(frame: FrameType) -> bool:
    """Whether a frame that is entered is a generator's, or a coroutine's, that has run before."""
    code = frame.f_code
    return bool(code.co_flags & RESUMED) and frame.f_lasti > _beginning(code)


@functools.cache
def _beginning(code: CodeType) -> int:
    """The instruction at which a generator, or a coroutine, is when it is called; where it goes on it is further on."""
    first = (each.offset for each in dis.get_instructions(code) if each.opname == "RESUME")
    return next(first, -1)
