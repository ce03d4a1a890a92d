"""From sizes, strides and storages of tensors to their places in memory, and to what calls with them would do."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from ptexplore.facts import layouts
from ptexplore.model import tensor_facts as is_so
from ptexplore.model.reasons import NotJoined
from ptexplore.model.tensor_facts import TensorFact
from ptexplore.model.tensor_layouts import (
    ConcludedTensor,
    MemoryBlock,
    PlacedTensor,
    SeenStorage,
    SeenTensor,
    SeenTensors,
    TensorAnswer,
    TensorLayouts,
)

MOST_COMPARED = 1024  # elements. The elements of a larger tensor are not compared one by one.
MOST_NAMED = 4  # indices that an answer names
MOST_WRITERS = 8  # tensors of a block for which an answer says what a write changes
FLAT = (-1,)  # the sizes that are asked for if none are given
META = "meta"
STRIDED = "strided"
PLAIN = ("Tensor", "Parameter")  # classes whose tensors follow torch's rules of views


def conclude(seen: SeenTensors, shapes: Sequence[tuple[int, ...]] = ()) -> TensorLayouts:
    """Returns the blocks of memory with the tensors in them, facts about each tensor, and answers.

    `shapes` are sizes for which `view` and `reshape` are answered; without them, the flat shape of each tensor that is
    not contiguous.
    """
    blocks = tuple(_blocks(seen))
    tensors = tuple(ConcludedTensor(tensor, tuple(_facts(seen, blocks, n))) for n, tensor in enumerate(seen.tensors))
    answers = (*_views(seen, shapes), *(answer for block in blocks for answer in _writes(seen, block)))
    return TensorLayouts(seen.torch, blocks, tensors, answers, seen.further)


# --- blocks of memory ---


def _blocks(seen: SeenTensors) -> Iterator[MemoryBlock]:
    """Yields the blocks in the order of their first tensors."""
    for group in _groups(seen.storages):
        drawn = [(n, t) for n, t in enumerate(seen.tensors) if t.storage in group and _is_placed(seen, n)]
        if drawn:
            yield _block(seen, group, drawn)


def _groups(storages: Sequence[SeenStorage]) -> list[list[int]]:
    """Returns the storages in groups: those over the same memory are together."""
    groups: list[list[int]] = []
    for number, storage in enumerate(storages):
        touching = [group for group in groups if any(_overlap(storage, storages[other]) for other in group)]
        groups = [group for group in groups if group not in touching]
        groups.append(sorted([number, *itertools.chain.from_iterable(touching)]))
    return sorted(groups)


def _overlap(first: SeenStorage, second: SeenStorage) -> bool:
    """Whether two storages have bytes in common."""
    if not first.address or not second.address or first.device != second.device:
        return False
    return first.address < second.address + second.bytes and second.address < first.address + first.bytes


def _is_placed(seen: SeenTensors, number: int) -> bool:
    """Whether a tensor has cells: it is strided, has elements inside its storage, and is not drawn already."""
    tensor = seen.tensors[number]
    if tensor.sizes is None or tensor.strides is None or tensor.offset is None or tensor.is_nested:
        return False
    if tensor.storage is None or not math.prod(tensor.sizes) or not tensor.element:
        return False
    is_first = all(other.impl != tensor.impl for other in seen.tensors[:number])
    return is_first and _needed(tensor) <= seen.storages[tensor.storage].bytes


def _needed(tensor: SeenTensor) -> int:
    """Returns how many bytes a storage must have for a strided tensor."""
    sizes, strides = tensor.sizes or (), tensor.strides or ()
    if not math.prod(sizes):
        return 0
    last = (tensor.offset or 0) + sum((n - 1) * stride for n, stride in zip(sizes, strides, strict=True))
    return (last + 1) * tensor.element


def _block(seen: SeenTensors, group: Sequence[int], drawn: Sequence[tuple[int, SeenTensor]]) -> MemoryBlock:
    storages = [seen.storages[number] for number in group]
    begin = min(storage.address for storage in storages)
    end = max(storage.address + storage.bytes for storage in storages)
    shifts = {number: seen.storages[number].address - begin for number in group}
    cell = math.gcd(*(tensor.element for _, tensor in drawn), *shifts.values())
    placed = []
    for number, tensor in drawn:
        span = tensor.element // cell
        start = (shifts[tensor.storage or 0] + (tensor.offset or 0) * tensor.element) // cell
        strides = tuple(stride * span for stride in tensor.strides or ())
        placed.append(PlacedTensor(number, tensor.sizes or (), strides, start, span))
    dtypes = tuple(dict.fromkeys(tensor.dtype for _, tensor in drawn))
    has_memory = all(storage.address for storage in storages)
    return MemoryBlock(tuple(group), end - begin, storages[0].device, has_memory, cell, dtypes, tuple(placed))


# --- facts about a tensor ---


def _facts(seen: SeenTensors, blocks: Sequence[MemoryBlock], number: int) -> Iterator[TensorFact]:
    tensor = seen.tensors[number]
    same = next((other for other in seen.tensors[:number] if other.impl == tensor.impl), None)
    if same is not None:
        yield is_so.SameTensor(other=same.name)
        return
    parts = sum(other.part_of == number for other in seen.tensors)
    if tensor.is_nested:
        yield is_so.OfNestedTensors(parts=parts)
    elif tensor.layout != STRIDED:
        yield is_so.OtherLayout(layout=tensor.layout, parts=parts)
    elif parts:
        yield is_so.SubclassOf(kind=tensor.kind, parts=parts)
    yield from _of_memory(seen, tensor, has_parts=parts > 0)
    yield from _of_sharing(seen, blocks, number)
    yield from _of_strides(seen, blocks, number)
    if tensor.is_conj:
        yield is_so.ConjugateBit()
    if tensor.is_neg:
        yield is_so.NegativeBit()
    if tensor.quantizer is not None:
        yield is_so.QuantizedBy(quantizer=tensor.quantizer)


def _of_memory(seen: SeenTensors, tensor: SeenTensor, *, has_parts: bool) -> Iterator[TensorFact]:
    """Yields the facts about the bytes of a tensor, if they are special."""
    if tensor.storage is None:
        return
    storage = seen.storages[tensor.storage]
    if tensor.sizes is not None and not math.prod(tensor.sizes):
        yield is_so.NoElements()
    elif storage.device == META:
        yield is_so.NoMemory() if tensor.device == META else is_so.FakeDevice(device=tensor.device)
    elif _needed(tensor) > storage.bytes and tensor.layout == STRIDED and not has_parts:
        yield is_so.PastStorage(needed=_needed(tensor), bytes=storage.bytes)
    elif not storage.address and not has_parts:
        yield is_so.WithoutOwnMemory(kind=tensor.kind)


def _of_sharing(seen: SeenTensors, blocks: Sequence[MemoryBlock], number: int) -> Iterator[TensorFact]:
    """Yields the first tensor before this one that has the same storage, or else the same memory."""
    tensor = seen.tensors[number]
    before = seen.tensors[:number]
    same = next((other for other in before if tensor.storage is not None and other.storage == tensor.storage), None)
    if same is not None:
        yield is_so.SharesStorage(other=same.name)
        return
    block = next((block for block in blocks if any(placed.tensor == number for placed in block.tensors)), None)
    if block is not None and block.has_memory and block.tensors[0].tensor < number:
        other = seen.tensors[block.tensors[0].tensor].name
        is_cow = tensor.storage is not None and seen.storages[tensor.storage].is_cow
        yield is_so.SharesUntilWritten(other=other) if is_cow else is_so.SharesMemory(other=other)


def _of_strides(seen: SeenTensors, blocks: Sequence[MemoryBlock], number: int) -> Iterator[TensorFact]:
    """Yields whether a strided tensor is contiguous, and in which dimensions it uses memory more than once."""
    tensor = seen.tensors[number]
    if tensor.sizes is None or tensor.strides is None:
        return
    sizes, strides = tensor.sizes, tensor.strides
    broken = layouts.breaking(sizes, strides)
    if broken is None:
        yield is_so.IsContiguous()
    else:
        yield is_so.NotContiguous(
            format="contiguous", dimension=broken.dimension, stride=broken.stride, expected=broken.expected
        )
    for form in layouts.CHANNELS:
        if layouts.rank_of(form) != len(sizes):
            continue
        broken = layouts.breaking(sizes, strides, form)
        if broken is None:
            yield is_so.HasFormat(format=form)
        else:
            yield is_so.NotContiguous(
                format=form, dimension=broken.dimension, stride=broken.stride, expected=broken.expected
            )
    along = layouts.shared(sizes, strides)
    for dimension in along:
        yield is_so.SharedAlong(dimension=dimension, size=sizes[dimension])
    placed = next((placed for block in blocks for placed in block.tensors if placed.tensor == number), None)
    if not along and placed is not None and overlaps(placed):
        yield is_so.Overlaps()


def overlaps(placed: PlacedTensor) -> bool:
    """Whether several indices lead to one cell, apart from dimensions of stride 0. False if it is not known."""
    moving = sorted(
        (stride, n) for n, stride in zip(placed.sizes, placed.strides, strict=True) if n > 1 and stride
    )  # fmt: skip
    reach = 0
    for stride, n in moving:
        if stride <= reach:
            break
        reach += (n - 1) * stride
    else:
        return False
    if placed.elements > MOST_COMPARED:
        return False
    cells = [placed.cell_of(index) for index in itertools.product(*(_moving(placed)))]
    return len(set(cells)) < len(cells)


def _moving(placed: PlacedTensor) -> list[range]:
    """Returns the indices of each dimension, one for a dimension of stride 0."""
    return [range(n if stride else 1) for n, stride in zip(placed.sizes, placed.strides, strict=True)]


# --- answers ---


def _views(seen: SeenTensors, shapes: Sequence[tuple[int, ...]]) -> Iterator[TensorAnswer]:
    """Yields for each tensor whether it can be viewed with other sizes, and what a call copies."""
    for number, tensor in enumerate(seen.tensors):
        is_new = all(other.impl != tensor.impl for other in seen.tensors[:number])
        is_ruled = tensor.kind in PLAIN and tensor.quantizer is None and not tensor.is_nested
        if not is_new or not is_ruled or tensor.sizes is None or tensor.strides is None:
            continue
        contiguous = layouts.is_contiguous(tensor.sizes, tensor.strides)
        for shape in shapes or (() if contiguous else (FLAT,)):
            yield from _view(number, tensor, shape)
        if not contiguous and not shapes:
            yield TensorAnswer(number, "contiguous()", (_copied(tensor, tensor.sizes),))


def _view(number: int, tensor: SeenTensor, shape: tuple[int, ...]) -> Iterator[TensorAnswer]:
    assert tensor.sizes is not None
    assert tensor.strides is not None
    sizes = ", ".join(map(str, shape)) if shape else "()"
    view = layouts.viewed(tensor.sizes, tensor.strides, shape)
    if view is None:
        fact: TensorFact = is_so.OtherElementCount(elements=math.prod(tensor.sizes))
        yield TensorAnswer(number, f"view({sizes})", (fact,))
    elif isinstance(view, layouts.Unjoined):
        refused = is_so.ViewRefused(because=NotJoined(*view))
        yield TensorAnswer(number, f"view({sizes})", (refused,))
        whole = layouts.inferred(shape, math.prod(tensor.sizes)) or ()
        yield TensorAnswer(number, f"reshape({sizes})", (_copied(tensor, whole),))
    else:
        yield TensorAnswer(number, f"view({sizes})", (is_so.ViewPossible(strides=view),))


def _copied(tensor: SeenTensor, sizes: Sequence[int]) -> TensorFact:
    return is_so.WouldCopy(bytes=math.prod(sizes) * tensor.element, strides=layouts.packed(sizes))


def _writes(seen: SeenTensors, block: MemoryBlock) -> Iterator[TensorAnswer]:
    """Yields for each tensor of a block with several tensors what a write in place changes in the others."""
    drawn = block.tensors[:MOST_WRITERS]
    for written in drawn if len(drawn) > 1 else ():
        tensor = seen.tensors[written.tensor]
        along = layouts.shared(written.sizes, written.strides)
        others = [other for other in drawn if other is not written and _stays_shared(seen, tensor, other)]
        facts = list(_changed(seen, written, others))
        if along:
            facts = [is_so.WriteRefused(dimension=along[0])]
        elif tensor.objection == "inference":
            facts.insert(0, is_so.InferenceRefusesWrites())
        elif tensor.objection is not None:
            facts.insert(0, is_so.GradRefusesWrites(objection=tensor.objection))
        if facts:
            yield TensorAnswer(written.tensor, "", tuple(facts))


def _stays_shared(seen: SeenTensors, written: SeenTensor, other: PlacedTensor) -> bool:
    """Whether two tensors of a block still share their memory after a write: not if the write makes a copy first."""
    storage = seen.tensors[other.tensor].storage
    return storage == written.storage or not (written.storage is not None and seen.storages[written.storage].is_cow)


def _changed(seen: SeenTensors, written: PlacedTensor, others: Sequence[PlacedTensor]) -> Iterator[TensorFact]:
    """Yields what a write to every element of one tensor changes in the others."""
    whole: list[str] = []
    further: list[TensorFact] = []
    for other in others:
        name = seen.tensors[other.tensor].name
        cells = _reached(written)
        if cells is None or other.elements > MOST_COMPARED:
            fact = _of_large(written, other, name)
            if isinstance(fact, is_so.WritesAll):
                whole += fact.others
            elif fact is not None:
                further.append(fact)
            continue
        every = list(itertools.product(*map(range, other.sizes)))
        changed = [index for index in every if not cells.isdisjoint(_span(other, index))]
        if len(changed) == len(every):
            whole.append(name)
        elif changed:
            indices = tuple(f"[{','.join(map(str, index))}]" for index in changed[:MOST_NAMED])
            further.append(is_so.WritesSome(other=name, count=len(changed), elements=len(every), indices=indices))
    if whole:
        yield is_so.WritesAll(others=tuple(whole))
    yield from further


def _span(placed: PlacedTensor, index: tuple[int, ...]) -> range:
    first = placed.cell_of(index)
    return range(first, first + placed.span)


def _reached(placed: PlacedTensor) -> set[int] | None:
    """Returns the cells of a tensor; None if they are too many to list."""
    if placed.elements > MOST_COMPARED:
        return None
    return {cell for index in itertools.product(*_moving(placed)) for cell in _span(placed, index)}


def _of_large(written: PlacedTensor, other: PlacedTensor, name: str) -> TensorFact | None:
    """Returns what a write changes in another tensor, from the first and last cells of both; None for nothing."""
    first, last = written.start, written.last + written.span
    begin, end = other.start, other.last + other.span
    if last <= begin or end <= first:
        return None
    if _is_without_gaps(written):
        if first <= begin and end <= last:
            return is_so.WritesAll(others=(name,))
        if _is_without_gaps(other) and other.span == written.span and (first - begin) % other.span == 0:
            count = (min(last, end) - max(first, begin)) // other.span
            return is_so.WritesSome(other=name, count=count, elements=other.elements, indices=())
    return is_so.MayWrite(other=name)


def _is_without_gaps(placed: PlacedTensor) -> bool:
    return layouts.is_dense(placed.sizes, tuple(stride // placed.span for stride in placed.strides))
