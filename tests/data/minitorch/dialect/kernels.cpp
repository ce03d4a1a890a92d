#include "lists.h"

namespace mini {

DEFINE_DISPATCH(blend_stub);
DEFINE_DISPATCH(mirror_stub);

// DEFINE_DISPATCH(commented_stub);
REGISTER_DISPATCH(blend_stub, &CPU_CAPABILITY::blend_kernel)
REGISTER_ARCH_DISPATCH(mirror_stub, DEFAULT, &mirror_kernel<float, 2>)
REGISTER_AVX2_DISPATCH(
    mirror_stub,
    static_cast<mirror_fn>(mirror_kernel_avx2))
REGISTER_NO_CPU_DISPATCH(fold_stub)
REGISTER_CUDA_DISPATCH(fold_stub, [](int x) { return x; })

#define MAKE_STUB(name)              \
  DEFINE_DISPATCH(name##_stub);      \
  REGISTER_DISPATCH(name##_stub, &name##_kernel)

MAKE_STUB(spin)

TORCH_META_FUNC(blend)(const Tensor& self) {}
TORCH_META_FUNC2(turn, Tensor)(const Tensor& self) {}
TORCH_PRECOMPUTE_META_FUNC(pool)(const Tensor& self) {}

TORCH_IMPL_FUNC(blend_out)
(const Tensor& self, const Tensor& out) {}

#define IMPL_OF(name) TORCH_IMPL_FUNC(name##_out)(const Tensor& self) {}
IMPL_OF(turn)

TORCH_LIBRARY(mini, m) {
  const std::vector<at::Tag> tags = {at::Tag::core};
  m.def("blend(Tensor self) -> Tensor", tags);
  m.def(TORCH_SELECTIVE_SCHEMA(
      "blend.out(Tensor self, *, "
      "Tensor(a!) out) -> Tensor(a!)"));
  m.def("whole(Tensor self) -> Tensor", &whole_kernel);
  m.def("keyed(Tensor self) -> Tensor", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(keyed_kernel)), {at::Tag::core});
  m.impl("blend", [](const Tensor& self) { return m.def("not this"); });
}

TORCH_LIBRARY_IMPL(mini, CPU, m) {
  m.impl("blend", TORCH_FN(native::blend));
  m.impl(
      "mini::blend.out",
      static_cast<Tensor& (*)(const Tensor&, Tensor&)>(&native::blend_out<float>));
#ifdef WITH_FOLD
  m.impl("fold", at::CppFunction::makeFromBoxedFunction<&boxed_fold>());
#else
  m.impl("fold", fold);
#endif
#define ONE(op) m.impl(#op, op##_kernel);
  ONE(turn) ONE(spin)
#undef ONE
#define ONE(op) m.impl(#op "_", op##_kernel_);
  ONE(turn)
}

TORCH_LIBRARY_IMPL(
    mini,
    Autocast,
    m) {
  FORALL_WRAPPED(WRAP)
  WRAP(spin)
}

TORCH_LIBRARY_IMPL(mini, Conjugate, lib) {
  VIEW_LIST(lib)
}

TORCH_LIBRARY_IMPL(_, Conjugate, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&conjugate_fallback>());
}

#define REGISTER_FOR(DEV, op)            \
  TORCH_LIBRARY_IMPL(mini, DEV, m) {     \
    m.impl(#op, op##DEV);                \
  }
#define REGISTER_EVERYWHERE(op) \
  REGISTER_FOR(CPU, op)         \
  REGISTER_FOR(CUDA, op)

REGISTER_EVERYWHERE(send)
REGISTER_EVERYWHERE(
    receive
)

static auto old = torch::RegisterOperators()
    .op("mini::old(Tensor x) -> Tensor", options().kernel<decltype(old_kernel), &old_kernel>(DispatchKey::CPU))
    .op("mini::older(Tensor x) -> Tensor", &older_kernel);

RegisterOperators listed({
    Operator(
        "mini::listed(Tensor x) -> Tensor",
        [](Stack& stack) {},
        aliasAnalysis()),
});

C10_DEFINE_bool(mini_verbose, false, "Says more");
C10_DEFINE_int64(
    mini_limit,
    12,
    "How many");

} // namespace mini
