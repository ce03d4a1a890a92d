namespace torch::ADInplaceOrView {
namespace {

at::Tensor & blend_(c10::DispatchKeySet ks, at::Tensor & self, const at::Tensor & other) {
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    at::_ops::blend_::redispatch(ks & c10::after_ADInplaceOrView_keyset, self, other);
  }
  count_up(self);
  return self;
}

}

TORCH_LIBRARY_IMPL(aten, ADInplaceOrView, m) {
  m.impl("blend_", TORCH_FN(ADInplaceOrView::blend_));
}

} // namespace torch::ADInplaceOrView
