"""The picture of tensors in memory: what a page of it has, and a storage as rows of cells."""
