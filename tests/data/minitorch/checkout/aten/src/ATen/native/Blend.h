#pragma once
// What minitorch's kernels are written with.

#define DEFINE_DISPATCH(name) struct name##_type name
#define TORCH_IMPL_FUNC(name) void structured_##name::impl

namespace at::native {
DECLARE_DISPATCH(fold_fn, fold_stub)
DECLARE_DISPATCH(fold_fn, spin_stub)
} // namespace at::native
