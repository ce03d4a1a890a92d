"""Step calls of a program while it is recorded: one representative of each kind, each in a fork of its own.

The fork is made right before the call, so that the inputs are the program's own. The fork runs on one thread and steps
this one call. It ends with the call, or as soon as any Python code begins: no line of the program runs twice. The
program waits meanwhile. The call to step is chosen before it is made, among kinds that were called before, because
kinds come again. A stepped builtin is called in one more fork, at full speed, in which oneDNN and MKL print what they
do.

Stepping begins at the C function of a builtin, at the entry point of an operator by syntax (`a + b`, which Python does
not report to a profile function), or at the `apply` of a node of backward.
"""

from __future__ import annotations

import resource
import select
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

import torch

from . import libraries, native, python_calls
from . import torch_api as api
from .reasons import Said, reason
from .stepper import Stepper
from .taken import os, signal, sys, time
from .unshared import shares_memory, unshare
from .whose import OURS

if TYPE_CHECKING:
    from .messages import LibraryCallData, OperatorKindData, SentStepsData

# Factor for the number of instructions while the libraries print: MKL first prints everything it knows about the
# machine.
PRINTING = 10
ROWS = 1 << 17  # rows of the log: 8 MB
MOST_INSTRUCTIONS = 150_000  # instructions of one call
FORK = 20_000  # cost of a fork in instructions, even if it gives no result: it takes as long as these, or longer
SECONDS = 30.0  # seconds to step one call, at most: a last resort
WAIT = 0.05  # seconds between checks for waiting signals
GRACE = 10.0  # additional seconds for a child
TRIES = 3  # forks without result that one kind may have
OTHER, BROKEN = 3, 4  # exit status of a child in which Python ran, and in which our own code failed
NODES = ("engine", "node")
# Builtins that may run between the fork and the operator: they change nothing, and call no code of the program.
HARMLESS = frozenset({len, isinstance, issubclass, callable, id, abs, ord, chr, ascii, bin, hex})
THREADS = ("pt_autograd",)  # how torch names the engine's threads that run backward for a device

# Why a kind was not stepped.
ONCE = reason("called-once")
PYTHON = reason("python-runs")
LATE = reason("fork-too-late")
NO_BUDGET = reason("budget-spent")
NO_CALL = reason("no-further-call")
NO_ENTRY = reason("no-entry-point")

Key = tuple[tuple[str, str] | None, int, int]  # the builtin, the number of the sets, the number of the kind


@dataclass(eq=False)
class Representative:
    """Calls of one kind from one builtin with the same sets: one stepped call represents all."""

    key: Key
    first: OperatorKindData  # the first call of the kind
    calls: int = 0
    least: int = 0  # the fewest nanoseconds of a call
    tries: int = 0
    known: bool = False  # it was called in an earlier slice
    stepped: bool = False
    why: Said | None = None  # the reason why it is not stepped
    addresses: tuple[int, ...] | None = None  # addresses where stepping may begin; None before the lookup

    @property
    def what(self) -> What:
        return "node" if self.first["type"] in NODES else "builtin" if self.key[0] is not None else "op"

    @property
    def name(self) -> str:
        """Return the name of the operator or node."""
        return str(self.first["name"]).removeprefix("autograd::engine::evaluate_function: ")

    @property
    def is_open(self) -> bool:
        return not self.stepped and self.why is None and self.tries < TRIES


What = Literal["builtin", "op", "node"]


@dataclass(eq=False)
class Stepped:
    """The steps of a fork, and which call they belong to. That is known when the program's own call is folded."""

    what: What
    path: int | None  # the path number of a builtin
    name: str
    overload: str | None
    number: int  # which call of this name
    tried: Representative  # the kind that was expected
    row: int | None = None
    units: int = 0  # how many operators a builtin called
    met: int = 0  # calls of this name so far
    event: Any = None  # the event of the call with this number
    key: Key | None = None  # the kind that it turned out to be
    part: SentStepsData | None = None  # the steps, packed
    libraries: list[LibraryCallData] = field(default_factory=list)  # what oneDNN and MKL printed for the same call


class Stepping:
    """Steps calls until its budget of instructions is spent.

    Raises Unavailable if this process cannot be stepped.
    """

    def __init__(self, budget: int, seconds: float | None = None) -> None:
        self._seconds = seconds  # then stepping stops, so that the program has the rest of its time
        self._stepper = Stepper(ROWS, MOST_INSTRUCTIONS, SECONDS)
        self.left, self.stepped = budget, 0
        self.waited = self.waited_on_processors = 0  # nanoseconds: by the clock, and of this process's threads
        self._since: int | None = None  # when the current wait began
        self.forks = 0
        self.came: Mapping[int, Any] = {}  # waiting signals: with one, the current step is given up
        self.reason: Said | None = None  # why stepping has stopped
        self.in_child = False
        self._met: dict[Key, Representative] = {}
        self._chosen: set[Key] = set()
        # By path and sets; and the nodes of the last backward. The newly folded ones join them only before a decision.
        self._last: dict[tuple[int, int], Representative] = {}
        self._last_folded: dict[tuple[int, int], Representative] = {}
        self._nodes: list[Key] = []
        self._nodes_folded: list[Key] = []
        self.brought_new = False  # whether the last slice had new kinds
        self.builtins: dict[tuple[tuple[str, str], int], list[Representative]] = {}  # the builtins to step
        self.syntax: dict[Any, list[Representative]] = {}
        self.nodes: list[Representative] = []
        self._sites: dict[Key, set[Any]] = {}
        self.done: list[Stepped] = []
        self.awaited: list[Stepped] = []  # stepped calls whose own call is not folded yet

    @property
    def wants_graph(self) -> bool:
        """Return whether this is the first backward: then only its graph says which nodes it will run."""
        return not self._nodes and self.reason is None and self.left > FORK

    @property
    def looks_closely(self) -> bool:
        """Return whether slices should be short, because new kinds may come again soon."""
        new, self.brought_new = self.brought_new, False
        return new and self.reason is None and self.left > FORK

    # --- folded calls ---

    def met(self, key: Key, first: OperatorKindData, path: int, duration: int, site: Any) -> None:
        """Note a folded operator call or node. `site` (only for operator syntax): its place, and what ran before it."""
        candidate = self._met.get(key)
        if candidate is None:
            candidate = self._met[key] = Representative(key, first)
            self.brought_new = True
        candidate.calls += 1
        candidate.least = min(candidate.least or duration, duration)
        if candidate.what == "builtin":
            self._last_folded[path, key[1]] = candidate
        elif candidate.what == "op":
            self._sites.setdefault(key, set()).add(site)
        else:
            self._nodes_folded.append(key)

    def backward_begins(self) -> None:
        """Note that the nodes folded from here on belong to another backward."""
        self._nodes_folded = []

    def folded(self) -> None:
        """Use a folded slice: find the program's own calls that match the stepped ones; choose what to step next."""
        self._last.update(self._last_folded)
        self._last_folded.clear()
        self._nodes = self._nodes_folded.copy()
        for call in self.awaited:
            self._conclude(call)
        self.awaited.clear()
        for kind in self._met.values():
            kind.known = True
        self._choose()

    def _conclude(self, call: Stepped) -> None:
        """Assign the steps to the kind that the program's own call turned out to be."""
        kind = self._met[call.key] if call.key is not None and call.units <= 1 else None
        if kind is not call.tried:
            call.tried.tries += 1
        call.event = None  # an event keeps its whole profile alive
        is_warm = kind is not None and (kind.known or call.number > 1)
        if kind is not None and is_warm and not kind.stepped:
            kind.stepped, kind.why = True, None
            self.done.append(call)

    def _choose(self) -> None:
        self.builtins, self.syntax, self.nodes = {}, {}, []
        self._chosen.clear()
        if self.reason is not None or self.left <= FORK:
            return
        for candidate in [candidate for candidate in self._met.values() if candidate.is_open]:
            self._chosen.add(candidate.key)
            builtin, sets, _ = candidate.key
            if candidate.what == "node":
                self.nodes.append(candidate)
            elif builtin is not None:
                self.builtins.setdefault((builtin, sets), []).append(candidate)
            else:
                for site in self._sites[candidate.key]:
                    self.syntax.setdefault((site, sets), []).append(candidate)

    # --- stepping calls ---

    def wanted(self, path: int, builtin: tuple[str, str], sets: int) -> Representative | None:
        """Return the expected kind of the builtin that is called now, if that kind is worth stepping."""
        some = self.builtins.get((builtin, sets))
        if not some:
            return None
        known = self._last.get((path, sets))
        return some[0] if known is None else known if known in some else None

    def builtin(self, path: int, builtin: Any, candidate: Representative) -> None:
        """Fork, and step the builtin that is called next."""
        if type(builtin) is not types.BuiltinFunctionType:
            candidate.why = NO_ENTRY
            return
        address = python_calls.function_of(builtin)
        if address:
            self._step(Stepped("builtin", path, candidate.name, None, 1, candidate), (address,))

    def operators(self, some: Sequence[Representative]) -> None:
        """Fork for each of these operators, which Python is about to call by syntax."""
        for candidate in some:
            name, overload = candidate.name, candidate.first.get("overload")
            if self._entry(candidate):
                self._step(Stepped("op", None, name, overload, 1, candidate), candidate.addresses or ())
            if self.in_child:
                return

    def backward(self, graph: Mapping[str, int]) -> None:
        """Fork for each node that is worth stepping, if the backward before ran it: the order then gives its number.

        At the first backward there is no such order. Then, for each class with several nodes in `graph`, the second
        node is stepped.
        """
        if self._nodes:
            for candidate in list(self.nodes):
                same = [key for key in self._nodes if self._met[key].name == candidate.name]
                numbers = [number for number, key in enumerate(same, 1) if key == candidate.key]
                if numbers:
                    self._node(candidate, numbers[min(1, len(numbers) - 1)])
            return
        for name, count in graph.items():
            if count > 1:
                self._node(Representative((None, 0, -1), {"type": "node", "name": name}), 2)

    def _node(self, candidate: Representative, number: int) -> None:
        if not self.in_child and self._entry(candidate):
            self._step(Stepped("node", None, candidate.name, None, number, candidate), candidate.addresses or ())

    def _entry(self, candidate: Representative) -> tuple[int, ...]:
        """Return the addresses where an operator or node begins; if the overload is unknown, those of all overloads."""
        if candidate.addresses is None:
            if candidate.what == "node":
                entries = [native.node_entry(candidate.name)]
            else:
                overload = candidate.first.get("overload")
                op = candidate.name.removeprefix("aten::") + (f".{overload}" if overload else "")
                points = native.entry_points([op])
                entries = list(points.values()) if overload is None else [points.get(op, 0)]
            candidate.addresses = tuple(filter(None, entries))
            candidate.why = candidate.why or (None if candidate.addresses else NO_ENTRY)
        return candidate.addresses

    def _step(self, call: Stepped, addresses: tuple[int, ...]) -> None:
        if self.left <= FORK or not call.tried.is_open:  # the last fold may have shown that the kind was stepped
            return
        self.reason = self.reason or why_not()
        if self._seconds is not None and self.waited > self._seconds * 1e9:
            self.reason = reason("stepping-time-spent", seconds=self._seconds)
        if self.reason is not None:
            self._choose()
            return
        self._stepper.clear()
        self._stepper.most = min(MOST_INSTRUCTIONS, self.left - FORK)
        with self._waiting():
            ended = self._fork(lambda: self._become(addresses, call.number), SECONDS + GRACE)
            if ended is None:
                return
            self.forks += 1
            steps = self._stepper.taken(round(self._waits_for() * 1e-9, 3))
            if steps is not None:
                call.part = native.stepped_part("operator", steps)
                if call.what == "builtin" or steps.cut is None:
                    call.libraries = self._listen(call, addresses)
        if self.in_child:
            return
        if steps is None:
            self._failed(call.tried, *ended)
            return
        self.left, self.stepped = self.left - steps.instructions, self.stepped + steps.instructions
        if self.left <= FORK:
            self._choose()
        self.awaited.append(call)

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Count the time in this block as waiting for forks, not as time of the program. A fork leaves it at once."""
        self._since, processor = time.perf_counter_ns(), time.process_time_ns()
        try:
            yield
            if not self.in_child:
                unshare()
        finally:
            waited = self._waits_for()
            self.waited, self._since = self.waited + waited, None
            self.waited_on_processors += time.process_time_ns() - processor

    def _waits_for(self) -> int:
        """Return how many nanoseconds the current wait has lasted."""
        return time.perf_counter_ns() - self._since if self._since is not None else 0

    def _fork(self, prepare: Callable[[], None], seconds: float) -> tuple[int, bool] | None:
        """Fork, prepare the child, and wait for it; return its status, and whether it was killed as late.

        `prepare` runs in the child. Returns None in the child itself, and if no child could be made.
        """
        self.left -= FORK
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on, about threads: they are ours
                child = os.fork()
        except OSError as error:
            self.reason = reason("no-process-forked", error=str(error.strerror))
            return None
        if child == 0:
            self._enter_child(prepare)
            return None
        return _ended(child, seconds, self.came)

    def _heard_in(self, prepare: Callable[[int], None], seconds: float) -> list[LibraryCallData]:
        """Return what oneDNN and MKL print in a fork. `prepare` runs in the fork; it gets the file for the output."""
        with suppress(OSError), open(os.memfd_create("ptexplore"), "rb") as file:
            if self._fork(lambda: prepare(file.fileno()), seconds) == (0, False):
                return libraries.calls_in(file, "forward")
        return []

    def _listen(self, call: Stepped, addresses: tuple[int, ...]) -> list[LibraryCallData]:
        """Return what oneDNN and MKL print during a call that was stepped.

        A builtin is called at full speed, because Python reports its end. Nothing reports the end of an operator by
        syntax, or of a node. So this is stepped to its end once more, and once more to its beginning. The difference is
        the output of the call itself. These two forks are made only if the libraries print anything at full speed.
        """
        at_speed = GRACE + 4e-9 * call.tried.least
        if call.what == "builtin":
            return self._heard_in(lambda file: self._hear(file, _heard), at_speed)
        if not self._heard_in(lambda file: self._hear(file, _overheard), at_speed):
            return []
        whole = self._heard_until(PRINTING * MOST_INSTRUCTIONS, call, addresses)
        before = self._heard_until(1, call, addresses) if whole else []
        if not whole or before is None or whole[: len(before)] != before:
            return []
        return whole[len(before) :]

    def _heard_until(self, most: int, call: Stepped, addresses: tuple[int, ...]) -> list[LibraryCallData] | None:
        """Return the library calls until a call ends, or has run `most` instructions; None if it ends otherwise."""
        self._stepper.clear()
        self._stepper.most = most
        calls = self._heard_in(partial(self._hear_stepped, addresses, call.number), SECONDS + GRACE)
        self._stepper.most = MOST_INSTRUCTIONS
        steps = self._stepper.taken(0.0)
        return calls if steps is not None and (steps.cut is None) == (most > 1) else None

    def _failed(self, candidate: Representative, status: int, late: bool) -> None:
        candidate.tries += 1
        if late:
            candidate.why = LATE
        elif os.WIFSIGNALED(status):
            candidate.why = reason("fork-killed", signal=os.WTERMSIG(status))
        elif candidate.tries >= TRIES:
            candidate.why = PYTHON if os.WEXITSTATUS(status) == OTHER else NO_CALL

    def _enter_child(self, prepare: Callable[[], None]) -> None:
        """In the child: get ready, and return to the call that comes next."""
        try:
            self.in_child = True
            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            torch.set_num_threads(1)  # before the first operator: the fork lacks OpenMP's other threads
            api.settle_after_fork()
            prepare()
        except BaseException:
            os._exit(BROKEN)

    def _become(self, addresses: tuple[int, ...], number: int) -> None:
        """In the child: step the call with this number."""
        api.compile_never(Stepping._other.__code__)
        self._stepper.arm(addresses, number)
        sys.setprofile(self._other)

    def _hear(self, descriptor: int, until: Callable[[FrameType, str, Any], None]) -> None:
        """In the child: send the libraries' output to `descriptor`, until the profile function `until` ends it."""
        libraries.flush()  # output that the program has not written yet goes nowhere
        os.dup2(descriptor, 1)
        api.compile_never(until.__code__)
        self._listening = api.library_output()
        self._listening.__enter__()
        sys.setprofile(until)

    def _hear_stepped(self, addresses: tuple[int, ...], number: int, descriptor: int) -> None:
        """In the child: step the call with this number, and write what the libraries print until then."""
        libraries.write_at_once()
        self._hear(descriptor, _overheard)
        self._become(addresses, number)

    def _other(self, frame: FrameType, event: str, argument: Any) -> None:
        """In the child: end the process when other Python code begins, unless it is harmless."""
        if self._stepper.has_begun() or not _is_harmless(frame, event, argument):
            os._exit(OTHER)

    # --- the results ---

    def parts(self) -> Iterator[tuple[SentStepsData, list[LibraryCallData]]]:
        """Yield each stepped call, with the number of its row of calls, and the library calls in it."""
        for call in self.done:
            if call.part is not None:
                op = f"{call.name}.{call.overload}" if call.overload else call.name
                part = call.part.copy()
                part["op"], part["at"] = op.removeprefix("aten::"), call.what
                part["row"], part["threads"] = call.row, 1
                yield part, call.libraries

    def why(self, key: Key) -> Said | None:
        """Return why a kind was not stepped; None if it was."""
        candidate = self._met[key]
        if candidate.stepped:
            return None
        if self.reason is not None or candidate.why is not None:
            return candidate.why or self.reason
        if candidate.calls == 1:
            return ONCE
        return NO_CALL if key in self._chosen else NO_BUDGET


def _heard(_frame: FrameType, event: str, _argument: Any) -> None:
    """End a child that listens: the builtin has ended, or Python code begins in it, which no fork may run."""
    if event not in ("c_return", "c_exception"):
        os._exit(OTHER)
    libraries.flush()
    os._exit(0)


def _overheard(_frame: FrameType, _event: str, _argument: Any) -> None:
    """End a child that listens to an operator by syntax or to a node: something else begins or ends."""
    libraries.flush()
    os._exit(0)


def why_not() -> Said | None:
    """Return why no call of this program may be stepped in a fork; None if it may.

    Three things make a fork unsafe: threads that hold locks, devices in use, and code that waits for the program's own
    children. OpenMP's threads hold no locks: the fork uses one thread.
    """
    device = api.device_in_use()
    if device is not None:
        return reason("device-in-use", device=device.upper())
    if len([frame for frame in sys._current_frames().values() if not _is_ours(frame)]) > 1:
        return reason("threads-of-program")
    if api.local_bits()[0] & api.python_key():
        return reason("python-mode-on")
    if shares_memory():
        return reason("memory-shared")
    if any(name.startswith(THREADS) for name in _thread_names()):
        return reason("threads-of-engine")
    handler = signal.getsignal(signal.SIGCHLD)
    if callable(handler) or handler is None:
        return reason("children-handled")
    return None


def _is_ours(frame: FrameType) -> bool:
    """Return whether a thread is the recorder's own, by the function with which the thread began."""
    while frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename.startswith(OURS)


def _thread_names() -> Iterable[str]:
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as name:
                yield name.read().strip()
        except OSError:  # the thread ended
            continue


def _is_harmless(frame: FrameType, event: str, argument: Any) -> bool:
    """Return whether Python code between the fork and the call leaves everything outside the process unchanged."""
    if event in ("call", "return"):  # the calling function may not end; a tick of the recorder may be due
        return frame.f_code.co_filename.startswith((api.TORCH_DIR + os.sep, OURS))
    if event == "c_call" and argument not in HARMLESS:
        table, _ = api.identify(argument) or ("", "")
        return table == "torch._C" or bool(table and not api.is_internal(table))
    return True


def _ended(child: int, seconds: float, came: Mapping[int, Any]) -> tuple[int, bool]:
    """Wait for a child; return its status, and whether it was killed because it took too long or a signal came."""
    late, end = False, time.monotonic() + seconds
    try:
        watch = os.pidfd_open(child)
    except (AttributeError, OSError):
        watch = None
    try:
        if watch is not None:
            poll = select.poll()
            poll.register(watch, select.POLLIN)
            while not poll.poll(WAIT * 1000) and not late:
                late = time.monotonic() > end or bool(came)
        else:
            while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None and not late:
                late = time.monotonic() > end or bool(came)
                time.sleep(0.005)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    finally:
        if watch is not None:
            os.close(watch)
    if late:
        os.kill(child, signal.SIGKILL)
    try:
        return os.waitpid(child, 0)[1], late
    except ChildProcessError:  # the program collects the status of its children itself
        return 0, late
