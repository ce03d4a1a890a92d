namespace torch::autograd::generated {

static variable_list BlendBackward0_apply_functional(variable_list&& grads) {
  return { grads[0], undo_blend(grads[0]) };
}

variable_list BlendBackward0::apply(variable_list&& grads) {
  return BlendBackward0_apply_functional(std::move(grads));
}

variable_list BlendBackward0::apply_with_saved(const variable_list& grads, SwapSavedVariables& saved) {
  return { };
}

} // namespace torch::autograd::generated
