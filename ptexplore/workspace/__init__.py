"""A workspace opens catalogue, trees, indexes and notes when they are needed, and builds what is missing."""
