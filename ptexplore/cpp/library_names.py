"""How the names of libraries begin that are no extension's: torch's, Python's, C's, C++'s, OpenMP's."""

from __future__ import annotations

TORCHS = ("libtorch", "libc10")
INTERPRETER = ("libpython", "python")
C = ("libc.", "libgcc", "libpthread", "ld-linux")
STANDARD = ("libstdc++", "libc++")
OPENMP = ("libgomp", "libiomp", "libomp")
SYSTEMS = (*INTERPRETER, *C, *STANDARD, *OPENMP)
