namespace torch::autograd {

 static PyObject * THPVariable_blend(PyObject* self_, PyObject* args, PyObject* kwargs)
{
  // aten::blend.Pair(Tensor self, Tensor other) -> Tensor
  return pack_method(self_, args);
}

static PyObject * THPVariable_mirror(PyObject* self, PyObject* noargs) {
  return pack_method(self, noargs);
}

PyMethodDef variable_methods[] = {
  {"__matmix__", castPyCFunctionWithKeywords(TypeError_to_NotImplemented_<THPVariable_blend>), METH_VARARGS | METH_KEYWORDS, nullptr},
  {"blend", castPyCFunctionWithKeywords(THPVariable_blend), METH_VARARGS | METH_KEYWORDS, nullptr},
  {"mirror", THPVariable_mirror, METH_NOARGS, nullptr},
  {nullptr}
};

} // namespace torch::autograd
