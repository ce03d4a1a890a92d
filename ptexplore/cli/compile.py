"""`ptexplore compile EXPR`: run code once, and show what torch.compile did to it, and why."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.asked import RUN, given, read, with_options_of
from ptexplore.cli.options import has_streams, open_console, open_workspace, print_json
from ptexplore.cli.saved_runs import (
    SHOWN,
    AsJson,
    Last,
    Load,
    PythonOfRun,
    Save,
    Svg,
    WrittenRun,
    check_no_folders,
    only_source,
    print_what_it_printed,
    read_run,
    refuse_options_of_run,
)
from ptexplore.cli.typer_commands import ProgramCommand
from ptexplore.errors import FAILED, USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.capture.probing import TraceRequest
    from ptexplore.model.compiled import CompileReport

INTERRUPTED = 130  # the exit status that shells use for Ctrl-C
OPTIONS = ("variables", "setup", "contexts", "script", "module", "arguments", "grad", "backward", "timeout")
COMMAND = ProgramCommand
PATIENCE = 300.0  # seconds: the first compilation by Inductor on a machine also compiles its C++ headers
EXAMPLE = "ptexplore compile --script train.py"

EPILOG = """\
examples:
  ptexplore compile --script train.py
  ptexplore compile "f(torch.randn(3)), f(torch.randn(4))" --setup "f = torch.compile(lambda x: x.sin().sum())"
  ptexplore compile "torch.relu(a @ b) + 1" --compile
  ptexplore compile --last --open 0/0
"""


def _compile(
    expression: Annotated[str | None, Argument(metavar="[EXPR]", help="one Python expression")] = None,
    *,
    wraps: Annotated[
        bool, Option("--compile", help="give the whole expression to torch.compile", rich_help_panel=RUN)
    ] = False,
    python: PythonOfRun = None,
    opened: Annotated[
        str | None,
        Option(
            "--open",
            metavar="NAME",
            help="show one graph (0/1), break ([1], train.py:12), kernel or function, with its code",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    as_json: AsJson = False,
    save: Save = None,
    svg: Svg = None,
    load: Load = None,
    last: Last = None,
    **asked: object,
) -> int:
    """Run code once. Show which functions were compiled, graph breaks, recompilations and guards, with your lines."""
    programs = [name for name in ("script", "module") if asked[name] is not None]
    sources = {"EXPR": expression, "--script": asked["script"], "-m": asked["module"], "--load": load, "--last": last}
    source = only_source(sources, EXAMPLE)
    check_no_folders(save, svg)
    if wraps and programs:
        why = "--compile wraps an expression; a program calls torch.compile itself"
        raise PtexploreError("--compile is for an expression", why, EXAMPLE, USAGE)
    from ptexplore.capture.probing import asked_for, check_options
    from ptexplore.view.words.errors import in_words
    from ptexplore.workspace.typed import typed

    wanted = _Wanted(save, svg, as_json, opened)
    if load is not None or last is not None:
        if wraps or python is not None or given(asked):
            refuse_options_of_run(source, "compile")
        return wanted.show_saved(load, last)
    with in_words():
        check_options(given(asked), is_script=bool(programs))
    passes_on = bool(programs) and has_streams()
    request = replace(asked_for(expression, read(asked)), wraps=wraps, native=False, passes_on=passes_on)
    if "timeout" not in given(asked):
        request = replace(request, timeout=PATIENCE)
    with open_workspace(python) as workspace:
        report = workspace.compile(typed(request))
    if not request.passes_on:  # a program's output appeared while it ran
        print_what_it_printed(report.run.printed)
    if not wanted.is_saved:  # before the answer: an unknown name of --open must not lose the run
        from ptexplore.workspace.saved_compiles import COMPILES

        COMPILES.keep(report)
    return wanted.show(report, _command(request, python))


compile = with_options_of(*OPTIONS, timeout=f"time limit for the run, in seconds ({PATIENCE:.0f})")(_compile)  # noqa: A001  (the command's name)


@dataclass(frozen=True)
class _Wanted(WrittenRun):
    opened: str | None

    def show_saved(self, load: str | None, last: str | None) -> int:
        """Show a run that was saved or kept; returns the exit code of that run."""
        from ptexplore.workspace.saved_compiles import COMPILES

        return self.show(read_run(COMPILES, load, last), "", links=False)

    def show(self, report: CompileReport, command: str, *, links: bool = True) -> int:
        """Show and write a run; returns the exit code. `command` compiles the expression as a whole."""
        if self.save is not None:
            from ptexplore.workspace.saved_compiles import COMPILES

            COMPILES.save(self.save, report)
        if self.as_json:
            from ptexplore.view.documents.compiling import compile_document

            print_json(compile_document(report))
            return _exit_code(report)
        from ptexplore.render.terminal.compiling import print_compile
        from ptexplore.view.compile_opened import opened_page
        from ptexplore.view.compile_page import compile_page

        page = compile_page(report) if self.opened is None else opened_page(report, self.opened)
        print_compile(open_console(), page, command if page.next_step else "", links=links)
        # without links: these lead into folders of this machine, and a picture is passed on
        self.write_picture(lambda console: print_compile(console, page, links=False), page.title)
        return _exit_code(report)


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
