"""What generated files hold, from small ones in their shape."""

from __future__ import annotations

from ptexplore.catalogue.facts import Facts, GeneratedFile, facts_of
from ptexplore.cpp.macros import MacroTable
from ptexplore.cpp.text import Text
from ptexplore.index.cpp.extract import extract
from ptexplore.index.dialect.cpp import dialect


def facts(path: str, text: str) -> Facts:
    return facts_of(GeneratedFile(path, text, extract(path, text, MacroTable({}))[0], dialect(Text(path, text))))


def test_a_node_whose_apply_is_defined_twice_has_no_place() -> None:
    text = """namespace torch::autograd::generated {
variable_list A::apply(variable_list&& grads) {
  return grads;
}
variable_list B::apply(variable_list&& grads) { return {}; }
variable_list B::apply(variable_list&& grads) { return {}; }
variable_list apply(variable_list&& grads) { return {}; }
}
"""
    assert facts("a/Functions.cpp", text).nodes == {"A": ("a/Functions.cpp", 2, 4)}


def test_entry_points_are_those_of_at_ops() -> None:
    text = """namespace at::_ops {
at::Tensor add_Tensor::call(const at::Tensor & self) {
    return op.call(self);
}
at::Tensor add_Tensor::redispatch(c10::DispatchKeySet ks) { return {}; }
}
void call() {}
"""
    expected = {"add_Tensor": {"call": ("x/Operators_0.cpp", 2), "redispatch": ("x/Operators_0.cpp", 5)}}
    assert facts("x/Operators_0.cpp", text).entry_points == expected


def test_a_binding_is_the_function_inside_its_wrappers() -> None:
    text = """static PyObject * THPVariable_mix(PyObject* self_, PyObject* args)
{
  // [deprecated] aten::mix.out(Tensor self)
  // aten::mix.Tensor(Tensor self, Tensor other) -> Tensor
  return nullptr;
}
template<PyObject* (*Func)(PyObject*, PyObject*)>
static PyObject * Or_NotImplemented_(PyObject* self) { return nullptr; }
PyMethodDef variable_methods[] = {
  {"__mix__", castPyCFunctionWithKeywords(Or_NotImplemented_<THPVariable_mix>), METH_VARARGS | METH_KEYWORDS, NULL},
  {"gone", THPVariable_gone, METH_NOARGS, NULL},
};
"""
    (binding,) = facts("g/python_variable_methods.cpp", text).bindings
    assert (binding.table, binding.name, binding.c_function) == ("Tensor", "__mix__", "THPVariable_mix")
    assert (binding.line, binding.end_line, binding.entry_line) == (1, 6, 10)
    assert binding.ops == ("aten::mix.Tensor",)


def test_functions_that_no_record_names_are_kept_whole() -> None:
    tensor = """namespace at {
template <typename... Args>
Tensor make_tensor(Args&&... args) {
  return Tensor(args...);
}
}
"""
    (made,) = facts("build/aten/src/ATen/core/TensorBody.h", tensor).symbols
    assert (made.qualified, made.line, made.template) == ("at::make_tensor", 3, True)
    kernels = """namespace at {
namespace {
Tensor create_blend(IntArrayRef sizes) {
  return create_blend(sizes);
}
struct structured_blend_out final : public at::native::structured_blend {
    void set_output_strided(int64_t index) override {
    }
};
at::Tensor wrapper_CPU_blend(const at::Tensor & self) { return self; }
}
TORCH_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("blend", TORCH_FN(wrapper_CPU_blend));
}
namespace cpu {
at::Tensor blend(const at::Tensor & self) { return wrapper_CPU_blend(self); }
}
}
"""
    kept = facts("build/aten/src/ATen/RegisterCPU_0.cpp", kernels).symbols
    names = {symbol.qualified: symbol.line for symbol in kept}
    assert names == {"at::create_blend": 3, "at::structured_blend_out::set_output_strided": 7}
    entry = """namespace at::_ops {
static c10::TypedOperatorHandle<blend::schema> create_blend_typed_handle() {
  return find("aten::blend");
}
at::Tensor blend::call(const at::Tensor & self) { return create_blend_typed_handle().call(self); }
}
"""
    (lookup,) = facts("build/aten/src/ATen/Operators_0.cpp", entry).symbols
    assert (lookup.qualified, lookup.line) == ("at::_ops::create_blend_typed_handle", 2)
    python = """namespace torch::autograd {
static Tensor dispatch_blend(const Tensor& self) { return self; }
static PyObject * THPVariable_blend(PyObject* self) { return self; }
}
"""
    (helper,) = facts("torch/csrc/autograd/generated/python_torch_functions_0.cpp", python).symbols
    assert helper.qualified == "torch::autograd::dispatch_blend"
