"""What a row says about tensors in memory: what an operator copies and why, which arguments are not contiguous."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ptexplore.facts import layouts
from ptexplore.model import details as says
from ptexplore.model.details import Detail
from ptexplore.model.reasons import BitSet, CannotJoin, FormatWanted, KeptStrides, NotDense, NotJoined
from ptexplore.model.trace import CopyRef, Hop, TensorRef
from ptexplore.resolve.dispatch import schema
from ptexplore.view.trace.amounts import size

CONTIGUOUS = "contiguous"
WHY_COPIED = (NotJoined, CannotJoin, FormatWanted, NotDense, KeptStrides, BitSet)


def of_copy(hop: Hop, *, with_bytes: bool = True) -> tuple[Detail, ...]:
    """Returns what an operator call copies, and why; () for a call that copies nothing."""
    if hop.copy is None:
        return ()
    whys = tuple(says.BecauseOf(reason=reason) for reason in hop.why if isinstance(reason, WHY_COPIED))
    return (copied(hop.copy, with_bytes=with_bytes), *whys)


def copied(copy: CopyRef, *, with_bytes: bool = True) -> says.Copies:
    """Returns a copy as the phrase of a row."""
    source, result = copy.source, copy.result
    is_same_size = source.sizes == result.sizes
    known = source.strides is not None and result.strides is not None
    has_strides = known and not (is_contiguous(source) and is_contiguous(result))
    amount = size(copy.bytes) if copy.bytes is not None and with_bytes else ""
    changed = (_change(source.dtype, result.dtype), _change(source.device, result.device))
    return says.Copies(
        what=tuple(filter(None, (copy.argument, amount, *changed))),
        is_view=copy.is_view,
        is_cast=source.dtype != result.dtype,
        sizes=() if is_same_size else (written(source.sizes), written(result.sizes)),
        strides=_both(written(source.strides), written(result.strides)) if is_same_size and has_strides else (),
        formats=_formats(source, result) if is_same_size and has_strides else (),
        kept=written(source.strides) if has_strides and source.strides == result.strides else "",
    )


def of_arguments(hop: Hop) -> tuple[Detail, ...]:
    """Returns the first argument of an operator call that is not contiguous; () for a view and for a copy."""
    if hop.copy is not None or hop.operator is None or schema.is_view(hop.operator.schema):
        return ()
    strided = [tensor for tensor in hop.tensors if not is_contiguous(tensor)]
    if not strided:
        return ()
    first, more = strided[0], len(strided) - 1
    detail = says.HasStrides(
        argument=first.name,
        sizes=written(first.sizes),
        strides=written(first.strides),
        format=format_of(first),
        more=more,
    )
    return (detail,)


def of_new_tensor(hop: Hop, argument: str) -> Detail:
    """Returns that an operator call writes a new tensor, with its bytes if an argument has as many elements.

    The new tensor has the dtype of the first tensor. A list counts with all its tensors: `tensors[0]`, `tensors[1]`.
    """
    given = [tensor for tensor in hop.tensors if argument and tensor.name.partition("[")[0] == argument]
    dtype = hop.tensors[0].dtype if hop.tensors else ""
    is_list = any("[" in tensor.name for tensor in given)
    is_known = bool(given) and all(tensor.layout == "strided" for tensor in hop.tensors)
    is_known = is_known and not (is_list and any(tensor.dtype != dtype for tensor in given))
    sums = [bytes_of(dtype, tensor.sizes) for tensor in given] if is_known else []
    known = [amount for amount in sums if amount is not None]
    return says.WritesNewTensor(bytes=size(sum(known)) if known and len(known) == len(sums) else "")


def without_overload(hop: Hop) -> str:
    """Returns the name of an operator call without its overload."""
    return (hop.op or hop.name).partition(".")[0]


def is_contiguous(tensor: TensorRef) -> bool:
    """Whether a tensor is contiguous. True if it has no strides, since then they say nothing."""
    return tensor.strides is None or layouts.is_contiguous(tensor.sizes, tensor.strides)


def format_of(tensor: TensorRef) -> str:
    """Returns the memory format of a tensor that is not contiguous: `channels_last`; "" if it has none."""
    if tensor.strides is None:
        return ""
    forms = (form for form in layouts.CHANNELS if layouts.is_contiguous(tensor.sizes, tensor.strides, form))
    return next(forms, "")


def _formats(source: TensorRef, result: TensorRef) -> tuple[str, ...]:
    """Returns the memory formats of both sides of a copy: `channels_last`, `contiguous`; () if a side has none."""
    formats = [CONTIGUOUS if is_contiguous(tensor) else format_of(tensor) for tensor in (source, result)]
    return tuple(formats) if all(formats) and formats[0] != formats[1] else ()


def elements(copy: CopyRef) -> int:
    """Returns the number of copied elements."""
    return math.prod(copy.result.sizes)


def bytes_of(dtype: str, sizes: Sequence[int]) -> int | None:
    """Returns the bytes of a dense tensor; None if the size of an element is not known."""
    element = layouts.size_of(dtype)
    return element * math.prod(sizes) if element is not None else None


def written(numbers: Sequence[int] | None) -> str:
    """Returns sizes or strides as Python writes them: `(3, 1)`."""
    return str(tuple(numbers)) if numbers is not None else ""


def _change(source: str, result: str) -> str:
    return f"{source} → {result}" if source != result else ""


def _both(source: str, result: str) -> tuple[str, ...]:
    return (source, result) if source != result else ()
