"""Recorders that run inside the target Python, started by file path. They use only the standard library and torch."""
