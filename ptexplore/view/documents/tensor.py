"""The document of `tensor`."""

from __future__ import annotations

from msgspec import Struct, structs, to_builtins

from ptexplore.model.observed import Plain
from ptexplore.model.tensor_facts import TensorFact
from ptexplore.model.tensor_layouts import MemoryBlock, TensorLayouts
from ptexplore.view.documents.parts import FORMAT
from ptexplore.view.tensor.page import called, fact_text


class FactEntry(Struct, frozen=True):
    """A fact."""

    code: str  # `not-contiguous`, `shares-storage`, …
    arguments: Plain  # the arguments of the code
    text: str  # in words


class TensorEntry(Struct, frozen=True):
    """A tensor."""

    name: str  # the name, or the text that gave it.
    kind: str  # the name of its class
    dtype: str  # `float32`
    device: str  # `cpu`
    layout: str  # `strided`, `sparse_coo`.
    element: int  # the bytes of an element
    sizes: tuple[int, ...] | None  # null if it has no plain sizes
    strides: tuple[int, ...] | None  # in elements; null if it is not strided.
    offset: int | None  # in elements, from the beginning of its storage
    storage: int | None  # the number of its storage, from 0.
    block: int | None  # the place in `blocks` of the memory that it lies in; null if it has no cells
    start: int | None  # the cell of its first element.
    part_of: int | None  # the place in `tensors` of the tensor that consists of this one and others
    facts: tuple[FactEntry, ...]  # the facts about it


class BlockEntry(Struct, frozen=True):
    """A block of memory with tensors in it."""

    storages: tuple[int, ...]  # the numbers of the storages over it; several share its memory
    bytes: int  # its size
    device: str  # `cpu`
    has_memory: bool  # false on the meta device
    cell: int  # the bytes of a cell
    cells: int  # how many cells


class AnswerEntry(Struct, frozen=True):
    """What a call would do."""

    call: str  # `t.view(12)`; for a write to all elements: `a write to t`
    tensor: int  # the place in `tensors`
    facts: tuple[FactEntry, ...]  # the result


class TensorPicture(Struct, frozen=True):
    """Tensors in memory at one moment."""

    blocks: tuple[BlockEntry, ...]  # the memory
    tensors: tuple[TensorEntry, ...]  # the tensors, in the order of the text
    answers: tuple[AnswerEntry, ...]  # what calls would do
    further: int  # how many tensors are left out


class TensorDocument(TensorPicture, frozen=True, omit_defaults=True):
    """`tensor --json`."""

    format: int  # 1
    expression: str  # the text that gave the tensors
    torch: str  # the version of torch
    after: TensorPicture | None = None  # the same after the statements of `--after`; left out without them
    against: TensorPicture | None = None  # the tensors of `--against`; left out without it


def tensor_document(
    layouts: TensorLayouts, expression: str, after: TensorLayouts | None = None, against: TensorLayouts | None = None
) -> TensorDocument:
    """Returns the document."""
    return TensorDocument(
        *_picture(layouts),
        format=FORMAT,
        expression=expression,
        torch=layouts.torch,
        after=TensorPicture(*_picture(after)) if after is not None else None,
        against=TensorPicture(*_picture(against)) if against is not None else None,
    )


def _picture(
    layouts: TensorLayouts,
) -> tuple[tuple[BlockEntry, ...], tuple[TensorEntry, ...], tuple[AnswerEntry, ...], int]:
    answers = tuple(
        AnswerEntry(
            called(layouts.tensors[answer.tensor].seen.name, answer.method),
            answer.tensor,
            tuple(map(_fact, answer.facts)),
        )
        for answer in layouts.answers
    )
    tensors = tuple(_tensor(layouts, number) for number in range(len(layouts.tensors)))
    return tuple(map(_block, layouts.blocks)), tensors, answers, layouts.further


def _block(block: MemoryBlock) -> BlockEntry:
    return BlockEntry(block.storages, block.bytes, block.device, block.has_memory, block.cell, block.cells)


def _tensor(layouts: TensorLayouts, number: int) -> TensorEntry:
    concluded = layouts.tensors[number]
    seen = concluded.seen
    placed = next(
        ((n, tensor) for n, block in enumerate(layouts.blocks) for tensor in block.tensors if tensor.tensor == number),
        None,
    )
    return TensorEntry(
        name=seen.name,
        kind=seen.kind,
        dtype=seen.dtype,
        device=seen.device,
        layout=seen.layout,
        element=seen.element,
        sizes=seen.sizes,
        strides=seen.strides,
        offset=seen.offset,
        storage=seen.storage,
        block=placed[0] if placed is not None else None,
        start=placed[1].start if placed is not None else None,
        part_of=seen.part_of,
        facts=tuple(map(_fact, concluded.facts)),
    )


def _fact(fact: TensorFact) -> FactEntry:
    return FactEntry(_code(fact), to_builtins(structs.asdict(fact)), fact_text(fact))


def _code(fact: TensorFact) -> str:
    """Returns the code of a fact."""
    return str(type(fact).__struct_config__.tag)
