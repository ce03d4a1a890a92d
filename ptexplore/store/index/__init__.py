"""The index of one tree's source text."""
