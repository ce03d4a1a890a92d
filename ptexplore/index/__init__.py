"""Turns source text into rows: symbols, references and PyTorch's dialect of macros."""
