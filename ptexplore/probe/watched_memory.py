"""Watch the memory of an expression, or of the first steps of a script: its peak, and what steps leave behind.

This is a run of its own, under torch's profiler, which sees what the allocator gives and takes back. Python's trace
function marks the lines of yours in the profiler's tree. Owners are read where backward begins and ends.
"""

from __future__ import annotations

import gc
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from . import passes
from . import torch_api as api
from .autograd_graph import GraphReader, Notes, named_tensors, sizes_of, variables_of
from .expression import Refused, script_file
from .memory_owners import NoGraph, OwnedStorage, live_tensors, storages_with_owners
from .recorders import GRAPH_MEMORY
from .references import Chain
from .values import type_name

if TYPE_CHECKING:
    from .messages import (
        ChainLinkData,
        LeftMemoryData,
        MemoryMomentData,
        MemoryPeakData,
        MemoryWatchData,
        NodeMadeAtData,
        PeakPartData,
        RunRequestData,
        RunToldData,
    )

LINE, LOOK, BEGIN, END = "line", "look", "begin", "end"  # markers.
MOST_MARKS: Final = 300_000  # marks of lines.
WARM_UP: Final = 2  # the state of optimizers and caches is alive where the second backward begins.
_Made: TypeAlias = "NodeMadeAtData | None"


def run(request: RunRequestData) -> RunToldData:
    """Run the code up to the end of some steps, and return what happened to memory. Raises Raised or Refused."""
    with api.profiler(shapes=False, memory=True) as profile:
        watch = _Watch(request)
        watch.run()
    history = _History(api.event_roots(profile), watch)
    return {"observations": [], "watched": history.data()}


@dataclass
class _Look:
    """The owners of the memory at one moment, by address of the StorageImpl."""

    step: int
    owned: dict[int, OwnedStorage]
    addresses: dict[int, int] = field(default_factory=dict)  # of the first byte
    bytes: dict[int, int] = field(default_factory=dict)
    examples: dict[int, Any] = field(default_factory=dict)  # sizes and dtype of a tensor
    made: dict[int, _Made] = field(default_factory=dict)  # the code that made the node


class _Enough(BaseException):
    """Ends a script after its last step."""


class _Watch:
    """Runs the code. Marks lines, and reads owners."""

    def __init__(self, request: RunRequestData) -> None:
        self.looks: list[_Look] = []
        self.lines: list[tuple[CodeType, int]] = []  # by number of a mark
        self.notes = Notes((request.get("expression") or "").strip())
        self.ended = False
        self.steps = 0  # how often the first call of backward began
        self.finds_left = bool(request.get("leak"))
        self.born: dict[int, int] = {}  # by StorageImpl: the first backward at whose beginning it was alive
        self._alive: list[set[int]] = []  # the StorageImpls that were alive where backward began, for each step
        self._numbers: dict[tuple[CodeType, int], int] = {}
        self._last = -1
        self._marks = 0
        self._request = request
        self._most = int(request.get("steps") or 2)
        self._site: tuple[CodeType, int] | None = None  # the first call of backward
        self._is_inside = False  # a backward is running
        self._is_done = False
        self._file = ""

    def run(self) -> None:
        """Run the code. Raises Raised."""
        script = self._request.get("script")
        if script is not None and "optim" in text_of_script(script):
            api.import_for_optimizers()
        gc.collect()
        gc.freeze()  # until the last look, the collector knows only the objects of your code: this takes 1% of the time
        running = passes.prepared(GRAPH_MEMORY, self._request)
        self._file = script_file(script) if script is not None else ""
        _mark(BEGIN)
        with passes.stage("context"), ExitStack() as stack:
            passes.enter_contexts(stack, running)
            stack.enter_context(api.noting_nodes(self.notes.note))
            value = running.attempt("script" if script is not None else "expression", self._traced, running.evaluate)
        if self._is_done:
            return
        if running.raised is not None:
            raise running.raised
        self.ended = True
        if script is None:
            self._look(value, running.names.values, is_last=True)

    def _traced(self, evaluate: Callable[[], Any]) -> Any:
        sys.settrace(self._called)
        try:
            return evaluate()
        except _Enough:
            return None
        finally:
            sys.settrace(None)

    # --- the trace functions ---

    def _called(self, frame: FrameType, _event: str, _: Any) -> Any:
        code = frame.f_code
        if code in api.BACKWARD and not self._is_inside:
            return self._backward_begins(frame, frame.f_locals.get(api.BACKWARD[code]))
        if self.notes.is_yours(code):
            self._mark_line(code, frame.f_lineno)
            return self._line
        return None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self._mark_line(frame.f_code, frame.f_lineno)
        elif event == "return":
            caller, code = frame.f_back, frame.f_code
            if code.co_name == "<module>" and code.co_filename == self._file:
                self._ends(frame)
            elif caller is not None and self.notes.is_yours(caller.f_code):
                self._mark_line(caller.f_code, caller.f_lineno)
        return self._line

    def _mark_line(self, code: CodeType, line: int) -> None:
        number = self._numbers.get((code, line))
        if number is None:
            number = self._numbers[code, line] = len(self.lines)
            self.lines.append((code, line))
        if number != self._last and self._marks < MOST_MARKS:
            self._last = number
            self._marks += 1
            _mark(f"{LINE}{number}")

    def _backward_begins(self, frame: FrameType, given: Any) -> Any:
        caller = self._your_caller(frame)
        if caller is None or self._is_done:
            return None
        site = caller.f_code, caller.f_lasti
        self._site = self._site or site
        is_over = site == self._site and self.steps == self._most
        if site == self._site:
            self._note_alive()
        self.steps += site == self._site and not is_over
        if is_over or not self.finds_left:
            self._look(given, variables_of(caller), is_last=is_over)
        if is_over:
            self._is_done = True
            raise _Enough
        self._is_inside = True
        return self._backward_line

    def _backward_line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "return":
            self._is_inside = False
            caller = self._your_caller(frame)
            if not self.finds_left and caller is not None:
                self._look(None, variables_of(caller))
        return self._backward_line

    def _your_caller(self, frame: FrameType) -> FrameType | None:
        caller = frame.f_back
        while caller is not None and not self.notes.is_yours(caller.f_code):
            caller = caller.f_back
        return caller

    def _ends(self, frame: FrameType) -> None:
        """Look at the end of the script, while its variables are alive."""
        if not self._is_done:
            self._is_done = self.ended = True
            self._note_alive()
            self._look(None, variables_of(frame), is_last=True)

    # --- the owners ---

    def _note_alive(self) -> None:
        """Note which storages are alive. Each is held weakly: a later one cannot have its address."""
        if self.finds_left:
            alive = {s.impl for tensor in live_tensors() for s in api.memory_of(tensor, weakly_held=True)}
            self._alive.append(alive)
            for impl in alive:
                self.born.setdefault(impl, len(self._alive))

    def _look(self, value: Any, variables: Mapping[str, Any], *, is_last: bool = False) -> None:
        if is_last:
            gc.unfreeze()
        number = len(self.looks)
        _mark(f"{LOOK}{number}")
        self.notes.name_modules(variables)
        named = named_tensors(variables)
        try:
            reader: Any = NoGraph(named) if value is None else GraphReader(value, named)
        except Refused:
            reader = NoGraph(named)
        left = self.left_behind()
        look = _Look(self.steps, storages_with_owners(reader, left.__contains__))
        for tensor in live_tensors():
            for storage in api.memory_of(tensor):
                look.addresses[storage.impl] = storage.address
                look.bytes[storage.impl] = storage.bytes
                if storage.impl in left:
                    sizes = sizes_of(tensor)
                    look.examples[storage.impl] = (
                        tuple(sizes) if sizes is not None else None,
                        str(tensor.dtype).removeprefix("torch."),
                    )
        for impl, owned in look.owned.items():
            if owned.node is not None:
                look.made[impl] = self.notes.made(owned.node)
        self.looks.append(look)

    @property
    def times(self) -> int:
        """The number of notes of live storages."""
        return len(self._alive)

    @property
    def has_few_steps(self) -> bool:
        """Whether there are too few steps to tell a leak from a warm-up, and from what the last step holds."""
        return len(self._alive) < WARM_UP + 3

    def left_behind(self) -> set[int]:
        """Return the storages that are alive, were made after the warm-up, and lived through at least one whole step.

        The last two steps are not over, and their storages are left out.
        """
        if not self._alive:
            return set()
        last = len(self._alive) - 2
        return {impl for impl in self._alive[-1] if WARM_UP < self.born[impl] <= last}


def text_of_script(script: str) -> str:
    """Return the text of a script; "" if it cannot be read."""
    try:
        with open(script_file(script), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _mark(name: str) -> None:
    with api.marker(name):
        pass


@dataclass
class _Block:
    """An allocation. `born` and `freed` are numbers of events."""

    address: int
    bytes: int
    born: int
    line: int | None  # the mark of your line
    maker: str  # the outermost operator that ran
    freed: int | None = None

    def is_alive_at(self, number: int) -> bool:
        """Return whether it was alive just after an event."""
        return self.born <= number and (self.freed is None or self.freed > number)


class _History:
    """The events of the profile in order of time: which memory was alive when."""

    def __init__(self, roots: Iterable[Any], watch: _Watch) -> None:
        self._watch = watch
        self._blocks: list[_Block] = []
        self._looked: dict[int, int] = {}  # by look: the number of its event
        self._alive: dict[int, _Block] = {}  # by address
        self._peak, self._peak_at = -1, 0
        self._line: int | None = None
        self._operators: tuple[str, ...] = ()
        self._walk(sorted(_flat(roots), key=lambda pair: pair[0].start_time_ns))

    def _walk(self, events: list[tuple[Any, tuple[str, ...]]]) -> None:
        total, has_begun = 0, False
        line: int | None = None
        for number, (event, operators) in enumerate(events):
            name = event.name
            if name.startswith(api.MARK):
                kind = name.removeprefix(api.MARK)
                if kind.startswith(LINE):
                    line = int(kind.removeprefix(LINE))
                elif kind.startswith(LOOK):
                    self._looked[int(kind.removeprefix(LOOK))] = number
                has_begun = has_begun or kind == BEGIN
                continue
            given = api.allocation_of(event)
            if given is None:
                continue
            # Memory that is given anew was taken back before: another thread did that, which is not seen.
            total -= self._take_back(given.address, number)
            if given.bytes > 0:
                block = _Block(given.address, given.bytes, number, line, operators[0] if operators else "")
                self._alive[given.address] = block
                self._blocks.append(block)
                total += given.bytes
            if has_begun and total > self._peak:
                self._peak, self._peak_at, self._line, self._operators = total, number, line, operators
        self._total, self._last = total, len(events)

    def _take_back(self, address: int, number: int) -> int:
        block = self._alive.pop(address, None)
        if block is None:
            return 0
        block.freed = number
        return block.bytes

    # --- as plain data ---

    def data(self) -> MemoryWatchData:
        """Return all of it as plain data."""
        watch = self._watch
        moment: MemoryMomentData = {"step": self._step(), "operators": list(map(_shown, self._operators))}
        made = self._place(self._line)
        if made is not None:
            moment["made"] = made
        peak: MemoryPeakData = {"bytes": max(self._peak, 0), "moment": moment, "parts": self._parts_of_peak()}
        native, elsewhere = self._at_the_end()
        data: MemoryWatchData = {
            "peak": peak, "alive": self._total, "native": native, "elsewhere": elsewhere,
            "steps": watch.steps, "ended": watch.ended,
        }  # fmt: skip
        if watch.finds_left:
            data["few"] = watch.has_few_steps
            data["left"] = [] if watch.has_few_steps else list(self._left())
        return data

    def _step(self) -> int:
        before = [look.step for number, look in enumerate(self._watch.looks) if self._looked[number] <= self._peak_at]
        return max(before, default=0)

    def _place(self, line: int | None) -> _Made:
        if line is None:
            return None
        code, number = self._watch.lines[line]
        return self._watch.notes.place_of_line(code, number)

    def _parts_of_peak(self) -> list[PeakPartData]:
        sums = _Sums()
        owners = [{address: impl for impl, address in look.addresses.items()} for look in self._watch.looks]
        for block in self._blocks:
            if block.is_alive_at(self._peak_at):
                sums.add(block.bytes, *self._owner_of(block, owners))
        return sums.data()

    def _owner_of(self, block: _Block, owners: list[dict[int, int]]) -> tuple[str, str, _Made]:
        """Return the owner of a block at the peak: as it was read last before the peak, otherwise first after it."""
        looks = self._watch.looks
        before = [number for number in range(len(looks)) if self._looked[number] <= self._peak_at]
        after = [number for number in range(len(looks)) if self._looked[number] > self._peak_at]
        read = [number for number in (*reversed(before), *after) if block.is_alive_at(self._looked[number])]
        for number in read:
            impl = owners[number].get(block.address)
            owned = looks[number].owned.get(impl) if impl is not None else None
            if owned is not None and impl is not None:
                name = str(owned.node.name()) if owned.owner == "saved" else owned.name
                return owned.owner, name, looks[number].made.get(impl)
        kind = "native" if read else "temporary" if after else "end"
        return kind, _shown(block.maker), self._place(block.line)

    def _at_the_end(self) -> tuple[list[PeakPartData], int]:
        """Return what only C++ held at the last look, and the bytes of tensors in other memory than the allocator's."""
        if not self._watch.looks:
            return [], 0
        number = len(self._watch.looks) - 1
        look, at = self._watch.looks[number], self._looked[number]
        held = set(look.addresses.values())
        alive = [block for block in self._blocks if block.is_alive_at(at)]
        sums = _Sums()
        for block in alive:
            if block.address not in held:
                sums.add(block.bytes, "native", _shown(block.maker), self._place(block.line))
        given = {block.address for block in alive}
        elsewhere = {address: look.bytes[impl] for impl, address in look.addresses.items() if address not in given}
        elsewhere.pop(0, None)
        return sums.data(), sum(elsewhere.values())

    def _left(self) -> Iterator[LeftMemoryData]:
        """Yield what steps left behind: the storages with equal references are one."""
        watch, look = self._watch, self._watch.looks[-1]
        left, groups = watch.left_behind(), defaultdict[Any, list[int]](list)
        for impl, owned in look.owned.items():
            if impl in watch.born and watch.born[impl] < watch.times:
                groups[_kind(owned, look.examples.get(impl))].append(impl)
        blocks = {
            block.address: block for block in self._blocks if block.is_alive_at(self._looked[len(watch.looks) - 1])
        }
        kept = [group for group in groups.values() if left.intersection(group)]
        for group in sorted(kept, key=lambda group: -sum(look.owned[impl].bytes for impl in group)):
            example = next(impl for impl in group if impl in left)
            owned = look.owned[example]
            data: LeftMemoryData = {
                "owner": owned.owner,
                "name": owned.chain.text() if owned.chain is not None else owned.name,
                "bytes": sum(look.owned[impl].bytes for impl in group),
                "steps": sorted(watch.born[impl] for impl in group),
            }
            if owned.chain is not None:
                data["chain"], data["has_root"] = links_of(owned.chain), owned.chain.has_root
            block = blocks.get(look.addresses.get(example, 0))
            made = look.made.get(example) or (self._place(block.line) if block is not None else None)
            if made is not None:
                data["made"] = made
            if owned.node is not None:
                data["node"] = str(owned.node.name())
            if example in look.examples:
                data["sizes"], data["dtype"] = look.examples[example]
            yield data


def links_of(chain: Chain) -> list[ChainLinkData]:
    """Return the objects of a chain with their classes, and the reference to each."""
    texts = (chain.root, *chain.parts())
    return [{"type": type_name(item), "text": text} for item, text in zip(chain.objects, texts, strict=True)]


_NUMBER = re.compile(r"\[\d+\]|\d+")


def _kind(owned: OwnedStorage, example: Any) -> tuple[Any, ...]:
    """Return what storages with equal references have in common."""
    text = owned.chain.text() if owned.chain is not None else owned.name
    node = str(owned.node.name()) if owned.node is not None else ""
    return owned.owner, _NUMBER.sub("#", text), node, example if not text and not node else None


class _Sums:
    """Bytes by owner."""

    def __init__(self) -> None:
        self._sums: dict[tuple[Any, ...], PeakPartData] = {}

    def add(self, size: int, owner: Any, name: str, made: _Made) -> None:
        """Add bytes of an owner."""
        key = owner, name, tuple(made.items()) if made is not None else None
        if key not in self._sums:
            part: PeakPartData = {"owner": owner, "name": name, "bytes": 0, "count": 0}
            if made is not None:
                part["made"] = made
            self._sums[key] = part
        self._sums[key]["bytes"] += size
        self._sums[key]["count"] += 1

    def data(self) -> list[PeakPartData]:
        """Return the sums, the largest first."""
        return sorted(self._sums.values(), key=lambda part: -part["bytes"])


_ENGINE: Final = "autograd::engine::evaluate_function: "


def _shown(operator: str) -> str:
    return operator.removeprefix(_ENGINE)


def _flat(roots: Iterable[Any]) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Yield the events of a tree, each with the operators that it is inside of, outermost first."""
    pending: list[tuple[Any, tuple[str, ...]]] = [(event, ()) for event in roots]
    while pending:
        event, outer = pending.pop()
        yield event, outer
        is_operator = api.operator_fields(event) is not None and not event.name.startswith(api.MARK)
        inner = (*outer, event.name) if is_operator else outer
        pending += [(child, inner) for child in event.children]
