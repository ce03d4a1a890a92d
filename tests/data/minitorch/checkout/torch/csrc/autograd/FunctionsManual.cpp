namespace torch::autograd::generated::details {

Tensor undo_blend(const Tensor& grad) {
  return grad;
}

} // namespace torch::autograd::generated::details

namespace torch::autograd {

variable_list HandNode::apply(variable_list&& grads) {
  return grads;
}

static PyObject* THPVariable_hand(PyObject* self, PyObject* args) {
  return self;
}

static PyMethodDef torch_functions_manual[] = {
    {"hand", THPVariable_hand, METH_VARARGS, nullptr},
    {nullptr}};

static PyMethodDef elsewhere[] = {
    {"hand", THPVariable_elsewhere, METH_VARARGS, nullptr},
    {nullptr}};

} // namespace torch::autograd
