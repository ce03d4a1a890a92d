"""Distinguish the start of a Python function from a resumption: Python reports both as calls."""

from __future__ import annotations

import functools
import inspect
from types import CodeType, FrameType

from .taken import dis

RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def goes_on(frame: FrameType) -> bool:
    """Returns whether an entered frame belongs to a generator or coroutine that has run before."""
    code = frame.f_code
    return bool(code.co_flags & RESUMED) and frame.f_lasti > _beginning(code)


@functools.cache
def _beginning(code: CodeType) -> int:
    """Returns the instruction offset of a generator or coroutine that starts. A resumed one has a larger offset."""
    first = (each.offset for each in dis.get_instructions(code) if each.opname == "RESUME")
    return next(first, -1)
