"""`ptexplore graph EXPR`: run an expression in a probe and show the autograd graph behind its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.asked import RUN, given, read, with_options_of
from ptexplore.cli.options import linking, open_console, open_workspace, print_json
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
    read_run,
    refuse_options_of_run,
)
from ptexplore.errors import USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.model.autograd_graph import LocatedGraph
    from ptexplore.render.terminal.console import Locate

STEPS, LEAK_STEPS, LEAST_STEPS = 2, 5, 4  # calls of backward that are watched

EPILOG = """\
examples:
  ptexplore graph "torch.mm(a, b).exp().sum()"
  ptexplore graph "m(x).mean()" --setup "m = nn.Sequential(nn.Linear(3, 4), nn.ReLU())" --var x="torch.randn(2, 3)"
  ptexplore graph "(a.detach() * b).sum()" --why a
  ptexplore graph "torch.mm(a, b).exp().sum()" --run
  ptexplore graph loss --script train.py
  ptexplore graph --memory --script train.py
  ptexplore graph --leak --script train.py --steps 10
  ptexplore graph --last --why w

names: as in `ptexplore trace`. The tensors bound to names require grad; a name of --setup stays as it is.
With --script, the script runs up to its first backward, and EXPR is evaluated there.
"""


@with_options_of(
    "variables",
    "setup",
    "contexts",
    "script",
    "timeout",
    script="run a script up to its first backward; EXPR is evaluated there",
)
def graph(
    expression: Annotated[str | None, Argument(metavar="[EXPR]", help="one Python expression")] = None,
    *,
    python: PythonOfRun = None,
    why: Annotated[
        list[str] | None,
        Option("--why", metavar="NAME", help="say why a tensor gets a gradient, or none", rich_help_panel=SHOWN),
    ] = None,
    run: Annotated[
        bool,
        Option(
            "--run",
            help="run backward: the order of the nodes, threads, times, gradients, and what .grad gets",
            rich_help_panel=SHOWN,
        ),
    ] = False,
    memory: Annotated[
        bool,
        Option(
            "--memory",
            help="who holds memory, at the peak and at the first backward: parameters, nodes, names, containers",
            rich_help_panel=SHOWN,
        ),
    ] = False,
    leak: Annotated[
        bool,
        Option(
            "--leak",
            help="memory that the steps of a script leave behind, and the references to it",
            rich_help_panel=SHOWN,
        ),
    ] = False,
    steps: Annotated[
        int | None,
        Option(
            metavar="N",
            help=f"for --memory and --leak: how many calls of backward are watched ({STEPS}; --leak: {LEAK_STEPS})",
            rich_help_panel=RUN,
        ),
    ] = None,
    full: Annotated[
        bool, Option("--full", help="all rows; repeated parts are not folded", rich_help_panel=SHOWN)
    ] = False,
    depth: Annotated[
        int | None, Option(metavar="N", help="at most N levels of branches", rich_help_panel=SHOWN)
    ] = None,
    only: Annotated[
        str | None,
        Option(metavar="TEXT", help="only rows with TEXT in a name, a module or a line", rich_help_panel=SHOWN),
    ] = None,
    as_json: AsJson = False,
    save: Save = None,
    svg: Svg = None,
    load: Load = None,
    last: Last = None,
    **asked: object,
) -> int:
    """Show the autograd graph behind an expression: nodes, edges, leaves, and what each node keeps until backward."""
    if depth is not None and depth < 1:
        raise PtexploreError("--depth must be 1 or more", f"{depth} levels would show nothing", "--depth 3", USAGE)
    check_no_folders(save, svg)
    _check_shown(run=run, memory=memory, leak=leak)
    wanted = _Wanted(save, svg, as_json, tuple(why or ()), depth, only, full, run, memory, leak)
    sources = {"EXPR": expression, "--script": asked["script"], "--load": load, "--last": last}
    named = [name for name, value in sources.items() if value is not None]
    if load is not None or last is not None:
        if len(named) > 1 or python is not None or steps is not None or given(asked):
            refuse_options_of_run(named[-1], "graph")
        return wanted.show_saved(load, last)
    _check_steps(steps, memory=memory, leak=leak, is_script=asked["script"] is not None)
    if not named:
        why_not = "a graph is behind a value, and neither an expression nor a script is given"
        raise PtexploreError("give EXPR or --script FILE", why_not, 'ptexplore graph "a.exp().sum()"', USAGE)
    from ptexplore.capture.probing import asked_for
    from ptexplore.workspace.typed import typed

    request = asked_for(
        expression, {**read(asked), "grad": asked["script"] is None, "backward": run, "owners": memory, "native": False,
                     "leak": leak, "steps": steps or (LEAK_STEPS if leak else STEPS)}
    )  # fmt: skip
    with open_workspace(python) as workspace:
        located = workspace.graph(typed(request))
        if located.session.printed:
            from ptexplore.render.terminal.graph import print_printed

            print_printed(open_console(stderr=True), located.session.printed)
        if not wanted.is_saved:  # before the answer: an unknown name of --why must not lose the run
            from ptexplore.workspace.saved_graphs import GRAPHS

            GRAPHS.keep(located)
        return wanted.show(located, linking(workspace.place_of))


def _check_shown(*, run: bool, memory: bool, leak: bool) -> None:
    shown = [name for name, on in (("--run", run), ("--memory", memory), ("--leak", leak)) if on]
    if len(shown) > 1:
        why_not = "each of them shows its own rows"
        raise PtexploreError(f"{' and '.join(shown)} exclude each other", why_not, "ptexplore graph EXPR --run", USAGE)


def _check_steps(steps: int | None, *, memory: bool, leak: bool, is_script: bool) -> None:
    if leak and not is_script:
        why_not = "leaks show over the steps of a script"
        raise PtexploreError("--leak needs --script", why_not, "ptexplore graph --leak --script train.py", USAGE)
    if steps is not None:
        least = LEAST_STEPS if leak else 1
        if not (memory or leak) or steps < least:
            why_not = "the first steps are a warm-up, and the last one is not over" if leak else "steps are watched"
            hint = "ptexplore graph --leak --script train.py --steps 5"
            raise PtexploreError(f"--steps must be {least} or more, with --memory or --leak", why_not, hint, USAGE)


# By option: a command whose graph can be shown with it again.
_ASKING = {
    "--run": 'ptexplore graph "a.exp().sum()" --run',
    "--memory": "ptexplore graph --memory --script train.py",
    "--leak": "ptexplore graph --leak --script train.py",
}


@dataclass(frozen=True)
class _Wanted(WrittenRun):
    """The options of the answer and of its files."""

    why: tuple[str, ...]
    depth: int | None
    only: str | None
    full: bool
    run: bool
    memory: bool
    leak: bool

    def show_saved(self, load: str | None, last: str | None) -> int:
        """Show a graph that was saved or kept. Raises PtexploreError if its run lacks the answer."""
        from ptexplore.workspace.saved_graphs import GRAPHS

        located = read_run(GRAPHS, load, last)
        session = located.session
        is_watched = session.watched is not None or session.no_watch
        has_leaks = session.no_watch or (session.watched is not None and session.watched.left is not None)
        made = {"--run": session.ran is not None or session.no_run is not None, "--leak": is_watched and has_leaks}
        made["--memory"] = session.owners is not None
        for name, on in (("--run", self.run), ("--memory", self.memory), ("--leak", self.leak)):
            if on and not made[name]:
                because = "a saved graph has only the answers of its run"
                hint = _ASKING[name]
                raise PtexploreError(f"the graph was made without {name}", because, hint, USAGE)
        return self.show(located, lambda _: None)

    def show(self, located: LocatedGraph, locate: Locate) -> int:
        """Show and write a graph. Returns the exit code."""
        from ptexplore.view.graph.page import GraphOptions, check_names, graph_view

        if self.save is not None:
            from ptexplore.workspace.saved_graphs import GRAPHS

            GRAPHS.save(self.save, located)
        check_names(located, self.why)
        if self.as_json:
            from ptexplore.view.documents.graph import graph_document

            print_json(graph_document(located, self.why))
            return 0
        from ptexplore.render.terminal.graph import print_graph

        options = GraphOptions(self.depth, self.only, self.full, self.why, self.run, self.memory, self.leak)
        view = graph_view(located, options)
        print_graph(open_console(), view, locate)
        self.write_picture(lambda console: print_graph(console, view, lambda _: None), view.title)
        return 0
