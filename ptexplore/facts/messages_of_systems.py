"""Messages about devices, CUDA, loading of data and files, distributed programs, torch.compile and extensions.

The class of a row is `facts/message.py::Message`.
"""

from __future__ import annotations

import re

from ptexplore.facts.message import Message
from ptexplore.facts.source import FactSource

# A kernel on the GPU writes the check that failed, with its own file and line, before the error of the call.
OF_KERNELS = (
    Message(
        "assert-index",
        re.compile(
            r"Assertion `[^`]{0,80}index [^`]{0,80}\"index out of bounds\"[^`]{0,40}` failed|Assertion"
            " `(?:srcIndex < srcSelectDimSize|dstIndex < dstAddDimSize|idx_dim >= 0 && idx_dim <"
            " index_size[^`]{0,60}|ind >= 0 && ind < ind_dim_size[^`]{0,60})` failed"
        ),
        (
            FactSource("aten/src/ATen/native/cuda/IndexKernel.cu", "index out of bounds"),
            FactSource("aten/src/ATen/native/cuda/Indexing.cu", "srcIndex < srcSelectDimSize"),
        ),
        anywhere=True,
    ),
    Message(
        "assert-class",
        re.compile("Assertion `(?:t|cur_target) >= 0 && (?:t|cur_target) < n_classes` failed"),
        (FactSource("aten/src/ATen/native/cuda/NLLLoss2d.cu", "cur_target >= 0 && cur_target < n_classes"),),
        anywhere=True,
    ),
    Message(
        "assert-probability",
        re.compile(
            "Assertion `(?:input_val >= zero && input_val <= one|target_val >= zero && target_val <= one"
            r"|input >= 0\. && input <= 1\.[^`]{0,40})` failed"
        ),
        (FactSource("aten/src/ATen/native/cuda/Loss.cu", "input_val >= zero && input_val <= one"),),
        anywhere=True,
    ),
    Message(
        "assert-multinomial",
        re.compile(
            r"Assertion `(?:!\(val < zero\)|cumdist\[size - 1\] > static_cast<scalar_t>\(0\)|probability"
            " tensor[^`]{0,80})[^`]{0,40}` failed"
        ),
        (FactSource("aten/src/ATen/native/cuda/MultinomialKernel.cu", "!(val < zero)"),),
        anywhere=True,
    ),
)
# No kernel for a backend, where the table of dispatch keys does not say what to do.
_NO_KERNEL = FactSource("aten/src/ATen/core/dispatch/OperatorEntry.cpp", "Could not run '")
OF_MISSING = (
    Message(
        "quantized-operator",
        re.compile(
            r"Could not run 'quantized::(?!\w*(?:prepack|unpack|dynamic))[\w.]+' with arguments from the"
            r" '(?P<device>CPU|CUDA)' backend"
        ),
        (_NO_KERNEL,),
    ),
    Message(
        "quantized-tensor",
        re.compile(
            r"Could not run '(?P<name>(?!quantized::)[\w:.]+)' with arguments from the 'Quantized(?:CPU|CUDA)' backend"
        ),
        (_NO_KERNEL,),
    ),
    Message(
        "vision-without-cuda",
        re.compile(r"Could not run 'torchvision::[\w.]+' with arguments from the 'CUDA' backend"),
        (_NO_KERNEL,),
    ),
)
OF_SYSTEMS = (
    Message(
        "generator-device",
        re.compile(r"Expected a '(?P<device>\w+)' device type for generator but found '(?P<given>\w+)'"),
        (FactSource("aten/src/ATen/core/Generator.h", "' device type for generator but found '"),),
    ),
    Message(
        "device-name",
        re.compile(
            "Invalid device string: '(?P<given>[^']{0,60})'|Expected one of cpu, .{1,300} device type at"
            r" start of device string: (?P<start>\w{1,40})"
        ),
        (
            FactSource("c10/core/Device.cpp", "Invalid device string: '"),
            FactSource("c10/core/Device.cpp", " device type at start of device string: "),
        ),
    ),
    Message(
        "device-ordinal",
        re.compile(r"CUDA error: invalid device ordinal|\AAssertionError: Invalid device id"),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "index-device",
        re.compile(r"indices should be either on (?:cpu|\S{1,20}) or on the same device as the indexed tensor"),
        (
            FactSource(
                "aten/src/ATen/native/TensorAdvancedIndexing.cpp", " or on the same device as the indexed tensor"
            ),
        ),
    ),
    Message(
        "argument-device",
        re.compile(
            r"Tensor for argument (?:#\d+ )?'?\w+'? is on (?:the )?(?:CPU|cpu),? but expected (?:it to be"
            r" )?on (?:GPU|\w+)|Expected tensor to have cpu DeviceType, but got tensor with"
        ),
        (FactSource("aten/src/ATen/native/mps/operations/Linear.mm", " but expected on mps", until="2.6"),),
    ),
    Message(
        "parallel-device",
        re.compile("module must have its parameters and buffers on device"),
        (FactSource("torch/nn/parallel/data_parallel.py", "module must have its parameters and buffers "),),
    ),
    Message(
        "cuda-misaligned",
        re.compile("CUDA error: misaligned address"),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "cuda-launch-failure",
        re.compile("CUDA error: unspecified launch failure"),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "cuda-launch-size",
        re.compile("CUDA error: invalid configuration argument"),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "cuda-busy",
        re.compile(r"(?:all CUDA-capable devices are|CUDA-capable device\(s\) is/are) busy or unavailable"),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "cuda-set-up",
        re.compile(
            "CUDA unknown error - this may be due to an|CUDA driver initialization failed|CUDA error:"
            " initialization error"
        ),
        (
            FactSource("c10/cuda/CUDAFunctions.cpp", "CUDA unknown error - this may be due to an "),
            FactSource("c10/cuda/CUDAFunctions.cpp", "CUDA driver initialization failed"),
        ),
    ),
    Message(
        "driver-too-old",
        re.compile("The NVIDIA driver on your system is too old"),
        (FactSource("c10/cuda/CUDAFunctions.cpp", "The NVIDIA driver on your system is too old (found version "),),
    ),
    Message(
        "gpu-not-in-build",
        re.compile(r"with CUDA capability (?P<given>\w+) is not compatible with the current PyTorch installation"),
        (FactSource("torch/cuda/__init__.py", "is not compatible with the current PyTorch installation."),),
    ),
    Message(
        "stream-capturing",
        re.compile(
            "operation not permitted when stream is capturing|make the legacy stream depend on a capturing"
            "|operation failed due to a previous error|cudaErrorStreamCapture[A-Z]"
        ),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "cudnn-algorithm",
        re.compile(
            "Unable to find a valid cuDNN algorithm to run convolution|(?:FIND|GET) was unable to find an"
            " engine to execute this computation"
        ),
        (
            FactSource(
                "aten/src/ATen/native/cudnn/Conv_v7.cpp", "Unable to find a valid cuDNN algorithm to run convolution"
            ),
            FactSource(
                "aten/src/ATen/native/cudnn/Conv_v8.cpp",
                "FIND was unable to find an engine to execute this computation",
            ),
        ),
    ),
    Message(
        "cudnn-version",
        re.compile("cuDNN version incompatibility"),
        (FactSource("torch/backends/cudnn/__init__.py", "cuDNN version incompatibility: "),),
    ),
    Message(
        "cudnn-rnn-eval",
        re.compile("(?:cudnn RNN backward|^RuntimeError: backward_\\w+) can only be called in training mode"),
        (FactSource("aten/src/ATen/native/cudnn/RNN.cpp", "cudnn RNN backward can only be called in training mode"),),
    ),
    Message(
        "cublas-status",
        re.compile(
            "CUBLAS_STATUS_(?:EXECUTION_FAILED|INVALID_VALUE|NOT_SUPPORTED|INTERNAL_ERROR|ARCH_MISMATCH)"
            "|cublas runtime error : "
        ),
        (FactSource("aten/src/ATen/cuda/Exceptions.cpp", "CUBLAS_STATUS_EXECUTION_FAILED"),),
    ),
    Message(
        "cublas-handle",
        re.compile("CUBLAS_STATUS_NOT_INITIALIZED"),
        (
            FactSource("aten/src/ATen/cuda/Exceptions.cpp", "CUBLAS_STATUS_NOT_INITIALIZED"),
            FactSource("aten/src/ATen/cuda/CublasHandlePool.cpp", "cublasCreate(handle)"),
        ),
    ),
    Message(
        "flash-needs-ampere",
        re.compile("FlashAttention only supports Ampere GPUs or newer"),
        (
            FactSource(
                "aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp",
                "FlashAttention only supports Ampere GPUs or newer.",
            ),
        ),
    ),
    Message(
        "mps-memory",
        re.compile("MPS backend out of memory"),
        (FactSource("aten/src/ATen/mps/MPSAllocator.mm", "MPS backend out of memory ("),),
    ),
    Message(
        "mps-float64",
        re.compile("Cannot convert a MPS Tensor to float64 dtype"),
        (FactSource("aten/src/ATen/mps/EmptyTensor.cpp", "Cannot convert a MPS Tensor to float64 dtype "),),
    ),
    Message(
        "mps-missing",
        re.compile("is not currently implemented for the MPS device"),
        (FactSource("aten/src/ATen/mps/MPSFallback.mm", "for the MPS device. If you want this op to be"),),
    ),
    Message(
        "mps-placeholder",
        re.compile("Placeholder storage has not been allocated on MPS device"),
        (
            FactSource(
                "aten/src/ATen/native/mps/OperationUtils.mm",
                "Placeholder storage has not been allocated on MPS device!",
            ),
        ),
    ),
    Message(
        "cpu-memory",
        re.compile(r"(?:DefaultCPUAllocator|\$ Torch): (?:can't allocate memory|not enough memory)"),
        (
            FactSource(
                "c10/core/impl/alloc_cpu.cpp", "DefaultCPUAllocator: can't allocate memory: you tried to allocate "
            ),
        ),
    ),
    Message(
        "size-overflows",
        re.compile("Storage size calculation overflowed with sizes"),
        (FactSource("aten/src/ATen/EmptyTensor.cpp", "Storage size calculation overflowed with sizes="),),
    ),
    Message(
        "worker-without-memory",
        re.compile(
            r"DataLoader worker \(pid.{1,100}\) is killed by signal: Bus error"
            "|Unexpected bus error encountered in worker"
        ),
        (
            FactSource("torch/csrc/DataLoader.cpp", "by signal: "),
            FactSource("torch/csrc/DataLoader.cpp", "Unexpected bus error encountered in worker"),
        ),
    ),
    Message(
        "worker-exit-code",
        re.compile(r"DataLoader worker \(pid \d+\) exited unexpectedly with exit code (?P<given>-?\d+)"),
        (FactSource("torch/csrc/DataLoader.cpp", "Details are lost due to"),),
    ),
    Message(
        "worker-exited",
        re.compile(r"DataLoader worker \(pid\(s\) [\d, ]{1,200}\) exited unexpectedly"),
        (FactSource("torch/utils/data/dataloader.py", ") exited unexpectedly"),),
    ),
    Message(
        "worker-segfault",
        re.compile(r"DataLoader worker \(pid.{1,100}\) is killed by signal: (?:Segmentation fault|Aborted)"),
        (FactSource("torch/csrc/DataLoader.cpp", "by signal: "),),
    ),
    Message(
        "open-files",
        re.compile(
            r"Too many open files\. Communication with the workers is no longer possible|received \d+ items"
            r" of ancdata|OSError: \[Errno 24\] Too many open files"
        ),
        (FactSource("torch/utils/data/dataloader.py", "Too many open files. Communication with the"),),
    ),
    Message(
        "loader-timed-out",
        re.compile(r"DataLoader timed out after \d+ seconds"),
        (FactSource("torch/utils/data/dataloader.py", "DataLoader timed out after "),),
    ),
    Message(
        "collate-class",
        re.compile(
            "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found"
            r" (?:<class ')?(?P<given>[\w.]+)"
        ),
        (FactSource("torch/utils/data/_utils/collate.py", "dicts or lists; found {}"),),
    ),
    Message(
        "collate-lengths",
        re.compile("each element in list of batch should be of equal size"),
        (FactSource("torch/utils/data/_utils/collate.py", "each element in list of batch should be of equal size"),),
    ),
    Message(
        "no-samples",
        re.compile("num_samples should be a positive integer value, but got num_samples=0"),
        (
            FactSource(
                "torch/utils/data/sampler.py", "num_samples should be a positive integer value, but got num_samples="
            ),
        ),
    ),
    Message(
        "shared-memory",
        re.compile(
            r"unable to (?:mmap \d+ bytes from file|open shared memory object|write to file|allocate shared"
            " memory|resize file)"
        ),
        (FactSource("aten/src/ATen/MapAllocator.cpp", "unable to mmap "),),
    ),
    Message(
        "start-of-process",
        re.compile(
            r"An attempt has been made to start a new process before the\s+current process has finished its"
            " bootstrapping phase"
        ),
        (),
    ),
    Message(
        "pickle-broken",
        re.compile("pickle data was truncated|could not find MARK|Ran out of input"),
        (),
    ),
    Message(
        "not-picklable",
        re.compile(
            r"Can't pickle (?:local object|<|\w)|Can't get local object '|cannot pickle '[^']{1,80}' object"
            r"|Can't get attribute '\w{1,80}' on <module '__mp_main__'"
        ),
        (),
    ),
    Message(
        "file-inside-archive",
        re.compile(
            r"A load persistent id instruction was encountered,\s+but no persistent_load function was"
            " specified"
        ),
        (),
    ),
    Message(
        "zip-broken",
        re.compile(
            r"PytorchStreamReader failed (?:reading|locating(?! file constants\.pkl)|finding|in)"
            "|failed finding central directory"
            r"|enforce fail at inline_container\.cc:\d+\] ?\. file not found"
        ),
        (FactSource("caffe2/serialize/inline_container.cc", "PytorchStreamReader failed "),),
    ),
    Message(
        "archive-of-save",
        re.compile(r"PytorchStreamReader failed locating file constants\.pkl"),
        (FactSource("caffe2/serialize/inline_container.cc", "PytorchStreamReader failed "),),
    ),
    Message(
        "file-broken",
        re.compile(
            r"Invalid magic number; corrupt file\?|unexpected EOF, expected \d+ more bytes|invalid load"
            " key, '"
        ),
        (
            FactSource("torch/serialization.py", "Invalid magic number; corrupt file?"),
            FactSource("torch/csrc/serialization.cpp", "The file might be corrupted."),
        ),
    ),
    Message(
        "nccl-timeout",
        re.compile("Watchdog caught collective operation timeout|we are taking the entire process down"),
        (
            FactSource(
                "torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp",
                "Watchdog caught collective operation timeout: ",
            ),
        ),
    ),
    Message("nccl-duplicate", re.compile("Duplicate GPU detected"), ()),
    Message(
        "nccl-failed",
        re.compile(
            r"NCCL (?:error in|[Ee]rror(?: \d+)?):|ncclUnhandledCudaError|ncclSystemError|ncclRemoteError"
            "|ncclInternalError|ncclInvalidUsage"
        ),
        (FactSource("torch/csrc/distributed/c10d/NCCLUtils.hpp", "NCCL error in: "),),
    ),
    Message(
        "nccl-aborted",
        re.compile("NCCL communicator was aborted on rank"),
        (
            FactSource(
                "torch/csrc/distributed/c10d/NCCLUtils.cpp", "NCCL communicator was aborted on rank ", until="2.6"
            ),
        ),
    ),
    Message(
        "child-signal",
        re.compile(
            r"ChildFailedError: .{0,2000}?Root Cause \(.{0,600}?exitcode +: -(?P<given>\d{1,3})\b"
            r"|\bprocess \d+ terminated with signal (?P<name>SIG\w+)",
            re.DOTALL,
        ),
        (
            FactSource(
                "torch/distributed/elastic/multiprocessing/errors/__init__.py", "Root Cause (first observed failure):"
            ),
            FactSource("torch/multiprocessing/spawn.py", "terminated with signal "),
        ),
    ),
    Message(
        "child-failed",
        re.compile(r"ChildFailedError: (?!.{0,3000}exitcode +: -\d)", re.DOTALL),
        (
            FactSource(
                "torch/distributed/elastic/multiprocessing/errors/__init__.py", "Root Cause (first observed failure):"
            ),
        ),
    ),
    Message(
        "address-in-use",
        re.compile(
            "The server socket has failed to listen on any local network address"
            r"|server socket has failed to bind to \S{1,60} \(errno: \d{1,3} - Address already in use\)|EADDRINUSE"
        ),
        (
            FactSource(
                "torch/csrc/distributed/c10d/socket.cpp",
                "The server socket has failed to listen on any local network address.",
            ),
        ),
    ),
    Message(
        "store-timeout",
        re.compile(r"(?:client socket has timed out after|wait timeout after) \d+ ?m?s|Error: Socket Timeout\b"),
        (
            FactSource("torch/csrc/distributed/c10d/socket.cpp", "The client socket has timed out after "),
            FactSource("torch/csrc/distributed/c10d/TCPStore.cpp", "wait timeout after "),
        ),
    ),
    Message(
        "no-rank-given",
        re.compile(
            "environment variable (?P<name>RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT|LOCAL_RANK) expected, but not set"
        ),
        (FactSource("torch/distributed/rendezvous.py", "environment variable {var} expected, but not set"),),
    ),
    Message(
        "group-twice",
        re.compile("trying to initialize the default process group twice"),
        (FactSource("torch/distributed/distributed_c10d.py", "trying to initialize the default process group twice!"),),
    ),
    Message(
        "no-nccl",
        re.compile(
            "Distributed package doesn't have NCCL built in|ProcessGroupNCCL is only supported with GPUs,"
            " no GPUs found|NCCL backend .{0,40}not available"
        ),
        (
            FactSource("torch/distributed/distributed_c10d.py", "Distributed package doesn't have NCCL built in"),
            FactSource(
                "torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp",
                "ProcessGroupNCCL is only supported with GPUs, no GPUs found!",
            ),
        ),
    ),
    Message(
        "nothing-parallel",
        re.compile("DistributedDataParallel is not needed when a module doesn't have any parameter"),
        (FactSource("torch/nn/parallel/distributed.py", "doesn't have any parameter"),),
    ),
    Message(
        "backend-of-device",
        re.compile(r"No backend type associated with device type (?P<device>\w+)"),
        (FactSource("torch/csrc/distributed/c10d/ProcessGroup.cpp", "No backend type associated with device type "),),
    ),
    Message(
        "collectives-differ",
        re.compile("Detected mismatch between collectives on ranks"),
        (
            FactSource(
                "torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp", "Detected mismatch between collectives on ranks."
            ),
        ),
    ),
    Message(
        "vmap-random",
        re.compile("vmap: called random operation while in randomness error mode"),
        (
            FactSource(
                "aten/src/ATen/functorch/BatchRulesHelper.cpp",
                "vmap: called random operation while in randomness error mode.",
            ),
        ),
    ),
    Message(
        "vmap-sizes",
        re.compile("vmap: Expected all tensors to have the same size in the mapped dimension"),
        (FactSource("torch/_functorch/vmap.py", "vmap: Expected all tensors to have the same size in the mapped "),),
    ),
    Message(
        "grad-of-many",
        re.compile(r"to return a scalar [Tt]ensor, got tensor with \d+ dims"),
        (FactSource("torch/_functorch/eager_transforms.py", "got tensor with "),),
    ),
    Message(
        "requires-grad-in-transform",
        re.compile(r"You are attempting to call Tensor\.requires_grad_\(\)"),
        (FactSource("aten/src/ATen/functorch/DynamicLayer.cpp", "You are attempting to call Tensor.requires_grad_()"),),
    ),
    Message(
        "compile-branch",
        re.compile(
            "Dynamic control flow is not supported at the moment|Data-dependent (?:branching|jump)"
            "|generic_jump TensorVariable"
        ),
        (
            FactSource(
                "torch/_dynamo/symbolic_convert.py", "Dynamic control flow is not supported at the moment", until="2.6"
            ),
            FactSource("torch/_dynamo/symbolic_convert.py", "Data-dependent branching", since="2.13"),
        ),
    ),
    Message(
        "compile-guard",
        re.compile("Could not (?:guard on|extract specialized integer from) data-dependent expression"),
        (FactSource("torch/fx/experimental/symbolic_shapes.py", "Could not guard on data-dependent expression"),),
    ),
    Message(
        "compile-unsupported",
        re.compile(r"\A(?:: )?(?:torch\._dynamo\.exc\.)?Unsupported: (?!ONNX)(?P<what>[^\n]{1,200})"),
        (FactSource("torch/_dynamo/exc.py", "class Unsupported(TorchDynamoException)"),),
    ),
    Message(
        "export-constraints",
        re.compile(r"Constraints violated \("),
        (FactSource("torch/fx/experimental/symbolic_shapes.py", "Constraints violated ("),),
    ),
    Message(
        "no-triton",
        re.compile("Cannot find a working triton installation"),
        (
            FactSource("torch/_inductor/scheduler.py", "Cannot find a working triton installation", until="2.6"),
            FactSource("torch/_inductor/exc.py", "Cannot find a working triton installation", since="2.13"),
        ),
    ),
    Message(
        "no-compiler",
        re.compile(
            r"InvalidCxxCompiler|No working C\+\+ compiler found in|Failed to find C compiler|Compiler: cl"
            " is not found"
        ),
        (FactSource("torch/_inductor/exc.py", "No working C++ compiler found in "),),
    ),
    Message(
        "cudagraph-overwritten",
        re.compile("accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run"),
        (
            FactSource(
                "torch/_inductor/cudagraph_trees.py",
                "accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run.",
            ),
        ),
    ),
    Message(
        "compile-double-backward",
        re.compile(r"torch\.compile with aot_autograd does not currently support double backward"),
        (
            FactSource(
                "torch/_functorch/_aot_autograd/runtime_wrappers.py",
                "torch.compile with aot_autograd does not currently support double backward",
            ),
        ),
    ),
    Message(
        "compile-python",
        re.compile(
            r"torch\.compile is not (?:yet )?supported on Python|Dynamo is not supported on Python|Python"
            r" 3\.1\d\+ not yet supported for torch\.compile|Windows not yet supported for torch\.compile"
        ),
        (FactSource("torch/__init__.py", "torch.compile is not supported on Python "),),
    ),
    Message(
        "traced-branch",
        re.compile("symbolically traced variables cannot be used as inputs to control flow"),
        (FactSource("torch/fx/proxy.py", "symbolically traced variables cannot be used as inputs to control flow"),),
    ),
    Message(
        "script-builtin",
        re.compile(r"Unknown builtin op: (?P<name>[\w:.]+)"),
        (FactSource("torch/csrc/jit/frontend/schema_matching.cpp", "Unknown builtin op: "),),
    ),
    Message(
        "traced-output",
        re.compile(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced"
            " functions|Tracer cannot infer type of"
        ),
        (
            FactSource(
                "torch/csrc/jit/frontend/tracer.cpp",
                "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions",
            ),
            FactSource("torch/csrc/jit/python/pybind_utils.h", "Tracer cannot infer type of "),
        ),
    ),
    Message(
        "onnx-operator",
        re.compile(r"Exporting the operator '?(?P<name>[\w:.]+)'? to ONNX opset version \d+ is not supported"),
        (
            FactSource("torch/onnx/_internal/diagnostics/_rules.py", " to ONNX opset version ", until="2.6"),
            FactSource("torch/onnx/errors.py", " to ONNX opset version ", since="2.13"),
        ),
    ),
    Message(
        "onnx-shape",
        re.compile(
            r"Unsupported: ONNX export of (?:operator )?(?P<name>\w+)(?![^\n]{0,200}(?: supported\.|try opset))"
        ),
        (
            FactSource("torch/onnx/symbolic_opset9.py", "Unsupported: ONNX export of ", until="2.6"),
            FactSource(
                "torch/onnx/_internal/torchscript_exporter/symbolic_opset9.py",
                "Unsupported: ONNX export of ",
                since="2.13",
            ),
        ),
    ),
    Message(
        "traced-constant",
        re.compile("of traced region did not have observable data dependence with trace inputs"),
        (FactSource("torch/csrc/jit/frontend/tracer.cpp", ") of traced region did not have observable "),),
    ),
    Message(
        "onnx-export-step",
        re.compile(
            r"Failed to export the model with torch\.export|Failed to convert the exported program to an"
            " ONNX model"
        ),
        (FactSource("torch/onnx/_internal/exporter/_core.py", "Failed to export the model with torch.export."),),
    ),
    Message(
        "cuda-versions",
        re.compile(
            r"The detected CUDA version \((?P<given>[\d.]+)\) mismatches the version that was used to"
            r" compile\s+PyTorch \((?P<size>[\d.]+)\)"
        ),
        (FactSource("torch/utils/cpp_extension.py", "The detected CUDA version ("),),
    ),
    Message(
        "no-cuda-home",
        re.compile("CUDA_HOME environment variable is not set"),
        (FactSource("torch/utils/cpp_extension.py", "CUDA_HOME environment variable is not set. "),),
    ),
    Message(
        "no-ninja",
        re.compile(r"Ninja is required to load C\+\+ extensions"),
        (FactSource("torch/utils/cpp_extension.py", "Ninja is required to load C++ extensions"),),
    ),
    Message(
        "extension-not-built",
        re.compile(
            r"Error building extension '|Error compiling objects for extension"
            r"|Command '\['ninja', '-v'[^\n]{0,40}returned"
        ),
        (FactSource("torch/utils/cpp_extension.py", "Error building extension"),),
    ),
    Message("torch-not-imported", re.compile(r"undefined symbol: THP\w+"), ()),
    Message("python-library-of-another", re.compile(r"undefined symbol: (?P<name>_?Py[A-Z]\w{1,100})"), ()),
    Message(
        "device-placeholder",
        re.compile(r"Tried to instantiate dummy base class (?P<name>\w+)"),
        (FactSource("torch/_utils.py", "Tried to instantiate dummy base class "),),
    ),
    Message(
        "no-pinned-memory",
        re.compile(r"Need to provide pin_memory allocator to use pin memory"),
        (
            FactSource(
                "aten/src/ATen/EmptyTensor.cpp", "Need to provide pin_memory allocator to use pin memory", until="2.7"
            ),
        ),
    ),
    Message(
        "subclasses-refuse",
        re.compile(
            r"(?:no implementation found|Multiple dispatch failed) for '(?P<name>[\w.]+)'"
            r"(?: on types that|; all __torch_)"
        ),
        (FactSource("torch/overrides.py", "no implementation found for '"),),
    ),
    Message(
        "torch-builds-mixed",
        re.compile(
            r"[/\\]torch[/\\](?:lib[/\\])?(?P<name>lib(?:torch|c10|shm)\w*\.so|_C[\w.-]{0,60}\.so)[\d.]*:"
            r" undefined symbol: _Z"
        ),
        (),
    ),
    Message(
        "torch-libraries-mixed",
        re.compile(
            r"[/\\]torch[/\\]lib[/\\](?P<name>lib(?:torch|c10)\w*\.so)[\d.]*: undefined symbol: (?:cuda[A-Z]|nvrtc)\w+"
        ),
        (),
    ),
    Message(
        "torch-libraries-missing",
        re.compile(r"(?P<name>lib[\w.*-]{1,60})(?:\[0-9\])? not found in the system path"),
        (FactSource("torch/__init__.py", " not found in the system path "),),
    ),
    Message(
        "torch-stack-executable",
        re.compile(r"cannot enable executable stack as shared object requires"),
        (),
    ),
    Message(
        "bare-check",
        re.compile(
            r"\b_check\w*\((?P<given>[^\n]{1,200}?),?\)?\n(?:[\s~^]{1,200}\n)?"
            r"\s*File \"[^\"\n]{1,300}[/\\]torch[/\\]__init__\.py\", line \d+, in _check\w*\n[^\"]{0,400}"
            r"(?:File \"[^\"\n]{1,300}\"[^\"]{0,400}){0,2}Expected cond to be True"
        ),
        (FactSource("torch/__init__.py", "Expected cond to be True, but got False"),),
        anywhere=True,
    ),
    Message("undefined-symbol", re.compile(r"undefined symbol: (?P<name>_ZN?K?[\w.]*(?:c10|at|torch|caffe2)\w*)"), ()),
    Message(
        "library-missing",
        re.compile(
            "(?P<name>lib(?:cudart|cublas|cudnn|nccl|cufft|cusparse|cusolver|curand|cupti|nvrtc|nvJitLink|torch"
            r"|c10)[\w.-]*): cannot open shared object file"
        ),
        (),
    ),
    Message(
        "quantized-engine",
        re.compile(r"Didn't find engine for operation (?P<name>\S{1,80})"),
        (FactSource("aten/src/ATen/native/quantized/cpu/qlinear.cpp", "Didn't find engine for operation "),),
    ),
    Message(
        "stft-complex",
        re.compile("stft requires the return_complex parameter"),
        (FactSource("aten/src/ATen/native/SpectralOps.cpp", "stft requires the return_complex parameter be given"),),
    ),
    Message(
        "clients-missing",
        re.compile(r"Timed out after \d+ seconds waiting for clients\. (?P<given>\d+)/(?P<size>\d+) clients joined"),
        (FactSource("torch/csrc/distributed/c10d/TCPStore.cpp", " seconds waiting for clients. "),),
    ),
    Message(
        "no-master",
        re.compile(r"client socket has failed to connect to|The connection to the C10d store has failed"),
        (
            FactSource(
                "torch/csrc/distributed/c10d/socket.cpp",
                "The client socket has failed to connect to any network address of ",
            ),
            FactSource(
                "torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py",
                "The connection to the C10d store has failed",
            ),
        ),
    ),
    Message(
        "store-barrier",
        re.compile(
            r"Timed out initializing process group in store based barrier on rank"
            r"(?:.{0,200}\(world_size=(?P<size>\d+), (?:worker_count|num_workers_joined)=(?P<given>\d+))?"
        ),
        (
            FactSource(
                "torch/distributed/distributed_c10d.py",
                "Timed out initializing process group in store based barrier on ",
            ),
        ),
    ),
    Message(
        "nccl-id",
        re.compile(r"is setting up NCCL communicator and retrieving ncclUniqueId from \[(?P<given>\d+)\]"),
        (FactSource("torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp", "] is setting up NCCL communicator and "),),
    ),
    Message(
        "disk-full",
        re.compile(r"PytorchStreamWriter failed writing|enforce fail at inline_container\.cc:\d+\] \. unexpected pos"),
        (
            FactSource("caffe2/serialize/inline_container.cc", "PytorchStreamWriter failed "),
            FactSource("caffe2/serialize/inline_container.cc", "unexpected pos "),
        ),
    ),
    Message(
        "vision-not-loaded",
        re.compile(r"operator torchvision::\w+ does not exist"),
        (FactSource("torch/csrc/utils/python_dispatch.cpp", "operator "),),
    ),
    Message(
        "operator-missing",
        re.compile(r"operator (?P<name>(?!torchvision)\w+::\w+) does not exist|No such operator (?P<given>\w+::\w+)"),
        (FactSource("torch/csrc/utils/python_dispatch.cpp", "operator "),),
    ),
    Message(
        "cuda-versions-mixed",
        re.compile(
            r"undefined symbol: (?P<name>__nvJitLink\w+|cu(?:blas|dnn|sparse|fft|solver)\w+|nccl\w+)|(?P<give"
            r"n>libcu\w+|libnv\w+)[\w.]*: version `\S+' not found"
        ),
        (),
    ),
    Message(
        "mkl-version",
        re.compile(r"undefined symbol: iJIT_NotifyEvent"),
        (),
    ),
    Message(
        "cuda-forward",
        re.compile(
            r"forward compatibility was attempted on non supported HW|Error 80[34]: (?:forward|unsupported "
            r"display driver|system has unsupported)"
        ),
        (FactSource("c10/cuda/CUDAFunctions.cpp", "Unexpected error from cudaGetDeviceCount(). Did you run "),),
    ),
    Message(
        "cuda-fabric",
        re.compile(r"(?:Error 802|CUDA error): system not yet initialized"),
        (FactSource("c10/cuda/CUDAFunctions.cpp", "Unexpected error from cudaGetDeviceCount(). Did you run "),),
    ),
    Message(
        "triton-resources",
        re.compile(
            r"OutOfResources: out of resource: (?P<name>[\w ]+), Required: (?P<size>\d+), Hardware limit: "
            r"(?P<given>\d+)"
        ),
        (),
    ),
    Message(
        "tensors-and-dtensors",
        re.compile(r"got mixed torch\.Tensor and DTensor"),
        (FactSource("torch/distributed/tensor/_dispatch.py", "got mixed torch.Tensor and DTensor"),),
    ),
    Message(
        "flattened-dtypes",
        re.compile(
            r"(?:Must flatten tensors with|`?FlatParameter`? requires) uniform dtype but got (?P<given>\S+) "
            r"and (?P<size>\S+)"
        ),
        (FactSource("torch/distributed/fsdp/_flat_param.py", "Must flatten tensors with uniform dtype but got "),),
    ),
    Message(
        "flattened-flags",
        re.compile(r"(?:Must flatten tensors with|`?FlatParameter`? requires) uniform `requires_grad`"),
        (
            FactSource(
                "torch/distributed/fsdp/_flat_param.py", "Must flatten tensors with uniform `requires_grad` when "
            ),
        ),
    ),
    Message(
        "cuda-ecc",
        re.compile(r"CUDA error: uncorrectable ECC error encountered|uncorrectable NVLink error"),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "cuda-launch-timeout",
        re.compile(r"CUDA error: the launch timed out and was terminated"),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "cuda-resources",
        re.compile(r"CUDA error: too many resources requested for launch"),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "windows-library",
        re.compile(r"\[WinError (?:126|127|193|1114|182)\].{0,300}Error loading \""),
        (FactSource("torch/__init__.py", "or one of its dependencies."),),
    ),
    Message(
        "paging-file",
        re.compile(r"\[WinError 1455\]"),
        (),
    ),
    Message(
        "cufft-failed",
        re.compile(r"cuFFT error: CUFFT_\w+|CUFFT_INTERNAL_ERROR"),
        (FactSource("aten/src/ATen/native/cuda/CuFFTUtils.h", "cuFFT error: "),),
    ),
    Message(
        "cusolver-failed",
        re.compile(r"cusolver error: CUSOLVER_STATUS_\w+"),
        (FactSource("aten/src/ATen/cuda/Exceptions.h", "cusolver error: "),),
    ),
    Message(
        "pinned-memory",
        re.compile(r"cannot pin '\S+' only dense CPU tensors can be pinned"),
        (FactSource("aten/src/ATen/native/Memory.cpp", " only dense CPU tensors can be pinned"),),
    ),
    Message(
        "sampler-and-shuffle",
        re.compile(r"(?P<name>sampler|batch_sampler) option is mutually exclusive with"),
        (FactSource("torch/utils/data/dataloader.py", "sampler option is mutually exclusive with"),),
    ),
    Message(
        "prefetch-without-workers",
        re.compile(
            r"(?:prefetch_factor|timeout) option could only be specified in "
            r"multiprocessing|persistent_workers option needs num_workers > 0"
        ),
        (
            FactSource("torch/utils/data/dataloader.py", "option could only be specified in multiprocessing"),
            FactSource("torch/utils/data/dataloader.py", "persistent_workers option needs num_workers > 0"),
        ),
    ),
    Message(
        "state-dict-class",
        re.compile(r"Expected state_dict to be dict-like, got (?:<class ')?(?P<given>[\w.]+)"),
        (FactSource("torch/nn/modules/module.py", "Expected state_dict to be dict-like, got "),),
    ),
    Message(
        "script-arguments",
        re.compile(r"Compiled functions can't take variable number of arguments"),
        (FactSource("torch/jit/frontend.py", "Compiled functions can't take variable number of arguments "),),
    ),
    Message(
        "traced-with-grad",
        re.compile(r"Cannot insert a Tensor that requires grad as a constant"),
        (
            FactSource(
                "torch/csrc/jit/frontend/tracer.cpp", "Cannot insert a Tensor that requires grad as a constant. "
            ),
        ),
    ),
    Message(
        "exported-shape",
        re.compile(
            r"Guard failed: (?P<name>[^\n]{1,120})|Expected input at "
            r"(?P<given>\S{1,200}?)(?:\.shape\[\d+\])? to be equal to"
        ),
        (FactSource("torch/_export/utils.py", "to be equal to ", until="2.6"),),
    ),
    Message(
        "parallel-devices",
        re.compile(
            r"input module must be on the same type of devices, but input module parameters locate in "
            r"(?P<given>\{[^}]{1,80}\})"
        ),
        (FactSource("torch/nn/parallel/distributed.py", "input module parameters locate in"),),
    ),
    Message(
        "cublas-workspace",
        re.compile(r"CUBLAS_WORKSPACE_CONFIG|this operation is not deterministic because it uses CuBLAS"),
        (FactSource("aten/src/ATen/Context.cpp", "CUBLAS_WORKSPACE_CONFIG", until="2.6"),),
    ),
    Message(
        "no-onnxscript",
        re.compile(r"No module named '(?P<name>onnxscript|onnx|onnx_ir)'"),
        (),
    ),
    Message(
        "recompiled-often",
        re.compile(
            r"(?:recompile_limit|cache_size_limit) reached|hit "
            r"config\.(?:recompile_limit|cache_size_limit)|FailOnRecompileLimitHit"
        ),
        (FactSource("torch/_dynamo/convert_frame.py", "torch._dynamo hit config.%s"),),
    ),
    Message(
        "compile-backend",
        re.compile(r"backend='(?P<name>\w+)' raised:"),
        (FactSource("torch/_dynamo/exc.py", " raised:"),),
    ),
    Message(
        "torch-lacks",
        re.compile(
            r"module '(?P<owner>torch[\w.]*)' has no attribute '(?P<name>\w+)'|cannot import name "
            r"'(?P<given>\w+)' from (?:partially initialized module )?'(?P<size>torch[\w.]*)'"
        ),
        (),
    ),
    Message(
        "torch-not-installed",
        re.compile(r"No module named 'torch(?:\._C)?'"),
        (),
    ),
    Message(
        "models-differ",
        re.compile(
            r"DDP expects same model across all ranks|appears not to match (?:sizes|strides) of the same "
            r"param in process 0"
        ),
        (
            FactSource("torch/csrc/distributed/c10d/reducer.cpp", "DDP expects same model across all ranks, but Rank "),
            FactSource(
                "torch/csrc/distributed/c10d/reducer.cpp", " appears not to match sizes of the same param in process 0"
            ),
        ),
    ),
    Message(
        "child-exit-code",
        re.compile(r"process \d+ terminated with exit code (?P<given>\d+)"),
        (FactSource("torch/multiprocessing/spawn.py", "terminated with exit code "),),
    ),
    Message(
        "start-method-twice",
        re.compile(r"context has already been set"),
        (),
    ),
    Message(
        "cuda-function-missing",
        re.compile(
            r"(?:CUDA error|Triton Error \[CUDA\]): (?:invalid device function|device kernel image is invalid|"
            r"the provided PTX was compiled with an unsupported toolchain)"
        ),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "cuda-argument",
        re.compile(r"(?:CUDA error|cuda runtime error \(\d+\) ?): invalid argument"),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "nvml-missing",
        re.compile(r"NVML_SUCCESS == DriverAPI::get\(\)->nvmlInit_v2_\(\) INTERNAL ASSERT FAILED|nvmlInit_v2_\(\)"),
        (FactSource("c10/cuda/CUDACachingAllocator.cpp", "NVML_SUCCESS == DriverAPI::get()->nvmlInit_v2_()"),),
    ),
    Message(
        "hip-no-code",
        re.compile(
            r"hipErrorNoBinaryForGpu|HIP error: invalid device function|Unable to find code object for all "
            r"current devices"
        ),
        (),
    ),
    Message(
        "mps-pooling",
        re.compile(r"Adaptive pool MPS: input sizes must be divisible by output sizes"),
        (
            FactSource(
                "aten/src/ATen/native/mps/operations/AdaptivePooling.mm",
                "input sizes must be divisible by output sizes",
            ),
        ),
    ),
    Message(
        "mps-buffer",
        re.compile(r"Invalid buffer size: (?P<size>[\d.]+ \w+)"),
        (FactSource("aten/src/ATen/mps/MPSAllocator.mm", "Invalid buffer size: "),),
    ),
    Message(
        "file-too-new",
        re.compile(
            r"but the maximum supported version for reading is (?P<size>\d+)|version_ <= "
            r"kMaxSupportedFileFormatVersion"
        ),
        (FactSource("caffe2/serialize/inline_container.cc", "but the maximum supported version for reading is "),),
    ),
    Message(
        "storage-size-unknown",
        re.compile(r"storage has wrong (?:size: expected|byte size: expected %ld)"),
        (FactSource("torch/csrc/serialization.cpp", "storage has wrong byte size: expected "),),
    ),
    Message(
        "zip-in-old-torch",
        re.compile(r"is a zip archive \(did you mean to use torch\.jit\.load\(\)\?\)"),
        (FactSource("torch/serialization.py", "is a zip archive (did you mean to use torch.jit.load()?)"),),
    ),
    Message(
        "archive-without-version",
        re.compile(r"Expected hasRecord\(\"version\"\) to be true"),
        (FactSource("caffe2/serialize/inline_container.cc", 'hasRecord("version")'),),
    ),
    Message(
        "storage-size",
        re.compile(r"storage has wrong byte size: expected (?P<size>-?\d+) got (?P<given>-?\d+)"),
        (FactSource("torch/csrc/serialization.cpp", "storage has wrong byte size: expected "),),
    ),
    Message(
        "class-not-found",
        re.compile(r"Can't get attribute '(?P<name>\w+)' on <module '(?P<owner>(?!__mp_main__)[\w.]+)'"),
        (),
    ),
    Message(
        "script-call",
        re.compile(r"Arguments for call are not valid"),
        (FactSource("torch/csrc/jit/frontend/schema_matching.cpp", "Arguments for call are not valid."),),
    ),
    Message(
        "script-class",
        re.compile(
            r"[Ee]xpected (?:a )?value of type '?(?P<size>[^'\n]{1,80}?)'? for argument '(?P<name>\w+)'"
            r"(?: in position \d+)?,? but instead (?:found type|got value of type) '?(?P<given>[^'.\n]{1,80})"
        ),
        (FactSource("torch/csrc/jit/python/pybind_utils.cpp", " but instead found type "),),
    ),
    Message(
        "script-attribute",
        re.compile(r"This attribute exists on the Python module"),
        (FactSource("torch/jit/_recursive.py", "(This attribute exists on the Python module, "),),
    ),
    Message(
        "trace-differs",
        re.compile(r"Graphs differed across invocations!"),
        (FactSource("torch/jit/_trace.py", "ERROR: Graphs differed across invocations!"),),
    ),
    Message(
        "trace-fixes-value",
        re.compile(r"might cause the trace to be incorrect"),
        (FactSource("torch/csrc/jit/frontend/tracer.cpp", "might cause the trace to be incorrect"),),
    ),
    Message(
        "inductor-cpp",
        re.compile(r"CppCompileError|C\+\+ compile error"),
        (FactSource("torch/_inductor/exc.py", "C++ compile error"),),
    ),
    Message(
        "compile-fake-call",
        re.compile(
            r"Dynamo failed to run FX node with fake tensors|Failed running "
            r"(?:call_function|call_method|call_module) "
        ),
        (FactSource("torch/_dynamo/utils.py", "Failed running ", until="2.6"),),
    ),
    Message(
        "traced-by-fx",
        re.compile(r"using FX to symbolically trace\s{1,40}a dynamo-optimized function"),
        (
            FactSource(
                "torch/_dynamo/eval_frame.py", "a dynamo-optimized function. This is not supported at the moment."
            ),
        ),
    ),
    Message(
        "internal-assert",
        re.compile(r"INTERNAL ASSERT FAILED at \"?(?P<name>[^\"\s,]{1,200})"),
        (FactSource("c10/util/Exception.h", "INTERNAL ASSERT FAILED at "),),
    ),
    Message(
        "bad-alloc",
        re.compile(r"std::bad_alloc"),
        (),
    ),
    Message(
        "dynamo-internal",
        re.compile(r"InternalTorchDynamoError"),
        (FactSource("torch/_dynamo/exc.py", "class InternalTorchDynamoError"),),
    ),
    Message(
        "peer-closed",
        re.compile(r"Connection (?:closed|reset) by peer"),
        (),
    ),
    Message(
        "linalg-in-threads",
        re.compile(r"lazy wrapper should be called at most once"),
        (FactSource("aten/src/ATen/native/cuda/LinearAlgebraStubs.cpp", "lazy wrapper should be called at most once"),),
    ),
    Message(
        "nvrtc-architecture",
        re.compile(r"nvrtc: error: invalid value for --gpu-architecture"),
        (),
    ),
    Message(
        "event-device",
        re.compile(r"Event device type \w+ does not match (?:blocking|recording) stream's device type \w+"),
        (FactSource("c10/core/impl/InlineEvent.h", "stream's device type "),),
    ),
    Message(
        "shared-device",
        re.compile(r"_share_(?:filename|fd)_(?:cpu_)?: only available on CPU"),
        (FactSource("torch/csrc/StorageSharing.cpp", ": only available on CPU"),),
    ),
    Message(
        "gathered-size",
        re.compile(r"output tensor size must be equal to world_size times input tensor size"),
        (
            FactSource(
                "torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp",
                "output tensor size must be equal to world_size times input tensor size",
            ),
        ),
    ),
    Message(
        "sampler-rank",
        re.compile(r"Invalid rank (?P<given>-?\d+), rank should be in the interval \[0, (?P<size>-?\d+)\]"),
        (FactSource("torch/utils/data/distributed.py", "rank should be in the interval [0, "),),
    ),
    Message(
        "key-without-backend",
        re.compile(r"Unrecognized tensor type ID: (?P<name>\w+)"),
        (FactSource("c10/core/Backend.h", "Unrecognized tensor type ID: "),),
    ),
    Message(
        "file-mapping",
        re.compile(r"Couldn't open shared file mapping: <[^>]{0,200}>, error code: <(?P<given>\d+)>"),
        (FactSource("aten/src/ATen/MapAllocator.cpp", "Couldn't open shared file mapping: <", system="Windows"),),
    ),
    Message(
        "device-not-linked",
        re.compile(r"PyTorch is not linked with support for (?P<name>\w+) devices"),
        (FactSource("c10/core/impl/DeviceGuardImplInterface.h", "PyTorch is not linked with support for "),),
    ),
    Message(
        "pin-thread-ended",
        re.compile(r"Pin memory thread exited unexpectedly"),
        (FactSource("torch/utils/data/dataloader.py", "Pin memory thread exited unexpectedly"),),
    ),
    Message(
        "rendezvous-closed",
        re.compile(r"RendezvousClosedError"),
        (FactSource("torch/distributed/elastic/rendezvous/api.py", "class RendezvousClosedError"),),
    ),
)
