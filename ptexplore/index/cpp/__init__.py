"""One C++ file to rows: prepared, parsed, read."""
