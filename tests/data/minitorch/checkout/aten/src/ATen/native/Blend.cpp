#include <ATen/native/Blend.h>

namespace at {

Tensor outer_only(const Tensor& self) {
  return self;
}

namespace native {

DEFINE_DISPATCH(fold_stub);
DEFINE_DISPATCH(spin_stub);
DEFINE_DISPATCH(lone_stub);

static Tensor spin_all(const Tensor& self) {
  // fold_stub is only spoken of here
  return spin_stub(self.device_type(), self);
}

static Tensor through_one(const Tensor& self) {
  return spin_all(self);
}

static Tensor through_two(const Tensor& self) {
  return through_one(self);
}

static Tensor twin(const Tensor& self) {
  return lone_stub(self.device_type(), self);
}

static Tensor twin(const Tensor& self, int64_t count) {
  return self;
}

#ifdef MINI_OFF
static Tensor either(const Tensor& self) {
  return lone_stub(self.device_type(), self);
}
#else
static Tensor either(const Tensor& self) {
  return fold_stub(self.device_type(), self);
}
#endif

Tensor fold_dense(const Tensor& self) {
  return fold_stub(self.device_type(), self);
}

Tensor fold_far(const Tensor& self) {
  return through_two(self);
}

Tensor fold_twin(const Tensor& self) {
  return twin(self);
}

Tensor fold_either(const Tensor& self) {
  return either(self);
}

Tensor fold_both(const Tensor& self) {
  fold_stub(self.device_type(), self);
  return fold_stub(self.device_type(), spin_all(self));
}

// A composite kernel: on its only way it calls two operators.
Tensor weave(const Tensor& self, const Tensor& other) {
  return at::blend(self, at::mirror(other));
}

// A composite kernel with a choice.
Tensor weave_maybe(const Tensor& self, const Tensor& other) {
  if (self.is_odd()) {
    return at::mirror(self);
  }
  return at::blend(self, other);
}

// Another one, with a choice of its own.
Tensor weave_twice(const Tensor& self, const Tensor& other) {
  return self.is_odd() ? at::fold(self) : other;
}

Tensor on_either(const Tensor& self) {
  return self;
}

Tensor weave_plainly(const Tensor& self, const Tensor& other) {
  return at::blend(self, other);
}

#ifdef MINI_OFF
Tensor left_out(const Tensor& self) {
  return self;
}
#endif

Tensor blend_sparse(const Tensor& self, const std::optional<Tensor>& other, bool fast) {
  return self;
}

Tensor& blend_many(Tensor& self) {
  return self;
}

Tensor blend_many(const Tensor& self, int64_t count) {
  return self;
}

TORCH_IMPL_FUNC(blend_cpu)(const Tensor& self, const Tensor& other, const Tensor& out) {
  fold_stub(device_type(), *this);
}

namespace {
Tensor boxed_rule(const Tensor& self) {
  return self;
}
} // namespace

TORCH_LIBRARY_IMPL(aten, FuncTorchBatched, m) {
  m.impl("blend.Pair", boxed_rule);
  m.impl("mirror", blend_generated_plumbing);
  m.impl("weave", torch::CppFunction::makeFallthrough());
  m.impl("fold", mirror_generated_plumbing);
  m.impl("spin", left_out);
}

TORCH_LIBRARY_IMPL(
    aten,
    Autocast,
    m) {
  m.impl("blend.Pair", boxed_rule);
}

TORCH_LIBRARY_IMPL(aten, Named, m) {
  m.impl("twice", boxed_rule);
  m.impl("twice", weave);
}

TORCH_LIBRARY_IMPL(_, Conjugate, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&conjugate_fallback>());
}

} // namespace native
} // namespace at

namespace mini {
namespace native {

DEFINE_DISPATCH(fold_stub);

Tensor fold_mini(const Tensor& self) {
  return fold_stub(self.device_type(), self);
}

} // namespace native
} // namespace mini
