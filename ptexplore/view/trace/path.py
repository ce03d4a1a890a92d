"""The view `path`: the way from Python to the computation, one row for each hop, with the reason and the cost.

A trace has every hop; this view shows the hops that fit a screen. The costliest ones are opened first, as far as there
is room.
"""

from __future__ import annotations

import heapq
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, takewhile
from operator import attrgetter

from msgspec import structs

from ptexplore.facts import layouts
from ptexplore.facts.choosers import GRAD_MODE
from ptexplore.facts.kernels_of_keys import REFUSES, When, kernel_does
from ptexplore.model import details as says
from ptexplore.model import trace_remarks as beside
from ptexplore.model.details import Detail
from ptexplore.model.nesting import Unrolling, each, folded, outermost, unrolled, with_levels, without
from ptexplore.model.observed import Phase, UserCall, records
from ptexplore.model.reasons import KeyNotKnown
from ptexplore.model.run import Carried, added
from ptexplore.model.trace import CopyRef, Dispatch, Hop, Session, Trace, walk
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.resolve.dispatch.schema import only_asks
from ptexplore.view.trace import native, native_names
from ptexplore.view.trace.alike import Shapes, rounds_joined
from ptexplore.view.trace.amounts import library_time, size
from ptexplore.view.trace.around import about_this, explained, findings, legend, to_legend, typed
from ptexplore.view.trace.backward_start import backward_of
from ptexplore.view.trace.choices import choices, chooser_of
from ptexplore.view.trace.costs import Costs, costs_of
from ptexplore.view.trace.ending import ending_lines, left_by_error, left_here
from ptexplore.view.trace.expression_parts import PLUMBING, how_timed
from ptexplore.view.trace.hop_weights import figures, weights_shown
from ptexplore.view.trace.lines import formulas_of, launch_details, left_out, lines_of
from ptexplore.view.trace.memory_layouts import copied, elements, of_arguments, of_copy, of_new_tensor, without_overload
from ptexplore.view.trace.page import IN_CALL, NextStep, Options, ScreenRow, TraceView, in_words, percent
from ptexplore.view.trace.recursion import levels_folded
from ptexplore.view.trace.run_again import run_again
from ptexplore.view.trace.screen import (
    bare,
    call_numbers,
    everything,
    facts,
    is_yours,
    outermost_counted,
    place_of,
    reads,
    role_of,
)
from ptexplore.view.words.details import described
from ptexplore.view.words.trace_remarks import all_in_words

NO_RESHAPES = (0,) * len(layouts.RESHAPE)
ALONE = 9  # rows for an expression that calls one operator
FEWER = 24  # rows beside the text about an error
MOST = 37  # rows otherwise: with the text above and below, they fit a screen
OUTLINE = 0.7  # of the rows: so much may show the order of the calls before the costliest rows are opened
LINE = 46  # characters of a row's text, so that it stays on one line
FEW = 8  # rows: with no more room than this, a row with many rows inside stays closed
SETS_UP = "_functional::set_output_"  # of a function that makes a new result (torchgen/dest/register_dispatch_key.py)
REASONS = 2  # at most so many sentences below the rows say why keys are not known
MOST_COPIES = 100  # copies inside an operator that are counted
SMALL = 0.02  # of the whole: anything cheaper has no row
SMALL_OF_ONE = 0.05  # the same if the expression is a single operator call
COSTLY = 0.25  # of the whole: if all operators together took less, smaller rows are shown, too
KEEPS = 0.15  # of the single operator: a closed row that took so much is opened, as far as there is room
_ENGINE = "torch::autograd::Engine::"  # the loop over the graph; the nodes that it runs have rows
# Why the engine reaches a node and does not run it (evaluate_function of engine.cpp: captures_, needed_).
_TAKEN, _LEADS_NOWHERE, _ERROR = says.GradientTaken(), says.LeadsNowhere(), says.ErrorFirst()
_LEAF = "AccumulateGrad"
_CHOOSES_KERNEL = "at::native::DispatchStubImpl::get_call_ptr"  # it returns the kernel behind the stub, which runs next
_COPIES = ("c10::", "std::", "at::Tensor::", "at::TensorBase::")  # scopes of functions that copy arguments
_CAPABILITY = re.compile(r"\b(AVX2|AVX512|DEFAULT|VSX|ZVECTOR|SVE256)::")
_UNIT = re.compile(r"\.(AVX2|AVX512|DEFAULT|VSX|ZVECTOR|SVE256)\.cpp$")  # a copy compiled only for this capability
_RECORDS = frozenset(("torch::autograd::set_history", "torch::autograd::collect_next_edges"))

EXACT = ("registered", "located")  # how well a place must be known to be written inside a row
Details = tuple[Detail, ...]


@dataclass(slots=True)
class _Step:
    """A row that may be shown, with the rows inside it."""

    row: ScreenRow
    cost: int  # instructions
    weight: float  # decides how early it is opened
    children: list[_Step] = field(default_factory=list)
    is_call: bool = False  # called by the user's own Python: shown at any cost
    is_outline: bool = False  # contains Python functions or nodes, which show the order of what ran before any detail
    is_work: bool = False  # the elements are computed there, or in a row inside
    is_kernel: bool = False  # the kernel behind a dispatch stub
    is_library: bool = False  # a call into a linked library that reported what it did
    is_loop: bool = False  # the loop over the elements
    key: str = ""  # a dispatch key: its name
    op: str = ""  # an operator: its name
    unsaid: KeyNotKnown | None = None  # why its key, or its next key, is not named
    unsaid_inside: tuple[str, KeyNotKnown] | None = None  # while closed: the call whose keys are incomplete, and why
    only_asks: bool = False  # an operator that another one called to ask for a number: no row if nothing was stepped
    is_choice: bool = False  # it chooses what computes: shown at any cost
    is_unseen: bool = False  # a Python call whose function no recorder saw: its own instructions were not counted
    has_yours: bool = False  # in torch's C++, and a Python function of yours ran inside
    is_called_back: bool = False  # a function of yours that torch called
    called_back: int = 0  # the number of such functions inside, only the outermost ones
    is_left: bool = False  # the error that ended the run propagated out of it
    is_costly: bool = False  # it took much of the only operator that the expression calls
    is_open: bool = False
    is_uncounted: bool = False  # an operator call without an instruction count, beside calls that have one
    opened: Details | None = None  # the row's details while the rows inside it are shown
    kernels: tuple[str, ...] = ()  # a kernel: the stub kernels that ran inside
    shape: int = -1  # equal rows have the same number
    hops: list[int] = field(
        default_factory=list
    )  # the hops that the row stands for; a row "… more": the hops that it counts
    named: list[int] = field(default_factory=list)  # the operator calls that the row names while it is closed

    @property
    def is_key(self) -> bool:
        """Whether the row is a dispatch key with its kernel."""
        return bool(self.key)

    @property
    def leads_to_key(self) -> bool:
        """Whether another key of the same call is inside."""
        return self.is_key and any(inner.is_key for inner in self.children)

    @property
    def is_kept(self) -> bool:
        """Whether the row is shown at any cost."""
        return self.is_call or self.is_key or self.is_work or self.is_choice


def path_view(trace: Trace, options: Options, session: Session | None) -> TraceView:
    """Lays out the rows from Python to the computation, as many as fit a screen.

    If a module is opened, shows only the rows of its calls.
    """
    modules = native.modules_called(trace, options.opened) if options.opened is not None else frozenset()
    hops = [hop for hop in walk(trace.hops) if hop.id in modules] if modules else trace.hops
    costs = costs_of(trace, session, single=sum(1 for _ in outermost_operators(hops)) == 1)
    hops = [hop for hop in walk(costs.hops) if hop.id in modules] if modules else costs.hops
    operators = list(outermost_operators(hops))
    single = len(operators) == 1
    maker = _Steps(replace(trace, hops=costs.hops), options, session, operators, costs)
    steps = maker.of_modules(hops) if modules else maker.phases()
    _open(steps, MOST if trace.ending is None else FEWER, ALONE if single else None)
    flat = list(_with_times(_flat(steps), trace))
    rows = tuple(
        _with_own_code(_with_own(flat, maker.whole), hops) if not costs.timed else _with_parts_of_calls(flat, costs)
    )
    in_calls = any(row.cells for row in rows)
    weights = weights_shown(hops, "path")
    rows, weighed = _with_weights(rows, flat, weights, hops) if weights else (rows, ())
    innermost = next((row for row in reversed(rows) if row.hop in maker.left), None)
    if innermost is not None and trace.ending is not None:
        left = left_here(trace, trace.ending)
        rows = tuple(replace(row, details=(*row.details, *left)) if row is innermost else row for row in rows)
    remarks = (
        *(how_timed(trace, session, with_nodes=len(costs.parts) > 1) if costs.timed else ()),
        *((beside.PartsOfCall(),) if in_calls else ()),
        *_unsaid(steps),
        *_left_out(rows, maker, maker.without_rows(steps)),
        *(() if modules else run_again(trace)),
    )
    return TraceView(
        title=trace.expression,
        traced=trace.traced.name,
        facts=all_in_words(facts(trace, options, session)),
        rows=(),
        findings=all_in_words(findings(trace, verbose=options.verbose)),
        counted=maker.whole > 0,
        next_steps=(*_next_steps(trace, options, session, single=single), *to_legend(options)),
        read=reads(trace),
        ending=ending_lines(trace, (innermost.hop or 0, innermost.name) if innermost is not None else None),
        left_out=about_this(remarks),
        explained=explained(remarks),
        name="what ran, in order",
        columns=(*((IN_CALL,) if in_calls else ()), *weighed),
        view="path",
        table=in_words(rows),
        legend=legend(trace, rows),
    )


def _least_share(cost: int, whole: int, *, single: bool) -> float:
    """Returns the least share of a row. `cost`: of the operators, which Python around them may outweigh by far."""
    least = SMALL_OF_ONE if single else SMALL
    return least * min(cost / whole / COSTLY, 1.0) if cost and whole else least


def _unsaid(steps: Iterable[_Step]) -> Iterator[TraceRemark]:
    """Yields why a call's key, or its next key, is not named: each reason once, with its first operators."""
    operators: dict[KeyNotKnown, dict[str, None]] = {}
    around: list[tuple[int, str]] = []
    for row, step in _flat(steps):
        while around and around[-1][0] >= row.level:
            around.pop()
        if step.op:
            around.append((row.level, step.op))
        if step.unsaid is not None and around and (step.op or not step.leads_to_key):
            operators.setdefault(step.unsaid, {}).setdefault(around[-1][1])
        elif step.unsaid_inside is not None and not (step.is_open and step.children):
            name, why = step.unsaid_inside
            operators.setdefault(why, {}).setdefault(name)
    for why, names in itertools.islice(operators.items(), REASONS):
        yield beside.KeysNotNamed(operators=tuple(names)[:REASONS], more=len(names) > REASONS, why=why)


def _left_out(rows: Sequence[ScreenRow], maker: _Steps, without_rows: Sequence[TraceRemark]) -> tuple[TraceRemark, ...]:
    """Explains the shares, and names everything that no share includes.

    Without shares, says only which operators have no row.
    """
    if not any((row.own is not None or (maker.timed and row.share is not None)) and row.level for row in rows):
        return tuple(without_rows)
    phases = [row.name for row in rows if row.heading or says.EvaluatesExpression() in row.details]
    kinds = says.PythonFunction | says.CalledByPython
    functions = any(isinstance(detail, kinds) for row in rows if row.level for detail in row.details)
    digits = 0 if maker.least_share >= 0.01 else 1
    least, kernels = f"{maker.least_share:.{digits}%}", not (maker.is_single or maker.timed)
    return (
        beside.SharesOfPath(of=maker.of, least=least, kernels=kernels),
        *without_rows,
        *([beside.PythonIn(rows=tuple(phases))] if phases and functions and not maker.timed else []),
    )


def _with_own(given: Sequence[tuple[ScreenRow, _Step]], whole: int) -> Iterator[ScreenRow]:
    """Yields the rows with their own shares: the part that no row inside has. None if a row inside was not counted."""
    rows = [row for row, _ in given]
    inside = [0] * len(rows)  # instructions of the outermost counted rows inside
    uncounted = set[int]()  # rows with a row inside that called something and was not counted
    outer: list[int] = []
    for number, (row, step) in enumerate(given):
        while outer and rows[outer[-1]].level >= row.level:
            outer.pop()
        if row.instructions is not None:
            if outer:
                inside[outer[-1]] += row.instructions
            outer.append(number)
        elif outer and step.is_unseen and not _holds_counted(rows, number):
            uncounted.add(outer[-1])
    for number, (row, within) in enumerate(zip(rows, inside, strict=True)):
        is_counted = row.share is not None and row.instructions is not None and number not in uncounted
        own = max((row.instructions or 0) - within, 0) / whole if is_counted else None
        yield replace(row, own=own)


def _with_own_code(rows: Iterable[ScreenRow], hops: Iterable[Hop]) -> Iterator[ScreenRow]:
    """Yields the rows. A C++ function that keeps much says if that is its own code, unless the row says what it does.

    The instructions of functions inside it that have no row are not its own. A row may also say which library it did
    not take.
    """
    named = {hop.id: hop for hop in walk(hops) if hop.kind in ("native", "impl", "kernel")}
    for row in rows:
        is_open_question = all(isinstance(detail, says.NotTaken) for detail in row.details)
        hop = named.get(row.hop) if row.hop is not None and is_open_question else None
        if hop is not None and hop.instructions and row.share and row.own is not None and row.own >= KEEPS:
            own = (hop.instructions - _counted_inside(hop)) / hop.instructions * row.share
            yield replace(row, details=(*row.details, says.OwnCode())) if own >= max(KEEPS, row.own / 2) else row
        else:
            yield row


def _counted_inside(hop: Hop) -> int:
    """Returns the instructions of the outermost counted hops inside a hop."""
    return sum(
        inner.instructions or 0 for inner in outermost(hop.children, lambda inner: inner.instructions is not None)
    )


def _with_times(given: Iterable[tuple[ScreenRow, _Step]], trace: Trace) -> Iterator[tuple[ScreenRow, _Step]]:
    """Yields the rows; a row of calls into a linked library with the time that the library reports for all of them."""
    took = {hop.id: hop.library.took or 0 for hop in walk(trace.hops) if hop.library is not None}
    for row, step in given:
        time = library_time(sum(took.get(number, 0) for number in step.hops)) if step.is_library else ""
        details = (structs.replace(d, took=time) if isinstance(d, says.LibraryReports) else d for d in row.details)
        yield (replace(row, details=tuple(details)) if time else row), step


def _with_parts_of_calls(given: Sequence[tuple[ScreenRow, _Step]], costs: Costs) -> Iterator[ScreenRow]:
    """Yields the rows of a trace whose shares are of time. Inside a stepped call, a row has a part of the call."""
    for row, step in given:
        counted = [costs.instructions[hop] for hop in step.hops if hop in costs.instructions]
        around = costs.calls.get(step.hops[0]) if step.hops else None
        shown = replace(row, instructions=sum(counted) if counted else None)
        if around is None:
            yield shown
            continue
        calls = sum(costs.calls.get(hop, 0) for hop in step.hops) if row.times > 1 else around
        part = percent(step.cost / calls) if calls and row.share is not None else ""
        yield replace(shown, share=None, cells=(part,))


def _with_weights(
    rows: Sequence[ScreenRow],
    flat: Sequence[tuple[ScreenRow, _Step]],
    weights: Mapping[int, Carried],
    hops: Sequence[Hop],
) -> tuple[tuple[ScreenRow, ...], tuple[str, ...]]:
    """Returns the rows with a cell for each weight, and the headings of these cells."""

    def of(step: _Step) -> Mapping[str, str]:
        if not step.hops:
            return {}
        numbers = set(step.hops)
        # The hops of a row for several others can be inside one another.
        counted = step.hops if step.row.hop is not None else [h.id for h in outermost(hops, lambda h: h.id in numbers)]
        return figures(added(weights[number] for number in counted if number in weights))

    cells = [of(step) for _, step in flat]
    headings = tuple(dict.fromkeys(heading for known in cells for heading in known))
    before = max(len(row.cells) for row in rows)
    return tuple(
        replace(row, cells=(*row.cells, *[""] * (before - len(row.cells)), *(known.get(name, "") for name in headings)))
        for row, known in zip(rows, cells, strict=True)
    ), headings


def _holds_counted(rows: Sequence[ScreenRow], number: int) -> bool:
    """Whether a row inside this one was counted."""
    inner = takewhile(lambda row: row.level > rows[number].level, rows[number + 1 :])
    return any(row.instructions is not None for row in inner)


def outermost_operators(hops: Iterable[Hop]) -> Iterator[Hop]:
    """Yields the operator calls that no operator made, those in backward too."""
    return outermost(hops, lambda hop: hop.kind == "op")


def _takes_tensors(call: Hop | None) -> bool:
    """Whether an operator takes a tensor."""
    schema = call.operator.schema if call is not None and call.operator is not None else ""
    return "Tensor" in schema.rpartition("->")[0]


def _is_through(hop: Hop) -> bool:
    """Whether a hop has no row: the rows of its callees replace it."""
    if hop.kind == "python":
        return hop.name in PLUMBING
    if hop.kind == "stub":
        return bool(hop.children)
    if hop.name == _CHOOSES_KERNEL:
        return True
    return hop.kind == "native" and (hop.name.startswith(_ENGINE) or hop.name.endswith("::redispatch"))


def _open(steps: list[_Step], most: int, enough: int | None) -> None:
    """Opens rows, the costliest first, while all rows together are no more than `most`.

    Equal weights are opened in the order in which they ran. Once `enough` rows are shown, only four kinds are opened
    further: those that lead to the loop over the elements, to a function of yours, to the origin of an error, or to the
    next key of an open call. Functions of yours that torch called have rows as long as there is room. If there is
    little room, torch's rows around them are left out.
    """
    for step in steps:
        step.children = _folded(step.children, most - 1)
    room = most - sum(1 for _ in _flat(steps))
    order = itertools.count()
    pending = [
        (-inner.weight - inner.is_outline, _first(inner), next(order), inner)
        for step in steps
        for inner in step.children
    ]
    heapq.heapify(pending)
    kept = sum(inner.called_back for *_, inner in pending)  # rows for functions that torch called, inside closed rows
    waited: set[int] = set()  # outlines that waited: once is enough, as computation inside weighs over 1
    while pending and room > 0:
        weight, first, _, step = heapq.heappop(pending)
        is_further = step.is_costly or step.is_work or step.leads_to_key
        is_further = is_further or step.has_yours or step.is_left or step.called_back > 0
        if enough is not None and most - room >= enough and not is_further:
            continue
        may_wait = step.is_outline and not step.called_back
        if may_wait and room < most * (1 - OUTLINE) and weight < -1 and id(step) not in waited:
            waited.add(id(step))
            heapq.heappush(pending, (-step.weight, first, next(order), step))  # leave room for the details of each row
            continue
        others = kept - step.called_back
        free = room - others if kept <= room else room
        inside, added = step.children, sum(1 for _ in _flat(step.children))
        if step.called_back and free < added + sum(inner.called_back for inner in inside):
            inside = _called_back(inside)
            added = len(inside)
        if added > free and free > FEW:
            inside = _folded(inside, free)
            added = sum(1 for _ in _flat(inside))
        step.is_open = added <= free
        if not step.is_open:
            continue
        step.children = inside
        room -= added
        kept = others + sum(inner.called_back for inner in inside)
        for inner in step.children:
            # A call's keys come before anything else: they say what happened to the call.
            weight = min(-inner.weight - inner.is_outline, weight * inner.is_key)
            heapq.heappush(pending, (weight, _first(inner), next(order), inner))


def _called_back(steps: Sequence[_Step]) -> list[_Step]:
    """Returns the outermost functions of yours in these rows that torch called, without the rows around them."""
    return list(outermost(steps, lambda step: step.is_called_back))


def _first(step: _Step) -> int:
    """Returns the number of a row's first hop, which gives the order of running."""
    return step.hops[0] if step.hops else 0


def _flat(steps: Iterable[_Step]) -> Iterator[tuple[ScreenRow, _Step]]:
    """Yields rows and the rows inside open ones, each with its _Step."""
    for step, level in with_levels(steps, lambda step, _: step.is_open):
        details = step.opened if step.is_open and step.children and step.opened is not None else step.row.details
        within = list(dict.fromkeys((*_kernels(step.children), *step.kernels)))
        if step.is_open:
            shown = set(_kernels(step.children))
            within = [name for name in step.kernels if name not in shown]
        if within:
            details = _running(details if step.is_open else step.opened or step.row.details, within)
        elif not step.is_open and step.opened is None and step.children:
            details = _and_begins(details, _begins_inside(step))
        if step.row.times > 1:
            details = tuple(
                structs.replace(each, each=True) if isinstance(each, says.Holds) else each for each in details
            )
        is_closed = step.opened is not None and not step.is_open
        yield replace(step.row, level=level, details=details, is_closed=is_closed), step


def _named(step: _Step) -> Sequence[int]:
    """Returns the operator calls that a row names itself: none while the rows inside it are shown."""
    return () if step.is_open and step.children else step.named


def _and_begins(details: Details, begins: Details) -> Details:
    """Returns a closed row's details with what comes first inside it.

    These replace the remark that it calls other operators.
    """
    last = details[-1] if begins and details else None
    if isinstance(last, says.KnownAs) and last.told[-1:] == (says.CallsOthers(),):
        return (*details[:-1], structs.replace(last, told=(*last.told[:-1], *begins)))
    return (*(details[:-1] if last == says.CallsOthers() else details), *begins)


def _begins_inside(step: _Step) -> Details:
    """Returns what a closed row says about the rows inside: the keys that follow, else operators, else a function.

    A stepped function is not named: if its share is large, it has a row.
    """
    keys, inside = [], step
    while following := next((inner for inner in inside.children if inner.is_key), None):
        keys.append(following.key)
        inside = following
    if keys:
        return (says.ThenKeys(keys=tuple(keys)),)
    called = list(itertools.islice(outermost(step.children, lambda inner: bool(inner.op)), 2))
    if called:
        return (says.CallsFirst(name=called[0].op, more=len(called) > 1),)
    if step.row.instructions is not None:
        return ()
    first = step.children[0].row  # a predicted row says that it is predicted
    detail = says.CallsFirst(name=first.name, more=len(step.children) > 1 or first.times > 1)
    is_known = first.status in (step.row.status, "observed")
    return (detail if is_known else says.KnownAs(status=first.status, told=(detail,)),)


def _running(details: Details, kernels: Sequence[str]) -> Details:
    """Adds to a closed row the kernels that ran in it: as many names as fit, at least the first."""
    for count in range(len(kernels), 0, -1):
        running = (*details, says.Runs(kernels=tuple(kernels[:count]), more=len(kernels) - count))
        if len(described(running)) <= LINE:
            break
    return running


def _highest(dispatch: Dispatch) -> Detail:
    """Returns why a call's first key was taken: the key set in which it is the highest."""
    if left_out(dispatch):
        return says.HighestOfUnread(arguments=left_out(dispatch), set=dispatch.set)
    if ", " in dispatch.set:
        return says.HighestOfSet(set=dispatch.set)
    if dispatch.tls_exclude:
        return says.AutogradExcluded() if "Autograd" in dispatch.tls_exclude else says.OnlyKey()
    return says.OnlyKeyLeft()  # the seen set no longer has the keys that the thread-local sets excluded


def _kernels(steps: Iterable[_Step]) -> Iterator[str]:
    """Yields the names of kernels seen to run in these rows, and the names of calls into linked libraries."""
    for step in outermost(steps, lambda step: step.is_kernel or step.is_library):
        if not step.is_kernel:
            yield step.row.name
            continue
        if step.row.status in ("observed", "inlined"):
            yield step.row.name.partition("<")[0]
        yield from step.kernels


def _holds_library(step: _Step) -> bool:
    """Whether a row is, or contains, a call into a library that reported what it did."""
    return any(inner.is_library for inner in walk([step]))


def _behind_stubs(hops: Iterable[Hop]) -> Iterator[int]:
    """Yields the ids of kernels that dispatch stubs chose.

    The kernel is the next ATen function after the choice; copies of arguments come in between.
    """
    for hop in walk(hops):
        chosen = False
        for child in hop.children:
            chooses = child.name == _CHOOSES_KERNEL
            if chosen and not chooses and child.kind == "native" and child.name.startswith("at::native::"):
                yield child.id
            chosen = chooses or (chosen and child.name.startswith(_COPIES))


@dataclass(frozen=True, slots=True)
class _Around:
    """The surroundings of a row: the key before it in the same call, the Python call, the operator."""

    key: str = ""
    binding: Hop | None = None
    op: Hop | None = None
    engine: bool = False  # inside the engine that runs the graph
    node: bool = False  # inside a node that the engine runs
    recording: bool = True  # whether a graph may be recorded: not in backward without create_graph
    depth: int = 0  # the number of operators around it
    thread: int = 0  # the thread that runs it; 0 is the expression's thread
    foreign: bool = False  # the expression called something that no recorder saw: Python's len(), a class of yours

    @property
    def is_torchs(self) -> bool:
        """Whether torch's own C++ is around it. It calls functions of yours: a kernel, a hook, a backward."""
        return self.op is not None or self.binding is not None or self.node or self.engine


@dataclass(frozen=True, slots=True)
class _Inside:
    """Facts about everything inside a hop. They are computed once, since each level asks for them at any depth."""

    operators: int  # the number of operator calls
    call: Hop | None  # the first of the outermost operator calls
    count: int  # the number of outermost operator calls
    is_busy: bool  # an operator or a node ran, or something was launched
    has_yours: bool  # a Python function of yours ran
    has_library: bool  # a linked library reported a call
    copies: tuple[CopyRef, ...] = ()  # the first copies of more than one element.
    is_copied: bool = False  # an operator ran that copies data, or that writes a new tensor.
    reshapes: tuple[int, ...] = NO_RESHAPES  # the calls of each operator that reshapes


class _Steps:
    """Makes the rows of one trace."""

    def __init__(
        self, trace: Trace, options: Options, session: Session | None, operators: Sequence[Hop], costs: Costs
    ) -> None:
        self.trace = trace
        self.options = options
        self.whole = costs.whole
        self.is_single = len(operators) == 1
        cost = sum(hop.instructions or 0 for hop in operators)
        self.least_share = _least_share(cost, self.whole, single=self.is_single)
        self.least = self.least_share * self.whole
        self.costly = KEEPS * cost if self.is_single else 0.0
        self.parts = costs.parts
        self.timed = costs.timed
        self.of = beside.TimeOfCalls() if costs.timed else beside.AllInstructions(cut=costs.has_cut)
        # If one call of many was stepped, its shares would look like shares of the whole.
        is_whole = any(part != "operator" for part in self.parts)
        self.tells_shares = self.timed or self.is_single or options.verbose or is_whole
        calls = records(session.observations if session else (), "call", UserCall)
        self.calls = {call.observation: call for call in calls}
        self.busy = any(hop.kind in ("op", "node") for hop in walk(trace.hops))
        self.left = frozenset(left_by_error(trace))
        self.top = frozenset(hop.id for hop in trace.hops)
        self.numbers = call_numbers(trace)
        # By the id of a Python function or binding: the instructions of its C calls, Python's own helpers included. The
        # interpreter's loop counts for no function.
        self.called: dict[int, int] = {}
        folded(trace.hops if self.whole else (), self._count_called)
        self.kernels = frozenset(_behind_stubs(trace.hops))
        # The frames that show whether a kernel recorded a node are plumbing, which the rules leave out. So these come
        # from the whole trace.
        self.whole_hops = {hop.id: hop for hop in walk(trace.hops) if hop.kind in ("kernel", "impl")}
        self.held: dict[int, tuple[int, int]] = {}
        self.inside: dict[int, _Inside] = {}
        self.shapes = Shapes()
        self.levels: dict[int, int] = {}  # by hop id: how many levels of a recursive function it stands for
        self.hops: tuple[Hop, ...] = ()  # all hops that the rows are made from, also hops without a row

        self.choices: dict[int, Details] = {}  # by hop id: what chose the code that ran
        folded(trace.hops, self._count_held)

    def _note(self, hop: Hop, inside: tuple[_Inside, ...]) -> _Inside:
        """Stores the facts about everything inside a hop. Returns them with the hop itself added."""
        call = next((part.call for part in inside if part.call is not None), None)
        count, operators = sum(part.count for part in inside), sum(part.operators for part in inside)
        has_yours = any(part.has_yours for part in inside)
        has_library = any(part.has_library for part in inside)
        is_busy = any(part.is_busy for part in inside)
        copies = tuple(itertools.islice((copy for part in inside for copy in part.copies), MOST_COPIES))
        is_copied = any(part.is_copied for part in inside)
        reshapes = tuple(map(sum, zip(*(part.reshapes for part in inside), strict=True))) or NO_RESHAPES
        within = _Inside(operators, call, count, is_busy, has_yours, has_library, copies, is_copied, reshapes)
        self.inside[hop.id] = within
        if hop.kind == "op":
            copies = (hop.copy,) if hop.copy is not None and elements(hop.copy) > 1 else copies
            name = without_overload(hop)
            return replace(
                within, operators=operators + hop.calls, call=hop, count=1, is_busy=True, copies=copies,
                is_copied=is_copied or name in layouts.COPYING or name in layouts.WRITES,
                reshapes=tuple(n + hop.calls * (name == of) for n, of in zip(reshapes, layouts.RESHAPE, strict=True)),
            )  # fmt: skip
        is_busy = within.is_busy or hop.kind in ("node", "launch")
        has_library = has_library or hop.library is not None
        return replace(within, is_busy=is_busy, has_yours=has_yours or is_yours(hop), has_library=has_library)

    def _count_called(self, hop: Hop, inside: tuple[int, ...]) -> int:
        """Returns a hop's instructions, or the sum of its outermost counted parts if the hop was not counted.

        `called` keeps that sum for Python functions and for bindings: a binding may have no native frame of its own.
        """
        if hop.kind in ("python", "binding"):
            self.called[hop.id] = sum(inside)
        return hop.instructions if hop.instructions is not None else sum(inside)

    def _count_held(self, hop: Hop, inside: tuple[tuple[int, int], ...]) -> tuple[int, int]:
        """Counts the operators called and the nodes run in a hop, itself included.

        `held` keeps the counts of Python functions. Calls that operators make do not count, like in the number above
        the rows.
        """
        within, run = sum(operators for operators, _ in inside), sum(nodes for _, nodes in inside)
        if hop.kind == "python":
            self.held[hop.id] = within, run
        runs = hop.kind == "node" and not _is_recorded(hop)
        return hop.calls if hop.kind == "op" else within, run + (hop.calls if runs else 0)

    def without_rows(self, steps: Iterable[_Step]) -> tuple[TraceRemark, ...]:
        """Returns how many operator calls have no row, and their share of the whole; () if all calls have a row.

        The share of a call without a row includes calls inside it, except calls that have a row.
        """
        listed = {number for _, step in _flat(steps) for number in (*step.hops, *_named(step))}
        calls = left = cost = 0
        pending = [(hop, False) for hop in self.hops]
        while pending:
            hop, inside = pending.pop()
            if hop.kind == "op" and hop.status == "observed":
                calls += hop.calls
                is_left = hop.id not in listed
                left += hop.calls * is_left
                cost += (hop.instructions or 0) * (is_left - inside)
                inside = is_left
            pending += [(child, inside) for child in hop.children]
        if not left:
            return ()
        has_share = self._share(cost)
        share = beside.ShareOfAll(share=f"{cost / self.whole:.0%}", of=self.of) if has_share else None
        return (beside.CallsWithoutRow(left=left, calls=calls, share=share),)

    def of_modules(self, hops: Iterable[Hop]) -> list[_Step]:
        """Returns the rows of a module's calls."""
        self.hops = tuple(hops)
        hops = self._readable(self.hops)
        steps = unrolled(self._all(hops, _Around()))
        for step in steps:
            step.is_open = True
        return steps

    def phases(self) -> list[_Step]:
        """Returns the rows of forward and backward, each under a heading.

        Without backward, there is one row for Python.
        """
        self.hops = self.trace.hops
        hops = self._readable(self.hops)
        groups = [(phase, list(group)) for phase, group in groupby(hops, key=lambda hop: hop.phase)]
        if len({phase for phase, _ in groups}) < 2:
            return [self._python(unrolled(self._all(hops, _Around())))]
        out = []
        for phase in dict.fromkeys(phase for phase, _ in groups):
            inside = [hop for name, group in groups if name == phase for hop in group]
            out.append(self._phase(phase, unrolled(self._all(inside, _Around()))))
        return out

    def _readable(self, whole: tuple[Hop, ...]) -> tuple[Hop, ...]:
        """Returns the hops that may have rows, and stores facts about them."""
        hops = whole
        if native.frames(whole):
            hops, _ = native.condense(whole)
        hops, self.levels = levels_folded(hops)
        folded(hops, self._note)
        may_have_row = {hop.id for hop in walk(hops) if not _is_through(hop)}
        self.choices = choices(whole, may_have_row.__contains__, self.kernels)
        return hops

    def _python(self, inner: list[_Step]) -> _Step:
        """Returns the row of the expression itself, which Python evaluates."""
        cost = self.parts.get("forward", 0)
        row = ScreenRow("Python", details=(says.EvaluatesExpression(),), share=self._share(cost or None))
        return _Step(replace(row, instructions=cost or None), cost, 3.0, inner, is_open=True)

    def _phase(self, phase: Phase, inner: list[_Step]) -> _Step:
        cost = self.parts.get(phase, 0)
        detail = says.PythonEvaluates() if phase == "forward" else says.CallsBackward(of=backward_of(self.trace.result))
        share = self._share(cost or None)
        row = ScreenRow(phase, share=share, instructions=cost or None, heading=True, details=(detail,))
        return _Step(row, cost, 3.0, inner, is_open=True)

    def _share(self, instructions: int | None) -> float | None:
        is_known = self.whole and instructions is not None and (self.tells_shares or not self.parts)
        return instructions / self.whole if is_known and instructions is not None else None

    def _is_idle(self, hop: Hop, around: _Around) -> bool:
        """Whether a hop is a helper: it ran no operator or node, launched nothing, and is not on the error's path.

        A function of yours is no helper if torch called it (a kernel, a hook, `__torch_function__`), or if the
        expression called it, directly or through a function that no recorder saw (`len(x)`).
        """
        if self._returns_itself(hop) and around.op is None:
            return False
        is_of_expression = (hop.id in self.top and hop.kind == "python") or around.foreign
        if is_of_expression and (is_yours(hop) or self.inside[hop.id].has_yours):
            return False
        holds_yours = hop.kind == "binding" and self.inside[hop.id].has_yours
        if holds_yours or (around.is_torchs and (is_yours(hop) or self.inside[hop.id].has_yours)):
            return False
        is_python = hop.kind in ("python", "binding") and hop.id not in self.left and not native.is_range(hop)
        return is_python and not self.inside[hop.id].is_busy

    def _idle(self, hops: Iterable[Hop], around: _Around) -> Unrolling[dict[int, list[_Step]]]:
        """Returns, by hop id, the rows of the helpers among these hops: none, except perhaps for the costliest.

        Its row stands for all helpers, if they cost enough together. Inside an operator of a stepped trace returns {}:
        there, each counted helper has its own row.
        """
        if not self.busy or (around.op is not None and self.whole):
            return {}
        idle = [hop for hop in hops if self._is_idle(hop, around)]
        costs = {hop.id: hop.instructions or self.called.get(hop.id, 0) for hop in idle}
        steps: dict[int, list[_Step]] = {number: [] for number in costs}
        cost = sum(costs.values())
        if not cost or cost < self.least:
            return steps
        first = max(idle, key=lambda hop: costs[hop.id])
        step = yield self._module(first, around) if first.module is not None else self._step_of(first, around)
        more = sum(hop.calls for hop in idle) - first.calls
        details = (*(step.opened or step.row.details), says.NoOperator())
        row = replace(step.row, details=details, share=self._share(cost), instructions=cost)
        if more:
            name = f"{row.name} and {more} more"
            row = replace(row, name=name, details=(_several(idle), says.NoOperators()), lines=())
        steps[first.id] = [_Step(row, cost, cost / self.whole)]
        return steps

    def _all(self, hops: Sequence[Hop], around: _Around) -> Unrolling[list[_Step]]:
        """Returns the rows of several hops. Equal neighbours become one row, and so do the rounds of a loop."""
        idle = yield self._idle(hops, around)
        held: list[_Step] = []
        for hop in hops:
            held += idle[hop.id] if hop.id in idle else (yield self._of(hop, around))
        for step in held:
            step.shape = self.shapes.number(step.row.alike(), tuple(inner.shape for inner in step.children))
        out = list(rounds_joined(held, attrgetter("shape"), lambda first, equal: unrolled(_sum(first, equal))))
        # No uncounted call is known to be cheap: if one has a row, all of them have rows.
        uncounted = any(step.is_uncounted and step.is_kept for step in out)
        listed = (
            [] if step.only_asks
            else [step] if step.is_kept or step.cost >= self.least or (uncounted and step.is_uncounted)
            else [inner for inner in step.children if inner.is_call]
            for step in out
        )  # fmt: skip
        return [step for steps in listed for step in steps]  # calls have rows even if the row around them is left out

    def _of(self, hop: Hop, around: _Around) -> Unrolling[list[_Step]]:
        """Returns the rows for a hop: its own row, or the rows of its callees."""
        within = replace(around, thread=hop.thread or around.thread)
        is_away = hop.thread and not around.thread
        if hop.module is not None:
            module = yield self._module(hop, within)
            return [_with(module, says.InOtherThread()) if is_away else module]
        if native.is_compiling(hop):
            return [self._compiling(hop, within)]
        if hop.kind == "native" and hop.name.startswith(_ENGINE) and not around.engine:
            return [(yield self._engine(hop, around))]
        if _is_through(hop):
            return (yield from self._all(hop.children, around))
        if hop.kind == "key":
            return [(yield self._key(hop, around))]
        if hop.kind == "closed" and hop.library is None and (hop.native is None or not hop.native.third_party):
            return (yield from self._all(hop.children, within))  # a launch inside is no function of this library
        step = yield self._step_of(hop, within)
        if is_away:
            return [_with(step, says.InOtherThread())]
        return [_with(step, says.OrderUnknown()) if hop.unknown_order else step]

    def _step_of(self, hop: Hop, around: _Around) -> Unrolling[_Step]:
        """Returns the row of a hop."""
        made: _Step
        if hop.kind == "op":
            return (yield from self._operator(hop, around))
        if hop.kind == "python" and not native.is_range(hop):
            levels = f" ×{self.levels[hop.id]}" if hop.id in self.levels else ""
            kind: Details = (_kind_of_function(hop), *((says.CallsItself(),) if levels else ()))
            kind = (*kind, *self.choices.get(hop.id, ()))
            made = yield self._step(
                hop,
                f"{native.called_in_python(hop)}{levels}",
                (*kind, *_holding(*self.held.get(hop.id, (0, 0)))),
                replace(around, recording=True, foreign=hop.id in self.top and hop.source.line is None),
            )
            made.opened, made.is_unseen = kind, hop.source.line is None
            return made
        if hop.kind == "binding" or hop.binding is not None:
            return (yield from self._binding(hop, around))
        if hop.kind == "node":
            return (yield from self._node(hop, around))
        if hop.kind == "launch":
            return self._launch(hop, around)
        inner = hop.children[0] if native.is_trampoline(hop) and len(hop.children) == 1 else None
        if inner is not None and inner.status == "inlined":
            name = _CAPABILITY.sub("", bare(native.shown_name(inner)).partition("<")[0])
            row = self._row(replace(inner, instructions=hop.instructions), name, (says.LoopOverElements(),))
            # For example LAPACK's call for each matrix of a batch, or a function that has the loop itself.
            steps = yield self._all(inner.children, around)
            half = (hop.instructions or 0) / 2
            steps = [step for step in steps if _holds_library(step) or (half and step.cost > half)]
            made = self._made(row, hop, steps, around)
            made.is_loop = True
            return made
        if hop.kind == "closed":
            made = yield self._step(hop, native.library_call(hop), (native.library_detail(hop),), around)
            made.is_work = made.is_work and (hop.library is not None or made.cost >= self.least)
            made.is_library = hop.library is not None and not hop.library.query
            return made
        chooses = self.choices.get(hop.id, ()) if chooser_of(hop) is not None else ()
        is_chosen = hop.id in self.kernels or hop.stub_kernel is not None
        name = _CAPABILITY.sub("", bare(native.shown_name(hop))) if is_chosen else ""
        name = hop.name if native.is_range(hop) else name
        made = yield self._step(hop, name, chooses or (*self._what(hop), *self.choices.get(hop.id, ())), around)
        made.is_choice = bool(chooses)
        if hop.kind == "native" and around.op is None:
            self._tell_called(made, hop, "")
        if made.is_kernel:  # its helpers are its own work; only linked libraries and the loop have rows inside
            made.kernels = tuple(dict.fromkeys(_kernels(made.children)))
            made.children = [
                step
                for step in made.children
                if step.is_choice or (step.is_work and (step.cost >= self.least or step.is_loop))
            ]
        return made

    def _compiling(self, hop: Hop, around: _Around) -> _Step:
        """Returns the row of everything that torch.compile does to compile a function. No row is inside."""
        told: Details = (says.CompilesFrame(), *_holding(*self.held.get(hop.id, (0, 0))))
        row = replace(self._row(hop, native.COMPILING, told), opens=native.COMPILING)
        made = self._made(row, hop, [], around)
        made.cost = row.instructions or 0
        made.is_call = True
        return made

    def _module(self, hop: Hop, around: _Around) -> Unrolling[_Step]:
        """Returns the row of a module's call, with the module's name. It replaces the row of forward."""
        module = hop.module
        assert module is not None
        inside = hop
        while len(inside.children) == 1 and inside.children[0].name in (*PLUMBING, "forward"):
            inside = inside.children[0]
        name = module.name or module.bound
        called = f"{module.type}.forward()" if inside.name == "forward" else module.type
        choice = self.choices.get(inside.id, ())
        row = self._row(hop, f"{name}  {called}" if name else called, (says.Module(), *choice))
        row = replace(row, place=place_of(inside) if inside.name == "forward" else None, opens=name or module.type)
        steps = yield self._all(inside.children, around)
        made = self._made(row, replace(hop, children=inside.children), steps, around)
        made.is_call = around.op is None
        made.is_outline = made.is_call
        return made

    def _engine(self, hop: Hop, around: _Around) -> Unrolling[_Step]:
        """Returns the row of the autograd engine, with the nodes that it runs."""
        within = replace(around, engine=True, recording=hop.phase != "backward")
        reached = hop.node.reached if hop.node is not None else None
        # The engine also visits a root that leads to no wanted input, so both reasons are possible. A leaf leads to no
        # further node: its gradient was taken.
        ended = _TAKEN if reached is None or bare(reached) == _LEAF else _LEADS_NOWHERE
        reasons = (_ERROR, ended) if hop.node is not None and hop.node.failed else dict.fromkeys((_TAKEN, ended))
        does = says.NodeNotRun(node=bare(reached), reasons=tuple(reasons)) if reached else says.EngineRuns()
        row = self._row(hop, "", (does,))
        made = self._made(row, hop, (yield self._all(hop.children, within)), around)
        made.is_call = made.is_outline = True
        return made

    def _binding(self, hop: Hop, around: _Around) -> Unrolling[_Step]:
        """Returns the row of a binding. While closed, it names the operator that it calls and the keys of the call."""
        python = native.called_in_python(hop) or bare(hop.name)
        kind: Details = (says.BindingLeft() if hop.caught is not None else says.CalledBinding(),)
        if self._returns_itself(hop):
            kind = (*kind, says.CopiesNothing())
        made: _Step = yield self._step(hop, python, kind, replace(around, binding=hop))
        self._tell_called(made, hop, python)
        made.opened = kind
        return made

    def _ends_unknown(self, call: Hop) -> bool:
        """Whether a call raised an error, and its keys after the known ones are unknown."""
        return call.caught is not None and not self.whole

    def _keys(self, call: Hop) -> Details:
        """Returns the detail with the keys that an operator call went through; () if no key is known."""
        keys = keys_of(call)
        kind = says.KeysNextUnknown if self._ends_unknown(call) else says.ThroughKeys
        return (kind(keys=keys),) if keys else ()

    def _tell_called(self, made: _Step, hop: Hop, python: str) -> None:
        """Adds to a closed row the operator that is called inside, and the keys of the call.

        `python` is the name by which Python called it: an operator of the same name is not named again.
        """
        call, count = self.inside[hop.id].call, self.inside[hop.id].count
        if call is None:
            return
        name, details = call.op or call.name, self._keys(call)  # () if the keys are not known
        if count > 1:
            details = (says.CallsSeveral(operator=name),)
        else:
            made.named.append(call.id)
            if name.partition("::")[2].partition(".")[0] != python.rpartition(".")[2]:
                kind = says.CallsOperatorNextUnknown if self._ends_unknown(call) else says.CallsOperator
                details = (kind(operator=name, keys=keys_of(call)),)
            nothing = self._no_copy(call, _Around())
            details = (*of_copy(call), *nothing, *of_arguments(call), *self._inner_copies(call, _Around()), *details)
            made.unsaid_inside = _ends_openly(call)
        made.opened = made.row.details
        made.row = replace(made.row, details=(*made.row.details, *details))

    def _operator(self, hop: Hop, around: _Around) -> Unrolling[_Step]:
        """Returns the row of an operator call, with a row for each key inside. While closed, it lists the keys."""
        inner = yield self._all(hop.children, replace(around, key="", op=hop, engine=False, depth=around.depth + 1))
        unsaid = unknown_key(hop)
        kind: Details = (_operators_kind(hop), *((says.KeysUnknown(),) if unsaid is not None else ()))
        is_shown = around.op is not None and around.op.copy is not None  # the row around it shows the copy
        kind = (
            *kind,
            *(() if is_shown else of_copy(hop)),
            *self._no_copy(hop, around),
            *(() if around.op is not None else of_arguments(hop)),
        )
        row = self._row(hop, (hop.op or hop.name), (*kind, *self._inner_copies(hop, around), *self._keys(hop)))
        place = hop.operator.yaml if hop.operator is not None and hop.operator.yaml is not None else row.place
        row = replace(row, place=place, opens=f"{native.operator_name(hop)}#{self.numbers.get(hop.id, 1)}")
        made = self._made(row, hop, inner, around)
        made.op, made.opened, made.unsaid = hop.op or hop.name, kind, unsaid
        made.unsaid_inside = _ends_openly(hop)
        schema = hop.operator.schema if hop.operator is not None else ""
        made.only_asks = (
            not self.whole and around.op is not None and only_asks(schema) and self.inside[hop.id].call is None
        )
        made.is_uncounted = bool(self.whole) and not made.cost
        made.is_call = around.op is None
        self._show_yours(made, hop, around)
        return made

    def _no_copy(self, hop: Hop, around: _Around) -> Details:
        """Returns the detail of a call that copies nothing although it may, or that writes a new tensor by copying.

        Of the operators inside a call of yours, says the same of those that reshape. () if nothing is known.
        """
        if hop.copy is not None or hop.id in self.left or self.trace.ending is not None:
            return ()
        name = without_overload(hop)
        if name in layouts.WRITES:
            if around.op is not None and without_overload(around.op) in layouts.WRITES:
                return ()
            has_data = not any(call.kind == "key" and call.name in layouts.WITHOUT_DATA for call in walk(hop.children))
            return (of_new_tensor(hop, layouts.WRITES[name]),) if has_data else ()
        within = self.inside[hop.id]
        if within.is_copied:
            return ()
        if name in layouts.MAY_COPY:
            return (says.CopiesNothing(),)
        if around.op is not None:
            return ()
        views = [
            (view.removeprefix("aten::"), n) for view, n in zip(layouts.RESHAPE, within.reshapes, strict=True) if n
        ]
        named = tuple(f"{view} ×{count}" if count > 1 else view for view, count in views)
        return (says.ViewsInside(operators=named),) if named else ()

    def _returns_itself(self, hop: Hop) -> bool:
        """Whether Tensor.contiguous returned its tensor: it calls no operator if the tensor is contiguous already."""
        is_method = (
            hop.kind == "binding" and native.called_in_python(hop) == f"torch.Tensor.{layouts.CONTIGUOUS_METHOD}"
        )
        is_plain = not self.inside[hop.id].is_busy and not self.inside[hop.id].has_yours
        return is_method and is_plain and self.trace.ending is None and not hop.caught

    def _inner_copies(self, hop: Hop, around: _Around) -> Details:
        """Returns the largest copy that an operator makes inside, and how many others; () for an operator that copies.

        Copies of single elements are left out.
        """
        copies = self.inside[hop.id].copies if hop.copy is None and around.op is None else ()
        if not copies:
            return ()
        largest = max(copies, key=lambda copy: copy.bytes or 0)
        return (copied(largest), *((says.CopiesMore(copies=len(copies) - 1),) if len(copies) > 1 else ()))

    def _key(self, hop: Hop, around: _Around) -> Unrolling[_Step]:
        """Returns the row of a key with its kernel.

        Inside are the kernel's calls, and the next key if it redispatched.
        """
        kernel = next((child for child in hop.children if child.kind == "kernel"), None)
        row = self._row(hop, hop.key or hop.name, self._why(hop, kernel, around))
        cost = next((part.instructions for part in (hop, kernel) if part and part.instructions is not None), None)
        if cost is None and kernel is not None and kernel.status == "inlined":
            counted = list(outermost_counted(kernel.children))
            cost = sum(part.instructions or 0 for part in counted) if counted else None
        row = replace(row, share=self._share(cost), instructions=cost, place=None)
        body = kernel.children[0] if kernel is not None and _is_body_alone(kernel) else kernel
        if kernel is not None and body is not None:
            of_body = self._row(body, "", ())
            known = _known(kernel) if kernel.status != hop.status and body is kernel else ()
            why = row.details
            if body.status == "observed":  # the C++ stack of a thrown error has the kernel
                why = tuple(structs.replace(d, of_key=True) if isinstance(d, says.KnownAs) else d for d in why)
            lines = (*(line for line in row.lines if line.ref is None), *of_body.lines)  # the body has the places
            name = f"{row.name}  {of_body.name.removeprefix('at::native::')}"
            chosen = tuple(dict.fromkeys((*self.choices.get(kernel.id, ()), *self.choices.get(body.id, ()))))
            row = replace(row, name=name, place=of_body.place, lines=lines, details=(*known, *why, *chosen))
        within = replace(around, key=hop.key or hop.name)
        inner = [child for part in hop.children for child in (body.children if body and part is kernel else (part,))]
        made = self._made(row, replace(hop, instructions=cost), (yield self._all(inner, within)), around)
        made.key = hop.key or hop.name
        made.unsaid = unknown_key(kernel) if kernel is not None else None
        made.row = row
        if made.unsaid is not None:
            made.row = replace(row, details=(*row.details, says.NextKeyUnknown()))
        self._show_yours(made, hop, around)
        return made

    def _node(self, hop: Hop, around: _Around) -> Unrolling[_Step]:
        formulas = formulas_of(hop)
        shown = (says.Formulas(formulas=formulas),) if formulas and len(formulas) <= LINE - 6 else ()  # -v shows all
        kind = says.RecordedNode() if _is_recorded(hop) else says.RunNode()
        within = replace(around, node=True)
        return (yield from self._step(hop, bare(hop.name).removesuffix("::apply"), (kind, *shown), within))

    def _launch(self, hop: Hop, around: _Around) -> _Step:
        """Returns the row of a launch on a device. The cost is the cost of the function that launched it."""
        row = self._row(hop, native_names.kernel_name(hop.name), launch_details(hop))
        made = self._made(row, hop, [], around)
        made.is_kernel = True
        return made

    def _why(self, hop: Hop, kernel: Hop | None, around: _Around) -> Details:
        """Returns the reason why this key is taken, and the work of its kernel, on one line."""
        dispatch = hop.dispatch
        if dispatch is None:
            return _known(hop)
        why = says.NextKey() if around.key else _highest(dispatch)
        detail = self._kernel_of_key(hop, dispatch, kernel, around)
        if detail is None:
            return _known(hop, why)
        is_first = not isinstance(why, says.NextKey | says.AutogradExcluded)  # else the row's place in the tree says so
        return _known(hop, detail, *((why,) if is_first and len(described((detail, why))) <= LINE else ()))

    def _kernel_of_key(self, hop: Hop, dispatch: Dispatch, kernel: Hop | None, around: _Around) -> Detail | None:
        """Says what a key's kernel does, by the key and the table's reason for its entry; None if neither says.

        For an autograd kernel, says what it recorded, if that is known.
        """
        if dispatch.entry == "autograd kernel" and kernel is not None:
            return self._recorded(kernel, around)
        holds: dict[When, bool] = {
            "calls others": self.inside[hop.id].call is not None,
            "takes tensors": _takes_tensors(around.op),
            "refuses": kernel is not None and kernel.name.startswith(REFUSES),
        }
        so = frozenset(name for name in holds if holds[name])
        return kernel_does(hop.key or hop.name, dispatch.entry, so, self.trace.torch.version)

    def _recorded(self, kernel: Hop, around: _Around) -> Detail | None:
        """Returns whether an autograd kernel recorded a node; None if that is not certain."""
        whole = self.whole_hops.get(kernel.id, kernel)
        nodes = [child for child in of_call(whole) if child.kind == "node" and child.node and child.node.recorded]
        if nodes:
            return says.RecordsNodes(nodes=tuple(map(_recorded_node, nodes)), saved=_saved(around.op))
        is_left = kernel.id in self.left  # the error came before it could record
        if kernel.instructions is None or is_left:
            return None
        if any(child.name in _RECORDS for child in of_call(whole)):
            return says.RecordsNode()  # a node that the result does not lead to
        given = [self.calls[number] for number in (around.binding.evidence if around.binding else ())
                 if number in self.calls]  # fmt: skip
        arguments = [argument for call in given for argument in call.arguments]
        needs = [argument.requires_grad for argument in arguments]
        if not around.recording:
            return says.RecordsNothingInBackward()
        if needs and not any(needs):
            return says.RecordsNothingNeeded()
        asked = (child.native.returned for child in of_call(whole) if child.native and child.name == GRAD_MODE.function)
        return says.RecordsNothingGradOff() if False in asked else says.RecordsNothing()

    def _what(self, hop: Hop) -> Details:
        """Returns what a C++ function does, if the data say so."""
        is_kernel = hop.stub_kernel is not None or hop.id in self.kernels
        capability = self._capability(hop) if is_kernel else ""
        if hop.stub_kernel is not None:
            condition = hop.stub_kernel.condition if hop.status == "predicted" else None
            line = str(condition.line) if condition is not None else ""
            return _known(hop, _kernel(capability) if capability else says.KernelOfStub(line=line))
        if is_kernel:
            return (_kernel(capability) if capability else says.KernelBehindStub(),)
        if hop.kind == "impl" and hop.name.startswith("at::meta::structured_"):
            whole = self.whole_hops.get(hop.id, hop)
            is_new = any(SETS_UP in part.name for part in of_call(whole))  # else the caller passed the result in
            return _known(hop, says.SetsUpResult() if is_new else says.WorksOutShapes())
        if hop.kind == "impl" and hop.name.startswith("at::native::structured_") and hop.name.endswith("::impl"):
            return _known(hop, says.Computes())
        if native.is_range(hop):
            return (says.MarkedRangeBegins() if hop.kind == "python" else says.MarkedRange(),)
        role = role_of(hop) if hop.kind == "native" else ""
        return _known(hop, *((says.Role(role=role),) if role else ()))

    def _capability(self, kernel: Hop) -> str:
        """Returns the CPU capability that a kernel's own code was compiled for; "" if the symbol and file do not say.

        Operators that the kernel calls are compiled separately, and so are kernels that another stub chose inside it.
        """
        for part in self._own_code(kernel):
            symbol = part.native.symbol if part.native is not None and part.native.symbol else part.name
            match = _CAPABILITY.search(symbol) or _UNIT.search(part.native.unit if part.native is not None else "")
            if match is not None:
                return match[1]
        return ""

    def _own_code(self, kernel: Hop) -> Iterator[Hop]:
        """Yields a kernel and the functions in it, callers first.

        Leaves out operators, and kernels that further stubs chose.
        """
        yield kernel
        yield from without(
            kernel.children, lambda c: c.kind == "op" or c.stub_kernel is not None or c.id in self.kernels
        )

    def _step(self, hop: Hop, name: str, details: Details, around: _Around) -> Unrolling[_Step]:
        steps = yield self._all(hop.children, around)
        made = self._made(self._row(hop, name, details), hop, steps, around)
        made.is_call = around.op is None and hop.kind in ("python", "binding", "node")
        made.is_outline = made.is_call and (
            hop.kind == "python" or any(inner.is_call and not inner.opened for inner in made.children)
        )
        self._show_yours(made, hop, around)
        return made

    def _show_yours(self, made: _Step, hop: Hop, around: _Around) -> None:
        """Gives a row to a function of yours that torch called, and to a hop that contains one; opens it early."""
        inside = around.is_torchs or hop.kind in ("op", "node")
        made.has_yours = inside and self.inside[hop.id].has_yours
        made.is_called_back = inside and is_yours(hop)
        if made.has_yours or made.is_called_back:
            made.is_call = made.is_outline = True
            made.weight += 1.0

    def _made(self, row: ScreenRow, hop: Hop, inner: list[_Step], around: _Around) -> _Step:
        cost = hop.instructions if hop.instructions is not None else sum(step.cost for step in inner)
        operators = min(self.inside[hop.id].operators + (hop.kind == "op"), 1000)
        binding = self.inside.get(around.binding.id) if around.binding is not None else None
        beside = binding is not None and binding.count > 1 and around.depth <= (hop.kind != "op")
        of_order = _outside_in(hop, around, operators, beside=beside)
        weight = cost / self.whole + 1e-6 * operators if self.whole else of_order
        weight += 1.0 if hop.id in self.left else 0.0
        made = _Step(row, cost, weight, inner, hops=[hop.id], is_left=hop.id in self.left)
        made.called_back = sum(1 if step.is_called_back else step.called_back for step in inner)
        is_setup = says.SetsUpResult() in row.details  # the words say what it does: it opens only with --open
        made.is_costly = cost >= self.costly > 0 and (around.op is not None or hop.kind == "op") and not is_setup
        is_counted = bool(self.whole) and not (self.timed and hop.instructions is None)
        made.is_kernel = is_counted and (hop.id in self.kernels or hop.stub_kernel is not None)
        made.is_work = bool(self.whole) and (made.is_kernel or is_work(hop) or any(step.is_work for step in inner))
        made.is_work = made.is_work and not (self.timed and cost < self.least)
        # The way to the loop over the elements comes before its preparation. Calls from Python come before calls inside
        # operators.
        is_nested = hop.kind == "op" and around.depth > 1
        made.weight += (made.is_work and not is_nested) * max(0.0, 0.6 - 0.2 * around.depth)
        return made

    def _row(self, hop: Hop, name: str, details: Details) -> ScreenRow:
        shown = name or bare(native.shown_name(hop) if hop.native is not None and hop.native.symbol else hop.name)
        lines = lines_of(hop, full=False) if self.options.verbose else ()
        instructions = hop.instructions if hop.instructions is not None else self.called.get(hop.id) or None
        return ScreenRow(
            shown, share=self._share(instructions), instructions=instructions, details=details, place=place_of(hop),
            times=hop.calls, status=hop.status, hop=hop.id, opens=hop.name, lines=lines,
        )  # fmt: skip


def _outside_in(hop: Hop, around: _Around, operators: int, *, beside: bool) -> float:
    """Returns the weight of a row in a trace that was not stepped: below 0.02, larger for outer rows.

    Each level weighs half of the level around it, so calls from Python and nodes come before calls inside operators.
    Nodes are one level later, the start of backward two levels. On one level, rows with more operators inside come
    first, counting 1,000 at most; a row without operators comes last. If it is `beside` others that one binding calls,
    it comes with the next level.
    """
    level = around.depth if hop.kind == "op" or not around.depth else around.depth - 1
    level += 0 if hop.phase == "forward" else 1 if around.node or hop.kind == "node" else 2
    if operators > (hop.kind == "op"):
        return math.ldexp(0.01 * (1 + 1e-4 * operators), -level)
    return math.ldexp(0.0075, -level - beside)


def _kind_of_function(hop: Hop) -> Detail:
    """Returns what a row says about a Python function."""
    known = hop.python
    if known is not None and not (known.called and known.entered):
        return says.NotEntered() if known.called else says.CannotBeCalled()
    if known is not None and known.resumed:
        return says.ResumedFunction()
    return says.PythonFunction() if hop.source.line is not None else says.CalledByPython()


def _several(hops: Iterable[Hop]) -> Detail:
    """Returns the detail of a row that stands for several Python functions and bindings."""
    kinds = {hop.kind == "binding" for hop in hops}
    if len(kinds) > 1:
        return says.FunctionsAndBindings()
    return says.SeveralBindings() if True in kinds else says.SeveralFunctions()


def _holding(operators: int, nodes: int) -> Details:
    """Returns the detail of a closed row: how many operators are called inside, and how many nodes run."""
    if operators and nodes:
        return (says.HoldsBoth(operators=operators, nodes=nodes),)
    if operators:
        return (says.HoldsOperators(operators=operators),)
    return (says.HoldsNodes(nodes=nodes),) if nodes else ()


def _kernel(capability: str) -> Detail:
    """Returns the detail of a kernel behind a stub: the CPU capability it needs."""
    return says.KernelForAny() if capability == "DEFAULT" else says.KernelFor(capability=capability)


def _operators_kind(hop: Hop) -> Detail:
    """Returns the detail of an operator call's row; if it raised a caught error, the error's message."""
    return says.OperatorFailed(message=hop.caught.message) if hop.caught is not None else says.CalledOperator()


def _with(step: _Step, detail: Detail) -> _Step:
    """Adds a detail to a row, after its kind."""
    kind, more = step.row.details[:1], step.row.details[1:]
    step.row = replace(step.row, details=(*kind, detail, *more))
    step.opened = (*step.opened[:1], detail, *step.opened[1:]) if step.opened is not None else None
    return step


def _recorded_node(node: Hop) -> says.RecordedOne:
    """Returns a recorded node's class, with the line of its entry in derivatives.yaml if that line is certain."""
    source = node.derivative.source if node.derivative is not None else None
    is_certain = source is not None and source.path is not None and source.precision in EXACT
    file = f"{(source.path or '').rpartition('/')[2]}:{source.line}" if source is not None and is_certain else ""
    return says.RecordedOne(node=bare(node.name).removesuffix("::apply"), place=file)


def _saved(operator: Hop | None) -> str:
    """Returns how much an operator call keeps for backward; "" if nothing more than leaves and earlier calls keep."""
    saved = operator.weights.get("saved", 0) if operator is not None and operator.weights else 0
    return size(saved) if saved else ""


def _is_recorded(hop: Hop) -> bool:
    """Whether a node is shown where it was recorded, rather than where it ran."""
    return hop.node is not None and hop.node.recorded


def unknown_key(hop: Hop) -> KeyNotKnown | None:
    """Returns why a call or its kernel goes to a key that is not known; None if that is not the case."""
    return next((reason for reason in hop.why if isinstance(reason, KeyNotKnown)), None)


def keys_of(call: Hop) -> tuple[str, ...]:
    """Returns the dispatch keys of an operator call, in order; "?" at the end if further keys are not known."""
    parts = list(of_call(call))
    keys = list(dict.fromkeys(key.key or key.name for key in parts if key.kind == "key"))
    is_open = any(unknown_key(part) is not None for part in parts)
    return (*keys, says.UNKNOWN_KEY) if keys and is_open else tuple(keys)


def _ends_openly(call: Hop) -> tuple[str, KeyNotKnown] | None:
    """Returns the name of a call whose known keys are incomplete, and the reason; None for any other call."""
    why = next(filter(None, (unknown_key(part) for part in (call, *of_call(call)))), None)
    return (call.op or call.name, why) if why is not None and keys_of(call) else None


def _is_body_alone(kernel: Hop) -> bool:
    """Whether a generated kernel was inlined into its caller and only calls one function."""
    return kernel.status == "inlined" and [child.kind for child in kernel.children] == ["impl"]


def is_work(hop: Hop) -> bool:
    """Whether the elements are computed there: in a stub's kernel, a loop, a linked library, or on a device."""
    if hop.kind == "launch":
        return True
    if hop.instructions is None or (hop.library is not None and hop.library.query):
        return False
    is_library = hop.kind == "closed" and hop.native is not None and hop.native.third_party is not None
    return hop.stub_kernel is not None or hop.library is not None or is_library or native.is_trampoline(hop)


def of_call(hop: Hop) -> Iterator[Hop]:
    """Yields what an operator call did itself, callers first, without the operators that it called."""
    return without(hop.children, lambda child: child.kind == "op")


def _known(hop: Hop, *details: Detail) -> Details:
    """Returns the details of a hop. Unless the hop is observed, they begin with how it is known."""
    return details if hop.status == "observed" else (says.KnownAs(status=hop.status, told=details),)


def _sum(first: _Step, equal: _Step) -> Unrolling[_Step]:
    """Adds two equal rows. The sum keeps the number of the first."""
    inner = list((yield each(_sum(*pair) for pair in zip(first.children, equal.children, strict=True))))
    weight = first.weight + equal.weight if first.cost or equal.cost else max(first.weight, equal.weight)
    first.hops.extend(equal.hops)
    first.named.extend(equal.named)
    return replace(first, row=first.row.plus(equal.row), cost=first.cost + equal.cost, weight=weight, children=inner)


def _folded(steps: list[_Step], room: int) -> list[_Step]:
    """Keeps at most `room` of these rows: the heaviest, in their order, and one row for all others."""
    if len(steps) <= room:
        return steps
    kept = {id(step) for step in heapq.nlargest(max(room - 1, 1), steps, key=lambda step: step.weight)}
    rest = [step for step in steps if id(step) not in kept]
    shares = [step.row.share for step in rest if step.row.share is not None]
    names = {step.row.name for step in rest}
    is_other = not names & {step.row.name for step in steps if id(step) in kept}
    details: Details = (says.OtherCalls(names=len(names), other=is_other),)
    kernels = list(dict.fromkeys(_kernels(rest)))
    row = ScreenRow(
        f"… {sum(step.row.times for step in rest)} more", details=_running(details, kernels) if kernels else details,
        heading=False, share=sum(shares) if shares else None,
    )  # fmt: skip
    more = _Step(
        row, sum(step.cost for step in rest), 0.0, hops=[hop for step in rest for hop in (*step.hops, *step.named)]
    )
    return [*(step for step in steps if id(step) in kept), more]


def _next_steps(trace: Trace, options: Options, session: Session | None, *, single: bool) -> tuple[NextStep, ...]:
    """Returns the two commands most worth typing next."""
    whole = everything(trace, options, session)
    if options.opened is not None:
        return (typed(options, beside.EverythingInIt(), "--open", options.opened, "--view", "tree"), whole)
    if trace.ending is not None:
        return (typed(options, beside.HowThatIsKnown(), "--explain", "error"), whole)
    verbose = typed(options, beside.WhyTheseKeys(), "-v")
    return (verbose if single else typed(options, beside.ByOperator(), "--view", "operators"), whole)
