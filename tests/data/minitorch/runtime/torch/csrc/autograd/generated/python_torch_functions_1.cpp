namespace torch::autograd {

static PyObject * THPVariable_fresh(PyObject* self_, PyObject* args, PyObject* kwargs)
{
  switch (choose(args)) {
    case 0: {
      // aten::fresh.names(int[] size, Dimname[] names) -> Tensor
      auto call = [](IntArrayRef size) -> at::Tensor {
        return torch::fresh(size);
      };
      return pack(call(args));
    }
    case 1: {
      // aten::fresh(int[] size) -> Tensor
      auto call = [](IntArrayRef size) -> at::Tensor {
        return torch::fresh(size);
      };
      return pack(call(args));
    }
    case 2: {
      // aten::fresh.out(int[] size, *, Tensor(a!) out) -> Tensor(a!)
      auto call = [](IntArrayRef size, at::Tensor out) -> at::Tensor {
        return at::fresh_out(out, size);
      };
      return pack(call(args));
    }
  }
}

static PyObject * THPVariable_open(PyObject* self_, PyObject* args, PyObject* kwargs)
{
  // aten::open(int[] size) -> Tensor
  return torch::open(args);
}

} // namespace torch::autograd
