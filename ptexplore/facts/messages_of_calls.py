"""Messages about calls: an argument, a size, a dtype or a system that a function refuses.

The class of a row is `facts/message.py::Message`. These rows come before the other ones of the table.
"""

from __future__ import annotations

import re

from ptexplore.facts.message import Message
from ptexplore.facts.source import FactSource

OF_CALLS = (
    Message(
        "attention-bias",
        re.compile(r"attn_bias: wrong shape \((?P<name>[\w ]+) dimension\)"),
        (
            FactSource(
                "aten/src/ATen/native/transformers/cuda/attention.cu", "attn_bias: wrong shape (batch dimension)"
            ),
        ),
    ),
    Message(
        "attention-alignment",
        re.compile(r"(?P<name>attn_bias|query|key|value|grad_output|\w+_ptr)\S* is not correctly aligned"),
        (
            FactSource(
                "aten/src/ATen/native/transformers/cuda/mem_eff_attention/gemm_kernel_utils.h",
                " is not correctly aligned",
            ),
        ),
    ),
    Message(
        "no-inf-checks-before-update",
        re.compile(r"No inf checks were recorded prior to update"),
        (FactSource("torch/amp/grad_scaler.py", "No inf checks were recorded prior to update."),),
    ),
    Message(
        "mps-old-system",
        re.compile(r"The MPS backend is supported on MacOS (?P<name>[\d.]+)\+"),
        (FactSource("aten/src/ATen/mps/EmptyTensor.cpp", "The MPS backend is supported on MacOS "),),
    ),
    Message(
        "aoti-argument",
        re.compile(
            r"Expected extern kernel (?P<name>\S{1,200}) to have serialized argument type (?P<size"
            r">\w+(?: or \w+){0,3}) for argument (?P<given>\d+) but got (?P<owner>\w+)"
        ),
        (FactSource("torch/csrc/inductor/aoti_torch/oss_proxy_executor.cpp", " to have serialized argument type "),),
    ),
    Message(
        "script-arguments-count",
        re.compile(
            r"\b(?P<name>\w+)\(\) expected at most (?P<size>\d+) argument\(s\) but received (?P<gi"
            r"ven>\d+) argument\(s\)"
        ),
        (FactSource("torch/csrc/jit/python/pybind_utils.h", "() expected at most "),),
    ),
    Message(
        "batch-mode-input",
        re.compile(
            r"(?<!non-empty )(?P<size>\dD or \dD) \(batch mode\) tensor (?:expected for input|with"
            r" possibly 0 batch size)"
        ),
        (
            FactSource(
                "aten/src/ATen/native/Padding.h",
                " (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ",
            ),
        ),
    ),
    Message(
        "script-object",
        re.compile(r"Could not get name of python class object"),
        (FactSource("torch/_jit_internal.py", "Could not get name of python class object"),),
    ),
    Message(
        "triton-compiler",
        re.compile(
            r"CalledProcessError: Command '\[?[^\n]{0,300}?(?:\bgcc|\bcl\.exe|\bcl\.EXE|clang|\btc"
            r"c\.exe|/cc)'[^\n]{0,6000}?returned non-zero exit status"
        ),
        (),
    ),
    Message(
        "kernel-image-invalid",
        re.compile(r"Triton Error \[CUDA\]: device kernel image is invalid"),
        (),
    ),
    Message(
        "ptxas-failed",
        re.compile(
            r"`ptxas` failed with error code|PTXASError|Internal Triton PTX codegen error|ptxas fa"
            r"tal"
        ),
        (),
    ),
    Message(
        "same-padding-stride",
        re.compile(r"padding='same' is not supported for strided convolutions"),
        (FactSource("torch/nn/modules/conv.py", "padding='same' is not supported for strided convolutions"),),
    ),
    Message(
        "pooled-empty",
        re.compile(r"Expected (?:input|grad_output) to have non-zero size for non-batch dimensions"),
        (
            FactSource(
                "aten/src/ATen/native/AdaptiveAveragePooling.cpp",
                "Expected input to have non-zero size for non-batch dimensions",
            ),
        ),
    ),
    Message(
        "ddp-devices",
        re.compile(r"DistributedDataParallel device_ids and output_device arguments only work with"),
        (
            FactSource(
                "torch/nn/parallel/distributed.py", "DistributedDataParallel device_ids and output_device arguments "
            ),
        ),
    ),
    Message(
        "flash-dtype",
        re.compile(r"FlashAttention only supports? fp16"),
        (
            FactSource(
                "aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp",
                "FlashAttention only support fp16 and bf16 data type",
            ),
        ),
    ),
    Message(
        "gpu-without-bfloat16",
        re.compile(r"Current CUDA Device does not support bfloat16"),
        (FactSource("torch/amp/autocast_mode.py", "Current CUDA Device does not support bfloat16. "),),
    ),
    Message(
        "optimizer-steps-on-gpu",
        re.compile(r"If capturable=False, state_steps should not be CUDA tensors"),
        (),
    ),
    Message(
        "vision-operators",
        re.compile(
            r"Couldn't load custom C\+\+ ops|PyTorch and torchvision were compiled with different "
            r"CUDA"
        ),
        (),
    ),
    Message(
        "traced-type",
        re.compile(r"Type '(?P<name>[^'\n]{1,120})' cannot be traced"),
        (FactSource("torch/csrc/jit/python/pybind_utils.h", " cannot be traced. Only Tensors and (possibly nested) "),),
    ),
    Message(
        "integer-power",
        re.compile(r"Integers to negative integer powers are not allowed"),
        (FactSource("aten/src/ATen/native/Pow.cpp", "Integers to negative integer powers are not allowed."),),
    ),
    Message(
        "grad-without-inputs",
        re.compile(
            r"grad requires non-empty inputs|`?inputs`? argument to `(?:backward|grad)\(\)` cannot"
            r" be empty"
        ),
        (FactSource("torch/autograd/__init__.py", "cannot be empty"),),
    ),
    Message(
        "vmap-of-plain-value",
        re.compile(
            r"Got in_dim=(?P<size>-?\d+) for an input but the input is of type (?P<name><class '[^"
            r"'\n]{1,80}'>)"
        ),
        (FactSource("torch/_functorch/vmap.py", " for an input but the input is of type "),),
    ),
    Message(
        "comprehension-conditions",
        re.compile(r"(?P<name>Comprehension ifs) are not supported yet"),
        (FactSource("torch/jit/frontend.py", " are not supported yet"),),
    ),
    Message(
        "onnx-package",
        re.compile(r"Module (?P<name>onnx\w*) is not installed"),
        (FactSource("torch/onnx/_internal/onnx_proto_utils.py", "Module onnx is not installed!", until="2.8"),),
    ),
    Message(
        "copied-parameter",
        re.compile(r'While copying the parameter named "(?P<name>[^"\n]{1,200})"'),
        (FactSource("torch/nn/modules/module.py", 'While copying the parameter named "'),),
    ),
    Message(
        "split-by-list",
        re.compile(
            r"the last offset value should be the size of the indices tensor|offsets\[0\] has to b"
            r"e 0|offsets\[-1\] can not be greater than input"
        ),
        (FactSource("aten/src/ATen/native/EmbeddingBag.cpp", "offsets[0] has to be 0"),),
    ),
    Message(
        "bag-index",
        re.compile(
            r"Expected idx >= 0 && idx < num_embeddings but found idx to be (?P<given>-?\d+)|Index"
            r" \d+ of input takes value (?P<index>-?\d+) which is not in the valid range"
        ),
        (
            FactSource(
                "aten/src/ATen/native/EmbeddingBag.cpp",
                "Expected idx >= 0 && idx < num_embeddings but found idx to be ",
            ),
            FactSource("aten/src/ATen/native/EmbeddingBag.cpp", " which is not in the valid range [0, "),
        ),
    ),
    Message(
        "alpha-of-integers",
        re.compile(
            r"For integral input tensors, argument (?P<name>alpha|beta) must not be a floating poi"
            r"nt number"
        ),
        (
            FactSource(
                "aten/src/ATen/native/BinaryOps.h",
                "For integral input tensors, argument alpha must not be a floating point number.",
            ),
        ),
    ),
    Message(
        "selected-from-number",
        re.compile(r"(?:select|index_select|narrow)\(\) cannot be applied to a 0-dim tensor"),
        (FactSource("aten/src/ATen/native/TensorShape.cpp", "select() cannot be applied to a 0-dim tensor."),),
    ),
    Message(
        "loader-without-batches",
        re.compile(r"batch_size=None option disables auto-batching and is mutually exclusive"),
        (FactSource("torch/utils/data/dataloader.py", "batch_size=None option disables auto-batching "),),
    ),
    Message(
        "learning-rate-tensor",
        re.compile(
            r"lr as a Tensor is not supported for capturable=False|Tensor (?P<name>lr|betas?\S{0,4"
            r"}) must be 1-element"
        ),
        (FactSource("torch/optim/adam.py", "lr as a Tensor is not supported for capturable=False and foreach=True"),),
    ),
    Message(
        "step-in-graph",
        re.compile(r"Attempting CUDA graph capture of step\(\) for an instance of (?P<name>\w+)"),
        (
            FactSource(
                "torch/optim/optimizer.py", "Attempting CUDA graph capture of step() for an instance of ", until="2.12"
            ),
        ),
    ),
    Message(
        "sequence-of-plateau",
        re.compile(r"does not support `?ReduceLROnPlateau`? scheduler as it"),
        (FactSource("torch/optim/lr_scheduler.py", " does not support `ReduceLROnPlateau` scheduler as it "),),
    ),
    Message(
        "lbfgs-groups",
        re.compile(r"LBFGS doesn't support per-parameter options"),
        (FactSource("torch/optim/lbfgs.py", "LBFGS doesn't support per-parameter options "),),
    ),
    Message(
        "int-max",
        re.compile(
            r"(?:nonzero is not supported for|only supports?) tensors with (?:more than|at most|up"
            r" to) INT_MAX|canUse32BitIndexMath\("
        ),
        (),
    ),
    Message(
        "daemon-children",
        re.compile(r"daemonic processes are not allowed to have children"),
        (),
    ),
    Message(
        "numpy-api-version",
        re.compile(r"module (?:was )?compiled against (?:API|ABI) version"),
        (),
    ),
    Message(
        "hip-memory",
        re.compile(r"(?:HIP|XPU|NPU|MLU|MUSA) out of memory"),
        (),
    ),
    Message(
        "old-size-for-view",
        re.compile(r"size '\[[\d x]+\]' is invalid for input with (?P<given>\d+)"),
        (),
    ),
    Message(
        "old-no-gpu",
        re.compile(r"cuda runtime error \(38\)|no CUDA-capable device is detected"),
        (),
    ),
    Message(
        "mask-of-transformers",
        re.compile(
            r"Attention mask should be of size \((?P<size>[\d, ]+)\), but is torch\.Size\(\[(?P<gi"
            r"ven>[\d, ]+)\]\)"
        ),
        (),
    ),
    Message(
        "needs-a-cuda-device",
        re.compile(
            r"Expected a (?P<name>cuda|xpu|mps) device(?: with a specified index)?(?: or an intege"
            r"r)?, but got:? ?(?P<given>\w+)"
        ),
        (FactSource("torch/cuda/_utils.py", "Expected a cuda device, but got: "),),
    ),
    Message(
        "archive-of-script",
        re.compile(
            r"istream reader failed|File footer has wrong record type|ASSERT FAILED at \S{0,200}in"
            r"line_container\.h|INVALID_ARGUMENT: ?main_module"
        ),
        (FactSource("caffe2/serialize/istream_adapter.cc", "istream reader failed: "),),
    ),
    Message(
        "no-tensor-arguments",
        re.compile(r"There were no tensor arguments to this function"),
        (
            FactSource(
                "aten/src/ATen/core/dispatch/OperatorEntry.cpp", "There were no tensor arguments to this function"
            ),
        ),
    ),
    Message(
        "symbolic-sizes-in-cpp",
        re.compile(r"Cannot call (?P<name>\w+)\(\) on tensor with symbolic sizes/strides"),
        (FactSource("c10/core/TensorImpl.cpp", "() on tensor with symbolic sizes/strides"),),
    ),
    Message(
        "triton-cpu-tensor",
        re.compile(r"Pointer argument (?:\(at (?P<given>\d+)\) )?cannot be accessed from Triton"),
        (),
    ),
    Message(
        "hip-access",
        re.compile(r"Memory access fault by GPU node"),
        (),
    ),
    Message(
        "complex-number-given",
        re.compile(r"value cannot be converted to type (?P<name>[\w:]+) without overflow: ?\("),
        (FactSource("c10/util/TypeCast.cpp", "value cannot be converted to type "),),
    ),
    Message(
        "cudnn-attention",
        re.compile(r"Expected (?P<name>mha_graph[^\n]{0,200}?is_good\(\)) to be true"),
        (FactSource("aten/src/ATen/native/cudnn/MHA.cpp", ".is_good()"),),
    ),
    Message(
        "cell-input-size",
        re.compile(r"input has inconsistent input_size: got (?P<given>\d+) expected (?P<size>\d+)"),
        (
            FactSource(
                "aten/src/ATen/native/RNN.cpp",
                "input has inconsistent input_size: got ",
            ),
        ),
    ),
    Message(
        "cell-batch",
        re.compile(r"Input batch size (?P<size>\d+) doesn't match hidden\S* batch size (?P<given>\d+)"),
        (
            FactSource(
                "aten/src/ATen/native/RNN.cpp",
                "Input batch size ",
            ),
        ),
    ),
    Message(
        "contracted-sizes",
        re.compile(
            r"contracted dimensions need to match, but first has size (?P<size>\d+) in dim (?P<nam"
            r"e>-?\d+) and second has size (?P<given>\d+)"
        ),
        (
            FactSource(
                "aten/src/ATen/native/Linear.cpp",
                "contracted dimensions need to match, but first has size ",
            ),
        ),
    ),
    Message(
        "einsum-equation",
        re.compile(
            r"einsum\(\): (?:fewer operands were provided|more operands were provided|output subsc"
            r"ript (?P<name>\w)|invalid subscript given|found '\.')"
        ),
        (
            FactSource(
                "aten/src/ATen/native/Linear.cpp",
                "einsum(): fewer operands were provided than specified in the equation",
            ),
        ),
    ),
    Message(
        "norm-without-statistics",
        re.compile(r"running_(?:mean|var) must be defined in evaluation mode"),
        (
            FactSource(
                "aten/src/ATen/native/Normalization.cpp",
                "running_mean must be defined in evaluation mode",
            ),
        ),
    ),
    Message(
        "pooled-volume",
        re.compile(
            r"input image \(T: (?P<size>[\dTHW: ]{1,40})\) smaller than\s+kernel size \(kT: (?P<gi"
            r"ven>[\dkTHW: ]{1,40})\)"
        ),
        (
            FactSource(
                "aten/src/ATen/native/Pool.h",
                "smaller than ",
            ),
        ),
    ),
    Message(
        "kth-out-of-range",
        re.compile(r"kthvalue\(\): selected number k out of range for dimension (?P<name>-?\d+)"),
        (
            FactSource(
                "aten/src/ATen/native/Sorting.cpp",
                "kthvalue(): selected number k out of range for dimension ",
            ),
        ),
    ),
    Message(
        "quantile-of-nothing",
        re.compile(r"quantile\(\) input tensor must be non-empty"),
        (
            FactSource(
                "aten/src/ATen/native/Sorting.cpp",
                "quantile() input tensor must be non-empty",
            ),
        ),
    ),
    Message(
        "reduce-name",
        re.compile(
            r"reduce argument must be (?:either )?(?P<size>[\w, ]{3,60}?),? ?(?:but )?got (?P<give"
            r"n>\w+)"
        ),
        (
            FactSource(
                "aten/src/ATen/native/ReductionType.h",
                "reduce argument must be either sum, prod, mean, amax or amin, got ",
            ),
        ),
    ),
    Message(
        "fft-of-nothing",
        re.compile(r"Invalid number of data points \((?P<given>-?\d+)\) specified"),
        (
            FactSource(
                "aten/src/ATen/native/SpectralOps.cpp",
                "Invalid number of data points (",
            ),
        ),
    ),
    Message(
        "rnn-weight-dtype",
        re.compile(
            r"RNN input dtype \((?P<given>[\w.]+)\) does not match weight dtype \((?P<size>[\w.]+)"
            r"\)|Input and (?P<name>\w+) tensors are not the same dtype, found input tensor with"
        ),
        (
            FactSource(
                "torch/nn/modules/rnn.py",
                "does not match weight dtype",
                since="2.7",
            ),
            FactSource(
                "aten/src/ATen/native/RNN.h",
                " tensors are not the same dtype, found input tensor with ",
            ),
        ),
    ),
    Message(
        "rnn-without-steps",
        re.compile(r"Expected sequence length to be larger than 0 in RNN"),
        (
            FactSource(
                "aten/src/ATen/native/RNN.cpp",
                "Expected sequence length to be larger than 0 in RNN",
            ),
        ),
    ),
    Message(
        "inner-sizes",
        re.compile(
            r"inner\(\) the last dimension must match on both input tensors but got shapes (?P<nam"
            r"e>\[[\d, ]*\]) and (?P<given>\[[\d, ]*\])"
        ),
        (
            FactSource(
                "aten/src/ATen/native/LinearAlgebra.cpp",
                "inner() the last dimension must match on both input tensors but got shapes ",
            ),
        ),
    ),
    Message(
        "weight-by-groups",
        re.compile(
            r"Given groups=(?P<name>\d+), expected weight to be (?:divisible by|at least) \d+ at d"
            r"imension 0"
        ),
        (
            FactSource(
                "aten/src/ATen/native/Convolution.cpp",
                "expected weight to be divisible by ",
            ),
        ),
    ),
    Message(
        "group-norm-channels",
        re.compile(
            r"Expected (?P<name>weight|bias) to be a vector of size equal to the number of channel"
            r"s in input, but got \w+ of shape (?P<given>\[[\d, ]*\]) and input of shape (?P<size>"
            r"\[[\d, ]*\])"
        ),
        (
            FactSource(
                "aten/src/ATen/native/group_norm.cpp",
                "to be a vector of size equal to the number of ",
            ),
        ),
    ),
    Message(
        "padding-mask-shape",
        re.compile(
            r"[Ee]xpect(?:ed|ing) key_padd(?:ed|ing)_mask(?:\.shape\[\d\]| shape of \S+)? ?(?:to b"
            r"e|, but got|of) ?(?P<size>[\d(), ]+)"
        ),
        (
            FactSource(
                "torch/nn/functional.py",
                "Expected key_padded_mask.shape[0] to be ",
            ),
        ),
    ),
    Message(
        "dims-in-order",
        re.compile(r"flatten\(\) has invalid args: start_dim cannot come after end_dim"),
        (
            FactSource(
                "aten/src/ATen/native/TensorShape.cpp",
                "flatten() has invalid args: start_dim cannot come after end_dim",
            ),
        ),
    ),
    Message(
        "indices-for-source",
        re.compile(
            r"index_(?:add|copy|reduce)_?\(\): Number of indices \((?P<given>\d+)\) should be equa"
            r"l to source\.size\(dim\):? \((?P<size>\d+)\)"
        ),
        (
            FactSource(
                "aten/src/ATen/native/TensorAdvancedIndexing.cpp",
                "): Number of indices (",
            ),
        ),
    ),
    Message(
        "cross-of-three",
        re.compile(
            r"linalg\.cross: inputs dimension (?P<name>-?\d+) must have length 3\. Got (?P<given>"
            r"\d+) and (?P<size>\d+)|no dimension of size 3 in input"
        ),
        (
            FactSource(
                "aten/src/ATen/native/Cross.cpp",
                "must have length 3. Got ",
            ),
        ),
    ),
    Message(
        "grid-last-size",
        re.compile(
            r"grid_sampler\(\): expected grid to have size (?P<size>\d) in last dimension, but got"
            r" grid with sizes (?P<given>\[[\d, ]*\])"
        ),
        (
            FactSource(
                "aten/src/ATen/native/GridSamplerUtils.h",
                " in last dimension, but got grid with sizes ",
            ),
        ),
    ),
    Message(
        "affine-theta",
        re.compile(
            r"Expected a batch of (?P<name>\dD) affine matrices of shape (?P<size>Nx\dx\d) for siz"
            r"e"
        ),
        (
            FactSource(
                "torch/nn/functional.py",
                " affine matrices of shape Nx2x3 for size ",
            ),
        ),
    ),
    Message(
        "unpool-indices",
        re.compile(
            r"Expected shape of indices to be same as that of the input tensor \((?P<name>\[[\d, ]"
            r"*\])\) but got indices tensor with shape: (?P<given>\[[\d, ]*\])"
        ),
        (
            FactSource(
                "aten/src/ATen/native/MaxUnpooling.cpp",
                "Expected shape of indices to be same as that of the input tensor (",
            ),
        ),
    ),
    Message(
        "fold-blocks",
        re.compile(
            r"expected size of input's dimension 2 to match the calculated number of sliding block"
            r"s (?P<name>[^=\n]{1,40}= ?(?P<size>\d+)), but got input\.size\(2\)=(?P<given>\d+)"
        ),
        (
            FactSource(
                "aten/src/ATen/native/im2col_shape_check.h",
                "expected size of input's dimension 2 to match the calculated number of ",
            ),
        ),
    ),
    Message(
        "prelu-weight",
        re.compile(
            r"Mismatch of parameter numbers and input channel size\. Found parameter numbers = ?(?"
            r"P<given>\d+) and channel size = ?(?P<size>\d+)"
        ),
        (
            FactSource(
                "aten/src/ATen/native/Activation.cpp",
                "Mismatch of parameter numbers and input channel size. Found parameter numbers =",
            ),
        ),
    ),
    Message(
        "istft-of-real",
        re.compile(r"istft requires a complex-valued input tensor"),
        (
            FactSource(
                "aten/src/ATen/native/SpectralOps.cpp",
                "istft requires a complex-valued input tensor ",
            ),
        ),
    ),
    Message(
        "optimizer-of-tensor",
        re.compile(
            r"params argument given to the optimizer should be an iterable of Tensors or dicts, bu"
            r"t got (?P<name>[\w.]+)"
        ),
        (
            FactSource(
                "torch/optim/optimizer.py",
                "params argument given to the optimizer should be an iterable of ",
            ),
        ),
    ),
    Message(
        "scheduler-of-what",
        re.compile(r"(?P<name>\w+) is not an Optimizer$"),
        (
            FactSource(
                "torch/optim/lr_scheduler.py",
                " is not an Optimizer",
            ),
        ),
    ),
    Message(
        "buffer-name",
        re.compile(r"(?:buffer|parameter) name can.{1,2}t (?:contain|be empty)"),
        (
            FactSource(
                "torch/nn/modules/module.py",
                "buffer name can",
            ),
        ),
    ),
    Message(
        "log-prob-of-number",
        re.compile(r"The value argument to log_prob must be a Tensor"),
        (
            FactSource(
                "torch/distributions/distribution.py",
                "The value argument to log_prob must be a Tensor",
            ),
        ),
    ),
    Message(
        "event-size",
        re.compile(
            r"The right-most size of value must match event_shape: (?P<given>\S+(?: \S+)?) vs (?P<"
            r"size>torch\.Size\(\[[\d, ]*\]\))|Value is not broadcastable with batch_shape\+event_"
            r"shape"
        ),
        (
            FactSource(
                "torch/distributions/distribution.py",
                "Value is not broadcastable with batch_shape+event_shape: ",
            ),
        ),
    ),
    Message(
        "storage-of-dtype",
        re.compile(r"Could not set tensor of type (?P<name>[\w:]+) to a tensor of type (?P<given>[\w:]+)"),
        (),
    ),
    Message(
        "unique-of-nothing",
        re.compile(r"so unique cannot be applied"),
        (
            FactSource(
                "aten/src/ATen/native/Unique.cpp",
                "so unique cannot be applied",
            ),
        ),
    ),
    Message(
        "searched-shape",
        re.compile(
            r"torch\.searchsorted\(\): boundaries tensor should be 1 dimension or the first N-1 di"
            r"mensions"
        ),
        (
            FactSource(
                "aten/src/ATen/native/BucketizationUtils.h",
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of ",
            ),
        ),
    ),
    Message(
        "matrix-only",
        re.compile(
            r"(?P<name>tril|triu): input tensor must have at least 2 dimensions|(?P<given>diag)\("
            r"\): Supports 1D or 2D tensors|(?P<size>block_diag): Input tensors must have 2 or few"
            r"er dimensions"
        ),
        (
            FactSource(
                "aten/src/ATen/native/TriangularOps.cpp",
                ": input tensor must have at least 2 dimensions",
            ),
        ),
    ),
    Message(
        "shifts-for-dims",
        re.compile(r"shifts and dimensions must align\. shifts: (?P<given>\d+), dims: ?(?P<size>\d+)"),
        (
            FactSource(
                "aten/src/ATen/native/TensorTransformations.h",
                "shifts and dimensions must align. shifts: ",
            ),
        ),
    ),
    Message(
        "backend-unknown",
        re.compile(r"Invalid backend: '(?P<name>[^'\n]{1,80})', see `?torch\._dynamo\.list_backends"),
        (
            FactSource(
                "torch/_dynamo/exc.py",
                "Invalid backend: ",
            ),
        ),
    ),
    Message(
        "script-file",
        re.compile(r"The provided filename (?P<name>[^\n]{1,300}) (?:does not exist|is a directory)"),
        (
            FactSource(
                "torch/jit/_serialization.py",
                "The provided filename ",
            ),
        ),
    ),
    Message(
        "matrix-rows",
        re.compile(r"lstsq: input\.size\(-2\) should match other\.size\(-2\)"),
        (
            FactSource(
                "aten/src/ATen/native/BatchLinearAlgebra.cpp",
                ": input.size(-2) should match other.size(-2)",
            ),
        ),
    ),
    Message(
        "forward-gradient-size",
        re.compile(
            r"Trying to set a forward gradient that has a different size than that of the original"
            r" Tensor"
        ),
        (
            FactSource(
                "torch/csrc/autograd/autograd_meta.cpp",
                "Trying to set a forward gradient that has a different size than that of the original ",
            ),
        ),
    ),
)
