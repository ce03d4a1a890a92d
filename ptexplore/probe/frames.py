"""Record Python frames inside torch, and calls of builtins of torch, as markers in the profiler's event tree.

A marker is opened when a frame or builtin is entered, and closed when it is left. So operators nest in frames exactly,
without a comparison of clocks. If the thread-local sets of dispatch keys differ from those read last, a further marker
says so; it lasts as long as the frame in which they were read. The end of the context restores the hooks that it found.
"""

from __future__ import annotations

import dis
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import CodeType, FrameType, MappingProxyType
from typing import TYPE_CHECKING, Any

import torch

from . import last_words
from . import torch_api as api
from .dispatch import CallRecorder
from .generators import goes_on
from .raising import left_frames
from .reasons import Said, reason
from .taken import os, sys, threading
from .values import names_of, tensors_among
from .whose import GIVEN, OURS, is_library

if TYPE_CHECKING:
    from .events import EventMark
    from .messages import HeldTensorData, ModuleCalledData, TensorLayerData

Chooser = tuple[str, str, Sequence[str]]  # a file below torch's folder, a function, and the names of its variables

PLAIN = (str, bool, list)  # types of variables that are kept: their text runs no code of the user
WORDS = 200  # characters of a variable's text

LIMIT = 20_000  # maximum number of markers in one pass
WRAPPED = 256  # maximum number of a caller's tensors that are examined if a transform is on or Python dispatches
DISPATCHES = "__torch_dispatch__"
FINALIZES = "__del__"
PROCESSES = reason("processes-started")
# Functions that start a process without a fork that `os` reports. subprocess and multiprocessing "spawn" use the first.
_SPAWNS, _SPAWNING = ("fork_exec", "posix_spawn", "posix_spawnp"), ("_posixsubprocess", "posix")
OPERATORS = os.sep + os.path.join("torch", "_ops.py")  # its OpOverload passes its arguments to the dispatcher
EXPRESSION = "<expression>"  # the file name with which passes.py compiles the expression
CALLS = CallRecorder.end.__code__.co_filename


# Instructions of operators, subscripts, comparisons and attributes: C slots implement them, and may call Python.
SYNTAX = frozenset(
    number
    for name, number in dis.opmap.items()
    if name.startswith(("BINARY_", "INPLACE_", "UNARY_", "COMPARE_", "CONTAINS_", "STORE_SUBSCR", "DELETE_SUBSCR"))
    or name in ("LOAD_ATTR", "STORE_ATTR", "TO_BOOL", "LOAD_METHOD")
)

READING = frozenset(dis.opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in dis.opmap)
COMPUTING = frozenset(
    number
    for number in SYNTAX
    if dis.opname[number].startswith(("BINARY_", "INPLACE_", "UNARY_", "STORE_", "COMPARE_"))
)

# Instructions of calls, operators, subscripts and attributes. An iteration is left out: it has the iterable's position.
STEPS = frozenset(
    number
    for name, number in dis.opmap.items()
    if name.startswith(("CALL", "PRECALL", "BINARY_", "UNARY_", "COMPARE_", "CONTAINS_")) or name == "LOAD_ATTR"
)


@dataclass(frozen=True)
class RunningFrame:
    """A frame that has not ended: the sets that were read last before it, and the names of its own markers."""

    frame: FrameType
    before: Any
    marks: list[str] = field(default_factory=list)
    modules: bool = False  # it is a frame of nn.Module's __call__


def spawns(builtin: Any) -> bool:
    """Returns whether a builtin starts a process without a fork."""
    return getattr(builtin, "__name__", None) in _SPAWNS and getattr(builtin, "__module__", None) in _SPAWNING


class FrameRecorder:
    """Collects what the hook sees: `marked` has the data of each marker by name; `lost`: some end was not seen."""

    def __init__(
        self,
        user_files: tuple[str, ...],
        named: Mapping[int, str],
        calls: CallRecorder | None = None,
        choosers: Iterable[Chooser] = (),
    ) -> None:
        self.marked: dict[str, EventMark] = {}
        self._cut = False
        self._starts_processes = False
        self.lost = False
        self._threads: set[int] = set()
        self._began_with = threading.active_count() - 1  # threads that ran before; they do not have the hook
        self._numbers = itertools.count()
        self._prefix = api.TORCH_DIR + os.sep
        self._choosers = [(self._prefix + file, name, tuple(variables)) for file, name, variables in choosers]
        self._user_files = user_files
        self._wanted: dict[CodeType, bool] = {}
        self._instructions: dict[CodeType, bytes] = {}
        self._mine = threading.local()
        self._named = named  # the expression's names of its modules, by address
        self._roots: dict[int, tuple[int, Any]] = {}  # outermost modules, by address: a number, and the module
        self._dispatched = False  # Python has dispatched operators, so there may be tensors of a class that does so
        self._frames: dict[int, str] = {}  # by a frame's address: the marker of the last recorded frame there
        self._calls = calls  # the recorder of calls of the same run
        self._chooses: dict[CodeType, tuple[str, ...]] = {}  # functions that choose code, with their variables
        self._raising: dict[tuple[int, int], str] = {}  # by a frame's address and instruction: the builtin that raised

    def hook(self, frame: FrameType, event: str, argument: Any) -> None:
        """The profile function: enter and leave markers as Python enters and leaves functions.

        It switches the frame compiler off while it runs. Otherwise torch.compile would compile the functions that it
        calls.
        """
        compiler = api.set_frame_compiler(None)
        try:
            self._happened(frame, event, argument)
        finally:
            if compiler is not None:
                api.set_frame_compiler(compiler)

    def _happened(self, frame: FrameType, event: str, argument: Any) -> None:
        if self._calls is not None and self._calls.asks_in == threading.get_ident():
            return  # the recorder of calls runs this, not the program
        if event == "call":
            is_module = frame.f_code is api.MODULE_CALL
            self._running.append(RunningFrame(frame, getattr(self._mine, "sets", None), modules=is_module))
            self._read_sets(frame)
            if self._is_wanted(frame.f_code):
                self._frames[id(frame)] = self._enter(frame, self._frame(frame))
            elif self._is_callback(frame):
                self._enter(frame, {"type": "callback"})
        elif event == "return":
            if frame.f_code.co_filename != CALLS:
                self._read_sets(None)
            if frame.f_code in self._chooses and argument is not None:  # None: an exception may have ended it
                self._chose(frame)
            self._returned(frame)
            self._leave_sets(frame)
            self._leave(frame)
            self._leave_sets(frame)
        elif event == "c_call":
            self._in_c.append(frame)
            self._read_sets(frame)
            if argument is last_words.EXIT:
                last_words.exits(frame)
            elif argument in last_words.KILL:
                last_words.keep(frame, argument)
            self._starts_processes = self._starts_processes or argument is os.fork or spawns(argument)
            known = api.identify(argument) if not frame.f_code.co_filename.startswith(OURS) else None
            if known is not None:
                self._enter(argument, self._builtin(argument, known, frame))
        else:
            self._builtin_left(frame, event, argument)

    def _builtin_left(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note the end of a builtin: c_return, c_exception."""
        if argument in last_words.KILL:  # the process survived, and the place of a later kill is unknown
            last_words.keep(None)
        if self._in_c and self._in_c[-1] is frame:
            self._in_c.pop()
        self._leave(argument, raised_in=frame if event == "c_exception" else None)
        self._read_sets(frame)

    def _returned(self, frame: FrameType) -> None:
        """Mark a frame that C++ called as `by_c`, if the sets changed since: C++ set them, and they end with the frame.

        The caller's sets are then read again at the next chance, even if they equal those that were read last.
        """
        while self._running and self._running[-1].frame is not frame:
            self._running.pop()  # its end was not seen
        running = self._running.pop() if self._running else None
        if running is None or running.before == getattr(self._mine, "sets", None) or not self._is_called_by_c(frame):
            return
        for name in running.marks:
            if name in self.marked:
                self.marked[name]["by_c"] = True
        self._mine.sets = None

    def _is_called_by_c(self, frame: FrameType) -> bool:
        """Returns whether C called a frame: a builtin that its caller calls, or the slot of an operator's syntax."""
        caller = frame.f_back
        if caller is None:
            return False
        while self._in_c and not _is_around(self._in_c[-1], frame):
            self._in_c.pop()  # an exception ended it
        if self._in_c and self._in_c[-1] is caller:
            return True
        return caller.f_code.co_code[caller.f_lasti] in SYNTAX if caller.f_lasti >= 0 else False

    def _is_reading(self, frame: FrameType) -> bool:
        """Returns whether a frame is reading an attribute: its callee is then a property or `__getattr__`."""
        code = frame.f_code
        if code not in self._instructions:
            self._instructions[code] = code.co_code  # kept, because Python makes a new copy each time
        return frame.f_lasti >= 0 and self._instructions[code][frame.f_lasti] in READING

    def _is_callback(self, frame: FrameType) -> bool:
        """Returns whether C++ may have called a frame that is not recorded, from a builtin of torch or an operator.

        A hook of the user is an example. Calls made by this frame must not count as direct calls of the C++ around it.
        """
        if frame.f_code.co_filename.startswith(OURS) or not self._is_called_by_c(frame):
            return False
        caller, held = frame.f_back, self._open
        if caller is None or (self._in_c and self._in_c[-1] is caller):
            return bool(held) and self.marked[held[-1][1]]["type"] in ("builtin", "callback")
        return caller.f_code.co_code[caller.f_lasti] in COMPUTING

    @property
    def _running(self) -> list[RunningFrame]:
        """The frames of this thread that have not ended, innermost last."""
        frames: list[RunningFrame] = vars(self._mine).setdefault("running", [])
        return frames

    @property
    def _in_c(self) -> list[FrameType]:
        """The frames of this thread that are inside a builtin, innermost last."""
        frames: list[FrameType] = vars(self._mine).setdefault("in_c", [])
        return frames

    def cuts(self) -> Iterator[Said]:
        """Yields the reasons why parts of the record are missing."""
        if self._cut:
            yield reason("frames-cut", most=LIMIT)
        if self.lost:
            yield reason("frames-lost")
        if self._starts_processes:
            yield PROCESSES
        others = self._threads - {threading.get_ident()}
        if others and not api.records_all_threads():
            yield reason("more-threads-called", count=len(others))
        if self._began_with:
            missing = reason("operators-of-nobody" if api.records_all_threads() else "nothing-of-thread")
            is_one = self._began_with == 1
            yield (
                reason("thread-before", told=missing)
                if is_one
                else reason("threads-before", count=self._began_with, told=missing)
            )

    def left_by(self, error: BaseException) -> None:
        """Mark the frames that an error ended, and in each the builtin that raised.

        The error's traceback holds these frames, so no other frame can have the address of one.
        """
        for step in left_frames(error):
            frame, code = step.tb_frame, step.tb_frame.f_code
            function = self.marked.get(self._frames.get(id(frame), ""))
            place = (function.get("file"), function.get("line")) if function is not None else None
            if function is not None and place == (code.co_filename, code.co_firstlineno):
                function["left"] = True
            builtin = self.marked.get(self._raising.get((id(frame), step.tb_lasti), ""))
            if builtin is not None:
                builtin["left"] = True

    def died(self) -> None:
        """Close the open markers because the process dies here. They are kept, and marked as left by an error."""
        held = self._open
        while held:
            _, name, mark = held.pop()
            mark.__exit__(None, None, None)
            self.marked[name]["left"] = True
            if self.marked[name]["type"] == "builtin":
                self.marked[name]["raised"] = True

    def unwind(self, position: int = 0) -> None:
        """Close the markers of this thread that an exception or code that removed our hook left open.

        Markers below `position` stay open. The ends of the closed ones were not seen, so they are dropped.
        """
        held = self._open
        while len(held) > position:
            _, name, mark = held.pop()
            mark.__exit__(None, None, None)
            del self.marked[name]
            self.lost = True

    @property
    def _open(self) -> list[tuple[object, str, Any]]:
        """This thread's open markers, innermost last, each with its frame or builtin."""
        markers: list[tuple[object, str, Any]] = vars(self._mine).setdefault("open", [])
        return markers

    def _is_wanted(self, code: CodeType) -> bool:
        if code not in self._wanted:
            last_words.stay_ready()
            self._wanted[code] = self._is_recorded(code)
            for file, name, variables in self._choosers:
                if (code.co_filename, code.co_name) == (file, name) and variables[0] in code.co_varnames:
                    self._chooses[code] = variables
        return self._wanted[code]

    def _chose(self, frame: FrameType) -> None:
        """Add the variables of a function that chooses code to its marker. They have their last values now."""
        told = self.marked.get(self._frames.get(id(frame), ""))
        if told is not None and told.get("function") == frame.f_code.co_name:
            held = frame.f_locals
            wanted = [name for name in self._chooses[frame.f_code] if name in held]
            values = {name: held[name] for name in wanted if type(held[name]) in PLAIN}
            told["variables"] = {name: _written(value)[:WORDS] for name, value in values.items()}

    def _is_recorded(self, code: CodeType) -> bool:
        """Returns whether a function is torch's or the user's, or a module's forward in another package."""
        file = code.co_filename
        if file.startswith((self._prefix, GIVEN)) or file in self._user_files:
            return True
        if file.startswith(("<", OURS)):  # code without a file: the expression's own, or a dataclass's methods
            return False
        return not is_library(file) or code.co_name == "forward"

    def _read_sets(self, frame: FrameType | None) -> None:
        """Mark the thread-local sets until the frame ends, unless they equal those read last in this thread.

        A transform inside another one does not change the sets, so the stack of transforms is compared, too. C++ that
        called the frame may change the sets when it continues. Without a frame, the marker is closed at once. Nothing
        is read in frames of the recorder of calls, which end at once.
        """
        if frame is not None and frame.f_code.co_filename == CALLS:
            return
        (include, exclude), transforms = read = api.local_bits(), api.transforms()
        if read == getattr(self._mine, "sets", None):
            return
        self._mine.sets = read
        self._dispatched = self._dispatched or bool(include & api.python_key())
        data: EventMark = {"type": "sets", "tls_include": include, "tls_exclude": exclude, "transforms": transforms}
        if frame is not None:
            self._leave_sets(frame)
            self._enter((frame,), data)
            return
        marked = self._mark(data)
        if marked is not None:
            with marked[1]:
                pass

    def _leave_sets(self, frame: FrameType) -> None:
        """Close a frame's marker of sets, if no other marker is open inside it."""
        held = self._open
        if held and isinstance(held[-1][0], tuple) and held[-1][0][0] is frame:
            held.pop()[2].__exit__(None, None, None)

    def _mark(self, data: EventMark) -> tuple[str, Any] | None:
        """Make a marker with this data. Returns its name and the marker, or None if there are LIMIT already."""
        number = next(self._numbers)
        if number >= LIMIT:
            if not self._cut:
                self._cut = True
                with self._new_marker(number, {"type": "cut"})[1]:
                    pass
            return None
        self._threads.add(threading.get_ident())
        return self._new_marker(number, data)

    def _new_marker(self, number: int, data: EventMark) -> tuple[str, Any]:
        name = f"f:{number}"
        self.marked[name] = data
        return name, api.marker(name)

    def _enter(self, owner: object, data: EventMark) -> str:
        """Open a marker, and return its name; "" if there are too many."""
        marked = self._mark(data)
        if marked is None:
            return ""
        name, mark = marked
        mark.__enter__()
        self._open.append((owner, name, mark))
        if self._running and data["type"] != "builtin":
            self._running[-1].marks.append(name)
        return name

    def _leave(self, owner: object, *, raised_in: FrameType | None = None) -> None:
        """Close the owner's marker. Markers above it have lost their own end to code that removed our hook.

        `raised_in`: the frame that called this builtin, if the builtin raised.
        """
        held = self._open
        for position in range(len(held) - 1, -1, -1):
            if held[position][0] is owner or self._same_builtin(held[position][0], owner):
                self.unwind(position + 1)
                _, name, mark = held.pop()
                mark.__exit__(None, None, None)
                if raised_in is not None:
                    self.marked[name]["raised"] = True
                    self._raising[id(raised_in), raised_in.f_lasti] = name
                return
            if not isinstance(owner, FrameType):
                return  # the end of a builtin always meets its beginning at the top

    @staticmethod
    def _same_builtin(owner: object, other: object) -> bool:
        # The return event may bring a newly bound builtin, which is equal to the first but not identical.
        return type(owner) is type(other) and not isinstance(owner, FrameType) and _identity(owner) == _identity(other)

    def _frame(self, frame: FrameType) -> EventMark:
        code, back = frame.f_code, frame.f_back
        self._dispatched = self._dispatched or code.co_name == DISPATCHES
        given = self._dispatched and code.co_name == "__call__" and code.co_filename.endswith(OPERATORS)
        module = self._module(frame) if code is api.MODULE_CALL else None
        while back is not None and not self._is_wanted(back.f_code):
            back = back.f_back  # for example a user's hook between two frames of torch
        data: EventMark = {
            "type": "frame",
            "file": code.co_filename,
            "line": code.co_firstlineno,
            "function": code.co_name,
            "qualname": getattr(code, "co_qualname", code.co_name),  # co_qualname is new in Python 3.11
            "caller_line": back.f_lineno if back is not None else None,
        }
        if goes_on(frame):
            data["resumed"] = True
        if api.may_guard(code):
            data["guards"] = True
        if back is not None and self._is_reading(back):
            data["is_getter"] = True
        if given:
            data["tensors"] = _layers(None, frame)
        if module is not None:
            data["module"] = module
        if code.co_name != FINALIZES and (at := self._at(frame.f_back)):
            data["at"] = at
        return data

    def _at(self, caller: FrameType | None) -> list[tuple[int, int, int]]:
        """Returns the parts of the expression that run now, innermost first; [] inside a recorded frame or builtin.

        This is not used for a finalizer: it runs when its object is freed, maybe at the end of an unrelated part.
        """
        if any(self.marked[name]["type"] in ("frame", "builtin") for _, name, _ in self._open):
            return []
        parts: list[tuple[int, int, int]] = []
        while caller is not None:
            if caller.f_code.co_filename == EXPRESSION:
                parts += part_at_work(caller)
            caller = caller.f_back
        return parts

    def _module(self, frame: FrameType) -> ModuleCalledData | None:
        """Returns the module that a frame of nn.Module's __call__ calls, with its name in the outermost running one."""
        module = frame.f_locals.get("self")
        if not issubclass(type(module), torch.nn.Module):
            return None
        running = self._running
        is_outermost = not any(outer.modules for outer in running if outer.frame is not frame)
        names: dict[int, tuple[Any, str]] = vars(self._mine).setdefault("names", {})
        if is_outermost:
            with suppress(Exception):  # the user may have overridden named_modules
                names = self._mine.names = api.module_names(module)
            self._mine.root = self._roots.setdefault(id(module), (len(self._roots), module))[0]
        held = names.get(id(module))
        name = held[1] if held is not None and held[0] is module else None
        number, outermost = self._mine.root, self._named.get(id(module)) if is_outermost else None
        return {"name": name, "type": api.qualname_of(type(module)), "root": number, "bound": outermost}

    def _builtin(self, builtin: Any, known: tuple[str, str], caller: FrameType) -> EventMark:
        (include, _), (exclude, _) = api.local_sets()
        owner = getattr(builtin, "__self__", None)
        bound: HeldTensorData | None = None
        if issubclass(type(owner), api.TENSOR_BASE):
            raw, names = api.key_set(owner)
            bound = {"impl": api.address(owner), "raw": raw, "keys": names}
        table, method = known
        transforms = api.transforms()
        data: EventMark = {
            "type": "builtin",
            "table": table,
            "method": method,
            "qualname": api.public_name(table, method),
            "self": bound,
            "tls_include": include,
            "tls_exclude": exclude,
        }
        if transforms:
            data["transforms"] = transforms
        if transforms or self._dispatched:
            data["tensors"] = _layers(owner, caller)
        if at := self._at(caller):
            data["at"] = at
        return data


def part_at_work(frame: FrameType) -> list[tuple[int, int, int]]:
    """Returns line, column and end column of the call, operator, subscript or attribute that a frame is at, or [].

    Python has columns since 3.11.
    """
    code, at = frame.f_code, frame.f_lasti
    positions = getattr(code, "co_positions", None)
    if positions is None or at < 0 or code.co_code[at] not in STEPS:
        return []
    line, _, column, end = next(itertools.islice(positions(), at // 2, None))
    return [(line, column, end)] if line is not None and column is not None and end is not None else []


def _is_around(frame: FrameType, inner: FrameType) -> bool:
    """Returns whether a frame is `inner` or one of its callers."""
    outer: FrameType | None = inner
    while outer is not None and outer is not frame:
        outer = outer.f_back
    return outer is not None


def _written(value: str | bool | list[object]) -> str:
    """Returns the text of a variable; of a list, the texts in it, separated by commas."""
    return ", ".join(part for part in value if type(part) is str) if isinstance(value, list) else str(value)


def _identity(builtin: Any) -> tuple[int, str]:
    return id(getattr(builtin, "__self__", None)), str(getattr(builtin, "__name__", ""))


_at_work: set[FrameRecorder] = set()


def _forked() -> None:
    """Stop the hooks in a child that the traced code forked: it is not recorded."""
    if _at_work:
        sys.setprofile(None)
        threading.setprofile(None)  # Python's own value if no function is set


os.register_at_fork(after_in_child=_forked)


@contextmanager
def recording(
    user_files: tuple[str, ...] = (),
    values: Mapping[str, Any] = MappingProxyType({}),
    calls: CallRecorder | None = None,
    choosers: Iterable[Chooser] = (),
) -> Iterator[FrameRecorder]:
    """Hook the calls of this thread, and of threads that it starts, while the context is open.

    `values`: the values of the expression's names, for the names of modules. `calls`: the other recorder of this run,
    whose own work is not recorded. `choosers`: Python functions that choose code, whose variables are kept.
    """
    named = {id(value): name for name, value in values.items() if issubclass(type(value), torch.nn.Module)}
    recorder = FrameRecorder(user_files, named, calls, choosers)
    api.compile_never(FrameRecorder.hook.__code__)
    before, before_threads = sys.getprofile(), threading.getprofile()
    threading.setprofile(recorder.hook)
    sys.setprofile(recorder.hook)
    _at_work.add(recorder)
    try:
        yield recorder
    finally:
        _at_work.discard(recorder)
        sys.setprofile(before)
        threading.setprofile(before_threads)
        recorder.unwind()


def _layers(owner: Any, frame: FrameType) -> list[list[TensorLayerData]]:
    """Returns the layers of each tensor that a call may have been given: its owner, and the values of a frame's names.

    A profile function does not get the arguments of a builtin: `frame` is the frame of the caller.
    """
    return [api.layers(tensor) for tensor in tensors_among((owner, *names_of(frame).values()), WRAPPED)]
