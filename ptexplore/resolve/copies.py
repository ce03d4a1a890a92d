"""Which operators copy a tensor's data, from which strides to which, and why.

In the end, every copy is a call of aten::copy_, whose two tensors the profiler records with sizes and strides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ptexplore.facts import layouts
from ptexplore.model.observed import UserCall
from ptexplore.model.reasons import (
    BitSet,
    CannotJoin,
    DimensionPair,
    FormatWanted,
    KeptStrides,
    NotDense,
    NotJoined,
    Reason,
)
from ptexplore.model.tensors import RecordedInput, RecordedTensor
from ptexplore.model.trace import CopyRef, TensorRef
from ptexplore.resolve.claims import Claim, Context, rewrite
from ptexplore.resolve.dispatch import schema
from ptexplore.resolve.dispatch.operator_calls import overloads_of

_VIEWS = ("view", "reshape")  # methods whose integers are the wanted sizes
Tensors = Sequence[tuple[str, RecordedTensor]]


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy, and its reason."""

    copy: CopyRef
    why: Reason | None


def conclude(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Add the tensors to each operator, and the copy with its reason to each operator that copies."""
    copies: dict[int, _Copy] = {}
    for chain, yours in _calls(claims):
        if _name(chain[-1]) == layouts.COPY:
            copies |= _copied(context, chain, yours)

    def with_copy(claim: Claim) -> Claim:
        if claim.hop.kind != "op":
            return claim
        copied = copies.get(claim.identity)
        made = replace(claim.hop, tensors=tuple(tensor_of(name, tensor) for name, tensor in tensors_in(context, claim)))
        if copied is None:
            return replace(claim, hop=made)
        return claim.but(replace(made, copy=copied.copy), *((copied.why,) if copied.why is not None else ()))

    return rewrite(claims, with_copy)


def tensors_in(context: Context, operator: Claim) -> tuple[tuple[str, RecordedTensor], ...]:
    """Returns the tensors of an operator call, by argument. The tensors of a list come one by one: "tensors[1]".

    If the overload is not known, the arguments have names only where all overloads that the call may be agree on them.
    torch before 2.7 records no overload, and conv2d has two.
    """
    known = operator.hop.operator
    schemas = [known.schema] if known is not None else [o.schema for o in overloads_of(context, operator)[1]]
    named = {_tensors_of(text, operator.event.inputs) for text in schemas}
    return named.pop() if len(named) == 1 else ()


def _tensors_of(operator: str, given: Sequence[RecordedInput]) -> tuple[tuple[str, RecordedTensor], ...]:
    """Returns the tensors among the inputs of a call, by the names of the arguments of an operator's schema."""
    by_name: list[tuple[str, RecordedTensor]] = []
    for argument, value in zip(schema.arguments(operator), schema.own_inputs(operator, given), strict=False):
        for number, item in enumerate(value if isinstance(value, tuple) else (value,)):
            if isinstance(item, RecordedTensor):
                by_name.append((f"{argument.name}[{number}]" if isinstance(value, tuple) else argument.name, item))
    return tuple(by_name)


def tensor_of(name: str, tensor: RecordedTensor) -> TensorRef:
    """Returns a recorded tensor as a trace has it."""
    return TensorRef(name, tensor.dtype, tensor.device, tensor.sizes, tensor.strides, tensor.layout)


def _calls(claims: Sequence[Claim]) -> Iterator[tuple[tuple[Claim, ...], UserCall | None]]:
    """Yields every operator call with the operator calls around it, outermost first, and your call that led to them."""
    pending: list[tuple[Claim, tuple[Claim, ...], UserCall | None]] = [(top, (), None) for top in reversed(claims)]
    while pending:
        claim, around, yours = pending.pop()
        if claim.hop.kind == "op":
            around = (*around, claim)
            yield around, claim.call or yours
        elif claim.hop.kind in ("python", "node"):
            around, yours = (), None  # Python that an operator called, and a node, call operators of their own
        pending += ((child, around, claim.call or yours) for child in reversed(claim.children))


def _copied(context: Context, chain: tuple[Claim, ...], yours: UserCall | None) -> Mapping[int, _Copy]:
    """Returns the copy that a call of copy_ makes, for it and for all calls around it that only make this copy."""
    named = dict(tensors_in(context, chain[-1]))
    written, read = named.get("self"), named.get("src")
    if written is None or read is None or written.device == layouts.NO_DATA:
        return {}
    first = len(chain) - 1
    while first and _name(chain[first - 1]) in layouts.COPIES and _copies_once(chain[first - 1]):
        first -= 1
    only, around = chain[first:], chain[:first]
    size = layouts.size_of(written.dtype)
    name, is_view = _argument(context, around[0], read) if around else ("", False)
    copy = CopyRef(
        tensor_of("src", read),
        tensor_of("self", written),
        size * math.prod(written.sizes) if size is not None else None,
        name,
        is_view,
    )
    wanted = wanted_sizes(yours, chain[0]) if first == 0 else ()
    names, by = [_name(call) for call in only], _name(around[-1]) if around else ""
    form = next((form for form in map(_form, reversed(only)) if form is not None), None)
    why = why_copied(names, form, read, written, by, wanted)
    return {claim.identity: _Copy(copy, why) for claim in only}


def _name(operator: Claim) -> str:
    """Returns an operator's name without its overload."""
    return operator.hop.name.partition(".")[0]


def _copies_once(claim: Claim) -> bool:
    """Whether exactly one call of copy_ is inside a call."""
    return sum(inner.hop.kind == "op" and _name(inner) == layouts.COPY for inner in claim.walk()) == 1


def _argument(context: Context, operator: Claim, copied: RecordedTensor) -> tuple[str, bool]:
    """Returns the copied argument of an operator, and whether a view of it is copied; "" if several may be.

    An argument lives as long as the call, so no other tensor has its address.
    """
    given = dict(tensors_in(context, operator))
    same = [name for name, tensor in given.items() if copied.impl and tensor.impl == copied.impl]
    if same:
        return same[0], False
    viewed = [name for name, tensor in given.items() if copied.memory and tensor.memory == copied.memory]
    return (viewed[0], True) if len(viewed) == 1 else ("", False)


def why_copied(
    operators: Sequence[str],
    form: int | None,
    read: RecordedTensor,
    written: RecordedTensor,
    by: str = "",
    wanted: Sequence[int] = (),
) -> Reason | None:
    """Returns why operators had to copy a tensor, or why the copy has its strides. None if neither is known.

    `operators`: the operators around copy_ that only make this copy, outermost first. `form`: the memory format that
    the innermost of them with such an argument was asked for. `by`: the operator around them. `wanted`: the sizes that
    a reshape was asked for, if known.
    """
    bit = next((layouts.RESOLVES[operator] for operator in operators if operator in layouts.RESOLVES), None)
    if bit is not None:
        return BitSet(bit, by)
    if read.strides is None or written.strides is None:
        return None
    known = form is not None and 0 <= form < len(layouts.FORMATS)
    name = layouts.FORMATS[form] if form is not None and known else ""
    if any(operator in layouts.RESHAPE for operator in operators):
        return not_joined(read.sizes, read.strides, wanted)
    if name not in ("", layouts.PRESERVE):
        has_it = layouts.is_contiguous(read.sizes, read.strides, name)
        return FormatWanted(name, by) if not has_it and (by or name != layouts.FORMATS[0]) else None
    return _of_clone(read.sizes, read.strides, written.strides) if layouts.CLONE in operators else None


def _form(operator: Claim) -> int | None:
    """Returns the memory format that an operator was asked for, as a number."""
    position = layouts.TAKE_FORMAT.get(_name(operator))
    inputs = operator.event.inputs
    form = inputs[position] if position is not None and position < len(inputs) else None
    return form if isinstance(form, int) else None


def _of_clone(sizes: Sequence[int], strides: Sequence[int], made: Sequence[int]) -> Reason | None:
    """Returns why a clone that was asked for no format has its strides; None if the tensor was contiguous."""
    if layouts.is_contiguous(sizes, strides):
        return None
    if layouts.is_dense(sizes, strides):
        return KeptStrides() if tuple(made) == tuple(strides) else None
    return NotDense()


def not_joined(sizes: Sequence[int], strides: Sequence[int], wanted: Sequence[int]) -> Reason | None:
    """Returns the dimensions for which a tensor has no view of the wanted sizes. None if strides are not the cause.

    Without the wanted sizes, returns all dimensions that no view can join.
    """
    pairs = layouts.unjoined(sizes, strides)
    if len(pairs) == 1:
        return NotJoined(*pairs[0])
    refused = layouts.refusing(sizes, strides, wanted) if wanted else None
    if refused is not None:
        return NotJoined(*refused)
    return CannotJoin(tuple(DimensionPair(*pair) for pair in pairs)) if pairs else None


def wanted_sizes(yours: UserCall | None, operator: Claim) -> tuple[int, ...]:
    """Returns the sizes that your call of view or reshape asked for, if it called this operator; () if not known."""
    method = (yours.callable.method or "") if yours is not None else ""
    return yours.integers if yours is not None and _name(operator) == f"aten::{method}" and method in _VIEWS else ()
