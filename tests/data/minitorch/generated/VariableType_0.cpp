#include "torch/csrc/autograd/VariableTypeUtils.h"

namespace torch::autograd {

namespace VariableType {
namespace {

at::Tensor blend_Pair(c10::DispatchKeySet ks, const at::Tensor & self, const at::Tensor & other) {
  std::shared_ptr<BlendBackward0> grad_fn = make_blend_node({ self, other });
  auto _tmp = ([&]() {
    at::AutoDispatchBelowADInplaceOrView guard;
    return at::redispatch::blend(ks & c10::after_autograd_keyset, self, other);
  })();
  if (grad_fn) { set_history(_tmp, grad_fn); }
  return _tmp;
}
at::Tensor mirror(c10::DispatchKeySet ks, const at::Tensor & self) {
  if (self.is_odd()) {
    at::AutoDispatchBelowAutograd guard;
    return at::redispatch::mirror(ks & c10::after_autograd_keyset, self);
  }
  return at::_ops::mirror::redispatch(ks & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::Tracer), self);
}
}
}

namespace {

TORCH_LIBRARY_IMPL(aten, Autograd, m) {
  m.impl("blend.Pair",
         TORCH_FN(VariableType::blend_Pair)
  );
  m.impl("mirror",
         TORCH_FN(VariableType::mirror)
  );
  m.impl("twice", torch::autograd::autogradNotImplementedFallback());
}

}

} // namespace torch::autograd
