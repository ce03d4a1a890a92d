"""Turns one C++ file into rows: prepare, parse, read."""
