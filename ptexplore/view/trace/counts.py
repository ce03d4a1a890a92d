"""Numbers of a trace that a test can compare: what ran and how often, copies, waiting, instructions, bytes kept.

Each number has the rows that it is made of. If the trace does not prove a number, the functions here raise
PtexploreError, and its `why` gives the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ptexplore.cpp.symbol_names import CAPABILITIES
from ptexplore.errors import MISSING, PtexploreError
from ptexplore.facts import value_reads
from ptexplore.facts.value_reads import LISTS
from ptexplore.model.nesting import outermost
from ptexplore.model.places import SourceRef
from ptexplore.model.program import CallPath, OperatorCalls, Program
from ptexplore.model.reasons import KeyNotKnown
from ptexplore.model.run import Run, known_weights
from ptexplore.model.trace import Hop, Session, Trace, walk
from ptexplore.view.place_marks import mark_of
from ptexplore.view.trace.amounts import size
from ptexplore.view.trace.copies import copies_of
from ptexplore.view.trace.native import called_in_python, near
from ptexplore.view.trace.native_names import plain
from ptexplore.view.trace.program_parts import place_on_path, program_run, users_place
from ptexplore.view.trace.screen import counted_parts, has_cut
from ptexplore.view.words.details import described
from ptexplore.view.words.reasons import sentence

MOST = 12  # rows behind a number.
_STEPPED = 'trace an expression on x86-64 Linux: trace("torch.add(a, b)")'
_CAPABILITY = re.compile(rf"\b(?:{'|'.join(CAPABILITIES)})::")  # a kernel of native/cpu has one in its name.
_A_NODE = re.compile(r"Backward\d+$")
NAMED = 3  # functions with the same machine code that are named.


class Counted(int):
    """A number, and the rows that it is made of.

    >>> import ptexplore
    >>> copies = ptexplore.trace("a.t().contiguous()", native=False).copies
    >>> copies
    1
    >>> "aten::contiguous" in copies.rows
    True
    """

    _make: Callable[[], Iterable[str]]

    def __new__(cls, value: int, rows: Callable[[], Iterable[str]]) -> Counted:
        counted = super().__new__(cls, value)
        counted._make = rows
        return counted

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)

    @property
    def rows(self) -> str:
        """The rows as text.

        >>> import ptexplore
        >>> ptexplore.trace("a + b", native=False).copies.rows
        'nothing was copied'
        """
        lines = list(self._make())
        more = [f"… {len(lines) - MOST:,} more"] if len(lines) > MOST else []
        return "\n".join([*lines[:MOST], *more])


@dataclass(frozen=True, slots=True)
class _Ran:
    """A hop, and how often the trace says that it ran."""

    hop: Hop
    times: int


def ran(trace: Trace, session: Session | None, name: str) -> Counted:
    """Counts how often a function, operator, kernel or node with this name ran.

    `name` is a whole qualified name, or its last parts: `at::native::add_kernel`, `add_kernel`. An operator's name
    counts every overload. Raises PtexploreError if the trace cannot say.
    """
    every = list(_every(trace))
    wanted = _wanted(name)
    matching = [each for each in every if _is_named(each.hop, wanted)]
    sure = [each for each in matching if _is_sure(each.hop)]
    paths = () if trace.traced.each_call else _paths_named(trace.recorded, name)
    if not sure and not paths:
        _check_absent(trace, session, name, matching)

    def rows() -> Iterator[str]:
        if sure or paths:
            yield f"{name} ran:"
            yield from _rows_of(sure)
            yield from (f"  {path.name or path.type}{_times(path.calls)}" for path in paths)
            return
        known = [each for each in every if _can_run(each.hop) and _is_sure(each.hop)]
        close = near(name, {other for each in known for other in _names(each.hop) if "(" not in other})
        yield f"{name} did not run" + (f"; similar names that ran: {', '.join(close)}" if close else "")
        kernels = [each for each in known if each.hop.kind == "impl" or each.hop.name.endswith("kernel")]
        if kernels:
            yield "kernels that ran:"
            yield from _rows_of(kernels)

    return Counted(sum(each.times for each in sure) + sum(path.calls for path in paths), rows)


def _check_absent(trace: Trace, session: Session | None, name: str, matching: Sequence[_Ran]) -> None:
    """Raises PtexploreError if a name without a sure match may have run all the same."""
    message = f"it is not known whether {name} ran"
    if matching:
        alike = next((each.hop for each in matching if each.hop.native is not None and each.hop.native.alike), None)
        if alike is not None and alike.native is not None:
            others = ", ".join(sorted({alike.name, *map(plain, alike.native.alike)} - {name})[:NAMED])
            why = f"the binary has one piece of code for it and for {others}, and that ran"
            raise PtexploreError(message, why, "ask for the function that calls it", MISSING)
        why = "it is predicted from the source, and no recorder saw it: nothing was stepped there"
        raise PtexploreError(message, why, _STEPPED, MISSING)
    if any(finding.kind == "cut" for finding in trace.findings):
        raise PtexploreError(message, "the trace is not complete", "trace a smaller example", MISSING)
    namespaces = {(each.hop.op or "").partition("::")[0] for each in _every(trace)} | {"aten", "prims"}
    is_operator = name.partition("::")[0] in namespaces and "::" in name
    is_python = "::" not in name and "." in name
    if is_operator or is_python or _A_NODE.search(name) or _is_stepped_whole(trace, session):
        return
    reason = trace.captured.reason
    why = sentence(reason) if reason is not None else "not every call was stepped, so not every C++ function was seen"
    raise PtexploreError(message, why, _STEPPED, MISSING)


def _is_stepped_whole(trace: Trace, session: Session | None) -> bool:
    parts = counted_parts(session)
    return trace.traced.each_call and bool(parts) and "operator" not in parts and not has_cut(session)


def dispatches(trace: Trace, operator: str, via: Sequence[str] | None = None) -> Counted:
    """Counts the calls of an operator, with `via` only those that took exactly these dispatch keys, in order.

    An operator without its overload means every overload. Raises PtexploreError if no call took these keys for sure,
    and a call may have.
    """
    calls = [each for each in _every(trace) if each.hop.kind == "op"]
    wanted = operator if "::" in operator else f"aten::{operator}"
    named = [(each, _keys_of(each.hop)) for each in calls if _is_operator(each.hop, wanted)]
    alike = [each for each, keys in named if via is None or (keys.is_whole and list(keys.known) == list(via))]
    if not alike and via is not None:
        open_calls = [keys for _, keys in named if not keys.is_whole and tuple(via)[: len(keys.known)] == keys.known]
        if open_calls:
            known = " → ".join(open_calls[0].known) or "none"
            message = f"it is not known whether {wanted} went through {' → '.join(via)}"
            raise PtexploreError(message, f"the keys that are known: {known}", _STEPPED, MISSING)

    def rows() -> Iterator[str]:
        shown = named or [(each, _keys_of(each.hop)) for each in calls]
        if named:
            yield f"{wanted} was called with these dispatch keys:"
        else:
            yield f"{wanted} was not called; operators that were:" if shown else "no operator was called"
        lines = Counter[str]()
        for each, keys in shown:
            lines[f"  {each.hop.op or each.hop.name}  {keys}"] += each.times
        yield from (f"{line}{_times(count)}" for line, count in lines.items())

    return Counted(sum(each.times for each in alike), rows)


def copies(trace: Trace, session: Session | None) -> Counted:
    """Counts the copies of tensors' data, as the view `copies` has them: casts and changes of layout count too."""
    made = list(copies_of(trace, session))

    def rows() -> Iterator[str]:
        if not made:
            yield "nothing was copied"
        for each in made:
            what = described(each.details)
            yield f"{size(each.bytes)}  {each.operator}  {what}{_times(each.count)}{_from(each.caller)}"

    return Counted(sum(each.count for each in made), rows)


def syncs(trace: Trace) -> Counted:
    """Counts the calls that wait for the values of a tensor, and the copies from a device to the CPU.

    On the CPU the values are there already. Such a call counts all the same: on a device it would wait.
    """
    lines = Counter[str]()
    for name, caller, count in _hop_syncs(trace.hops) if trace.traced.each_call else _program_syncs(trace.recorded):
        lines[f"{name}{_from(caller)}"] += count

    def rows() -> Iterator[str]:
        yield "calls that wait for values:" if lines else "no call waited for values"
        yield from (f"  {line}{_times(count)}" for line, count in lines.items())

    return Counted(sum(lines.values()), rows)


def _hop_syncs(hops: Sequence[Hop]) -> Iterator[tuple[str, str, int]]:
    for hop in outermost(hops, _waits):
        yield (called_in_python(hop) or hop.op or hop.name), "", hop.calls


def _waits(hop: Hop) -> bool:
    """Whether an operator, or a method of a tensor, waits for values."""
    if hop.kind == "binding":
        return hop.binding is not None and hop.binding.python.endswith(f".{LISTS}")
    if hop.kind != "op":
        return False
    moved = hop.copy is not None and _is_to_cpu(hop.copy.source.device, hop.copy.result.device)
    return moved or value_reads.waits(hop.op or hop.name)


def _is_to_cpu(source: str, result: str) -> bool:
    return source.partition(":")[0] not in ("cpu", "meta", "") and result == "cpu"


def _program_syncs(program: Program) -> Iterator[tuple[str, str, int]]:
    inside: list[Counter[str]] = []  # by kind: the outermost operators in it that wait for values.
    for kind in program.kinds:
        if kind.type == "op" and value_reads.waits(kind.name, kind.overload):
            inside.append(Counter([kind.name]))
        else:
            inside.append(sum((inside[at] for at, _ in kind.inside if 0 <= at < len(inside)), Counter[str]()))
    for calls in program.calls:
        if program.paths[calls.path].method == LISTS:
            continue  # the method is counted itself, below.
        caller = users_place(program, calls) or ""
        for name, count in inside[program.routes[calls.route].kind].items():
            yield name, caller, count * calls.calls
        yield from (("aten::copy_ to the CPU", caller, count) for count in _to_cpu(calls))
    for number, path in enumerate(program.paths):
        if path.kind == "builtin" and path.method == LISTS:
            yield LISTS, place_on_path(program, number) or "", path.calls


def _to_cpu(calls: OperatorCalls) -> Iterator[int]:
    for copy in calls.copies:
        if _is_to_cpu(copy.source.device, copy.result.device):
            yield copy.calls


def instructions(trace: Trace, session: Session | None, first_screen: Callable[[], str]) -> Counted:
    """Returns how many instructions the expression took. Raises PtexploreError if it was not stepped as a whole."""
    parts = {part: count for part, count in counted_parts(session).items() if part != "operator"}
    if not trace.traced.each_call or not parts or has_cut(session):
        reason = trace.captured.reason
        why = "only a part of it was stepped" if counted_parts(session) else "nothing was stepped"
        if reason is not None:
            why = sentence(reason)
        elif not trace.traced.each_call:
            why = "a program, or a block of your own process, is not stepped as a whole"
        raise PtexploreError("the number of instructions is not known", why, _STEPPED, MISSING)
    return Counted(sum(parts.values()), lambda: first_screen().splitlines())


def saved_bytes(trace: Trace, session: Session | None) -> Counted:
    """Returns the bytes that the graph keeps for backward. Leaves that get a gradient, as parameters, do not count.

    Raises PtexploreError if a part of them is not known.
    """
    run = _run(trace, session)
    _check_saved(trace, run)
    by_row = Counter[str]()
    if trace.traced.each_call:
        for each in _every(trace):
            by_row[each.hop.op or each.hop.name] += known_weights(each.hop.weights).get("saved", 0)
    else:
        program = trace.recorded
        for calls in program.calls:
            kind = program.kinds[program.routes[calls.route].kind]
            row = f"{kind.name}{_from(users_place(program, calls) or '')}"
            by_row[row] += known_weights(calls.weights).get("saved", 0)
    if run.unweighed.elsewhere:
        by_row["nodes of calls that are not recorded"] += run.unweighed.elsewhere

    def rows() -> Iterator[str]:
        shown = [(row, count) for row, count in by_row.most_common() if count]
        yield "kept for backward:" if shown else "nothing is kept for backward"
        yield from (f"  {count:,} B  {row}" for row, count in shown)

    return Counted(run.whole.saved + run.unweighed.elsewhere, rows)


def _run(trace: Trace, session: Session | None) -> Run:
    from ptexplore.view.trace.expression_parts import expression_run

    return expression_run(trace, session) if trace.traced.each_call else program_run(trace, session)


def _check_saved(trace: Trace, run: Run) -> None:
    message = "the bytes kept for backward are not known"
    if not trace.traced.each_call and not trace.recorded.saved_backwards:
        why = "they are read when backward begins, and backward was not called"
        if trace.recorded.backwards:
            why = "this torch does not say what its nodes keep"
        raise PtexploreError(message, why, "call backward inside the block, or trace an expression", MISSING)
    if run.unweighed.backwards is not None:
        seen, every = run.unweighed.backwards
        why = f"only the first {seen} of {every} backward calls were measured"
        raise PtexploreError(message, why, "trace a shorter block", MISSING)
    if run.unweighed.is_unknown:
        why = "a node, or a hook such as a checkpoint's, does not say how much it keeps"
        raise PtexploreError(message, why, 'trace.text(view="operators") says which bytes are known', MISSING)


@dataclass(frozen=True, slots=True)
class _Keys:
    """The dispatch keys of one call of an operator, in order; `is_whole` is false if a further key may follow."""

    known: tuple[str, ...]
    is_whole: bool

    def __str__(self) -> str:
        return " → ".join([*self.known, *(() if self.is_whole else ("not known",))])


def _keys_of(call: Hop) -> _Keys:
    known: list[str] = []
    is_whole = True
    pending = [call]
    while pending:
        hop = pending.pop()
        if hop.kind == "op" and hop is not call:
            continue  # another operator, with keys of its own.
        if hop.kind == "key":
            if hop.status == "predicted" or not is_whole:
                is_whole = False
                continue
            known.append(hop.key or hop.name)
        if any(isinstance(reason, KeyNotKnown) for reason in hop.why):
            is_whole = False
        pending += reversed(hop.children)
    return _Keys(tuple(known), is_whole and bool(known))


def _every(trace: Trace) -> Iterator[_Ran]:
    """Yields every hop. In a program, a hop ran as often as the calls of its route."""
    if trace.traced.each_call:
        for hop in walk(trace.hops):
            yield _Ran(hop, hop.calls)
        return
    times = Counter[int]()
    for calls in trace.recorded.calls:
        for number in trace.recorded.routes[calls.route].hops:
            times[number] += calls.calls
    for outer in trace.hops:
        for hop in walk((outer,)):
            yield _Ran(hop, hop.calls * times.get(outer.id, 1))


def _is_named(hop: Hop, wanted: frozenset[str]) -> bool:
    if not _can_run(hop):
        return False
    return any(_ends_with(known, name) for known in _names(hop, alike=True) for name in wanted)


def _can_run(hop: Hop) -> bool:
    """Whether a hop stands for something that runs: no dispatch key, and no node that forward only recorded."""
    return hop.kind != "key" and not (hop.node is not None and hop.node.recorded)


def _names(hop: Hop, *, alike: bool = False) -> Iterator[str]:
    """Yields the names of a hop. `alike`: also of functions with the same machine code."""
    yield hop.name
    if hop.kind == "op":
        yield from (hop.op or "", (hop.op or "").partition(".")[0])
    elif hop.kind == "node":
        yield hop.name.removesuffix("::apply")
    elif hop.kind in ("binding", "python"):
        yield called_in_python(hop).removesuffix("()")
    symbols = (hop.native.symbol, *(hop.native.alike if alike else ())) if hop.native is not None else ()
    for symbol in filter(None, symbols):
        yield from (symbol, plain(symbol), _CAPABILITY.sub("", plain(symbol)))


def _wanted(name: str) -> frozenset[str]:
    """Returns a name as you may write it, and without parameters and anonymous namespaces."""
    return frozenset((name, plain(name) if "(" in name else name)) - {""}


def _is_sure(hop: Hop) -> bool:
    """Whether a hop ran, and this very function: not another one with the same machine code."""
    is_one_of_several = hop.kind in ("native", "closed") and hop.native is not None and bool(hop.native.alike)
    return hop.status not in ("predicted", "cut") and not is_one_of_several


def _paths_named(program: Program, name: str) -> tuple[CallPath, ...]:
    """Returns the paths of a program that end in a function, module or class with this name."""
    return tuple(
        path
        for path in program.paths
        if path.kind not in ("program", "thread", "imports")
        and any(_ends_with(known, name) for known in (path.name, path.type) if known)
    )


def _ends_with(known: str, name: str) -> bool:
    """Whether a name is `known`, or its last parts."""
    if known == name:
        return True
    before = known.removesuffix(name)
    return before != known and before.endswith(("::", "."))


def _is_operator(hop: Hop, wanted: str) -> bool:
    full = hop.op or hop.name
    return wanted in (full, full.partition(".")[0])


def _rows_of(every: Iterable[_Ran]) -> Iterator[str]:
    lines = Counter[str]()
    for each in every:
        lines[f"  {each.hop.name}{_from(_place(each.hop.source))}"] += each.times
    yield from (f"{line}{_times(count)}" for line, count in lines.items())


def _place(ref: SourceRef) -> str:
    if ref.path is None or ref.line is None:
        return ""
    mark = mark_of(ref)
    return f"{ref.path}:{ref.line}{f' {mark}' if mark else ''}"


def _times(count: int) -> str:
    return f" ×{count:,}" if count > 1 else ""


def _from(caller: str) -> str:
    return f"  {caller}" if caller else ""
