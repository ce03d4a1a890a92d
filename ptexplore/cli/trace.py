"""`ptexplore trace EXPR`: run an expression in a probe and show what ran, with the source line of each step."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.asked import RUN, given, read, with_trace_options
from ptexplore.cli.options import has_streams, linking, open_console, open_workspace, print_json
from ptexplore.cli.typer_commands import ProgramCommand
from ptexplore.errors import FAILED, USAGE, PtexploreError
from ptexplore.model.options import asked_options

if TYPE_CHECKING:
    from ptexplore.capture.allowed import AllowedRun
    from ptexplore.capture.probing import TraceRequest
    from ptexplore.model.trace import Session, Trace
    from ptexplore.render.terminal.console import Locate
    from ptexplore.view.trace.page import Options
    from ptexplore.workspace.workspace import Workspace

INTERRUPTED = 130  # the exit status that shells use for Ctrl-C
DIGITS = 10  # of a hop's number
# the code that would run, and its options
CODE = asked_options().keys() - {"script", "module", "timeout", "native", "native_op", "native_most"}
COMMAND = ProgramCommand
SHOWN = "What is shown"
LEGEND = "legend"  # the value of `--explain` for the signs of a view

EPILOG = """\
examples:
  ptexplore trace "torch.add(a, b)"
  ptexplore trace "F.conv2d(x, w)" --var x="torch.randn(1, 3, 8, 8)" --var w="torch.randn(4, 3, 3, 3)"
  ptexplore trace "torch.stack([a, b]).sum()" --backward
  ptexplore trace "m(x)" --setup "m = nn.LSTM(3, 4)" --var x="torch.randn(5, 1, 3)" --depth 4
  ptexplore trace --script train.py -- --epochs 2
  ptexplore trace -m package.train -- --epochs 2

names: torch, F, nn, math and np are imported. Other names of one letter, or a letter and digits, become seeded
3 x 3 float tensors. Bind any other name by --var or --setup.
"""


@with_trace_options
def trace(
    expression: Annotated[str | None, Argument(metavar="[EXPR]", help="one Python expression")] = None,
    *,
    python: Annotated[
        str | None, Option(metavar="PATH", help="use the torch of another Python environment", rich_help_panel=RUN)
    ] = None,
    view: Annotated[
        str | None,
        Option(
            metavar="path|modules|operators|copies|lines|tree",
            help="choose a view (default: path or modules, whichever fits)",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    verbose: Annotated[
        bool,
        Option(
            "-v", "--verbose", help="also show key sets, whole paths, hop numbers and precision", rich_help_panel=SHOWN
        ),
    ] = False,
    opened: Annotated[
        str | None,
        Option(
            "--open",
            metavar="NAME[#N]",
            help="show the row whose name contains NAME, with everything that it called",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    full: Annotated[bool, Option("--full", help="tree: every hop, with its reasons", rich_help_panel=SHOWN)] = False,
    depth: Annotated[int | None, Option(metavar="N", help="tree: at most N levels", rich_help_panel=SHOWN)] = None,
    only: Annotated[
        str | None,
        Option(
            metavar="TEXT",
            help="tree: only rows with TEXT in their name or path; lines: only files and functions with TEXT",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    plain: Annotated[
        bool,
        Option("--plain", help="one sentence per row, for screen readers", rich_help_panel=SHOWN),
    ] = False,
    explain: Annotated[
        str | None,
        Option(
            metavar="HOP|error|legend",
            help="explain one hop (by number or name), the error, or the signs of the view",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    as_json: Annotated[
        bool,
        Option(
            "--json",
            help="the whole trace as JSON, or the view chosen by --view",
            rich_help_panel=SHOWN,
        ),
    ] = False,
    save: Annotated[str | None, Option(metavar="FILE", help="save the trace in a file", rich_help_panel=SHOWN)] = None,
    svg: Annotated[
        str | None, Option(metavar="FILE", help="save the view as an SVG picture", rich_help_panel=SHOWN)
    ] = None,
    export: Annotated[
        tuple[str, str] | None,
        Option(
            metavar="collapsed|speedscope|chrome|line_profiler FILE",
            help="write a profile for other viewers",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    times: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="for a script: use the times of a trace that torch.profiler wrote",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    load: Annotated[
        str | None, Option(metavar="FILE", help="show a saved trace; torch is not needed", rich_help_panel=SHOWN)
    ] = None,
    last: Annotated[
        str | None,
        Option(
            metavar="[N]",
            help="show the last trace again without running it; N: the N-th last of at most 20",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    output: Annotated[
        bool,
        Option("--output", help="with --load or --last: also show what the code printed", rich_help_panel=SHOWN),
    ] = False,
    rerun: Annotated[
        bool,
        Option(
            "--rerun",
            help="with --load or --last: run the code of the saved trace again; shows it and asks first",
            rich_help_panel=RUN,
        ),
    ] = False,
    trust: Annotated[
        str | None,
        Option(metavar="SHA256", help="with --rerun: allow code with this hash without asking", rich_help_panel=RUN),
    ] = None,
    **asked: object,
) -> int:
    """Run a PyTorch expression; show its operators, dispatch keys, kernels and functions with their source lines."""
    programs = {"--script": asked["script"], "-m": asked["module"]}
    _check_one({"EXPR": expression, **programs, "--load": load, "--last": last})
    loaded = ("--load", load) if load is not None else ("--last", *filter(None, (last,))) if last is not None else ()
    _check_rerun(rerun=rerun, trust=trust, loaded=loaded, asked=given(asked))
    if depth is not None and depth < 1:
        raise PtexploreError("--depth must be 1 or more", f"{depth} levels would show nothing", "--depth 3", USAGE)
    for written in filter(None, (save, svg, _export_to(export))):
        if Path(written).is_dir():
            hint = f"name a file inside it: {written}/trace"
            raise PtexploreError(f"{written} is a folder", "ptexplore writes one file", hint, USAGE)
    from ptexplore.view.trace.page import Options
    from ptexplore.view.trace.views import named
    from ptexplore.workspace.saved_traces import load_trace

    options = Options(full, depth, only, opened, named(view), verbose)
    answer = _Answer(options, explain, svg, save, times, export, as_json=as_json, plain=plain)
    file = _file_of(load, last)
    if file is not None and not rerun:  # no tree is beside it to link into
        answer = replace(answer, printed=output)
        return answer.give(*load_trace(file), lambda _ref: None, loaded)
    from ptexplore.capture.probing import asked_for
    from ptexplore.workspace.typed import typed

    request = asked_for(expression, read(asked))
    if file is None:
        return _run(typed(replace(request, passes_on=has_streams())), answer, _command(request, python), python)
    command = ("ptexplore", "trace", *loaded, "--rerun")
    return _run(_again(file, command, request, trust), answer, command, python)


@dataclass(frozen=True)
class _Answer:
    """The options that say how a trace is shown, and where it is written."""

    options: Options
    explain: str | None
    svg: str | None
    save: str | None
    times: str | None
    export: tuple[str, str] | None
    as_json: bool
    plain: bool
    printed: bool = True  # whether to show what the code printed

    @property
    def is_saved(self) -> bool:
        """Whether the trace can be loaded again from the file of --save: not from a device or a FIFO."""
        return self.save is not None and (Path(self.save).is_file() or not Path(self.save).exists())

    def give(self, trace: Trace, session: Session | None, locate: Locate, shows: tuple[str, ...], *runs: str) -> int:
        """Show and write a trace; returns the exit code. `shows` are the words of a command that shows it again."""
        trace = _timed(trace, self.times)
        _write(trace, session, self.save, self.export)
        wanted = replace(self.options, command=("ptexplore", "trace", *shows), runs=runs)
        if self.explain == LEGEND:
            _legend(trace, session, wanted, as_json=self.as_json)
        elif self.explain is not None:
            _explain(trace, session, self.explain, locate, as_json=self.as_json)
        elif self.as_json:
            _print_json(trace, session, wanted)
        else:
            if session is not None and self.printed:
                _show_printed(session)
            _show(trace, session, wanted, locate, self.svg, plain=self.plain)
        return _exit_code(trace)


def _run(run: AllowedRun, answer: _Answer, command: tuple[str, ...], python: str | None) -> int:
    """Trace what may run, show it, and keep it for `--last`; returns the exit code."""
    from ptexplore.workspace.kept_traces import keeper

    is_seen = run.request.is_program and run.request.passes_on
    answer = replace(answer, printed=not is_seen)
    with open_workspace(python) as workspace:
        traced = workspace.trace(run)
        opened = answer.options.opened
        if opened is not None and run.request.native_op is None and not run.request.is_program:
            traced = _stepped(workspace, run, opened, *traced)
        keep = keeper(*traced) if not answer.is_saved else None
        shows = ("--load", str(answer.save)) if answer.is_saved else ("--last",) if keep is not None else command[2:]
        code = answer.give(*traced, linking(workspace.place_of), shows, *command)
        if keep is not None:  # after the answer, so that the reader does not wait for this
            sys.stdout.flush()
            keep()
        return code


def _file_of(load: str | None, last: str | None) -> str | None:
    """Returns the file of the requested saved or kept trace, if any. Raises PtexploreError (usage, missing)."""
    if last is None:
        return load
    from ptexplore.cli.saved_runs import number_of_last
    from ptexplore.workspace.kept_traces import last as last_trace

    return str(last_trace(number_of_last(last, "trace")))


def _again(file: str, typed: tuple[str, ...], asked: TraceRequest, trust: str | None) -> AllowedRun:
    """Returns the run of a saved trace, after all of its code was shown and the user allowed it.

    Raises PtexploreError if nobody can be asked, or the answer is no.
    """
    from ptexplore.render.terminal.consent import agreed, can_ask, show_code
    from ptexplore.workspace.consent import of_trace
    from ptexplore.workspace.saved_traces import load_trace

    command = shlex.join(typed)
    planned = of_trace(load_trace(file)[1], file, asked, command)
    if trust is not None and not planned.is_named(trust):
        why = f"this code has the sha256 {planned.content}"
        raise PtexploreError(f"--trust {trust[:80]} is not the hash of this code", why, command, USAGE)
    if planned.is_allowed or trust is not None:
        return planned.allow() if trust is not None else planned.allowed()
    if not can_ask():
        show_code(planned.lines())
        why = "somebody else may have written this code (all of it is above), and there is no terminal to ask you"
        hint = f"{command} in a terminal; or, after reading the code: {command} --trust {planned.content}"
        raise PtexploreError(f"{planned.origin} was not run", why, hint, USAGE)
    if not agreed(planned.origin, list(planned.lines()), "run this, and remember that you said yes?"):
        raise PtexploreError(f"{planned.origin} was not run", "you did not say yes", command, USAGE)
    return planned.allow()


def _stepped(
    workspace: Workspace, run: AllowedRun, opened: str, trace: Trace, session: Session
) -> tuple[Trace, Session]:
    """Returns a trace in which the opened call is stepped. If it was not, the expression is traced again for that."""
    from ptexplore.view.trace.views import to_step

    call = to_step(trace, opened)
    return workspace.trace(run.stepping(call)) if call is not None else (trace, session)


def _export_to(export: tuple[str, str] | None) -> str | None:
    """Returns the file to export to. Raises PtexploreError for an unknown format, before anything runs."""
    if export is None:
        return None
    from ptexplore.render.exports import known_format

    known_format(export[0])
    return export[1]


def _timed(trace: Trace, times: str | None) -> Trace:
    from ptexplore.workspace.saved_traces import with_times_of

    return with_times_of(trace, times) if times is not None else trace


def _write(trace: Trace, session: Session | None, save: str | None, export: tuple[str, str] | None) -> None:
    """Writes the trace to the requested files."""
    from ptexplore.workspace.saved_traces import save_trace, write_file

    if save:
        save_trace(Path(save), trace, session)
    if export:
        from ptexplore.render.exports import exported

        write_file(Path(export[1]), exported(trace, session, export[0]))


def _exit_code(trace: Trace) -> int:
    """Returns 0 for a trace that ran to its end, 130 for an interrupted script, else 1."""
    if trace.program is not None and trace.ending is not None and trace.ending.exception == "KeyboardInterrupt":
        return INTERRUPTED
    return FAILED if trace.ending is not None or any(f.kind == "stopped" for f in trace.findings) else 0


def _check_one(sources: dict[str, object]) -> None:
    given = [name for name, value in sources.items() if value is not None]
    if len(given) != 1:
        message = "give one of EXPR, --script FILE, -m MODULE, --load FILE and --last"
        message += ", not several" if given else ""
        why = "a trace is of one thing, but " + (", ".join(given) + " were given" if given else "nothing was given")
        raise PtexploreError(message, why, 'ptexplore trace "torch.add(a, b)"', USAGE)


def _check_rerun(*, rerun: bool, trust: str | None, loaded: tuple[str, ...], asked: frozenset[str]) -> None:
    """Raises PtexploreError for options that do not fit together. `asked` are the options of the run, by field."""
    if not loaded:
        from ptexplore.capture.probing import check_options
        from ptexplore.view.words.errors import in_words

        with in_words():
            check_options(asked, is_script=bool(asked & {"script", "module"}))
    if rerun and not loaded:
        why = "--rerun runs the code of a saved trace, and no trace is given"
        raise PtexploreError("--rerun needs --load FILE or --last", why, "ptexplore trace --load FILE --rerun", USAGE)
    if trust is not None and not rerun:
        why = "--trust allows --rerun to run the code of a saved trace"
        raise PtexploreError("--trust needs --rerun", why, "ptexplore trace --load FILE --rerun", USAGE)
    other = next((known.flag for name, known in asked_options().items() if name in asked & CODE), None)
    if loaded and other is not None:
        why = f"a saved trace keeps the options that it was made with; {other} would change them"
        raise PtexploreError(f"{loaded[0]} and {other} cannot be combined", why, "ptexplore trace --help", USAGE)


def _show(
    trace: Trace, session: Session | None, wanted: Options, locate: Locate, svg: str | None, *, plain: bool
) -> None:
    from ptexplore.render.terminal.trace import print_trace
    from ptexplore.view.trace.views import view

    page = view(trace, wanted, session)
    print_trace(open_console(), page, locate, plain=plain)
    if svg:
        from ptexplore.render.terminal.console import picture
        from ptexplore.workspace.saved_traces import write_file

        # Without links: these lead into folders of this machine, and a picture is passed on.
        write_file(Path(svg), picture(lambda console: print_trace(console, page, lambda _ref: None), trace.expression))


def _show_printed(session: Session) -> None:
    from ptexplore.render.terminal.trace import print_output

    print_output(open_console(stderr=True), session)


def _print_json(trace: Trace, session: Session | None, wanted: Options) -> None:
    """Prints the trace as JSON, or the view if one was named."""
    from ptexplore.view.trace.views import view, view_to_json
    from ptexplore.view.words.saved import trace_to_json

    print(view_to_json(view(trace, wanted, session)) if wanted.view is not None else trace_to_json(trace))


def _legend(trace: Trace, session: Session | None, wanted: Options, *, as_json: bool) -> None:
    """Prints the meaning of each sign and word of the view."""
    from ptexplore.render.terminal.screen import print_legend
    from ptexplore.view.trace.legend import whole_legend
    from ptexplore.view.trace.views import view

    signs = whole_legend(view(trace, wanted, session))
    if as_json:
        print_json({"format": 1, "legend": [{"sign": sign, "means": means} for sign, means in signs]})
    else:
        print_legend(open_console(), signs)


def _command(request: TraceRequest, python: str | None) -> tuple[str, ...]:
    """Returns the command that shows this trace again, without options that only change the display."""
    from ptexplore.view.words.commands import with_options, words_of

    words = ("ptexplore", "trace", *words_of(request.expression, request))
    return with_options(words, ("--python", python) if python else ())


def _explain(trace: Trace, session: Session | None, asked: str, locate: Locate, *, as_json: bool) -> None:
    from ptexplore.render.terminal.trace import print_explanation
    from ptexplore.view.trace.explain import ERROR, explain, explain_error, explanation_to_json, hop_named

    if asked == ERROR:
        explanation = explain_error(trace, session)
    else:
        is_number = asked.isascii() and asked.isdigit() and len(asked) < DIGITS
        explanation = explain(trace, session, int(asked) if is_number else hop_named(trace, asked))
    if as_json:
        print(explanation_to_json(explanation))
    else:
        print_explanation(open_console(), explanation, locate)
