"""Recording of the user's own process: a `with` block or a decorated function, and the Trace of what it ran."""

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

    from ptexplore.api.displayed import Bundle
    from ptexplore.api.trace import PublicTrace
    from ptexplore.capture.own_process import BlockRecorder, RecordedBlock

P = ParamSpec("P")
R = TypeVar("R")


_set_recursion_limit, _get_recursion_limit = sys.setrecursionlimit, sys.getrecursionlimit
ROOM = 1000  # further nested calls that beginning and ending a recording may need
TRIES = 3  # how often the end of a recording is tried, since a signal handler may raise each time


class _Leave:
    """The `__exit__` that `with` fetches: an object that only the `with` statement holds.

    A signal handler may raise between the block and the first line of `__exit__`, and then `__exit__` is never called.
    So the recording also ends when `with` drops its last reference to this object.
    """

    def __get__(self, recording: PublicRecording | None, owner: type) -> Callable[..., None]:
        if recording is None:
            return _leave
        leave = functools.partial(_leave, recording)
        if not recording.is_open:
            recording._entered_by = weakref.ref(leave, _given_up)
        return leave


def _leave(recording: PublicRecording, _kind: object, error: BaseException | None, _at: object) -> None:
    """Ends a recording. `error` is the exception that left the block."""
    recording._end(error)


def _given_up(entered_by: object) -> None:
    """Ends the recording whose `with` ended without calling `__exit__`."""
    for recording in tuple(_open):
        if recording._entered_by is entered_by:
            recording._end(None)


def _end_all() -> None:
    """Ends open recordings before the interpreter exits: torch's profiler must not outlive it."""
    for recording in tuple(_open):
        recording._end(None)


_open: list[PublicRecording] = []  # open recordings: at most one
_at_exit: list[bool] = []  # not empty once `_end_all` is registered to run at exit


def _end_before_the_interpreter() -> None:
    if not _at_exit:
        _at_exit.append(True)
        atexit.register(_end_all)
        # This runs before any function that the program registered with atexit: such a function may save the recording.
        with suppress(AttributeError, RuntimeError):
            threading._register_atexit(_end_all)  # type: ignore[attr-defined]


class PublicRecording:  # `ptexplore.Recording`
    """The result of `ptexplore.record`: use it in a `with`, or as a decorator. Each use starts a new recording.

    >>> import ptexplore, torch
    >>> recording = ptexplore.record()
    >>> @recording
    ... def double(x):
    ...     return x * 2
    >>> double(torch.ones(2)).tolist()
    [2.0, 2.0]
    >>> recording.trace.expression
    'double()'
    """

    def __init__(self, workspace: Workspace | None = None, native_budget: int | str = 0) -> None:
        self._workspace, self._native_budget = workspace, instructions(native_budget)
        self._recorder: BlockRecorder | None = None
        self._block: RecordedBlock | None = None
        self._trace: PublicTrace | None = None
        self._entered_by: object = None
        self._failed = ""  # why the recording did not begin

    def __repr__(self) -> str:
        state = "is running" if self.is_open else "has ended" if self._block is not None else "has not begun"
        return f"<Recording that {state}>"

    def _repr_mimebundle_(self, **_asked: object) -> Bundle:
        """Returns text and HTML of the trace, which notebooks show."""
        return self.trace._repr_mimebundle_() if self._block is not None else {"text/plain": repr(self)}

    @property
    def is_open(self) -> bool:
        """Whether the recording is in progress.

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
                why = "a call of it only makes an object; its body runs later"
                name = getattr(function, "__qualname__", "it")
                raise PtexploreError(
                    f"{name} cannot be recorded by a decorator", why, "use record() inside the function", USAGE
                )

        @functools.wraps(function)
        def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
            if self.is_open:  # the function called itself: the inner call is part of the outer one
                return function(*args, **kwargs)
            with _Call(self, function):
                return function(*args, **kwargs)

        return recorded

    def call(self, function: Callable[[], object]) -> PublicTrace:
        """Calls a function once in your own process and records it. Returns the Trace.

        If the function raises, the Trace has an `ending`; KeyboardInterrupt and SystemExit pass through. Raises
        PtexploreError if the function cannot be recorded.

        >>> import ptexplore, torch
        >>> ptexplore.record().call(lambda: torch.ones(2, requires_grad=True).sum().backward()).program.backwards
        1
        """
        try:
            self(function)()
        except Exception as error:
            if self.is_open or self._block is None:
                raise  # the function was not called
            del error
        return self.trace

    @property
    def trace(self) -> PublicTrace:
        """The trace of the recorded code. ptexplore resolves the trace when you first ask for it, without torch.

        Raises PtexploreError if nothing was recorded yet.

        >>> import ptexplore, torch
        >>> with ptexplore.record() as recording:
        ...     y = torch.ones(2) + 1
        >>> "aten::add.Tensor" in {hop.op for hop in recording.trace.hops}
        True
        """
        if self._trace is None:
            if self._block is None:
                why = "it is still running" if self.is_open else self._failed or "it has not begun"
                hint = "with ptexplore.record() as recording: … , then recording.trace after the block"
                raise PtexploreError("this recording has no Trace yet", why, hint, USAGE)
            from ptexplore.api.trace import PublicTrace

            if self._workspace is not None:
                self._trace = PublicTrace(*self._workspace.resolve_block(self._block))
            else:
                with Workspace() as workspace:
                    self._trace = PublicTrace(*workspace.resolve_block(self._block))
        return self._trace

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the Trace to a file, as `Trace.save` does.

        >>> import pathlib, ptexplore, tempfile, torch
        >>> with ptexplore.record() as recording:
        ...     y = torch.ones(2) + 1
        >>> folder = tempfile.TemporaryDirectory()
        >>> recording.save(pathlib.Path(folder.name) / "x.trace")
        """
        self.trace.save(Path(file))

    def _try_to_begin(self, frame: FrameType | None = None, function: object = None) -> None:
        """Begins to record.

        If something fails, every hook is removed and the block runs unrecorded; `trace` then says why.

        Raises PtexploreError if recording is not possible here. An exception of a signal handler passes through.
        """
        if self.is_open:
            why, hint = "it is already running", "end this one first; record() makes another one"
            raise PtexploreError("this recording cannot begin", why, hint, USAGE)
        limit = _get_recursion_limit()
        try:
            # Python refuses a limit too close to the present depth; if so, fail now, before the limit must be restored
            _set_recursion_limit(limit)
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
        except NotCaptured as error:  # the wording is imported only here, when it is needed
            from ptexplore.view.words.actions import in_python
            from ptexplore.view.words.errors import give_words

            give_words(error, in_python)
            raise

    def _give_up(self, error: BaseException) -> None:
        """Removes every hook of a recording that could not begin."""
        if not isinstance(error, PtexploreError):
            self._failed = f"{type(error).__name__}: {error}"
        if self in _open:
            self._end(error)

    def _end(self, error: BaseException | None) -> None:
        """Ends the recording, even if a signal handler raises meanwhile.

        Then raises the exception of the handler again.
        """
        raised: BaseException | None = None
        limit = _get_recursion_limit()
        for _ in range(TRIES):
            try:
                _set_recursion_limit(limit + ROOM)
                self._end_once(error)
                _set_recursion_limit(limit)
                break
            except BaseException as again:  # noqa: BLE001 (raised again below, if it belongs to the program)
                raised = again
        _set_recursion_limit(limit)
        try:
            if raised is not None and _is_the_programs(raised):
                raise raised
        finally:
            del raised  # the traceback holds this frame, which would keep the program's frames alive

    def _end_once(self, error: BaseException | None) -> None:
        recorder = self._recorder
        try:
            if recorder is not None:
                recorder.end(error)
        finally:
            # This also runs if a handler raised: by then everything is restored.
            if recorder is not None and recorder.is_over:
                recorded = recorder.recorded
                if recorded is not None:
                    self._block, self._trace = recorded, None
                self._recorder = self._entered_by = None
            if self._recorder is None:
                _open[:] = [recording for recording in _open if recording is not self]


def _is_the_programs(error: BaseException) -> bool:
    """Whether an exception must reach the program. An error of ptexplore is reported when the Trace is asked for."""
    if not isinstance(error, Exception):
        return True
    if isinstance(error, (MemoryError, RecursionError)):
        return False
    from ptexplore.capture.own_process import is_the_programs

    return is_the_programs(error)


class _Call:
    """A context manager around one call of a decorated function."""

    def __init__(self, recording: PublicRecording, function: object) -> None:
        self._recording, self._function = recording, function

    def __enter__(self) -> None:
        self._recording._try_to_begin(function=self._function)

    if TYPE_CHECKING:

        def __exit__(self, *_: object) -> None: ...

    else:
        __exit__ = property(lambda self: self._recording.__exit__)


def record(*, native_budget: int | str = 0) -> PublicRecording:
    """Records what runs in your own process: use it in a `with`, or as a decorator.

    Your code runs once, unchanged and in place; a profile function and torch's profiler observe its calls. The Trace
    has your modules, functions, operators, kernels and times. If your code raises, the Trace has the exception, and the
    exception passes through. The times include the cost of recording: `recording.trace.program.overhead`, in
    nanoseconds.

    With `native_budget`, a number of instructions (3_000_000 or "3M"), one call of each kind is stepped in a fork of
    your process, right before your own call. Your process waits meanwhile, and no line of yours runs twice. Nothing is
    forked if CUDA is in use or other threads run, as in a notebook: `recording.trace.program.stepping.reason.text` says
    so.

    Raises PtexploreError if recording is not possible: outside the main thread, inside another recording, while another
    profiler is active, or with an unsupported torch. If recording fails to begin for another reason (no memory, no file
    descriptors), your block runs unrecorded; `recording.trace` then raises and says why.

    >>> import ptexplore, torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    >>> with ptexplore.record() as recording:
    ...     loss = model(torch.ones(1, 2)).sum()
    ...     loss.backward()
    >>> [path.name for path in recording.trace.program.paths if path.type == "Linear"]
    ['0']
    """
    return PublicRecording(native_budget=native_budget)


def instructions(given: object) -> int:
    """Converts the stepping budget to a number of instructions. Raises PtexploreError if it is not a budget."""
    from ptexplore.capture.probing import BUDGET, native_budget

    wanted = native_budget(given)
    if wanted is None:
        message = f"native_budget cannot be {given!r:.60}"
        raise PtexploreError(message, f"it must be {BUDGET}", 'record(native_budget="3M")', USAGE)
    return wanted
