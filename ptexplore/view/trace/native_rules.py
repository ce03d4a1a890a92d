"""What the readable tree does with each native frame: rules as data, in order, the first that fits decides.

A rule names functions by their plain qualified names (`native_names.plain`) and says why. What no rule names is shown:
a frame is left out because somebody gave a reason, never because nobody thought of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Action = Literal["show", "fold", "keep", "close", "through", "hoist", "hide"]

ACTIONS: dict[Action, str] = {
    "show": "a landmark: a row of its own",
    "fold": "one row with its instructions; of what is inside only operators and kernels are shown",
    "keep": "as fold, and a row even inside of what is folded or hidden: what a reader looks for there",
    "close": "one row, whatever is inside",
    "through": "its callees stand in its place; where none of them is shown, it is a row itself",
    "hoist": "the frame is left out and its callees stand in its place",
    "hide": "left out with all inside but operators and kernels",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: a name fits when it is one of `exact`, begins with a `prefix`, ends with a `suffix` or holds a `part`.

    `namespace` fits the functions that stand directly in it, `library` all functions of a library by the beginning of
    its file name (or a part that begins with a dot), and `operator` the calls of an operator, by its base name.
    """

    action: Action
    why: str
    exact: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()
    suffix: tuple[str, ...] = ()
    part: tuple[str, ...] = ()
    namespace: tuple[str, ...] = ()
    library: tuple[str, ...] = ()
    operator: tuple[str, ...] = ()

    def fits(self, name: str, library: str) -> bool:
        """Whether this rule speaks for a function."""
        return (
            name in self.exact
            or bool(self.prefix and name.startswith(self.prefix))
            or bool(self.suffix and name.endswith(self.suffix))
            or any(part in name for part in self.part)
            or name.rpartition("::")[0] in self.namespace
            or any(library.startswith(part) or (part[0] == "." and part in library) for part in self.library)
        )


_CLOSED = (
    Rule("hoist", "a library or program whose source is not open here: counted by its name",
         library=("python", "libpython", ".cpython-", "libc.", "libstdc++", "ld-linux", "libgomp", "anonymous memory")),
)  # fmt: skip

_DISPATCH = (
    Rule("hoist", "the functor that unpacks the arguments for the kernel, which is the row below it",
         prefix=("c10::impl::wrap_kernel_functor_unboxed_",)),
    Rule("fold", "the first call alone: finds the operator by its name in the dispatcher's table",
         suffix=("_typed_handle",)),
    Rule("show", "an operator's own entry: here the dispatcher reads the key set and picks the kernel",
         prefix=("at::_ops::",)),
    Rule("hide", "the look-up in the dispatch table, the same at every boundary: the key row says what it found",
         exact=("c10::impl::OperatorEntry::lookup",)),
    Rule("hide", "asks whether a profiler or another observer wants to hear of this call; none does here",
         prefix=("at::getStepCallbacks", "at::LocalCallbackManager::", "at::CacheEntry::",
                 "at::GlobalCallbackManager::")),
    Rule("hoist", "tells observers of a call that they asked for; what it calls stands in its place",
         prefix=("at::RecordFunction::",)),
    Rule("fold", "chooses the kernel compiled for what this CPU can (AVX2, AVX512, …): the one that follows",
         exact=("at::native::DispatchStubImpl::get_call_ptr",)),
    Rule("hide", "part of choosing the kernel for what this CPU can: the kernel follows",
         prefix=("at::native::DispatchStubImpl::",)),
    Rule("through", "a dispatch stub's call, told by the kernel that it calls",
         exact=("at::native::DispatchStub::operator()",)),
)  # fmt: skip

_MEMORY = (
    Rule("keep", "reckons how many bytes a storage needs", exact=("at::detail::computeStorageNbytesContiguous",)),
    Rule("keep", "allocates the bytes of a storage", exact=("c10::alloc_cpu",)),
    Rule("keep", "gives a tensor's storage another size: a new allocation, with what was there copied",
         exact=("at::native::resize_bytes_cpu",)),
    Rule("close", "an allocation through the dispatcher: nothing else is inside",
         operator=("empty", "empty_strided", "empty_like")),
    Rule("fold", "the allocation of a tensor: sizes to bytes, the allocator, the TensorImpl",
         prefix=("at::detail::empty_",)),
    Rule("fold", "gives a tensor's storage another size",
         exact=("at::native::_resize_impl_",)),
    Rule("hide", "makes the tensor object of a view: metadata over storage that is there",
         prefix=("at::detail::make_tensor",)),
)  # fmt: skip

_ITERATOR = (
    Rule("show", "TensorIterator's set-up: shapes, types, memory order, what is allocated",
         exact=("at::TensorIteratorBase::build",)),
    Rule("show", "decides the shape of the result by broadcasting", exact=("at::TensorIteratorBase::compute_shape",)),
    Rule("show", "decides the type of the result by promotion", exact=("at::TensorIteratorBase::compute_types",)),
    Rule("through", "runs the loop over the elements, which is the row below it, in one thread or several",
         exact=("at::TensorIteratorBase::for_each",)),
    Rule("show", "splits a reduction among threads, or runs it in one",
         exact=("at::TensorIteratorBase::parallel_reduce",)),
    Rule("show", "decides whether broadcasting and strides can be left out, all operands being alike (the fast path)",
         exact=("at::TensorIteratorBase::fast_set_up",)),
    Rule("hoist", "plumbing between the iterator and the loop, which is the row below it",
         exact=("at::TensorIteratorBase::serial_for_each", "at::internal::serial_for_each")),
    Rule("show", "the loop over the elements itself, which the compiler made for this kernel",
         exact=("c10::function_ref::callback_fn",)),
    Rule("hoist", "part of the iterator's set-up, or builds it for a number of operands: the build is a row",
         prefix=("at::TensorIteratorBase::build_", "at::TensorIterator::",
                 "at::TensorIteratorBase::allocate_or_resize_outputs")),
    Rule("hide", "the iterator's bookkeeping for its operands: order of dimensions, strides, marks",
         prefix=("at::TensorIteratorBase::", "at::TensorIteratorConfig::", "at::OperandInfo::", "at::DimCounter::",
                 "at::internal::OpaqueOptionalTensorRef::", "at::original_options")),
    Rule("hoist", "a structured kernel's output: its allocation is the row below it",
         part=("::set_output_",)),
    Rule("hide", "hands a structured kernel's output back", suffix=("::maybe_get_output",)),
)  # fmt: skip

_AUTOGRAD = (
    Rule("hide", "destroys what it is named after", part=("::~",)),
    Rule("fold", "records the graph: finds which nodes the new node's gradients go to",
         exact=("torch::autograd::collect_next_edges",)),
    Rule("fold", "records the graph: makes the new node the history of the result",
         exact=("torch::autograd::set_history",)),
    Rule("keep", "a tensor was changed in place: its history goes on from the new node",
         exact=("torch::autograd::rebase_history", "torch::autograd::impl::rebase_history")),
    Rule("keep", "finds the node that accumulates the gradient of a leaf, or makes it",
         exact=("torch::autograd::impl::grad_accumulator",)),
    Rule("hide", "constructs the node of the graph, which is a row of its own beside it",
         exact=("torch::autograd::TraceableFunction::TraceableFunction",)),
    Rule("fold", "decides whether a graph is recorded at all", exact=("torch::autograd::compute_requires_grad",)),
    Rule("fold", "keeps a tensor for the backward pass, or takes it out again there",
         exact=("torch::autograd::SavedVariable::SavedVariable", "torch::autograd::SavedVariable::unpack")),
    Rule("fold", "makes the result a view of its base, so that autograd sees changes in place",
         exact=("torch::autograd::as_view", "torch::autograd::make_variable_non_differentiable_view")),
    Rule("fold", "checks and notes that a tensor is changed in place",
         exact=("torch::autograd::check_inplace", "torch::autograd::impl::bump_version")),
    Rule("show", "the autograd engine: which node runs next, with which gradients, and where they go",
         exact=("THPEngine_run_backward", "torch::autograd::Engine::execute", "torch::autograd::Engine::thread_main",
                "torch::autograd::Engine::evaluate_function")),
    Rule("fold", "counts for each node how many gradients it waits for",
         exact=("torch::autograd::Engine::compute_dependencies",)),
    Rule("hide", "checks gradients' shapes, types and devices against what the forward pass recorded",
         exact=("torch::autograd::validate_outputs", "torch::autograd::validate_outputs_impl")),
    Rule("hoist", "keeps a gradient for its node; of several that reach one node the addition stands in its place",
         exact=("torch::autograd::InputBuffer::add",)),
    Rule("hoist", "around the formulas of a generated derivative: which inputs want a gradient, and where it goes",
         exact=("torch::autograd::generated::details::any_variable_defined",
                "torch::autograd::generated::details::copy_range"),
         suffix=("::release_variables", "_apply_functional")),
    Rule("show", "a node of the graph runs: the derivative",
         prefix=("torch::autograd::generated::",), suffix=("::apply",)),
    Rule("show", "a generated kernel of views and in-place changes", prefix=("torch::ADInplaceOrView::",)),
    Rule("hide", "unwraps a tensor that a generated kernel was given",
         prefix=("torch::autograd::VariableType::unpack", "torch::autograd::VariableType::checked_cast_variable")),
    Rule("show", "a generated autograd kernel", prefix=("torch::autograd::VariableType::",)),
    Rule("show", "the C function behind a Python name", prefix=("torch::autograd::THPVariable_",)),
    Rule("hoist", "autograd's bookkeeping: tensors' metadata, counts, queues, hooks and threads",
         prefix=("torch::autograd::",)),
)  # fmt: skip

_LIBRARIES = (
    Rule("keep", "the first call alone: oneDNN or MKL finds out what this CPU can, and so which of its code runs",
         exact=("Xbyak::util::Cpu::Cpu", "__mkl_cpu_detect_and_load_dll")),
    Rule("fold", "MKL: its source is closed; the call into it is a row", prefix=("mkl_", "Dfti")),
    Rule("keep", "runs a primitive of oneDNN", exact=("dnnl_primitive_execute",)),
    Rule("hide", "oneDNN's descriptions of memory and its handles: the primitive that runs is a row",
         prefix=("ideep::tensor::", "ideep::engine::", "dnnl::memory::", "dnnl::handle_traits::")),
    Rule("fold", "oneDNN, through its C++ face: a library of its own; the call into it is a row",
         prefix=("dnnl::", "dnnl_", "ideep::")),
    Rule("fold", "Sleef: vectorised elementary functions", prefix=("Sleef_",)),
)  # fmt: skip

_PYTHON = (
    Rule("fold", "the first call alone: reads the Python signatures of all overloads",
         exact=("torch::PythonArgParser::PythonArgParser",)),
    Rule("fold", "finds the overload that the Python arguments fit, and unpacks them",
         exact=("torch::PythonArgParser::raw_parse", "torch::PythonArgParser::parse")),
    Rule("hide", "makes the Python object of the result", exact=("THPVariable_Wrap",)),
    Rule("hide", "from Python's values to C++ and back: arguments, warnings, reference counts, the interpreter's lock",
         prefix=("torch::PythonArgs::", "torch::PythonArgParser::", "torch::PyWarningHandler::", "pybind11::",
                 "torch::consume_should_skip_torch_function", "torch::check_has_torch_function", "THPPointer::",
                 "torch::detail::", "torch::utils::", "torch::jit::tracer::")),
    Rule("hide", "opens and closes a range for a profiler; none listens here", prefix=("torch::profiler::",)),
    Rule("hide", "Python's torch asked about a tensor or a setting: computes nothing",
         prefix=("THPVariable_", "THPModule_", "THPSize_", "THPDtype_")),
)  # fmt: skip

_CHECKS = (
    Rule("hide", "checks arguments and raises where they do not fit; they did",
         prefix=("at::check", "at::native::check", "at::native::_resize_output_check", "at::assert_no_",
                 "at::native::zero_numel_check_dims"),
         suffix=("_shape_check",)),
    Rule("hide", "carries the names of dimensions over, where there are any", prefix=("at::namedinference::",)),
    Rule("hide", "oneDNN's word for a type", exact=("at::native::get_mkldnn_dtype",)),
    Rule("hide", "asks about threads", prefix=("at::get_num_threads", "at::get_thread_num", "at::in_parallel_region")),
    Rule("hide", "reckons sizes and strides for the function above",
         prefix=("at::infer", "at::native::infer", "at::maybe_wrap_dim", "at::native::batchify")),
    Rule("hide", "reads a setting, a thread's state or which backends are there",
         prefix=("at::globalContext", "at::Context::", "at::impl::", "at::functorch::", "at::autocast::",
                 "at::accelerator::", "at::getAccelerator", "at::NamesMode::", "at::cuda::detail::CUDAHooks::has",
                 "at::ThreadLocalState", "at::sequence_number::", "at::toOpMathType",
                 "at::SavedTensorDefaultHooks::", "at::functionalization::impl::", "at::caching::")),
)  # fmt: skip

_CODE = (
    Rule("fold", "chooses which backend computes the convolution", exact=("at::native::_select_conv_backend",)),
    Rule("fold", "chooses which backend computes attention", exact=("sdp::select_sdp_backend_cpp",)),
    Rule("fold", "decides whether oneDNN multiplies, by type, size and the precision that was set",
         prefix=("at::native::use_mkldnn_",)),
    Rule("fold", "decides the type that several operands are promoted to", exact=("at::native::result_type",)),
    Rule("fold", "asks whether oneDNN should do this product, for its type and the precision that was set",
         exact=("at::native::mkldnn_reduced_f32_gemm",)),
    Rule("through", "a lambda of the function above it, mostly the branch that its dtype macro chose",
         suffix=("}::operator()",)),
    Rule("show", "a generated kernel: it hands over to the operator's hand-written code", prefix=("at::wrapper_",)),
    Rule("show", "an operator's hand-written code: it computes, or decides how",
         prefix=("at::native::", "at::meta::")),
    Rule("hoist", "a C++ method that only calls on, or reads one field: what it calls stands in its place",
         prefix=("at::Tensor::", "at::TensorBase::", "at::detail::", "at::internal::")),
    Rule("through", "a function of the C++ API: the operator that it calls stands in its place", namespace=("at",)),
    Rule("hoist", "core types and their memory: tensors' metadata, reference counts, sizes, thread-local flags",
         prefix=("c10::",)),
    Rule("hoist", "the C++ library and the compiler's own helpers",
         prefix=("std::", "__", "operator delete")),
)  # fmt: skip

RULES = (*_CLOSED, *_DISPATCH, *_MEMORY, *_ITERATOR, *_AUTOGRAD, *_LIBRARIES, *_PYTHON, *_CHECKS, *_CODE)


@lru_cache(maxsize=65536)
def rule_for(name: str, library: str) -> Rule | None:
    """The rule that decides for a function, by its plain name and its library's file name; None where none fits."""
    return next((rule for rule in RULES if rule.fits(name, library)), None)


def rule_for_operator(op: str) -> Rule | None:
    """The rule for the calls of an operator ("aten::empty.memory_format"); None where none fits."""
    base = op.partition("::")[2].partition(".")[0]
    return next((rule for rule in RULES if base in rule.operator), None)
