"""The page of tensors in memory: blocks with their tensors, a table of the tensors, and answers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ptexplore.errors import NOT_PYTHON
from ptexplore.facts.layouts import JOINED
from ptexplore.model.tensor_facts import TensorFact, ViewRefused
from ptexplore.model.tensor_layouts import MemoryBlock, PlacedTensor, SeenTensor, TensorLayouts
from ptexplore.view.trace.amounts import size
from ptexplore.view.words.tensors import fact_in_words

COLUMNS = ("tensor", "sizes", "strides", "offset", "")
SHOWS_RULE = f"ptexplore show {JOINED.words}"  # the rule of views in the source
MOST_ANSWERS = 24
WRITE = "a write to {}"
AFTER = "after {}"  # the heading of tensors after further code
NOW, LATER = "before", "after"  # the columns of one tensor before and after further code
NO_DIFFERENCE = "{} and {}: the same sizes, strides, offset and dtype"
NO_CHANGE = "{}: the same sizes, strides, offset and dtype"


@dataclass(frozen=True, slots=True)
class BlockView:
    """A block of memory: three facts for a heading, the number of cells, and the tensors with their names."""

    facts: tuple[str, str, str]
    cells: int
    tensors: tuple[tuple[str, PlacedTensor], ...]


@dataclass(frozen=True, slots=True)
class TensorRowView:
    """A tensor in the table: its name, sizes, strides and offset, and the facts about it in words."""

    cells: tuple[str, str, str, str]
    facts: str


@dataclass(frozen=True, slots=True)
class AnswerView:
    """What a call would do, in words: the name of the tensor, the method ("" for a write), and the result."""

    name: str
    method: str
    told: str


@dataclass(frozen=True, slots=True)
class TensorPage:
    """Everything that the screen of tensors shows."""

    title: str
    torch: str
    blocks: tuple[BlockView, ...]
    rows: tuple[TensorRowView, ...]
    answers: tuple[AnswerView, ...]
    notes: tuple[str, ...]
    others: tuple[OtherPage, ...] = ()


@dataclass(frozen=True, slots=True)
class DifferenceView:
    """A property in which two tensors differ: its name, and its value in both."""

    name: str
    values: tuple[str, str]


@dataclass(frozen=True, slots=True)
class OtherPage:
    """A second page: the same tensors after further code, or others. Pairs of tensors have their differences."""

    page: TensorPage
    pairs: tuple[tuple[str, str, tuple[DifferenceView, ...]], ...]


def compared_page(layouts: TensorLayouts, title: str, others: Iterable[tuple[str, TensorLayouts | None]]) -> TensorPage:
    """Returns the page of tensors, and of others beside it, each with its title."""
    pages = tuple(
        OtherPage(tensor_page(other, text), tuple(_pairs(layouts, other)))
        for text, other in others
        if other is not None
    )
    return replace(tensor_page(layouts, title), others=pages)


def _pairs(layouts: TensorLayouts, others: TensorLayouts) -> Iterator[tuple[str, str, tuple[DifferenceView, ...]]]:
    """Yields pairs of tensors with the same name, else the last tensor of both, with their differences."""
    first, second = ([t.seen for t in side.tensors if t.seen.part_of is None] for side in (layouts, others))
    named = {tensor.name: tensor for tensor in second}
    pairs = [(tensor, named[tensor.name]) for tensor in first if tensor.name in named]
    for left, right in pairs or [(first[-1], second[-1])]:
        yield left.name, right.name, tuple(_differences(left, right))


def _differences(first: SeenTensor, second: SeenTensor) -> Iterator[DifferenceView]:
    names = (*COLUMNS[1:4], "dtype", "device", "layout", "contiguous in")
    for name, *values in zip(names, *map(_properties, (first, second)), strict=True):
        if values[0] != values[1]:
            yield DifferenceView(name, (values[0], values[1]))


def _properties(tensor: SeenTensor) -> tuple[str, ...]:
    return (
        *_cells(tensor)[1:],
        tensor.dtype,
        tensor.device,
        tensor.layout,
        ", ".join(name.removesuffix("_format") for name in tensor.formats) or "no format",
    )


def tensor_page(layouts: TensorLayouts, title: str, *, on_site: bool = False) -> TensorPage:
    """Returns the page of tensors. `title` is the text that gave them. On a site, the notes name no command."""
    answers = tuple(
        AnswerView(layouts.tensors[answer.tensor].seen.name, answer.method, facts_text(answer.facts))
        for answer in layouts.answers
    )
    notes = []
    if layouts.further:
        notes.append(f"{layouts.further} more tensors are not shown")
    if len(answers) > MOST_ANSWERS:
        notes.append(f"{len(answers) - MOST_ANSWERS} more answers are {'not shown' if on_site else 'in --json'}")
    if not on_site and any(isinstance(fact, ViewRefused) for answer in layouts.answers for fact in answer.facts):
        notes.append(f"the rule of views: {SHOWS_RULE}")
    return TensorPage(
        title=title,
        torch=layouts.torch,
        blocks=tuple(_block(layouts, block, number) for number, block in enumerate(layouts.blocks)),
        rows=tuple(TensorRowView(_cells(tensor.seen), facts_text(tensor.facts)) for tensor in layouts.tensors),
        answers=answers[:MOST_ANSWERS],
        notes=tuple(notes),
    )


def _block(layouts: TensorLayouts, block: MemoryBlock, number: int) -> BlockView:
    tensors = tuple((layouts.tensors[placed.tensor].seen.name, placed) for placed in block.tensors)
    count = f" {number + 1}" if len(layouts.blocks) > 1 else ""
    several = len(block.storages)
    what = f"storage{count}" if several == 1 else f"memory{count} of {several} storages"
    dtypes = ", ".join(block.dtypes)
    cells = f"{block.cells:,} cell{'s' * (block.cells != 1)} of {block.cell} B"
    bytes_ = size(block.bytes) if block.has_memory else f"no bytes ({size(block.bytes)} if it had them)"
    return BlockView((what, f"{bytes_}, {dtypes}, {block.device}", cells), block.cells, tensors)


def _cells(tensor: SeenTensor) -> tuple[str, str, str, str]:
    return (
        tensor.name,
        str(tensor.sizes) if tensor.sizes is not None else "",
        str(tensor.strides) if tensor.strides is not None else "",
        str(tensor.offset) if tensor.offset is not None else "",
    )


def called(name: str, method: str) -> str:
    """Returns a call of a method as Python has it: `(a + b).view(12)`. Without a method: a write in words."""
    if not method:
        return WRITE.format(name)
    try:
        tree = ast.parse(name, mode="eval").body
    except NOT_PYTHON:  # a shortened text
        return f"{name}.{method}"
    is_primary = isinstance(tree, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    return f"{name}.{method}" if is_primary else f"({name}).{method}"


def fact_text(fact: TensorFact) -> str:
    """Returns a fact in words."""
    return fact_in_words(fact, size)


def facts_text(facts: Iterable[TensorFact]) -> str:
    """Returns several facts in words."""
    return "; ".join(map(fact_text, facts))
