"""The installed torch, described without importing it, and its regenerated C++."""
