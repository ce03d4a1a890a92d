"""Messages about torch.compile, export, ONNX, TorchScript, and of compilers and libraries around torch.

The class of a row is `facts/message.py::Message`.
"""

from __future__ import annotations

import re

from ptexplore.facts.message import Message
from ptexplore.facts.source import FactSource

OF_BUILDS = (
    Message(
        "export-assigned",
        re.compile(
            r"The tensor attributes? .{1,300}? (?:was|were) assigned during export|Mutating modul"
            r"e attribute (?P<name>\w+) during export"
        ),
        (FactSource("torch/_functorch/aot_autograd.py", " assigned during export. ", until="2.6"),),
    ),
    Message(
        "capture-random",
        re.compile(r"Offset increment outside graph capture encountered unexpectedly"),
        (
            FactSource(
                "aten/src/ATen/cuda/CUDAGeneratorImpl.cpp",
                "Offset increment outside graph capture encountered unexpectedly.",
            ),
        ),
    ),
    Message(
        "donated-buffers",
        re.compile(r"This backward function was compiled with non-empty donated buffers"),
        (
            FactSource(
                "torch/_functorch/_aot_autograd/runtime_wrappers.py",
                "This backward function was compiled with non-empty donated buffers",
            ),
        ),
    ),
    Message(
        "subclass-guessed",
        re.compile(
            r"During the backward, we encountered a tensor subclass where we guessed its\s+metada"
            r"ta incorrectly"
        ),
        (
            FactSource(
                "torch/_functorch/_aot_autograd/runtime_wrappers.py",
                "During the backward, we encountered a tensor subclass where we guessed its",
            ),
        ),
    ),
    Message(
        "triton-gpu-too-old",
        re.compile(
            r"Found (?P<name>[^\n]{1,80}?) which is too old to be supported by the triton GPU com"
            r"piler"
        ),
        (
            FactSource(
                "torch/_inductor/exc.py", " which is too old to be supported by the triton GPU compiler", since="2.7"
            ),
        ),
    ),
    Message(
        "inductor-failed",
        re.compile(
            r"LoweringException: (?!.{0,300}(?:CppCompileError|OutOfResources))(?P<name>\w+)|Indu"
            r"ctorError: (?!CppCompileError|OutOfResources|TritonMissing|InvalidCxxCompiler|.{0,1"
            r"0}C\+\+ compile error)(?P<given>\w+)"
        ),
        (FactSource("torch/_inductor/exc.py", "class LoweringException"),),
    ),
    Message(
        "onnx-namespace",
        re.compile(
            r"ONNX export failed on an operator with unrecognized namespace (?P<name>[\w:.]+)|Cou"
            r"ldn't export Python operator (?P<given>\w+)"
        ),
        (FactSource("torch/csrc/jit/serialization/export.cpp", "Couldn't export Python operator "),),
    ),
    Message(
        "onnx-function-missing",
        re.compile(r"No ONNX function found for (?P<name>[^\n]{1,120}?)(?:\.|,|\s|$)"),
        (FactSource("torch/onnx/_internal/exporter/_core.py", "No ONNX function found for "),),
    ),
    Message(
        "onnx-too-large",
        re.compile(
            r"larger than the 2GiB limit imposed by the protobuf library|exceeds maximum protobuf"
            r" size of 2GB|protobuf.{0,40}2 ?Gi?B"
        ),
        (
            FactSource(
                "torch/csrc/jit/serialization/export.cpp",
                "The serialized model is larger than the 2GiB limit imposed by the protobuf library. ",
            ),
        ),
    ),
    Message("onnxruntime-shape", re.compile(r"Got invalid dimensions for input: (?P<name>\S{1,80})"), ()),
    Message(
        "mps-empty",
        re.compile(r"Placeholder tensor is empty!"),
        (FactSource("aten/src/ATen/native/mps/OperationUtils.mm", "Placeholder tensor is empty!"),),
    ),
    Message(
        "compiler-version",
        re.compile(
            r"The current installed version of (?P<name>\S+) \((?P<given>[^)\n]{1,30})\) is "
            r"(?P<owner>less|greater) than the (?:minimum|maximum) required version by CUDA "
            r"(?P<size>[\d.]+)"
        ),
        (FactSource("torch/utils/cpp_extension.py", "than the maximum required version by CUDA "),),
    ),
    Message(
        "nvcc-architecture",
        re.compile(
            r"nvcc fatal *: Unsupported gpu architecture '(?P<name>\w+)'|Unknown CUDA arch \("
            r"(?P<given>[^)\n]{1,20})\) or GPU not supported"
        ),
        (FactSource("torch/utils/cpp_extension.py", "Unknown CUDA arch ("),),
    ),
    Message(
        "torch-headers-missing",
        re.compile(
            r"fatal error: '?(?:torch|ATen|c10)/\S{1,80}:? (?:No such file|file not found)|Cannot"
            r" open include file: '(?:torch|ATen|c10)/"
        ),
        (),
    ),
    Message(
        "extension-for-old-torch",
        re.compile(
            r"""THC/THC\w*\.\w+: No such file|THC\w*\.h: No such file|(?:identifier )?[\"‘']?AT"""
            r"""_CHECK[\"’']? (?:is undefined|was not declared)|no member named 'type' in|has n"""
            r"o member named ‘data<"
        ),
        (),
    ),
    Message(
        "cuda-headers-missing",
        re.compile(
            r"fatal error: '?(?:cuda|cu(?:da_\w+|blas\w*|sparse\w*|solver\w*|rand\w*|fft\w*|dnn\w"
            r"*)|nvrtc|nccl|nvToolsExt)\.h:? (?:No such file|file not found)"
        ),
        (),
    ),
    Message("python-headers-missing", re.compile(r"fatal error: '?Python\.h:? (?:No such file|file not found)"), ()),
    Message("windows-extension", re.compile(r"DLL load failed while importing (?P<name>\w+)"), ()),
    Message("extension-not-imported", re.compile(r"name '(?P<name>_C|_ext|_cuda)' is not defined"), ()),
    Message(
        "library-too-old",
        re.compile(
            r"(?P<name>libstdc\+\+|libc|libm|libgomp)\.so\.\d+: version `(?P<given>[\w.]+)' not f"
            r"ound"
        ),
        (),
    ),
    Message("openmp-twice", re.compile(r"OMP: Error #15: Initializing (?P<name>[\w.+-]+)"), ()),
    Message("mkl-threads", re.compile(r"MKL_THREADING_LAYER=INTEL is incompatible with (?P<name>lib\S+)"), ()),
    Message("mkl-parts-differ", re.compile(r"INTEL (?:MKL|oneMKL) (?:FATAL )?ERROR"), ()),
    Message(
        "script-types",
        re.compile(
            r"Type mismatch: (?P<name>\w+) is set to type |Variable '(?P<given>\w+)' previously h"
            r"ad type "
        ),
        (
            FactSource("torch/csrc/jit/frontend/ir_emitter.cpp", "' previously had type "),
            FactSource("torch/csrc/jit/frontend/ir_emitter.cpp", " is set to type "),
        ),
    ),
    Message(
        "script-statement",
        re.compile(r"(?P<name>[\w ]{1,60}?) (?:\w+ )?aren't supported:"),
        (FactSource("torch/jit/frontend.py", "aren't supported"),),
    ),
    Message(
        "script-python-value",
        re.compile(
            r"Python builtin (?P<name><[^>\n]{1,80}>) is currently not supported in Torchscript|u"
            r"ndefined value (?P<given>\w{1,80})"
        ),
        (
            FactSource("torch/csrc/jit/python/python_sugared_value.cpp", " is currently not supported in Torchscript"),
            FactSource("torch/csrc/jit/frontend/ir_emitter.cpp", "undefined value "),
        ),
    ),
    Message(
        "script-module-index",
        re.compile(r"Expected integer literal for index but got a variable or non-integer"),
        (
            FactSource(
                "torch/csrc/jit/frontend/sugared_value.h",
                "Expected integer literal for index but got a variable or non-integer. ",
            ),
        ),
    ),
    Message(
        "script-no-attribute",
        re.compile(
            r"object has no attribute or method '(?P<name>\w+)'|module '(?P<given>[\w.]+)' has no"
            r" attribute '\w+' \(This"
        ),
        (FactSource("torch/csrc/jit/frontend/sugared_value.cpp", "' object has no attribute or method '"),),
    ),
    Message(
        "cuda-unknown",
        re.compile(r"CUDA error: unknown error"),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "cuda-handle",
        re.compile(r"CUDA error: (?:invalid resource handle|context is destroyed|invalid device context)"),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "cuda-peer",
        re.compile(
            r"CUDA error: peer (?:access is not supported|mapping resources exhausted)|peer acces"
            r"s is not supported between these two devices"
        ),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "cuda-unsupported",
        re.compile(
            r"CUDA error: (?:operation not supported|API call is not supported in the installed C"
            r"UDA driver|feature is not supported)|CUDA driver error: (?:invalid argument|operati"
            r"on not supported)"
        ),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "cuda-instruction",
        re.compile(
            r"CUDA error: an illegal instruction was encountered|CUDA error: invalid program coun"
            r"ter"
        ),
        (FactSource("c10/cuda/CUDAException.cpp", "CUDA error: "),),
    ),
    Message(
        "allocator-option",
        re.compile(
            r"Unrecognized (?:CachingAllocator option|key '?\w+'? in \w*CUDA\w*|key \S+ in "
            r"(?:CUDA )?allocator config)[: ]*(?P<name>\w*)"
        ),
        (FactSource("c10/cuda/CUDAAllocatorConfig.cpp", "Unrecognized CachingAllocator option: ", until="2.6"),),
    ),
    Message(
        "onednn-primitive",
        re.compile(r"could not (?:create|execute) a (?:primitive|memory|engine|descriptor)[\w ]{0,60}"),
        (),
    ),
    Message(
        "cudnn-library",
        re.compile(r"Could not (?:load library|locate) \S*cudnn\S*|Unable to load any of \{libcudnn\S*"),
        (),
    ),
    Message(
        "driver-library-missing",
        re.compile(
            r"(?P<name>libcuda\.so(?:\.1)?|nvcuda\.dll)(?::| ).{0,40}(?:cannot open shared object"
            r" file|not found)"
        ),
        (),
    ),
    Message(
        "system-library-missing",
        re.compile(
            r"(?P<name>lib(?!cuda\.|cudart|cublas|cudnn|nccl|cufft|cusparse|cusolver|curand|cupti|nvrtc|nvJit"
            r"Link|torch|c10)[\w+-]*\.so[\w.]*): cannot open shared object file"
        ),
        (),
    ),
    Message("gpu-not-usable", re.compile(r"Torch is not able to use GPU"), ()),
    Message(
        "no-wheel",
        re.compile(
            r"(?:Could not find a version that satisfies the requirement|No matching distribution"
            r" found for) torch(?P<name>\w*)|(?:torch\S*\.whl) is not a supported wheel on this p"
            r"latform"
        ),
        (),
    ),
    Message(
        "no-compiler-of-windows",
        re.compile(
            r"Microsoft Visual C\+\+ 14\.0 or greater is required|Error checking compiler version"
            r" for cl|UnicodeDecodeError.{0,200}in position \d+: invalid (?:start|continuation) b"
            r"yte.{0,0}cl\b"
        ),
        (),
    ),
    Message(
        "compiler-failed",
        re.compile(
            r"error: command '?\S{0,120}(?:gcc|g\+\+|cc|c\+\+|nvcc|cl\.exe|clang\+*)'? failed wit"
            r"h exit (?:status|code) \d+"
        ),
        (),
    ),
    Message(
        "compiler-killed",
        re.compile(
            r"\b(?:cc1plus|nvcc|cicc|ptxas).{0,40}(?:[Kk]illed|out of memory)|fatal error: Killed"
            r" signal terminated program (?P<name>\w+)"
        ),
        (),
    ),
    Message("vision-module-gone", re.compile(r"No module named 'torchvision\.transforms\.functional_tensor'"), ()),
    Message(
        "module-missing",
        re.compile(
            r"No module named '(?P<name>(?!torch\b|torch\.|onnx|onnxscript|numpy\._core|torchvisi"
            r"on\.)[\w.]+)'"
        ),
        (),
    ),
    Message(
        "script-interpreter",
        re.compile(
            r"The following operation failed in the TorchScript interpreter\.(?!.{0,8000}"
            r"(?:RuntimeError|Error): \S)"
        ),
        (
            FactSource(
                "torch/csrc/jit/runtime/interpreter.cpp",
                "The following operation failed in the TorchScript interpreter.",
            ),
        ),
    ),
    Message(
        "mps-no-operator-for-conv",
        re.compile(
            r"Conv3D is not supported on MPS|only supported natively starting macOS|MPS device.{0"
            r",60}macOS (?P<given>1\d(?:\.\d)?)"
        ),
        (),
    ),
    Message("pipe-broken", re.compile(r"BrokenPipeError: \[Errno 32\] Broken pipe"), ()),
    Message(
        "folder-given", re.compile(r"IsADirectoryError: \[Errno 21\] Is a directory: '(?P<given>[^'\n]{1,200})'"), ()
    ),
    Message("shape-of-inductor-dir", re.compile(r"Permission denied: '(?P<given>[^'\n]*torchinductor_[^'\n]*)'"), ()),
    Message(
        "compile-internal",
        re.compile(
            r"AssertionError: (?:Deduped args out of bounds|expected size \S+==\S+, stride \S+=="
            r"\S+ at dim=\d)|(?P<name>expected size \S+==\S+, stride \S+==\S+ at dim=\d+)"
        ),
        (),
    ),
    Message("mac-symbol", re.compile(r"Symbol not found: (?P<name>_?\w+)"), ()),
    Message(
        "symbol-of-another",
        re.compile(
            r"symbol (?P<name>\w+),? version (?P<given>\S+) not defined in file (?P<size>\S+) wit"
            r"h link time reference"
        ),
        (),
    ),
    Message("windows-module", re.compile(r"\[WinError (?P<given>126|127|193|1114)\](?!.{0,300}Error loading \")"), ()),
    Message(
        "mps-dtype",
        re.compile(
            r"Trying to convert (?P<dtype>\w+) to the MPS backend but it does not have support fo"
            r"r that dtype"
        ),
        (
            FactSource(
                "aten/src/ATen/native/mps/OperationUtils.mm",
                "to the MPS backend but it does not have support for that dtype.",
            ),
        ),
    ),
    Message(
        "edge-dialect",
        re.compile(
            r"SpecViolationError: (?:Operator (?P<name>\S+) is not Aten Canonical|These operators"
            r" are taking Tensor inputs with mismatched dtypes)"
        ),
        (FactSource("torch/_export/verifier.py", "class SpecViolationError"),),
    ),
    Message(
        "uncaught-in-cpp",
        re.compile(r"terminate called after throwing an instance of '(?P<name>[\w:]+)'\s*(?!\s*what)"),
        (),
    ),
    Message(
        "assert-in-graph",
        re.compile(r"\ARuntimeError: (?P<name>assertion error|Runtime assertion failed for[^\n]{0,200})"),
        (),
    ),
)
