"""Checkouts of PyTorch and of extensions: git, archives, folders, and which of them is in use."""
