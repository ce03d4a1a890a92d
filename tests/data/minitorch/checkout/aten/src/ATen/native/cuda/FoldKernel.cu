namespace at::native {

void fold_kernel_cuda(TensorIteratorBase& iter) {
  gpu_kernel(iter, [](float a) { return a; });
}

Tensor on_either(const Tensor& self) {
  return launch(self);
}

Tensor only_on_a_device(const Tensor& self) {
  return launch(self);
}

REGISTER_CUDA_DISPATCH(fold_stub, &fold_kernel_cuda)

} // namespace at::native
