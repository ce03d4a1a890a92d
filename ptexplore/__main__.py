"""`python -m ptexplore`: the same as the `ptexplore` command."""

import contextlib
import os
import sys

if __name__ == "__main__":
    # Python puts the current folder first on its path. A `numpy/` in that folder must not be imported, so the folder is
    # removed. If ptexplore itself is in that folder, it goes to the end of the path: our imports are then found
    # elsewhere first. If the current folder is gone, Python does not add it, and the first entry is another one.
    with contextlib.suppress(OSError):
        _current = os.getcwd()
        if sys.path[0] in ("", _current):
            _folder = sys.path.pop(0)
            if os.path.samefile(_current, os.path.join(os.path.dirname(__file__), os.pardir)):
                sys.path.append(_folder)

    from ptexplore.cli.app import entry

    entry()
