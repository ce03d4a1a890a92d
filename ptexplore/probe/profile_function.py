"""The profile function of a recording: Python calls it at each call, and it tracks the path of the program.

It runs at every call of the program, in every thread. So every attribute needed there is bound to a slot. The function
adds as few calls to the stack as possible, because a program may have little room on its stack.
"""

from __future__ import annotations

import _thread
import contextlib
from types import CodeType, FrameType, ModuleType
from typing import TYPE_CHECKING, Any

import torch

from . import at_work, last_words, own_threads, unpatched, whose
from . import torch_api as api
from .cuts import CutList
from .event_costs import EventCosts
from .first_reads import read_tensors
from .generators import RESUMED, goes_on
from .graphs import Graphs
from .held_signals import is_the_programs
from .labels import Labels
from .paths import Label, Path, Paths
from .program_ranges import BEGINS, ENDS, ProgramRanges
from .reasons import reason
from .run_times import RunTimes
from .slices import Slices
from .stacks import BUILTIN, FRAME, Slot, Thread
from .taken import sys, threading, time
from .threads import Threads

if TYPE_CHECKING:
    from .program_steps import ProgramSteps

TIMED = 2_000  # the first calls of the profile function, all of which are timed
SAMPLED = 31  # later, one call of so many is timed (a prime: loops of programs have other lengths)
USUAL = 50_000  # nanoseconds; a slower call does rare work: the time above this is not multiplied
# The functions that start and end torch's profiler. torch.profiler calls both too.
PROFILER_BEGINS = torch.autograd.profiler.profile._prepare_trace.__code__
PROFILER_ENDS = torch.autograd.profiler.profile.__exit__.__code__
SET_PROFILE = sys.setprofile
CONTEXTS = contextlib.contextmanager.__code__.co_filename  # its functions only call others, for example ours
HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: the class was made at run time
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>")  # they run where they are, at one call
# Names that are needed at each call are variables of this module: a lookup in another module takes longer.
FAST_RANGE, MODULE_CALL, ABOUT_DEVICES = api.FAST_RANGE, api.MODULE_CALL, api.ABOUT_DEVICES
_get_ident = _thread.get_ident
_set_frame_compiler = api.set_frame_compiler


class ProfileFunction:
    """The profile function, `function`, with its last state. `in_other_threads`: the one of threads that start later.

    Most events are of code that nobody asks about. In the main thread, `hook` knows such code and returns at once.
    `calls`: how often it was called. `failed`: the path of the builtin that has just raised. `given_up`: the program
    called sys.setprofile itself. `threw`: an error left the function, and then Python removes the function. `is_over`:
    it records no longer. `steps`: the object that steps calls, or None. `costs`: what an event costs.
    """

    __slots__ = (
        "_before", "_by_builtin", "_by_code", "_compiler_costs", "_compiling", "_cuts", "_graphs", "_inner",
        "_labels", "_local", "_main", "_passed", "_passed_cost", "_paths", "_profiler", "_ranges", "_slices",
        "_stack", "_threads", "_timed_next", "_times", "_unasked_builtins", "_unasked_codes", "_unasked_owners",
        "calls", "costs", "failed", "function", "given_up", "in_compiler", "in_other_threads", "is_over", "steps",
        "threw",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913  (each call may come to any of them)
        self, paths: Paths, labels: Labels, threads: Threads, ranges: ProgramRanges, slices: Slices, graphs: Graphs,
        cuts: CutList, times: RunTimes,
    ) -> None:  # fmt: skip
        self._paths, self._labels, self._threads, self._ranges = paths, labels, threads, ranges
        self._slices, self._graphs, self._cuts, self._times = slices, graphs, cuts, times
        self._profiler = slices.profiler
        self._by_code, self._by_builtin = labels.by_code, labels.by_builtin
        self._local, self._main = threads.local, threads.main
        self.steps: ProgramSteps | None = None
        self.calls = self._timed_next = 0  # _timed_next: which call is timed next
        times.counter = self
        self.failed: Path | None = None
        self.given_up = self.threw = self.is_over = False
        # To recognise them by identity.
        self.function, self.in_other_threads, self.in_compiler = self.hook, self.hook_elsewhere, self.hook_in_compiler
        # The function that compiles now, the number of events inside, and the cost of each SAMPLED-th event.
        self._compiling: FrameType | None = None
        self._passed = self._passed_cost = 0
        self._compiler_costs: EventCosts | None = None  # what an event costs while torch compiles
        self._stack: list[Slot] = []  # of the main thread
        # What nobody asks about: functions (ids of code objects), the builtins of classes, and other builtins. `_inner`
        # has the functions that are no call of another function for the one around them: comprehensions.
        self._unasked_codes: set[int] = set()
        self._inner: set[int] = set()
        self._unasked_owners: set[type] = set()
        self._unasked_builtins: set[Any] = set()
        self.costs = EventCosts()
        self._before: tuple[Any, Any] = (None, None)  # set before: in this thread, and for new threads

    # --- setting and putting back ---

    def find(self) -> None:
        """Save the profile functions that are set now."""
        cls = ProfileFunction
        for function in (cls.hook, cls.hook_elsewhere, cls.hook_in_compiler, cls._sample, EventCosts.of):
            api.compile_never(function.__code__)
        self._before = sys.getprofile(), threading.getprofile()

    def begin(self, thread: Thread) -> None:
        """Prepare the function for the main thread, and measure what an event costs, before the run begins."""
        self._stack = thread.stack
        path = thread.stack[-1].path
        self._timed_next = sys.maxsize
        self.costs.measure(self.function)
        path.recording = self._times.hook = self.calls = self._timed_next = 0
        self.given_up = False  # the measurement called sys.setprofile

    def set_for_threads(self) -> None:
        """Set the function for threads that start later. Python keeps one for new threads, and one in each thread."""
        threading.setprofile(self.in_other_threads)

    def set_here(self) -> None:
        """Set the function in the calling thread."""
        sys.setprofile(self.function if _get_ident() == self._main else self.in_other_threads)

    @property
    def is_set_here(self) -> bool:
        """Return whether the function is set in the calling thread."""
        return sys.getprofile() is (self.function if _get_ident() == self._main else self.in_other_threads)

    def take_away(self, *, interrupted: bool) -> None:
        """Put back the profile functions that were set before, unless the program has set others meanwhile.

        In other threads, the function removes itself at the next call.
        """
        if _get_ident() == self._main:
            current = sys.getprofile()
            if current is self.function or current is self.in_compiler:
                sys.setprofile(self._before[0])
                self._compiling = None
            elif not self.is_over and not interrupted:
                self._cuts.add(reason("hook-taken-or-failed"))
        self.is_over = True
        for unasked in (self._unasked_codes, self._unasked_owners, self._unasked_builtins):
            unasked.clear()  # the next event is looked at, and the function removes itself
        if threading.getprofile() is self.in_other_threads:
            threading.setprofile(self._before[1])

    def go_on(self) -> None:
        """Set the function again: the program got the error that the function raised, and went on."""
        self.threw = False
        if sys.getprofile() is not None:
            return
        self._cuts.add(reason("interrupted-in-hook"))
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
            self._threads.leave(thread)
        if not self.is_over:
            sys.setprofile(self.function)

    def runs_already(self, thread: Thread, frame: FrameType) -> None:
        """Record the later calls of a function that is running already as calls from it."""
        label = self._labels.of_code(frame.f_code)
        if label is not None and label.kind == "user":
            path = self._paths.child(thread.stack[-1].path, (label, None), label)
            path.calls += 1
            self._enter(thread, Slot(frame, FRAME, path, thread.sets))

    def dies(self) -> None:
        """The process ends here. If this thread is in a builtin, that builtin is what failed."""
        thread = self._threads.mine
        self.failed = thread.stack[-1].path if thread is not None and thread.stack[-1].builtin else None

    # --- a call ---

    def hook(self, frame: FrameType, event: str, argument: Any) -> None:
        """Handle one event of the main thread. Events that nobody asks about call no function of Python."""
        compiler = None
        try:
            calls = self.calls = self.calls + 1
            if event == "call":
                code = id(frame.f_code)
                is_unasked = code in self._unasked_codes and (
                    (slot := self._stack[-1]).path.calls_others
                    or code in self._inner
                    or slot.frame.f_lasti in slot.path.others  # type: ignore[union-attr]  # a path of a function
                )
            elif event == "return":
                is_unasked = id(frame.f_code) in self._unasked_codes
            elif event == "c_call":
                is_unasked = type(argument.__self__) in self._unasked_owners or argument in self._unasked_builtins
            else:
                slot = self._stack[-1]
                is_unasked = not slot.builtin or slot.frame is not frame
            if is_unasked:
                if calls >= self._timed_next:
                    self._sample(frame.f_code, event)
                return
            compiler = _set_frame_compiler(None)  # before this function calls any Python function
            if calls < self._timed_next and not self.is_over:
                self._happened(frame, event, argument)
            else:
                self._timed(frame, event, argument)
        except RecursionError:  # the program itself still has room; a further call would raise it once more
            pass
        except BaseException as error:
            if self._is_the_programs(error):
                raise
        finally:
            if compiler is not None:
                _set_frame_compiler(compiler)

    def hook_elsewhere(self, frame: FrameType, event: str, argument: Any) -> None:
        """Handle one event of another thread."""
        compiler = None
        try:
            compiler = _set_frame_compiler(None)  # before this function calls any Python function
            calls = self.calls = self.calls + 1
            if calls < self._timed_next and not self.is_over:
                self._happened(frame, event, argument)
            else:
                self._timed(frame, event, argument)
        except RecursionError:
            pass
        except BaseException as error:
            if self._is_the_programs(error):
                raise
        finally:
            if compiler is not None:
                _set_frame_compiler(compiler)

    def hook_in_compiler(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Handle one event of the main thread while torch compiles. Nobody asks about it, except the end."""
        if event == "return" and frame is self._compiling:
            compiler = _set_frame_compiler(None)
            try:
                self._compiled(frame)
            finally:
                _set_frame_compiler(compiler)
        elif self.is_over:
            sys.setprofile(self._before[0])
        else:
            passed = self._passed = self._passed + 1
            if passed % SAMPLED == 0 and self._compiler_costs is not None:
                self._passed_cost += self._compiler_costs.of(frame.f_code, event)

    def _compiles(self, frame: FrameType) -> None:
        """Record nothing until this function ends. Operators inside it run on fake tensors."""
        self._compiling = frame
        if self._compiler_costs is None:
            self._compiler_costs = EventCosts()
            self._compiler_costs.measure(self.in_compiler)
        self._passed = self._passed_cost = 0
        self._profiler.pause()
        sys.setprofile(self.in_compiler)

    def _compiled(self, frame: FrameType) -> None:
        """Record again: the function that compiles ends."""
        self._compiling = None
        took = SAMPLED * self._passed_cost
        self._stack[-1].path.recording += took
        self._times.hook += took
        self._profiler.go_on()
        sys.setprofile(self.function)
        self.hook(frame, "return", None)

    def _is_the_programs(self, error: BaseException) -> bool:
        """Return whether a signal handler of the program raised this error, as the handler of Ctrl-C does."""
        if is_the_programs(error):
            self.threw = True
            return True
        self._cuts.failed(error)
        return False

    def _sample(self, code: CodeType, event: str) -> None:
        """Count the cost of an event that nobody asks about, also for the events that are not timed."""
        self._timed_next = self.calls + (1 if self.calls < TIMED else SAMPLED)
        took = self.costs.of(code, event) * (1 if self.calls <= TIMED else SAMPLED)
        self._times.hook += took
        self._stack[-1].path.recording += took

    def _timed(self, frame: FrameType, event: str, argument: Any) -> None:
        """Handle the event and measure the time. This time also counts for the calls that are not timed."""
        if self.is_over:  # a thread goes on after the end, or another thread ended the recording
            sys.setprofile(self._before[_get_ident() != self._main])
            return
        times, costs = self._times, self.costs
        counts = 1 if self.calls <= TIMED else SAMPLED
        self._timed_next = self.calls + (1 if self.calls < TIMED else SAMPLED)
        outer, apart = self._innermost(), times.slicing + times.waited
        began = time.thread_time_ns()
        self._happened(frame, event, argument)
        took = time.thread_time_ns() - began  # thread time: work of other threads would be multiplied
        if times.slicing + times.waited == apart:
            took = max(took - costs.clock, 0) + costs.of(frame.f_code, event)
            took += (counts - 1) * min(took, USUAL)
            times.hook += took
            # A path that is entered begins late in the hook, and a path that is left ends early. So the hook's time
            # belongs to the path around them.
            inner = self._innermost()
            (inner if inner.depth < outer.depth else outer).recording += took

    def _innermost(self) -> Path:
        """Return the innermost open path of this thread."""
        thread: Thread | None = getattr(self._local, "thread", None)
        return thread.stack[-1].path if thread is not None else self._paths.root

    def _happened(  # noqa: C901  (a further function costs more, at each call)
        self, frame: FrameType, event: str, argument: Any
    ) -> None:
        try:
            thread: Thread = self._local.thread
        except AttributeError:
            thread = self._threads.new()
        if event == "c_call":
            owner = getattr(argument, "__self__", None)
            kind = type(owner)
            key = argument if owner is None or kind is ModuleType else (kind, argument.__name__)
            if kind is FAST_RANGE:
                self._ranges.fast(owner, argument.__name__)
            try:
                label = self._by_builtin[key]
            except KeyError:
                label = self._by_builtin[key] = self._labels.builtin(argument)
                if label is None and argument is not SET_PROFILE:
                    self._nobody_asks(argument, owner)
            if label is not None:
                self._enter_builtin(thread, frame, label, argument)
            elif argument is SET_PROFILE or not thread.is_main:
                self.given_up = self.given_up or (thread.is_main and argument is SET_PROFILE)
                thread.waits = (frame.f_code, frame.f_lasti) if at_work.only_waits(argument) else None
        elif event == "call" or event == "return":
            self._frame_event(thread, frame, event)
        else:  # c_return, c_exception
            stack = thread.stack
            slot = stack[-1]
            if slot.builtin and slot.frame is frame:
                path = slot.path
                self.failed = path if event == "c_exception" else None
                stack.pop()
                mark = slot.mark
                if mark is not None:
                    try:  # noqa: SIM105  (a context manager costs more, at each call)
                        mark[1](None, None, None)
                    except RuntimeError:  # as in `Profiler.close`
                        pass
                    slot.frame = slot.held = None  # the slot is reused: it must not keep objects of the program alive
                    path.slots[slot.sets].append(slot)
                if self._profiler.left <= 0 or self.steps is not None or not path.label.name:
                    self._builtin_left(thread, path)

    def _nobody_asks(self, builtin: Any, owner: Any) -> None:
        """Note a builtin without a label. It is kept alive, so it may not be one of a class that the program made."""
        kind = type(owner)
        if owner is None or kind is ModuleType or api.is_function_record(kind):
            self._unasked_builtins.add(builtin)
        elif kind is type:
            if not owner.__flags__ & HEAP_TYPE:
                self._unasked_builtins.add(builtin)
        elif not any(map(api.is_torchs, kind.__mro__)):
            self._unasked_owners.add(kind)

    # --- functions ---

    def _frame_event(  # noqa: C901  (a further function costs more, at each call)
        self, thread: Thread, frame: FrameType, event: str
    ) -> None:
        """Handle the call or the end of a Python function."""
        code = frame.f_code
        if event == "call":
            if code is BEGINS or code is ENDS:
                self._ranges.at_work += 1
            try:
                label = self._by_code[id(code)]
            except KeyError:
                last_words.stay_ready()
                with unpatched.ours():
                    label = self._labels.of_code(code, frame)
                self._note_code(code, label)
            if label is not None and (label.kind != "library" or self._labels.by_user(frame)):
                self._called(thread, frame, code, label)
            elif not thread.stack[-1].path.calls_others:
                _note_other(thread.stack[-1], frame)
            return
        innermost = thread.stack[-1]
        if innermost.frame is frame:
            self._threads.leave(thread)
            if self.steps is not None:
                self.steps.before_syntax(thread, innermost.path)
        elif (known := self._labels.known(code)) is not None and known.kind != "library":
            self._threads.unwind(thread, frame)
        if (code is BEGINS or code is ENDS) and self._ranges.at_work:
            self._ranges.at_work -= 1
            self._ranges.changed(thread, code, frame.f_locals.get("self"))
        if code is PROFILER_ENDS:
            with self._slices.turn:
                if not self.is_over:
                    self._slices.resume()
        if code in ABOUT_DEVICES:
            self._about_device(code)

    def _note_code(self, code: CodeType, label: Label | None) -> None:
        """Note a function that was called for the first time, if nobody asks about it."""
        if label is None and id(code) in self._by_code:
            self._unasked_codes.add(id(code))
            if code.co_name in COMPREHENSIONS:
                self._inner.add(id(code))

    def _about_device(self, code: CodeType) -> None:
        """Handle the end of a function of torch that begins to use a device, or begins or ends a graph capture."""
        if code in api.BEGIN_DEVICES:
            self._slices.device_begins()
        else:
            self._ranges.capture(code)

    def _called(  # noqa: C901, PLR0912, PLR0915  (a further function costs more, at each call)
        self, thread: Thread, frame: FrameType, code: CodeType, label: Label
    ) -> None:
        outer, back = thread.stack[-1], frame.f_back
        at: Any = None
        if back is not None and back is outer.frame and outer.own:
            at = back.f_lasti
        elif back is not None and _is_in(back, outer.path):  # a comprehension: all calls of one line are one path
            at = "line", back.f_lineno
        elif outer.own and outer.frame is not None and outer.path.label.kind == "user":
            back, at = outer.frame, ("through", outer.frame.f_lasti)  # a function of a library is in between
        key: Any = (label, at)
        if code is PROFILER_BEGINS:
            own_threads.are_the_programs()
            with self._slices.turn:
                self._slices.suspend()
        if code is MODULE_CALL:
            label = self._labels.module(thread, frame)
            key = (label, key[1])
        elif label.timed:
            label = self._labels.of_class(frame, label)
            key = (label, key[1])
            if code in api.BACKWARD:
                self._graphs.backward_begins(frame.f_locals.get(api.BACKWARD[code]))
        around = outer.path
        known = around.children.get(key)
        path = known if known is not None else self._paths.child(around, key, label, back if at is not None else None)
        own = path is not around
        if not own:
            around.calls_others = True
            self._paths.count_without(path, label, frame)
        elif not code.co_flags & RESUMED or not goes_on(frame):
            path.calls += 1
        words = thread.words
        as_before = words is not None and words.tobytes() == thread.seen
        sets = thread.sets if as_before else self._threads.look_at_sets(thread, around=False)
        slot = Slot(frame, FRAME, path, sets, own)
        if label.kind == "module":
            place, outermost = thread.outermost
            if place >= len(thread.stack) or thread.stack[place] is not outermost:
                thread.outermost = len(thread.stack), slot
        # A marker within a marker of the same path adds no information, and a profile of thousands of markers takes
        # long.
        if own or outer.builtin or sets != outer.sets:
            self._enter(thread, slot)
        else:
            self.failed = None
            thread.stack.append(slot)
        if label.compiles and thread.is_main:
            self._compiles(frame)
        elif self.steps is not None:
            self.steps.before_syntax(thread, None)

    def _enter(self, thread: Thread, slot: Slot) -> None:
        self.failed = None  # something else runs
        thread.stack.append(slot)
        if not slot.path.cold:
            self._profiler.open(slot)

    # --- builtins ---

    def _enter_builtin(self, thread: Thread, frame: FrameType, label: Label, builtin: Any) -> None:
        words = thread.words
        as_before = words is not None and words.tobytes() == thread.seen
        sets = thread.sets if as_before else self._threads.look_at_sets(thread)
        stack = thread.stack
        outer = stack[-1]
        outer_path = outer.path
        if frame is outer.frame and outer.own and outer_path.label.kind == "user":
            place = label, frame.f_lasti  # f_lineno is looked up in a table, which takes time
            known = outer_path.children.get(place)
            path = known if known is not None else self._paths.at_line(outer_path, place, frame)
        elif _is_in(frame, outer_path):  # a comprehension
            path = self._paths.child(outer_path, (label, frame.f_lineno, "inside"), label, frame)
        elif outer.own and outer.frame is not None and outer_path.label.kind == "user":
            path = self._paths.child(outer_path, (label, outer.frame.f_lasti, "through"), label, outer.frame)
        else:
            path = self._paths.child(outer_path, (label, None), label)
        if path is not outer_path:
            path.calls += 1
        else:
            self._paths.count_without(path, label)
        if self.steps is not None and self.steps.before_builtin(path, label, sets, builtin):
            return
        self.failed = None  # something else runs
        profiler = self._profiler
        if path.cold or profiler.profile is None:
            stack.append(Slot(frame, BUILTIN, path, sets))
            return
        try:
            slot = path.slots[sets].pop()
            slot.frame = frame
        except (KeyError, IndexError):
            slot = self._new_slot(path, sets, frame, builtin)
        stack.append(slot)
        path.seen += 1
        profiler.left -= 1
        mark = slot.mark
        if mark is not None:
            mark[0]()

    def _new_slot(self, path: Path, sets: int, frame: FrameType, builtin: Any) -> Slot:
        """Make a slot for a builtin, with its marker. Both are kept, and the next call from there uses them again."""
        slot = Slot(frame, BUILTIN, path, sets)
        if sets not in path.marks and threading.get_ident() == self._main:
            slot.held = read_tensors(path, sets, frame, builtin)
        slot.mark = self._profiler.new_mark(path, sets)
        path.slots.setdefault(sets, [])
        return slot

    def _builtin_left(self, thread: Thread, path: Path) -> None:
        """Do what is needed after a builtin has ended, besides closing its slot."""
        if not path.label.name:  # a helper of torch, which may have changed the sets
            self._threads.look_at_sets(thread)
        if self._profiler.left <= 0:
            self._slices.if_safe()
        if self.steps is not None:
            self.steps.before_syntax(thread, path)


def _note_other(slot: Slot, frame: FrameType) -> None:
    """Note from where an open function called a function of Python without a path."""
    if frame.f_code.co_name in COMPREHENSIONS or _is_around(frame, slot):
        return
    if slot.own and slot.frame is not None and slot.frame.f_code is slot.path.label.code:
        slot.path.others.add(slot.frame.f_lasti)
    else:
        slot.path.calls_others = True


def _is_around(frame: FrameType, slot: Slot) -> bool:
    """Return whether a function that an open function called only calls others, or is ours, as at a block's end."""
    if frame.f_code.co_filename == CONTEXTS:
        return True
    inner: FrameType | None = frame
    while inner is not None and inner is not slot.frame:
        if inner.f_code.co_filename.startswith(whose.OURS):
            return True
        inner = inner.f_back
    return False


def _is_in(frame: FrameType, path: Path) -> bool:
    """Return whether a frame belongs to the file of a path. A line of another file is not part of the path."""
    return path.label.kind == "user" and frame.f_code.co_filename == path.label.file
