"""`ptexplore lower EXPR`: make the graph of each rung of PyTorch, and show them side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.asked import RUN, given, read, with_options_of
from ptexplore.cli.options import open_console, open_workspace, print_json
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
from ptexplore.errors import USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.model.rungs import LowerReport, RungName

COMMAND = ProgramCommand
EXAMPLE = 'ptexplore lower "torch.relu(a @ b)"'
SCRIPT_EXAMPLE = "ptexplore lower --script train.py --only Net"
PATIENCE = 60.0  # seconds for each rung

EPILOG = """\
examples:
  ptexplore lower "torch.relu(a @ b) + 1"
  ptexplore lower "m(x)" --setup "from mine import Net; m = Net()" --var x="torch.randn(2, 8)"
  ptexplore lower --script train.py --only Net
  ptexplore lower --last --to core,prims
  ptexplore lower --last --open gelu

rungs: python, fx, jit-trace, jit-script, aten, export, functional, core, prims, aot-forward, aot-backward;
inductor only if --to names it. Names of tensors in EXPR are the inputs of the graph.
"""


@with_options_of(
    "variables", "setup", "contexts", "script", "arguments", "grad", "timeout",
    script="lower a module of this script; its arguments follow --",
    timeout=f"time limit for each rung, in seconds ({PATIENCE:.0f})",
)  # fmt: skip
def lower(
    expression: Annotated[str | None, Argument(metavar="[EXPR]", help="one Python expression")] = None,
    *,
    python: PythonOfRun = None,
    only: Annotated[
        str | None,
        Option(
            metavar="MODULE",
            help="for a script: the module that is lowered, by its class or path, at its first call",
            rich_help_panel=RUN,
        ),
    ] = None,
    checks: Annotated[
        bool,
        Option("--check", help="also find the first operator whose value differs from eager mode", rich_help_panel=RUN),
    ] = False,
    dynamic: Annotated[
        bool, Option("--dynamic", help="let torch.export decide which sizes are symbolic", rich_help_panel=RUN)
    ] = False,
    to: Annotated[
        str | None,
        Option(
            metavar="A,B", help="make these two rungs and show them side by side, or one rung", rich_help_panel=SHOWN
        ),
    ] = None,
    opened: Annotated[
        str | None,
        Option("--open", metavar="OP", help="follow one operator up and down the rungs", rich_help_panel=SHOWN),
    ] = None,
    as_json: AsJson = False,
    save: Save = None,
    svg: Svg = None,
    load: Load = None,
    last: Last = None,
    **asked: object,
) -> int:
    """Make the graph of one expression at each stage (rung) of PyTorch, and compare each with eager mode."""
    sources = {"EXPR": expression, "--script": asked["script"], "--load": load, "--last": last}
    source = only_source(sources, EXAMPLE)
    if (asked["script"] is None) != (only is None):
        why = "a script is run until it calls one of its modules, and this module is lowered"
        raise PtexploreError("--script and --only go together", why, SCRIPT_EXAMPLE, USAGE)
    check_no_folders(save, svg)
    if to is not None and opened is not None:
        raise PtexploreError("give one of --to and --open", "each of them shows another page", EXAMPLE, USAGE)
    wanted = _Wanted(save, svg, as_json, opened, _rungs(to))
    if load is not None or last is not None:
        if python is not None or checks or dynamic or given(asked):
            refuse_options_of_run(source, "lower")
        return wanted.show_saved(load, last)
    from ptexplore.capture.probing import asked_for
    from ptexplore.model.rungs import RUNGS, SLOW
    from ptexplore.workspace.typed import typed

    made = wanted.to or tuple(name for name in RUNGS if name not in SLOW)
    values = {**read(asked), "native": False, "rungs": made, "checks": checks, "dynamic": dynamic, "only": only}
    request = asked_for(expression, values)
    if "timeout" not in given(asked):
        request = replace(request, timeout=PATIENCE)
    with open_workspace(python) as workspace:
        report = workspace.lower(typed(request))
    print_what_it_printed(report.run.ladder.printed)
    if not wanted.is_saved:  # before the answer: an unknown name of --open must not lose the run
        from ptexplore.workspace.saved_lowers import LOWERS

        LOWERS.keep(report)
    return wanted.show(report)


def _rungs(text: str | None) -> tuple[RungName, ...]:
    """Returns the rungs that --to names. Raises PtexploreError for an unknown name, or for more than two."""
    if text is None:
        return ()
    from ptexplore.model.rungs import RUNGS

    names = [name.strip() for name in text.split(",") if name.strip()]
    known = tuple(rung for name in names for rung in RUNGS if rung == name)
    if len(known) != len(names) or not 1 <= len(set(known)) == len(known) <= 2:
        wrong = next((name for name in names if name not in RUNGS), None)
        why = f"the rungs are {', '.join(RUNGS)}"
        message = f"there is no rung {wrong[:80]}" if wrong is not None else "--to takes one rung or two"
        raise PtexploreError(message, why, "ptexplore lower --last --to core,prims", USAGE)
    return tuple(sorted(known, key=RUNGS.index))


@dataclass(frozen=True)
class _Wanted(WrittenRun):
    opened: str | None
    to: tuple[RungName, ...]

    def show_saved(self, load: str | None, last: str | None) -> int:
        """Show a run that was saved or kept."""
        from ptexplore.workspace.saved_lowers import LOWERS

        return self.show(read_run(LOWERS, load, last), links=False)

    def show(self, report: LowerReport, *, links: bool = True) -> int:
        """Show and write a run. Returns the exit code."""
        if self.save is not None:
            from ptexplore.workspace.saved_lowers import LOWERS

            LOWERS.save(self.save, report)
        if self.as_json:
            from ptexplore.view.documents.lowering import lower_document

            print_json(lower_document(report))
            return 0
        from ptexplore.render.terminal.compiling import print_compile
        from ptexplore.view.lower_opened import followed_page, rungs_page
        from ptexplore.view.lower_page import lower_page

        if self.opened is not None:
            page = followed_page(report, self.opened)
        else:
            page = rungs_page(report, self.to) if self.to else lower_page(report)
        print_compile(open_console(), page, links=links)
        self.write_picture(lambda console: print_compile(console, page, links=False), page.title)
        return 0
