"""Messages about shapes, values, random numbers, indices, and sparse, nested and quantized tensors.

The class of a row is `facts/message.py::Message`.
"""

from __future__ import annotations

import re

from ptexplore.facts.message import Message
from ptexplore.facts.source import FactSource

OF_VALUES = (
    Message(
        "gather-dimensions",
        re.compile(r"Index tensor must have the same number of dimensions as (?:input|self|src) tensor"),
        (
            FactSource(
                "aten/src/ATen/native/ScatterGatherChecks.h", "Index tensor must have the same number of dimensions as "
            ),
        ),
    ),
    Message(
        "unflatten-sizes",
        re.compile(
            r"unflatten: Provided sizes \[(?P<given>[\d, -]+)\] don't multiply up to the size of "
            r"dim -?\d+ \((?P<size>\d+)\)"
        ),
        (
            FactSource("aten/src/ATen/native/TensorShape.cpp", "unflatten: Provided sizes "),
            FactSource("aten/src/ATen/native/TensorShape.cpp", " don't multiply up to the size of dim "),
        ),
    ),
    Message(
        "number-joined",
        re.compile(r"zero-dimensional tensor \(at position (?P<given>\d+)\) cannot be concatenated"),
        (FactSource("aten/src/ATen/native/TensorShape.h", " cannot be concatenated"),),
    ),
    Message(
        "batch-counts",
        re.compile(
            r"batch1 and batch2 must have same number of batches, got (?P<given>\d+) and "
            r"(?P<size>\d+)"
        ),
        (
            FactSource(
                "aten/src/ATen/native/LinearAlgebra.cpp", "batch1 and batch2 must have same number of batches, got "
            ),
        ),
    ),
    Message(
        "vector-sizes",
        re.compile(
            r"inconsistent tensor size, expected tensor \[(?P<given>\d+)\] and src \[(?P<size>\d+"
            r")\] to have the same number of elements"
        ),
        (FactSource("aten/src/ATen/native/Blas.cpp", "] to have the same number of elements, but got "),),
    ),
    Message(
        "addmv-dimensions",
        re.compile(r"vector \+ matrix @ vector expected, got (?P<given>\d, \d, \d)"),
        (FactSource("aten/src/ATen/native/Blas.cpp", "vector + matrix @ vector expected, got "),),
    ),
    Message(
        "einsum-subscripts",
        re.compile(
            r"einsum\(\): the number of subscripts in the equation \((?P<given>\d+)\) (?:does not"
            r" match the number of dimensions|is more than the number of dimensions) \((?P<size>"
            r"\d+)\) for operand (?P<name>\d+)"
        ),
        (FactSource("aten/src/ATen/native/Linear.cpp", "einsum(): the number of subscripts in the equation ("),),
    ),
    Message(
        "linalg-dtype",
        re.compile(r"Low precision dtypes not supported\. Got (?P<given>\w+)"),
        (FactSource("aten/src/ATen/native/LinearAlgebraUtils.h", ": Low precision dtypes not supported. Got "),),
    ),
    Message(
        "sampled-too-many",
        re.compile(r"cannot sample n_sample > prob_dist\.size\(-1\) samples without replacement"),
        (
            FactSource(
                "aten/src/ATen/native/Distributions.cpp",
                "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
            ),
        ),
    ),
    Message(
        "nothing-to-sample",
        re.compile(r"invalid multinomial distribution \(sum of probabilities <= 0\)"),
        (
            FactSource(
                "aten/src/ATen/native/cpu/MultinomialKernel.cpp",
                "invalid multinomial distribution (sum of probabilities <= 0)",
            ),
        ),
    ),
    Message(
        "probabilities-dimensions",
        re.compile(r"prob_dist must be 1 or 2 dim"),
        (FactSource("aten/src/ATen/native/Distributions.cpp", "prob_dist must be 1 or 2 dim"),),
    ),
    Message(
        "negative-deviation",
        re.compile(r"normal expects (?:all elements of )?std >= 0\.0"),
        (FactSource("aten/src/ATen/native/DistributionTemplates.h", "normal expects std >= 0.0, but found std "),),
    ),
    Message(
        "empty-range",
        re.compile(
            r"random_ expects 'from' to be less than 'to', but got from=(?P<given>-?\d+) >= to="
            r"(?P<size>-?\d+)"
        ),
        (
            FactSource(
                "aten/src/ATen/native/DistributionTemplates.h",
                "random_ expects 'from' to be less than 'to', but got from=",
            ),
        ),
    ),
    Message(
        "step-sign",
        re.compile(r"upper bound and (?:larger|lower) bound inconsistent with step sign"),
        (FactSource("torch/_refs/__init__.py", "upper bound and lower bound inconsistent with step sign"),),
    ),
    Message(
        "truth-of-none",
        re.compile(r"[Bb]ool(?:ean)? value of Tensor with no values is ambiguous"),
        (
            FactSource(
                "aten/src/ATen/native/prim_native_functions.cpp", "Boolean value of Tensor with no values is ambiguous"
            ),
        ),
    ),
    Message(
        "dtype-of-numpy",
        re.compile(r"Got unsupported ScalarType (?P<dtype>\w+)"),
        (FactSource("torch/csrc/utils/tensor_numpy.cpp", "Got unsupported ScalarType "),),
    ),
    Message(
        "byte-order",
        re.compile(r"given numpy array has byte order different from the native byte order"),
        (
            FactSource(
                "torch/csrc/utils/tensor_numpy.cpp",
                "given numpy array has byte order different from the native byte order. ",
            ),
        ),
    ),
    Message(
        "shape-of-object",
        re.compile(r"could not determine the shape of object type '(?P<given>\w+)'"),
        (FactSource("torch/csrc/utils/tensor_new.cpp", "could not determine the shape of object type '"),),
    ),
    Message(
        "integer-overflows",
        re.compile(r"Overflow when unpacking (?:long|unsigned long)"),
        (FactSource("torch/csrc/utils/python_numbers.h", "Overflow when unpacking long"),),
    ),
    Message(
        "step-of-slice",
        re.compile(r"step must be greater than zero"),
        (FactSource("aten/src/ATen/TensorIndexing.h", "step must be greater than zero"),),
    ),
    Message(
        "assigned-class",
        re.compile(r"can't assign a (?P<given>[\w.]+) to a (?:torch\.)?(?P<size>[\w.]+)"),
        (FactSource("torch/csrc/autograd/python_variable_indexing.cpp", "can't assign a "),),
    ),
    Message(
        "index-class",
        re.compile(
            r"only integers, slices \(`:`\), ellipsis \(`\.\.\.`\), None and long or byte Variabl"
            r"es are valid indices \(got (?P<given>[\w.]+)\)"
        ),
        (
            FactSource(
                "torch/csrc/autograd/python_variable_indexing.cpp",
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte ",
            ),
        ),
    ),
    Message(
        "padding-pairs",
        re.compile(
            r"Padding length (?:should|must) be (?:less than or equal to two times the input dime"
            r"nsion|divisible by 2|even)|Padding length must be divisible by 2"
        ),
        (
            FactSource(
                "aten/src/ATen/native/PadNd.cpp",
                "Padding length should be less than or equal to two times the input dimension but got padding length ",
            ),
        ),
    ),
    Message(
        "double-registration",
        re.compile(
            r"Tried to register an operator \((?P<name>[\w:.]+)[^\n]{0,2000}with the same name an"
            r"d overload name multiple times|Only a single TORCH_LIBRARY can be used to register "
            r"the namespace (?P<given>\w+)"
        ),
        (
            FactSource("aten/src/ATen/core/dispatch/Dispatcher.cpp", "Tried to register an operator ("),
            FactSource(
                "aten/src/ATen/core/dispatch/Dispatcher.cpp",
                "Only a single TORCH_LIBRARY can be used to register the namespace ",
            ),
        ),
    ),
    Message(
        "current-device",
        re.compile(r"Input, output and indices must be on the current device"),
        (
            FactSource(
                "aten/src/ATen/native/cuda/Indexing.cu", "Input, output and indices must be on the current device"
            ),
        ),
    ),
    Message(
        "fft-half-size",
        re.compile(
            r"cuFFT (?:only supports dimensions whose sizes are powers of two|doesn't support sig"
            r"nals of) "
        ),
        (
            FactSource(
                "aten/src/ATen/native/cuda/CuFFTPlanCache.h",
                "cuFFT only supports dimensions whose sizes are powers of two when",
            ),
        ),
    ),
    Message(
        "detached-view",
        re.compile(r"Can't detach views in-place"),
        (
            FactSource(
                "torch/csrc/autograd/VariableTypeManual.cpp", "Can't detach views in-place. Use detach() instead. "
            ),
        ),
    ),
    Message(
        "function-saved-class",
        re.compile(
            r"save_for_backward can only save variables, but argument (?P<size>\d+) is of type "
            r"(?P<given>[\w.]+)"
        ),
        (
            FactSource(
                "torch/csrc/autograd/python_function.cpp",
                "save_for_backward can only save variables, but argument ",
            ),
        ),
    ),
    Message(
        "function-no-backward",
        re.compile(
            r"You must implement either the backward or vjp method for your custom autograd\.Func"
            r"tion|Implementing both 'backward' and 'vjp' for a custom Function"
            r"|You must implement the (?:backward|forward) function for custom autograd\.Function"
        ),
        (FactSource("torch/autograd/function.py", "You must implement either the backward or vjp method for "),),
    ),
    Message(
        "function-gave-class",
        re.compile(
            r"expected (?:Variable|Tensor) or None \(got (?P<given>[\w.]+)\)|must be a Tensor or "
            r"None, got (?P<size>[\w.]+)"
        ),
        (FactSource("torch/csrc/autograd/python_function.cpp", "expected Variable or None (got "),),
    ),
    Message(
        "gradient-not-numeric",
        re.compile(
            r"(?:Jacobian mismatch for output \d+ with respect to input \d+|Gradients failed to c"
            r"ompare equal for grad output)"
        ),
        (FactSource("torch/autograd/gradcheck.py", "mismatch for output "),),
    ),
    Message(
        "compressed-layout",
        re.compile(
            r"expected sparse (?:row |column )?compressed (?:\((?:non-)?block\) )?tensor layout b"
            r"ut got (?P<given>\w+)"
        ),
        (FactSource("aten/src/ATen/SparseCsrTensorUtils.h", " expected sparse row compressed tensor layout but got "),),
    ),
    Message(
        "sparse-rebuilt",
        re.compile(r"rebuilding sparse tensor for layout (?P<given>[\w.]+)"),
        (FactSource("torch/_utils.py", "rebuilding sparse tensor for layout "),),
    ),
    Message(
        "sparse-dimensions",
        re.compile(
            r"number of dimensions must be sparse_dim \(\d+\) \+ dense_dim|sparse_dim \+ dense_di"
            r"m' is not satisfied"
        ),
        (
            FactSource(
                "aten/src/ATen/native/sparse/SparseTensor.cpp", "number of dimensions must be sparse_dim (", until="2.6"
            ),
            FactSource(
                "aten/src/ATen/native/sparse/SparseTensor.cpp",
                " == sparse_dim + dense_dim' is not satisfied",
                since="2.13",
            ),
        ),
    ),
    Message(
        "sparse-indices-shape",
        re.compile(r"indices must be sparse_dim x nnz, but got"),
        (FactSource("aten/src/ATen/native/sparse/SparseTensor.cpp", "indices must be sparse_dim x nnz, but got: "),),
    ),
    Message(
        "sparse-reshape",
        re.compile(r"reshape is not implemented for sparse tensors"),
        (FactSource("aten/src/ATen/native/TensorShape.cpp", "reshape is not implemented for sparse tensors"),),
    ),
    Message(
        "sparse-added-to",
        re.compile(r"add\(sparse, dense\) is not supported"),
        (
            FactSource(
                "aten/src/ATen/native/sparse/SparseTensorMath.cpp",
                "add(sparse, dense) is not supported. Use add(dense, sparse) instead.",
            ),
        ),
    ),
    Message(
        "sparse-strides",
        re.compile(r"[Ss]parse \w+ tensors do(?:es)? not have strides"),
        (FactSource("aten/src/ATen/SparseCsrTensorImpl.cpp", " tensors do not have strides"),),
    ),
    Message(
        "nested-pointwise",
        re.compile(
            r"cannot call binary pointwise function (?P<name>[\w.]+) with inputs of shapes "
            r"(?P<given>\([^)\n]{1,100}\)) and (?P<size>\([^)\n]{1,100}\))"
        ),
        (
            FactSource(
                "torch/nested/_internal/ops.py",
                "cannot call binary pointwise function {} with inputs of shapes {} and {}",
            ),
        ),
    ),
    Message(
        "nested-view",
        re.compile(r"view\(\): cannot view shape \([^)\n]{0,100}\bj\d+[^)\n]{0,100}\) as"),
        (FactSource("torch/nested/_internal/ops.py", "view(): cannot view shape "),),
    ),
    Message(
        "no-fuser",
        re.compile(r"did not find fuser method for"),
        (FactSource("torch/ao/quantization/fuser_method_mappings.py", "did not find fuser method for: "),),
    ),
    Message(
        "fused-in-training",
        re.compile(r"Fusion only for eval!"),
        (FactSource("torch/nn/utils/fusion.py", "Fusion only for eval!"),),
    ),
    Message(
        "pooling-padding",
        re.compile(r"pad should be at (?:most )?half of effective kernel size"),
        (
            FactSource(
                "aten/src/ATen/native/Pool.h", "pad should be at most half of effective kernel size, but got pad="
            ),
        ),
    ),
    Message(
        "window-settings",
        re.compile(
            r"non-positive (?:stride|dilation|groups) is not supported|stride should (?:not be ze"
            r"ro|be greater than zero)|negative padding is not supported|[Kk]ernel size should be"
            r" greater than zero|dilation should be greater than zero"
        ),
        (
            FactSource("aten/src/ATen/native/Convolution.cpp", "non-positive stride is not supported"),
            FactSource("aten/src/ATen/native/Pool.h", "stride should not be zero"),
        ),
    ),
    Message(
        "bias-of-convolution",
        re.compile(
            r"expected bias to be 1-dimensional with (?P<size>\d+) elements, but got bias of size"
            r" \[(?P<given>[\d, ]+)\]"
        ),
        (FactSource("aten/src/ATen/native/Convolution.cpp", ", expected bias to be 1-dimensional with "),),
    ),
    Message(
        "equation-shapes",
        re.compile(
            r"Incompatible shapes of A and B for the equation (?P<name>AX|XA) = B \((?P<given>\S{"
            r"1,30}) and (?P<size>\S{1,30})\)"
        ),
        (
            FactSource(
                "aten/src/ATen/native/LinearAlgebraUtils.h", ": Incompatible shapes of A and B for the equation "
            ),
        ),
    ),
    Message(
        "floating-only",
        re.compile(
            r"only supports floating-point dtypes, X\d got: (?P<given>\w+)|Expected a floating po"
            r"int or complex tensor as input\. Got (?P<size>\w+)|std and var only support floatin"
            r"g point and complex dtypes|view_as_complex is only supported for half, float and do"
            r"uble tensors"
        ),
        (
            FactSource(
                "aten/src/ATen/native/ReduceOps.cpp", "std and var only support floating point and complex dtypes"
            ),
            FactSource(
                "aten/src/ATen/native/ComplexHelper.h",
                "view_as_complex is only supported for half, float and double tensors",
            ),
        ),
    ),
    Message(
        "number-has-no-dimension",
        re.compile(r"Dimension specified as -?\d+ but tensor has no dimensions"),
        (FactSource("c10/core/WrapDimMinimal.cpp", "Dimension specified as "),),
    ),
    Message(
        "stft-length",
        re.compile(r"expected 0 < n_fft < (?P<size>\d+), but got n_fft=(?P<given>\d+)"),
        (FactSource("aten/src/ATen/native/SpectralOps.cpp", ": expected 0 < n_fft < "),),
    ),
    Message(
        "halved-odd",
        re.compile(r"Halving dimension must be even, but dimension (?P<name>\d+) is size (?P<size>\d+)"),
        (FactSource("aten/src/ATen/native/GatedLinearUnit.cpp", "Halving dimension must be even, but dimension "),),
    ),
    Message(
        "dimension-twice",
        re.compile(
            r"duplicate dims are not allowed|dim -?\d+ appears multiple times in the list of dims"
            r"|repeated dim in|dims? must be unique"
        ),
        (FactSource("aten/src/ATen/native/TensorShape.cpp", "permute(): duplicate dims are not allowed."),),
    ),
    Message("random-bounds", re.compile(r"\b(?:from|to - 1) is out of bounds for (?P<dtype>[\w: ]+)"), ()),
    Message(
        "argument-kind",
        re.compile(
            r"(?P<owner>[\w.]+)\(\): argument '(?P<name>\w+)' (?:\(position \d+\) )?must be "
            r"(?P<size>(?!(?:a )?[Tt]ensor\b|tuple of Tensors)[\w.]+(?: of \w+)?(?: or \w+)?), "
            r"(?:not|but found element of type) (?P<given>[\w.]+)"
        ),
        (FactSource("torch/csrc/utils/python_arg_parser.cpp", " must be "),),
    ),
    Message(
        "operands",
        re.compile(
            r"unsupported operand type\(s\) for (?P<name>\S{1,8}|\*\* or pow\(\)|divmod\(\)): '"
            r"(?P<given>[\w.]+)' and '(?P<size>[\w.]+)'"
        ),
        (),
    ),
    Message(
        "numpy-scalar",
        re.compile(r"only (?:size-1|length-1|0-dimensional) arrays can be converted to Python scalars"),
        (),
    ),
    Message("numpy-ragged", re.compile(r"setting an array element with a sequence"), ()),
    Message(
        "numpy-two",
        re.compile(
            r"compiled using NumPy 1\.x cannot be run in\s+NumPy 2|numpy\.dtype size changed|_ARR"
            r"AY_API not found|numpy\.core\.multiarray failed to import|No module named 'numpy\._"
            r"core"
        ),
        (),
    ),
    Message("numpy-lacks", re.compile(r"module 'numpy' has no attribute '(?P<name>\w+)'"), ()),
    Message(
        "old-dtypes",
        re.compile(
            r"Expected object of (?:scalar type|data type|type torch\.(?:cuda\.)?\w+Tensor but fo"
            r"und type|backend) ?"
        ),
        (),
    ),
    Message(
        "old-devices",
        re.compile(
            r"Expected object of device type \w+ but got device type|expected device \S+ but got "
            r"device|arguments are located on different GPUs|[Tt]ensors are on different GPUs"
        ),
        (),
    ),
    Message(
        "inference-untracked",
        re.compile(r"Inference tensors do not track version counter"),
        (FactSource("c10/core/TensorImpl.h", "Inference tensors do not track version counter."),),
    ),
    Message(
        "backward-of-object",
        re.compile(
            r"'(?P<given>float|int|tuple|list|dict|numpy\.\w+|str)' object has no attribute '"
            r"(?P<name>backward|detach|cpu|item|numpy|requires_grad|grad_fn)'"
        ),
        (),
    ),
    Message(
        "loss-object", re.compile(r"'(?P<given>\w*(?:Loss|Criterion|loss)\w*)' object has no attribute 'backward'"), ()
    ),
    Message("distribution-values", re.compile(r"The parameter (?P<name>\w+) has invalid values"), ()),
    Message(
        "fft-dtype",
        re.compile(
            r"\bUnsupported dtype (?P<dtype>Half|BFloat16|ComplexHalf)\b|[Oo]nly supports floatin"
            r"g-point dtypes, but found: (?P<given>\w+)|expects a real input tensor, but got "
            r"(?P<size>\w+)|expected (?:real|complex) input tensor"
        ),
        (FactSource("aten/src/ATen/native/SpectralOps.cpp", "Unsupported dtype "),),
    ),
    Message(
        "bernoulli-probability",
        re.compile(
            r"must be >= 0 and <= 1|Expected p_in >= 0 && p_in <= 1|bernoulli_ expects p to be in"
            r" \[0, 1\]"
        ),
        (
            FactSource(
                "aten/src/ATen/native/DistributionTemplates.h", "bernoulli_ expects p to be in [0, 1], but got p="
            ),
        ),
    ),
    Message(
        "zero-point",
        re.compile(r"`zero_point` must be between `quant_min` and `quant_max`"),
        (
            FactSource(
                "aten/src/ATen/native/quantized/FakeQuantPerTensorAffine.cpp",
                "`zero_point` must be between `quant_min` and `quant_max`.",
            ),
        ),
    ),
    Message(
        "quantized-prepack",
        re.compile(
            r"Could not run 'quantized::\w*(?:prepack|unpack)\w*(?:\.\w+)?' with arguments from t"
            r"he '(?P<device>\w+)' backend"
        ),
        (),
    ),
    Message(
        "quantized-dynamic",
        re.compile(
            r"Could not run 'quantized::\w*dynamic\w*(?:\.\w+)?' with arguments from the 'CUDA' b"
            r"ackend"
        ),
        (),
    ),
    Message(
        "dimensions-at-least",
        re.compile(
            r"(?P<name>\w+)(?:\(\))?:? expects at least a (?P<size>\d)-dimensional tensor|input m"
            r"ust have at least (?P<given>\w+) dimensions?"
        ),
        (FactSource("aten/src/ATen/native/TensorShape.cpp", "chunk expects at least a 1-dimensional tensor"),),
    ),
)
