"""Checkouts of PyTorch and of extensions: git, archives, folders, what is in use."""
