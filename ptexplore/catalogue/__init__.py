"""Facts about every operator from the binary and from torchgen, checked against the regenerated C++."""
