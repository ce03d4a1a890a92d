"""The functions of PyTorch that choose the code that computes, the checks that they ask, and what the answers mean.

An answer is the value that a check returned in the stepped run. A check that the compiler inlined has no answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from ptexplore.facts.source import FactSource
from ptexplore.model import details as says
from ptexplore.model.details import Detail

_NATIVE = "aten/src/ATen/native"
_BYTE, _INT = 0xFF, 0xFFFFFFFF  # the parts of a register that hold a bool or an 8-bit enum, and a 32-bit enum


class Check(NamedTuple):
    """A function with the answer yes or no.

    `refused` is what its "no" means, as far as its code says; None if nothing is said.
    """

    function: str  # the qualified name, without template arguments
    source: FactSource
    refused: Detail | None = None


class Alternative(NamedTuple):
    """Code that a chooser takes if all checks of this code say yes."""

    name: str
    checks: tuple[Check, ...]  # in the order in which they are asked


class Answers(NamedTuple):
    """The enum that a chooser returns: its names in order, the number of the first, and its size."""

    names: tuple[str, ...]
    source: FactSource
    first: int = 0
    bits: Literal[8, 32] = 32

    def name(self, value: int) -> str:
        """Returns the name of a value; "" for a value that the enum does not have."""
        at = value - self.first
        return self.names[at] if 0 <= at < len(self.names) else ""


class Chooser(NamedTuple):
    """A function that decides which code computes.

    If it returns an enum, `answers` has the names. Otherwise it says yes or no, and `yes` and `no` say what follows.
    `on` is the row that shows the answer: its own row, or the row of the function that asks. The functions in
    `asked_for_more` ask it too, but decide by more than its answer: their rows show nothing of it.
    """

    function: str
    source: FactSource
    alternatives: tuple[Alternative, ...] = ()
    answers: Answers | None = None
    yes: Detail | None = None
    no: Detail | None = None
    on: Literal["itself", "caller"] = "caller"
    asked_for_more: tuple[tuple[str, FactSource], ...] = ()  # qualified names


def _in_order(file: str, names: tuple[str, ...]) -> FactSource:
    """Returns the place of an enum whose names have no numbers: the text has all names in this order."""
    return FactSource(file, ", ".join(names))


# --- attention: _fused_sdp_choice ---

_SDP = f"{_NATIVE}/transformers/sdp_utils_cpp.h"
_SDP_CPU = f"{_NATIVE}/transformers/sdp_utils_cpp.cpp"


def _of_attention(name: str, refused: Detail, file: str = _SDP, until: str = "") -> Check:
    return Check(f"sdp::{name}", FactSource(file, name, until=until), refused)


_FLASH_ON_CPU = (
    _of_attention("check_runtime_disabled_flash", says.FlashDisabled()),
    _of_attention("check_nested_tensor", says.InputIsNested()),
    _of_attention("check_for_dropout", says.DropoutGiven()),
    _of_attention("check_tensor_shapes", says.InputsNotOfFourDimensions()),
    _of_attention("check_batch_size_and_num_heads_dense", says.BatchesOrHeadsDiffer()),
    _of_attention("check_attn_mask_shape", says.MaskNotTaken()),
    _of_attention("check_head_dim_size_cpp", says.HeadSizesDiffer(), _SDP_CPU, until="2.6"),
    _of_attention("check_nonzero_sequence_lengths_dense", says.SequenceEmpty()),
    _of_attention("check_last_dim_stride_equals_1_dense", says.LastStrideNotOne()),
    _of_attention("check_tensor_dtype", says.DtypeNotTaken()),
)
SDP_BACKENDS = Answers(
    ("error", "math", "flash_attention", "efficient_attention", "cudnn_attention", "overrideable"),
    FactSource(
        "aten/src/ATen/SDPBackend.h",
        "error = -1, math = 0, flash_attention = 1, efficient_attention = 2, cudnn_attention = 3, overrideable = 4",
    ),
    first=-1,
)

# --- convolution ---

_CONVOLUTION = f"{_NATIVE}/Convolution.cpp"
_CONV_NAMES = (
    "CudaDepthwise2d", "CudaDepthwise3d", "Cudnn", "CudnnTranspose", "Empty", "Miopen", "MiopenDepthwise",
    "MiopenTranspose", "Mkldnn", "MkldnnTranspose", "MkldnnEmpty", "NnpackSpatial", "Overrideable", "Slow2d", "Slow3d",
    "SlowDilated2d", "SlowDilated3d", "SlowTranspose2d", "SlowTranspose3d", "Winograd3x3Depthwise", "Xnnpack2d", "Mps",
    "MpsTranspose",
)  # fmt: skip
CONV_BACKENDS = Answers(_CONV_NAMES, _in_order(f"{_NATIVE}/ConvUtils.h", _CONV_NAMES))


def _of_convolution(name: str, refused: Detail | None = None) -> Check:
    return Check(f"at::native::ConvParams::{name}", FactSource(_CONVOLUTION, name), refused)


_MKLDNN_ENABLED = Check(
    "at::Context::userEnabledMkldnn",
    FactSource("aten/src/ATen/Context.cpp", "userEnabledMkldnn"),
    says.MkldnnDisabled(),
)

# --- matrix products ---

_MATMUL = f"{_NATIVE}/mkldnn/Matmul.cpp"
_BATCH_NORM_NAMES = ("Native", "Cudnn", "Miopen")
BATCH_NORM_BACKENDS = Answers(_BATCH_NORM_NAMES, _in_order(f"{_NATIVE}/Normalization.h", _BATCH_NORM_NAMES))
_ITERATOR = "aten/src/ATen/TensorIterator.cpp"
_FAST_NAMES = ("NONE", "CONTIGUOUS", "CHANNELS_LAST", "NON_OVERLAPPING_DENSE")
FAST_SETUPS = Answers(_FAST_NAMES, _in_order("aten/src/ATen/TensorIterator.h", _FAST_NAMES), bits=8)
_EMBEDDING_BAG = f"{_NATIVE}/EmbeddingBag.cpp"
_BY_MODE_TOO = (  # these ask whether the fast path of a sum will need offset2bag; a mean and a maximum always need it
    ("at::native::make_offset2bag_out", FactSource(_EMBEDDING_BAG, "make_offset2bag_out")),
)
_INDEXING = f"{_NATIVE}/TensorAdvancedIndexing.cpp"

CHOOSERS = (
    Chooser(
        "sdp::select_sdp_backend_cpp",
        FactSource(_SDP_CPU, "select_sdp_backend_cpp"),
        (Alternative("flash_attention", _FLASH_ON_CPU),),
        SDP_BACKENDS,
        on="itself",
    ),
    Chooser(
        "at::native::_select_conv_backend",
        FactSource(_CONVOLUTION, "_select_conv_backend"),
        (
            Alternative("cuDNN", (_of_convolution("use_cudnn"),)),
            Alternative("cuDNN's depthwise", (_of_convolution("use_cudnn_depthwise"),)),
            Alternative("MIOpen", (_of_convolution("use_miopen"),)),
            Alternative("oneDNN", (_MKLDNN_ENABLED, _of_convolution("use_mkldnn", says.ByTypeSizeThreads()))),
            Alternative("NNPACK", (_of_convolution("use_nnpack"),)),
        ),
        CONV_BACKENDS,
        on="itself",
    ),
    Chooser(
        "at::native::_select_batch_norm_backend",
        FactSource(f"{_NATIVE}/Normalization.cpp", "_select_batch_norm_backend"),
        answers=BATCH_NORM_BACKENDS,
    ),
    Chooser(
        "at::native::use_mkldnn_matmul",
        FactSource(_MATMUL, "use_mkldnn_matmul"),
        (Alternative("oneDNN", (_MKLDNN_ENABLED,)),),
        yes=says.Takes(library="oneDNN"),
        no=says.NotTaken(library="oneDNN", means=says.ByTypePrecision()),
    ),
    Chooser(
        "at::native::mkldnn_reduced_f32_gemm",
        FactSource(_MATMUL, "mkldnn_reduced_f32_gemm", since="2.13"),
        yes=says.Takes(library="oneDNN"),
        no=says.NotTaken(library="oneDNN", means=says.ByPrecision()),
    ),
    Chooser(
        "at::native::mkldnn_bf32_gemm",
        FactSource(_MATMUL, "mkldnn_bf32_gemm", until="2.6"),
        yes=says.Takes(library="oneDNN"),
        no=says.NotTaken(library="oneDNN", means=says.ByPrecision()),
    ),
    Chooser(
        "at::native::mkldnn_bf16_gemm",
        FactSource(_MATMUL, "mkldnn_bf16_gemm"),
        yes=says.Takes(library="oneDNN"),
        no=says.NotTaken(library="oneDNN", means=says.BySizeProcessor()),
    ),
    Chooser(
        "at::native::mkldnn_fp16_gemm",
        FactSource(_MATMUL, "mkldnn_fp16_gemm"),
        yes=says.Takes(library="oneDNN"),
        no=says.NotTaken(library="oneDNN", means=says.BySizeProcessor()),
    ),
    Chooser(  # of an LSTM, GRU or RNN, and of an activation
        "at::native::use_mkldnn",
        FactSource(f"{_NATIVE}/RNN.cpp", "use_mkldnn"),
        (Alternative("oneDNN", (_MKLDNN_ENABLED,)),),
        yes=says.Takes(library="oneDNN"),
        no=says.NotTaken(library="oneDNN"),
    ),
    Chooser(
        "at::native::is_fast_path_index_select",
        FactSource(_EMBEDDING_BAG, "is_fast_path_index_select"),
        yes=says.FastEmbeddingBag(),
        no=says.SlowEmbeddingBag(),
        asked_for_more=_BY_MODE_TOO,
    ),
    Chooser(
        "at::native::is_fast_path_index_select_scale",
        FactSource(_EMBEDDING_BAG, "is_fast_path_index_select_scale"),
        yes=says.FastEmbeddingBag(),
        no=says.SlowEmbeddingBag(),
        asked_for_more=_BY_MODE_TOO,
    ),
    Chooser(  # of gather, scatter_add and scatter_reduce
        "at::native::can_use_expanded_index_path",
        FactSource(_INDEXING, "can_use_expanded_index_path"),
        yes=says.ExpandedIndex(),
        no=says.NotExpandedIndex(),
    ),
    Chooser(  # it asks the next function, whose answer is said
        "at::TensorIteratorBase::fast_set_up",
        FactSource(_ITERATOR, "fast_set_up"),
    ),
    Chooser(
        "at::TensorIteratorBase::compute_fast_setup_type",
        FactSource(_ITERATOR, "compute_fast_setup_type"),
        answers=FAST_SETUPS,
    ),
)  # fmt: skip


class Algorithm(NamedTuple):
    """An algorithm of the C++ standard library, and functions inside it that only it calls in libstdc++."""

    name: str
    functions: tuple[str, ...]
    source: FactSource  # a file of PyTorch that calls it, or the operator that asks for it


_TOPK = f"{_NATIVE}/TopKImpl.h"
_STABLE_SORT = FactSource(f"{_NATIVE}/native_functions.yaml", "sort.stable(Tensor self, *, bool? stable")
_STABLE = (
    "std::__merge_sort_with_buffer", "std::__merge_adaptive", "std::__merge_adaptive_resize",
    "std::__stable_sort_adaptive", "std::__stable_sort_adaptive_resize", "std::__inplace_stable_sort",
    "std::__merge_without_buffer",
)  # fmt: skip
ALGORITHMS = (  # one of them may call another: std::sort ends with a partial sort if it recurses too deeply
    Algorithm("std::sort", ("std::__introsort_loop",), FactSource(_TOPK, "std::sort(")),
    Algorithm("std::stable_sort", _STABLE, _STABLE_SORT),
    Algorithm("std::nth_element", ("std::__introselect",), FactSource(_TOPK, "std::nth_element(")),
    Algorithm("std::partial_sort", ("std::__heap_select",), FactSource(_TOPK, "std::partial_sort(")),
)
BY_PART = {function: row.name for row in ALGORITHMS for function in row.functions}


class PythonChooser(NamedTuple):
    """A Python function that decides which code computes, and the variables that say what it decided at its end."""

    file: str  # below the folder of torch
    function: str
    variables: tuple[str, ...]  # the first one tells the function from others of the same name
    source: FactSource


PYTHON_CHOOSERS = (
    PythonChooser(
        "nn/modules/activation.py", "forward", ("why_not_fast_path",),
        FactSource("torch/nn/modules/activation.py", "why_not_fast_path = "),
    ),
    PythonChooser(  # of TransformerEncoder and TransformerEncoderLayer
        "nn/modules/transformer.py", "forward", ("why_not_sparsity_fast_path",),
        FactSource("torch/nn/modules/transformer.py", "why_not_sparsity_fast_path = "),
    ),
    PythonChooser(
        "optim/optimizer.py", "_default_to_fused_or_foreach",
        ("fused", "foreach", "differentiable", "foreach_supported_devices"),
        FactSource("torch/optim/optimizer.py", "return fused, foreach"),
    ),
)  # fmt: skip
BY_FUNCTION = {chooser.function: chooser for chooser in CHOOSERS}
_CHECKS = {check.function: check for row in CHOOSERS for each in row.alternatives for check in each.checks}
GRAD_MODE = Check("c10::GradMode::is_enabled", FactSource("c10/core/GradMode.h", "static bool is_enabled();"))
_ASKED = frozenset({*BY_FUNCTION, *_CHECKS, GRAD_MODE.function})
_LAST_NAMES = tuple(frozenset(name.rpartition("::")[2] for name in _ASKED))


def may_answer(symbol: str) -> bool:
    """Whether a demangled name may belong to a function in the tables. Faster than reading the whole name."""
    return any(name in symbol for name in _LAST_NAMES)


def is_enum(function: str) -> bool:
    """Whether a function returns an enum."""
    return function in BY_FUNCTION and BY_FUNCTION[function].answers is not None


def answer(function: str, register: int) -> int | None:
    """Returns the answer in the register of a return value, or None if the function is not in the tables.

    Returns None for a value that the function cannot return, too.
    """
    if function not in _ASKED:
        return None
    answers = BY_FUNCTION[function].answers if function in BY_FUNCTION else None
    if answers is None:
        value = register & _BYTE
        return value if value < 2 else None
    value = register & (_BYTE if answers.bits == 8 else _INT)
    if answers.bits == 32 and value >> 31:
        value -= 1 << 32
    return value if answers.name(value) else None


def facts() -> Iterator[tuple[str, FactSource]]:
    """Yields every fact of this module, with name and source."""
    yield from ((f"chooser {row.function}", row.source) for row in CHOOSERS)
    yield from ((f"chooser {row.function}", row.source) for row in PYTHON_CHOOSERS)
    yield from ((f"check {check.function}", check.source) for check in _CHECKS.values())
    yield from ((f"algorithm {row.name}", row.source) for row in ALGORITHMS)
    yield f"check {GRAD_MODE.function}", GRAD_MODE.source
    asked_for_more = dict(pair for row in CHOOSERS for pair in row.asked_for_more)
    yield from ((f"decides by more: {name}", source) for name, source in asked_for_more.items())
    yield from ((f"answers of {row.function}", row.answers.source) for row in CHOOSERS if row.answers is not None)
