"""How the names of libraries begin that are neither torch's nor an extension's: Python's, C's, C++'s, OpenMP's."""

from __future__ import annotations

INTERPRETER = ("libpython", "python")
C = ("libc.", "libgcc", "libpthread", "ld-linux")
STANDARD = ("libstdc++", "libc++")
OPENMP = ("libgomp", "libiomp", "libomp")
SYSTEMS = (*INTERPRETER, *C, *STANDARD, *OPENMP)
