"""`ptexplore trace EXPR`: run an expression in a probe and show what ran, with the source line of each step."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.asked import RUN, given, read, with_trace_options
from ptexplore.cli.options import linking, open_console, open_workspace, print_json
from ptexplore.errors import FAILED, USAGE, PtexploreError
from ptexplore.model.options import asked_options

if TYPE_CHECKING:
    from ptexplore.capture.allowed import AllowedRun
    from ptexplore.capture.probing import TraceRequest
    from ptexplore.model.trace import Session, Trail
    from ptexplore.render.terminal.console import Locate
    from ptexplore.view.trace.page import Options
    from ptexplore.workspace.workspace import Workspace

INTERRUPTED = 130  # the exit status that shells use for Ctrl-C
DIGITS = 10  # of a hop's number
# the code that would run, and its options
CODE = asked_options().keys() - {"script", "timeout", "native", "native_op", "native_most"}
SHOWN = "What is shown"
LEGEND = "legend"  # the value of `--explain` for the signs of a view

EPILOG = """\
examples:
  ptexplore trace "torch.add(a, b)"
  ptexplore trace "F.conv2d(x, w)" --var x="torch.randn(1, 3, 8, 8)" --var w="torch.randn(4, 3, 3, 3)"
  ptexplore trace "torch.stack([a, b]).sum()" --backward
  ptexplore trace "m(x)" --setup "m = nn.LSTM(3, 4)" --var x="torch.randn(5, 1, 3)" --depth 4

names: torch, F, nn, math and np are there; other names of one letter (or a letter and digits) that are used as
values become seeded 3 x 3 float tensors; anything else must come from --var or --setup
"""


@with_trace_options
def trace(
    expression: Annotated[str | None, Argument(metavar="[EXPR]", help="one Python expression")] = None,
    *,
    python: Annotated[
        str | None, Option(metavar="PATH", help="trace the torch of another Python", rich_help_panel=RUN)
    ] = None,
    view: Annotated[
        str | None,
        Option(metavar="path|modules|operators|tree", help="which view of what ran", rich_help_panel=SHOWN),
    ] = None,
    verbose: Annotated[
        bool,
        Option("-v", "--verbose", help="also key sets, whole paths, numbers of hops, precision", rich_help_panel=SHOWN),
    ] = False,
    opened: Annotated[
        str | None,
        Option(
            "--open",
            metavar="NAME[#N]",
            help="open what ran whose name holds NAME, with all it called; add.Tensor#2: the second call",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    full: Annotated[
        bool, Option("--full", help="of the tree: every hop, with the reasons for each", rich_help_panel=SHOWN)
    ] = False,
    depth: Annotated[
        int | None, Option(metavar="N", help="of the tree: at most N levels", rich_help_panel=SHOWN)
    ] = None,
    only: Annotated[
        str | None,
        Option(metavar="TEXT", help="of the tree: what holds TEXT in name or path", rich_help_panel=SHOWN),
    ] = None,
    plain: Annotated[
        bool,
        Option("--plain", help="no bars, no columns: a sentence a row, for a screen reader", rich_help_panel=SHOWN),
    ] = False,
    explain: Annotated[
        str | None,
        Option(
            metavar="HOP|error|legend",
            help="what that is concluded from; what signs mean",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    as_json: Annotated[
        bool,
        Option(
            "--json",
            help="the Trail (docs/json.md), or the view of --view, as JSON",
            rich_help_panel=SHOWN,
        ),
    ] = False,
    save: Annotated[str | None, Option(metavar="FILE", help="keep the trace", rich_help_panel=SHOWN)] = None,
    svg: Annotated[
        str | None, Option(metavar="FILE", help="keep what is shown as an SVG picture", rich_help_panel=SHOWN)
    ] = None,
    export: Annotated[
        tuple[str, str] | None,
        Option(
            metavar="collapsed|speedscope|chrome FILE",
            help="write what it weighs, by stack, for a viewer of profiles",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    times: Annotated[
        str | None,
        Option(metavar="FILE", help="of a script: the times of a trace by torch.profiler", rich_help_panel=SHOWN),
    ] = None,
    load: Annotated[
        str | None, Option(metavar="FILE", help="show a saved trace; torch is not needed", rich_help_panel=SHOWN)
    ] = None,
    rerun: Annotated[
        bool,
        Option("--rerun", help="run what --load FILE holds once more: shows all of it, and asks", rich_help_panel=RUN),
    ] = False,
    trust: Annotated[
        str | None,
        Option(metavar="SHA256", help="with --rerun: yes to code of this hash, unasked", rich_help_panel=RUN),
    ] = None,
    **asked: object,
) -> int:
    """Run a PyTorch expression; show the binding, operators, dispatch keys and kernels it went through."""
    _check_one({"expression": expression, "script": asked["script"], "load": load})
    _check_rerun(rerun=rerun, trust=trust, load=load, asked=given(asked))
    if depth is not None and depth < 1:
        raise PtexploreError("--depth must be 1 or more", f"{depth} levels would show nothing", "--depth 3", USAGE)
    for file in filter(None, (save, svg, _export_to(export))):
        if Path(file).is_dir():
            hint = f"a name inside it: {file}/trace"
            raise PtexploreError(f"{file} is a folder", "one file is written", hint, USAGE)
    from ptexplore.view.trace.page import Options
    from ptexplore.view.trace.views import named
    from ptexplore.workspace.saved_traces import load_trace

    options = Options(full, depth, only, opened, named(view), verbose)

    def tell(trail: Trail, session: Session | None, locate: Locate, command: tuple[str, ...]) -> int:
        trail = _timed(trail, times)
        _keep(trail, session, save, export)
        if explain == LEGEND:
            _legend(trail, session, replace(options, command=command), as_json=as_json)
        elif explain is not None:
            _explain(trail, session, explain, locate, as_json=as_json)
        elif as_json:
            _print_json(trail, session, replace(options, command=command))
        else:
            _show(trail, session, replace(options, command=command), locate, svg, plain=plain)
        return _exit_code(trail)

    if load is not None and not rerun:  # a saved trace has no tree to link to
        return tell(*load_trace(load), lambda _ref: None, ("ptexplore", "trace", "--load", load))
    from ptexplore.capture.probing import asked_for
    from ptexplore.workspace.typed import typed

    request = asked_for(expression, read(asked))
    if load is not None:
        run = _again(load, request, trust)
        command: tuple[str, ...] = ("ptexplore", "trace", "--load", load, "--rerun")
    else:
        run, command = typed(request), _command(request, python)
    with open_workspace(python) as workspace:
        traced = workspace.trace(run)
        if opened is not None and run.request.native_op is None and run.request.script is None:
            traced = _stepped(workspace, run, opened, *traced)
        return tell(*traced, linking(workspace.place_of), command)


def _again(load: str, asked: TraceRequest, trust: str | None) -> AllowedRun:
    """Returns the run of a saved trace, after all of its code was shown and the user allowed it.

    Raises PtexploreError if nobody can be asked, or the answer is no.
    """
    from ptexplore.render.terminal.consent import agreed, can_ask, show_code
    from ptexplore.workspace.consent import of_trace
    from ptexplore.workspace.saved_traces import load_trace

    command = shlex.join(("ptexplore", "trace", "--load", load, "--rerun"))
    planned = of_trace(load_trace(load)[1], load, asked, command)
    if trust is not None and not planned.is_named(trust):
        why = f"what would run has the sha256 {planned.content}"
        raise PtexploreError(f"--trust {trust[:80]} is not the hash of this code", why, command, USAGE)
    if planned.is_allowed or trust is not None:
        return planned.allow() if trust is not None else planned.allowed()
    if not can_ask():
        show_code(planned.lines())
        why = "somebody else may have written it (all of it is above), and nobody can be asked here"
        hint = f"{command} in a terminal, or once you have read it: {command} --trust {planned.content}"
        raise PtexploreError(f"{planned.origin} does not run", why, hint, USAGE)
    if not agreed(planned.origin, list(planned.lines()), "run this, and remember that you said yes?"):
        raise PtexploreError(f"{planned.origin} does not run", "you did not say yes", command, USAGE)
    return planned.allow()


def _stepped(
    workspace: Workspace, run: AllowedRun, opened: str, trail: Trail, session: Session
) -> tuple[Trail, Session]:
    """Returns a trace in which the opened call is stepped. If it was not, the expression is traced again for that."""
    from ptexplore.view.trace.views import to_step

    call = to_step(trail, opened)
    return workspace.trace(run.stepping(call)) if call is not None else (trail, session)


def _export_to(export: tuple[str, str] | None) -> str | None:
    """Returns the file to export to. Raises PtexploreError for an unknown format, before anything runs."""
    if export is None:
        return None
    from ptexplore.render.stacks import known_format

    known_format(export[0])
    return export[1]


def _timed(trail: Trail, times: str | None) -> Trail:
    from ptexplore.workspace.saved_traces import with_times_of

    return with_times_of(trail, times) if times is not None else trail


def _keep(trail: Trail, session: Session | None, save: str | None, export: tuple[str, str] | None) -> None:
    """Writes the trace to the requested files."""
    from ptexplore.workspace.saved_traces import save_trace, write_file

    if save:
        save_trace(Path(save), trail, session)
    if export:
        from ptexplore.render.stacks import exported
        from ptexplore.view.trace.stacks import stacks_of

        write_file(Path(export[1]), exported(stacks_of(trail, session), export[0]))


def _exit_code(trail: Trail) -> int:
    """Returns 0 for a trace that ran to its end, 130 for an interrupted script, else 1."""
    if trail.program is not None and trail.ending is not None and trail.ending.exception == "KeyboardInterrupt":
        return INTERRUPTED
    return FAILED if trail.ending is not None or any(f.kind == "stopped" for f in trail.findings) else 0


def _check_one(sources: dict[str, object]) -> None:
    given = [name for name, value in sources.items() if value is not None]
    if len(given) != 1:
        message = "one of EXPR, --script FILE and --load FILE is needed" + (", not several" if given else "")
        why = "a trace is of one thing: " + (", ".join(given) + " were given" if given else "nothing was given")
        raise PtexploreError(message, why, 'ptexplore trace "torch.add(a, b)"', USAGE)


def _check_rerun(*, rerun: bool, trust: str | None, load: str | None, asked: frozenset[str]) -> None:
    """Raises PtexploreError for options that do not fit together. `asked` are the options of the run, by field."""
    if load is None:
        from ptexplore.capture.probing import check_options
        from ptexplore.view.words.errors import in_words

        with in_words():
            check_options(asked, is_script="script" in asked)
    if rerun and load is None:
        why = "it runs what a saved trace holds, and no file is given"
        raise PtexploreError("--rerun needs --load FILE", why, "ptexplore trace --load FILE --rerun", USAGE)
    if trust is not None and not rerun:
        why = "it allows the code of a saved trace to run"
        raise PtexploreError("--trust needs --rerun", why, "ptexplore trace --load FILE --rerun", USAGE)
    other = next((known.flag for name, known in asked_options().items() if name in asked & CODE), None)
    if load is not None and other is not None:
        why = f"a saved trace is shown, or run again, as it was asked for; {other} asks for something else"
        raise PtexploreError(f"--load and {other} do not go together", why, "ptexplore trace --help", USAGE)


def _show(
    trail: Trail, session: Session | None, wanted: Options, locate: Locate, svg: str | None, *, plain: bool
) -> None:
    from ptexplore.render.terminal.trace import print_output, print_trail
    from ptexplore.view.trace.views import view

    if session is not None:
        print_output(open_console(stderr=True), session)
    page = view(trail, wanted, session)
    print_trail(open_console(), page, locate, plain=plain)
    if svg:
        from ptexplore.render.terminal.console import picture
        from ptexplore.workspace.saved_traces import write_file

        # Without links: these lead into folders of this machine, and a picture is passed on.
        write_file(Path(svg), picture(lambda console: print_trail(console, page, lambda _ref: None), trail.expression))


def _print_json(trail: Trail, session: Session | None, wanted: Options) -> None:
    """Prints the trace as JSON, or the view if one was named."""
    from ptexplore.view.trace.views import view, view_to_json
    from ptexplore.view.words.saved import trail_to_json

    print(view_to_json(view(trail, wanted, session)) if wanted.view is not None else trail_to_json(trail))


def _legend(trail: Trail, session: Session | None, wanted: Options, *, as_json: bool) -> None:
    """Prints the meaning of each sign and word of the view."""
    from ptexplore.render.terminal.screen import print_legend
    from ptexplore.view.trace.legend import whole_legend
    from ptexplore.view.trace.views import view

    told = whole_legend(view(trail, wanted, session))
    if as_json:
        print_json({"format": 1, "legend": [{"sign": sign, "means": means} for sign, means in told]})
    else:
        print_legend(open_console(), told)


def _command(request: TraceRequest, python: str | None) -> tuple[str, ...]:
    """Returns the command that shows this trace again, without options that only change the display."""
    from ptexplore.view.words.commands import words_of

    words = words_of(request.expression, request)
    return ("ptexplore", "trace", *words, *(("--python", python) if python else ()))


def _explain(trail: Trail, session: Session | None, asked: str, locate: Locate, *, as_json: bool) -> None:
    from ptexplore.render.terminal.trace import print_explanation
    from ptexplore.view.trace.explain import ERROR, explain, explain_error, explanation_to_json

    if asked != ERROR and not (asked.isascii() and asked.isdigit() and len(asked) < DIGITS):
        why = "it takes a hop's number, or the word error or legend"
        raise PtexploreError(f"--explain {asked} is no hop", why, "--full shows every hop's number", USAGE)
    explanation = explain_error(trail, session) if asked == ERROR else explain(trail, session, int(asked))
    if as_json:
        print(explanation_to_json(explanation))
    else:
        print_explanation(open_console(), explanation, locate)
