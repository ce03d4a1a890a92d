"""Recorders that run inside the target Python, started by file path: standard library and torch alone."""
