"""Messages about indices, shapes, dtypes, arguments, modules, autograd and optimizers.

The class of a row is `facts/message.py::Message`.
"""

from __future__ import annotations

import re

from ptexplore.facts.message import Message
from ptexplore.facts.source import FactSource

OF_TENSORS = (
    Message(
        "index-dtype",
        re.compile("tensors used as indices must be long, (?:int, )?byte or bool tensors"),
        (FactSource("aten/src/ATen/native/IndexingUtils.h", "tensors used as indices must be long, "),),
    ),
    Message(
        "too-many-indices",
        re.compile(
            r"too many indices for (?:tensor of dimension|array: array is) \d+|trying to index \d+ dimensions of "
            r"a \d+ dimensional"
        ),
        (FactSource("aten/src/ATen/TensorIndexing.h", "too many indices for tensor of dimension "),),
    ),
    Message(
        "mask-shape",
        re.compile(r"The shape of the mask \[[\d, ]*\] at index \d+ does not match the shape of the indexed tensor"),
        (FactSource("aten/src/ATen/native/IndexingUtils.h", "does not match the shape of the indexed tensor "),),
    ),
    Message(
        "indices-not-broadcast",
        re.compile("shape mismatch: indexing tensors could not be broadcast together"),
        (
            FactSource(
                "aten/src/ATen/native/TensorAdvancedIndexingUtils.h",
                "shape mismatch: indexing tensors could not be broadcast together",
            ),
        ),
    ),
    Message(
        "value-not-broadcast",
        re.compile(r"shape mismatch: value tensor of shape \[[\d, ]*\] cannot be broadcast to indexing result"),
        (
            FactSource(
                "aten/src/ATen/native/TensorAdvancedIndexing.cpp", " cannot be broadcast to indexing result of shape "
            ),
        ),
    ),
    Message(
        "number-indexed",
        re.compile(r"invalid index of a 0-dim tensor|slice\(\) cannot be applied to a 0-dim tensor"),
        (FactSource("aten/src/ATen/TensorIndexing.h", "invalid index of a 0-dim tensor. "),),
    ),
    Message(
        "index-not-int64",
        re.compile(r"(?:gather|scatter\w*|index_\w+)\(\): Expected dtype int(?:32/int|32 or int)?64 for index"),
        (
            FactSource("aten/src/ATen/native/ScatterGatherChecks.h", "(): Expected dtype int64 for index", until="2.6"),
            FactSource(
                "aten/src/ATen/native/ScatterGatherChecks.h", "(): Expected dtype int32/int64 for index", since="2.13"
            ),
        ),
    ),
    Message(
        "gather-sizes",
        re.compile(r"to be (?:no larger|smaller) than (?:self|src) \[[\d, ]*\] (?:size )?apart from dimension \d+"),
        (FactSource("aten/src/ATen/native/ScatterGatherChecks.h", " apart from dimension "),),
    ),
    Message(
        "permute-dimensions",
        re.compile(
            r"permute\([\w]*\): number of dimensions in the tensor input does not match the length of the"
            r" desired ordering of dimensions|number of dims don't match in permute"
        ),
        (FactSource("aten/src/ATen/native/TensorShape.cpp", "match the length of the desired ordering of dimensions"),),
    ),
    Message(
        "expand-fewer",
        re.compile(
            r"the number of sizes provided \(\d+\) must be greater or equal to the number of dimensions in"
            r" the tensor \(\d+\)"
        ),
        (
            FactSource(
                "aten/src/ATen/native/TensorShape.cpp",
                "must be greater or equal to the number of dimensions in the tensor (",
            ),
        ),
    ),
    Message(
        "repeat-fewer",
        re.compile("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"),
        (
            FactSource(
                "aten/src/ATen/native/TensorShape.cpp",
                "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
            ),
        ),
    ),
    Message(
        "split-sum",
        re.compile(r"split_sizes to sum exactly to \d+"),
        (FactSource("aten/src/ATen/native/TensorShape.cpp", "expects split_sizes to sum exactly to "),),
    ),
    Message(
        "two-inferred",
        re.compile("only one dimension can be inferred"),
        (FactSource("aten/src/ATen/InferSize.h", "only one dimension can be inferred"),),
    ),
    Message(
        "empty-inferred",
        re.compile("cannot reshape tensor of 0 elements into shape"),
        (FactSource("aten/src/ATen/InferSize.h", "cannot reshape tensor of 0 elements into shape "),),
    ),
    Message(
        "slice-too-long",
        re.compile(r"start \(-?\d+\) \+ length \(\d+\) exceeds dimension size \(\d+\)"),
        (FactSource("aten/src/ATen/native/TensorShape.cpp", ") exceeds dimension size ("),),
    ),
    Message(
        "selected-out-of-range",
        re.compile(r"select\(\): index -?\d+ out of range for tensor of size"),
        (FactSource("aten/src/ATen/native/TensorShape.cpp", " out of range for tensor of size "),),
    ),
    Message(
        "k-too-large",
        re.compile("selected index k out of range"),
        (FactSource("aten/src/ATen/native/Sorting.cpp", "selected index k out of range"),),
    ),
    Message(
        "nothing-to-join",
        re.compile("(?:expected a non-empty list of Tensors|expects a non-empty TensorList)"),
        (
            FactSource("aten/src/ATen/native/TensorShape.cpp", "expected a non-empty list of Tensors"),
            FactSource("aten/src/ATen/native/TensorShape.cpp", "expects a non-empty TensorList"),
        ),
    ),
    Message(
        "joined-dimensions",
        re.compile(r"Tensors must have same number of dimensions: got \d+ and \d+"),
        (FactSource("aten/src/ATen/native/TensorShape.h", "Tensors must have same number of dimensions: got "),),
    ),
    Message(
        "t-of-many",
        re.compile(r"t\(\) expects a tensor with <= 2 dimensions, but self is \dD"),
        (FactSource("aten/src/ATen/native/TensorShape.cpp", " expects a tensor with <= 2 dimensions, but self is "),),
    ),
    Message(
        "not-a-matrix",
        re.compile("(?:self|mat[12]?|input|tensor1) must be a matrix"),
        (FactSource("aten/src/ATen/native/LinearAlgebra.cpp", "self must be a matrix"),),
    ),
    Message(
        "not-a-batch-of-matrices",
        re.compile("batch[12] must be a 3D tensor"),
        (FactSource("aten/src/ATen/native/LinearAlgebra.cpp", "batch1 must be a 3D tensor"),),
    ),
    Message(
        "not-vectors",
        re.compile(r"1D tensors expected, but got \dD and \dD tensors"),
        (FactSource("aten/src/ATen/native/Blas.cpp", "1D tensors expected, but got "),),
    ),
    Message(
        "negative-size",
        re.compile(r"[Tt]rying to create tensor with negative dimension -\d+"),
        (FactSource("aten/src/ATen/EmptyTensor.h", "Trying to create tensor with negative dimension "),),
    ),
    Message(
        "storage-released",
        re.compile(r"requiring a storage size of [1-9]\d* are out of bounds for storage of size 0\b"),
        (FactSource("aten/src/ATen/native/Resize.h", "are out of bounds for storage of size "),),
    ),
    Message(
        "outside-of-storage",
        re.compile(r"are out of bounds for storage of size (?!0\b)\d+"),
        (FactSource("aten/src/ATen/native/Resize.h", "are out of bounds for storage of size "),),
    ),
    Message(
        "not-contiguous",
        re.compile(r"(?P<name>\w+)(?: tensor)? (?:must|needs to|has to|should) be (?:a )?contiguous"),
        (FactSource("aten/src/ATen/native/ConvolutionMM3d.cpp", "grad_input must be contiguous"),),
    ),
    Message(
        "index-of-numpy",
        re.compile(r"index (?P<given>-?\d+) is out of bounds for axis (?P<axis>\d+) with size (?P<size>\d+)"),
        (),
    ),
    Message(
        "padding-too-large",
        re.compile("Padding size should be less than the corresponding input dimension"),
        (FactSource("aten/src/ATen/native/ReflectionPad.cpp", "Padding size should be less than the corresponding "),),
    ),
    Message(
        "sizes-of-interpolation",
        re.compile("Input and output sizes should be greater than 0"),
        (FactSource("aten/src/ATen/native/UpSample.h", "Input and output sizes should be greater than 0"),),
    ),
    Message(
        "iterated-number",
        re.compile(r"(?:iteration over|len\(\) of) a 0-d tensor"),
        (
            FactSource("torch/_tensor.py", "iteration over a 0-d tensor"),
            FactSource("torch/_tensor.py", "len() of a 0-d tensor"),
        ),
    ),
    Message(
        "argument-class",
        re.compile(
            r"argument '(?P<name>\w+)' (?:\(position \d+\) )?must be (?:(?:a )?[Tt]ensor)(?:s| or None)?,"
            r" not (?P<given>(?!numpy)[\w.]+)"
        ),
        (FactSource("torch/csrc/utils/python_arg_parser.cpp", " must be "),),
    ),
    Message(
        "wrong-arguments",
        re.compile("received an invalid combination of arguments"),
        (FactSource("torch/csrc/utils/invalid_arguments.cpp", " received an invalid combination of arguments - "),),
    ),
    Message(
        "list-of-others",
        re.compile(r"expected Tensor as element \d+ in argument \d+, but got \w+"),
        (FactSource("torch/csrc/utils/python_arg_parser.cpp", "expected Tensor as element "),),
    ),
    Message(
        "ragged",
        re.compile(r"expected sequence of length \d+ at dim \d+ \(got \d+\)"),
        (FactSource("torch/csrc/utils/tensor_new.cpp", "expected sequence of length "),),
    ),
    Message(
        "of-strings",
        re.compile(r"too many dimensions 'str'|new\(\): invalid data type 'str'"),
        (
            FactSource("torch/csrc/utils/tensor_new.cpp", "too many dimensions '"),
            FactSource("torch/csrc/utils/tensor_new.cpp", "invalid data type '"),
        ),
    ),
    Message(
        "array-of-objects",
        re.compile(r"can't convert np\.ndarray of type numpy\.(?P<dtype>\w+)"),
        (FactSource("torch/csrc/utils/tensor_numpy.cpp", "can't convert np.ndarray of type "),),
    ),
    Message(
        "numpy-strides",
        re.compile(
            "strides in the given numpy array (?:are|is) negative|one of the strides in the given numpy"
            " array is negative|stride in the given numpy array is negative|stride[s]? .{0,40}negative"
        ),
        (FactSource("torch/csrc/utils/tensor_numpy.cpp", "given numpy array"),),
    ),
    Message(
        "no-numpy",
        re.compile("Numpy is not available"),
        (FactSource("torch/csrc/utils/tensor_numpy.cpp", "Numpy is not available"),),
    ),
    Message(
        "not-an-array",
        re.compile(r"expected np\.ndarray \(got (?P<given>[\w.]+)\)"),
        (FactSource("torch/csrc/utils/tensor_numpy.cpp", "expected np.ndarray (got "),),
    ),
    Message(
        "bools-subtracted",
        re.compile("Subtraction, the `-` operator, with (?:two bool tensors|a bool tensor) is not supported"),
        (FactSource("aten/src/ATen/native/BinaryOps.h", "Subtraction, the `-` operator, with "),),
    ),
    Message(
        "bools-negated",
        re.compile("Negation, the `-` operator, on a bool tensor is not supported"),
        (
            FactSource(
                "aten/src/ATen/native/UnaryOps.cpp", "Negation, the `-` operator, on a bool tensor is not supported"
            ),
        ),
    ),
    Message(
        "number-overflows",
        re.compile(r"value cannot be converted to type (?P<dtype>[\w:]+) without overflow"),
        (FactSource("c10/util/TypeCast.cpp", "value cannot be converted to type "),),
    ),
    Message(
        "put-dtypes",
        re.compile("Index put requires the source and destination dtypes match"),
        (
            FactSource(
                "aten/src/ATen/native/TensorAdvancedIndexing.cpp",
                "Index put requires the source and destination dtypes match",
            ),
        ),
    ),
    Message(
        "scatter-dtypes",
        re.compile(r"scatter\w*\(\): Expected self\.dtype to be equal to src\.dtype"),
        (FactSource("aten/src/ATen/native/ScatterGatherChecks.h", "(): Expected self.dtype to be equal to src.dtype"),),
    ),
    Message(
        "index-add-dtypes",
        re.compile(
            r"self \(\w+\) and source \(\w+\) must have the same scalar type"
            r"|self and (?:source|out) expected to have the same dtype, but got"
        ),
        (FactSource("aten/src/ATen/native/TensorAdvancedIndexing.cpp", ") must have the same scalar type"),),
    ),
    Message(
        "lerp-dtypes",
        re.compile(r"expected dtype \w+(?: \w+)? for `(?:end|weight)` but got dtype"),
        (FactSource("aten/src/ATen/native/Lerp.cpp", " but got dtype "),),
    ),
    Message(
        "several-as-number",
        re.compile(
            "only one element tensors can be converted to Python scalars|only integer tensors of a single"
            " element can be converted to an index"
        ),
        (
            FactSource(
                "tools/autograd/templates/python_variable_methods.cpp",
                "only one element tensors can be converted to Python scalars",
            ),
            FactSource(
                "tools/autograd/templates/python_variable_methods.cpp",
                "only integer tensors of a single element can be converted to an index",
            ),
        ),
    ),
    Message(
        "rnn-input-size",
        re.compile(r"input\.size\(-1\) must be equal to input_size\. Expected (?P<size>\d+), got (?P<given>\d+)"),
        (FactSource("torch/nn/modules/rnn.py", "input.size(-1) must be equal to input_size. Expected "),),
    ),
    Message(
        "hidden-size",
        re.compile(r"Expected hidden(?:\[\d\])? size \([\d, ]*\), got"),
        (FactSource("torch/nn/modules/rnn.py", "Expected hidden size {}, got {}"),),
    ),
    Message(
        "lengths-on-cpu",
        re.compile("'lengths' argument should be a 1D CPU int64 tensor"),
        (FactSource("aten/src/ATen/native/PackedSequence.cpp", "argument should be a 1D CPU int64 tensor"),),
    ),
    Message(
        "lengths-sorted",
        re.compile("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True"),
        (FactSource("aten/src/ATen/native/PackedSequence.cpp", "array must be sorted in decreasing order when "),),
    ),
    Message(
        "heads-divide",
        re.compile("embed_dim must be divisible by num_heads"),
        (FactSource("torch/nn/modules/activation.py", "embed_dim must be divisible by num_heads"),),
    ),
    Message(
        "embedding-dimension",
        re.compile(r"was expecting embedding dimension of (?P<size>\d+), but got (?P<given>\d+)"),
        (FactSource("torch/nn/functional.py", "was expecting embedding dimension of "),),
    ),
    Message(
        "normalized-shape",
        re.compile(r"Given normalized_shape=\[[\d, ]*\], expected input with shape \[\*"),
        (FactSource("aten/src/ATen/native/layer_norm.h", "Given normalized_shape="),),
    ),
    Message(
        "groups-divide",
        re.compile("Expected number of channels in input to be divisible by num_groups"),
        (
            FactSource(
                "aten/src/ATen/native/group_norm.cpp", "Expected number of channels in input to be divisible by "
            ),
        ),
    ),
    Message(
        "features-of-norm",
        re.compile(
            r"(?:running_mean|running_var|weight|bias) should contain (?P<given>\d+) elements not"
            r" (?P<size>\d+)"
        ),
        (FactSource("aten/src/ATen/native/Normalization.cpp", " should contain "),),
    ),
    Message(
        "dimensions-of-norm",
        re.compile(r"expected (?P<size>\dD(?: or \dD)?) input \(got (?P<given>\d)D input\)"),
        (FactSource("torch/nn/modules/batchnorm.py", "D input (got "),),
    ),
    Message(
        "probabilities-of-bce",
        re.compile("all elements of (?:input|target) should be between 0 and 1"),
        (FactSource("aten/src/ATen/native/Loss.cpp", "all elements of input should be between 0 and 1"),),
    ),
    Message(
        "target-size",
        re.compile(
            r"Using a target size \(torch\.Size\(.{1,100}\)\) that is different to the input size|Target"
            r" size \(torch\.Size\(.{1,100}\)\) must be the same as input size|input and target shapes do"
            " not match: input"
        ),
        (
            FactSource("torch/nn/functional.py", ") that is different to the input size ("),
            FactSource("torch/nn/functional.py", ") must be the same as input size ("),
        ),
    ),
    Message(
        "several-targets",
        re.compile("multi-target not supported|only batches of spatial targets supported"),
        (
            FactSource(
                "aten/src/ATen/native/LossNLL.cpp", "0D or 1D target tensor expected, multi-target not supported"
            ),
            FactSource("aten/src/ATen/native/LossNLL2d.cpp", "only batches of spatial targets supported"),
        ),
    ),
    Message(
        "one-hot-dtype",
        re.compile("one_hot is only applicable to index tensor"),
        (FactSource("aten/src/ATen/native/Onehot.cpp", "one_hot is only applicable to index tensor"),),
    ),
    Message(
        "one-hot-classes",
        re.compile("Class values must be (?:smaller than num_classes|non-negative)"),
        (FactSource("aten/src/ATen/native/Onehot.cpp", "Class values must be smaller than num_classes."),),
    ),
    Message(
        "parameter-expected",
        re.compile(r"cannot assign '(?P<given>[\w.]+)' (?:object )?(?:as|to) parameter '(?P<name>\w+)'"),
        (FactSource("torch/nn/modules/module.py", "(torch.nn.Parameter or None expected)"),),
    ),
    Message(
        "module-not-begun",
        re.compile(r"cannot assign (?:module|parameter|buffer)s? before (?:Module\.)?__init__\(\) call"),
        (
            FactSource("torch/nn/modules/module.py", "cannot assign parameters before Module.__init__() call"),
            FactSource("torch/nn/modules/module.py", "cannot assign module before Module.__init__() call"),
        ),
    ),
    Message(
        "no-forward",
        re.compile(r"is missing the required \\?\"forward\\?\" function"),
        (FactSource("torch/nn/modules/module.py", "] is missing the required"),),
    ),
    Message(
        "module-attribute",
        re.compile(r"'(?P<owner>(?!NoneType')\w+)' object has no attribute '(?P<name>\w+)'"),
        (FactSource("torch/nn/modules/module.py", "' object has no attribute '"),),
    ),
    Message(
        "grad-output-shape",
        re.compile(r"Mismatch in shape: grad_output\[\d+\] has a shape of"),
        (FactSource("torch/autograd/__init__.py", "Mismatch in shape: grad_output["),),
    ),
    Message(
        "number-of-gradients",
        re.compile(r"returned an incorrect number of gradients \(expected (?P<size>\d+), got (?P<given>\d+)\)"),
        (
            FactSource(
                "torch/csrc/autograd/python_function.cpp", " returned an incorrect number of gradients (expected "
            ),
        ),
    ),
    Message(
        "old-function",
        re.compile("Legacy autograd function with non-static forward method is deprecated"),
        (
            FactSource(
                "torch/autograd/function.py", "Legacy autograd function with non-static forward method is deprecated."
            ),
        ),
    ),
    Message(
        "hook-without-grad",
        re.compile("cannot register a hook on a tensor that doesn't require gradient"),
        (FactSource("torch/_tensor.py", "cannot register a hook on a tensor that doesn't require gradient"),),
    ),
    Message(
        "grad-of-result",
        re.compile("attribute of a Tensor that is not a leaf Tensor is being accessed"),
        (
            FactSource(
                "aten/src/ATen/templates/TensorBody.h",
                "attribute of a Tensor that is not a leaf Tensor is being accessed.",
            ),
        ),
    ),
    Message(
        "assigned-grad",
        re.compile(
            "assign(?:ed)? (?:a )?grad(?:ient)? (?:to a tensor that )?has data of a different (?:type|size"
            "|device)|attempting to assign a gradient (?:of size|to a tensor|with)"
        ),
        (FactSource("torch/csrc/autograd/python_variable.cpp", "has data of a different type"),),
    ),
    Message(
        "fork-with-autograd",
        re.compile("Unable to handle autograd's threading in combination with fork-based multiprocessing"),
        (
            FactSource(
                "torch/csrc/autograd/engine.cpp",
                "Unable to handle autograd's threading in combination with fork-based multiprocessing.",
            ),
        ),
    ),
    Message(
        "optimizes-result",
        re.compile("can't optimize a non-leaf Tensor"),
        (FactSource("torch/optim/optimizer.py", "can't optimize a non-leaf Tensor"),),
    ),
    Message(
        "parameter-twice",
        re.compile("some parameters appear in more than one parameter group"),
        (FactSource("torch/optim/optimizer.py", "some parameters appear in more than one parameter group"),),
    ),
    Message(
        "optimizer-state",
        re.compile(
            "loaded state dict (?:contains a parameter group that doesn't match the size of optimizer's"
            " group|has a different number of parameter groups)"
        ),
        (
            FactSource("torch/optim/optimizer.py", "loaded state dict contains a parameter group "),
            FactSource("torch/optim/optimizer.py", "loaded state dict has a different number of "),
        ),
    ),
    Message(
        "no-inf-checks",
        re.compile("No inf checks were recorded for this optimizer"),
        (FactSource("torch/amp/grad_scaler.py", "No inf checks were recorded for this optimizer."),),
    ),
    Message(
        "unscaled-twice",
        re.compile(r"unscale_\(\) has already been called on this optimizer since the last update\(\)"),
        (
            FactSource(
                "torch/amp/grad_scaler.py",
                "unscale_() has already been called on this optimizer since the last update().",
            ),
        ),
    ),
    Message(
        "stepped-twice",
        re.compile(r"(?<!unscale_)\bstep\(\) has already been called since the last update\(\)"),
        (FactSource("torch/amp/grad_scaler.py", "step() has already been called since the last update()."),),
    ),
    Message(
        "capturable",
        re.compile(r"If capturable=(?:True|False), params and \w+ must be "),
        (FactSource("torch/optim/adam.py", "If capturable=True, params and state_steps must be on supported devices"),),
    ),
    Message(
        "half-gradients",
        re.compile("Attempting to unscale FP16 gradients"),
        (FactSource("torch/amp/grad_scaler.py", "Attempting to unscale FP16 gradients."),),
    ),
    Message(
        "unsafe-to-autocast",
        re.compile("are unsafe to autocast"),
        (
            FactSource(
                "aten/src/ATen/autocast_mode.cpp", "binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast."
            ),
        ),
    ),
    Message(
        "scheduler-first",
        re.compile(r"Detected call of `lr_scheduler\.step\(\)` before `optimizer\.step\(\)`"),
        (
            FactSource(
                "torch/optim/lr_scheduler.py", "Detected call of `lr_scheduler.step()` before `optimizer.step()`."
            ),
        ),
    ),
    Message(
        "reentrant-without-grad",
        re.compile(r"None of the inputs have requires_grad=True\. Gradients will be None"),
        (
            FactSource(
                "torch/utils/checkpoint.py", "None of the inputs have requires_grad=True. Gradients will be None"
            ),
        ),
    ),
    Message(
        "reentrant-inputs",
        re.compile(
            r"incompatible with \.grad\(\) or passing an `inputs` parameter to \.backward\(\)|Checkpointing"
            r" is not compatible with \.grad\(\)"
        ),
        (FactSource("torch/utils/checkpoint.py", " with .grad() or passing an `inputs` parameter to .backward()."),),
    ),
    Message(
        "invalid-distribution",
        re.compile(
            r"Expected (?P<kind>parameter|value argument) ?(?P<name>\w*) ?\(.{1,300}\) to be within the"
            r" support|Expected parameter (?P<parameter>\w+) \(.{1,200}\) of distribution .{1,300} to"
            " satisfy the constraint"
        ),
        (FactSource("torch/distributions/distribution.py", "to satisfy the constraint "),),
    ),
    Message(
        "nested-sizes",
        re.compile(r"NestedTensorImpl doesn't support (?:sizes|strides)"),
        (FactSource("aten/src/ATen/NestedTensorImpl.cpp", "NestedTensorImpl doesn't support sizes"),),
    ),
    Message(
        "svd-not-converged",
        re.compile(
            "failed to converge because the input matrix (?:contained non-finite values|is"
            r" ill-conditioned)|linalg\.(?:svd|eigh?): .{0,60}failed to converge"
        ),
        (FactSource("aten/src/ATen/native/BatchLinearAlgebra.cpp", "failed to converge"),),
    ),
    Message(
        "not-square",
        re.compile(r"must be batches of square matrices, but they are (?P<given>\d+) by (?P<size>\d+) matrices"),
        (FactSource("aten/src/ATen/native/LinearAlgebraUtils.h", "must be batches of square matrices, "),),
    ),
    Message(
        "output-padding",
        re.compile(r"output padding must be smaller than either stride or dilation"),
        (
            FactSource(
                "aten/src/ATen/native/NaiveConvolutionTranspose2d.cpp",
                "output padding must be smaller than either stride or dilation",
            ),
        ),
    ),
    Message(
        "no-offsets",
        re.compile(r"offsets has to be a 1D Tensor but got None"),
        (FactSource("torch/nn/functional.py", "offsets has to be a 1D Tensor but got None"),),
    ),
    Message(
        "mapped-result",
        re.compile(r"must only return Tensors, got type (?:<class ')?(?P<given>[\w.]+)"),
        (FactSource("torch/_functorch/vmap.py", "` must only return "),),
    ),
    Message(
        "unpacked-twice",
        re.compile(r"Unpack is being triggered for a tensor that was already unpacked once"),
        (FactSource("torch/utils/checkpoint.py", "Unpack is being triggered for a tensor that was already "),),
    ),
    Message(
        "sparse-size",
        re.compile(
            r"size is inconsistent with indices: for dim (?P<name>\d+), size is (?P<size>\d+) but found "
            r"index (?P<given>-?\d+)"
        ),
        (FactSource("aten/src/ATen/native/sparse/SparseTensor.cpp", "size is inconsistent with indices: for dim "),),
    ),
    Message(
        "quantized-dtype",
        re.compile(r"Quantize only works on Float Tensor, got (?P<given>\w+)"),
        (FactSource("aten/src/ATen/quantized/Quantizer.cpp", "Quantize only works on Float Tensor, got "),),
    ),
    Message(
        "backward-from-complex",
        re.compile(r"grad can be implicitly created only for real scalar outputs but got (?P<given>\S+)"),
        (FactSource("torch/autograd/__init__.py", "grad can be implicitly created only for real scalar outputs"),),
    ),
    Message(
        "not-deterministic",
        re.compile(r"(?P<name>\S{1,100}) does not have a deterministic implementation, but you set"),
        (FactSource("aten/src/ATen/Context.cpp", " does not have a deterministic implementation, but you set "),),
    ),
    Message(
        "none-attribute",
        re.compile(r"\A(?:AttributeError)?: 'NoneType' object has no attribute '(?P<name>\w+)'"),
        (),
    ),
    Message(
        "one-spatial-value",
        re.compile(r"Expected more than 1 spatial element when training"),
        (FactSource("torch/nn/functional.py", "Expected more than 1 spatial element when training, got input size"),),
    ),
    Message(
        "target-shape",
        re.compile(r"Expected target size \[?\(?(?P<size>[\d, ]+)[\])], got (?:torch\.Size\()?\[?(?P<given>[\d, ]+)"),
        (FactSource("aten/src/ATen/native/LossNLL.cpp", "Expected target size "),),
    ),
    Message(
        "class-weights",
        re.compile(r"weight tensor should be defined either for all"),
        (FactSource("aten/src/ATen/native/LossNLL.cpp", "weight tensor should be defined either for all "),),
    ),
    Message(
        "mask-of-attention",
        re.compile(
            r"The shape of the [23]D attn_mask is (?P<given>.{1,60}), but should be "
            r"(?P<size>[^\n]{1,40}?)\.|expecting key_padding_mask shape of (?P<name>\([\d, ]*\))"
        ),
        (FactSource("torch/nn/functional.py", "The shape of the 2D attn_mask is "),),
    ),
    Message(
        "transformer-sizes",
        re.compile(r"the (?P<name>feature|batch) number of src and tgt must be equal"),
        (
            FactSource("torch/nn/modules/transformer.py", "the feature number of src and tgt must be equal to d_model"),
            FactSource("torch/nn/modules/transformer.py", "the batch number of src and tgt must be equal"),
        ),
    ),
    Message(
        "rnn-dimensions",
        re.compile(
            r"(?:RNN|LSTM|GRU): Expected input to be 2D or 3D, got (?P<given>\d)D|For (?:unbatched "
            r"2-D|batched 3-D) input, (?:hx|hx and cx) should"
        ),
        (
            FactSource("torch/nn/modules/rnn.py", "Expected input to be 2D or 3D, got "),
            FactSource("torch/nn/modules/rnn.py", "input, hx should also be"),
        ),
    ),
    Message(
        "empty-sequence",
        re.compile(r"Length of all samples has to be greater than 0"),
        (FactSource("aten/src/ATen/native/PackedSequence.cpp", "Length of all samples has to be greater than 0"),),
    ),
    Message(
        "padding-index",
        re.compile(r"[Pp]adding_idx must be within num_embeddings"),
        (FactSource("torch/nn/modules/sparse.py", "Padding_idx must be within num_embeddings"),),
    ),
    Message(
        "empty-reduction",
        re.compile(
            r"cannot perform reduction function \w+ on a tensor with no elements|"
            r"Expected reduction dim (?:-?\d+ )?to (?:be specified for input\.numel\(\) == 0|have non-zero "
            r"size)"
        ),
        (FactSource("aten/src/ATen/native/ReduceOpsUtils.h", ": Expected reduction dim to be specified for "),),
    ),
    Message(
        "quantile-too-large",
        re.compile(r"quantile\(\) input tensor is too large"),
        (FactSource("aten/src/ATen/native/Sorting.cpp", "quantile() input tensor is too large"),),
    ),
    Message(
        "data-not-allocated",
        re.compile(r"its data is not allocated yet"),
        (FactSource("c10/core/TensorImpl.h", "its data is not allocated yet"),),
    ),
    Message(
        "no-storage-of",
        re.compile(r"Cannot access storage of (?P<name>\w+)"),
        (FactSource("c10/core/TensorImpl.cpp", "Cannot access storage of "),),
    ),
    Message(
        "data-of-another-class",
        re.compile(r"`variable` and `tensor` have incompatible tensor type"),
        (FactSource("torch/csrc/autograd/variable.cpp", " and `tensor` have incompatible tensor type"),),
    ),
    Message(
        "view-of-function",
        re.compile(r"This view was created inside a custom Function"),
        (FactSource("torch/csrc/autograd/variable.cpp", " This view was created inside a custom Function "),),
    ),
    Message(
        "no-forward-mode",
        re.compile(r"Trying to use forward AD with (?P<name>\S+) that does not support it"),
        (FactSource("torch/csrc/autograd/VariableTypeUtils.h", "Trying to use forward AD with "),),
    ),
    Message(
        "ctc-lengths",
        re.compile(
            r"Expected input_lengths to have value at most (?P<size>\d+), but got value "
            r"(?P<given>\d+)|[Ee]xpected tensor to have size at least \d+ at dimension 1, but got size"
        ),
        (FactSource("aten/src/ATen/native/LossCTC.cpp", "Expected input_lengths to have value at most "),),
    ),
    Message(
        "view-of-dtype",
        re.compile(
            r"self\.stride\(-1\) must be 1 to view|self\.storage_offset\(\) must be divisible by|Tensor must "
            r"have (?:a last dimension with stride 1|storage_offset divisible by)"
        ),
        (FactSource("aten/src/ATen/native/TensorConversions.cpp", "self.stride(-1) must be 1 to view "),),
    ),
    Message(
        "no-dtype-for",
        re.compile(r"Could not infer dtype of (?P<given>[\w.]+)"),
        (FactSource("torch/csrc/utils/tensor_new.cpp", "Could not infer dtype of "),),
    ),
    Message(
        "weight-dimensions",
        re.compile(r"weight should have at least (?:two|three) dimensions"),
        (FactSource("aten/src/ATen/native/Convolution.cpp", "weight should have at least three dimensions"),),
    ),
    Message(
        "attention-dtypes",
        re.compile(r"Expected query, key, and value to have the same dtype"),
        (
            FactSource(
                "aten/src/ATen/native/transformers/attention.cpp",
                "Expected query, key, and value to have the same dtype, but got query.dtype: ",
            ),
        ),
    ),
    Message(
        "norm-dtypes",
        re.compile(r"mixed dtype \(CPU\): (?:expect parameter|all inputs must share)"),
        (FactSource("aten/src/ATen/native/cpu/mixed_data_type.h", "mixed dtype (CPU): expect parameter to have"),),
    ),
    Message(
        "quantile-dtype",
        re.compile(r"quantile\(\) input tensor must be either float or double dtype"),
        (FactSource("aten/src/ATen/native/Sorting.cpp", "input tensor must be either float or double dtype"),),
    ),
    Message(
        "size-called",
        re.compile(r"'torch\.Size' object is not callable"),
        (),
    ),
    Message(
        "complex-pairs",
        re.compile(r"Tensor must have a last dimension of size 2"),
        (FactSource("aten/src/ATen/native/ComplexHelper.h", "Tensor must have a last dimension of size 2"),),
    ),
    Message(
        "pooled-input",
        re.compile(
            r"non-empty (?:2D or 3D|3D or 4D|4D or 5D) \(batch mode\) tensor expected"
            r"|adaptive_\w+_pool[123]d\w*\(\): Expected \dD or \dD tensor"
        ),
        (
            FactSource("aten/src/ATen/native/DilatedMaxPool2d.cpp", " (batch mode) tensor expected for input"),
            FactSource("aten/src/ATen/native/AdaptiveAveragePooling.cpp", "Expected 3D or 4D tensor, but got "),
        ),
    ),
    Message(
        "grid-batch",
        re.compile(
            r"grid_sampler\(\): expected grid and input to have same batch size, but got input with sizes"
            r" \[(?P<size>\d+)[^\]]*\] and grid with sizes \[(?P<given>\d+)"
        ),
        (
            FactSource(
                "aten/src/ATen/native/GridSamplerUtils.h",
                "grid_sampler(): expected grid and input to have same batch size, but got ",
            ),
        ),
    ),
    Message(
        "pixel-shuffle",
        re.compile(
            r"pixel_shuffle expects .{0,90} but input\.size\(-3\)=(?P<given>\d+) is not divisible by (?P<size>\d+)"
        ),
        (FactSource("aten/src/ATen/native/PixelShuffle.h", "'channel' dimension to be divisible by the square of"),),
    ),
    Message(
        "fold-channels",
        re.compile(
            r"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got"
            r" input\.size\(1\)=(?P<given>\d+) and kernel_size=\((?P<size>\d+, \d+)\)"
        ),
        (FactSource("aten/src/ATen/native/im2col_shape_check.h", "product of kernel_size, but got input.size(1)="),),
    ),
    Message(
        "distance-columns",
        re.compile(r"X1 and X2 must have the same number of columns\. X1: (?P<size>\d+) X2: (?P<given>\d+)"),
        (FactSource("aten/src/ATen/native/Distance.cpp", "X1 and X2 must have the same number of columns. X1: "),),
    ),
    Message(
        "clamp-without-bounds",
        re.compile(r"torch\.clamp: At least one of 'min' or 'max' must not be None"),
        (FactSource("aten/src/ATen/native/TensorCompare.cpp", "At least one of 'min' or 'max' must not be None"),),
    ),
    Message(
        "mask-dtype",
        re.compile(r"masked_fill_? only supports boolean masks|where expected condition to be a boolean tensor"),
        (
            FactSource("aten/src/ATen/native/TensorAdvancedIndexing.cpp", "masked_fill_ only supports boolean masks"),
            FactSource("aten/src/ATen/native/TensorCompare.cpp", "where expected condition to be a boolean tensor"),
        ),
    ),
    Message(
        "module-name",
        re.compile(r"module name can\\?'t (?:contain \"\.\"|be empty string)"),
        (FactSource("torch/nn/modules/module.py", "module name can\\'t contain"),),
    ),
    Message(
        "module-name-taken",
        re.compile(r"attribute '(?P<name>\w{1,80})' already exists"),
        (FactSource("torch/nn/modules/module.py", "' already exists"),),
    ),
    Message(
        "metadata-of-data",
        re.compile(r"\w+ is not allowed on a Tensor created from \.data or \.detach\(\)"),
        (FactSource("c10/core/TensorImpl.cpp", "is not allowed on a Tensor created from .data or .detach()."),),
    ),
    Message(
        "resize-with-grad",
        re.compile(r"cannot resize variables that require grad"),
        (FactSource("torch/csrc/autograd/VariableTypeManual.cpp", "cannot resize variables that require grad"),),
    ),
    Message(
        "uncoalesced",
        re.compile(r"Cannot get (?:indices|values) on an uncoalesced tensor"),
        (FactSource("aten/src/ATen/native/sparse/SparseTensor.cpp", " on an uncoalesced tensor, please call "),),
    ),
    Message(
        "padding-dimensions",
        re.compile(
            r"Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now"
            r"|Padding size \d+ is not supported for \d+D input tensor"
        ),
        (
            FactSource(
                "aten/src/ATen/native/PadNd.cpp", "padding with non-constant padding are supported for now", until="2.6"
            ),
            FactSource("aten/src/ATen/native/PadNd.cpp", "Padding size ", since="2.13"),
        ),
    ),
    Message(
        "unfold-size",
        re.compile(
            r"maximum size for tensor at dimension (?P<dimension>\d+) is (?P<size>\d+) but size is (?P<given>\d+)"
        ),
        (FactSource("aten/src/ATen/native/TensorShape.cpp", "maximum size for tensor at dimension "),),
    ),
    Message(
        "not-close",
        re.compile(r"(?:Tensor-likes|Scalars) are not (?:close|equal)!"),
        (FactSource("torch/testing/_comparison.py", " are not {'equal' if equality else 'close'}!"),),
    ),
    Message(
        "contained-class",
        re.compile(
            r"Tensor\.__contains__ only supports Tensor or scalar, but you passed in a <class '(?P<given>[\w.]+)'"
        ),
        (FactSource("torch/_tensor.py", "Tensor.__contains__ only supports Tensor or scalar, but you passed in a"),),
    ),
    Message(
        "window-gaps",
        re.compile(r"window overlap add min: "),
        (FactSource("aten/src/ATen/native/SpectralOps.cpp", "window overlap add min: "),),
    ),
    Message(
        "window-device",
        re.compile(
            r"stft input and window must be on the same device but got self on (?P<size>[\w:]+) and window on"
            r" (?P<given>[\w:]+)"
        ),
        (FactSource("aten/src/ATen/native/SpectralOps.cpp", "input and window must be on the same device but got"),),
    ),
    Message(
        "storage-device",
        re.compile(
            r'Attempted to set the storage of a tensor on device "(?P<size>[\w:]+)" to a storage on different device'
            r' "(?P<given>[\w:]+)"'
        ),
        (FactSource("aten/src/ATen/native/Resize.h", "Attempted to set the storage of a tensor on device "),),
    ),
    Message(
        "resumed-without-rate",
        re.compile(r"param 'initial_lr' is not specified in param_groups\[\d+\] when resuming"),
        (FactSource("torch/optim/lr_scheduler.py", "param 'initial_lr' is not specified "),),
    ),
    Message(
        "never-scaled",
        re.compile(r"Attempted \w+ but _(?:scale|growth_tracker) is None"),
        (FactSource("torch/amp/grad_scaler.py", " but _scale is None."),),
    ),
)
