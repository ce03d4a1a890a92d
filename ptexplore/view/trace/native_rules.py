"""What the readable tree does with each native frame: rules as data, in order. The first rule that fits decides.

A rule matches functions by their plain qualified names (`native_names.plain`) and says why. A frame without a rule is
shown: a frame is left out only for a stated reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Action = Literal["show", "fold", "keep", "close", "through", "hoist", "hide"]

STAYS = "except operators, kernels, Python functions and functions that a rule keeps"
ACTIONS: dict[Action, str] = {
    "show": "a landmark: a row of its own",
    "fold": f"one row with its instructions; the functions inside are left out, {STAYS}",
    "keep": "like fold, but this function also has a row inside a folded or hidden function",
    "close": "one row for everything inside, unless an operator of another rule or a Python function ran there",
    "through": "its callees take its place; if none of them is shown, it is a row itself",
    "hoist": "the frame is left out and its callees take its place",
    "hide": f"left out with the functions inside, {STAYS}",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. A name fits if it is in `exact`, begins with a `prefix`, ends with a `suffix` or contains a `part`.

    `namespace` fits the functions directly in that namespace. `library` fits all functions of a library, by the
    beginning of its file name (or, if it begins with a dot, by a part of it). `operator` fits the calls of an operator,
    by its base name.
    """

    action: Action
    why: str
    role: str = ""  # what the function does, short enough for a row
    exact: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()
    suffix: tuple[str, ...] = ()
    part: tuple[str, ...] = ()
    namespace: tuple[str, ...] = ()
    library: tuple[str, ...] = ()
    operator: tuple[str, ...] = ()

    def fits(self, name: str, library: str) -> bool:
        """Whether this rule applies to a function."""
        return (
            name in self.exact
            or bool(self.prefix and name.startswith(self.prefix))
            or bool(self.suffix and name.endswith(self.suffix))
            or any(part in name for part in self.part)
            or name.rpartition("::")[0] in self.namespace
            or any(library.startswith(part) or (part[0] == "." and part in library) for part in self.library)
        )


_CLOSED = (
    Rule("hoist", "inside a library or program without source: counted by its name",
         library=("python", "libpython", ".cpython-", "libc.", "libstdc++", "libgcc_s", "ld-linux", "libgomp",
                  "anonymous memory")),
)  # fmt: skip

_DISPATCH = (
    Rule("hoist", "the functor that unpacks the arguments for the kernel, which is the row below it",
         prefix=("c10::impl::wrap_kernel_functor_unboxed_",)),
    Rule("fold", "only in the first call: finds the operator by its name in the dispatcher's table",
         role="only in the first call",
         suffix=("_typed_handle",)),
    Rule("show", "the entry of an operator: here the dispatcher reads the key set and picks the kernel",
         prefix=("at::_ops::",)),
    Rule("hide", "the look-up in the dispatch table, the same in every dispatch: the row of the key shows the result",
         exact=("c10::impl::OperatorEntry::lookup",)),
    Rule("hide", "reads or updates the list of observers of this call, such as a profiler",
         prefix=("at::getStepCallbacks", "at::LocalCallbackManager::", "at::CacheEntry::",
                 "at::GlobalCallbackManager::")),
    Rule("hoist", "the object that reports a call to observers; its callees take its place",
         prefix=("at::RecordFunction::",)),
    Rule("fold", "chooses by CPU: the kernel compiled for the abilities of this CPU (AVX2, AVX512, …)",
         role="chooses by CPU",
         exact=("at::native::DispatchStubImpl::get_call_ptr",)),
    Rule("hide", "part of choosing the kernel for this CPU: the kernel follows",
         prefix=("at::native::DispatchStubImpl::",)),
    Rule("through", "the call of a dispatch stub, shown by the kernel that it calls",
         role="the call of a dispatch stub",
         exact=("at::native::DispatchStub::operator()",)),
)  # fmt: skip

_MEMORY = (
    Rule("keep", "counts the bytes that a storage needs",
         role="counts the bytes", exact=("at::detail::computeStorageNbytesContiguous",)),
    Rule("keep", "allocates the bytes of a storage", exact=("c10::alloc_cpu",)),
    Rule("keep", "gives a tensor's storage another size: allocates memory and copies the old content",
         exact=("at::native::resize_bytes_cpu",)),
    Rule("close", "an allocation through the dispatcher; other calls inside, such as a fill, do not belong to it",
         operator=("empty", "empty_strided", "empty_like")),
    Rule("fold", "makes a tensor without values: sizes to bytes, the allocator, the TensorImpl",
         prefix=("at::detail::empty_",)),
    Rule("fold", "gives a tensor's storage another size",
         exact=("at::native::_resize_impl_",)),
    Rule("hide", "constructs the C++ object of a tensor (TensorImpl) over a given storage",
         prefix=("at::detail::make_tensor",)),
    Rule("show", "makes a tensor from a number",
         role="makes a tensor from a number", exact=("at::detail::scalar_tensor_static",)),
    Rule("show", "fills a tensor with a number, without a call of an operator", exact=("at::detail::scalar_fill",)),
)  # fmt: skip

_ITERATOR = (
    Rule("show", "sets up the iterator: shapes, types, memory order, allocations", role="sets up the iterator",
         exact=("at::TensorIteratorBase::build",)),
    Rule("show", "the shape of the result, by broadcasting",
         role="the shape of the result", exact=("at::TensorIteratorBase::compute_shape",)),
    Rule("show", "the type of the result, by promotion",
         role="the type of the result", exact=("at::TensorIteratorBase::compute_types",)),
    Rule("through", "runs the loop over the elements, in one thread or several",
         exact=("at::TensorIteratorBase::for_each", "at::TensorIteratorBase::foreach_reduced_elt"),
         prefix=("at::TensorIteratorBase::foreach_reduced_elt::{", "at::TensorIteratorBase::loop_2d_from_1d::{")),
    Rule("show", "splits a reduction among threads, or runs it in one",
         exact=("at::TensorIteratorBase::parallel_reduce",)),
    Rule("show", "the fast path, if all operands are alike: decides whether broadcasting and strides can be left out",
         role="the fast path",
         exact=("at::TensorIteratorBase::fast_set_up",)),
    Rule("hoist", "plumbing between the iterator and the loop, which is the row below it",
         exact=("at::TensorIteratorBase::serial_for_each", "at::internal::serial_for_each")),
    Rule("show", "the loop over the elements, which the compiler made for this kernel",
         exact=("c10::function_ref::callback_fn",)),
    Rule("hoist", "makes, resizes or checks the output of a structured kernel: its callees take its place",
         part=("::set_output_",)),
    Rule("hide", "returns the output of a structured kernel", suffix=("::maybe_get_output",)),
    Rule("hoist", "sets up the iterator for an operator, or makes its outputs: its callees take its place",
         prefix=("at::TensorIteratorBase::build_", "at::TensorIterator::",
                 "at::TensorIteratorBase::allocate_or_resize_outputs")),
    Rule("hide", "part of deciding the result type by promotion",
         exact=("at::TensorIteratorBase::compute_common_dtype",)),
    Rule("hide", "casts results to the types of the outputs, if they differ: each cast is a call of an operator",
         exact=("at::TensorIteratorBase::cast_outputs",)),
    Rule("hide", "the iterator's bookkeeping for its operands: dimensions, strides, types, overlaps, marks",
         prefix=("at::TensorIteratorBase::", "at::TensorIteratorConfig::", "at::OperandInfo::", "at::DimCounter::",
                 "at::internal::OpaqueOptionalTensorRef::", "at::original_options")),
)  # fmt: skip

_AUTOGRAD = (
    Rule("hide", "destroys an object: a destructor", part=("::~",)),
    Rule("fold", "records the graph: finds the nodes that get the gradients of the new node", role="records the graph",
         exact=("torch::autograd::collect_next_edges",)),
    Rule("fold", "records the graph: makes the new node the history of the result", role="records the graph",
         exact=("torch::autograd::set_history",)),
    Rule("keep", "a tensor was changed in place: the new node continues its history",
         exact=("torch::autograd::rebase_history", "torch::autograd::impl::rebase_history")),
    Rule("keep", "finds the node that accumulates the gradient of a leaf, or makes it",
         exact=("torch::autograd::impl::grad_accumulator",)),
    Rule("hide", "constructs the node of the graph, which has its own row",
         exact=("torch::autograd::TraceableFunction::TraceableFunction",)),
    Rule("fold", "record or not: decides whether a graph is recorded at all", role="record or not",
         exact=("torch::autograd::compute_requires_grad",)),
    Rule("fold", "saves for backward: keeps a tensor", role="saves for backward",
         exact=("torch::autograd::SavedVariable::SavedVariable",)),
    Rule("fold", "takes out a saved tensor that a node of backward needs", role="takes out a saved tensor",
         exact=("torch::autograd::SavedVariable::unpack",)),
    Rule("fold", "makes the result a view of its base, so that autograd sees changes in place",
         exact=("torch::autograd::as_view", "torch::autograd::make_variable_non_differentiable_view")),
    Rule("fold", "checks and records that a tensor is changed in place",
         exact=("torch::autograd::check_inplace", "torch::autograd::impl::bump_version")),
    Rule("show", "the autograd engine: decides which node runs next, with which gradients, and where the gradients go",
         role="the autograd engine",
         exact=("THPEngine_run_backward", "torch::autograd::Engine::execute", "torch::autograd::Engine::thread_main",
                "torch::autograd::Engine::evaluate_function")),
    Rule("fold", "counts for each node how many gradients it waits for",
         exact=("torch::autograd::Engine::compute_dependencies",)),
    Rule("hide", "checks the shapes, types and devices of gradients against the record of the forward pass",
         role="checks the shapes of gradients",
         exact=("torch::autograd::validate_outputs", "torch::autograd::validate_outputs_impl")),
    Rule("hoist", "keeps a gradient for its node; if several reach one node, the addition takes its place",
         exact=("torch::autograd::InputBuffer::add",)),
    Rule("hoist", "part of a node's derivative: the formula, the wanted gradients, where they go, what is released",
         exact=("torch::autograd::generated::details::any_variable_defined",
                "torch::autograd::generated::details::copy_range"),
         suffix=("::release_variables", "_apply_functional")),
    Rule("show", "autograd's code for an operator: a node of the graph, a derivative formula, the replay of a view",
         prefix=("torch::autograd::generated::",)),
    Rule("show", "a node of the graph runs", role="a node of the graph runs",
         exact=("torch::autograd::AccumulateGrad::apply", "torch::autograd::CopyBackwards::apply",
                "torch::autograd::CopySlices::apply", "torch::autograd::GraphRoot::apply",
                "torch::autograd::PyNode::apply", "torch::autograd::UndefinedGrad::apply",
                "torch::autograd::Error::apply", "torch::autograd::DelayedError::apply")),
    Rule("show", "a kernel of views and in-place changes", prefix=("torch::ADInplaceOrView::",)),
    Rule("hide", "unwraps a tensor that an autograd kernel got",
         prefix=("torch::autograd::VariableType::unpack", "torch::autograd::VariableType::checked_cast_variable")),
    Rule("show", "an autograd kernel, or a part of it", prefix=("torch::autograd::VariableType::",)),
    Rule("show", "the C function behind a Python name", prefix=("torch::autograd::THPVariable_",)),
    Rule("hoist", "autograd around the operators (nodes, metadata, hooks, threads): its callees take its place",
         prefix=("torch::autograd::",)),
)  # fmt: skip

_LIBRARIES = (
    Rule("keep", "only in the first call: oneDNN or MKL detects this CPU's abilities, which decide what code runs",
         role="only in the first call",
         exact=("Xbyak::util::Cpu::Cpu", "__mkl_cpu_detect_and_load_dll")),
    Rule("fold", "inside MKL, a library without source: the call into it is a row", prefix=("mkl_", "Dfti")),
    Rule("keep", "runs a primitive of oneDNN", role="runs a primitive of oneDNN", exact=("dnnl_primitive_execute",)),
    Rule("hide", "oneDNN's memory descriptions and handles: the primitive that runs is a row",
         prefix=("ideep::tensor::desc::", "ideep::tensor::get_", "ideep::engine::", "dnnl::memory::",
                 "dnnl::handle_traits::")),
    Rule("hide", "makes oneDNN's handle of a tensor: a description, with the given memory or a new buffer",
         exact=("ideep::tensor::tensor", "ideep::tensor::init")),
    Rule("fold", "inside oneDNN, a separate library: the call into it is a row",
         prefix=("dnnl::", "dnnl_", "ideep::")),
    Rule("fold", "Sleef: vectorised elementary functions", prefix=("Sleef_",)),
)  # fmt: skip

_PYTHON = (
    Rule("fold", "only in the first call: reads the Python signatures of all overloads", role="only in the first call",
         exact=("torch::PythonArgParser::PythonArgParser",)),
    Rule("fold", "looks for the overload that fits the Python arguments, and unpacks them",
         role="looks for the overload",
         exact=("torch::PythonArgParser::raw_parse", "torch::PythonArgParser::parse")),
    Rule("hide", "part of finding the overload that fits the Python arguments, or of explaining why none fits",
         prefix=("torch::PythonArgParser::",)),
    Rule("hide", "converts a Python argument to a C++ value; makes a tensor from a number, if a tensor is needed",
         exact=("torch::utils::typeIdWithDefault",), prefix=("torch::PythonArgs::",)),
    Rule("hide", "makes the Python object of a tensor, or returns the existing one",
         exact=("THPVariable_Wrap", "THPVariable_WrapList")),
    Rule("hide", "makes the Python object of a shape", prefix=("THPSize_New",)),
    Rule("hide", "lets go of the Python object of a tensor, or keeps it if C++ still has the tensor",
         exact=("THPVariable_dealloc", "THPVariable_clear", "THPVariable_subclass_dealloc",
                "THPVariable_subclass_clear", "isResurrectable")),
    Rule("hide", "passes warnings to Python", prefix=("torch::PyWarningHandler::",)),
    Rule("hide", "counts references to Python objects",
         exact=("torch::detail::ConcretePyInterpreterVTable::incref",
                "torch::detail::ConcretePyInterpreterVTable::decref"),
         prefix=("THPPointer::",)),
    Rule("hide", "asks whether Python code overrides the call (__torch_function__, __torch_dispatch__)",
         exact=("torch::consume_should_skip_torch_function", "torch::check_has_torch_function",
                "at::impl::tensor_has_dispatch", "at::impl::tensorlist_has_dispatch",
                "torch::is_tensor_and_append_overloaded", "torch::is_tensor_list_and_append_overloaded",
                "torch::jit::_maybe_handle_torch_function"),
         prefix=("THPModule_has_torch_function",)),
    Rule("hoist", "C++ calls into Python's interpreter: its callees take its place",
         prefix=("torch::detail::ConcretePyInterpreterVTable::",)),
    Rule("hoist", "pybind11 calls the function that it binds to a Python name: its callees take its place",
         exact=("pybind11::cpp_function::dispatcher",), prefix=("pybind11::cpp_function::initialize::",)),
    Rule("hide", "pybind11: converts values between Python and C++, counts references, holds the interpreter's lock",
         prefix=("pybind11::",)),
    Rule("hide", "gets Python's interpreter object", exact=("getPyInterpreter",)),
    Rule("hoist", "a call of an operator by its name (torch.ops): its callees take its place",
         exact=("torch::jit::_get_operation_for_overload_or_packet", "torch::jit::invokeOperatorFromPython",
                "torch::jit::getOpWithStack")),
    Rule("hide", "puts Python arguments on the stack of a boxed call, or returns its results to Python",
         exact=("torch::jit::createStackForSchema", "torch::jit::argumentToIValue", "torch::jit::toIValue",
                "torch::jit::toPyObject",
                "torch::jit::ToIValueAllowNumbersAsTensors::ToIValueAllowNumbersAsTensors")),
    Rule("hide", "asks whether the class of a Python value belongs to PyTorch",
         exact=("torch::get_symint_class", "torch::get_symfloat_class", "torch::isStorage")),
    Rule("fold", "decides the type of a tensor by its Python numbers",
         exact=("torch::utils::infer_scalar_type",)),
    Rule("hide", "asks whether NumPy is there, or whether a value is a NumPy value",
         exact=("torch::utils::is_numpy_available", "torch::utils::is_numpy_int", "torch::utils::is_numpy_scalar",
                "torch::utils::is_numpy_bool", "torch::utils::is_numpy_dlpack_deleter_bugged")),
    Rule("hide", "sets up a device, if it is used for the first time and needs this", role="sets up a device",
         exact=("torch::utils::maybe_initialize_device",)),
    Rule("fold", "writes Python numbers into a tensor's memory, or makes Python numbers from it",
         exact=("torch::utils::recursive_store", "torch::utils::recursive_to_list")),
    Rule("hide", "reads or sets whether torch.jit.trace records here",
         exact=("torch::jit::tracer::getTracingState", "torch::jit::tracer::setTracingState",
                "torch::jit::tracer::getTracerStateWarnMode")),
    Rule("show", "torch.jit.trace: runs a function and records what it does",
         prefix=("torch::jit::tracer::trace", "torch::jit::tracer::createGraphByTracing")),
    Rule("fold", "torch.jit.trace: part of recording a graph: nodes, values, Python lines",
         prefix=("torch::jit::tracer::",)),
    Rule("hide", "part of the profiler: opens or closes a range, asks whether one is active, or keeps the record",
         prefix=("torch::profiler::",)),
    Rule("hide", "Python asked for a property of a tensor, a type or a device",
         exact=("THPVariable_dtype", "THPVariable_device", "THPVariable_layout", "THPVariable_Check",
                "THPDtype_itemsize", "THPDevice_type", "THPDevice_index"),
         prefix=("THPVariable_get_", "THPVariable_is_", "THPDtype_is_")),
    Rule("hide", "Python asked for a setting, or for a property of this build or thread",
         prefix=("THPModule_get", "THPModule_is", "THPModule_userEnabled")),
)  # fmt: skip

_CHECKS = (
    Rule("show", "gives a tensor another storage after a check", exact=("at::native::checkSetStorage",)),
    Rule("hide", "checks its arguments: raises if they do not fit, says whether they fit, or passes them on",
         role="checks its arguments",
         prefix=("at::check", "at::native::check", "at::native::_resize_output_check", "at::assert_no_",
                 "at::native::zero_numel_check_dims"),
         suffix=("_shape_check",)),
    Rule("hide", "the names of dimensions, if there are any: computes, checks or copies them",
         role="the names of dimensions",
         exact=("at::impl::get_names", "at::impl::get_opt_names", "at::impl::has_names",
                "at::impl::internal_set_names_inplace"),
         prefix=("at::namedinference::",)),
    Rule("hide", "converts a type to oneDNN's type", role="converts a type for oneDNN",
         exact=("at::native::get_mkldnn_dtype",)),
    Rule("hide", "asks for the number of threads, or whether it runs in parallel",
         prefix=("at::get_num_threads", "at::get_thread_num", "at::in_parallel_region")),
    Rule("hide", "computes sizes, strides, dimensions or types for the function above", role="computes sizes",
         exact=("at::toOpMathType",), prefix=("at::infer", "at::native::infer", "at::maybe_wrap_dim")),
    Rule("hide", "adds a batch dimension to an input without one", prefix=("at::native::batchify",)),
    Rule("hide", "reads or sets a setting, a registered object, or the list of available backends",
         role="reads or sets a setting",
         exact=("torch::tensors::get_default_scalar_type", "torch::utils::only_lift_cpu_tensors",
                "at::accelerator::getAccelerator", "at::accelerator::isAccelerator",
                "at::impl::GetVariableHooks"),
         prefix=("at::globalContext", "at::Context::", "at::getAccelerator", "at::cuda::detail::CUDAHooks::has")),
    Rule("hide", "reads or sets the state of a thread: modes, hooks, counters",
         exact=("at::impl::torch_function_mode_enabled", "at::impl::torch_function_all_disabled",
                "at::functionalization::impl::getFunctionalizationReapplyViewsTLS",
                "at::functionalization::impl::setFunctionalizationReapplyViewsTLS"),
         prefix=("at::ThreadLocalState", "at::sequence_number::", "at::SavedTensorDefaultHooks::", "at::NamesMode::",
                 "at::impl::PythonTorchFunctionTLS::", "at::impl::ThreadLocalPythonObjects::", "at::impl::VmapMode::",
                 "at::impl::MaybeSetTLSOnEntryGuard::")),
    Rule("hide", "asks whether a cache holds a tensor, or how many other holders it has",
         exact=("at::caching::is_cached_tensor", "at::caching::adjusted_use_count")),
)  # fmt: skip

_MODES = (
    Rule("fold", "autocast: casts an argument to the type of the mode, or returns a cached cast",
         role="autocast",
         exact=("at::autocast::cached_cast",)),
    Rule("hide", "autocast: reads or sets its state: on or off, devices, types, cache", role="autocast",
         exact=("at::autocast::get_autocast_dtype", "at::autocast::set_autocast_dtype",
                "at::autocast::is_autocast_enabled", "at::autocast::set_autocast_enabled",
                "at::autocast::is_autocast_cache_enabled", "at::autocast::set_autocast_cache_enabled",
                "at::autocast::increment_nesting", "at::autocast::decrement_nesting", "at::autocast::clear_cache",
                "at::autocast::get_lower_precision_fp_from_device_type", "at::autocast::is_autocast_eligible")),
    Rule("hide", "functionalization: asks whether a tensor is wrapped", role="functionalization",
         exact=("at::functionalization::impl::isFunctionalTensor",)),
    Rule("fold", "functionalization: wraps or unwraps a tensor, or changes the content of its wrapper",
         role="functionalization",
         exact=("at::functionalization::impl::to_functional_tensor",
                "at::functionalization::impl::from_functional_tensor", "at::functionalization::impl::replace_",
                "at::functionalization::impl::commit_update", "at::functionalization::impl::sync")),
    Rule("hide", "reads, sets or checks the stack of function transforms and this thread's keys for it",
         exact=("at::functorch::functorchTLSAccessor", "at::functorch::getRawFunctorchTLS",
                "at::functorch::getCopyOfFuncTorchTLS", "at::functorch::setFuncTorchTLS",
                "at::functorch::getDynamicLayerStack", "at::functorch::maybeCurrentDynamicLayer",
                "at::functorch::setDynamicLayerFrontBackKeysIncluded", "at::functorch::pushDynamicLayer",
                "at::functorch::popDynamicLayer", "at::functorch::popDynamicLayerAndDeleteMetadata",
                "at::functorch::initAndPushDynamicLayer", "at::functorch::setup_dispatch_key_tls",
                "at::functorch::keysForEnteringDynamicLayer", "at::functorch::sanityCheckStack",
                "at::functorch::getLifeHandleForLevel", "at::functorch::getInplaceRequiresGradAllowed",
                "at::functorch::setInplaceRequiresGradAllowed"),
         prefix=("at::functorch::FuncTorchTLS::", "at::functorch::DynamicLayer::")),
    Rule("hide", "asks for the wrapper of a tensor in a function transform, or removes a wrapper whose level has ended",
         exact=("at::functorch::isBatchedAtLevel", "at::functorch::maybeGetTensorWrapper",
                "at::functorch::unwrapIfDead", "at::functorch::TensorWrapper::is_alive")),
    Rule("hide", "updates the sizes and strides that a wrapper reports",
         exact=("at::functorch::TensorWrapper::refreshMetadata",
                "at::functorch::BatchedTensorImpl::refreshTensorMetadata")),
    Rule("hide", "checks that a function transform supports the call",
         exact=("at::functorch::vmap_check_escaped", "at::functorch::isInplaceOp",
                "at::functorch::checkForInvalidMutationOnCaptures")),
    Rule("fold", "wraps a tensor for a level of a function transform, or unwraps it",
         exact=("at::functorch::makeBatched", "at::functorch::addBatchDim", "at::functorch::makeTensorWrapper",
                "at::functorch::unwrapTensorAtLevel")),
    Rule("hoist", "goes through the tensors of a call for a function transform: its callees take its place",
         exact=("at::functorch::foreachTensorInplace", "at::functorch::foreachTensorInplaceWithFlag")),
    Rule("hoist", "passes a call to the function transform of its level: its callees take its place",
         exact=("at::functorch::Interpreter::process", "at::functorch::Interpreter::sendToNextInterpreter",
                "at::functorch::autogradBasedTransformProcess", "at::functorch::autogradBasedTransformSendToNext")),
    Rule("show", "a function transform handles a call, or passes it to the next level",
         exact=("at::functorch::VmapInterpreterPtr::processImpl",
                "at::functorch::VmapInterpreterPtr::sendToNextInterpreterImpl",
                "at::functorch::GradInterpreterPtr::processImpl",
                "at::functorch::GradInterpreterPtr::sendToNextInterpreterImpl",
                "at::functorch::FunctionalizeInterpreterPtr::processImpl",
                "at::functorch::FunctionalizeInterpreterPtr::sendToNextInterpreterImpl")),
)  # fmt: skip

_CODE = (
    Rule("fold", "chooses which backend computes the convolution", exact=("at::native::_select_conv_backend",)),
    Rule("fold", "chooses which backend computes attention", exact=("sdp::select_sdp_backend_cpp",)),
    Rule("fold", "decides whether oneDNN multiplies, by type, size and the precision setting",
         prefix=("at::native::use_mkldnn_",)),
    Rule("fold", "decides the type to which several operands are promoted", exact=("at::native::result_type",)),
    Rule("fold", "decides whether oneDNN computes this product, by its type and the precision setting",
         exact=("at::native::mkldnn_reduced_f32_gemm",)),
    Rule("through", "a lambda, usually the branch that a dtype macro chose", role="a lambda",
         suffix=("}::operator()",)),
    Rule("show", "a generated kernel, which calls other code", prefix=("at::wrapper_",)),
    Rule("show", "code of the operators: it computes, decides how to compute, or helps",
         prefix=("at::native::", "at::meta::")),
    Rule("hoist", "a method of a tensor, or a helper of ATen: its callees take its place",
         prefix=("at::Tensor::", "at::TensorBase::", "at::detail::", "at::internal::")),
    Rule("show", "makes a tensor from the data of another library, or passes a tensor to it (DLPack)",
         exact=("at::toDLPack", "at::toDLPackVersioned", "at::fromDLPack", "at::fromDLPackVersioned")),
    Rule("hide", "converts types and devices between PyTorch and DLPack",
         exact=("at::torchDeviceToDLDevice", "at::dlDeviceToTorchDevice", "at::getDLDataType", "at::toScalarType")),
    Rule("through", "a function directly in namespace at", namespace=("at",)),
    Rule("hoist", "c10, the core below the operators: its callees take its place",
         prefix=("c10::",)),
    Rule("hoist", "the C++ library, or a helper of the compiler or of a linked library (two underscores)",
         prefix=("std::", "__", "operator delete")),
)  # fmt: skip

FOLDED = Rule("hoist", "the function above has the same code: one copy was kept, and that function only jumps to it")
RULES = (*_CLOSED, *_DISPATCH, *_MEMORY, *_ITERATOR, *_AUTOGRAD, *_LIBRARIES, *_PYTHON, *_CHECKS, *_MODES, *_CODE)


@lru_cache(maxsize=65536)
def rule_for(name: str, library: str) -> Rule | None:
    """Returns the first rule that fits a function, by its plain name and its library's file name; None if none fits."""
    return next((rule for rule in RULES if rule.fits(name, library)), None)


def rule_for_operator(op: str) -> Rule | None:
    """Returns the rule for the calls of an operator ("aten::empty.memory_format"); None if none fits."""
    base = op.partition("::")[2].partition(".")[0]
    return next((rule for rule in RULES if base in rule.operator), None)
