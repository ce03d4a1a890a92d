"""Recordings of the user's own process: a block in a `with`, or a decorated function, and the Trail of what it ran."""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.workspace.workspace import Workspace

if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from ptexplore.api.trail import PublicTrail
    from ptexplore.capture.own_process import BlockRecorder, RecordedBlock

P = ParamSpec("P")
R = TypeVar("R")


_set_recursion_limit, _get_recursion_limit = sys.setrecursionlimit, sys.getrecursionlimit
ROOM = 1000  # further calls within one another, where one begins or ends
TRIES = 3  # of what must be done, whatever is raised meanwhile


class _Leave:
    """What `with` calls behind its block: an object that `with` alone holds, so that its end is seen in any case.

    An exception that a signal's handler raises may come between the block and the first line of `__exit__`, which then
    is not called: the recording ends when `with` gives the object up.
    """

    def __get__(self, recording: PublicRecording | None, owner: type) -> Callable[..., None]:
        if recording is None:
            return _leave
        leave = functools.partial(_leave, recording)
        if not recording.is_open:
            recording._entered_by = weakref.ref(leave, _given_up)
        return leave


def _leave(recording: PublicRecording, _kind: object, error: BaseException | None, _at: object) -> None:
    """End a recording; `error` is what left the block."""
    recording._end(error)


def _given_up(entered_by: object) -> None:
    """End the recording that a `with` left without calling its `__exit__`."""
    for recording in tuple(_open):
        if recording._entered_by is entered_by:
            recording._end(None)


def _end_all() -> None:
    """End what the program left open, before the interpreter ends: torch's profiler must not outlive it."""
    for recording in tuple(_open):
        recording._end(None)


_open: list[PublicRecording] = []  # those that go on: at most one
_at_exit: list[bool] = []  # not empty once the interpreter ends them


def _end_before_the_interpreter() -> None:
    if not _at_exit:
        _at_exit.append(True)
        atexit.register(_end_all)
        # Before any function that the program itself registered with atexit, which may save what was recorded.
        with suppress(AttributeError, RuntimeError):
            threading._register_atexit(_end_all)  # type: ignore[attr-defined]


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
        self._entered_by: object = None
        self._failed = ""  # why it did not begin

    def __repr__(self) -> str:
        state = "goes on" if self.is_open else "is over" if self._block is not None else "has not begun"
        return f"<Recording that {state}>"

    @property
    def is_open(self) -> bool:
        """Whether it goes on.

        >>> import ptexplore
        >>> with ptexplore.record() as recording:
        ...     recording.is_open
        True
        >>> recording.is_open
        False
        """
        return self._recorder is not None

    def __enter__(self) -> PublicRecording:
        self._try_to_begin(sys._getframe(1))
        return self

    if TYPE_CHECKING:

        def __exit__(
            self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
        ) -> None: ...

    else:
        __exit__ = _Leave()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        for is_kind in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
            if is_kind(function):
                why = "a call of it runs nothing: its body runs later"
                name = getattr(function, "__qualname__", "it")
                raise PtexploreError(f"{name} cannot be recorded by a decorator", why, "record() inside of it", USAGE)

        @functools.wraps(function)
        def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
            if self.is_open:  # it called itself: that is part of the outer call
                return function(*args, **kwargs)
            with _Call(self, function):
                return function(*args, **kwargs)

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
            if self.is_open or self._block is None:
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
                why = "it goes on" if self.is_open else self._failed or "it has not begun"
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

    def _try_to_begin(self, frame: FrameType | None = None, function: object = None) -> None:
        """Record from here on: all is set, or nothing and the block runs unrecorded, which the Trail's error tells.

        Raises PtexploreError where nothing can be recorded, and what a signal's handler raises.
        """
        if self.is_open:
            why, hint = "it goes on already", "record() gives another one, for when this one is over"
            raise PtexploreError("this recording cannot begin", why, hint, USAGE)
        limit = _get_recursion_limit()
        try:
            _set_recursion_limit(limit)  # which is refused so near to it that it could not be put back later
            _set_recursion_limit(limit + ROOM)
            self._begin(frame, function)
            _set_recursion_limit(limit)
        except RecursionError as error:
            if _get_recursion_limit() != limit:
                self._give_up(error)
                _set_recursion_limit(limit)
            else:
                self._failed = "RecursionError: calls nest too deep here"
        except BaseException as error:
            self._give_up(error)
            _set_recursion_limit(limit)
            if isinstance(error, PtexploreError) or _is_the_programs(error):
                raise

    def _begin(self, frame: FrameType | None, function: object) -> None:
        from ptexplore.capture.not_captured import NotCaptured
        from ptexplore.capture.own_process import BlockRecorder

        recorder = BlockRecorder(self._native_budget)
        _end_before_the_interpreter()
        self._failed = ""
        _open.append(self)
        self._recorder = recorder
        try:
            recorder.begin(frame, function)
        except NotCaptured as error:  # its words are loaded where it is refused alone
            from ptexplore.view.words.actions import in_python
            from ptexplore.view.words.errors import give_words

            give_words(error, in_python)
            raise

    def _give_up(self, error: BaseException) -> None:
        """It could not begin: nothing stays set."""
        if not isinstance(error, PtexploreError):
            self._failed = f"{type(error).__name__}: {error}"
        if self in _open:
            self._end(error)

    def _end(self, error: BaseException | None) -> None:
        """End what goes on, whatever is raised meanwhile: that is raised when all is as it was before."""
        raised: BaseException | None = None
        limit = _get_recursion_limit()
        for _ in range(TRIES):
            try:
                _set_recursion_limit(limit + ROOM)
                self._end_once(error)
                _set_recursion_limit(limit)
                break
            except BaseException as again:  # noqa: BLE001  (it is raised below, if it is the program's)
                raised = again
        _set_recursion_limit(limit)
        try:
            if raised is not None and _is_the_programs(raised):
                raise raised
        finally:
            del raised  # it has this function's frame, by which the program's own would stay

    def _end_once(self, error: BaseException | None) -> None:
        recorder = self._recorder
        try:
            if recorder is not None:
                recorder.end(error)
        finally:
            # Also where a handler raised: everything is back by then.
            if recorder is not None and recorder.is_over:
                recorded = recorder.recorded
                if recorded is not None:
                    self._block, self._trail = recorded, None
                self._recorder = self._entered_by = None
            if self._recorder is None:
                _open[:] = [recording for recording in _open if recording is not self]


def _is_the_programs(error: BaseException) -> bool:
    """Whether an exception is to reach the program; one of ours is told when the Trail is asked for."""
    if not isinstance(error, Exception):
        return True
    if isinstance(error, (MemoryError, RecursionError)):
        return False
    from ptexplore.capture.own_process import is_the_programs

    return is_the_programs(error)


class _Call:
    """A call of a function that is recorded, as a context."""

    def __init__(self, recording: PublicRecording, function: object) -> None:
        self._recording, self._function = recording, function

    def __enter__(self) -> None:
        self._recording._try_to_begin(function=self._function)

    if TYPE_CHECKING:

        def __exit__(self, *_: object) -> None: ...

    else:
        __exit__ = property(lambda self: self._recording.__exit__)


def record(*, native_budget: int | str = 0) -> PublicRecording:
    """Record what runs here, in your own process: in a `with`, or as a decorator.

    Your code runs once, as it is and where it is; a profile function and torch's profiler see what it calls. The Trail
    has its modules, functions, operators, kernels and times, and what it raised, which passes through. What recording
    cost is part of the times, and told: `recording.trail.program.overhead`, in nanoseconds.

    With `native_budget`, in instructions (3_000_000 or "3M"), one call of each kind is stepped in a fork of your
    process, right before your own call is made: your process waits meanwhile, and no line of yours runs twice. Nothing
    is forked once CUDA is in use or threads run, as those of a notebook do:
    `recording.trail.program.stepping.reason.text` says so.

    Raises PtexploreError where nothing can be recorded: in a thread that is not the main one, inside of another
    recording, while another profiler is at work, without a torch that is supported. Where something else fails as it
    begins (no memory, no file left), your block runs unrecorded: `recording.trail` then raises and says why.

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
