"""The error that the user's code raised, as plain data: its class, its text, the Python functions that it left."""

from __future__ import annotations

import difflib
import dis
import functools
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

import torch

from .expression import text_of
from .last_words import Ended
from .unused import unused_input
from .whose import OURS

if TYPE_CHECKING:
    from .messages import ErrorBeforeData, FailedGetterData, LeftFrameData, SentErrorData

TEXT_LIMIT = 16_000  # characters kept of an error's own message
CALL = torch.nn.Module._wrapped_call_impl.__code__  # the code of Module.__call__
IN_TEXT = "\nException raised from "  # what torch appends to the text of an error if it is asked to
ERRORS_BEFORE, FIRST_LINE = 4, 300  # how many earlier errors are read; characters of the first line of each
HALF = FIRST_LINE // 2 - 2
GETTERS = {property: "fget", functools.cached_property: "func"}  # by class: the attribute that holds the function
FRAMES = 10_000  # Python functions that are kept: the innermost ones; the tree finds each, outermost first


@dataclass(eq=False)
class Raised(Exception):
    """The user's own code raised; `stage` says where: "expression", "backward", "script", "context"."""

    stage: str
    error: BaseException

    def data(self, calls: Sequence[int] = (), part: str = "") -> SentErrorData:
        """Return it as plain data. `calls` are the numbers of the expression's calls that it left, outermost first.

        `part` is the text of the part of the expression that raised, if that part is not one of its calls.
        """
        frames = frames_of(self.error)
        steps = list(_traceback(self.error))
        data: SentErrorData = {
            "stage": self.stage,
            "exception": type(self.error).__name__,
            "message": text_of(self.error).partition(IN_TEXT)[0][:TEXT_LIMIT],
            "close": near_names(self.error),
            "frames": frames[-FRAMES:],
            "further": max(0, len(frames) - FRAMES),
            "calls": list(calls),
            "part": part,
            "module": module_of(self.error),
            "by_raise": bool(steps) and _raises(steps[-1]),
            "before": list(errors_before(self.error)),
            "getter": failed_getter(self.error, steps),
            "unused": unused_input(text_of(self.error), (step.tb_frame for step in steps)),
        }
        if isinstance(self.error, Ended):
            data["by"], data["cpp"] = self.error.by, self.error.cpp
        return data


def errors_before(error: BaseException) -> Iterator[ErrorBeforeData]:
    """Yield the earlier errors, the nearest first: this error was raised `from` them, or while they were handled.

    Python's own traceback shows the same errors (PEP 3134). An error that left only code of ptexplore is not shown.
    """
    seen = {id(error)}
    for _ in range(ERRORS_BEFORE):
        cause = error.__cause__
        before = cause if cause is not None else error.__context__ if not error.__suppress_context__ else None
        if before is None or id(before) in seen:
            return
        seen.add(id(before))
        frames = frames_of(before)
        if frames or before.__traceback__ is None:
            words = text_of(before).partition(IN_TEXT)[0].strip().partition("\n")[0]
            yield {
                "exception": type(before).__name__,
                "message": words if len(words) <= FIRST_LINE else f"{words[:HALF]} … {words[-HALF:]}",
                "is_cause": before is cause,
                "frame": frames[-1] if frames else None,
            }
        error = before


def frames_of(error: BaseException) -> list[LeftFrameData]:
    """Return the Python functions that an error left, outermost first: file, first line, name, and current line.

    Each also says whether it was at a `raise`. Functions of the recorders are left out.
    """
    frames: list[LeftFrameData] = []
    for step in left_frames(error):
        code = step.tb_frame.f_code
        if not code.co_filename.startswith(OURS):
            frames.append(
                {
                    "file": code.co_filename,
                    "first": code.co_firstlineno,
                    "function": code.co_name,
                    "line": step.tb_lineno,
                    "raises": _raises(step),
                }
            )
    return frames


def left_frames(error: BaseException) -> Iterator[TracebackType]:
    """Yield each frame that an error left, with its place there, outermost first.

    A traceback holds all frames that the error passed. If Python code raises an error again with `raise`, this code has
    caught the error before. The next inner function in the traceback is the function that caught it. At that time the
    error did not leave this function.
    """
    is_caught = False
    for step in _traceback(error):
        if not is_caught:
            yield step
        is_caught = _raises(step)


def _traceback(error: BaseException) -> Iterator[TracebackType]:
    step = error.__traceback__
    while step is not None:
        inner = step.tb_next
        # Python 3.10 adds a frame twice if its profile function raised (call_trampoline of sysmodule.c).
        if inner is None or (inner.tb_frame, inner.tb_lasti) != (step.tb_frame, step.tb_lasti):
            yield step
        step = inner


def _raises(step: TracebackType) -> bool:
    """Return whether a frame is at a `raise`."""
    return dis.opname[step.tb_frame.f_code.co_code[step.tb_lasti]] == "RAISE_VARARGS"


def module_of(error: BaseException) -> str:
    """Return the innermost nn.Module whose call an error left, named from the outermost: "0.attn (Linear) of Net"."""
    frames = (step.tb_frame for step in left_frames(error))
    called = [frame.f_locals.get("self") for frame in frames if frame.f_code is CALL]
    modules = [module for module in called if isinstance(module, torch.nn.Module)]
    if not modules:
        return ""
    outer, inner = modules[0], modules[-1]
    kind = type(inner).__name__
    name = next((name for name, module in outer.named_modules() if module is inner), "") if inner is not outer else ""
    return f"{name} ({kind}) of {type(outer).__name__}" if name else kind


def near_names(error: BaseException) -> list[str]:
    """Return names that are similar to the one that was not found."""
    if not issubclass(type(error), AttributeError):
        return []
    try:
        known: list[str] = dir(error.obj)  # type: ignore[attr-defined]
        name: str = error.name  # type: ignore[attr-defined]
        return difflib.get_close_matches(name, known, 3, 0.6) if name not in known else []
    except Exception:  # no name, or the object's own __dir__ raised
        return []


def failed_getter(error: BaseException, steps: Sequence[TracebackType]) -> FailedGetterData | None:
    """Return the attribute whose getter raised an AttributeError, if the `__getattr__` of the class raised this error.

    Python drops the error of the getter and calls `__getattr__` ("object.__getattribute__" in its reference); every
    nn.Module has a `__getattr__`. `steps` are the steps of the traceback. Returns None for any other error.
    """
    by_getattr = bool(steps) and steps[-1].tb_frame.f_code.co_name == "__getattr__"
    if not by_getattr or not issubclass(type(error), AttributeError):
        return None
    try:
        owner = type(error.obj)  # type: ignore[attr-defined]
        name: str = error.name  # type: ignore[attr-defined]
        known = inspect.getattr_static(owner, name, None)
        if not hasattr(type(known), "__get__"):
            return None
        return {"owner": owner.__name__, "name": name, "function": GETTERS.get(type(known), "")}
    except Exception:  # no name, or the metaclass of the class raised
        return None
