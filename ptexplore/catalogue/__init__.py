"""What the binary and torchgen say of every operator, checked against the regenerated C++."""
