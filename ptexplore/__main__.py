"""`python -m ptexplore`: the same as the `ptexplore` command."""

import sys

if __name__ == "__main__":
    # Python puts the current folder first; what we import must be found elsewhere before it (a `numpy/` may lie here).
    sys.path.append(sys.path.pop(0))

    from ptexplore.cli.app import entry

    entry()
