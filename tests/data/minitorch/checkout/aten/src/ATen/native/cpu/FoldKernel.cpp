#include <ATen/native/Blend.h>

namespace at::native {
namespace {

void fold_kernel(TensorIteratorBase& iter) {
  cpu_kernel(iter, [](float a) { return a; });
  cpu_kernel_vec(
      iter,
      [](float a) { return a; },
      [](Vec a) { return a; });
}

void spin_kernel(TensorIteratorBase& iter) {}

void spin_kernel_wide(TensorIteratorBase& iter) {}

} // namespace

REGISTER_DISPATCH(fold_stub, &fold_kernel)
REGISTER_ARCH_DISPATCH(spin_stub, DEFAULT, &spin_kernel)
REGISTER_AVX512_DISPATCH(spin_stub, &spin_kernel_wide)
#ifdef MINI_OFF
REGISTER_DISPATCH(lone_stub, &fold_kernel)
#endif

} // namespace at::native
