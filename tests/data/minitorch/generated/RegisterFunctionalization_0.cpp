namespace at {
namespace functionalization {

    at::Tensor & blend_(c10::DispatchKeySet dispatchKeySet, at::Tensor & self, const at::Tensor & other) {
      if (true && !disable_meta_reference()) {
        at::AutoDispatchSkipFunctionalize func_guard;
        c10::impl::ExcludeDispatchKeyGuard guard(exclude_keys_for_meta_dispatch);
        at::_ops::blend_::call(to_meta(self), to_meta(other));
      }
      at::Tensor tmp_output;
      {
          at::AutoDispatchSkipFunctionalize guard;
          tmp_output = at::_ops::blend_Pair::call(self, other);
      }
      return self;
    }

}  // namespace functionalization

namespace {

TORCH_LIBRARY_IMPL(aten, Functionalize, m) {
  m.impl("blend_.Pair", TORCH_FN(functionalization::blend_));
  m.impl("twice", static_cast<at::Tensor (*)(const at::Tensor & self)>(at::native::twice_plain));;
}

}  // namespace

} // namespace at
