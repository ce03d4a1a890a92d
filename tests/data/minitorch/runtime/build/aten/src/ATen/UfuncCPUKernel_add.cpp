namespace at {
namespace native {

void blend_kernel(TensorIteratorBase& iter, int64_t how) {
  cpu_kernel_vec(iter,
    [=](float a, float b) { return a + b; },
    [=](Vec a, Vec b) { return a + b; });
}

REGISTER_DISPATCH(blend_stub, &blend_kernel)

}} // namespace at::native
