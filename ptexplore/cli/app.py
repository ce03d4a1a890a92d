"""The entry point: arguments, the one error boundary, exit codes. Each command's work is in a file of its own."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from ptexplore import __version__
from ptexplore.errors import USAGE, PtexploreError

COMMANDS = (  # each has a file of its name here
    "trace", "op", "find", "show", "refs", "browse", "tour", "notes", "html", "fetch", "index", "survey", "doctor",
    "completion",
)  # fmt: skip

READING = frozenset({"op", "find", "show", "refs"})  # these start no thread or process that outlives their answer

EPILOG = """\
exit codes: 0 ok, 1 failed, 2 usage, 3 something needed is missing, stale or mismatched
environment: PTEXPLORE_CACHE the cache folder, PTEXPLORE_DATA the folder of what you have read, PTEXPLORE_DEBUG=1
             shows tracebacks, NO_COLOR no colour
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        why = "the command line is not one that ptexplore knows"
        raise PtexploreError(message, why, f"{self.prog} --help", USAGE)


def make_parser(only: str | None = None) -> argparse.ArgumentParser:
    """The whole command line, or what there is of it for one command; building it imports nothing heavy."""
    from importlib import import_module

    parser = _Parser(
        prog="ptexplore",
        description="What really runs when you write a line of PyTorch, and where it is.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ptexplore {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in COMMANDS if only is None else (only,):
        import_module(f"ptexplore.cli.{command}").register(commands)
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
        # Of a command that is named first no message tells of the others.
        parser = make_parser(arguments[0] if arguments and arguments[0] in COMMANDS else None)
        options = parser.parse_args(arguments)
        if options.command is None:
            parser.print_help()
            return 0
        status = int(options.run(options))
        if sys.stdout is not None:  # started with it closed
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
    import gc

    gc.set_threshold(100_000)  # what a command reads it keeps: to look for what it does not took 7 % of its time
    status = main()
    if status == 0 and sys.argv[1:2] and sys.argv[1] in READING:
        if sys.stderr is not None:  # started with it closed
            sys.stderr.flush()
        os._exit(0)  # taking all modules and tables apart takes 20 ms, and nothing is left to put away
    sys.exit(status)
