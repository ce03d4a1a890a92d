"""Text to records: what the binary says it registered, checked against the C++ it was built from."""
