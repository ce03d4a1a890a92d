"""What a failed check compared: the values that its message has, and the arguments that they are of.

A value is said to be an argument's only where exactly that argument has it, by the rule of the check. Source of the
messages: at::infer_size of aten/src/ATen/ExpandUtils.cpp (broadcasting, in the order of the operands: TensorIterator's
compute_shape), c10/core/WrapDimMinimal.cpp, and the checks of the operators named below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ptexplore.model.tensors import RecordedTensor
from ptexplore.model.trace import ComparedValue

Given = Sequence[tuple[str, RecordedTensor]]  # the tensors of an operator call by argument, a list's one by one
Holds = Callable[[RecordedTensor, str], bool]  # whether a tensor has a value

# C++'s scalar types as messages write them, and C's types as caffe2::TypeMeta does, by what the profiler records.
DTYPES = {
    "Byte": "uint8", "Char": "int8", "Short": "int16", "Int": "int32", "Long": "int64", "Half": "float16",
    "Float": "float32", "Double": "float64", "ComplexHalf": "complex32", "ComplexFloat": "complex64",
    "ComplexDouble": "complex128", "Bool": "bool", "BFloat16": "bfloat16", "QInt8": "qint8", "QUInt8": "quint8",
    "QInt32": "qint32", "float": "float32", "double": "float64", "long": "int64", "long int": "int64", "int": "int32",
    "short": "int16", "short int": "int16", "unsigned char": "uint8", "signed char": "int8", "c10::Half": "float16",
    "c10::BFloat16": "bfloat16", "c10::complex<float>": "complex64", "c10::complex<double>": "complex128",
}  # fmt: skip


def _shape(tensor: RecordedTensor, value: str) -> bool:
    return list(tensor.sizes) == _sizes(value)


def _sizes(text: str) -> list[int]:
    """A shape as messages write it: [3, 4] or 3x4."""
    return [int(number) for number in re.findall(r"\d+", text)]


def _dtype(tensor: RecordedTensor, value: str) -> bool:
    return tensor.dtype.removeprefix("torch.") in (value, DTYPES.get(value))


def _device(tensor: RecordedTensor, value: str) -> bool:
    return tensor.device.removesuffix(":0") == value.removesuffix(":0")


def _elements(tensor: RecordedTensor, value: str) -> bool:
    count = 1
    for size in tensor.sizes:
        count *= size
    return str(count) == value


def _dimensions(tensor: RecordedTensor, value: str) -> bool:
    return str(len(tensor.sizes)) == value


def _rows(tensor: RecordedTensor, value: str) -> bool:
    return [str(size) for size in tensor.sizes[-2:-1]] == [value]


def _columns(tensor: RecordedTensor, value: str) -> bool:
    return len(tensor.sizes) > 1 and str(tensor.sizes[-1]) == value


KINDS: Mapping[str, tuple[str, Holds]] = {
    "shape": ("the shape", _shape),
    "dtype": ("the dtype", _dtype),
    "device": ("the device", _device),
    "elements": ("the number of elements", _elements),
    "dimensions": ("the number of dimensions", _dimensions),
    "rows": ("the number of rows", _rows),
    "columns": ("the number of columns", _columns),
}


@dataclass(frozen=True, slots=True)
class ComparedRule:
    """A pattern of a message. Its groups are named by what their values are: `shape_1`, `dtype_out`, `asked_index`.

    What is behind the word says whose it is, where the check's own text says so: `out`, `index`; a number says nothing.
    `asked` is what was asked for, `result` is of the result as it would be: both are no tensor's that was given.
    """

    message: re.Pattern[str]


def _rule(pattern: str) -> ComparedRule:
    return ComparedRule(re.compile(pattern, re.DOTALL))


LIST = r"\[[\d, ]*\]"
ASKED = r"\[[-\d, ]*\]"  # of sizes that were asked for
WORD = r"[\w:<>]+"
RULES = (
    _rule(r"mat1 and mat2 shapes cannot be multiplied \((?P<shape_mat1>\d+x\d+) and (?P<shape_mat2>\d+x\d+)\)"),
    _rule(
        rf"stack expects each tensor to be equal size, but got (?P<shape_1>{LIST}) at entry \d+ and (?P<shape_2>{LIST})"
    ),
    _rule(rf"weight of size (?P<shape_weight>{LIST}), expected input(?P<shape_input>{LIST}) to have"),
    _rule(rf"shape '(?P<asked_shape>{ASKED})' is invalid for input of size (?P<elements_self>\d+)"),
    _rule(rf"expected m1 and m2 to have the same dtype, but got: (?P<dtype_1>{WORD}) != (?P<dtype_mat2>{WORD})"),
    _rule(rf"expected both vectors to have same dtype, but found (?P<dtype_self>{WORD}) and (?P<dtype_tensor>{WORD})"),
    _rule(rf"expected scalar type (?P<dtype_1>{WORD}) but found (?P<dtype_2>{WORD})"),
    _rule(rf"result type (?P<result_dtype>{WORD}) can't be cast to the desired output type (?P<dtype_written>{WORD})"),
    _rule(rf"\"\w+\" not implemented for '(?P<dtype_1>{WORD})'"),
    _rule(rf"Expected out tensor to have dtype (?P<result_dtype>{WORD}), but got (?P<dtype_out>{WORD}) instead"),
    _rule(r"found at least two devices, (?P<device_1>[\w:]+) and (?P<device_2>[\w:]+)!"),
    _rule(r"Tensor on device (?P<device_1>[\w:]+) is not on the expected device (?P<device_2>[\w:]+)!"),
    _rule(rf"index (?P<asked_index>-?\d+) out of range for tensor of size (?P<shape_self>{LIST})"),
    _rule(rf"expected index (?P<shape_index>{LIST}) to be no larger than self (?P<shape_self>{LIST})"),
    _rule(rf"output with shape (?P<shape_written>{LIST}) doesn't match the broadcast shape (?P<result_shape>{LIST})"),
    _rule(r"must be batches of square matrices, but they are (?P<rows_1>\d+) by (?P<columns_1>\d+) matrices"),
    _rule(rf"expected input with shape \[.*?\], but got input of size(?P<shape_input>{LIST})"),
    _rule(r"tried to access index (?P<asked_index>-?\d+) on a tensor of (?P<elements_self>\d+) elements"),
    _rule(r"a Tensor with (?P<elements_self>\d+) elements cannot be converted to Scalar"),
)
_BROADCAST = re.compile(
    r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)"
)
_EXPAND = re.compile(
    r"expanded size of the tensor \((-?\d+)\) must match the existing size \((\d+)\) at non-singleton dimension (\d+)"
)
_WRAPPED = re.compile(r"Dimension out of range \(expected to be in range of \[-(\d+), \d+\], but got (-?\d+)\)")
_BOUNDS = re.compile(r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)")
_CAT = re.compile(
    r"except in dimension (\d+)\. (?:Expected size|Got) (\d+) (?:but got size|and) (\d+) .*?tensor number (\d+)"
)


def compared(
    message: str, given: Given, written: Sequence[str] = (), *, indexed: bool = False
) -> tuple[ComparedValue, ...]:
    """The values that a message tells of, in its order; () for a message that no rule knows.

    `given` are the tensors of the operator call that was left, `written` the arguments that it writes to; it is
    `indexed` if it takes a list of tensors that index self.
    """
    if indexed and (values := tuple(_indexed(message))):
        return values
    for reader in (_broadcast, _expand, _wrapped, _bounds, _cat):
        values = tuple(reader(message, given))
        if values:
            return values
    for rule in RULES:
        told = rule.message.search(message)
        if told is not None:
            groups = sorted(told.groupdict().items(), key=lambda group: told.start(group[0]))
            return tuple(_value(name, str(text), given, written) for name, text in groups)
    return ()


def _value(name: str, text: str, given: Given, written: Sequence[str]) -> ComparedValue:
    """The value of a rule's group, with the argument that has it, where exactly one does."""
    kind, _, whose = name.partition("_")
    if kind in ("asked", "result"):
        return ComparedValue(text, f"the {whose} {'asked for' if kind == 'asked' else 'of the result'}")
    what, holds = KINDS[kind]
    among = (
        [argument for argument in given if argument[0].partition("[")[0] in written] if whose == "written" else given
    )
    named = [argument for argument in given if argument[0] == whose]
    if whose == "mat1" and not named:  # mm's own first argument
        named = [argument for argument in given if argument[0] == "self"]
    fitting = [argument for argument, tensor in named or among if holds(tensor, text)]
    return ComparedValue(text, what, fitting[0] if len(fitting) == 1 else None)


def _broadcast(message: str, given: Given) -> Iterator[ComparedValue]:
    """Operands are broadcast one after the other; the message is of the first that does not fit what came before.

    An operator may hand two of them on the other way round, as masked_fill does.
    """
    told = _BROADCAST.search(message)
    if told is None:
        return
    first, second, dimension = told[1], told[2], int(told[3])
    turned = [given[::-1]] if len(given) == 2 else []
    for operands in (given, [operand for operand in given if operand[0] != "out"], *turned):
        shape: list[int] = []
        for number, (name, tensor) in enumerate(operands):
            sizes = list(tensor.sizes)
            broadcast, at = _fitted(shape, sizes)
            if at is not None and (at, str(broadcast[at]), str(_from_right(sizes, len(broadcast), at))) == (
                dimension, first, second,
            ):  # fmt: skip
                before = [
                    (earlier, place)
                    for earlier, other in operands[:number]
                    if (place := at - (len(broadcast) - len(other.sizes))) >= 0 and other.sizes[place] == int(first)
                ]
                whose = before[0] if len(before) == 1 else (None, at)
                yield ComparedValue(first, f"the size of dimension {whose[1]}", whose[0])
                own = at - (len(broadcast) - len(sizes))
                yield ComparedValue(second, f"the size of dimension {own}", name)
                return
            if at is not None:
                break
            shape = broadcast
    yield ComparedValue(first, f"a size at dimension {dimension} of the shape that they broadcast to")
    yield ComparedValue(second, f"a size at dimension {dimension} of the shape that they broadcast to")


def _fitted(shape: list[int], sizes: list[int]) -> tuple[list[int], int | None]:
    """Two shapes broadcast, the first's own sizes where they do not fit; and the last dimension that does not fit."""
    pairs = list(zip_longest(reversed(shape), reversed(sizes), fillvalue=1))
    wrong = next((n for n, (a, b) in enumerate(pairs) if a != b and 1 not in (a, b)), None)
    merged = [a if wrong == n or a != 1 else b for n, (a, b) in enumerate(pairs)][::-1]
    return merged, len(pairs) - 1 - wrong if wrong is not None else None


def _from_right(sizes: list[int], length: int, at: int) -> int:
    place = at - (length - len(sizes))
    return sizes[place] if place >= 0 else 1


def _expand(message: str, given: Given) -> Iterator[ComparedValue]:
    told = _EXPAND.search(message)
    if told is None:
        return
    yield ComparedValue(told[1], "the size asked for")
    asked = re.search(rf"Target sizes: ({ASKED})\.\s+Tensor sizes: ({LIST})", message)
    whose = [name for name, tensor in given if asked is not None and _shape(tensor, asked[2])]
    own = int(told[3]) - (len(_sizes(asked[1])) - len(_sizes(asked[2]))) if asked is not None else int(told[3])
    yield ComparedValue(told[2], f"the size of dimension {own}", whose[0] if len(whose) == 1 else None)


def _wrapped(message: str, given: Given) -> Iterator[ComparedValue]:
    """The range is that of a number of dimensions: a tensor's own, or that of a result which has more (unsqueeze).

    A tensor without any has one here, as the check itself has it.
    """
    told = _WRAPPED.search(message)
    if told is None:
        return
    yield ComparedValue(told[2], "the dimension asked for")
    whose = [name for name, tensor in given if _dimensions(tensor, told[1])]
    what = "the number of dimensions to choose from"
    yield ComparedValue(told[1], what, whose[0] if len(whose) == 1 == len(given) else None)


def _bounds(message: str, given: Given) -> Iterator[ComparedValue]:
    told = _BOUNDS.search(message)
    if told is None:
        return
    yield ComparedValue(told[1], "the index asked for")
    at, size = int(told[2]), int(told[3])
    whose = [name for name, tensor in given if len(tensor.sizes) > at and tensor.sizes[at] == size]
    yield ComparedValue(told[3], f"the size of dimension {at}", whose[0] if len(whose) == 1 else None)


def _indexed(message: str) -> Iterator[ComparedValue]:
    """Indexing by tensors counts these, and calls the number a dimension: x[:, i] has one, which is 0.

    A mask becomes a tensor for each of its dimensions before they are counted.
    Source: Indexer::get of aten/src/ATen/native/cpu/IndexKernelUtils.h, expandTensors of .../native/IndexingUtils.h.
    """
    told = _BOUNDS.search(message)
    if told is None:
        return
    yield ComparedValue(told[1], "the index asked for")
    masks = ", if a mask counts once for each of its dimensions" if told[2] != "0" else ""
    yield ComparedValue(told[3], f"the size of the dimension of self that index tensor {told[2]} is for{masks}")


def _cat(message: str, given: Given) -> Iterator[ComparedValue]:
    """The list's first tensor that is no empty vector is compared with a further one, in each other dimension."""
    told = _CAT.search(message)
    lists = [(name, tensor) for name, tensor in given if "[" in name and list(tensor.sizes) != [0]]
    if told is None or not lists:
        return
    first, second = lists[0], next((item for item in lists if item[0].endswith(f"[{told[4]}]")), None)
    values = int(told[2]), int(told[3])
    places = [
        at
        for at, pair in enumerate(zip(first[1].sizes, second[1].sizes, strict=False) if second is not None else ())
        if pair == values and at != int(told[1])
    ]
    what = f"the size of dimension {places[0]}" if len(places) == 1 else "a size"
    yield ComparedValue(told[2], what, first[0] if places else None)
    yield ComparedValue(told[3], what, second[0] if second is not None and places else None)
