"""The installed torch: described without importing it, its generated C++ made anew."""
