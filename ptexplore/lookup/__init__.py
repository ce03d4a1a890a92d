"""Finds the meaning of a name, its uses, and the things that a query may mean: one engine for every front end."""
