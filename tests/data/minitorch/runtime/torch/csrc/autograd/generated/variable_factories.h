namespace torch {

inline at::Tensor fresh(at::IntArrayRef size, at::TensorOptions options = {}) {
  at::AutoDispatchBelowADInplaceOrView guard;
  return own(at::fresh(size, options));
}
inline at::Tensor open(at::IntArrayRef size) {
  Timer timer;
  at::AutoDispatchBelowADInplaceOrView guard;
  return own(at::open(size));
}

} // namespace torch
