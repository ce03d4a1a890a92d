"""`ptexplore lower EXPR`: make the graph of each rung of PyTorch, and show them side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.asked import RUN, given, read, with_options_of
from ptexplore.cli.options import open_console, open_workspace, print_json
from ptexplore.cli.typer_commands import ProgramCommand
from ptexplore.errors import USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.model.rungs import LowerReport, RungName

SHOWN = "What is shown"
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
    python: Annotated[
        str | None, Option(metavar="PATH", help="use the torch of another Python environment", rich_help_panel=RUN)
    ] = None,
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
    as_json: Annotated[bool, Option("--json", help="as JSON (format 1)", rich_help_panel=SHOWN)] = False,
    save: Annotated[str | None, Option(metavar="FILE", help="save the run in a file", rich_help_panel=SHOWN)] = None,
    svg: Annotated[
        str | None, Option(metavar="FILE", help="save the page as an SVG picture", rich_help_panel=SHOWN)
    ] = None,
    load: Annotated[
        str | None, Option(metavar="FILE", help="show a saved run; torch is not needed", rich_help_panel=SHOWN)
    ] = None,
    last: Annotated[
        str | None,
        Option(
            metavar="[N]",
            help="show the last run again without running it; N: the N-th last of at most 20",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    **asked: object,
) -> int:
    """Make the graph of one expression at each stage (rung) of PyTorch, and compare each with eager mode."""
    sources = {"EXPR": expression, "--script": asked["script"], "--load": load, "--last": last}
    named = [name for name, value in sources.items() if value is not None]
    if len(named) != 1:
        why = f"{', '.join(named)} were given" if named else "nothing was given"
        raise PtexploreError("give one of EXPR, --script FILE, --load FILE and --last", why, EXAMPLE, USAGE)
    if (asked["script"] is None) != (only is None):
        why = "a script is run until it calls one of its modules, and this module is lowered"
        raise PtexploreError("--script and --only go together", why, SCRIPT_EXAMPLE, USAGE)
    for written in filter(None, (save, svg)):
        if Path(written).is_dir():
            hint = f"name a file inside it: {written}/run"
            raise PtexploreError(f"{written} is a folder", "ptexplore writes one file", hint, USAGE)
    if to is not None and opened is not None:
        raise PtexploreError("give one of --to and --open", "each of them shows another page", EXAMPLE, USAGE)
    wanted = _Wanted(_rungs(to), opened, save, svg, as_json)
    if load is not None or last is not None:
        if python is not None or checks or dynamic or given(asked):
            why = "a saved run keeps the code and the options that it was made with"
            raise PtexploreError(f"{named[0]} goes with no option of a run", why, "ptexplore lower --help", USAGE)
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
    if report.run.ladder.printed:
        from ptexplore.render.terminal.trace import print_printed

        print_printed(open_console(stderr=True), "expression", report.run.ladder.printed)
    if not wanted.is_saved:  # before the answer: an unknown name of --open must not lose the run
        from ptexplore.workspace.saved_lowers import keep_lower

        keep_lower(report)
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
class _Wanted:
    """The options that say how a run is shown, and where it is written."""

    to: tuple[RungName, ...]
    opened: str | None
    save: str | None
    svg: str | None
    as_json: bool

    @property
    def is_saved(self) -> bool:
        """Whether the run can be loaded again from the file of --save: not from a device or a FIFO."""
        return self.save is not None and (Path(self.save).is_file() or not Path(self.save).exists())

    def show_saved(self, load: str | None, last: str | None) -> int:
        """Show a run that was saved or kept."""
        from ptexplore.workspace.saved_lowers import last_lower, load_lower

        if load is None:
            from ptexplore.cli.compile import number_of_last

            load = str(last_lower(number_of_last(last or "1", "lower")))
        return self.show(load_lower(load), links=False)

    def show(self, report: LowerReport, *, links: bool = True) -> int:
        """Show and write a run. Returns the exit code."""
        if self.save is not None:
            from ptexplore.workspace.saved_lowers import save_lower

            save_lower(Path(self.save), report)
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
        if self.svg is not None:
            from ptexplore.render.terminal.console import picture
            from ptexplore.workspace.saved_traces import write_file

            drawn = picture(lambda console: print_compile(console, page, links=False), page.title)
            write_file(Path(self.svg), drawn)
        return 0
