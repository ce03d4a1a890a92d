"""Recordings of the user's own process: a block in a `with`, or a decorated function, and the Trail of what it ran."""

from __future__ import annotations

import functools
import inspect
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.workspace.workspace import Workspace

if TYPE_CHECKING:
    from types import TracebackType

    from ptexplore.api.trail import PublicTrail
    from ptexplore.capture.own_process import BlockRecorder, RecordedBlock

P = ParamSpec("P")
R = TypeVar("R")


class PublicRecording:  # `ptexplore.Recording`
    """What `ptexplore.record` gives: enter it with `with`, or decorate a function with it. Used again, it records anew.

    >>> import ptexplore, torch
    >>> recording = ptexplore.record()
    >>> @recording
    ... def double(x):
    ...     return x * 2
    >>> double(torch.ones(2)).tolist()
    [2.0, 2.0]
    >>> recording.trail.expression
    'double()'
    """

    def __init__(self, workspace: Workspace | None = None, native_budget: int | str = 0) -> None:
        self._workspace, self._native_budget = workspace, instructions(native_budget)
        self._recorder: BlockRecorder | None = None
        self._block: RecordedBlock | None = None
        self._trail: PublicTrail | None = None

    def __repr__(self) -> str:
        state = "goes on" if self._recorder is not None else "is over" if self._block is not None else "has not begun"
        return f"<Recording that {state}>"

    def __enter__(self) -> PublicRecording:
        recorder = self._begin()
        recorder.begin(frame=sys._getframe(1))
        self._recorder = recorder
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end(error)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        for is_kind in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
            if is_kind(function):
                why = "a call of it runs nothing: its body runs later"
                name = getattr(function, "__qualname__", "it")
                raise PtexploreError(f"{name} cannot be recorded by a decorator", why, "record() inside of it", USAGE)

        @functools.wraps(function)
        def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
            if self._recorder is not None:  # it called itself: that is part of the outer call
                return function(*args, **kwargs)
            recorder = self._begin()
            recorder.begin(function=function)
            self._recorder = recorder
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                self._end(error)
                raise
            self._end(None)
            return result

        return recorded

    def call(self, function: Callable[[], object]) -> PublicTrail:
        """Call a function once, recorded here: its Trail, with what it raised as the ending.

        Raises PtexploreError if it cannot be recorded. Ctrl-C and an exit pass through.

        >>> import ptexplore, torch
        >>> ptexplore.record().call(lambda: torch.ones(2, requires_grad=True).sum().backward()).program.backwards
        1
        """
        try:
            self(function)()
        except Exception as error:
            if self._recorder is not None or self._block is None:
                raise  # it did not come to be called
            del error
        return self.trail

    @property
    def trail(self) -> PublicTrail:
        """The Trail of what was recorded: concluded when you first ask for it. It needs no torch.

        Raises PtexploreError if nothing was recorded yet.

        >>> import ptexplore, torch
        >>> with ptexplore.record() as recording:
        ...     y = torch.ones(2) + 1
        >>> "aten::add.Tensor" in {hop.op for hop in recording.trail.hops}
        True
        """
        if self._trail is None:
            if self._block is None:
                why = "it goes on" if self._recorder is not None else "it has not begun"
                hint = "with ptexplore.record() as recording: … , and recording.trail behind it"
                raise PtexploreError("this recording has no Trail yet", why, hint, USAGE)
            from ptexplore.api.trail import PublicTrail

            if self._workspace is not None:
                self._trail = PublicTrail(*self._workspace.resolve_block(self._block))
            else:
                with Workspace() as workspace:
                    self._trail = PublicTrail(*workspace.resolve_block(self._block))
        return self._trail

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the Trail into a file, as its own `save` does.

        >>> import pathlib, ptexplore, tempfile, torch
        >>> with ptexplore.record() as recording:
        ...     y = torch.ones(2) + 1
        >>> folder = tempfile.TemporaryDirectory()
        >>> recording.save(pathlib.Path(folder.name) / "x.trail")
        """
        self.trail.save(Path(file))

    def _begin(self) -> BlockRecorder:
        from ptexplore.capture.own_process import BlockRecorder

        if self._recorder is not None:
            why, hint = "it goes on already", "record() gives another one, for when this one is over"
            raise PtexploreError("this recording cannot begin", why, hint, USAGE)
        return BlockRecorder(self._native_budget)

    def _end(self, error: BaseException | None) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            self._block, self._trail = recorder.end(error), None
            if recorder.interrupted:
                signal.raise_signal(signal.SIGINT)


def record(*, native_budget: int | str = 0) -> PublicRecording:
    """Record what runs here, in your own process: in a `with`, or as a decorator.

    Your code runs once, as it is and where it is; a profile function and torch's profiler see what it calls. The Trail
    has its modules, functions, operators, kernels and times, and what it raised, which passes through. What recording
    cost is part of the times, and told: `recording.trail.program.overhead`, in nanoseconds.

    With `native_budget`, in instructions (3_000_000 or "3M"), one call of each kind is stepped in a fork of your
    process, right before your own call is made: your process waits meanwhile, and no line of yours runs twice. Nothing
    is forked once CUDA is in use or threads run, as those of a notebook do:
    `recording.trail.program.stepping.reason` says so.

    Raises PtexploreError where nothing can be recorded: in a thread that is not the main one, inside of another
    recording, while another profiler is at work, without a torch that is supported.

    >>> import ptexplore, torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    >>> with ptexplore.record() as recording:
    ...     loss = model(torch.ones(1, 2)).sum()
    ...     loss.backward()
    >>> [path.name for path in recording.trail.program.paths if path.type == "Linear"]
    ['0']
    """
    return PublicRecording(native_budget=native_budget)


def instructions(given: object) -> int:
    """The budget that was given for stepping a program. Raises PtexploreError for what is none."""
    from ptexplore.capture.probing import BUDGET, native_budget

    wanted = native_budget(given)
    if wanted is None:
        message = f"native_budget={given!r:.60} cannot be stepped"
        raise PtexploreError(message, f"it takes {BUDGET}", 'record(native_budget="3M")', USAGE)
    return wanted
