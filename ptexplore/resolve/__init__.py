"""Conclusions from observations: pure passes that make claims with evidence. One module decides precision."""
