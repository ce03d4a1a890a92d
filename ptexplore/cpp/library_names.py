"""Prefixes of library names that belong to no extension: torch, Python, C, C++, OpenMP."""

from __future__ import annotations

TORCHS = ("libtorch", "libc10")
INTERPRETER = ("libpython", "python")
C = ("libc.", "libgcc", "libpthread", "ld-linux")
STANDARD = ("libstdc++", "libc++")
OPENMP = ("libgomp", "libiomp", "libomp")
SYSTEMS = (*INTERPRETER, *C, *STANDARD, *OPENMP)
