"""Fold the trees that the profiler makes. The size of the result depends on how many calls differ, not on repetitions.

An operator call becomes a kind of its path, a count and a time (`kinds.py`), and a place in the order (`order.py`).
Then the tree is dropped. A fold that is interrupted at any line keeps its finished rows; no row is half there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import copied, events, routes
from . import torch_api as api
from .call_numbers import CallNumbers, NumberedCall
from .fault_logs import FaultLogs
from .folded_steps import FoldedSteps
from .kinds import END, HOLE, Kind, KindTable, Row, RowKey, RowTable
from .order import MetNames, Order
from .paths import Path
from .profiled import MET, NODES, Call, given_in, key_set_of, launch_call, read, signature
from .saved_bytes import SavedBytes
from .slice_cut import NOT_CUT, SliceCut
from .syntax_lines import End, SyntaxLines
from .taken import gc, sys
from .thread_trees import ThreadTrees, in_order

if TYPE_CHECKING:
    from .messages import LibraryCallData, OperatorKindData, SentStepsData

LEAVES = 50_000  # maximum number of kinds of leaf calls that are recognized by key (`_met_before`)
DEEP = 100_000  # recursion limit of a fold: calls nest as deeply as the program's own
MARKED = api.MARK
_TENSOR, _OPERATOR = api.TENSOR_METADATA, api.OPERATOR_FIELDS


class Fold:
    """The result so far, and the walk over the trees of one profile."""

    # Slots: with so many attributes, reading one from a dict takes twice as long, and each event reads some.
    __slots__ = (
        "_around",
        "_copies",
        "_cut",
        "_device",
        "_first",
        "_imported",
        "_last",
        "_leaves",
        "_marks",
        "_names",
        "_order",
        "_overloads",
        "_python",
        "_read",
        "_reading",
        "_root",
        "_route_of",
        "_seen",
        "_syntax",
        "_trees",
        "_work",
        "faults",
        "kinds",
        "last",
        "numbers",
        "rows",
        "saved",
        "steps",
    )  # fmt: skip

    def __init__(self) -> None:
        self.kinds, self.rows = KindTable(), RowTable()
        self.numbers = CallNumbers()
        self.saved = SavedBytes(self.rows, self.numbers)
        self.faults = FaultLogs(self.rows, self.kinds, self.numbers)
        self.steps = FoldedSteps(self.kinds)
        self._order, self._names, self._trees = Order(), MetNames(), ThreadTrees()
        self._syntax = SyntaxLines()
        self._leaves: dict[Any, int] = {}  # rows of operators that called nothing, by all that tells their calls apart
        self._overloads = api.records_overloads()
        self._route_of: list[int] = []  # the number of the route, by row
        # Of the profile that is folded: its markers, the path of the program, and which events are a device's work.
        self._marks: dict[str, tuple[Path, int]] = {}
        self._root: Path | None = None
        self._work = api.NO_WORK
        self._cut: SliceCut = NOT_CUT
        self._imported = 0  # nanoseconds of the folded imports, which are not an operator's time
        self._reading: dict[int, int] = {}  # by address: key sets of tensors, read before the call that is folded
        # Of the call that is folded: the sequence numbers in it, and the first one; the nanoseconds in which it ran
        # Python; the key sets of inputs that were read; the nanoseconds of each launch; its copies.
        self._seen: list[int] = []
        self._first: int | None = None
        self._python = 0
        self._read: list[tuple[int | None, ...]] | None = None
        self._device: list[int] = []
        # The operators around the call that is read, with their inputs, and the copies that were found so far.
        self._around: list[tuple[str, Any]] = []
        self._copies: list[copied.CopyKey] = []
        self._last: Any = None  # the event of the call that was counted last
        self.last: list[OperatorKindData] = []  # the operators in this call, with their inputs

    @property
    def digest(self) -> str:
        """A hash of the names of all operators and nodes, in the order in which they were folded."""
        return self._names.digest

    @property
    def met(self) -> int:
        """The number of folded operators and nodes."""
        return self._names.count

    def began(self, thread: int, own: Path) -> None:
        """Note that a Python thread other than the main one began: its number and its own path."""
        self.numbers.has_threads = True
        self._trees.at[thread] = own, 0, own

    def are_at(self, threads: dict[int, tuple[Path, int, Path]]) -> None:
        """Note where threads are when a profile begins, by number: path, number of the sets, the thread's own path."""
        self._trees.at.update(threads)

    def take(
        self, profile: Any, marks: dict[str, tuple[Path, int]], root: Path, workers: Callable[[], Path], cut: SliceCut
    ) -> None:
        """Fold one profile. `workers` gives the path for threads without Python. `cut`: where the main thread was."""
        self._cut = cut
        self._drop_halves()
        self._marks, self._root = marks, root
        self.steps.begin()
        self._syntax.begin()
        limit, collects = sys.getrecursionlimit(), gc.isenabled()
        try:
            try:
                sys.setrecursionlimit(max(limit, DEEP))
                gc.disable()  # thousands of objects are made and freed here, and none is garbage for the collector
                self._fold_trees(profile, root, workers)
            finally:
                _put_back_limits(limit, collects=collects)
        finally:  # once more, in case something was raised in that call
            _put_back_limits(limit, collects=collects)
            self._work = api.NO_WORK  # this and the next line drop the profile
            self.numbers.release()
        self.last, self._last = given_in(self._last) if self._last is not None else self.last, None
        self.saved.place()
        self._names.add_latest()
        self._order.pack()
        self.numbers.forget()
        self.faults.engine.forget()

    def _fold_trees(self, profile: Any, root: Path, workers: Callable[[], Path]) -> None:
        roots = api.event_roots(profile)
        self._work = api.DeviceWork(profile)
        main = next((event.start_tid for event in roots if event.name == api.MARK + events.MAIN), None)
        roots.sort(key=lambda event: (event.start_tid != main, event.start_time_ns))
        self.numbers.begin(profile)
        by_thread: dict[int, list[Any]] = {}
        for event in roots:
            by_thread.setdefault(event.start_tid, []).append(event)
        for thread in in_order(by_thread, self.numbers.recorded_elsewhere):
            self.numbers.enter(thread)
            if thread == main:
                self._cut.find(by_thread[thread], self._marks)
            for trees, path, sets in self._trees.parted(by_thread[thread], thread, main, root, workers):
                self._walk(trees, path, sets)

    def _drop_halves(self) -> None:
        """Drop a row or a kind without a key, which an interrupted fold may have left."""
        self.rows.drop_half()
        self.kinds.drop_half()
        self.steps.drop_half()
        self._reading = {}

    # --- the walk ---

    def _walk(  # noqa: C901, PLR0912  (a further function costs more, at each event)
        self, trees: Sequence[Any], path: Path, sets: int, before: Path | None = None, after: Path | None = None
    ) -> Path | None:
        """Fold trees of one path. Return the last marker, or `before`.

        `before`, `after`: the markers before and after the trees. They help to place operators that syntax called.
        """
        marks, stepping = self._marks, self.steps.stepping
        lines: list[int | None] = []  # of the operators that follow, the last one first
        has_lines = path.label.code is not None
        for place, event in enumerate(trees):
            name = event.name
            marked = marks.get(name)
            if marked is not None:
                before = inner = marked[0]
                # If there was no room for a path, the marker has the path around it, whose time includes it already.
                if inner is not path and inner is not self._root:
                    took = event.duration_time_ns
                    inner.time += took
                    if inner.label.kind == "imports":
                        self._imported += took
                if inner.read:
                    outer, self._reading = self._reading, inner.read.pop(marked[1], self._reading)
                    self._walk_marked(event, *marked)
                    self._reading = outer
                elif stepping is None:
                    if children := event.children:
                        self._walk(children, inner, marked[1])
                else:
                    self._walk_marked(event, *marked)
            elif not name.startswith(MARKED):
                if has_lines and not lines:
                    lines = self._lines_from(trees, place, path, before, after)[::-1]
                line = lines.pop() if lines else None
                if stepping is None and name.startswith("aten::"):
                    call = self._met_before(event, name, path, sets, line)
                    if call is MET:
                        continue
                else:
                    call = read(event, name)
                if call is None or call[2] == "user":
                    following = (marks[each.name][0] for each in trees[place + 1 :] if each.name in marks)
                    before = self._walk_beside(event, path, sets, before, next(following, after))
                else:
                    self._unit(call, path, sets, (path.site, before.site if before is not None else None), line)
            elif lines:
                lines.pop()
        return before

    def _lines_from(self, trees: Sequence[Any], first: int, path: Path, before: End, after: End) -> list[int | None]:
        """Returns the lines of the operators from `first` on until the next marker, which syntax called in `path`."""
        names: list[str] = []
        before = self._cut.began(trees[first], path) if before is None else before
        for place in range(first, len(trees)):
            name = trees[place].name
            marked = self._marks.get(name)
            if marked is not None:
                return list(self._syntax.lines(path, before, marked[0], names))
            names.append(name)
        after = self._cut.ended(trees[-1], path) if after is None else after
        return list(self._syntax.lines(path, before, after, names))

    def _walk_beside(self, event: Any, path: Path, sets: int, before: Path | None, after: Path | None) -> Path | None:
        """Walk an event that is not an operator: a range, or a device's work that no operator launched.

        Returns the last marker, or `before`.
        """
        launched = api.launched(event, self._work)
        for work in launched:
            self._unit(launch_call(event, *work), path, sets)
        if launched:
            return before
        return self._walk(api.in_order(event.children, self._work), path, sets, before, after)

    def _walk_marked(self, event: Any, path: Path, sets: int) -> None:
        """Walk the events in a marker, which may be the marker of the stepped builtin."""
        around = self.steps.enter(path)
        self._walk(event.children, path, sets)
        self.steps.leave(around)

    def _met_before(self, event: Any, name: str, path: Path, sets: int, line: int | None) -> Call | None:
        """Count a call of a leaf operator, which calls no operator; a call with a known key is not read further.

        Returns MET if the call was counted. Otherwise returns the call as read, or None if the event is not a call. In
        a loop of small operators such calls are most of the cost of recording, so one key has all that distinguishes
        them.
        """
        fields = event.extra_fields
        given = fields.inputs if type(fields) is _OPERATOR else None
        children: list[Any] = []
        if not given or type(given[0]) is not _TENSOR or name == copied.COPY:
            call = read(event, name)
            if call is None or call[2] != "op" or call[5] or name == copied.COPY:
                return call
            given = call[4]
        else:
            children = event.children
        launched = self._launched_alone(children) if children else ()
        if launched is None:
            return event, name, "op", fields, given, children
        parts: list[Any] = [path.index, sets, name, line]
        for value in given:
            kind = type(value)
            if kind is _TENSOR:
                parts += (tuple(value.sizes), value.dtype, value.device, value.layout)
            elif kind is list or kind is tuple:
                sizes: list[Any] = []
                parts += (signature(value, sizes), tuple(sizes))
            else:
                parts.append(kind)
        sequence: int = fields.sequence_number
        counted = 0 <= sequence < events.COUNTED
        overload = event.overload_name if self._overloads else None
        parts += (overload, counted, *(kernel for kernel, _, _ in launched))
        key = tuple(parts)
        number = self._leaves.get(key)
        if number is None:
            number = self._unit((event, name, "op", fields, given, children), path, sets, line=line)
            if len(self._leaves) < LEAVES and not (self.faults.writes and api.writes(name, overload)):
                self._leaves[key] = number
            return MET
        self._names.latest.append(name)
        self._order.numbers.append(number)
        self._last, took = event, event.duration_time_ns
        row = self.rows.by_number[number]
        row.calls += 1
        row.time += took
        for place, (_, _, on_device) in enumerate(launched):
            row.device[place] += on_device
        if counted:
            self.numbers.current[sequence] = number, 0, event.start_time_ns + took
        return MET

    def _launched_alone(self, children: list[Any]) -> Sequence[tuple[str, str | None, int]] | None:
        """Returns the launches in an operator's events; None without device work, or if an operator is among them."""
        if not self._work or any(type(child.extra_fields) is _OPERATOR for child in children):
            return None
        return [given for child in api.in_order(children, self._work) for given in api.launched(child, self._work)]

    # --- one call ---

    def _unit(self, call: Call, path: Path, sets: int, site: Any = None, line: int | None = None) -> int:
        """Count one operator call, or one node that the engine ran, with all calls inside. Returns its row's number."""
        order = self._order.numbers
        position = len(order)
        outer = self._seen, self._first, self._python, self._read, self._device, self._around, self._copies
        try:
            order.append(END)
            return self._counted(call, path, sets, site, line, position)
        except BaseException:
            del order[position:]  # the call is counted whole, or not at all
            raise
        finally:
            self._seen, self._first, self._python, self._read, self._device, self._around, self._copies = outer

    def _counted(self, call: Call, path: Path, sets: int, site: Any, line: int | None, position: int) -> int:
        """Count a call in its row. The number of the row goes to `position` in the order."""
        event = self._last = call[0]
        self._seen, self._first, self._python, self._read = [], None, 0, [] if self._reading else None
        self._device, self._around, self._copies = [], [], []
        path.hot = True
        imported = self._imported
        sizes: list[Any] = []
        number_of_kind, sequence = self._kind(call, path, sets, sizes, None)
        kind = self.kinds.by_number[number_of_kind]
        maker: NumberedCall | None = None
        if kind.is_node:
            maker = self.numbers.maker(event, sequence)
            self.faults.engine.ran(event, sequence, maker, path)
        recorded = maker[:2] if maker is not None else None
        shape = kind.shapes.get(tuple(sizes))
        if shape is None:
            shape = self.kinds.shape(number_of_kind, sizes)
        key: RowKey = (path.index, sets, number_of_kind, shape, recorded, line)
        rows = self.rows
        number = rows.by_key.get(key)
        took = event.duration_time_ns - (self._imported - imported)
        if number is None:
            number = len(rows.by_number)
            copies = copied.added({}, self._copies) if self._copies else {}
            rows.by_number.append(Row(1, took, self._python, device=self._device, read=self._read, copies=copies))
            rows.by_key[key] = number
        else:
            row = rows.by_number[number]
            device = list(map(operator.add, row.device, self._device)) if row.device else self._device
            calls, took, python = row.calls + 1, row.time + took, row.python + self._python
            copies = copied.added(row.copies, self._copies) if self._copies else row.copies
            row.calls, row.time, row.python, row.device, row.copies = calls, took, python, device, copies
        self._order.numbers[position] = number
        stepping = self.steps.stepping
        if stepping is not None and call[2] != events.LAUNCH:
            self.steps.tell(stepping, key, number, path, event, site)
        if self._seen:
            least, ended = min(self._seen), event.start_time_ns + event.duration_time_ns
            for seen in self._seen:
                self.numbers.current[seen] = number, seen - least, ended
        return number

    def _kind(self, call: Call, path: Path, sets: int, sizes: list[Any], around: int | None) -> tuple[int, int]:
        """Returns the kind of a call, and its sequence number.

        `around`: the sequence number of the innermost enclosing call that has one. Calls of Python code that ran inside
        the call are folded separately, under their own paths.
        """
        event, name, type_, fields, inputs, children = call
        if type_ == events.LAUNCH:
            through, took = inputs
            self._device.append(took)
            return self.kinds.launch(name, through), -1
        self._names.latest.append(name)
        sequence: int = fields.sequence_number
        if self.steps.awaited:
            self.steps.look_for(event, type_)
        if self._read is not None:
            reading = self._reading
            self._read.append(tuple([key_set_of(value, reading) for value in inputs]) if type_ == "op" else ())
        given: Any = ()
        overload = None
        counted = False
        if type_ == "op":
            overload = self._overload(event, path)
            given = tuple([signature(value, sizes) for value in inputs])
            counted = 0 <= sequence < events.COUNTED
            if counted:
                self._seen.append(sequence)
                self._first = sequence if self._first is None else self._first
                around = sequence
            if name == copied.COPY:
                key_of_copy = copied.copy_key(inputs, self._around)
                self._copies += [key_of_copy] if key_of_copy is not None else []
        inside: tuple[tuple[int, int | None], ...] = ()
        if children:
            self._around.append((name, inputs if type_ == "op" else ()))
            inside = tuple(self._called(api.in_order(children, self._work), path, sets, around))
            self._around.pop()
        key = (type_, name, overload, given, counted, inside)
        number = self.kinds.by_key.get(key)
        if number is None:
            first: OperatorKindData = {"type": type_, "name": name}
            if type_ == "op":
                first["overload"], first["counted"] = overload, counted
                first["inputs"] = [events.recorded_input(value) for value in inputs]
            number = self.kinds.add(key, Kind(first, inside, type_ in NODES))
        return number, sequence

    def _overload(self, event: Any, path: Path) -> str | None:
        """Returns an operator call's overload. The log of writes keeps the call if it writes to an input."""
        overload = event.overload_name if self._overloads else None
        if self.faults.writes is not None:
            self.faults.writes.add(event, overload, path)
        return overload

    def _called(
        self, children: Iterable[Any], path: Path, sets: int, around: int | None
    ) -> Iterator[tuple[int, int | None]]:
        """Yields kind and relative sequence number of each operator or launch in a call, and HOLE where Python ran."""
        for child in children:
            name = child.name
            if name.startswith(MARKED):
                order = self._order.numbers
                length, marked = len(order), self._marks.get(name)
                imported = self._imported
                self._walk((child,), path, sets)
                if marked is not None and marked[0] is not path:
                    took = child.duration_time_ns - (self._imported - imported)
                    marked[0].inside += took
                    self._python += took
                if len(order) > length:
                    order.append(END)
                    yield HOLE
                continue
            call = read(child, name)
            if call is not None:
                yield self._inside(call, path, sets, around)
            elif self._work:
                for kernel, through, took in api.launched(child, self._work):
                    self._device.append(took)
                    yield self.kinds.launch(kernel, through), None

    def _inside(self, call: Call, path: Path, sets: int, around: int | None) -> tuple[int, int | None]:
        """Returns an inner operator's kind, and how far its sequence number is above the enclosing call's, or None."""
        kind, sequence = self._kind(call, path, sets, [], around)
        if not self.kinds.by_number[kind].first.get("counted"):
            return kind, None
        base = around if around is not None else self._first
        return kind, sequence - (base if base is not None else sequence)

    # --- results ---

    def result(self, paths: list[Path]) -> routes.Folded:
        """Returns the result; `paths` has all paths, by number."""
        self._drop_halves()
        folded = routes.folded(self.rows, self.kinds, self._order, paths, self.steps.stepping)
        self._route_of = folded.route_of
        return folded

    def lines(self, paths: list[Path]) -> Iterator[tuple[Path, int]]:
        """Yields the lines that called operators by syntax, each with the path of its function."""
        yield from {(paths[key[0]], key[5]) for key in self.rows.by_key if key and key[5] is not None}

    def stepped(self) -> Iterator[tuple[SentStepsData, list[LibraryCallData]]]:
        """Yields what was stepped, with its route, and the calls that libraries reported. Call `result` first."""
        return self.steps.data(self._route_of)


def _put_back_limits(limit: int, *, collects: bool) -> None:
    sys.setrecursionlimit(limit)
    if collects:
        gc.enable()
