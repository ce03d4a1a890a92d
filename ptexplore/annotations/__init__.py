"""The curated notes and tours: read, placed on a tree, locked, trusted."""
