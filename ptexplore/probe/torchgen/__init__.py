"""Generators: children that run the torchgen of the target to make its C++ anew."""
