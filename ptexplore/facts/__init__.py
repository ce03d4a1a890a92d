"""What is known of PyTorch that no file says by itself, as tables: each row with where it was read, and since when.

`scripts/facts --check TREE` looks every row up in a checkout, or in an installed torch.
"""
