namespace torch::autograd {

static PyObject * THPVariable_blend(PyObject* self_, PyObject* args, PyObject* kwargs);
static PyObject * THPVariable_shadow(PyObject* self_, PyObject* args, PyObject* kwargs);

static PyMethodDef torch_functions_shard[] = {
  {"blend", castPyCFunctionWithKeywords(THPVariable_blend), METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
  {"mix", castPyCFunctionWithKeywords(THPVariable_blend),
    METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
  {"shadow", castPyCFunctionWithKeywords(THPVariable_shadow), METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
  {nullptr}
};

// blend
static PyObject * THPVariable_blend(PyObject* self_, PyObject* args, PyObject* kwargs)
{
  HANDLE_TH_ERRORS
  switch (choose(args)) {
    case 0: {
      // [deprecated] aten::mirror(Tensor self) -> Tensor
      return pack_one(args);
    }
    case 1: {
      // aten::blend.Pair(Tensor self, Tensor other) -> Tensor
      return pack_two(args);
    }
    case 2: {
      // aten::nobody_knows(Tensor self) -> Tensor
      return pack_two(args);
    }
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

} // namespace torch::autograd
