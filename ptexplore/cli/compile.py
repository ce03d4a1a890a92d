"""`ptexplore compile EXPR`: run code once, and show what torch.compile did to it, and why."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.asked import RUN, given, read, with_options_of
from ptexplore.cli.options import has_streams, open_console, open_workspace, print_json
from ptexplore.cli.typer_commands import ProgramCommand
from ptexplore.errors import FAILED, USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.capture.probing import TraceRequest
    from ptexplore.model.compiled import CompileReport

INTERRUPTED = 130  # the exit status that shells use for Ctrl-C
OPTIONS = ("variables", "setup", "contexts", "script", "module", "arguments", "grad", "backward", "timeout")
COMMAND = ProgramCommand
EXAMPLE = "ptexplore compile --script train.py"

EPILOG = """\
examples:
  ptexplore compile --script train.py
  ptexplore compile "f(torch.randn(3)), f(torch.randn(4))" --setup "f = torch.compile(lambda x: x.sin().sum())"
  ptexplore compile "torch.relu(a @ b) + 1" --compile
"""


def _compile(
    expression: Annotated[str | None, Argument(metavar="[EXPR]", help="one Python expression")] = None,
    *,
    wraps: Annotated[
        bool, Option("--compile", help="give the whole expression to torch.compile", rich_help_panel=RUN)
    ] = False,
    python: Annotated[
        str | None, Option(metavar="PATH", help="use the torch of another Python environment", rich_help_panel=RUN)
    ] = None,
    as_json: Annotated[bool, Option("--json", help="as JSON (format 1)")] = False,
    **asked: object,
) -> int:
    """Run code once; show functions compiled, graph breaks, recompilations and guards, with your line of each."""
    programs = [name for name in ("script", "module") if asked[name] is not None]
    if (expression is None) == (not programs):
        why = "EXPR and a program were given" if programs else "nothing was given"
        raise PtexploreError("give one of EXPR, --script FILE and -m MODULE", why, EXAMPLE, USAGE)
    if wraps and programs:
        why = "--compile wraps an expression; a program calls torch.compile itself"
        raise PtexploreError("--compile is for an expression", why, EXAMPLE, USAGE)
    from ptexplore.capture.probing import asked_for, check_options
    from ptexplore.view.words.errors import in_words
    from ptexplore.workspace.typed import typed

    with in_words():
        check_options(given(asked), is_script=bool(programs))
    passes_on = bool(programs) and has_streams()
    request = replace(asked_for(expression, read(asked)), wraps=wraps, native=False, passes_on=passes_on)
    with open_workspace(python) as workspace:
        report = workspace.compile(typed(request))
    _show(report, request, python, as_json=as_json)
    return _exit_code(report)


compile = with_options_of(*OPTIONS)(_compile)  # noqa: A001  (the command's name)


def _show(report: CompileReport, request: TraceRequest, python: str | None, *, as_json: bool) -> None:
    if report.run.printed and not request.passes_on:  # a program's output appeared while it ran
        from ptexplore.render.terminal.trace import print_printed

        print_printed(open_console(stderr=True), "expression", report.run.printed)
    if as_json:
        from ptexplore.view.documents.compiling import compile_document

        print_json(compile_document(report))
        return
    from ptexplore.render.terminal.compiling import print_compile
    from ptexplore.view.compile_page import compile_page

    page = compile_page(report)
    print_compile(open_console(), page, _command(request, python) if page.next_step else "")


def _command(request: TraceRequest, python: str | None) -> str:
    """Returns the command that compiles the expression as a whole."""
    from ptexplore.view.words.commands import words_of

    words = words_of(request.expression, replace(request, native=True))
    return shlex.join(("ptexplore", "compile", *words, "--compile", *(("--python", python) if python else ())))


def _exit_code(report: CompileReport) -> int:
    """Returns 0 for a run that came to its end, 130 for an interrupted one, else 1."""
    raised = report.run.raised
    if raised is None:
        return 0
    return INTERRUPTED if raised.exception == "KeyboardInterrupt" else FAILED
