"""Record a whole program in one run, folded as it goes: what is kept grows with what differs, not with what repeats.

Three recorders run together. A profile function sees Python's calls and keeps the path of those that matter: your
functions, modules, torch's own functions, builtins. A marker in the profiler's event tree stands for each, so that
operators nest in it exactly. Where no operator is open the profiler is stopped and started again, and its tree is
folded: an operator call becomes one of its path's operator kinds, a count and a time, and the tree is dropped.

A kind is an operator with what it called, whatever the sizes: name, overload, each input's dtype, device, layout and
number of dimensions, whether autograd counted it, and the same of each operator inside. A route is a kind with the
builtin that Python came by, the thread-local sets, and, of a node of backward, the route that recorded it.

What the hooks found is put back by leaving the context. Nothing here calls an operator.
"""

from __future__ import annotations

import _thread
import base64
import ctypes
import importlib
import inspect
import mmap
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from types import CodeType, FrameType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from . import at_work, clock, events, freed, isolate, last_words, own_threads, unpatched, whose, written
from . import torch_api as api
from .expression import text_of
from .fold import Fold
from .frames import PROCESSES, spawns
from .generators import goes_on
from .held_signals import HeldSignals, is_the_programs
from .observations import seen
from .paths import Label, Path
from .profiler_load import ProfilerLoad
from .raising import IN_TEXT
from .reasons import Said, reason
from .taken import os, signal, sys, threading, time
from .thread_trees import THREAD
from .throws import NoNotes, ThrowLog
from .values import attributes, module_tensors, modules_in, names_of, tensors_among

if TYPE_CHECKING:
    from .messages import (
        FreedNodeData,
        LibraryCallsData,
        LocalSetsData,
        ProgramData,
        SavedTensorWritesData,
        SentObservationData,
        SentThrowData,
        StepBudgetData,
    )
    from .stepping import Stepping

MARK = "r"  # markers are named "ptexplore:r<path>.<sets>"
OF_A_THREAD = 16 << 20  # bytes that must be free before the watcher's thread begins: its stack, and Python's own
OF_A_PROFILE = 16 << 20  # and before torch's profiler does
BEGINS = 10.0  # seconds in which the watcher's thread begins
FIRST_SLICE = 64  # where calls are stepped: what was folded tells which; twice as long where nothing new came
STEPPING = 0.25  # the part of a limit of time that may go into stepping: a net, as the budget ends it long before
EAGER = 8  # builtins at first, after each of which what ran is folded: a short program is over before a slice is
WORKERS = "torch's own threads"
SLICE = 2_000  # markers after which the profiler is started anew
# Calls of the profile function after which it is looked again whether the profiler can be stopped, if an operator was
# at work in another thread, or in this one, whose stack takes longer to read; and so many more for each function on the
# stack, through which any look goes: a look costs less than these calls do. They are counts, and no times, since a
# slice decides what is stepped next, and which functions have a marker.
AGAIN_BESIDE, AGAIN, AGAIN_DEEPER = 8, 500, 0.125
# Seconds between looks at whether a loop without Python calls fills the profiler. No call can be counted in it: what is
# folded then decides nothing (`_sliced`), and a busy machine changes only when it is folded.
TICK = 0.1
EVENTS = 20_000  # operators and markers that one slice should hold
PATHS = 20_000  # paths that are told apart; what lies deeper counts for the path it lies in
ROWS = 20_000  # further ones, of what has a row of its own: that has no path for want of room last
DEPTH = 150  # functions within one another that are told apart
COLD = 16  # calls of a function of torch's without an operator of its own, after which it gets no marker any more:
# once they were folded, which tells that there was none
# Nanoseconds until all is kept again, at least, and times what that took: they say when it is written, never what is.
KEEP_AGAIN, KEEP_COST = 200_000_000, 100
HELD = 1024  # tensors whose key sets are read before one call
BACKWARDS = 3  # calls of backward whose saved tensors are looked at
TIMED = 2_000  # calls of the profile function that are timed, the first ones
SAMPLED = 31  # of so many (a prime: a program's loops have other lengths) later ones one is timed
USUAL = 50_000  # nanoseconds; a call that takes longer does what few do, and stands for itself
FOLDED = {torch.nn.Module._call_impl.__code__}
# What starts torch's profiler, and what ends it: torch.profiler comes by both too.
ITS_PROFILER = tuple(getattr(torch.autograd.profiler.profile, name).__code__ for name in ("_prepare_trace", "__exit__"))
# A range that the program marks for the profiler. Where the profiler is stopped meanwhile, the range's end writes to
# memory of it that is gone (onFunctionExit of torch/csrc/autograd/profiler_kineto.cpp keeps a pointer): it is ended
# before, and begun anew under the next one.
RANGE = torch.autograd.profiler.record_function
ONLY_KEPT = 3  # references to a range that nobody but the recorder has: of its list, a loop and the call that counts
RANGE_BEGINS, RANGE_ENDS = RANGE.__enter__.__code__, RANGE.__exit__.__code__
# Folders of torch's compiler, which marks ranges by a class of C++ that `with` enters unseen (api.FAST_RANGE). What it
# compiles enters and leaves one by calls, which are seen (record_pregraph_bytecode_enter of torch/_dynamo/utils.py).
COMPILER = tuple(
    os.path.join(os.path.dirname(torch.__file__), name) + os.sep
    for name in ("_dynamo", "_functorch/_aot_autograd", "_inductor")
)
OTHERS_WENT_ON = reason("other-threads-went-on")
VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
FRAME, BUILTIN = False, True
SET_PROFILE = sys.setprofile
TRIES = 3  # of what must be done, whatever is raised meanwhile
_get_ident = _thread.get_ident
FAST_RANGE = api.FAST_RANGE
_set_frame_compiler = api.set_frame_compiler
BOOTSTRAP: Any = importlib._bootstrap


Mark = tuple[Callable[[], object], Callable[[None, None, None], object]]  # how a marker begins, and how it ends


class Slot:
    """An open path of one thread: its frame, whether a builtin that the frame calls, and its marker, if it has one.

    `own`: the path ends with this very function, and not with one around it.
    `held`: tensors that were read before it, which keep their addresses as long as it is open; None where none were.
    """

    __slots__ = ("builtin", "frame", "held", "mark", "own", "path", "sets")

    def __init__(self, frame: FrameType | None, builtin: bool, path: Path, sets: int, own: bool = True) -> None:
        self.frame, self.builtin, self.path, self.sets, self.own = frame, builtin, path, sets, own
        self.mark: Mark | None = None
        self.held: list[Any] | None = None


@dataclass
class Thread:
    """One thread: the open paths, innermost last, the module that names are told from, and the sets that are on.

    `words`: memory that changes when the sets do, None where torch has none to look at; `seen`: what it held when it
    alone told `sets`. `ranges`: those of the program's that are open, each with the slot that was innermost when it
    began. `waits`: where it called a builtin that only waits, last; of other threads than the main one. `closed`: slots
    whose markers another thread closed, at the time `since`: the thread itself opens them again, as it can alone.
    `outermost`: the slot of the outermost module, with its place on the stack; no module is open where another slot is.
    """

    stack: list[Slot]
    words: memoryview | None = None
    seen: bytes | None = None
    sets: int = 0
    importing: int = 0
    names: dict[int, tuple[Any, str]] = field(default_factory=dict)
    ranges: list[tuple[Slot, Any]] = field(default_factory=list)
    number: int = 0
    ident: int = 0
    is_main: bool = True
    waits: tuple[CodeType, int] | None = None
    closed: list[Slot] = field(default_factory=list)
    since: int = 0
    outermost: tuple[int, Slot | None] = (0, None)


def _other_threads() -> dict[int, FrameType]:
    """Where each other thread is.

    Not this one: a function that holds its own frame holds all around it, with what the program's functions have in
    their variables, until Python's collector comes.
    """
    mine = _get_ident()
    return {ident: frame for ident, frame in sys._current_frames().items() if ident != mine}


def _compiles(frame: FrameType | None) -> bool:
    """Whether a thread is in torch's compiler, or in what that has compiled."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(COMPILER):
            return True
        frame = frame.f_back
    return False


def _depth(frame: FrameType | None) -> int:
    """How many functions a thread is in."""
    depth = 0
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return depth


class Recorder:
    """Records from `start` to `stop`; `told` then has everything, as plain data."""

    keeps: Callable[[], None] | None
    _forward_level: int | None  # of forward-mode differentiation, at the beginning

    # The profile function reads and writes some at each call, which takes twice as long in a dict of so many.
    __slots__ = (
        "_backwards", "_before", "_budget", "_builtins", "_called_before", "_captures", "_failed", "_fast_ranges",
        "_find_and_load", "_fold", "_forward_level", "_given_up", "_graph", "_hook", "_hook_calls",
        "_hook_calls_before", "_hook_time", "_import", "_keep_next", "_labels", "_left", "_load", "_loaded", "_local",
        "_main", "_marks", "_module_labels", "_more_labels", "_no_stepping", "_no_throws", "_not_before", "_overflowed",
        "_own_fork", "_paths", "_profile", "_profiles", "_ranges_at_work", "_sets", "_sets_by_words", "_size",
        "_starting", "_stops_recording", "_threads", "_threw", "_throws", "_ticked", "_timed_next", "_turn",
        "_uncounted", "_user_files", "_wait", "_watched", "_watcher", "began", "clock", "cuts", "device",
        "ended", "held_back", "interrupted", "is_block", "is_over", "keeps", "late", "limit", "named", "process",
        "processor", "root", "slicing", "stepping",
    )  # fmt: skip

    active: ClassVar[Recorder | None] = None  # the one that records now

    def __init__(  # noqa: PLR0915  (it has as many fields)
        self,
        user_files: Iterable[str] = (),
        native_budget: int = 0,
        limit: float | None = None,
        loaded: Callable[[], None] | None = None,
        *,
        is_block: bool = False,
    ) -> None:
        self._loaded = loaded  # is called after each import
        # Whether it records a part of a process that has made tensors before; whether a tensor has names at the end.
        self.is_block, self.named = is_block, False
        # Called now and then as the program goes on, so that what was recorded is kept if it is killed; and when next.
        self.keeps = self._forward_level = None
        self._budget = native_budget  # instructions that may be stepped
        # Seconds after which the program is interrupted, what it has recorded folded by then; and whether it was.
        self.limit, self.late = limit, False
        self._profiles = 0  # how many were begun
        self._load = 0, ProfilerLoad()  # which of them was looked at last, and what it holds
        # No more operators are to be recorded until the profiler can be stopped; and whether that is so already.
        self._stops_recording = False, False
        self.stepping: Stepping | None = None
        self._no_stepping: Said | None = None
        self._called_before: set[tuple[Label, int]] = set()  # where calls are stepped: builtins, with the sets
        self._user_files = frozenset(map(whose.real, user_files))
        self._labels: dict[CodeType, Label | None] = {}
        self._builtins: dict[Any, Label | None] = {}
        self._more_labels: dict[Any, Label] = {}  # of builtins by table and method, of methods by label and class
        self._module_labels: dict[tuple[str, type], Label] = {}
        self._paths: list[Path] = []
        self._marks: dict[str, tuple[Path, int]] = {}
        self._sets: dict[Any, int] = {}
        self._sets_by_words: dict[bytes, int] = {}  # where no transform was on
        self._local = threading.local()
        self._threads: list[Thread] = []
        self._main = threading.get_ident()
        self._size = SLICE  # of the next slice
        self._left = SLICE
        # `_ranges_at_work`: ranges of the program's that just begin or end. `_captures`: of graphs of CUDA, that go on.
        # `_not_before`: at which call of the profile function it may be tried next to stop the profiler.
        self._ticked = self._hook_calls_before = self._ranges_at_work = self._captures = self._not_before = 0
        self._fast_ranges: list[Any] = []  # those of C++'s that are open
        # Held as long as the watcher is to watch; and the watcher's own number, None where it does not.
        self._watched = threading.Lock()
        # Held by the thread that stops or starts torch's profiler: one that starts the program's own waits for it.
        self._turn = threading.RLock()
        self._watcher: int | None = None
        self._wait = 0  # calls until that is looked at again, by what was at work when it was looked last
        self._failed: Path | None = None  # the builtin that has just raised
        self.is_over = self._own_fork = False  # the second one: it is we who fork
        # An interrupt or a signal ended the program. Something was raised inside of the profile function, which Python
        # then takes away.
        self.interrupted = self._threw = False
        self.held_back: list[int] = []  # signals that came where nothing can be raised: they are sent once more
        # The program called sys.setprofile itself. The profile function came to the limit of recursion.
        self._given_up = self._overflowed = False
        self.process = 0  # that is recorded
        self._hook = self.hook  # one object, by which it is known
        self._profile: Any = None
        self._starting: Any = None  # the profile that is about to begin
        self._import: Any = None  # what stands in for importlib's function
        self.clock = clock.ClockWatch()
        self.device: str | None = None  # on which launches are recorded
        self._before: tuple[Any, Any] = (None, None)
        self._fold = Fold()
        self._throws: ThrowLog | None = None
        self._no_throws: Said = {}  # why what throws is not noted
        self.cuts: list[Said] = []
        self._uncounted: set[Label] = set()  # of which calls have no path
        self.began = self.ended = 0
        # `_hook_time`, `slicing`: nanoseconds; the others are counts of calls.
        self._backwards = self._hook_calls = self._timed_next = self._hook_time = self.slicing = self._keep_next = 0
        self._graph: dict[str, int] = {}  # how many nodes of each name the first backward will run
        self.root = self._new_path(None, Label("program", "program"), None)

    # --- paths ---

    def _new_path(self, parent: Path | None, label: Label, line: int | None) -> Path:
        path = Path(len(self._paths), parent, label, line)
        self._paths.append(path)
        return path

    def _path_below(self, parent: Path, key: Any, label: Label, called_by: FrameType | None = None) -> Path:
        """The path that goes on from another one; the other itself where there are too many, or it is too deep."""
        path = parent.children.get(key)
        if path is None:
            most = PATHS + ROWS * label.has_row
            if len(self._paths) >= most or parent.depth >= DEPTH:
                is_deep = parent.depth >= DEPTH
                too_many = reason("many-paths" if label.has_row else "many-paths-of-torch", most=most)
                self._cut(reason("paths-too-deep", levels=DEPTH) if is_deep else too_many)
                return parent
            line = called_by.f_lineno if called_by is not None else None
            path = parent.children[key] = self._new_path(parent, label, line)
        return path

    def _called_without_path(self, outer: Path, label: Label, frame: FrameType | None = None) -> None:
        """Count a call that has no path of its own: for the call of the same function around it, if there is one.

        If there is none, all paths of that function are told to have had more calls.
        """
        if frame is not None and goes_on(frame):
            return
        around: Path | None = outer if label.has_row else None
        while around is not None and around.label is not label:
            around = around.parent
        if around is not None:
            around.calls += 1
        else:
            self._uncounted.add(label)

    def _cut(self, told: Said) -> None:
        if told not in self.cuts:
            self.cuts.append(told)

    # --- the profile function ---

    def hook(self, frame: FrameType, event: str, argument: Any) -> None:
        """The profile function. Torch.compile would compile what it calls, as every function that Python calls."""
        compiler = None
        try:
            compiler = _set_frame_compiler(None)  # before any function of Python's is called from here
            if self.is_over:  # a thread goes on that was started meanwhile, or another thread ended the recording
                sys.setprofile(self._before[_get_ident() != self._main])
                return
            calls = self._hook_calls = self._hook_calls + 1
            if calls >= self._timed_next:
                self._timed(frame, event, argument)
            else:
                self._happened(frame, event, argument)
        except RecursionError:  # where the program itself has room left; a further call would raise it once more
            self._overflowed = True
        except BaseException as error:
            if is_the_programs(error):  # a handler of a signal raised it, as that of Ctrl-C does
                self._threw = True
                raise
            self._failed_at(error)
        finally:
            if compiler is not None:
                _set_frame_compiler(compiler)

    def _failed_at(self, error: BaseException) -> None:
        """A fault of the recorder's own: the program does not see it, the recording tells of it."""
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        place = f"{os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno}" if at is not None else "?"
        self._cut(reason("recording-failed", place=place, error=type(error).__name__))

    def _timed(self, frame: FrameType, event: str, argument: Any) -> None:
        """Look at what happened with the time taken, which stands for that of the calls whose time is not."""
        counts = 1 if self._hook_calls <= TIMED else SAMPLED
        self._timed_next = self._hook_calls + (1 if self._hook_calls < TIMED else SAMPLED)
        began, apart = time.thread_time_ns(), self.slicing + self.waited
        outer = self._innermost()
        self._happened(frame, event, argument)
        took = time.thread_time_ns() - began  # what the machine did for others meanwhile would count many times
        if self.slicing + self.waited == apart:
            took += (counts - 1) * min(took, USUAL)
            self._hook_time += took
            # What is entered begins late in the hook, what is left ends early: it was in the time of what is around it.
            inner = self._innermost()
            (inner if inner.depth < outer.depth else outer).recording += took

    def _innermost(self) -> Path:
        """The innermost open path of this thread."""
        thread: Thread | None = getattr(self._local, "thread", None)
        return thread.stack[-1].path if thread is not None else self.root

    def _happened(self, frame: FrameType, event: str, argument: Any) -> None:
        try:
            thread: Thread = self._local.thread
        except AttributeError:
            thread = self._new_thread()
        if event == "c_call":
            owner = getattr(argument, "__self__", None)
            kind = type(owner)
            key = argument if owner is None or kind is ModuleType else (kind, argument.__name__)
            if kind is FAST_RANGE:
                self._fast_range(owner, argument.__name__)
            try:
                label = self._builtins[key]
            except KeyError:
                label = self._builtins[key] = self._builtin(argument)
            if label is not None:
                self._enter_builtin(thread, frame, label, argument)
            elif argument is SET_PROFILE or not thread.is_main:
                self._given_up = self._given_up or (thread.is_main and argument is SET_PROFILE)
                thread.waits = (frame.f_code, frame.f_lasti) if at_work.only_waits(argument) else None
        elif event == "call" or event == "return":
            self._frame_event(thread, frame, event)
        else:  # c_return, c_exception
            slot = thread.stack[-1]
            if slot.builtin and slot.frame is frame:
                self._failed = slot.path if event == "c_exception" else None
                thread.stack.pop()
                mark = slot.mark
                if mark is not None:
                    try:  # noqa: SIM105  (a context manager costs more, at each call)
                        mark[1](None, None, None)
                    except RuntimeError:  # as in `_close`
                        pass
                    slot.frame = slot.held = None  # what is kept holds nothing of the program's
                    slot.path.slots[slot.sets].append(slot)
                if self._left <= 0 or self.stepping is not None or not slot.path.label.name:
                    self._builtin_left(thread, slot.path)

    def _frame_event(self, thread: Thread, frame: FrameType, event: str) -> None:
        """A function is called, or it ends."""
        code = frame.f_code
        if event == "call":
            if code is RANGE_BEGINS or code is RANGE_ENDS:
                self._ranges_at_work += 1
            try:
                label = self._labels[code]
            except KeyError:
                last_words.stay_ready()
                with unpatched.ours():
                    label = self._labels[code] = self._classified(code)
            if label is not None:
                self._called(thread, frame, code, label)
            return
        innermost = thread.stack[-1]
        if innermost.frame is frame:
            self._leave(thread)
            if self.stepping is not None:
                self._before_syntax(thread, innermost.path)
        elif self._labels.get(code) is not None:
            self._unwind(thread, frame)
        if (code is RANGE_BEGINS or code is RANGE_ENDS) and self._ranges_at_work:
            self._ranges_at_work -= 1
            self._range_changed(thread, code, frame.f_locals.get("self"))
        if code is ITS_PROFILER[1]:
            with self._turn:
                self._resume()
        if code in api.ABOUT_DEVICES:
            self._about_device(code)

    def _range_changed(self, thread: Thread, code: CodeType, range_: Any) -> None:
        """A range of the program's began, or it ended, if it is not one that goes on until a future is done."""
        if code is RANGE_BEGINS:
            if range_.record is not None:
                thread.ranges.append((thread.stack[-1], range_))
        elif range_.run_callbacks_on_exit:
            last = next((n for n, (_, known) in reversed(list(enumerate(thread.ranges))) if known is range_), None)
            if last is not None:
                del thread.ranges[last]

    def _fast_range(self, range_: Any, method: str) -> None:
        """A range of C++'s begins or ends by a call; it is kept meanwhile, so that its end is not missed."""
        if method == "__enter__":
            self._fast_ranges.append(range_)
        elif method == "__exit__":
            self._fast_ranges = [known for known in self._fast_ranges if known is not range_]

    def _builtin_left(self, thread: Thread, path: Path) -> None:
        """A builtin has ended: what is to be done then beside closing its slot."""
        if not path.label.name:  # one of torch's own helpers, which may have changed the sets
            self._look_at_sets(thread)
        if self._left <= 0:
            self._slice_if_safe()
        if self.stepping is not None:
            self._before_syntax(thread, path)

    def _new_thread(self) -> Thread:
        path = self.root
        ident = threading.get_ident()
        is_main = ident == self._main
        if not is_main:
            name = threading.current_thread().name
            path = self._path_below(self.root, ("thread", name), Label("thread", name))
        slot, number = Slot(None, FRAME, path, 0), len(self._threads)
        thread = self._local.thread = Thread([slot], api.local_words(), number=number, ident=ident, is_main=is_main)
        thread.sets = self._read_sets(thread)
        self._threads.append(thread)
        if not is_main:
            self._fold.began(number, path)
            self._tell_thread(thread)
        return thread

    def _tell_thread(self, thread: Thread) -> None:
        """Tell the profiler's tree which thread of Python's runs this."""
        if self._profile is not None:
            with api.marker(f"{THREAD}{thread.number}"):
                pass

    def _classified(self, code: CodeType) -> Label | None:
        """What a function is to us: None for Python's own, other packages', comprehensions and our own."""
        file, name = code.co_filename, code.co_name
        if code is api.MODULE_CALL:
            return Label("module", "")
        if code in FOLDED or (name.startswith("<") and name not in ("<module>", "<lambda>")):
            return None
        if not code.co_flags & inspect.CO_NEWLOCALS and name != "<module>":
            return None  # the body of a class
        qualname = getattr(code, "co_qualname", name)  # new in Python 3.11
        if file.startswith(whose.OURS) or (file.startswith("<") and not file.startswith(whose.TYPED)):
            return None  # what a program made itself: a dataclass's methods, a compiler's functions
        guards = api.may_guard(code)
        if file.startswith(api.TORCH_DIR + os.sep):
            is_timed = _is_timed(file, name)
            return Label("torch", qualname, file, code.co_firstlineno, timed=is_timed, guards=guards)
        if name != "forward" and whose.is_library(file) and whose.real(file) not in self._user_files:
            return None
        return Label("user", qualname, file, code.co_firstlineno, guards=guards)

    def _builtin(self, builtin: Any) -> Label | None:
        if builtin is last_words.EXIT:  # seen once: it does not return
            last_words.exits(sys._getframe(1))
        if spawns(builtin):
            self._cut(PROCESSES)
        known = api.identify(builtin)
        if known is None:
            return None
        table, method = known
        label = self._more_labels.get(known)
        if label is None:
            internal = api.is_internal(table)  # its name is empty then: the sets may be others after it
            name = "" if internal else api.public_name(table, method)
            label = self._more_labels[known] = Label("builtin", name, table=table, method=method)
        return label

    def _called(self, thread: Thread, frame: FrameType, code: CodeType, label: Label) -> None:
        outer, back = thread.stack[-1], frame.f_back
        at: Any = None
        if back is not None and back is outer.frame and outer.own:
            at = back.f_lasti
        elif back is not None and _is_in(back, outer.path):  # a comprehension, say: all calls of a line are one path
            at = "line", back.f_lineno
        key: Any = (label, at)
        if code is ITS_PROFILER[0]:
            own_threads.are_the_programs()
            with self._turn:
                self._suspend()
        if code is api.MODULE_CALL:
            label = self._module(thread, frame)
            key = (label, key[1])
        elif label.timed:
            label = self._of_class(frame, label)
            key = (label, key[1])
            if code in api.BACKWARD:
                self._saved(frame.f_locals.get(api.BACKWARD[code]))
        path = self._path_below(outer.path, key, label, back if at is not None else None)
        own = path is not outer.path
        path.calls += own and not goes_on(frame)
        if not own:
            self._called_without_path(path, label, frame)
        sets = self._look_at_sets(thread, around=False)
        slot = Slot(frame, FRAME, path, sets, own)
        if label.kind == "module":
            place, outermost = thread.outermost
            if place >= len(thread.stack) or thread.stack[place] is not outermost:
                thread.outermost = len(thread.stack), slot
        # A marker within another one of the same path tells nothing, and a profile of thousands takes long.
        if own or outer.builtin or sets != outer.sets:
            self._enter(thread, slot)
        else:
            self._failed = None
            thread.stack.append(slot)
        if self.stepping is not None:
            self._before_syntax(thread, None)

    def _of_class(self, frame: FrameType, label: Label) -> Label:
        """The label of a method with the class of the object that it is called on."""
        owner = frame.f_locals.get("self")
        if owner is None:
            return label
        known = self._more_labels.get((label, type(owner)))
        if known is None:
            with unpatched.ours():
                known = self._more_labels[label, type(owner)] = replace(label, type=api.qualname_of(type(owner)))
        return known

    def _module(self, thread: Thread, frame: FrameType) -> Label:
        """A module by its name within the outermost one that is running; "" for that one itself."""
        module = frame.f_locals.get("self")
        kind = type(module)
        place, outermost = thread.outermost
        if place >= len(thread.stack) or thread.stack[place] is not outermost:  # no module is open
            thread.names = {}
        held = thread.names.get(id(module))
        if held is None and not thread.names and isinstance(module, torch.nn.Module):
            thread.names = api.module_names(module)
            held = thread.names.get(id(module))
        name = held[1] if held is not None and held[0] is module else "?"
        known = self._module_labels.get((name, kind))
        if known is None:
            forward = getattr(getattr(kind, "forward", None), "__code__", None)
            file, first = (forward.co_filename, forward.co_firstlineno) if forward is not None else (None, None)
            known = Label("module", name, file, first, type=api.qualname_of(kind))
            self._module_labels[name, kind] = known
        return known

    def _enter_builtin(self, thread: Thread, frame: FrameType, label: Label, builtin: Any) -> None:
        words = thread.words
        as_before = words is not None and words.tobytes() == thread.seen
        sets = thread.sets if as_before else self._look_at_sets(thread)
        outer = thread.stack[-1]
        outer_path = outer.path
        if frame is outer.frame and outer.own and outer_path.label.kind == "user":
            place = label, frame.f_lasti  # a line is looked up in a table, which takes time
            known = outer_path.children.get(place)
            path = known if known is not None else self._at_line(outer_path, place, frame)
        elif _is_in(frame, outer_path):
            path = self._path_below(outer_path, (label, frame.f_lineno, "line"), label, frame)
        else:
            path = self._path_below(outer_path, (label, None), label)
        if path is not outer_path:
            path.calls += 1
        else:
            self._called_without_path(path, label)
        if self.stepping is not None:
            if (label, sets) not in self._called_before:  # its kind may come again soon, and be known then
                self._called_before.add((label, sets))
                closely = min(1 << max(len(self._called_before) - EAGER, 0), FIRST_SLICE)
                self._left = min(self._left, closely)
            if self._stepped(self.stepping, path, sets, builtin):
                return
        self._failed = None  # something else runs
        if path.cold or self._profile is None:
            thread.stack.append(Slot(frame, BUILTIN, path, sets))
            return
        try:
            slot = path.slots[sets].pop()
            slot.frame = frame
        except (KeyError, IndexError):
            slot = self._new_slot(path, sets, frame, builtin)
        thread.stack.append(slot)
        path.seen += 1
        self._left -= 1
        mark = slot.mark
        if mark is not None:
            mark[0]()

    def _new_slot(self, path: Path, sets: int, frame: FrameType, builtin: Any) -> Slot:
        """A slot for a builtin, with its marker: both are kept, and used again by the next call from there."""
        slot = Slot(frame, BUILTIN, path, sets)
        if sets not in path.marks and threading.get_ident() == self._main:
            slot.held = _read_tensors(path, sets, frame, builtin)
        slot.mark = self._new_mark(path, sets)
        path.slots.setdefault(sets, [])
        return slot

    def _at_line(self, outer: Path, place: tuple[Label, int], frame: FrameType) -> Path:
        """The path of a builtin that a function of the user's calls: all calls of a line are one path."""
        label = place[0]
        path = self._path_below(outer, (label, frame.f_lineno, "line"), label, frame)
        if path is not outer:
            outer.children[place] = path
        return path

    def _enter(self, thread: Thread, slot: Slot) -> None:
        self._failed = None  # something else runs
        thread.stack.append(slot)
        if not slot.path.cold:
            self._open(slot)

    def _open(self, slot: Slot) -> None:
        """Open a slot's marker, anew or one that was closed before."""
        if self._profile is None:
            return
        path = slot.path
        try:
            mark = path.marks[slot.sets].pop()
        except (KeyError, IndexError):
            mark = self._new_mark(path, slot.sets)
        slot.mark = mark
        path.seen += 1
        self._left -= 1
        mark[0]()

    def _new_mark(self, path: Path, sets: int) -> Mark:
        name = f"{MARK}{path.index}.{sets}"
        self._marks[api.MARK + name] = path, sets
        path.marks.setdefault(sets, [])
        mark = api.marker(name)
        return mark.__enter__, mark.__exit__

    def _close(self, slot: Slot) -> None:
        mark = slot.mark
        if mark is not None:
            try:  # noqa: SIM105  (a context manager costs more, at each call)
                mark[1](None, None, None)
            except RuntimeError:  # torch 2.6 does not end one that did not begin
                pass
            slot.path.marks[slot.sets].append(mark)
            slot.mark = None

    def _leave(self, thread: Thread) -> None:
        if thread.closed:
            self._open_again(thread)
        if len(thread.stack) > 1:
            self._close(thread.stack.pop())

    def _unwind(self, thread: Thread, frame: FrameType) -> None:
        """A function ends whose own calls' ends were not seen: code took the hook away meanwhile."""
        if thread.closed:
            self._open_again(thread)
        if any(slot.frame is frame for slot in thread.stack):
            while thread.stack[-1].frame is not frame or thread.stack[-1].builtin:
                self._leave(thread)
            self._leave(thread)

    # --- thread-local sets ---

    def _read_sets(self, thread: Thread) -> int:
        """The number of the thread-local sets, and the transforms, that are on now."""
        transforms = api.transforms()
        include, exclude = api.local_bits()
        read = (include, exclude, tuple((layer["level"], layer["kind"]) for layer in transforms))
        number = self._sets.setdefault(read, len(self._sets))
        if thread.words is not None and not transforms and not (include | exclude) & api.transform_keys():
            self._sets_by_words[thread.words.tobytes()] = number
        return number

    def _look_at_sets(self, thread: Thread, *, around: bool = True) -> int:
        """The thread-local sets now; `around`: the open function's marker tells them from here on, if they changed."""
        if thread.closed:
            self._open_again(thread)
        words = thread.words.tobytes() if thread.words is not None else b""
        known = self._sets_by_words.get(words)
        sets = known if known is not None else self._read_sets(thread)
        thread.seen = words if known is not None else None
        if sets != thread.sets:
            thread.sets = sets
            slot = thread.stack[-1]
            if around and not slot.builtin and (slot.mark is not None or not slot.own):
                self._close(slot)
                slot.sets = sets
                self._open(slot)
        return sets

    # --- stepping ---

    def _stepped(self, stepping: Stepping, path: Path, sets: int, builtin: Any) -> bool:
        """Before a builtin: have it stepped in a fork, if that is worth it. True in the fork, which goes on to it."""
        of = path.label.called
        candidate = stepping.wanted(path.index, of, sets) if of is not None else None
        is_backward = path.label.is_backward and bool(stepping.nodes or self._graph)
        if (candidate is None and not is_backward) or not self._is_safe():
            return False
        if candidate is not None:
            self._slice(lambda: stepping.builtin(path.index, builtin, candidate))
        else:
            graph, self._graph = self._graph, {}
            self._slice(lambda: stepping.backward(graph))
        return stepping.in_child

    def _before_syntax(self, thread: Thread, left: Path | None) -> None:
        """Something ended, or a function begins: where operator syntax came next before, it is stepped in a fork."""
        stepping = self.stepping
        if stepping is None or not stepping.syntax:
            return
        slot = thread.stack[-1]
        some = stepping.syntax.get(((slot.path.site, left.site if left is not None else None), thread.sets))
        if some and not slot.builtin and self._is_safe():
            self._slice(lambda: stepping.operators(some))

    def _is_safe(self) -> bool:
        """Whether the profiler can be stopped: it runs, no thread is in a builtin, and open ranges can be ended."""
        self._wait = 0
        if self._profile is None or self._ranges_at_work or self._captures or not self._can_end_ranges():
            return False
        if threading.get_ident() != self._main or any(s.builtin for t in self._threads for s in t.stack):
            return False
        if api.is_capturing():
            return False
        frames = _other_threads()
        if _compiles(sys._getframe(1)) or any(map(_compiles, frames.values())):
            return False
        if self._others_are_at_work(frames):
            self._wait = AGAIN_BESIDE
        elif at_work.in_this_thread():
            self._wait = AGAIN
        return not self._wait

    def _others_are_at_work(self, frames: Mapping[int, FrameType]) -> bool:
        """Whether an operator may be at work in another thread, of which the profiler records it."""
        if not api.records_all_threads():
            return False
        for ident, frame in frames.items():
            if ident in (self._main, self._watcher):
                continue
            thread = next((known for known in reversed(self._threads) if known.ident == ident), None)
            waits = thread.waits if thread is not None else None
            if at_work.in_other_thread(frame, waits, is_told=thread is not None):
                return True
        return False

    def _can_end_ranges(self) -> bool:
        """Whether every open range of the program's can be ended and begun anew, unseen by the program."""
        if any(sys.getrefcount(range_) > ONLY_KEPT for range_ in self._fast_ranges):
            return False
        while self._fast_ranges:  # the program gave them up, as where an error came between
            self._fast_ranges.pop().__exit__(None, None, None)
        for thread in self._threads:
            for _, range_ in thread.ranges:
                if thread is not self._local.thread or not range_.run_callbacks_on_exit or api.has_modes():
                    return False  # a mode of Python's would be asked to begin it
        return True

    # --- slices ---

    def _slice_if_safe(self, *, counted: bool = True) -> None:
        """Fold what the profiler has, if no builtin is at work in any thread.

        `counted`: calls of the profile function led here, and no clock.
        """
        if self._profile is None or (counted and self._hook_calls < self._not_before):
            return
        if not self._is_safe():
            if counted:
                self._not_before = self._hook_calls + self._wait + int(AGAIN_DEEPER * _depth(sys._getframe(1)))
                if self._left < -50 * SLICE:
                    self._cut(reason("profiler-not-stopped"))
            if self._stops_recording == (True, False) and _get_ident() == self._main:
                self._stops_recording = True, True
                api.record_operators(on=False)
            return
        self._slice(counted=counted)

    def _slice(self, meanwhile: Callable[[], None] | None = None, *, counted: bool = True) -> None:
        """Fold what the profiler has, and start it anew; `meanwhile` is called while it is off, and may fork."""
        with unpatched.ours(), self._turn:
            self._sliced(meanwhile, counted=counted)

    def _sliced(self, meanwhile: Callable[[], None] | None, *, counted: bool) -> None:
        """What is not `counted`, as a clock led here, decides nothing: the next slice finds all as it would without."""
        began, calls = time.perf_counter_ns(), self._hook_calls
        waited = self.waited
        others_run = self._others_run()
        held = HeldSignals()
        try:
            held.hold()
            were_open = self._close_all()
            try:
                self._fold_profile(counted=counted)
                if self.keeps is not None and time.perf_counter_ns() > self._keep_next:
                    self._keep(self.keeps)
                if meanwhile is not None:
                    self._own_fork = True
                    if self.stepping is not None:
                        self.stepping.came = held.came
                    meanwhile()
            finally:
                self._own_fork = False
                if self.stepping is None or not self.stepping.in_child:
                    self._start_again(were_open, counted=counted)
        finally:
            if self.stepping is None or not self.stepping.in_child:
                held.release()
        if others_run or self._hook_calls != calls:
            self._cut(OTHERS_WENT_ON)
        self.slicing += time.perf_counter_ns() - began - (self.waited - waited)

    def _decide(self) -> None:
        """Of what is folded by now: which paths get no marker any more, and what is stepped next."""
        for path in self._paths:
            path.cold = not path.hot and path.seen >= COLD
        if self.stepping is not None:
            self.stepping.folded()

    def _keep(self, keeps: Callable[[], None]) -> None:
        """Keep what was folded, so seldom that it costs little."""
        began = time.perf_counter_ns()
        keeps()
        took = time.perf_counter_ns() - began
        self._keep_next = began + max(KEEP_AGAIN, KEEP_COST * took)

    def _others_run(self) -> bool:
        """Whether another thread of the program's may run Python now, and is not waiting."""
        frames = _other_threads()
        others = {thread.ident: thread for thread in self._threads if not thread.is_main}  # the last of each number
        known = ((frames.get(ident), thread) for ident, thread in others.items())
        return api.records_all_threads() and any(
            frame is not None and thread.waits != (frame.f_code, frame.f_lasti) for frame, thread in known
        )

    def _start_again(self, were_open: list[Slot | Any], *, counted: bool) -> None:
        left = self._left
        self._profile = self._new_profile()
        self._open_paths()
        for opened in were_open:
            if isinstance(opened, Slot):
                self._open(opened)
                opened.path.seen -= not counted
            else:
                RANGE.__enter__(opened)
        if not counted:
            self._left = left
            return
        closely = self.stepping is not None and self.stepping.looks_closely
        self._size = FIRST_SLICE if closely else min(2 * self._size, SLICE)
        self._left = max(self._size, len(were_open))  # what is opened once more is no reason to start anew at once

    def _open_paths(self) -> None:
        """Tell where the other threads are as a profile begins: their markers are opened by themselves, and later."""
        at = {t.number: (t.stack[-1].path, t.stack[-1].sets, t.stack[0].path) for t in self._threads}
        self._fold.are_at(at)

    def _open_again(self, thread: Thread) -> None:
        """In a thread whose markers another one closed: open them, and count the time for which they were closed."""
        still_open = set(map(id, thread.stack))
        closed, thread.closed = [slot for slot in thread.closed if id(slot) in still_open], []
        self._count_closed(thread, closed)
        self._tell_thread(thread)
        for slot in closed:
            self._open(slot)

    def _count_closed(self, thread: Thread, closed: Iterable[Slot]) -> None:
        took = time.perf_counter_ns() - thread.since
        for slot in closed:
            if slot.own:
                slot.path.time += took

    def _fold_profile(self, *, counted: bool = True) -> None:
        """End the profile and fold what it saw; only what is `counted` decides anything."""
        profile, self._profile = self._profile, None  # it is not ended twice
        try:
            with api.quiet_profiler():
                profile.__exit__(None, None, None)
            self._starting = None  # another profiler that is on later is the program's
            if self.clock.stop():
                self._cut(clock.CUT)
            self._fold.take(profile, self._marks, self.root, self._workers)
            if counted:
                self._decide()
        except BaseException as error:  # memory ran out, as under a limit
            self._failed_at(error)
            if not isinstance(error, Exception):
                raise

    def _workers(self) -> Path:
        """The path of what ran in threads that have no function of Python's: those that torch computes with."""
        label = self._more_labels.setdefault(WORKERS, Label("thread", WORKERS))
        return self._path_below(self.root, label, label)

    def _suspend(self) -> None:
        """The program starts torch's profiler itself, and there can be but one: what runs in it is not told."""
        if self._profile is not None:
            self._cut(reason("profiles-itself"))
            self._close_all()
            self._fold_profile()
            self._profile = None

    def _resume(self) -> None:
        """The program's own profiler has ended: the recorder's goes on, if that is not so already."""
        if self._profile is not None or self.is_over:
            return
        self._profile = self._new_profile()
        self._open_paths()
        mine = getattr(self._local, "thread", None)
        for thread in self._threads:
            if thread is not mine:
                thread.closed, thread.since, thread.seen = thread.stack[1:], time.perf_counter_ns(), None
                continue
            for slot in thread.stack[1:]:
                self._open(slot)

    def _close_all(self) -> list[Slot | Any]:
        """Close every open marker and range of the program's; the slots and ranges that had one, outermost first.

        Those of other threads are left to them: an operator would stand in a marker of whichever thread opened it.
        """
        were_open: list[Slot | Any] = []
        mine = getattr(self._local, "thread", None)
        for thread in self._threads:
            ranges = list(thread.ranges)
            if thread is not mine and not thread.closed:
                thread.since = time.perf_counter_ns()
            for slot in thread.stack:
                if slot.mark is not None and thread is not mine:
                    thread.closed.append(slot)
                    thread.seen = None  # it is asked at its next call
                elif slot.mark is not None:
                    were_open.append(slot)
                while ranges and ranges[0][0] is slot:
                    were_open.append(ranges.pop(0)[1])
            were_open.extend(range_ for _, range_ in ranges)  # a generator's that is not running
        for opened in reversed(were_open):
            if isinstance(opened, Slot):
                self._close(opened)
            else:
                RANGE.__exit__(opened, None, None, None)
        for slot in (slot for thread in self._threads for slot in reversed(thread.closed)):
            self._close(slot)
        return were_open

    def _new_profile(self) -> Any:
        self._record_again()
        self._profiles += 1
        profile = self._starting = api.profiler(device=api.launching_device())
        self.device = profile.use_device or self.device
        self.clock.start()
        with api.quiet_profiler(), own_threads.what_begins() if self._profiles == 1 else nullcontext():
            profile.__enter__()
        if _get_ident() == self._main:
            with api.marker(events.MAIN):
                pass
        return profile

    def _about_device(self, code: CodeType) -> None:
        """A function of torch's ended by which a device's use begins, or the capture of a graph, or that ends."""
        if code in api.BEGIN_DEVICES:
            self._device_begins()
        elif code is not api.CAPTURE_BEGINS:
            self._captures = max(self._captures - 1, 0)
        elif api.is_capturing():  # it raised nothing
            self._captures += 1

    def _device_begins(self) -> None:
        """The program has begun to use a device: the next profile tells what is launched on it."""
        device = api.launching_device()
        if self._profile is not None and self._profile.use_device is None and device is not None:
            self._left, self.device = 0, device
            if not self._is_safe():
                self._cut(events.BEGAN_LATE)
            self._slice_if_safe()

    def tick(self) -> None:
        """Called by Python's main thread between two of its instructions, however little it calls."""
        thread: Thread | None = getattr(self._local, "thread", None)
        is_importing = thread is not None and thread.importing
        # Python takes a profile function away that raises; a handler may raise right where it begins.
        if self._threw or (sys.getprofile() is None and not self._given_up and not is_importing):
            self._go_on()
        hook = sys.getprofile()
        if self._profile is not None and hook is not None and not _runs(Recorder.hook.__code__):
            # A loop over operator syntax calls nothing that the hook sees: time alone tells that there may be much.
            sys.setprofile(None)
            try:
                self._slice_if_safe(counted=False)
            finally:
                sys.setprofile(hook)
        self._ticked += 1

    def _go_on(self) -> None:
        """Set the profile function anew: what it raised is with the program, which went on."""
        self._threw = False
        if sys.getprofile() is not None:
            return
        self._cut(reason("interrupted-in-hook"))
        running: list[FrameType] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            running.append(frame)
            frame = frame.f_back
        thread: Thread = self._local.thread
        inner = next((f for f in running if not f.f_code.co_filename.startswith(whose.OURS)), None)
        while len(thread.stack) > 1:
            slot = thread.stack[-1]
            if slot.frame is not None and slot.frame in running and not (slot.builtin and slot.frame is inner):
                break
            self._leave(thread)
        if not self.is_over:
            sys.setprofile(self._hook)

    def _start_to_watch(self) -> None:
        """Start the watcher's thread, and wait until it runs: without memory it fails where Python tells of it."""
        mmap.mmap(-1, OF_A_THREAD).close()
        self._watched.acquire()
        runs = _thread.allocate_lock()
        runs.acquire()
        # No object of `threading`, in whose list the program would see it.
        self._watcher = _thread.start_new_thread(self._watch, (runs,))
        if not runs.acquire(timeout=BEGINS):
            raise RuntimeError("the watcher's thread did not begin")

    def _watch(self, runs: _thread.LockType) -> None:
        try:
            with own_threads.this_one():
                runs.release()
                self._watch_on()
        except MemoryError:  # Python would tell standard error. No `suppress`: its end is a call, which needs memory
            pass

    def _watch_on(self) -> None:
        """Ask for a tick where the profile function is not called.

        Not before the tick asked for last has been over for a while: Python 3.11 goes round for ever in a function that
        it calls so while another call is asked for (make_pending_calls of Python/ceval.c).
        """
        asked = over = 0
        while not self._watched.acquire(timeout=TICK):
            if not self.began:  # the recorder is still being put in place
                continue
            if not self.is_block:
                self._look_at_load()
                self._end_in_time()
            while self.held_back:
                signal.pthread_kill(self._main, self.held_back.pop())
            quiet, self._hook_calls_before = self._hook_calls == self._hook_calls_before, self._hook_calls
            quiet = quiet or self._stops_recording == (True, False)
            asked = max(asked, self._ticked)  # a tick that an earlier recorder asked for may come late
            if asked == self._ticked == over and (quiet or self._threw):
                asked += 1
                ctypes.pythonapi.Py_AddPendingCall(_PENDING, None)
            over = self._ticked

    def _look_at_load(self) -> None:
        """Look how much the profiler may hold where it was not stopped for long; if it is too much, record no more."""
        if self._load[0] != self._profiles:
            self._load = self._profiles, ProfilerLoad()
            return
        load = self._load[1]
        load.look()
        why = None if self._stops_recording[0] else load.too_much(self.limit, isolate.available_memory())
        if why is not None:
            self._cut(reason("operators-inside-cut", because=why))
            self._stops_recording = True, False

    def _record_again(self) -> None:
        """Record operators again, if that was ended."""
        (_, ended), self._stops_recording = self._stops_recording, (False, False)
        if ended:
            api.record_operators(on=True)

    def _end_in_time(self) -> None:
        """Interrupt the program where its time is over, less that which it takes to fold what the profiler holds."""
        if self.limit is None or self.late:
            return
        took = time.perf_counter_ns() - self.began
        if took > (self.limit - self._load[1].seconds) * 1e9:
            self.late = True
            # Later than this it is being ended by who waits for it: code of C has kept Python's lock all the time.
            if took < (self.limit + isolate.TELLING) * 1e9:
                os.kill(os.getpid(), signal.SIGINT)

    # --- saved tensors ---

    def _saved(self, given: Any) -> None:
        """Before a backward: the bytes of every tensor that its graph saved, by the operator call that saved it."""
        self._backwards += 1
        self._graph = {}
        if self._backwards > BACKWARDS or self._profile is None or threading.get_ident() != self._main:
            return
        starts = given if isinstance(given, (list, tuple)) else (given,)
        nodes = [t.grad_fn for t in starts if isinstance(t, torch.Tensor) and t.grad_fn is not None]
        if nodes and self._is_safe():
            self._slice(lambda: self._look_at_graph(nodes))
        elif nodes:
            self._look_at_graph(nodes, folded=False)

    def _look_at_graph(self, nodes: list[Any], *, folded: bool = True) -> None:
        self._fold.saved.count(nodes, folded=folded)
        if self.stepping is not None and self.stepping.wants_graph:
            self._graph = api.node_names(nodes)

    # --- the run ---

    @property
    def digest(self) -> str:
        """A hash of the names of all operators and nodes in the order in which they were folded."""
        return self._fold.digest

    @property
    def operators(self) -> int:
        """How many operators and nodes were folded."""
        return self._fold.met

    @property
    def waited(self) -> int:
        """Nanoseconds that the program waited for forks of it: they are no part of its time."""
        return self.stepping.waited if self.stepping is not None else 0

    @property
    def overhead(self) -> int:
        """About how many nanoseconds of the run recording took.

        That is folding, and the profile function, which is timed by samples. What markers and the profiler add to an
        operator is not in it.
        """
        return min(self.slicing + self._hook_time, max(self.ended - self.began, 0))

    def start(self, frame: FrameType | None = None) -> None:
        """Begin to record this thread, and threads that it starts; `frame` is a function that is running already.

        Where it fails nothing is left set.
        """
        try:
            with unpatched.ours():
                self._set_hooks(frame)
        except BaseException:
            self._put_back()
            raise

    def _set_hooks(self, frame: FrameType | None) -> None:
        api.compile_never(Recorder.hook.__code__)
        at_work.prepare()
        if self._budget > 0:
            self._prepare_stepping()
        self._forward_level = api.forward_level()
        self.process = os.getpid()
        self._before = sys.getprofile(), threading.getprofile()
        self._find_and_load = BOOTSTRAP._find_and_load
        self._import = import_function(self._import_begins, self._import_ends, self._find_and_load)
        Recorder.active = self  # from here on there is something to put back
        try:
            self._throws = ThrowLog.of_this_process()
            self._throws.on()
        except NoNotes as error:
            self._no_throws = error.reason
        # What may fail comes before torch's profiler, which may crash where it ends without memory.
        thread = self._new_thread()
        self._start_to_watch()
        mmap.mmap(-1, OF_A_PROFILE).close()
        self._profile = self._new_profile()
        BOOTSTRAP._find_and_load = self._import
        threading.setprofile(self._hook)
        self.began, self.processor = time.perf_counter_ns(), -time.process_time_ns()
        if frame is not None:
            self._runs_already(thread, frame)
        sys.setprofile(self._hook)

    def _runs_already(self, thread: Thread, frame: FrameType) -> None:
        """Record what a function calls from here on as calls from it."""
        label = self._labels[frame.f_code] = self._classified(frame.f_code)
        if label is not None and label.kind == "user":
            path = self._path_below(thread.stack[-1].path, (label, None), label)
            path.calls += 1
            self._enter(thread, Slot(frame, FRAME, path, thread.sets))

    def _prepare_stepping(self) -> None:
        from .stepper import Unavailable
        from .stepping import Stepping  # its imports take time, and are only needed here

        try:
            self.stepping = self._fold.steps.stepping = Stepping(self._budget, self.limit and STEPPING * self.limit)
        except Unavailable as error:
            self._no_stepping = error.reason
            return
        self._left = self._size = FIRST_SLICE

    def stop(self, *, dying: bool = False) -> None:
        """End, and put back what was found. A thread that goes on loses the profile function when it calls next.

        It may be called again, as where something was raised meanwhile: it goes on from there.
        `dying`: the process ends here, and what is open is left by that; in it no other thread runs.
        """
        if dying:
            self.interrupted = True
            thread: Thread | None = getattr(self._local, "thread", None)
            self._failed = thread.stack[-1].path if thread is not None and thread.stack[-1].builtin else None
        with self._turn if not dying else nullcontext():
            self._end(dying=dying)
        self._note_end(dying=dying)
        for thread in self._threads:  # nothing of the program's is held any longer
            thread.names, thread.ranges = {}, []
            for slot in thread.stack:
                slot.frame = slot.held = None
        self.named = not self.is_block and api.tensors_have_names()  # of a block that cannot be told by its end
        self.root.calls, self.root.time = 1, self.ended - self.began - self.waited

    def _end(self, *, dying: bool) -> None:
        try:
            self._take_hooks_away()
            if self._profile is not None:
                if self._others_are_at_work(_other_threads()):
                    self._cut(reason("threads-inside-at-end"))
                self._close_all()
                for thread in self._threads:
                    self._count_closed(thread, thread.closed)
                self._note_end(dying=dying)
                self._fold_profile()
        finally:
            self._put_back()

    def _note_end(self, *, dying: bool = False) -> None:
        if self.ended:
            return
        self.processor += last_words.process_time_ns() if dying else time.process_time_ns()
        if self.stepping is not None:
            self.processor -= self.stepping.waited_on_processors
        self.ended = time.perf_counter_ns()

    def _take_hooks_away(self) -> None:
        """Put Python's own hooks back, but for those that the program has set itself meanwhile."""
        if _get_ident() == self._main:
            if sys.getprofile() is self._hook:
                sys.setprofile(self._before[0])
            elif not self.is_over and not self.interrupted:
                self._cut(reason("hook-taken-or-failed"))
        self.is_over = True
        if _get_ident() == self._main:
            self._record_again()
        if threading.getprofile() is self._hook:
            threading.setprofile(self._before[1])
        if self._import is not None and BOOTSTRAP._find_and_load is self._import:
            BOOTSTRAP._find_and_load = self._find_and_load
        with suppress(RuntimeError):  # it was released before
            self._watched.release()

    def _put_back(self) -> None:
        """Put back all that was set, whatever is raised meanwhile: that is raised when everything is back."""
        raised: BaseException | None = None
        for _ in range(TRIES):
            try:
                self._take_hooks_away()
                self._end_profiles()
                if self._throws is not None:
                    self._throws.off()
                if Recorder.active is self:
                    Recorder.active = None
                break
            except BaseException as error:
                raised = error
        try:
            if raised is not None:
                raise raised
        finally:
            del raised  # it has this function's frame, by which all around it would stay

    def _end_profiles(self) -> None:
        """End what torch's profiler has begun, if it was not ended as it should be: that is lost."""
        begun, self._starting = {id(profile): profile for profile in (self._profile, self._starting) if profile}, None
        self._profile = None
        for profile in begun.values():
            if api.is_profiling():
                with suppress(Exception):  # a marker is closed before the profiler that it began under ends
                    self._close_all()
                with suppress(RuntimeError, AssertionError), api.quiet_profiler():
                    profile.__exit__(None, None, None)

    def _import_begins(self) -> tuple[Thread, Slot, int] | None:
        """A module is about to be imported: nobody looks at what that calls. None where that is so already."""
        thread: Thread | None = getattr(self._local, "thread", None)
        if thread is None or thread.importing or self.is_over or sys.getprofile() is not self._hook:
            return None
        label = self._labels.setdefault(_IMPORTS, Label("imports", "imports"))
        assert label is not None
        path = self._path_below(thread.stack[-1].path, "imports", label)
        slot = Slot(None, FRAME, path, thread.sets)
        thread.importing = 1
        try:
            sys.setprofile(None)
            thread.stack.append(slot)
            self._open(slot)
        except BaseException:
            self._import_ends((thread, slot, len(sys.modules)))
            raise
        return thread, slot, len(sys.modules)

    def _import_ends(self, begun: tuple[Thread, Slot, int] | None) -> None:
        """A module was imported: one row says how many, and how long that took."""
        try:
            if self._loaded is not None:
                self._loaded()
        finally:
            if begun is not None:
                thread, slot, before = begun
                try:
                    if thread.stack[-1] is slot:
                        self._leave(thread)
                    if slot.path.label.kind == "imports":
                        slot.path.calls += max(len(sys.modules) - before, 0)
                    self._look_at_sets(thread)
                finally:
                    thread.importing = 0
                    if not self.is_over and sys.getprofile() is None:
                        sys.setprofile(self._hook)

    def told(self) -> ProgramData:
        """Everything that was recorded: model/program.py has the records."""
        fold = self._fold
        sets: list[LocalSetsData] = [
            {"include": include, "exclude": exclude, "transforms": [{"level": n, "kind": kind} for n, kind in layers]}
            for include, exclude, layers in self._sets
        ]
        cuts = [*self.cuts, *fold.kinds.cuts]
        if len(self._threads) > 1 and not api.records_all_threads():
            cuts.append(reason("more-threads", count=len(self._threads) - 1))
        paths = [path.told(at_least=path.label in self._uncounted) for path in self._paths]
        stepping, folded, kept = self._told_of_stepping(), fold.told(self._paths), fold.saved.told
        told: ProgramData = {
            "paths": paths,
            "sets": sets,
            "kinds": folded.kinds,
            "routes": folded.routes,
            "calls": folded.calls,
            "order": base64.b64encode(folded.order).decode(),
            "ordered": folded.ordered,
            "wall": self.ended - self.began - self.waited,
            "overhead": self.overhead,
            "processor": self.processor,
            "threads": torch.get_num_threads(),
            "folding": min(self.slicing, self.overhead),
            "backwards": self._backwards,
            "saved_backwards": kept["saved_backwards"],
            "saved_elsewhere": kept["saved_elsewhere"],
            "saved_packed": kept["saved_packed"],
            "saved_unread": kept["saved_unread"],
            "saved_silent": kept["saved_silent"],
            "saved_slices": kept["saved_slices"],
            "is_block": self.is_block,
            "named": self.named,
            "cuts": cuts,
            "stepping": stepping,
        }
        if self._forward_level is not None:
            told["forward_level"] = self._forward_level
        if self._failed is not None:
            told["failed"] = self._failed.index
        return told

    def so_far(self) -> ProgramData:
        """As `told`, of the run until now, while it goes on and no marker is open."""
        before = self.processor
        self.ended = time.perf_counter_ns()
        self.processor += time.process_time_ns()
        if self.stepping is not None:
            self.processor -= self.stepping.waited_on_processors
        self.root.calls, self.root.time = 1, self.ended - self.began - self.waited
        try:
            return self.told()
        finally:
            self.ended, self.processor, self.root.calls, self.root.time = 0, before, 0, 0

    def thrown(self, error: BaseException) -> SentThrowData | None:
        """Where C++ threw an error, as the data of an observation; None where it did not, or that was not noted."""
        text = text_of(error)
        if IN_TEXT in text:
            return {"text": text}
        if self._throws is None:
            self._cut(reason("throw-not-noted", because=self._no_throws))
            return None
        return self._throws.told(text)

    def modified(self, error: BaseException) -> SavedTensorWritesData | None:
        """Who wrote to the saved tensor that an error is about, as an observation's data; None where that is not seen.

        The graph is read, which the program has given up by then.
        """
        text = text_of(error)
        versions = VERSIONS.search(text)
        if written.REASON not in text or versions is None or not api.can_read_refused():
            return None
        now, saved = int(versions[1]), int(versions[2])
        refused = api.refused_tensor(written.graph_of(error), text, (saved, now))
        return self._fold.faults.modified(refused, self._paths, whole=not self.cuts) if refused is not None else None

    def freed(self, error: BaseException) -> FreedNodeData | None:
        """Which node an earlier backward had freed, and what leads to it still, as an observation's data; else None."""
        if freed.REASON not in text_of(error).encode(errors="replace"):
            return None
        return self._fold.faults.freed(error, self._paths, self._backwards, whole=not self.cuts)

    def not_noted(self) -> None:
        """In a fork whose calls are stepped: errors are made as they would be."""
        if self._throws is not None:
            self._throws.off()

    def steps(self) -> list[SentObservationData]:
        """What was stepped, as observations of the native pass; behind `told`."""
        from . import native

        told: list[SentObservationData] = []
        for part, calls in self._fold.stepped():
            told.append(seen(native.RECORDER, "steps", part))
            if calls:
                data: LibraryCallsData = {"calls": calls, "at": part["at"], "route": part["route"]}
                told.append(seen(native.RECORDER, "libraries", data))
        return [*told, seen(native.RECORDER, "maps", {"text": native.maps()})] if told else []

    def _told_of_stepping(self) -> StepBudgetData | None:
        if self.stepping is None:
            return None if self._no_stepping is None else {"most": self._budget, "reason": self._no_stepping}
        told: StepBudgetData = {
            "most": self._budget,
            "stepped": self.stepping.stepped,
            "forks": self.stepping.forks,
        }
        if self.stepping.reason is not None:
            told["reason"] = self.stepping.reason
        return told


def _read_tensors(path: Path, sets: int, frame: FrameType, builtin: Any) -> list[Any] | None:
    """Read the key sets of the tensors that a first call from a path can be given; the tensors.

    A profile function is not told the arguments of a builtin: they are its owner, and what its caller's names hold,
    and what the object of a method holds. A module's parameters are its own; backward goes through those of all
    modules that your functions hold.
    """
    if not path.label.name:
        return None  # torch's own helpers
    values = [getattr(builtin, "__self__", None), *_named_in(frame)]
    if path.label.is_backward:
        outer: FrameType | None = frame.f_back
        while outer is not None:
            values += _named_in(outer)
            outer = outer.f_back
        values += [module for value in values for module in modules_in(value)]
    values += [tensor for value in values for tensor in module_tensors(value)]
    held = tensors_among(values, HELD)
    if held:
        path.read = path.read or {}
        path.read[sets] = api.key_sets(held)
    return held


def _named_in(frame: FrameType) -> Iterator[Any]:
    """What the names of a function hold: its own, those of modules that it uses, those of a method's object."""
    own, shared = names_of(frame), frame.f_globals
    yield from own.values()
    if own is not shared:
        yield from (shared[name] for name in frame.f_code.co_names if name in shared)
    yield from attributes(own.get("self")).values()


def _is_timed(file: str, name: str) -> bool:
    """Whether a function of torch's has a row of its own: an optimizer's, backward, what loads data."""
    inside = file.removeprefix(api.TORCH_DIR + os.sep)
    if inside.startswith("optim" + os.sep):
        return name in ("step", "zero_grad", "__init__")
    if inside.startswith(os.path.join("utils", "data")):
        return name == "__next__"
    return name in ("backward", "grad") and inside in ("_tensor.py", os.path.join("autograd", "__init__.py"))


def _is_in(frame: FrameType, path: Path) -> bool:
    """Whether a frame is of a path's own file: a line of another one, of a package between, is none of the path's."""
    return path.label.kind == "user" and frame.f_code.co_filename == path.label.file


def _runs(code: CodeType) -> bool:
    """Whether a function is at work in this thread."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


_IMPORTS = (lambda: None).__code__  # stands for what is imported among the functions that have a label


def _forked() -> None:
    """A child that the program forked is not recorded."""
    recorder, Recorder.active = Recorder.active, None
    if recorder is not None:
        sys.setprofile(None)
        threading.setprofile(None)
        if BOOTSTRAP._find_and_load is recorder._import:
            BOOTSTRAP._find_and_load = recorder._find_and_load
        if recorder._own_fork:
            recorder.not_noted()
            return
        recorder.is_over = True
    api.end_without_profiler()


def _forking() -> None:
    if Recorder.active is not None and not Recorder.active._own_fork:
        Recorder.active._cut(PROCESSES)


os.register_at_fork(after_in_child=_forked, after_in_parent=_forking)


def _tick(_: object) -> int:
    """What Python's main thread calls: nothing that is raised here reaches the program, so signals wait for its end."""
    recorder = Recorder.active
    if recorder is not None:
        held = HeldSignals()
        try:
            held.hold()
            recorder.tick()
        except Exception as error:
            recorder._failed_at(error)
        finally:
            held.put_back()
            recorder.held_back += held.came  # the watcher sends them once more
    return 0


_PENDING = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_tick)  # never freed: Python may call it late


def import_function(
    begins: Callable[[], Any], ends: Callable[[Any], None], load: Callable[..., Any]
) -> Callable[..., Any]:
    """What stands in for importlib's own `load` meanwhile; its frame is left out of tracebacks like importlib's.

    `begins` is called before each import, and `ends` with what that gave. Neither is at work while a module is loaded,
    so that an error of the module has no function of ours among those that it left.
    """
    names: dict[str, Any] = {"begins": begins, "ends": ends, "load": load}
    lines = (
        "def _find_and_load(*given):",
        " begun = begins()",
        " try:",
        "  return load(*given)",
        " finally: ends(begun)",
    )
    exec(compile("\n".join(lines), "<frozen importlib._bootstrap>", "exec"), names)
    function: Callable[..., Any] = names["_find_and_load"]
    return function


@contextmanager
def recording(user_files: Iterable[str] = ()) -> Iterator[Recorder]:
    """Record this thread, and those that it starts, while the context is open."""
    recorder = Recorder(user_files)
    recorder.start()
    try:
        yield recorder
    finally:
        with suppress(Exception) if sys.exc_info()[0] is not None else nullcontext():
            recorder.stop()
