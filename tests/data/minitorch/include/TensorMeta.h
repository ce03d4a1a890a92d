#pragma once
// What stands for the macro of ATen/TensorMeta.h: its argument names a class, whose impl follows.
#define TORCH_IMPL_FUNC(which) void structured_##which::impl
