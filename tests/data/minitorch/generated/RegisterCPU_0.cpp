#include <torch/library.h>

SOME_PRAGMA_POP()
namespace at {
namespace {
struct structured_blend_cpu_functional final : public at::native::structured_blend_cpu {
    void set_output(int64_t which, IntArrayRef sizes) override {
        const char* brace = "}{"; // { an unbalanced comment
        if (which > 0) { keep_[which] = sizes; }
    }
    std::array<Tensor, 1> outputs_;
};
at::Tensor wrapper_CPU_blend_Pair(const at::Tensor & self, const at::Tensor & other) {
structured_blend_cpu_functional op;
op.meta(self, other);
op.impl(self, other, op.outputs_[0]);
return std::move(op.outputs_[0]);
}
TORCH_LIBRARY_IMPL(aten, CPU, m) {
    m.impl("blend.Pair", TORCH_FN(wrapper_CPU_blend_Pair));
// m.impl("ghost", TORCH_FN(wrapper_CPU__ghost));
}
} // anonymous namespace
namespace {
namespace {
at::Tensor
wrapper_CPU__mirror(const at::Tensor & self) {
  return at::native::mirror_dense(self);
}
} // anonymous namespace
TORCH_LIBRARY_IMPL(aten, CPU, m) {
    m.impl("mirror",
TORCH_FN(wrapper_CPU__mirror));
}
} // anonymous namespace
namespace cpu {
at::Tensor wrapper_CPU__mirror(const at::Tensor & self) {
return at::wrapper_CPU__mirror(self);
}
} // namespace cpu
namespace {
#ifdef SOME_ARM
at::Tensor wrapper_CPU__twice(const at::Tensor & self) {
  return at::native::twice_arm(self);
}
#else
at::Tensor wrapper_CPU__twice(const at::Tensor & self) {
  return at::native::twice_plain(self);
}
#endif
TORCH_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("twice", TORCH_FN(wrapper_CPU__twice));
  m.impl("lost", TORCH_FN(wrapper_CPU__lost));
  m.impl("named_twice", TORCH_FN(wrapper_CPU__twice));
  m.impl("named_twice", TORCH_FN(wrapper_CPU__lost));
}
} // anonymous namespace
} // namespace at
