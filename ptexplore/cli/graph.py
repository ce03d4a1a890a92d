"""`ptexplore graph EXPR`: run an expression in a probe and show the autograd graph behind its value."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.asked import RUN, read, with_options_of
from ptexplore.cli.options import linking, open_console, open_workspace, print_json
from ptexplore.errors import USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.model.autograd_graph import LocatedGraph
    from ptexplore.render.terminal.console import Locate
    from ptexplore.view.graph.page import GraphOptions

SHOWN = "What is shown"
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
    python: Annotated[
        str | None, Option(metavar="PATH", help="use the torch of another Python environment", rich_help_panel=RUN)
    ] = None,
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
        Option("--leak", help="what each step of a script leaves behind, and what keeps it", rich_help_panel=SHOWN),
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
    as_json: Annotated[bool, Option("--json", help="as JSON (format 1)", rich_help_panel=SHOWN)] = False,
    svg: Annotated[
        str | None, Option(metavar="FILE", help="save the screen as an SVG picture", rich_help_panel=SHOWN)
    ] = None,
    **asked: object,
) -> int:
    """Show the autograd graph behind an expression: nodes, edges, leaves, and what each node keeps until backward."""
    if depth is not None and depth < 1:
        raise PtexploreError("--depth must be 1 or more", f"{depth} levels would show nothing", "--depth 3", USAGE)
    if svg is not None and Path(svg).is_dir():
        hint = f"name a file inside it: {svg}/graph.svg"
        raise PtexploreError(f"{svg} is a folder", "ptexplore writes one file", hint, USAGE)
    shown = [name for name, on in (("--run", run), ("--memory", memory), ("--leak", leak)) if on]
    if len(shown) > 1:
        why_not = "each of them shows its own rows"
        raise PtexploreError(f"{' and '.join(shown)} exclude each other", why_not, "ptexplore graph EXPR --run", USAGE)
    if leak and asked["script"] is None:
        why_not = "what is left behind is seen over the steps of a script"
        raise PtexploreError("--leak needs --script", why_not, "ptexplore graph --leak --script train.py", USAGE)
    if steps is not None:
        least = LEAST_STEPS if leak else 1
        if not (memory or leak) or steps < least:
            why_not = "the first steps are a warm-up, and the last one is not over" if leak else "steps are watched"
            hint = f"ptexplore graph --{'leak' if leak else 'memory'} --script train.py --steps {LEAK_STEPS}"
            raise PtexploreError(f"--steps must be {least} or more, with --memory or --leak", why_not, hint, USAGE)
    if expression is None and asked["script"] is None:
        why_not = "a graph is behind a value, and neither an expression nor a script is given"
        raise PtexploreError("give EXPR or --script FILE", why_not, 'ptexplore graph "a.exp().sum()"', USAGE)
    from ptexplore.capture.probing import asked_for
    from ptexplore.view.graph.page import GraphOptions, check_names
    from ptexplore.workspace.typed import typed

    request = asked_for(
        expression, {**read(asked), "grad": asked["script"] is None, "backward": run, "owners": memory, "native": False,
                     "leak": leak, "steps": steps or (LEAK_STEPS if leak else STEPS)}
    )  # fmt: skip
    with open_workspace(python) as workspace:
        located = workspace.graph(typed(request))
        names = tuple(why or ())
        check_names(located, names)
        if as_json:
            from ptexplore.view.documents.graph import graph_document

            print_json(graph_document(located, names))
        else:
            _show(located, GraphOptions(depth, only, full, names, run, memory, leak), linking(workspace.place_of), svg)
    return 0


def _show(located: LocatedGraph, options: GraphOptions, locate: Locate, svg: str | None) -> None:
    from ptexplore.render.terminal.graph import print_graph, print_printed
    from ptexplore.view.graph.page import graph_view

    view = graph_view(located, options)
    if located.session.printed:
        print_printed(open_console(stderr=True), located.session.printed)
    print_graph(open_console(), view, locate)
    if svg is not None:
        from ptexplore.render.terminal.console import picture
        from ptexplore.workspace.saved_traces import write_file

        text = picture(lambda console: print_graph(console, view, lambda _: None), view.title)
        write_file(Path(svg), text)
