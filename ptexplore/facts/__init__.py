"""Facts about PyTorch that no single file states, as tables: each row has its source, and the releases it holds for.

`scripts/facts --check TREE` checks every row against a checkout or an installed torch.
"""
