namespace torch::autograd::VariableType {
namespace {

at::Tensor & blend_(c10::DispatchKeySet ks, at::Tensor & self, const at::Tensor & other) {
  if (wanted(self)) {
    keep(self.clone());
  }
  {
    at::AutoDispatchBelowAutograd guard;
    at::redispatch::blend_(ks & c10::after_autograd_keyset, self, other.mirror());
  }
  return self;
}

}

TORCH_LIBRARY_IMPL(aten, Autograd, m) {
  m.impl("blend_", TORCH_FN(VariableType::blend_));
}

} // namespace torch::autograd::VariableType
