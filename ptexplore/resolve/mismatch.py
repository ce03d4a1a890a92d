"""The values in the message of a failed check, and the arguments that have them.

A value is assigned to an argument only if exactly one argument has it, by the rule of the check. The patterns of the
messages are in `facts/compared.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest

from ptexplore.facts.compared import ASKED, COMPARED, DTYPES, LIST
from ptexplore.model.reasons import (
    Reason,
    ValueAsked,
    ValueBroadcast,
    ValueColumns,
    ValueDevice,
    ValueDimensions,
    ValueDtype,
    ValueElements,
    ValueIndexed,
    ValueResult,
    ValueRows,
    ValueShape,
    ValueSize,
    ValueSomeSize,
    ValueToChoose,
)
from ptexplore.model.tensors import RecordedTensor
from ptexplore.model.trace import ComparedValue

Given = Sequence[tuple[str, RecordedTensor]]  # the tensors of an operator call, by argument; lists one by one
Holds = Callable[[RecordedTensor, str], bool]  # whether a tensor has a value


def _shape(tensor: RecordedTensor, value: str) -> bool:
    return list(tensor.sizes) == _sizes(value)


def _sizes(text: str) -> list[int]:
    """Returns the sizes in a message's shape: [3, 4] or 3x4."""
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


KINDS: Mapping[str, tuple[Reason, Holds]] = {
    "shape": (ValueShape(), _shape),
    "dtype": (ValueDtype(), _dtype),
    "device": (ValueDevice(), _device),
    "elements": (ValueElements(), _elements),
    "dimensions": (ValueDimensions(), _dimensions),
    "rows": (ValueRows(), _rows),
    "columns": (ValueColumns(), _columns),
}


def compared(
    message: str, given: Given, written: Sequence[str] = (), *, indexed: bool = False
) -> tuple[ComparedValue, ...]:
    """Returns the values in a message, in its order; () if no rule matches the message.

    `given` are the tensors of the failed operator call, `written` the arguments that it writes to. `indexed`: it takes
    a list of tensors that index self.
    """
    for rule in COMPARED:
        match = rule.pattern.search(message)
        if match is not None and rule.reader == "values":
            groups = sorted(match.groupdict().items(), key=lambda group: match.start(group[0]))
            return tuple(_value(name, str(text), given, written) for name, text in groups)
        if match is not None and (rule.reader != "indexed" or indexed):
            values = tuple(_READERS[rule.reader](match, given))
            if values:
                return values
    return ()


def _value(name: str, text: str, given: Given, written: Sequence[str]) -> ComparedValue:
    """Returns the value of a rule's group, with its argument if exactly one argument has it."""
    kind, _, whose = name.partition("_")
    if kind in ("asked", "result"):
        return _make_value(text, ValueAsked(whose) if kind == "asked" else ValueResult(whose))
    of, holds = KINDS[kind]
    among = (
        [argument for argument in given if argument[0].partition("[")[0] in written] if whose == "written" else given
    )
    named = [argument for argument in given if argument[0] == whose]
    if whose == "mat1" and not named:  # the first argument of mm
        named = [argument for argument in given if argument[0] == "self"]
    fitting = [argument for argument, tensor in named or among if holds(tensor, text)]
    return _make_value(text, of, fitting[0] if len(fitting) == 1 else None)


def _make_value(text: str, of: Reason, argument: str | None = None) -> ComparedValue:
    return ComparedValue(text, argument=argument, of=of)


def _broadcast(match: re.Match[str], given: Given) -> Iterator[ComparedValue]:
    """Operands are broadcast one after the other. The message names the first that does not fit the result so far.

    Some operators, such as masked_fill, pass two operands on in reverse order.
    """
    first, second, dimension = match[1], match[2], int(match[3])
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
                yield _make_value(first, ValueSize(whose[1]), whose[0])
                own = at - (len(broadcast) - len(sizes))
                yield _make_value(second, ValueSize(own), name)
                return
            if at is not None:
                break
            shape = broadcast
    yield _make_value(first, ValueBroadcast(dimension))
    yield _make_value(second, ValueBroadcast(dimension))


def _fitted(shape: list[int], sizes: list[int]) -> tuple[list[int], int | None]:
    """Returns the broadcast shape of two shapes, and the last dimension that does not fit, if there is one.

    At that dimension, the result has the size of the first shape.
    """
    pairs = list(zip_longest(reversed(shape), reversed(sizes), fillvalue=1))
    wrong = next((n for n, (a, b) in enumerate(pairs) if a != b and 1 not in (a, b)), None)
    merged = [a if wrong == n or a != 1 else b for n, (a, b) in enumerate(pairs)][::-1]
    return merged, len(pairs) - 1 - wrong if wrong is not None else None


def _from_right(sizes: list[int], length: int, at: int) -> int:
    place = at - (length - len(sizes))
    return sizes[place] if place >= 0 else 1


def _expand(match: re.Match[str], given: Given) -> Iterator[ComparedValue]:
    yield _make_value(match[1], ValueAsked("size"))
    asked = re.search(rf"Target sizes: ({ASKED})\.\s+Tensor sizes: ({LIST})", match.string)
    whose = [name for name, tensor in given if asked is not None and _shape(tensor, asked[2])]
    own = int(match[3]) - (len(_sizes(asked[1])) - len(_sizes(asked[2]))) if asked is not None else int(match[3])
    yield _make_value(match[2], ValueSize(own), whose[0] if len(whose) == 1 else None)


def _wrapped(match: re.Match[str], given: Given) -> Iterator[ComparedValue]:
    """The range depends on a number of dimensions: of a tensor, or of a result with more dimensions (unsqueeze).

    A tensor without dimensions counts as one with one dimension, as in the check.
    """
    yield _make_value(match[2], ValueAsked("dimension"))
    whose = [name for name, tensor in given if _dimensions(tensor, match[1])]
    yield _make_value(match[1], ValueToChoose(), whose[0] if len(whose) == 1 == len(given) else None)


def _bounds(match: re.Match[str], given: Given) -> Iterator[ComparedValue]:
    yield _make_value(match[1], ValueAsked("index"))
    at, size = int(match[2]), int(match[3])
    whose = [name for name, tensor in given if len(tensor.sizes) > at and tensor.sizes[at] == size]
    yield _make_value(match[3], ValueSize(at), whose[0] if len(whose) == 1 else None)


def _indexed(match: re.Match[str], _given: Given) -> Iterator[ComparedValue]:
    """Indexing counts the index tensors, and the message calls this number a dimension: x[:, i] has one, number 0.

    A mask becomes one tensor for each of its dimensions before the tensors are counted. Source: Indexer::get of
    aten/src/ATen/native/cpu/IndexKernelUtils.h, expandTensors of .../native/IndexingUtils.h.
    """
    yield _make_value(match[1], ValueAsked("index"))
    number = int(match[2])
    yield _make_value(match[3], ValueIndexed(number, masks=number != 0))


def _cat(match: re.Match[str], given: Given) -> Iterator[ComparedValue]:
    """The first tensor of the list that is not an empty vector is compared with a later tensor.

    All dimensions except the concatenated one must be equal.
    """
    lists = [(name, tensor) for name, tensor in given if "[" in name and list(tensor.sizes) != [0]]
    if not lists:
        return
    first, second = lists[0], next((item for item in lists if item[0].endswith(f"[{match[4]}]")), None)
    values = int(match[2]), int(match[3])
    places = [
        at
        for at, pair in enumerate(zip(first[1].sizes, second[1].sizes, strict=False) if second is not None else ())
        if pair == values and at != int(match[1])
    ]
    of = ValueSize(places[0]) if len(places) == 1 else ValueSomeSize()
    yield _make_value(match[2], of, first[0] if places else None)
    yield _make_value(match[3], of, second[0] if second is not None and places else None)


_READERS: Mapping[str, Callable[[re.Match[str], Given], Iterator[ComparedValue]]] = {
    "indexed": _indexed, "broadcast": _broadcast, "expanded": _expand, "wrapped": _wrapped, "bounds": _bounds,
    "joined": _cat,
}  # fmt: skip
