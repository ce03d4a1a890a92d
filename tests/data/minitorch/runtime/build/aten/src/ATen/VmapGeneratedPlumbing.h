namespace at { namespace functorch {
template <typename batch_rule_t, batch_rule_t batch_rule>
at::Tensor blend_generated_plumbing(const at::Tensor & self, const at::Tensor & other) {
  auto level = current_level();
  return wrap(batch_rule(self, other), level);
}
template <typename batch_rule_t, batch_rule_t batch_rule>
at::Tensor mirror_generated_plumbing(const at::Tensor & self) {
  return batch_rule(self);
}
template <typename batch_rule_t, batch_rule_t batch_rule>
at::Tensor mirror_generated_plumbing(const at::Tensor & self, int64_t count) {
  return batch_rule(self, count);
}
}} // namespace at::functorch
