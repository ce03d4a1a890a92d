namespace at { namespace _ops {

static C10_NOINLINE c10::TypedOperatorHandle<blend_Pair::schema> create_blend_Pair_typed_handle() {
  return find_handle<blend_Pair>();
}

at::Tensor blend_Pair::call(const at::Tensor & self, const at::Tensor & other) {
    static auto op = create_blend_Pair_typed_handle();
    return op.call(self, other);
}

at::Tensor blend_Pair::redispatch(c10::DispatchKeySet dispatchKeySet, const at::Tensor & self, const at::Tensor & other) {
    static auto op = create_blend_Pair_typed_handle();
    return op.redispatch(dispatchKeySet, self, other);
}

}} // namespace at::_ops
