"""The rules of sizes and strides: when a tensor is contiguous or dense, and when an operator must copy.

The rules are computed from sizes and strides as torch computes them. Each names the file it was read from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ptexplore.facts.source import FactSource

Sizes = Sequence[int]
_CONTIGUITY = "c10/core/Contiguity.h"
_SHAPES = "aten/src/ATen/native/TensorShape.cpp"
_FACTORIES = "aten/src/ATen/native/TensorFactories.cpp"

CONTIGUOUS = FactSource(_CONTIGUITY, "_compute_contiguous")
CHANNELS_LAST = (
    FactSource(_CONTIGUITY, "_compute_channels_last_contiguous_2d"),
    FactSource(_CONTIGUITY, "_compute_channels_last_contiguous_3d"),
)
DENSE = FactSource(_CONTIGUITY, "_compute_non_overlapping_and_dense")
JOINED = FactSource("aten/src/ATen/TensorUtils.cpp", "computeStride")
# reshape is a view if computeStride finds strides; else it clones. clone keeps the strides of a dense tensor.
RESHAPES = FactSource(_SHAPES, "computeStride")
KEEPS_STRIDES = FactSource(_FACTORIES, "is_non_overlapping_and_dense")
# The values of c10::MemoryFormat in order. The profiler records the argument memory_format as this number.
PRESERVE = "preserve_format"
FORMATS = ("contiguous_format", PRESERVE, "channels_last", "channels_last_3d")
FORMATS_IN = (
    FactSource("c10/core/MemoryFormat.h", "ChannelsLast3d,", until="2.8"),
    FactSource("torch/headeronly/core/MemoryFormat.h", "ChannelsLast3d,", since="2.13"),
)
COPY = "aten::copy_"  # the operator that copies data from one tensor into another
# Operators that view a tensor if they can, and copy it if computeStride says that they cannot.
RESHAPE = ("aten::reshape", "aten::flatten")
CLONE = "aten::clone"  # without a memory format it keeps the strides of a dense tensor
# By operator: the position of the argument that asks for a memory format.
TAKE_FORMAT = {"aten::contiguous": 1, CLONE: 1, "aten::_to_copy": 6}
_OVERLOADS = {"to": "to.dtype", "flatten": "flatten.using_ints"}  # of operators without an overload of the plain name
# Operators that do nothing but copy one tensor, by calling copy_ once, or return a view or their argument.
COPIES = tuple(f"aten::{name}" for name in (
    "clone", "contiguous", "_to_copy", "to", "reshape", "flatten", "ravel", "repeat", "type_as", "resolve_conj",
    "resolve_neg", "reshape_as",
))  # fmt: skip
# Operators that return their argument or a view if they can. A copying operator inside shows that they copied.
MAY_COPY = tuple(f"aten::{name}" for name in (
    "contiguous", "to", "reshape", "flatten", "ravel", "type_as", "resolve_conj", "resolve_neg", "reshape_as",
))  # fmt: skip
COPYING = tuple(f"aten::{name}" for name in (
    "copy_", "clone", "_to_copy", "_reshape_copy", "_mkldnn_reshape", "to_dense",
))  # fmt: skip
# Operators whose new tensor has nothing but elements of their arguments, or one value that fills the rest. By operator:
# the argument that the new tensor has as many elements as; "" if sizes alone do not say it.
WRITES = {f"aten::{name}": elements for name, elements in {
    "cat": "tensors", "stack": "tensors", "gather": "index", "take": "index", "flip": "self", "roll": "self",
    "index": "", "index_select": "", "masked_select": "", "narrow_copy": "", "repeat_interleave": "",
    "constant_pad_nd": "", "reflection_pad1d": "", "reflection_pad2d": "", "replication_pad1d": "",
    "replication_pad2d": "", "embedding": "", "im2col": "", "tril": "self", "triu": "self", "pixel_shuffle": "self",
}.items()}  # fmt: skip
NO_DATA = "meta"  # the device of tensors without data: to write to one writes nothing.
# The keys of kernels that write nothing: tensors on Meta have no data, and Python calls the functions of a subclass.
WITHOUT_DATA = {
    "Meta": FactSource("aten/src/ATen/EmptyTensor.h", "empty_meta("),
    "Python": FactSource("c10/core/impl/PyInterpreter.h", "virtual void dispatch("),
}
# The method returns a contiguous tensor without calling its operator: THPVariable_contiguous in
# tools/autograd/templates/python_variable_methods.cpp.
CONTIGUOUS_METHOD = "contiguous"
# By operator that copies a tensor only if it has a bit for lazy arithmetic: the name of the bit.
RESOLVES = {"aten::resolve_conj": "conjugate", "aten::resolve_neg": "negative"}
RESOLVES_IN = FactSource("aten/src/ATen/native/UnaryOps.cpp", "resolve_conj")
# The order of dimensions from the innermost to the outermost, by memory format.
_ORDERS = {"channels_last": (1, 3, 2, 0), "channels_last_3d": (1, 4, 3, 2, 0)}
CHANNELS = tuple(_ORDERS)
_BITS = re.compile(r"^\D+(\d+)")


def rank_of(form: str) -> int:
    """Returns the number of dimensions that a memory format for channels is for."""
    return len(_ORDERS[form])


class Break(NamedTuple):
    """The dimension for which a tensor is not contiguous: its stride, and the stride of a contiguous tensor."""

    dimension: int
    stride: int
    expected: int


def is_contiguous(sizes: Sizes, strides: Sizes, form: str = FORMATS[0]) -> bool:
    """Whether a strided tensor is contiguous in a memory format, as `Tensor.is_contiguous` says (CONTIGUOUS)."""
    if form in _ORDERS and len(sizes) != len(_ORDERS[form]):
        return False
    return breaking(sizes, strides, form) is None


def breaking(sizes: Sizes, strides: Sizes, form: str = FORMATS[0]) -> Break | None:
    """Returns the innermost dimension for which a tensor is not contiguous in a memory format; None if it is.

    A format for channels is only for tensors with as many dimensions as it has.
    """
    if form not in _ORDERS and math.prod(sizes) == 0:
        return None
    expected = 1
    for dimension in _ORDERS.get(form, tuple(reversed(range(len(sizes))))):
        if sizes[dimension] != 1:
            if strides[dimension] != expected:
                return Break(dimension, strides[dimension], expected)
            expected *= sizes[dimension]
    return None


def packed(sizes: Sizes) -> tuple[int, ...]:
    """Returns the strides of a new contiguous tensor."""
    strides = [1] * len(sizes)
    for dimension in reversed(range(len(sizes) - 1)):
        strides[dimension] = strides[dimension + 1] * max(sizes[dimension + 1], 1)
    return tuple(strides)


def is_dense(sizes: Sizes, strides: Sizes) -> bool:
    """Whether a strided tensor's elements fill its memory: no element is skipped, none is used twice (DENSE)."""
    if is_contiguous(sizes, strides):
        return True
    order = sorted(range(len(sizes)), key=lambda dimension: (sizes[dimension] < 2, strides[dimension]))
    expected = 1
    for dimension in order:
        if sizes[dimension] < 2:
            return True
        if strides[dimension] != expected:
            return False
        expected *= sizes[dimension]
    return True


class Unjoined(NamedTuple):
    """Two dimensions that no view can join: the stride of the first is not size × stride of the second."""

    first: int
    second: int
    stride: int
    size: int
    inner: int  # the stride of the second


class _Part(NamedTuple):
    """Neighbouring dimensions that a view can join: their elements, and the stride of the innermost one.

    `pair` is the pair of dimensions that ends the part: no view can join its first dimension to the part.
    """

    elements: int
    stride: int
    pair: Unjoined | None


def _parts(sizes: Sizes, strides: Sizes) -> Iterator[_Part]:
    """Yields the parts of a tensor with elements and at least one dimension, the innermost first (JOINED)."""
    elements, inner = 1, strides[-1]
    for dimension in reversed(range(len(sizes))):
        elements *= sizes[dimension]
        outer = dimension - 1
        if dimension and (sizes[outer] == 1 or strides[outer] == elements * inner):
            continue
        second = next((d for d in range(dimension, len(sizes)) if sizes[d] != 1), None)
        pair = None
        if dimension and second is not None:
            pair = Unjoined(outer, second, strides[outer], sizes[second], strides[second])
        yield _Part(elements, inner, pair)
        elements, inner = 1, strides[outer]


def unjoined(sizes: Sizes, strides: Sizes) -> tuple[Unjoined, ...]:
    """Returns the pairs of dimensions that no view of a tensor can join, the innermost pair first (JOINED).

    Dimensions of size 1 join with any other. A tensor without elements has no such pair.
    """
    if not sizes or math.prod(sizes) == 0:
        return ()
    return tuple(part.pair for part in _parts(sizes, strides) if part.pair is not None)


def refusing(sizes: Sizes, strides: Sizes, wanted: Sizes) -> Unjoined | None:
    """Returns the pair of dimensions for which a view with the wanted sizes is refused; None if the view is possible.

    `wanted` may have one -1. None is also returned for sizes with another number of elements: then no strides matter.
    """
    answer = viewed(sizes, strides, wanted)
    return answer if isinstance(answer, Unjoined) else None


def viewed(sizes: Sizes, strides: Sizes, wanted: Sizes) -> tuple[int, ...] | Unjoined | None:
    """Returns the strides of a view with the wanted sizes, or the pair of dimensions for which it is refused (JOINED).

    `wanted` may have one -1. Returns None for sizes with another number of elements.
    """
    shape = inferred(wanted, math.prod(sizes))
    if shape is None:
        return None
    if not sizes:
        return (1,) * len(shape)
    if math.prod(sizes) == 0:
        return tuple(strides) if tuple(sizes) == shape else packed(shape)
    made: list[int] = []  # the strides of the view, the innermost first
    outer = list(shape)
    for part in _parts(sizes, strides):
        taken = 1
        while outer and (taken < part.elements or outer[-1] == 1):
            made.append(taken * part.stride)
            taken *= outer.pop()
        if taken != part.elements and part.pair is not None:
            return part.pair
    return tuple(reversed(made))


def inferred(wanted: Sizes, elements: int) -> tuple[int, ...] | None:
    """Returns the wanted sizes with the size for -1 filled in; None if they do not fit the number of elements."""
    known = math.prod(size for size in wanted if size != -1)
    if wanted.count(-1) == 1 and known and elements % known == 0:
        return tuple(elements // known if size == -1 else size for size in wanted)
    return tuple(wanted) if -1 not in wanted and known == elements else None


def shared(sizes: Sizes, strides: Sizes) -> tuple[int, ...]:
    """Returns the dimensions along which all elements are one in memory: those with stride 0, as expand makes them."""
    return tuple(d for d, (size, stride) in enumerate(zip(sizes, strides, strict=True)) if size > 1 and not stride)


def size_of(dtype: str) -> int | None:
    """Returns the bytes of one element; None for a dtype of less than a byte, or of an unknown name."""
    bits = _BITS.match(dtype)
    return 1 if dtype == "bool" else int(bits[1]) // 8 or None if bits is not None else None


def facts() -> Iterator[tuple[str, FactSource]]:
    """Yields every fact of this module, with name and source."""
    yield "contiguous", CONTIGUOUS
    yield from (("channels last", source) for source in CHANNELS_LAST)
    yield from (("dense", DENSE), ("joined dimensions", JOINED), ("reshape copies", RESHAPES))
    yield from (("clone keeps strides", KEEPS_STRIDES), ("bits are resolved", RESOLVES_IN))
    yield from (("memory formats", source) for source in FORMATS_IN)
    yield from ((f"key without data {key}", source) for key, source in WITHOUT_DATA.items())
    yaml = "aten/src/ATen/native/native_functions.yaml"
    for operator in WRITES:
        first = {"cat": "Tensor[] tensors", "stack": "Tensor[] tensors", "embedding": "Tensor weight"}
        name = operator.removeprefix("aten::")
        overload = f"{name}.Tensor" if name == "index" else f"{name}.self_int" if name == "repeat_interleave" else name
        yield f"writing operator {operator}", FactSource(yaml, f"{overload}({first.get(name, 'Tensor self')}")
    for operator in (COPY, *COPIES):
        name = operator.removeprefix("aten::")
        yield f"copying operator {operator}", FactSource(yaml, f"{_OVERLOADS.get(name, name)}(Tensor")
