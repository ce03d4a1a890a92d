"""Messages of checks that name the values they compared: a reader for each, and PyTorch's file with the words.

A pattern of the reader `values` has groups named by the kind of their value: `shape_1`, `dtype_out`, `asked_index`. The
second word says which tensor has the value, if the check's text says so: `out`, `index`; a number says nothing. `asked`
is a requested value, and `result` is a value of the future result: neither belongs to an input tensor.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from ptexplore.facts.source import FactSource

# C++ scalar types in messages, and C types as caffe2::TypeMeta names them -> the dtype that the profiler records.
DTYPES = {
    "Byte": "uint8", "Char": "int8", "Short": "int16", "Int": "int32", "Long": "int64", "Half": "float16",
    "Float": "float32", "Double": "float64", "ComplexHalf": "complex32", "ComplexFloat": "complex64",
    "ComplexDouble": "complex128", "Bool": "bool", "BFloat16": "bfloat16", "QInt8": "qint8", "QUInt8": "quint8",
    "QInt32": "qint32", "float": "float32", "double": "float64", "long": "int64", "long int": "int64", "int": "int32",
    "short": "int16", "short int": "int16", "unsigned char": "uint8", "signed char": "int8", "c10::Half": "float16",
    "c10::BFloat16": "bfloat16", "c10::complex<float>": "complex64", "c10::complex<double>": "complex128",
}  # fmt: skip
DTYPES_IN = (
    FactSource("c10/core/ScalarType.h", "_(c10::complex<float>, ComplexFloat)", until="2.6"),
    FactSource("torch/headeronly/core/ScalarType.h", "_(c10::complex<float>, ComplexFloat)", since="2.13"),
)


class Compared(NamedTuple):
    """A message: its reader, the pattern that recognises it, and the place of its words."""

    reader: Literal["values", "indexed", "broadcast", "expanded", "wrapped", "bounds", "joined"]
    pattern: re.Pattern[str]
    source: FactSource


def _values(pattern: str, file: str, words: str) -> Compared:
    return Compared("values", re.compile(pattern, re.DOTALL), FactSource(file, words))


LIST = r"\[[\d, ]*\]"
ASKED = r"\[[-\d, ]*\]"  # requested sizes
_WORD = r"[\w:<>]+"
_NATIVE = "aten/src/ATen/native"
_BOUNDS = re.compile(r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)")
COMPARED = (
    # Only for indexing by tensors (Indexer::get), which numbers these.
    Compared("indexed", _BOUNDS, FactSource(f"{_NATIVE}/cpu/IndexKernelUtils.h", "is out of bounds for dimension")),
    Compared(  # infer_size_impl, in the order of the operands: TensorIterator's compute_shape
        "broadcast",
        re.compile(
            r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)"
        ),
        FactSource("aten/src/ATen/ExpandUtils.cpp", "must match the size of tensor b"),
    ),
    Compared(
        "expanded",
        re.compile(
            r"expanded size of the tensor \((-?\d+)\) must match the existing size \((\d+)\)"
            r" at non-singleton dimension (\d+)"
        ),
        FactSource("aten/src/ATen/ExpandUtils.cpp", "must match the existing size"),
    ),
    Compared(
        "wrapped",
        re.compile(r"Dimension out of range \(expected to be in range of \[-(\d+), \d+\], but got (-?\d+)\)"),
        FactSource("c10/core/WrapDimMinimal.cpp", "Dimension out of range (expected to be in range of"),
    ),
    Compared("bounds", _BOUNDS, FactSource("aten/src/ATen/TensorIndexing.h", "is out of bounds for dimension")),
    Compared(
        "joined",
        re.compile(
            r"except in dimension (\d+)\. (?:Expected size|Got) (\d+) (?:but got size|and) (\d+) .*?tensor number (\d+)"
        ),
        FactSource(f"{_NATIVE}/TensorShape.h", "except in dimension "),
    ),
    _values(
        r"mat1 and mat2 shapes cannot be multiplied \((?P<shape_mat1>\d+x\d+) and (?P<shape_mat2>\d+x\d+)\)",
        f"{_NATIVE}/LinearAlgebra.cpp", "mat1 and mat2 shapes cannot be multiplied",
    ),
    _values(
        rf"stack expects each tensor to be equal size, but got (?P<shape_1>{LIST}) at entry \d+"
        rf" and (?P<shape_2>{LIST})",
        f"{_NATIVE}/TensorShape.cpp", "stack expects each tensor to be equal size, but got ",
    ),
    _values(
        rf"weight of size (?P<shape_weight>{LIST}), expected input(?P<shape_input>{LIST}) to have",
        f"{_NATIVE}/Convolution.cpp", ", expected input",
    ),
    _values(
        rf"shape '(?P<asked_shape>{ASKED})' is invalid for input of size (?P<elements_self>\d+)",
        "aten/src/ATen/InferSize.h", "' is invalid for input of size ",
    ),
    _values(
        rf"expected m1 and m2 to have the same dtype, but got: (?P<dtype_1>{_WORD}) != (?P<dtype_mat2>{_WORD})",
        f"{_NATIVE}/LinearAlgebra.cpp", "expected m1 and m2 to have the same dtype, but got: ",
    ),
    _values(
        rf"expected both vectors to have same dtype, but found (?P<dtype_self>{_WORD}) and (?P<dtype_tensor>{_WORD})",
        f"{_NATIVE}/Blas.cpp", "expected both vectors to have same dtype, but found ",
    ),
    _values(
        rf"expected scalar type (?P<dtype_1>{_WORD}) but found (?P<dtype_2>{_WORD})",
        "aten/src/ATen/templates/TensorMethods.cpp", "expected scalar type ",
    ),
    _values(
        rf"result type (?P<result_dtype>{_WORD}) can't be cast to the desired output type (?P<dtype_written>{_WORD})",
        "aten/src/ATen/TensorIterator.cpp", " can't be cast to the desired output type ",
    ),
    _values(
        rf"\"\w+\" not implemented for '(?P<dtype_1>{_WORD})'", "aten/src/ATen/Dispatch.h", "not implemented for '"
    ),
    _values(
        rf"Expected out tensor to have dtype (?P<result_dtype>{_WORD}), but got (?P<dtype_out>{_WORD}) instead",
        f"{_NATIVE}/TensorShape.cpp", "Expected out tensor to have dtype ",
    ),
    _values(
        r"found at least two devices, (?P<device_1>[\w:]+) and (?P<device_2>[\w:]+)!",
        "aten/src/ATen/TensorIterator.cpp", "found at least two devices, ",
    ),
    _values(
        r"Tensor on device (?P<device_1>[\w:]+) is not on the expected device (?P<device_2>[\w:]+)!",
        "torch/_prims_common/__init__.py", " is not on the expected device ",
    ),
    _values(
        rf"index (?P<asked_index>-?\d+) out of range for tensor of size (?P<shape_self>{LIST})",
        f"{_NATIVE}/TensorShape.cpp", " out of range for tensor of size ",
    ),
    _values(
        rf"expected index (?P<shape_index>{LIST}) to be no larger than self (?P<shape_self>{LIST})",
        f"{_NATIVE}/ScatterGatherChecks.h", " to be no larger than self",
    ),
    _values(
        rf"output with shape (?P<shape_written>{LIST}) doesn't match the broadcast shape (?P<result_shape>{LIST})",
        "aten/src/ATen/TensorIterator.cpp", " doesn't match the broadcast shape ",
    ),
    _values(
        r"must be batches of square matrices, but they are (?P<rows_1>\d+) by (?P<columns_1>\d+) matrices",
        f"{_NATIVE}/LinearAlgebraUtils.h", "must be batches of square matrices, but they are ",
    ),
    _values(
        rf"expected input with shape \[.*?\], but got input of size(?P<shape_input>{LIST})",
        f"{_NATIVE}/layer_norm.h", ", but got input of size",
    ),
    _values(
        r"tried to access index (?P<asked_index>-?\d+) on a tensor of (?P<elements_self>\d+) elements",
        f"{_NATIVE}/cpu/IndexKernel.cpp", "tried to access index ",
    ),
    _values(
        r"a Tensor with (?P<elements_self>\d+) elements cannot be converted to Scalar",
        f"{_NATIVE}/Scalar.cpp", " elements cannot be converted to Scalar",
    ),
)  # fmt: skip
