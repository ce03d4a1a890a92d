"""Conclude from observations and store: pure passes to claims with evidence; precision is decided in one place."""
