"""`python -m ptexplore`: the same as the `ptexplore` command."""

import contextlib
import os
import sys

if __name__ == "__main__":
    # Python puts the current folder first. Nothing is imported from there (a `numpy/` may lie here), unless it is where
    # ptexplore itself lies: what we import is found elsewhere before it then.
    # Where the current folder is gone, Python puts nothing there: what is first is another one.
    with contextlib.suppress(OSError):
        _current = os.getcwd()
        if sys.path[0] in ("", _current):
            _folder = sys.path.pop(0)
            if os.path.samefile(_current, os.path.join(os.path.dirname(__file__), os.pardir)):
                sys.path.append(_folder)

    from ptexplore.cli.app import entry

    entry()
