"""The Trail that the API gives: what ran for one expression, and its forms as text, JSON and picture."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ptexplore.model.program import Program
from ptexplore.model.trace import Ending, Finding, Hop, Session, Trail, walk
from ptexplore.saved.changed import program_with
from ptexplore.view.trace.page import Options, ViewName
from ptexplore.view.trace.views import view
from ptexplore.view.words.reasons import worded, worded_finding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import Console

    from ptexplore.view.trace.explain import Explanation


class PublicTrail:  # `ptexplore.Trail`; inside the package that is the name of the record in it
    """What ran for one expression, as nested hops. `ptexplore.trace` and `ptexplore.load` give one.

    >>> import ptexplore
    >>> trail = ptexplore.trace("torch.add(a, b)", native=False)
    >>> trail.expression
    'torch.add(a, b)'
    >>> trail.hops[0].kind
    'binding'
    """

    def __init__(self, record: Trail, session: Session | None = None) -> None:
        self.record = record
        self.session = session

    def __repr__(self) -> str:
        return f"<Trail of {self.expression!r}: {sum(1 for _ in walk(self.hops))} hops>"

    def __str__(self) -> str:
        """The text that `ptexplore trace` prints into a pipe."""
        return self.text()

    def text(
        self,
        *,
        view: ViewName | None = None,
        verbose: bool = False,
        opened: str | None = None,
        full: bool = False,
        depth: int | None = None,
        only: str | None = None,
    ) -> str:
        """The same with the options of `ptexplore trace`, each as it is called there (`opened` is `--open`).

        `view` is one of "path", "modules", "operators" and "tree"; `verbose` adds what `-v` adds. `opened` opens what
        ran whose name holds a text. Of the tree, `full` shows every hop with its reasons, `depth` at most so many
        levels, `only` the hops whose name or path holds a text. Raises PtexploreError if nothing holds what is to be
        opened, or if the trace has not what the view shows.

        >>> import ptexplore
        >>> trail = ptexplore.trace("torch.add(a, b)", native=False)
        >>> len(trail.text(depth=1)) < len(trail.text(full=True))
        True
        """
        from rich.console import Console

        from ptexplore.render.terminal.console import gated

        out = io.StringIO()
        draw = self._draw(Options(full, depth, only, opened, view, verbose, ()))
        draw(gated(Console(file=out, width=160, markup=False, highlight=False, emoji=False, color_system=None)))
        return out.getvalue()

    @property
    def expression(self) -> str:
        """The expression, or the script's file, as it was given.

        >>> import ptexplore
        >>> ptexplore.trace("a + b", native=False).expression
        'a + b'
        """
        return self.record.expression

    @property
    def hops(self) -> tuple[Hop, ...]:
        """The outermost steps; each has those inside it as `children`.

        >>> import ptexplore
        >>> [hop.kind for hop in ptexplore.trace("torch.add(a, b)", native=False).hops]
        ['binding']
        """
        return self.record.hops

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What you must know beside the steps: differences between runs, what was cut.

        >>> import ptexplore
        >>> [finding.kind for finding in ptexplore.trace("torch.rand(2)", native=False).findings]
        []
        """
        return tuple(map(worded_finding, self.record.findings))

    @property
    def program(self) -> Program | None:
        """What a recorded program ran: its paths of calls, kinds of operators, how often and how long; times in ns.

        None for an expression's trace.

        >>> import ptexplore, torch
        >>> program = ptexplore.trace(lambda: torch.ones(2).exp()).program
        >>> [program.kinds[program.routes[calls.route].kind].name for calls in program.calls]
        ['aten::ones', 'aten::exp']
        >>> program.overhead < program.wall
        True
        """
        program = self.record.program
        return program_with(program, worded) if program is not None else None

    @property
    def ending(self) -> Ending | None:
        """What the expression raised, where and why; None where it raised nothing.

        >>> import ptexplore
        >>> ptexplore.trace("a.view(5)", native=False).ending.function
        'infer_size_impl'
        """
        return self.record.ending

    def find(self, text: str) -> list[Hop]:
        """Every step whose name, as a row of any view has it, or source path holds `text`, callers first.

        >>> import ptexplore
        >>> trail = ptexplore.trace("torch.add(a, b)", native=False)
        >>> {hop.op for hop in trail.find("aten::add")}
        {'aten::add.Tensor'}
        """
        from ptexplore.view.trace.native import names_of

        return [hop for hop in walk(self.hops) if any(text in part for part in (*names_of(hop), hop.source.path or ""))]

    @property
    def stable_keys(self) -> Mapping[int, str]:
        """By each step's id a key that it has in every trace of the same code: two traces are aligned by them.

        It is made of what the step is, of its caller's key, and of how many like it the caller called before.

        >>> import ptexplore
        >>> first = ptexplore.trace("torch.add(a, b)", native=False)
        >>> second = ptexplore.trace("torch.add(a, b).sin()", native=False)
        >>> set(first.stable_keys.values()) <= set(second.stable_keys.values())
        True
        """
        from ptexplore.model.hop_keys import hop_keys

        return hop_keys(self.record.hops)

    def explain(self, hop: int) -> Explanation:
        """What the step with this id is concluded from. Raises PtexploreError if there is none.

        >>> import ptexplore
        >>> trail = ptexplore.trace("torch.add(a, b)", native=False)
        >>> trail.explain(trail.hops[0].id).hop.kind
        'binding'
        """
        from ptexplore.view.trace.explain import explain

        return explain(self.record, self.session, hop)

    def to_json(self) -> str:
        """The Trail as JSON text, as docs/json.md describes it.

        >>> import json, ptexplore
        >>> json.loads(ptexplore.trace("torch.add(a, b)", native=False).to_json())["expression"]
        'torch.add(a, b)'
        """
        from ptexplore.view.words.saved import trail_to_json

        return trail_to_json(self.record)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the Trail with its session into a file. Raises PtexploreError if that cannot be written.

        >>> import pathlib, ptexplore, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = pathlib.Path(folder.name) / "x.trail"
        >>> ptexplore.trace("torch.add(a, b)", native=False).save(file)
        >>> ptexplore.load(file).expression
        'torch.add(a, b)'
        """
        from ptexplore.workspace.saved_traces import save_trace

        save_trace(Path(file), self.record, self.session)

    def with_times(self, file: str | os.PathLike[str]) -> PublicTrail:
        """The same program with the times of another run of it: a trace that torch.profiler wrote (Chrome's format).

        Outermost operator calls are matched by their names and those of what they called, in runs of several; what
        fits none, or several places, is counted: `program.elsewhere`. Raises PtexploreError where the file is no such
        trace or is of another program, or where this is no program's Trail.

        >>> import json, pathlib, ptexplore, tempfile, torch
        >>> trail = ptexplore.trace(lambda: torch.ones(2).exp())
        >>> event = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1}
        >>> seen = [("aten::ones", 0, 9), ("aten::empty", 1, 2), ("aten::fill_", 4, 3), ("aten::exp", 20, 5)]
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = pathlib.Path(folder.name) / "trace.json"
        >>> _ = file.write_text(json.dumps([event | {"name": name, "ts": ts, "dur": dur} for name, ts, dur in seen]))
        >>> [calls.time for calls in trail.with_times(file).program.calls]
        [9000, 5000]
        """
        from ptexplore.workspace.saved_traces import with_times_of

        return PublicTrail(with_times_of(self.record, os.fspath(file)), self.session)

    def export(self, form: Literal["collapsed", "speedscope", "chrome"], file: str | os.PathLike[str]) -> None:
        """Write what ran, with what it weighs, into a file for a viewer of profiles.

        "collapsed" has a line for each stack (flamegraph.pl), "speedscope" is that viewer's own format, "chrome" has
        Chrome's trace events (Perfetto). A program weighs nanoseconds, summed by path, since no timeline was kept; a
        trace that was stepped weighs instructions. Raises PtexploreError where nothing has a weight, or the file
        cannot be written.

        >>> import pathlib, ptexplore, tempfile, torch
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = pathlib.Path(folder.name) / "stacks.txt"
        >>> ptexplore.trace(lambda: torch.ones(2) + 1).export("collapsed", file)
        >>> any("torch.ones;ones " in line for line in file.read_text().splitlines())
        True
        """
        from ptexplore.render.stacks import exported
        from ptexplore.view.trace.stacks import stacks_of
        from ptexplore.workspace.saved_traces import write_file

        write_file(Path(file), exported(stacks_of(self.record, self.session), form))

    def svg(
        self,
        *,
        view: ViewName | None = None,
        verbose: bool = False,
        opened: str | None = None,
        full: bool = False,
        depth: int | None = None,
        only: str | None = None,
    ) -> str:
        """What `ptexplore trace` shows, as an SVG picture that loads nothing; the views are those of `text`.

        >>> import ptexplore
        >>> ptexplore.trace("torch.add(a, b)", native=False).svg()[:4]
        '<svg'
        """
        from ptexplore.render.terminal.console import picture

        return picture(self._draw(Options(full, depth, only, opened, view, verbose, ())), self.expression)

    def _draw(self, options: Options) -> Callable[[Console], None]:
        from ptexplore.render.terminal.trace import print_trail

        page = view(self.record, options, self.session)
        # Text and pictures travel: they have no links into this machine's folders.
        return lambda console: print_trail(console, page, lambda _ref: None)
