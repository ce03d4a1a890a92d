"""Who owns a Python file: you, torch, or a library (Python itself counts as one)."""

from __future__ import annotations

import site
import sysconfig

from .taken import os

OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # all of ptexplore, wherever it is
GIVEN = "<--setup"  # how expression.py names the files of --setup
TYPED = ("<stdin>", "<ipython", "<--", "<expression")  # names of files that do not exist: typed text
INSTALLED = tuple(
    {os.path.realpath(folder) + os.sep for folder in (*site.getsitepackages(), site.getusersitepackages())}
)
LIBRARIES = tuple(
    {os.path.realpath(folder) + os.sep for name in ("stdlib", "platstdlib") if (folder := sysconfig.get_path(name))}
    | {*INSTALLED}
)


def real(file: str) -> str:
    """Return a file's path without links; the given path if that is unknown: its folder is gone, its name has a NUL.

    Python's own function calls builtins. The program may have replaced them by objects that cannot be called: a
    TypeError.
    """
    try:
        return os.path.realpath(file)
    except (OSError, ValueError, TypeError):  # and nothing else: a signal's handler may raise at any moment
        return file


def is_library(file: str) -> bool:
    """Return whether a file is in a folder of Python or of installed packages. Torch's own files are, too."""
    return real(file).startswith(LIBRARIES)


def is_installed(file: str) -> bool:
    """Return whether a file is in a folder of installed packages."""
    return real(file).startswith(INSTALLED)
