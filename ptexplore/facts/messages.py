"""The messages of errors: how to recognise them, the cause of each, and PyTorch's file with the words.

A cause is a code; `view/words/causes.py` has its meaning and its remedy.
"""

from __future__ import annotations

import re

from ptexplore.facts.message import Message
from ptexplore.facts.messages_of_builds import OF_BUILDS
from ptexplore.facts.messages_of_calls import OF_CALLS
from ptexplore.facts.messages_of_kinds import OF_KINDS
from ptexplore.facts.messages_of_layouts import OF_LAYOUTS
from ptexplore.facts.messages_of_modules import OF_MODULES
from ptexplore.facts.messages_of_python import OF_PYTHON
from ptexplore.facts.messages_of_systems import OF_KERNELS, OF_MISSING, OF_SYSTEMS
from ptexplore.facts.messages_of_tensors import OF_TENSORS
from ptexplore.facts.messages_of_transforms import OF_TRANSFORMS
from ptexplore.facts.messages_of_values import OF_VALUES
from ptexplore.facts.source import FactSource

# The output of a shell for a program killed by a signal, and of faulthandler (faulthandler_handlers in its source).
_KILLED = re.compile(
    r"\b(?:Segmentation fault|Bus error|Aborted|Illegal instruction) +\(core dumped\)"
    r"|^(?:: )?(?:zsh: )?(?:[Ss]egmentation fault|[Bb]us error|Aborted)$"
    r"|^(?:: )?Fatal Python error: (?:Segmentation fault|Bus error|Aborted|Illegal instruction)$",
    re.MULTILINE,
)
# Errors for missing code, by the kind of dtype: a kernel for one kind of numbers has no code for others.
_NO_CODE = r'"[\w:<>]+" not implemented for '
_OF_INTEGERS = r"(?:Bool|Byte|Char|U?Int\d*|Short|Long|Half|BFloat16|Float[48]\w+)"
MEMORY = "cuda-memory"
_SIZE = r"\d+(?:\.\d+)? (?:bytes|[KMGT]iB)"
# The numbers in that message: of format_size (c10/cuda/CUDACachingAllocator.cpp), in its two forms since 1.0.
MEMORY_NUMBERS = (
    re.compile(
        rf"Tried to allocate (?P<asked>{_SIZE})\. GPU \d+ has a total capacity of (?P<total>{_SIZE}) of which"
        rf" (?P<free>{_SIZE}) is free\..{{0,600}}?Of the allocated memory (?P<allocated>{_SIZE}) is allocated by"
        rf" PyTorch,.{{0,200}}? (?P<unallocated>{_SIZE}) is reserved by PyTorch but unallocated",
        re.DOTALL,
    ),
    re.compile(
        rf"Tried to allocate (?P<asked>{_SIZE}) \(GPU \d+; (?P<total>{_SIZE}) total capacity; (?P<allocated>{_SIZE})"
        rf" already allocated; (?P<free>{_SIZE}) free; (?P<reserved>{_SIZE}) (?:reserved|cached)"
    ),
)
# Causes of messages that the interpreter makes. torch has the same words for code that it interprets (Dynamo).
INTERPRETERS = frozenset((
    "no-length", "argument-missing", "arguments-too-many", "argument-unexpected", "value-called", "value-indexed",
    "value-iterated", "unpacked-number", "list-index", "file-not-found", "folder-given", "module-missing", "operands",
    "backward-of-object", "checkpoint-key", "optimizer-state-key", "state-dict-as-module", "pipe-broken",
    "number-of-object", "math-domain", "divided-by-zero", "name-undefined", "name-unassigned", "key-missing",
    "submodule-missing", "recursion", "unhashable", "index-of-list", "text-as-number", "numpy-broadcast",
    "no-permission", "host-memory", "text-decoded", "name-not-importable", "compared-classes", "connection-refused",
))  # fmt: skip
FAILED_CHECK = "internal-assert"  # any check inside torch that fails has it; an earlier error says more.
MESSAGES = (
    *OF_KERNELS,
    *OF_MISSING,
    *OF_CALLS,
    Message(
        "unused-in-graph",
        re.compile(r"differentiated Tensors? (?:at index \d+ )?appears to not have been used in the graph"),
        (FactSource("torch/csrc/autograd/python_engine.cpp", "appears to not have been used in the graph"),),
    ),
    Message(
        "input-without-grad",
        re.compile(r"One of the differentiated Tensors does not require grad"),
        (
            FactSource(
                "torch/csrc/autograd/python_engine.cpp", "One of the differentiated Tensors does not require grad"
            ),
        ),
    ),
    Message(
        "leaf-written",
        re.compile(r"(?<!view of )a leaf Variable that requires grad is being used in an in-place operation"),
        (
            FactSource(
                "torch/csrc/autograd/VariableTypeUtils.h",
                "a leaf Variable that requires grad is being used in an in-place operation",
            ),
        ),
    ),
    Message(
        "view-of-leaf-written",
        re.compile(r"a view of a leaf Variable that requires grad is being used in an in-place operation"),
        (
            FactSource(
                "torch/csrc/autograd/VariableTypeUtils.h",
                "a view of a leaf Variable that requires grad is being used in an in-place operation",
            ),
        ),
    ),
    Message(
        "freed",
        re.compile("Trying to backward through the graph a second time|after they have already been freed"),
        (FactSource("torch/csrc/autograd/saved_variable.cpp", "Trying to backward through the graph a second time"),),
    ),
    Message(
        "no-formula",
        re.compile(r"[Dd]erivative for '.{1,300}' is not implemented"),
        (FactSource("torch/csrc/autograd/FunctionsManual.cpp", "derivative for '"),),
    ),
    Message(
        "no-derivative",
        re.compile(r"[Dd]erivative for .{1,300} is not implemented"),
        (FactSource("torch/csrc/autograd/functions/basic_ops.h", "derivative for "),),
    ),
    Message(
        "nothing-recorded",
        re.compile(r"does not require grad and does not have a grad_fn"),
        (FactSource("torch/csrc/autograd/python_engine.cpp", "does not require grad and does not have a grad_fn"),),
    ),
    Message(
        "backward-from-many",
        re.compile(r"grad can be implicitly created only for scalar outputs"),
        (FactSource("torch/autograd/__init__.py", "grad can be implicitly created only for scalar outputs"),),
    ),
    Message(
        "saved-leaf-written",
        re.compile(r"has been modified by an inplace operation: \[[^\]]{0,1000}\]{1,2} is at version"),
        (FactSource("torch/csrc/autograd/saved_variable.cpp", "has been modified by an inplace operation"),),
    ),
    Message(
        "saved-then-written",
        re.compile(r"has been modified by an inplace operation(?!: \[[^\]]{0,1000}\]{1,2} is at version)"),
        (FactSource("torch/csrc/autograd/saved_variable.cpp", "has been modified by an inplace operation"),),
    ),
    Message(
        "inference-tensor",
        re.compile(
            r"Inference tensors cannot be saved for backward|Inplace update to inference tensor outside"
            r"|Setting requires_grad=True on inference tensor|Cannot set version_counter for inference tensor"
        ),
        (
            FactSource("torch/csrc/autograd/saved_variable.cpp", "Inference tensors cannot be saved for backward"),
            FactSource("c10/core/TensorImpl.h", "Inplace update to inference tensor outside"),
        ),
    ),
    Message(
        "vmap-needs-value",
        re.compile(
            r"vmap: It looks like you're (?:calling \.item\(\)|attempting to use a Tensor in some)|vmap: We do"
            r" not support batching operators that can output dynamic shape"
        ),
        (
            FactSource(
                "aten/src/ATen/functorch/BatchRulesDynamic.cpp",
                "We do not support batching operators that can output dynamic shape",
            ),
        ),
    ),
    Message(
        "no-batching-rule",
        re.compile(
            r"[Bb]atching rule not implemented|vmap: .{0,300} not supported|fallback path .{0,300} doesn't work on"
        ),
        (FactSource("aten/src/ATen/functorch/BatchedFallback.cpp", "atching rule not implemented"),),
    ),
    Message(
        "no-storage",
        re.compile(r"Cannot access data pointer of Tensor (?:that doesn't have storage|\(e\.g\. FakeTensor)"),
        (
            FactSource("c10/core/TensorImpl.cpp", "Cannot access data pointer of Tensor that doesn't have storage"),
            FactSource("c10/core/StorageImpl.cpp", "Cannot access data pointer of Tensor (e.g. FakeTensor"),
        ),
    ),
    Message(
        "meta-without-values",
        re.compile(r"Cannot copy out of meta tensor"),
        (FactSource("aten/src/ATen/native/Copy.cpp", "Cannot copy out of meta tensor"),),
    ),
    Message(
        "fake-without-values",
        re.compile(r"DataDependentOutputException|DynamicOutputShapeException"),
        (
            FactSource("torch/_subclasses/fake_tensor.py", "DataDependentOutputException"),
            FactSource("torch/_subclasses/fake_tensor.py", "DynamicOutputShapeException"),
        ),
    ),
    Message(
        "fake-beside-real",
        re.compile(r"Please convert all Tensors to FakeTensors first"),
        (FactSource("torch/_subclasses/fake_tensor.py", "Please convert all Tensors to FakeTensors first"),),
    ),
    Message(
        "no-code-for-floating",
        re.compile(_NO_CODE + r"'(?:Float|Double)'"),
        (FactSource("aten/src/ATen/Dispatch.h", "not implemented for '"),),
    ),
    Message(
        "no-code-for-complex",
        re.compile(_NO_CODE + r"'Complex\w+'"),
        (FactSource("aten/src/ATen/Dispatch.h", "not implemented for '"),),
    ),
    Message(
        "no-code-for-integers",
        re.compile(rf"{_NO_CODE}'{_OF_INTEGERS}'"),
        (FactSource("aten/src/ATen/Dispatch.h", "not implemented for '"),),
    ),
    Message(
        "no-code",
        re.compile(_NO_CODE + r"'\w+'"),
        (FactSource("aten/src/ATen/Dispatch.h", "not implemented for '"),),
    ),
    Message(
        "out-not-differentiable",
        re.compile(r"functions with out=\.\.\. arguments don't support automatic differentiation"),
        (FactSource("torch/csrc/autograd/VariableTypeUtils.h", "arguments don't support automatic differentiation"),),
    ),
    Message(
        "built-without-cuda",
        re.compile(r"Torch not compiled with CUDA enabled|PyTorch is not linked with support for cuda devices"),
        (
            FactSource("torch/cuda/__init__.py", "Torch not compiled with CUDA enabled"),
            FactSource("c10/core/impl/DeviceGuardImplInterface.h", "PyTorch is not linked with support for "),
        ),
    ),
    Message(
        "no-driver",
        re.compile(r"Found no NVIDIA driver on your system|CUDA driver version is insufficient for CUDA runtime"),
        (FactSource("c10/cuda/CUDAFunctions.cpp", "Found no NVIDIA driver on your system"),),
    ),
    Message(
        "cuda-not-loaded",
        re.compile(r"without ATen_cuda library|torch\.cuda\.\w+ requires CUDA support"),
        (FactSource("aten/src/ATen/detail/CUDAHooksInterface.h", "without ATen_cuda library"),),
    ),
    Message(
        "broadcast",
        re.compile(r"size of tensor a \(\d+\) must match the size of tensor b \(\d+\)"),
        (FactSource("aten/src/ATen/ExpandUtils.cpp", "must match the size of tensor b"),),
    ),
    Message(
        "output-too-small",
        re.compile(r"output with shape \[[\d, ]*\] doesn't match the broadcast shape \[[\d, ]*\]"),
        (FactSource("aten/src/ATen/TensorIterator.cpp", "doesn't match the broadcast shape"),),
    ),
    Message(
        "expanded",
        re.compile(r"expanded size of the tensor \(-?\d+\) must match the existing size \(\d+\)"),
        (FactSource("aten/src/ATen/ExpandUtils.cpp", "must match the existing size"),),
    ),
    Message(
        "matrix-by-vector",
        re.compile(r"size mismatch, got input \(\d+\), mat \(\d+x\d+\), vec \(\d+\)"),
        (FactSource("aten/src/ATen/native/Blas.cpp", "size mismatch, got input"),),
    ),
    Message(
        "result-not-cast",
        re.compile(r"result type \w+ can't be cast to the desired output type \w+"),
        (FactSource("aten/src/ATen/TensorIterator.cpp", "can't be cast to the desired output type"),),
    ),
    Message(
        "index-out-of-bounds",
        re.compile(r"index -?\d+ is out of bounds for (?:dimension \d+|dim) with size \d+"),
        (FactSource("aten/src/ATen/native/cpu/IndexKernelUtils.h", "is out of bounds for dimension"),),
    ),
    Message(
        "inferred-size",
        re.compile(r"shape '\[(?:\d+, )*-1(?:, \d+)*\]' is invalid for input of size \d+"),
        (FactSource("aten/src/ATen/InferSize.h", "is invalid for input of size"),),
    ),
    Message(
        "size-of-view",
        re.compile(r"shape '\[[-\d, ]*\]' is invalid for input of size \d+"),
        (FactSource("aten/src/ATen/InferSize.h", "is invalid for input of size"),),
    ),
    Message(
        "dimension-out-of-range",
        re.compile(r"Dimension out of range \(expected to be in range of"),
        (FactSource("c10/core/WrapDimMinimal.cpp", "Dimension out of range (expected to be in range of"),),
    ),
    Message(
        "matrix-sizes",
        re.compile(r"mat1 and mat2 shapes cannot be multiplied \(\d+x(?P<given>\d+) and (?P<size>\d+)x\d+\)"),
        (FactSource("aten/src/ATen/native/LinearAlgebra.cpp", "mat1 and mat2 shapes cannot be multiplied"),),
    ),
    Message(
        "matrix-shapes",
        re.compile(
            r"mat1 and mat2 shapes cannot be multiplied(?! \(\d)|mat1 dim 1 must match mat2 dim 0"
            r"|size mismatch, m1: \["
        ),
        (FactSource("aten/src/ATen/native/LinearAlgebra.cpp", "mat1 and mat2 shapes cannot be multiplied"),),
    ),
    Message(
        "transposed-channels",
        re.compile(r"transposed=1, .{1,300}expected input\[[\d, ]{1,300}\] to have \d+ channels, but got \d+ channels"),
        (FactSource("aten/src/ATen/native/Convolution.cpp", "channels, but got"),),
    ),
    Message(
        "channels",
        re.compile(r"expected input\[[\d, ]{1,300}\] to have \d+ channels, but got \d+ channels"),
        (FactSource("aten/src/ATen/native/Convolution.cpp", "channels, but got"),),
    ),
    Message(
        "indices-dtype",
        re.compile(r"Expected tensor for argument #1 'indices' to have one of the following scalar types"),
        (FactSource("aten/src/ATen/TensorUtils.cpp", " to have one of the following "),),
    ),
    Message(
        "index-out-of-range",
        re.compile(r"index out of range(?: in self| at /|: Tried to access index)|Invalid index in (?:scatter|gather)"),
        (FactSource("aten/src/ATen/native/TensorAdvancedIndexing.cpp", "index out of range in self"),),
    ),
    Message(
        "target-out-of-bounds",
        re.compile(r"Target -?\d+ is out of bounds"),
        (FactSource("aten/src/ATen/native/LossNLL.cpp", " is out of bounds"),),
    ),
    Message(
        "target-dtype",
        re.compile(r"expected target dtype to be Long or Byte"),
        (FactSource("aten/src/ATen/native/LossNLL.cpp", "expected target dtype to be Long or Byte", since="2.13"),),
    ),
    Message(
        "long-expected",
        re.compile(r"expected scalar type Long but found"),
        (FactSource("aten/src/ATen/templates/TensorMethods.cpp", "expected scalar type "),),
    ),
    Message(
        "batch-sizes",
        re.compile(r"Expected input batch_size \(\d+\) to match target batch_size"),
        (FactSource("aten/src/ATen/native/LossNLL.cpp", "to match target batch_size"),),
    ),
    Message(
        "dtypes-differ",
        re.compile(
            r"(?:mat1|self) and mat2 (?:must|to) have the same dtype|expected m1 and m2 to have the same dtype"
            r"|Input type \((torch\.(?:cuda\.)?)(\w+Tensor)\) and (?:weight|bias) type \(\1(?!\2)\w+Tensor\)|Input type"
            r" \((?:struct )?([a-z][\w:]+)\) and (?:weight|bias) type \((?:struct )?(?!\3\))[a-z][\w:]+\)"
            r"|to have the same type as tensor for argument #\d+ '\w+'; but type (torch\.(?:cuda\.)?)(\w+Tensor) does"
            r" not equal \4(?!\5)\w+Tensor|Found dtype \w+ but expected \w+"
            r"|Input type \((CUDA|CPU)(\w+Type)\) and (?:weight|bias) type \(\6(?!\7\))\w+Type\)"
        ),
        (
            FactSource("aten/src/ATen/native/LinearAlgebra.cpp", "expected m1 and m2 to have the same dtype"),
            FactSource("aten/src/ATen/native/Convolution.cpp", "Input type ("),
            FactSource("aten/src/ATen/TensorUtils.cpp", " to have the same type as tensor for "),
        ),
    ),
    Message(
        "scalar-types-differ",
        re.compile(r"expected scalar type (?:Float|Double|Half|BFloat16) but found (?:Float|Double|Half|BFloat16)"),
        (FactSource("aten/src/ATen/templates/TensorMethods.cpp", "expected scalar type "),),
    ),
    Message(
        "numpy-given",
        re.compile(r"must be Tensor, not numpy\.ndarray"),
        (FactSource("torch/csrc/utils/python_arg_parser.cpp", " must be "),),
    ),
    Message(
        "batch-norm-of-one",
        re.compile(r"Expected more than 1 value per channel when training"),
        (FactSource("torch/nn/functional.py", "Expected more than 1 value per channel when training"),),
    ),
    Message(
        "stacked-shapes",
        re.compile(r"stack expects each tensor to be equal size"),
        (FactSource("aten/src/ATen/native/TensorShape.cpp", "stack expects each tensor to be equal size"),),
    ),
    Message(
        "devices-differ",
        re.compile(
            r"found at least two devices|is not on the expected device|tensors are not at the same device, found"
            r"|expected self and mask to be on the same device|Input type \(torch\.cuda\.\w+\) and"
            r" (?:weight|bias) type \(torch\.[A-Z]\w+\)|Input type \(torch\.[A-Z]\w+\) and (?:weight|bias) type"
            r" \(torch\.cuda\.\w+\)"
        ),
        (FactSource("aten/src/ATen/TensorIterator.cpp", "found at least two devices"),),
    ),
    Message(
        "device-assert",
        re.compile(r"(?:CUDA error|cuda runtime error \(\d+\) ?): device-side assert triggered"),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        MEMORY,
        re.compile(r"CUDA out of memory|CUDA error: ?out of memory|cuda runtime error \(2\) ?: out of memory"),
        (FactSource("c10/cuda/CUDACachingAllocator.cpp", "CUDA out of memory"),),
    ),
    Message(
        "state-dict",
        re.compile(
            r"Error\(s\) in loading state_dict for \w+:\s{1,20}(?:Missing key|Unexpected key|size mismatch for)"
            r"|KeyError: '(?:unexpected key \"|missing keys in state_dict)"
        ),
        (FactSource("torch/nn/modules/module.py", "Error(s) in loading state_dict for"),),
    ),
    Message(
        "mean-of-integers",
        re.compile(r"mean\(\): could not infer output dtype"),
        (FactSource("aten/src/ATen/native/ReduceOps.cpp", "mean(): could not infer output dtype"),),
    ),
    Message(
        "grad-of-integers",
        re.compile(r"[Oo]nly Tensors of floating point (?:and complex )?dtype can require gradients"),
        (
            FactSource(
                "torch/csrc/autograd/variable.h",
                "Only Tensors of floating point and complex dtype can require gradients",
            ),
        ),
    ),
    Message(
        "not-one-number",
        re.compile(r"with \d+ elements cannot be converted to Scalar"),
        (FactSource("aten/src/ATen/native/Scalar.cpp", "elements cannot be converted to Scalar"),),
    ),
    Message(
        "truth-of-many",
        re.compile(r"Boolean value of Tensor with more than one value is ambiguous"),
        (
            FactSource(
                "aten/src/ATen/native/prim_native_functions.cpp",
                "Boolean value of Tensor with more than one value is ambiguous",
            ),
        ),
    ),
    Message(
        "no-parameters",
        re.compile(r"optimizer got an empty parameter list"),
        (FactSource("torch/optim/optimizer.py", "optimizer got an empty parameter list"),),
    ),
    Message(
        "recomputed-empty",
        re.compile(
            r"Recomputed values for the following tensors have different metadata.{1,3000}?"
            r"recomputed metadata: \{'shape': torch\.Size\(\[0\]\)",
            re.DOTALL,
        ),
        (
            FactSource(
                "torch/utils/checkpoint.py", "Recomputed values for the following tensors have different metadata"
            ),
        ),
    ),
    Message(
        "recomputed-otherwise",
        re.compile(
            r"Recomputed values for the following tensors have different metadata"
            r"(?!.{1,3000}?recomputed metadata: \{'shape': torch\.Size\(\[0\]\))",
            re.DOTALL,
        ),
        (
            FactSource(
                "torch/utils/checkpoint.py", "Recomputed values for the following tensors have different metadata"
            ),
        ),
    ),
    Message(
        "saved-another-number",
        re.compile(
            r"A different number of tensors was saved during the original forward|trying to save more tensors"
            r" during recomputation than during the original forward"
        ),
        (
            FactSource(
                "torch/utils/checkpoint.py", "A different number of tensors was saved during the original forward"
            ),
        ),
    ),
    Message(
        "static-graph",
        re.compile(r"your training graph has changed in this iteration.{1,300}static_graph set to True"),
        (FactSource("torch/csrc/distributed/c10d/reducer.cpp", "static_graph set to True"),),
    ),
    Message(
        "unused-with-search",
        re.compile(r"that were not used in producing loss\. Since `find_unused_parameters=True` is enabled"),
        (FactSource("torch/csrc/distributed/c10d/reducer.cpp", "that were not used in producing loss"),),
    ),
    Message(
        "unused-parameters",
        re.compile(r"Expected to have finished reduction in the prior iteration"),
        (
            FactSource(
                "torch/csrc/distributed/c10d/reducer.cpp", "Expected to have finished reduction in the prior iteration"
            ),
        ),
    ),
    Message(
        "view-of-strides",
        re.compile(r"view size is not compatible with input tensor's size and stride"),
        (FactSource("aten/src/ATen/native/TensorShape.cpp", "compatible with input tensor's size and stride"),),
    ),
    Message(
        "sizes-to-join",
        re.compile(r"Sizes of tensors must match except in dimension \d+|inconsistent tensor sizes at \S{1,200}/TH"),
        (FactSource("aten/src/ATen/native/TensorShape.h", "Sizes of tensors must match except in dimension "),),
    ),
    Message(
        "one-location-written",
        re.compile(r"more than one element of the written-to tensor refers to a single memory"),
        (FactSource("aten/src/ATen/MemoryOverlap.cpp", "more than one element of the written-to tensor "),),
    ),
    Message(
        "read-and-written",
        re.compile(r"some elements of the input tensor and the written-to tensor refer to a single memory location"),
        (
            FactSource(
                "aten/src/ATen/MemoryOverlap.cpp", "unsupported operation: some elements of the input tensor and "
            ),
        ),
    ),
    Message(
        "one-of-several-views",
        re.compile(r"This view is the output of a function that returns multiple views"),
        (
            FactSource(
                "torch/csrc/autograd/variable.cpp",
                " This view is the output of a function that returns multiple views.",
            ),
        ),
    ),
    Message(
        "view-without-grad",
        re.compile(r"view was created in no_grad mode and is being modified inplace with grad mode enabled"),
        (FactSource("torch/csrc/autograd/variable.cpp", "A view was created in"),),
    ),
    Message(
        "wrong-gradient",
        re.compile(r"returned an invalid gradient at index \d+ - (?:got|expected)"),
        (FactSource("torch/csrc/autograd/engine.cpp", "invalid gradient at index "),),
    ),
    Message(
        "nan-gradient",
        re.compile(r"returned nan values in its \d+\w\w output"),
        (FactSource("torch/csrc/autograd/engine.cpp", "returned nan values in its "),),
    ),
    Message(
        "vmap-writes-unbatched",
        re.compile(r"vmap: .{1,100}\(self, \*extra_args\) is not possible because"),
        (FactSource("aten/src/ATen/functorch/BatchRulesHelper.cpp", "(self, *extra_args) is not possible because "),),
    ),
    Message(
        "function-without-setup",
        re.compile(r"must override the setup_context staticmethod"),
        (FactSource("torch/autograd/function.py", "it must override the setup_context "),),
    ),
    Message(
        "ready-twice",
        re.compile(r"Expected to mark a variable ready only once"),
        (FactSource("torch/csrc/distributed/c10d/reducer.cpp", "Expected to mark a variable ready only once."),),
    ),
    Message(
        "weights-only-class",
        re.compile(
            r"(?:Weights only load failed.{0,3000}?)?Unsupported global: GLOBAL (?P<name>\S{1,200}) was not", re.DOTALL
        ),
        (FactSource("torch/_weights_only_unpickler.py", "Unsupported global: GLOBAL "),),
    ),
    Message(
        "weights-only",
        re.compile(r"Weights only load failed(?!.{0,3000}size is inconsistent with indices)", re.DOTALL),
        (FactSource("torch/serialization.py", "Weights only load failed."),),
    ),
    Message(
        "storage-not-resizable",
        re.compile(r"Trying to resize storage that is not resizable"),
        (FactSource("aten/src/ATen/native/Resize.cpp", "Trying to resize storage that is not resizable"),),
    ),
    Message(
        "illegal-access",
        re.compile(
            r"(?:CUDA error|Triton Error \[CUDA\]|cudaErrorIllegalAddress|cuda runtime error \(\d+\) ?)"
            ": an illegal memory access was encountered"
        ),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "no-kernel-image",
        re.compile(r"no kernel image is available for execution on the device"),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "cudnn-not-supported",
        re.compile(r"\bCUDNN_STATUS_NOT_SUPPORTED"),
        (FactSource("aten/src/ATen/cuda/Exceptions.h", "This error may appear if you passed in a non-contiguous"),),
    ),
    Message(
        "cudnn-status",
        re.compile(r"\bCUDNN_STATUS_(?!SUCCESS|NOT_SUPPORTED)\w+"),
        (FactSource("aten/src/ATen/cuda/Exceptions.h", "cuDNN error: "),),
    ),
    Message(
        "cublas-memory",
        re.compile(r"CUBLAS_STATUS_ALLOC_FAILED"),
        (FactSource("aten/src/ATen/cuda/Exceptions.cpp", "CUBLAS_STATUS_ALLOC_FAILED"),),
    ),
    Message(
        "saved-on-gpu",
        re.compile(r"Attempting to deserialize object on (?:a )?(?:CUDA|[A-Z]{2,12}) "),
        (FactSource("torch/serialization.py", "Attempting to deserialize object on"),),
    ),
    Message(
        "cuda-in-fork",
        re.compile(r"Cannot re-initialize CUDA in forked subprocess"),
        (FactSource("torch/cuda/__init__.py", "Cannot re-initialize CUDA in forked subprocess"),),
    ),
    Message(
        "worker-killed",
        re.compile(r"DataLoader worker \(pid.{1,100}\) is killed by signal: Killed"),
        (FactSource("torch/csrc/DataLoader.cpp", "by signal: "),),
    ),
    Message(
        "numpy-of-grad",
        re.compile(r"Can't call numpy\(\) on Tensor that requires grad"),
        (FactSource("torch/csrc/utils/tensor_numpy.cpp", "Can't call numpy() on Tensor that requires grad. "),),
    ),
    Message(
        "numpy-of-device",
        re.compile(r"can't convert \S+ device type tensor to numpy"),
        (FactSource("torch/csrc/utils/tensor_numpy.cpp", " device type tensor to numpy. Use Tensor.cpu() to "),),
    ),
    Message(
        "no-attention-backend",
        re.compile(
            r"No available kernel\. Aborting execution|No viable backend for scaled_dot_product_attention was found"
        ),
        (
            FactSource(
                "aten/src/ATen/native/transformers/cuda/sdp_utils.cpp", "No available kernel. Aborting execution."
            ),
            FactSource(
                "aten/src/ATen/native/transformers/attention.cpp",
                "No viable backend for scaled_dot_product_attention was found.",
            ),
        ),
    ),
    Message(
        "einsum-sizes",
        re.compile(
            r"einsum\(\): subscript \w has size \d+ for operand \d+ which does not broadcast with previously seen size"
        ),
        (FactSource("aten/src/ATen/native/Linear.cpp", " which does not broadcast with previously seen size "),),
    ),
    Message(
        "not-positive-definite",
        re.compile(r"the input is not positive-definite"),
        (FactSource("aten/src/ATen/native/BatchLinearAlgebra.cpp", "because the input is not positive-definite"),),
    ),
    Message(
        "singular",
        re.compile(r"because the input matrix is singular"),
        (FactSource("aten/src/ATen/native/BatchLinearAlgebra.cpp", "because the input matrix is singular"),),
    ),
    Message(
        "bad-probabilities",
        re.compile(r"probability tensor contains either `inf`, `nan` or element < 0"),
        (
            FactSource(
                "aten/src/ATen/native/Distributions.cpp",
                "probability tensor contains either `inf`, `nan` or element < 0",
            ),
        ),
    ),
    Message(
        "copied-with-graph",
        re.compile(r"\(graph leaves\) support the deepcopy protocol at the moment"),
        (FactSource("torch/_tensor.py", "(graph leaves) support the deepcopy protocol at the moment."),),
    ),
    Message(
        "flag-of-result",
        re.compile(r"you can only change requires_grad flags of leaf variables"),
        (
            FactSource(
                "torch/csrc/autograd/utils/error_messages.h",
                "you can only change requires_grad flags of leaf variables.",
            ),
        ),
    ),
    Message(
        "kernel-larger-than-input",
        re.compile(r"Kernel size can't be greater than actual input size"),
        (FactSource("aten/src/ATen/native/Convolution.cpp", "). Kernel size can't be greater than actual input size"),),
    ),
    Message(
        "pooled-to-nothing",
        re.compile(r"Calculated output size: \([\dx-]{1,100}\)\. Output size is too small"),
        (FactSource("aten/src/ATen/native/Pool.h", "Output size is too small"),),
    ),
    Message(
        "dimensions-of-convolution",
        re.compile(
            r"Expected \dD \(unbatched\) or \dD \(batched\) input to \w+, but got input of size"
            r"|Expected \d-dimensional input for \d-dimensional weight"
        ),
        (FactSource("aten/src/ATen/native/Convolution.cpp", "D (unbatched) or "),),
    ),
    Message(
        "matmul-of-number",
        re.compile(r"both arguments to matmul need to be at least 1D"),
        (FactSource("aten/src/ATen/native/LinearAlgebra.cpp", "both arguments to matmul need to be at least 1D"),),
    ),
    Message(
        "batches-of-matrices",
        re.compile(r"Expected size for first two dimensions of batch2 tensor to be"),
        (
            FactSource(
                "aten/src/ATen/native/LinearAlgebra.cpp",
                "Expected size for first two dimensions of batch2 tensor to be",
            ),
        ),
    ),
    Message(
        "no-process-group",
        re.compile(r"Default process group has not been initialized"),
        (FactSource("torch/distributed/distributed_c10d.py", "Default process group has not been initialized"),),
    ),
    *OF_VALUES,
    *OF_TENSORS,
    *OF_LAYOUTS,
    *OF_TRANSFORMS,
    *OF_SYSTEMS,
    *OF_BUILDS,
    *OF_MODULES,
    *OF_PYTHON,
    *OF_KINDS,
    Message("killed", _KILLED, ()),
    Message("signal-to-itself", re.compile(r"^SIGKILL: in \S+\(\)"), ()),
    Message("sigkill", re.compile(r"^SIGKILL: "), ()),
    Message(
        "pre-hook-without-dict",
        re.compile(r"SIGSEGV: (torch::autograd::)?PyFunctionTensorPreHook::PyFunctionTensorPreHook"),
        (FactSource("torch/csrc/autograd/python_hook.h", "PyFunctionTensorPreHook"),),
    ),
)
