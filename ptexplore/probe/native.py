"""The native pass: step the expression, or one operator call of it, and record where its instructions jump.

The pass runs in its own child process, because stepping may kill the process. The stepped code is warm: it has run
twice before, because a first call runs the dynamic linker, fills caches and allocates. If exactly that is asked for,
the first call is stepped. Everything runs on one thread, and only that thread is seen.

Every operator overload of torch has its own entry point, which torchgen writes. C++ code and the Python bindings call
the operator through it. Boxed calls (torch.ops, TorchScript) do not go through it.
"""

from __future__ import annotations

import base64
import ctypes
import difflib
import json
import math
import mmap
import os
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import torch

from . import autograd, events, passes
from . import torch_api as api
from .chosen_calls import CallTree, RecordedCall
from .expression import Refused, is_program
from .isolate import SharedAnswer, apart
from .observations import seen
from .reasons import reason
from .stepper import Limit, Stepper, Steps, Unavailable, row_addresses, why_not
from .values import describe, type_name

if TYPE_CHECKING:
    from .messages import (
        EventData,
        OperatorTimesData,
        ResultInfoData,
        RunRequestData,
        RunToldData,
        SentStepsData,
        SteppedResultData,
    )

RECORDER: Final = "native"
WARM_UPS = max(passes.WARM_UPS)  # runs before the stepped one
NET = 0.8  # the part of a pass's time in which stepping must end, so that the results so far are not lost
# Limits of instructions, and of those stepped by the trap flag, which are some ten times as slow: a million takes one
# second, or ten. No limit is a time, because the result must not depend on how busy the machine is.
WHOLE = 1_500_000, 600_000  # of a whole expression; beyond it one operator call is stepped
# Any operator call takes at least so many instructions: is_same_size, which compares two lists of sizes, took 492 with
# torch 2.13.0. LEAST is less than a third of that. So an expression with more calls than fit into WHOLE is surely
# beyond it, and its stepping is not begun.
LEAST = 150
OPERATOR = 3_000_000, 500_000  # of an operator call
ASKED = 3_000_000, 1_000_000  # of an operator call that was asked for, and of the very first call
# Of all chosen calls together, if the whole is beyond its limit. Each call has an equal part.
KINDS = 3_000_000, 500_000
ROWS = 1 << 20  # rows of the log: 64 MB
TIMED = 3  # runs under the profiler; the fastest call of all runs gives the time of a call
SHORT = 0.2  # seconds: a longer expression is timed once. This only affects how exact the times are

INSTRUMENTED = (3, 12)  # from this Python on, code is rewritten when it first runs with a profile function
LIBRARY = "libtorch_cpu.so"
ENTRY = b"_ZN2at4_ops%d%s4callE"  # the Itanium ABI's name of at::_ops::X::call, without its parameters
APPLY = b"_ZN%s5applyE"  # and of the `apply` of a node's class
GENERATED = "torch::autograd::generated::"  # a node's name leaves this out
CALLED = 64  # the first called operator is looked for among so many
DIGITS = 10**15  # added to nanoseconds, which are fewer
MOST_KINDS = 40  # kinds of calls of which one is stepped: the costliest
MOST_ENTRIES = 400  # operators whose entry points get a breakpoint
ROUNDS = 3  # runs in which calls are stepped
UNLOCATED = reason("locations-left-out")
Called = Sequence[tuple[str, str | None]]  # names and overloads, as the profiler records them

ONCE = reason("runs-once")
SCRIPT = reason("script-not-stepped")


def run(request: RunRequestData) -> RunToldData:
    """Run the pass in this process. Gives the observations "steps" (one for each stepped part), "maps" and "result".

    Raises Unavailable if this process cannot be stepped, and Refused or Raised as every pass does.
    """
    wanted = request.get("native_op")
    refused = ONCE if request["once"] else SCRIPT if is_program(request) and wanted is None else why_not()
    if refused is not None:
        raise Unavailable(refused)
    asked = parsed(wanted) if wanted is not None else None
    torch.set_num_threads(1)
    if request.get("unlocated"):
        api.record_no_source_locations()
    runs = _Runs(request)
    beyond = None
    is_first = passes.steps_first(request)
    if is_first:
        if not request.get("first"):
            api.begin_device(passes.texts(request), request.get("begin"))
        once, parts = _step_first(runs)
    elif asked is None and (beyond := _surely_beyond(request)) is None:
        once, parts, beyond = _step_all(runs)
    if beyond is not None:
        once, parts = _one_of_each_kind(runs, beyond) or _operator_call(runs, None, beyond)
    elif asked is not None and not is_first:
        once, parts = _operator_call(runs, asked)
    observations = []
    for part in parts:
        sent = part.data()
        sent["warm_ups"], sent["threads"] = runs.count, torch.get_num_threads()
        observations.append(seen(RECORDER, "steps", sent))
    observations.append(seen(RECORDER, "maps", {"text": maps()}))
    observations.append(seen(RECORDER, "result", runs.compared(once)))
    if (asked is not None or beyond is not None) and not is_program(request):
        runs.take_times()
        while not runs.timed or (runs.timed < TIMED and runs.wall < SHORT):
            runs.profiled()
        times: OperatorTimesData = {
            "names": [name for name, _ in runs.times or ()],
            "times": [time for _, time in runs.times or ()],
            "threads": torch.get_num_threads(),
            "runs": runs.timed,
        }
        observations.append(seen(RECORDER, "times", times))
    if request.get("unlocated"):
        observations.append(seen(RECORDER, "cut", {"told": UNLOCATED}))
    return {"bound": once.evaluation.names.bound, "result": once.result, "observations": observations}


def _surely_beyond(request: RunRequestData) -> Limit | None:
    """Returns the limit that the whole expression exceeds already by its number of operator calls, or None."""
    most, _ = request.get("whole", WHOLE)
    return Limit(most, singly=False) if int(request.get("called", 0)) * LEAST > most else None


class _OperatorCall(NamedTuple):
    """The operator call that was stepped: the `number`-th of `of`, or None if unsure; `beyond`: why not all was."""

    beyond: Limit | None
    op: str
    of: int
    number: int | None


@dataclass
class _Part:
    """A stepped part: `forward`, `backward`, or an operator's `call`.

    Its rows are packed only after all stepping. They contain times, so their packed length differs each time, and
    objects allocated after them would get other addresses.
    """

    what: Literal["forward", "backward", "operator"]
    steps: Steps
    call: _OperatorCall | None = None

    def data(self) -> SentStepsData:
        """Returns the part as plain data."""
        sent = stepped_part(self.what, self.steps)
        if self.call is not None:
            beyond = self.call.beyond
            sent["beyond"] = {"count": beyond.count, "singly": beyond.singly} if beyond is not None else None
            sent["op"], sent["of"], sent["number"] = self.call.op, self.call.of, self.call.number
        return sent


class _Once:
    """One evaluation of the expression. It starts from the same state as the earlier evaluation, `before`."""

    def __init__(self, request: RunRequestData, before: passes.Pass | None = None) -> None:
        self.evaluation = passes.prepared(RECORDER, request, before)
        self.value: Any = None
        self.limit: Limit | None = None  # the limit that stepping reached

    @cached_property
    def result(self) -> ResultInfoData:
        """The described result of the evaluation; empty if it raised."""
        if self.evaluation.raised is not None:
            return {"type": "", "description": "", "fingerprint": None}
        fingerprint = self.evaluation.names.digest(self.value)
        return {"type": type_name(self.value), "description": describe(self.value), "fingerprint": fingerprint}

    def run(self, how: Callable[[Callable[[], None]], Any] = lambda both: both()) -> Any:
        """Evaluate at full speed, with backward. `how` gets a function that evaluates; its result is returned."""
        with passes.stage("context"), ExitStack() as stack:
            passes.enter_contexts(stack, self.evaluation)
            given = how(lambda: self._evaluate(lambda _, function, *given: function(*given)))
        self._check_end()
        _ = self.result  # described now, while the names still have their values
        return given

    def stepped(self, stepper: Stepper) -> list[_Part]:
        """Evaluate under the stepper. Forward and backward are separate parts."""
        parts: list[_Part] = []

        def step(phase: Literal["forward", "backward"], function: Callable[..., Any], *given: Any) -> Any:
            value, steps = stepper.step(function, *given)
            parts.append(_Part(phase, steps))
            self.limit = self.limit or steps.limit
            stepper.most = max(stepper.most - steps.instructions, 1)
            stepper.singly = max(stepper.singly - steps.singly, 1)
            return value

        with passes.stage("context"), ExitStack() as stack:
            passes.enter_contexts(stack, self.evaluation)
            self._evaluate(step)
        self._check_end()
        _ = self.result
        return parts

    def _check_end(self) -> None:
        """Raises Raised if this run raised and the run that the other passes saw did not."""
        if self.evaluation.raised is not None and not self.evaluation.request.get("raises"):
            raise self.evaluation.raised

    def _evaluate(self, perform: Callable[..., Any]) -> None:
        self.value, _ = passes.phases(self.evaluation, autograd.run_backward, perform)


@dataclass
class _Runs:
    """The runs at full speed before the stepped one: how many, the fastest time, and the result of the last one."""

    request: RunRequestData
    began: float = field(default_factory=time.monotonic)
    count: int = 0
    wall: float = math.inf  # seconds of the fastest run under the profiler
    result: Any = None
    times: list[tuple[str, int]] | None = None  # operators and nodes of runs under the profiler, with nanoseconds
    timed: int = 0  # the number of these runs
    last: passes.Pass | None = None  # the last pass that was evaluated in this process
    aside: SharedAnswer | None = None  # the times of a run in a fork, not read until all stepping is over
    is_cut: bool = False  # the last run under the profiler had more events than are kept
    tree: list[RecordedCall] = field(default_factory=list)  # the calls of this run

    def once(self) -> _Once:
        """Make another evaluation."""
        once = _Once(self.request, self.last)
        self.last = once.evaluation
        return once

    def profiled(self) -> Called:
        """Run again under the profiler. Returns the called operators in order, with overloads if those are recorded."""

        def how(both: Callable[[], None]) -> list[Any]:
            began = time.monotonic()
            with api.profiler() as profile:
                both()
            self.wall = min(self.wall, time.monotonic() - began)
            seen, self.is_cut = events.collect(profile, {}, timed=True)
            return seen

        recorded: list[EventData] = self.warm_up(how)
        self.tree = [_as_call(event) for event in recorded]
        recorded = [event for event in recorded if event["type"] in ("op", "node")]
        times = [(event["name"] or "", event["time"]) for event in recorded]
        if self.times is not None and [name for name, _ in times] == [name for name, _ in self.times]:
            # For each call, the fastest time. A call's is never below the sum of those of the calls inside it.
            times = [(name, min(time, other)) for (name, time), (_, other) in zip(times, self.times, strict=True)]
        self.times, self.timed = times, self.timed + 1
        return [(event["name"] or "", event["overload"]) for event in recorded if event["type"] == "op"]

    def warm_up(self, how: Callable[[Callable[[], None]], Any] = lambda both: both()) -> Any:
        """Run again, and return what `how` returned."""
        once = self.once()
        given = once.run(how)
        self.count, self.result = self.count + 1, once.result["fingerprint"]
        return given

    def apart(self, work: Callable[[], Any]) -> Any:
        """Do `work` in a fork, because the profiler runs in it. Returns its result as plain data.

        The profiler starts a thread that stays, and beside another thread no breakpoints can be used for stepping. The
        fork's times are read after all stepping: their digits would move later allocations. If the fork fails, the work
        is done here, and may raise. If this process uses a device, the work is done here, too: a fork cannot use it.
        """
        if api.device_in_use() is not None:
            return work()

        aside = SharedAnswer() if self.aside is None else None
        self.aside = self.aside or aside

        def answer() -> bytes:
            given = work()
            if aside is not None and self.times is not None:
                aside.put(json.dumps([self.wall, self.times, self.timed]).encode())
            return json.dumps(given).encode()

        answered = apart(answer)
        return work() if answered is None else json.loads(answered)

    def take_times(self) -> None:
        """Take the times of a run in a fork if no more runs are needed: long runs are timed once."""
        text = self.aside.take() if self.aside is not None else b""
        if text and not self.timed:
            wall, times, timed = json.loads(text)
            if wall >= SHORT:
                self.wall, self.timed, self.times = wall, timed, [(name, time) for name, time in times]

    @property
    def left(self) -> float:
        """Seconds that are left for stepping. They end before the trace's own time limit."""
        return max(NET * float(self.request["timeout"]) - (time.monotonic() - self.began), 0.0)

    def compared(self, once: _Once) -> SteppedResultData:
        """Returns whether the stepped run gave the same result as the last full-speed run; None if that is unknown."""
        stepped = once.result["fingerprint"]
        return {"equal": None if None in (stepped, self.result) else stepped == self.result}


def _as_call(event: EventData) -> RecordedCall:
    """Returns an event of the profiler as a call: an operator call has a name."""
    op = event["name"] or "" if event["type"] == "op" else ""
    elements = sum(map(_elements, event.get("inputs", ())))
    return RecordedCall(op, event.get("overload"), event["parent"], event["time"], event["thread"], elements)


def _elements(value: Any) -> int:
    """Returns how many elements a recorded input has; for a list of numbers, which may be sizes, their product."""
    if isinstance(value, dict):
        return math.prod(value["sizes"])
    if not isinstance(value, list) or not value:
        return 0
    if all(isinstance(item, int) for item in value):
        return math.prod(value)
    return sum(map(_elements, value))


def stepped_part(name: Literal["forward", "backward", "operator"], steps: Steps) -> SentStepsData:
    """Returns one stepped part as plain data. The rows are packed, because they are many and repeat."""
    python = steps.python
    return {
        "what": name,
        "rows": base64.b64encode(zlib.compress(steps.rows, 1)).decode(),
        "instructions": steps.instructions,
        "cut": steps.cut,
        "seconds": round(steps.seconds, 3),
        "python": python.data() if python is not None else None,
        "unprofiled": steps.unprofiled,
    }


def _step_first(runs: _Runs) -> tuple[_Once, list[_Part]]:
    """Step the very first call in this process. Before it, only the code that makes its inputs has run."""
    once = runs.once()
    return once, once.stepped(Stepper(ROWS, ASKED[0], runs.left, ASKED[1]))


def _step_all(runs: _Runs) -> tuple[_Once, list[_Part], Limit | None]:
    """Step the whole expression after warm-up runs. The third result is the limit that was reached, or None."""
    for _ in range(WARM_UPS):
        runs.warm_up()
    most, singly = runs.request.get("whole", WHOLE)
    stepper = Stepper(ROWS, most, runs.left, singly)
    once = runs.once() if sys.version_info < INSTRUMENTED else None
    with stepper.profiled():
        if once is None:
            runs.warm_up()
            once = runs.once()
        parts = once.stepped(stepper)
    return once, parts, once.limit


def _operator_call(
    runs: _Runs, asked: tuple[str, int] | None, beyond: Limit | None = None
) -> tuple[_Once, list[_Part]]:
    """Step one operator call: the one asked for, else the first. `beyond`: why the whole expression is not stepped."""
    named = of_name(asked[0]) if asked else {}
    called, alike, is_cut = _called(runs)
    entries = named or of_called(called)
    if not entries and beyond is not None:
        none = reason("no-operator-enters" if called else "calls-no-operator")
        all_of_it = reason("all-beyond-singly" if beyond.singly else "all-beyond", most=beyond.count)
        raise Unavailable(reason("nothing-to-step", beyond=all_of_it, instead=none))
    name, number = asked or ("", 1)
    addresses = list(dict.fromkeys(entries.values()))
    most, singly = ASKED if runs.request.get("native_op") else OPERATOR
    stepper = Stepper(ROWS, most, runs.left, singly)
    counts: Sequence[int] = runs.warm_up(lambda both: stepper.step_call(addresses, 0, both)[1].counts)
    once, stepper.seconds = runs.once(), runs.left
    steps: Steps = once.run(lambda both: stepper.step_call(addresses, number, both)[1])
    if steps.entry is None:
        times = {"called": sum(steps.counts), "wanted": number}
        refusal = reason("called-fewer-times", op=name, **times) if asked else reason("nothing-called", **times)
        raise Refused("native", refusal)
    op = next(op for op, address in entries.items() if address == addresses[steps.entry])
    recorded = times_called(op, called)
    base, of = op.partition(".")[0], sum(name == f"aten::{op.partition('.')[0]}" for name, _ in called)
    alike_named = {address for name, address in entries.items() if name.partition(".")[0] == base}
    if of < sum(counts[addresses.index(address)] for address in alike_named):
        why = reason("events-cut", most=events.LIMIT) if is_cut else reason("maybe-in-another-thread")
        raise Unavailable(reason("called-beyond-recorded", op=base, because=why))
    sure = alike and (recorded is None or counts[steps.entry] == recorded)
    call = _OperatorCall(beyond, op, of, steps.counts[steps.entry] if sure else None)
    return once, [_Part("operator", steps, call)]


def _one_of_each_kind(runs: _Runs, beyond: Limit) -> tuple[_Once, list[_Part]] | None:
    """Step one operator call of each kind, the largest. Returns None if no call is certain.

    Each call has an equal part of the instructions. Calls that need more share the rest. If such a call calls further
    operators, the operators that it did not reach are stepped instead.
    """
    tree = CallTree(_recorded(runs))
    entries = entry_points(list(tree.overloads())[:MOST_ENTRIES])
    if not entries:
        return None
    addresses = list(dict.fromkeys(entries.values()))
    ops = [next(op for op, address in entries.items() if address == place) for place in addresses]
    left, left_singly = KINDS
    stepper = Stepper(ROWS, left, runs.left, left_singly)
    reached = runs.warm_up(lambda both: stepper.list_calls(addresses, both)[1])
    matched = tree.matched([ops[place] for place in reached], ops) if reached is not None else {}
    wanted = tree.chosen(matched)[: int(runs.request.get("calls", MOST_KINDS))]
    kinds = {tree.kind(choice.call) for choice in wanted}
    once, parts = None, dict[int, _Part]()
    for _ in range(ROUNDS):
        if not wanted or left <= 0 or left_singly <= 0:
            break
        each, each_singly = max(left // len(wanted), 1), max(left_singly // len(wanted), 1)
        stepper.most, stepper.singly, stepper.seconds = left, left_singly, runs.left
        once = runs.once()
        stepped: dict[int, Steps] = once.run(
            partial(stepper.step_calls, addresses, sorted(choice.reached for choice in wanted), each, each_singly)
        )[1]
        cut, inside = [choice for choice in wanted if choice.reached not in stepped], list[int]()
        for choice in wanted:
            steps = stepped.get(choice.reached)
            if steps is None:
                continue
            left, left_singly = left - steps.instructions, left_singly - steps.singly
            if steps.entry is None or not tree.is_of(choice.call, ops[steps.entry]):
                continue  # this run took another way
            (number, of), op = tree.numbered(choice.call), ops[steps.entry]
            if tree.calls[choice.call].overload is None:  # then it is numbered among the calls of all overloads
                op = op.partition(".")[0]
            parts[choice.call] = _Part("operator", steps, _OperatorCall(beyond, op, of, number))
            if steps.limit is not None:
                last = choice.reached + sum(1 for address in row_addresses(steps.rows) if address in addresses) - 1
                unreached = tree.after(choice.call, matched, last)
                inside += unreached
                cut += [] if unreached else [choice]
        further = [choice for choice in tree.chosen(matched, inside) if tree.kind(choice.call) not in kinds]
        kinds |= {tree.kind(choice.call) for choice in further}
        # A call that was cut is stepped again only if it can be stepped much further.
        share = len(cut) + len(further) or 1
        is_more = left // share >= 2 * each and left_singly // share >= 2 * each_singly
        wanted = [*(cut if is_more else ()), *further]
    return (once, [parts[call] for call in sorted(parts)]) if once is not None and parts else None


def _recorded(runs: _Runs) -> list[RecordedCall]:
    """Returns the operator calls of a warm run, and everything around them."""
    if not runs.count:
        runs.warm_up()
    told = runs.apart(lambda: (runs.profiled(), [_in_as_many_digits(call) for call in runs.tree])[1])
    return [RecordedCall(*row)._replace(time=row[3] - DIGITS) for row in told]


def _in_as_many_digits(call: RecordedCall) -> RecordedCall:
    """Returns the call, with a time that always has sixteen digits: the answer's length decides later addresses."""
    return call._replace(time=min(DIGITS + call.time, 10 * DIGITS - 1))


def _called(runs: _Runs) -> tuple[Called, bool, bool]:
    """Returns the operators that a warm run calls, whether the run that the other passes saw called the same ones, and
    whether events were cut.

    The other passes saw the first run of a script, or a later run of an expression whose first run imports modules.
    """
    if not is_program(runs.request):
        if not runs.count:
            runs.warm_up()
        called, is_cut = runs.apart(lambda: (runs.profiled(), runs.is_cut))
        return called, True, is_cut

    def twice() -> tuple[Called, bool, bool]:
        first = runs.profiled()
        return first, runs.profiled() == first, runs.is_cut

    called, alike, is_cut = runs.apart(twice)
    return called, alike, is_cut


def maps() -> str:
    """Returns the executable part of this process's memory map."""
    with open("/proc/self/maps") as lines:
        return "".join(line for line in lines if "x" in line.split(None, 2)[1])


# --- entry points in machine code of the operator calls that --native-op names: at::_ops::NAME::call ---


def parsed(wanted: str) -> tuple[str, int]:
    """Returns operator and number of `NAME[#N]`. Raises Refused if N is not a number from 1 on."""
    name, mark, number = wanted.partition("#")
    if mark and not (number.isascii() and number.isdigit() and int(number)):
        raise Refused("native", reason("call-number-wanted", given=wanted))
    return name.strip().removeprefix("aten::"), int(number or 1)


def entry_points(names: Iterable[str]) -> dict[str, int]:
    """Returns the addresses of operators' entry points, in the order of names. A name without overload means all."""
    registered: dict[str, list[str]] = {}
    for op in aten_operators():
        registered.setdefault(op.partition(".")[0], []).append(op)
    wanted: dict[str, None] = {}
    for name in names:
        base = name.partition(".")[0]
        wanted |= dict.fromkeys(op for op in registered.get(base, ()) if name in (op, base))
    return dict(_located(wanted))


def aten_operators() -> list[str]:
    """Returns every overload of namespace aten, without the namespace."""
    return [op.removeprefix("aten::") for op in api.operator_names() if op.startswith("aten::")]


def of_name(name: str) -> dict[str, int]:
    """Returns the entry points of the operator that a user named. Raises Refused if there is none."""
    points = entry_points([name])
    if points:
        return points
    known = {name for op in aten_operators() for name in (op, op.partition(".")[0])}
    if name in known:
        raise Refused("native", reason("no-entry-of", op=name))
    close = difflib.get_close_matches(name, known, 3, 0.7)
    raise Refused("native", reason("no-such-operator", op=name, near=close), close=close)


def of_called(called: Called) -> dict[str, int]:
    """Returns the entry points of called operators, in order; of all overloads if the profiler records no overload."""
    names = dict.fromkeys(
        f"{name}.{overload}" if overload else name for name, overload in called if name.startswith("aten::")
    )
    return entry_points(name.removeprefix("aten::") for name in list(names)[:CALLED])


def times_called(op: str, called: Called) -> int | None:
    """Returns how often the profiler saw an overload called; None if the profiler does not record overloads."""
    base, _, overload = op.partition(".")
    same = [given for name, given in called if name == f"aten::{base}"]
    return None if None in same else sum(given == overload for given in same)


def _located(ops: Iterable[str]) -> Iterator[tuple[str, int]]:
    named = {op: op.replace(".", "_").encode() for op in ops}
    return _addresses((op, ENTRY % (len(name), name)) for op, name in named.items())


def node_entry(name: str) -> int:
    """Returns the address of the `apply` of a node's class; 0 if torch's library has none."""
    scopes = (name if "::" in name else f"{GENERATED}{name}").encode().split(b"::")
    symbol = APPLY % b"".join(b"%d%s" % (len(scope), scope) for scope in scopes)
    return dict(_addresses([(name, symbol)])).get(name, 0)


def _addresses(named: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, int]]:
    """Yields each name, and the address of the function whose symbol begins with the given bytes."""
    path = os.path.join(api.TORCH_DIR, "lib", LIBRARY)
    library = ctypes.CDLL(path)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        start, end = _names(data)
        for name, begins in named:
            place = data.find(b"\0" + begins, start, end) + 1
            if place:
                symbol = data[place : data.find(b"\0", place)].decode()
                yield name, ctypes.cast(library[symbol], ctypes.c_void_p).value or 0


def _names(data: mmap.mmap) -> tuple[int, int]:
    """Returns where in an ELF file the names of its dynamic symbols are: begin and end of the loaded string table."""
    (sections,) = struct.unpack_from("<Q", data, 0x28)  # e_shoff
    size, count = struct.unpack_from("<2H", data, 0x3A)  # e_shentsize, e_shnum
    for number in range(count):
        kind, flags, _, offset, length = struct.unpack_from("<I4Q", data, sections + number * size + 4)
        if kind == 3 and flags & 2:  # SHT_STRTAB, SHF_ALLOC
            return offset, offset + length
    return 0, len(data)
