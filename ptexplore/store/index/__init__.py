"""The index of the source text of one tree."""
