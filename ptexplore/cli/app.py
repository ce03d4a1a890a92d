"""The entry point: the command line, the handling of all errors, exit codes. Each command has a file of its own."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup

from ptexplore import __version__
from ptexplore.cli import completion, streams
from ptexplore.cli.typer_commands import WIDTH, Command, converting, verbatim
from ptexplore.errors import BAD_DISK, MISSING, USAGE, PtexploreError

COMMANDS = {  # each has a file and a function of its name in this folder, with _ for -
    "trace": "what runs when I write this line, and where is it?",
    "tensor": "how do these tensors lie in memory? views, copies",
    "graph": "what did autograd record and keep for backward?",
    "explain-error": "what does this error message mean, and what raised it?",
    "compile": "what did torch.compile do to my code, and why?",
    "lower": "the graph of your code at each stage: torch.fx, ATen, Core ATen, Prims",
    "op": "what is this operator? schema, kernels, derivative",
    "find": "where is this name? symbols, operators, files, notes, text",
    "show": "the source of a symbol, an operator, a file or a line",
    "refs": "who uses this name? calls, registrations, stubs, tests",
    "browse": "read the source, with notes beside it",
    "tour": "follow a tour through the source",
    "exercise": "write a piece of PyTorch yourself, judged against the real one",
    "notes": "write notes and tours, and check where they point",
    "html": "write a static site for a study group",
    "fetch": "download PyTorch's source, which has the hand-written C++",
    "index": "index the source: definitions, uses, registrations",
    "survey": "trace PyTorch's own sample of every operator",
    "lsp": "answer an editor: definitions, uses and kernels in PyTorch's source",
    "mcp": "answer a coding agent: a server for the Model Context Protocol",
    "skills": "pages for coding agents: which command answers which question",
    "doctor": "does ptexplore fit the torch that is installed here?",
}

FAULT = "ptexplore itself failed"
NO_MEMORY = "there is not enough memory"
LAB = "__lab"  # `browse` starts it to run a lab in a process of its own
READING = frozenset(
    {"op", "find", "show", "refs", "explain-error"}
)  # these start no thread or process that outlives their answer

LONGEST = 2000  # characters of an error's message, and of its reason
LONGEST_HINT = 8000  # characters of the command to type, which is useless in parts
# between the lines of a reason: so a quoted text cannot look like a part of the message
_LABEL = 7  # columns
_FURTHER = f"\n{'':{_LABEL}}| "
EPILOG = """\
begin with:  ptexplore trace "torch.add(a, b)"

exit codes:  0 success, 1 failure, 2 wrong usage,
             3 a needed file is missing, out of date or does not match

environment: PTEXPLORE_CACHE   the cache folder
             PTEXPLORE_DATA    the folder of your reading progress
             PTEXPLORE_CONFIG  the folder of the code that you trusted
             PTEXPLORE_DEBUG=1 shows tracebacks
             NO_COLOR          turns colours off
"""


class Commands(TyperGroup):
    """All commands, in the order of COMMANDS. typer would list `notes` last, since it has subcommands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Returns the options before a command."""
        return converting(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        """Returns the names of the commands."""
        del ctx
        return [name for name in COMMANDS if name in self.commands]


def make_app(only: str | None = None, *, listed: bool = False) -> typer.Typer:
    """Makes the whole command line, or the part for one command. It imports nothing heavy.

    `listed` is for the list of commands, which needs only their names: none of them can be run or asked for help.
    """
    settings = {"help_option_names": ["-h", "--help"], "max_content_width": WIDTH}
    app = typer.Typer(
        cls=Commands,
        add_completion=only is None or completion.VARIABLE in os.environ,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=settings,
    )
    app.callback(invoke_without_command=True, epilog=verbatim(EPILOG))(ptexplore)
    if only == LAB:
        from ptexplore.cli.browse import run_lab_here

        app.command(LAB, cls=Command, hidden=True)(run_lab_here)
        return app
    if listed:
        for name, line in COMMANDS.items():
            app.command(name, short_help=line)(_only_listed)
        return app
    for name in COMMANDS if only is None else (only,):
        spelled = name.replace("-", "_")
        module = import_module(f"ptexplore.cli.{spelled}")
        if name == "notes":
            app.add_typer(module.make_notes(), name=name, short_help=COMMANDS[name])
        else:
            epilog = verbatim(getattr(module, "EPILOG", ""))
            kind = getattr(module, "COMMAND", Command)
            app.command(name, cls=kind, short_help=COMMANDS[name], epilog=epilog)(getattr(module, spelled))
    return app


def _only_listed() -> None:
    """Stands for a command in the list of commands. It is never called."""


def ptexplore(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="show the version and exit")] = False,
) -> None:
    """What really runs when you write a line of PyTorch, and where it is."""
    if version:
        print(f"ptexplore {__version__}")
    elif ctx.invoked_subcommand is None:
        print(ctx.get_help())


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code. Every error ends here, as a message of three parts."""
    streams.prepare()
    try:
        _check_platform()
        with streams.ended_by_signals() as signals:
            try:
                arguments = list(sys.argv[1:] if argv is None else argv)
                status = _run(arguments)
                sys.stdout.flush()  # flush now: if the reader went away, the error must come here
            except KeyboardInterrupt:
                print("error: interrupted" if signals.is_interrupt else "error: ended by the system", file=sys.stderr)
                return 128 + signals.number
            # A command that was interrupted and kept its results does not know which signal it was.
            return status if signals.is_interrupt else 128 + signals.number
    except BrokenPipeError:
        streams.give_up_output()  # the reader went away (`| head`): not an error
        return 0
    except Exception as error:
        if os.environ.get("PTEXPLORE_DEBUG"):
            raise
        failure = _explain_error(error)
        report(failure)
        streams.flush_output()
        return failure.exit_code


def _check_platform() -> None:
    """Raises PtexploreError (MISSING) on Windows, before any module is imported that only POSIX has."""
    if sys.platform == "win32":
        why = "this is Windows; ptexplore needs fork, POSIX signals and file locks, which Linux and WSL have"
        raise PtexploreError(
            "ptexplore does not run on Windows", why, "wsl --install, then install ptexplore inside WSL", MISSING
        )


def _explain_error(error: Exception) -> PtexploreError:
    """Returns the three parts of any error."""
    if isinstance(error, PtexploreError):
        # Writing into the cache also needs the current folder, for a child process.
        lost = _without_folder() if isinstance(error.__cause__, FileNotFoundError) else None
        return lost or error
    if isinstance(error, OSError):
        return _without_folder() or _from_os(error)
    # Python says only that it cannot allocate a lock if there is no memory for one.
    if isinstance(error, MemoryError) or _comes_of(error, "can't allocate"):
        return PtexploreError(
            NO_MEMORY, str(error) or "the system refused it", "free memory, or raise the limit: ulimit -v"
        )
    if _comes_of(error, "start new thread"):
        why = "the limit on processes is reached"
        return PtexploreError("no thread can be started", why, "raise the limit: ulimit -u")
    what = f"{type(error).__name__}: {str(error)[:200]}".rstrip(": ")
    hint = "set PTEXPLORE_DEBUG=1 to see where, and please report it (SECURITY.md, CONTRIBUTING.md)"
    return PtexploreError(FAULT, what, hint)


def _comes_of(error: BaseException | None, words: str) -> bool:
    """Whether the cause is one that Python has no exception for: the system refused a thread or a lock."""
    while error is not None:
        if isinstance(error, RuntimeError) and words in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _run(arguments: list[str]) -> int:
    """Returns the exit code of the requested command. Raises PtexploreError, and the errors of the command."""
    completing = completion.VARIABLE in os.environ
    words = completion.typed_words() if completing else arguments
    names = (*COMMANDS, LAB)
    first = words[0] if words else ""
    if first and not completing and not first.startswith("-") and first not in names:
        raise _no_command(first)
    # If a command is named first, no message mentions the others. If none is named, all are only listed.
    only = first if first in names else None
    command = typer.main.get_command(make_app(only, listed=not any(word in names for word in words)))

    if completing:
        return completion.answer(lambda: command.main(arguments, "ptexplore", complete_var=completion.VARIABLE))
    # Not with `main`, which exits the process when it is interrupted or when the reader of a pipe goes away.
    try:
        with command.make_context("ptexplore", arguments) as context:
            return int(command.invoke(context) or 0)
    except typer.Exit as error:
        return error.exit_code
    except typer.TyperException as error:
        raise _from_usage(error, f"ptexplore {first}".strip()) from error


def _no_command(name: str) -> PtexploreError:
    """Returns the error for a word that is not a command, with the nearest one."""
    from difflib import get_close_matches

    close = get_close_matches(name, COMMANDS, 1)
    hint = f"did you mean ptexplore {close[0]}? ptexplore --help lists all commands" if close else "ptexplore --help"
    return PtexploreError(f"{name} is not a command", f"the commands are {', '.join(COMMANDS)}", hint, USAGE)


def _from_usage(error: typer.TyperException, command: str) -> PtexploreError:
    """Returns the three parts of typer's error about the command line of `command`."""
    from difflib import get_close_matches

    context = getattr(error, "ctx", None)
    called = context.command_path if context is not None else command
    possible = getattr(error, "possibilities", None) or ()
    close = get_close_matches(getattr(error, "option_name", ""), possible, 1)
    message = (error.message if possible else error.format_message()).partition(". Did you mean")[0].rstrip(".")
    hint = f"did you mean {close[0]}? {called} --help" if close else f"{called} --help"
    why = "ptexplore does not know this command line"
    return PtexploreError(message[:1].lower() + message[1:], why, hint, USAGE)


def _without_folder() -> PtexploreError | None:
    """Returns the error for a current folder that was deleted. None if it exists."""
    try:
        os.getcwd()
    except FileNotFoundError:
        where = os.environ.get("PWD", "")
        why = f"{where} was deleted" if where else "it was deleted"
        return PtexploreError("the current folder does not exist", why, "cd to a folder that exists", USAGE)
    except OSError:
        pass  # another problem, which the original error reports
    return None


def _from_os(error: OSError) -> PtexploreError:
    from ptexplore.locations import cache_root

    where = f" ({os.fsdecode(error.filename)})" if isinstance(error.filename, (str, bytes)) else ""
    if error.errno == errno.EFBIG:
        why = f"{error.strerror}{where}: the limit on the size of a file is reached"
        return PtexploreError("a file cannot be written", why, "raise the limit: ulimit -f unlimited")
    if error.errno in (errno.EAGAIN, errno.EMFILE, errno.ENFILE):
        why = f"{error.strerror}{where}: the limit on processes or open files is reached"
        return PtexploreError("a limit of the system is reached", why, "raise the limit: ulimit -u or ulimit -n")
    if not where:  # printed output has no file name
        hint = "free space where the output goes, or send the output elsewhere"
        return PtexploreError("the output cannot be written", f"{error.strerror or error}", hint)
    if error.errno in BAD_DISK:
        hint = "run this again; if it fails again, check the disk or the network folder"
        return PtexploreError("a file cannot be reached", f"{error.strerror or error}{where}", hint)
    hint = f"free space, or set PTEXPLORE_CACHE to a folder that you can write to (now {cache_root()})"
    return PtexploreError("the operating system refused a file operation", f"{error.strerror or error}{where}", hint)


def report(error: PtexploreError) -> None:
    """Prints an error's three parts to stderr.

    Further lines of a reason are indented, so that only labels begin a line.
    """
    from ptexplore.safe_text import clean, clean_lines

    columns = _columns_of_stderr()
    with contextlib.suppress(OSError, ValueError):  # stderr is closed
        for label, part, most in (
            ("error:", error.message, LONGEST), ("why:", error.why, LONGEST), ("try:", error.hint, LONGEST_HINT)
        ):  # fmt: skip
            if part:
                shown = _shortened(part, most)
                lines = clean_lines(shown).split("\n") if label == "why:" else [clean(shown)]
                if not (label == "try:" and shown.startswith("ptexplore ")):  # a command is copied as one line
                    lines = [_wrapped(line, columns) for line in lines]
                print(f"{label:6} {_FURTHER.join(lines)}", file=sys.stderr)
        sys.stderr.flush()


def _columns_of_stderr() -> int:
    """Returns the width of the terminal that errors go to; 0 if they do not go to a terminal."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return 0


def _wrapped(line: str, columns: int) -> str:
    """Returns a line of an error wrapped at words for a terminal. Further lines are indented like the first."""
    import textwrap

    room = columns - _LABEL - 2  # the further lines of a reason have a bar
    if columns < _LABEL * 4 or len(line) <= room:
        return line
    return f"\n{'':{_LABEL}}".join(textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False))


def _shortened(text: str, most: int) -> str:
    """Cuts a part of an error, whose names and texts may have any length. Its beginning and end are kept."""
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"


def entry() -> None:
    """The console script."""
    import gc

    # a command keeps what it reads: looking for garbage took 7 % of its time
    gc.set_threshold(100_000)
    status = main()
    if sys.stdout.closed or not streams.flush_output():
        os._exit(status)  # Python would report the error again
    if status == 0 and sys.argv[1:2] and sys.argv[1] in READING:
        sys.stderr.flush()
        # taking down all modules and tables takes 20 ms, and there is nothing to clean up
        os._exit(0)
    sys.exit(status)
