"""Whose a file of Python is: yours, torch's, or a library's, as Python itself is one."""

from __future__ import annotations

import site
import sysconfig

from .taken import os

OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # all of ptexplore, which may be anywhere
GIVEN = "<--setup"  # how expression.py names the files of what is given by --setup
TYPED = ("<stdin>", "<ipython", "<--", "<expression")  # files that nobody wrote, of what somebody typed
LIBRARIES = tuple(
    {os.path.realpath(folder) + os.sep for name in ("stdlib", "platstdlib") if (folder := sysconfig.get_path(name))}
    | {os.path.realpath(folder) + os.sep for folder in (*site.getsitepackages(), site.getusersitepackages())}
)


def real(file: str) -> str:
    """A file's path without links; as it is given where nobody can tell: its folder is gone, its name has a NUL.

    Python's own function calls builtins, which the program may have replaced by what cannot be called: a TypeError.
    """
    try:
        return os.path.realpath(file)
    except (OSError, ValueError, TypeError):  # and nothing else: a signal's handler may raise at any moment
        return file


def is_library(file: str) -> bool:
    """Whether a file lies where Python, or what was installed beside it, does; torch's own do, too."""
    return real(file).startswith(LIBRARIES)
