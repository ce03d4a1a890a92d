"""The text of the source: the installed torch, its regenerated C++, checkouts, and canonical paths."""
