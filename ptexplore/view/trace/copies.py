"""The view `copies`: tensors that operators copied, cast or laid out anew, by bytes, with the reason and the caller.

A copy is a call of aten::copy_. Copies are one row if they have the same operators, the same sizes and strides, and the
same caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from ptexplore.facts import layouts
from ptexplore.model import details as says
from ptexplore.model import trace_remarks as beside
from ptexplore.model.details import Detail
from ptexplore.model.observed import UserCall, records
from ptexplore.model.program import CopiedTensor, OperatorCalls, Program
from ptexplore.model.trace import CopyRef, Hop, Session, Trace
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.resolve.copies import tensor_of, why_copied
from ptexplore.resolve.dispatch import schema
from ptexplore.view.trace.amounts import size
from ptexplore.view.trace.around import about_this, findings, legend, title_of, to_legend
from ptexplore.view.trace.ending import ending_lines
from ptexplore.view.trace.memory_layouts import bytes_of, copied, of_copy
from ptexplore.view.trace.native import called_in_python
from ptexplore.view.trace.page import Options, ScreenRow, TraceView, in_words
from ptexplore.view.trace.program_parts import users_place
from ptexplore.view.trace.screen import facts
from ptexplore.view.words.trace_remarks import all_in_words

MOST = 30  # rows
COLUMNS = ("copied", "copies", "your code")
WIDEST = 28  # characters of your code


@dataclass(frozen=True, slots=True)
class AlikeCopies:
    """Copies that are one row: the operators, the details, the caller, the number of copies and the bytes."""

    operator: str
    details: tuple[Detail, ...]
    caller: str
    hop: int | None
    count: int
    bytes: int


def copies_of(trace: Trace, session: Session | None) -> Iterator[AlikeCopies]:
    """Yields the copies of a trace, in order; in a program, equal ones together."""
    yield from _of_expression(trace, session) if trace.traced.each_call else _of_program(trace, trace.recorded)


def expression_copies(trace: Trace, options: Options, session: Session | None) -> TraceView:
    """Lays out the copies of an expression."""
    return _copies_view(trace, options, copies_of(trace, session), facts(trace, options, session))


def program_copies(trace: Trace, options: Options, session: Session | None) -> TraceView:
    """Lays out the copies of a program."""
    return _copies_view(trace, options, copies_of(trace, session), ())


def _copies_view(
    trace: Trace, options: Options, copies: Iterable[AlikeCopies], about: tuple[TraceRemark, ...]
) -> TraceView:
    """Lays out one row for each kind of copy, the largest sum of bytes first."""
    rows: dict[object, list[AlikeCopies]] = {}
    for made in copies:
        rows.setdefault((made.operator, made.details, made.caller), []).append(made)
    ordered = sorted(map(_as_one, rows.values()), key=lambda row: -row.bytes)
    count, total = sum(row.count for row in ordered), sum(row.bytes for row in ordered)
    in_all: TraceRemark = beside.CopiedInAll(amount=size(total), copies=count) if ordered else beside.NothingCopied()
    table = [_row(row) for row in ordered[:MOST]]
    rest = ordered[MOST:]
    if rest:
        cells = (size(sum(row.bytes for row in rest)), f"{sum(row.count for row in rest):,}", "")
        table.append(ScreenRow(f"… {len(rest):,} more", cells=cells))
    return TraceView(
        title=title_of(trace),
        traced=trace.traced.name,
        facts=all_in_words((in_all, *about)),
        findings=all_in_words(findings(trace)),
        next_steps=to_legend(options),
        ending=ending_lines(trace, None),
        view="copies",
        table=in_words(table),
        columns=COLUMNS,
        name="operator",
        told="what is copied, and why",
        legend=legend(trace, table),
        left_out=about_this(()),
    )


def _as_one(alike: Sequence[AlikeCopies]) -> AlikeCopies:
    return replace(alike[0], count=sum(row.count for row in alike), bytes=sum(row.bytes for row in alike))


def _row(row: AlikeCopies) -> ScreenRow:
    caller = row.caller if len(row.caller) <= WIDEST else f"{row.caller[: WIDEST - 1]}…"
    return ScreenRow(row.operator, cells=(size(row.bytes), f"{row.count:,}", caller), details=row.details, hop=row.hop)


def _of_expression(trace: Trace, session: Session | None) -> Iterator[AlikeCopies]:
    """Yields the copies of an expression, in order. The caller is your call, else the function that Python called."""
    sources = {
        call.observation: call.source for call in records(session.observations if session else (), "call", UserCall)
    }
    pending: list[tuple[Hop, tuple[Hop, ...], str]] = [(hop, (), "") for hop in reversed(trace.hops)]
    while pending:
        hop, around, caller = pending.pop()
        if hop.kind == "op":
            if hop.copy is not None and (not around or around[-1].copy is None):
                name = _named(hop.op or hop.name, around[0].op or around[0].name if around else "")
                yield AlikeCopies(
                    name, of_copy(hop, with_bytes=False), caller, hop.id, hop.calls, (hop.copy.bytes or 0) * hop.calls
                )
            around = (*around, hop)
        elif hop.kind in ("python", "binding"):
            yours = next((sources[number] for number in hop.evidence if number in sources), "")
            around, caller = (), yours or caller or called_in_python(hop)
        elif hop.kind == "node":
            around, caller = (), hop.name.rpartition("::")[2]
        pending += [(child, around, caller) for child in reversed(hop.children)]


def _of_program(trace: Trace, program: Program) -> Iterator[AlikeCopies]:
    """Yields the copies of a program."""
    hops = {hop.id: hop for hop in trace.hops}
    for calls in program.calls:
        for tensor in calls.copies:
            yield _of_calls(program, calls, tensor, hops)


def _of_calls(program: Program, calls: OperatorCalls, tensor: CopiedTensor, hops: dict[int, Hop]) -> AlikeCopies:
    route = program.routes[calls.route]
    first = next((hops[hop] for hop in route.hops if hop in hops), None)
    copiers = [*takewhile(layouts.COPIES.__contains__, reversed(tensor.inside))][::-1]
    outer = tensor.inside[: len(tensor.inside) - len(copiers)]
    source, result = tensor_of("src", tensor.source), tensor_of("self", tensor.result)
    argument = _argument(first, tensor) if outer else ""
    amount = bytes_of(result.dtype, result.sizes)
    copy = CopyRef(source, result, amount, argument, tensor.is_view)
    why = why_copied(copiers, tensor.format, tensor.source, tensor.result, outer[-1] if outer else "")
    details = (copied(copy, with_bytes=False), *((says.BecauseOf(reason=why),) if why is not None else ()))
    name = _named(copiers[0] if copiers else layouts.COPY, outer[0] if outer else "")
    caller = users_place(program, calls) or ""
    return AlikeCopies(
        name, details, caller, first.id if first is not None else None, tensor.calls, (amount or 0) * tensor.calls
    )


def _argument(first: Hop | None, tensor: CopiedTensor) -> str:
    """Returns the name of the argument that is copied, by the schema of the call; "" if it is not known."""
    call = first
    while call is not None and call.kind != "op":
        call = call.children[0] if call.children else None
    if call is None or call.operator is None or tensor.argument is None:
        return ""
    named = schema.arguments(call.operator.schema)
    return named[tensor.argument].name if tensor.argument < len(named) else ""


def _named(copier: str, outer: str) -> str:
    """Returns the name of a row: the operator that copies, and the outermost operator around it."""
    return f"{copier} in {outer}" if outer and outer != copier else copier
