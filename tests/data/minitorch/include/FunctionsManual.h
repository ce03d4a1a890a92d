#pragma once

namespace torch::autograd::generated::details {

struct Slots {
  Slots(int count) : count_{count}, used_(0) {}
  int undo_blend(int which) const { return which; }
  int count_;
  int used_;
};

TORCH_API at::Tensor
undo_blend(const at::Tensor& grad);

} // namespace torch::autograd::generated::details
