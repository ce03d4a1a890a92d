"""The entry point: arguments, the one error boundary, exit codes. Each command's work is in a file of its own."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from ptexplore import __version__
from ptexplore.errors import USAGE, PtexploreError

EPILOG = """\
exit codes: 0 ok, 1 failed, 2 usage, 3 something needed is missing, stale or mismatched
environment: PTEXPLORE_CACHE the cache folder, PTEXPLORE_DATA the folder of what you have read, PTEXPLORE_DEBUG=1
             shows tracebacks, NO_COLOR no colour
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        why = "the command line is not one that ptexplore knows"
        raise PtexploreError(message, why, f"{self.prog} --help", USAGE)


def make_parser() -> argparse.ArgumentParser:
    """The whole command line; building it imports nothing heavy."""
    from ptexplore.cli import (
        browse,
        completion,
        doctor,
        fetch,
        find,
        html,
        index,
        notes,
        op,
        refs,
        show,
        survey,
        tour,
        trace,
    )  # fmt: skip

    parser = _Parser(
        prog="ptexplore",
        description="What really runs when you write a line of PyTorch, and where it is.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ptexplore {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in (trace, op, find, show, refs, browse, tour, notes, html, fetch, index, survey, doctor, completion):
        command.register(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; every error a user can cause ends here in three parts."""
    try:
        arguments = sys.argv[1:] if argv is None else argv
        if arguments[:1] == ["__complete"]:
            from ptexplore.cli.completion import answer

            return answer(arguments[1:])
        if arguments[:1] == ["__lab"]:
            from ptexplore.cli.browse_child import lab_main

            return lab_main(arguments[1:])
        parser = make_parser()
        options = parser.parse_args(arguments)
        if options.command is None:
            parser.print_help()
            return 0
        status = int(options.run(options))
        sys.stdout.flush()  # here, so that a reader that went away is met inside this boundary
        return status
    except PtexploreError as error:
        if os.environ.get("PTEXPLORE_DEBUG"):
            raise
        report(error)
        return error.exit_code
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader went away (`| head`): not an error, but Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except OSError as error:
        if os.environ.get("PTEXPLORE_DEBUG"):
            raise
        report(_from_os(error))
        return 1


def _from_os(error: OSError) -> PtexploreError:
    from ptexplore.locations import cache_root

    where = f" ({error.filename})" if error.filename else ""
    hint = f"make room or set PTEXPLORE_CACHE to a folder that can be written to (now {cache_root()})"
    return PtexploreError("the operating system refused a file operation", f"{error.strerror or error}{where}", hint)


def report(error: PtexploreError) -> None:
    """Print an error's three parts to stderr."""
    from ptexplore.render.plain import clean_lines

    print(f"error: {clean_lines(error.message)}", file=sys.stderr)
    if error.why:
        print(f"why:   {clean_lines(error.why)}", file=sys.stderr)
    if error.hint:
        print(f"try:   {clean_lines(error.hint)}", file=sys.stderr)


def entry() -> None:
    """The console script."""
    sys.exit(main())
