"""`python -m ptexplore`: the same as the `ptexplore` command."""

from ptexplore.cli.app import entry

if __name__ == "__main__":
    entry()
