"""Messages about sparse, nested and quantized tensors, and about memory formats.

The class of a row is `facts/message.py::Message`.
"""

from __future__ import annotations

import re

from ptexplore.facts.message import Message
from ptexplore.facts.source import FactSource

_SPARSE = "aten/src/ATen/native/sparse"
OF_LAYOUTS = (
    Message(
        "sparse-contiguous",
        re.compile(r"Sparse (?P<given>\w+) tensors do(?:es)? not have is_contiguous"),
        (FactSource("aten/src/ATen/SparseCsrTensorImpl.cpp", " tensors do not have is_contiguous"),),
    ),
    Message(
        "sparse-view",
        re.compile(
            r"\b(?P<name>expand|as_strided|permute|view|reshape) is unsupported for (?P<given>Sparse\w+) tensors"
        ),
        (FactSource("aten/src/ATen/native/TensorShape.cpp", " is unsupported for "),),
    ),
    Message(
        "layout-pointwise",
        re.compile(r"unsupported tensor layout: (?P<given>\w+)"),
        (FactSource("aten/src/ATen/TensorIterator.h", "unsupported tensor layout: "),),
    ),
    Message(
        "coo-expected",
        re.compile(r"(?P<name>\w+) expected sparse coordinate tensor layout but got (?P<given>\w+)"),
        (FactSource(f"{_SPARSE}/SparseTensor.cpp", " expected sparse coordinate tensor layout but got "),),
    ),
    Message(
        "sparse-negative-index",
        re.compile(r"[Ff]ound negative index (?P<given>-\d+) for dim (?P<name>\d+)"),
        (FactSource(f"{_SPARSE}/SparseTensor.cpp", "found negative index "),),
    ),
    Message(
        "csr-result",
        re.compile(r"Expected result Tensor to be of format CSR"),
        (FactSource(f"{_SPARSE}/SparseCsrTensorMath.cpp", "Expected result Tensor to be of format CSR"),),
    ),
    Message(
        "csr-of-two",
        re.compile(r"conversion from Sparse to (?P<given>Sparse\w+) for input tensors with sparse_dim\(\)!=2"),
        (FactSource("aten/src/ATen/native/TensorConversions.cpp", "sparse_dim()!=2 is not supported"),),
    ),
    Message(
        "blocks-divide",
        re.compile(
            r"tensor sparse size \((?P<size>[\d, ]+)\) must be divisible by given blocksize \((?P<given>[\d, ]+)\)"
        ),
        (FactSource("aten/src/ATen/native/TensorConversions.cpp", "must be divisible by given blocksize"),),
    ),
    Message(
        "sparse-to-numpy",
        re.compile(r"can't convert (?P<given>Sparse\w*) layout tensor to numpy"),
        (FactSource("torch/csrc/utils/tensor_numpy.cpp", " layout tensor to numpy. "),),
    ),
    Message(
        "sparse-sizes",
        re.compile(r"Argument #\d \(dense\d?\): Expected dim (?P<name>\d+) size (?P<size>\d+), got (?P<given>\d+)"),
        (FactSource(f"{_SPARSE}/SparseTensorMath.cpp", "Argument #3 (dense): Expected dim 0 size "),),
    ),
    Message(
        "nested-operator",
        re.compile(
            r"nested_tensor\.py[^\n]{0,40}\b__torch_dispatch__\b(?:\n[^\n]{0,200}){1,12}?\n\s*NotImplementedError:"
            r" (?P<name>aten\.[\w.]{1,80})"
        ),
        (FactSource("torch/nested/_internal/nested_tensor.py", "raise NotImplementedError(func)"),),
        anywhere=True,
    ),
    Message(
        "nested-arguments",
        re.compile(
            r"NestedTensor (?P<name>\w+)\([^\n]{0,300}\): expected at (?:least|most) [^\n]{1,60} arguments?, but got"
        ),
        (FactSource("torch/nested/_internal/ops.py", "arguments, but got: "),),
    ),
    Message(
        "nested-dimension",
        re.compile(r"(?P<name>\w+)\(\): not supported for NestedTensor on (?P<size>dim=-?\d+|ragged dim|batch dim)"),
        (FactSource("torch/nested/_internal/ops.py", "(): not supported for NestedTensor on "),),
    ),
    Message(
        "channels-last-rank",
        re.compile(r"required rank (?P<size>[45]) tensor to use channels_last(?P<name>_3d)? format"),
        (FactSource("c10/core/TensorImpl.h", "required rank 4 tensor to use channels_last format"),),
    ),
    Message(
        "quantized-no-empty",
        re.compile(r"empty_strided not supported on quantized tensors yet"),
        (
            FactSource(
                "aten/src/ATen/native/quantized/TensorFactories.cpp",
                "empty_strided not supported on quantized tensors yet",
            ),
        ),
    ),
    Message(
        "quantized-activation-dtype",
        re.compile(
            r"Expected input data type (?P<size>\w+) but got (?P<given>\w+)"
            r"|\(qnnpack\): data type of input should be QUInt8"
        ),
        (FactSource("aten/src/ATen/native/quantized/cpu/qlinear.cpp", "Expected input data type "),),
    ),
    Message(
        "weight-observer-dtype",
        re.compile(r"Weight observer must have dtype torch\.qint8(?:, got (?P<given>torch\.\w+))?"),
        (FactSource("torch/ao/nn/quantized/modules/linear.py", "Weight observer must have dtype torch.qint8"),),
    ),
    Message(
        "quantized-engine-name",
        re.compile(r"(?P<given>\w+) is not a valid value for quantized engine"),
        (FactSource("torch/backends/quantized/__init__.py", "is not a valid value for quantized engine"),),
    ),
)
