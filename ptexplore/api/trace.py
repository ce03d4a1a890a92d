"""The Trace of the API: what ran for one expression, as records, text, JSON and picture."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ptexplore.model.program import Program
from ptexplore.model.trace import Ending, Finding, Hop, Session, Trace, walk
from ptexplore.saved.changed import program_with
from ptexplore.view.trace.page import Options, ViewName
from ptexplore.view.trace.views import view
from ptexplore.view.words.reasons import worded, worded_finding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console

    from ptexplore.api.displayed import Bundle
    from ptexplore.view.trace.counts import Counted
    from ptexplore.view.trace.explain import Explanation


class PublicTrace:  # `ptexplore.Trace`; inside the package, `Trace` is the record that this class wraps
    """A trace: what ran, as nested hops. `ptexplore.trace` and `ptexplore.load` return one.

    >>> import ptexplore
    >>> trace = ptexplore.trace("torch.add(a, b)", native=False)
    >>> trace.expression
    'torch.add(a, b)'
    >>> trace.hops[0].kind
    'binding'
    """

    def __init__(self, record: Trace, session: Session | None = None) -> None:
        self.record = record
        self.session = session

    def __repr__(self) -> str:
        return f"<Trace of {self.expression!r}: {sum(1 for _ in walk(self.hops))} hops>"

    def __str__(self) -> str:
        """Returns the text that `ptexplore trace` prints into a pipe."""
        return self.text()

    def _repr_mimebundle_(self, **_asked: object) -> Bundle:
        """Returns text and HTML, which notebooks show."""
        from ptexplore.api.displayed import WIDTH, bundle, trace_html

        return bundle(self.text(width=WIDTH), trace_html(self.record, self.session))

    def text(
        self,
        *,
        view: ViewName | None = None,
        verbose: bool = False,
        opened: str | None = None,
        full: bool = False,
        depth: int | None = None,
        only: str | None = None,
        width: int = 160,
    ) -> str:
        """Returns the text of `ptexplore trace`, with the same options (`opened` is `--open`).

        `view` is "path", "modules", "operators", "copies", "lines" or "tree". `verbose` is the option `-v`. `opened`
        opens the rows whose name contains a text. The other options are for the tree. `full` shows every hop with its
        reasons. `depth` limits the number of levels. `only` keeps the hops whose name or path contains a text; in the
        view "lines" it keeps the files and functions whose name contains it. Raises PtexploreError if no name contains
        the text of `opened`, or if the trace lacks what the view shows.

        >>> import ptexplore
        >>> trace = ptexplore.trace("torch.add(a, b)", native=False)
        >>> len(trace.text(depth=1)) < len(trace.text(full=True))
        True
        """
        from ptexplore.render.terminal.console import plain_text

        return plain_text(self._draw(Options(full, depth, only, opened, view, verbose, ())), width)

    @property
    def expression(self) -> str:
        """The expression, or the file of the script, as you gave it.

        >>> import ptexplore
        >>> ptexplore.trace("a + b", native=False).expression
        'a + b'
        """
        return self.record.expression

    @property
    def hops(self) -> tuple[Hop, ...]:
        """The outermost hops. The hops inside a hop are its `children`.

        >>> import ptexplore
        >>> [hop.kind for hop in ptexplore.trace("torch.add(a, b)", native=False).hops]
        ['binding']
        """
        return self.record.hops

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Remarks beside the hops: differences between runs, and parts that were cut.

        >>> import ptexplore
        >>> [finding.kind for finding in ptexplore.trace("torch.rand(2)", native=False).findings]
        []
        """
        return tuple(map(worded_finding, self.record.findings))

    @property
    def program(self) -> Program | None:
        """What a recorded program ran: paths of calls, kinds of operators, counts, and times in nanoseconds.

        None for the trace of an expression.

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
        """The exception that the expression raised, with place and reason. None if it raised nothing.

        >>> import ptexplore
        >>> ptexplore.trace("a.view(5)", native=False).ending.function
        'infer_size_impl'
        """
        return self.record.ending

    def find(self, text: str) -> list[Hop]:
        """Returns the hops whose name or source path contains `text`, callers first.

        A name counts if a row of any view shows it.

        >>> import ptexplore
        >>> trace = ptexplore.trace("torch.add(a, b)", native=False)
        >>> {hop.op for hop in trace.find("aten::add")}
        {'aten::add.Tensor'}
        """
        from ptexplore.view.trace.native import names_of

        return [hop for hop in walk(self.hops) if any(text in part for part in (*names_of(hop), hop.source.path or ""))]

    def ran(self, name: str) -> Counted:
        """Returns how often a function, operator, kernel or node of backward ran. 0 if it did not.

        `name` is a qualified name, or its last parts. An operator without its overload means every overload. Raises
        PtexploreError if the trace cannot say: C++ functions are only seen if the expression was stepped.

        >>> import ptexplore
        >>> trace = ptexplore.trace("torch.add(a, b)", native=False)
        >>> trace.ran("aten::add"), trace.ran("aten::mul")
        (1, 0)
        """
        from ptexplore.view.trace.counts import ran

        return ran(self.record, self.session, name)

    def dispatches(self, operator: str, via: Sequence[str] | None = None) -> Counted:
        """Returns how many calls of an operator took exactly these dispatch keys, in order. Without `via`: all calls.

        Raises PtexploreError if no call took these keys for sure, and a call may have.

        >>> import ptexplore
        >>> trace = ptexplore.trace("torch.mm(a, b)", grad=True, native=False)
        >>> trace.dispatches("aten::mm", via=["AutogradCPU", "CPU"])
        1
        """
        from ptexplore.view.trace.counts import dispatches

        return dispatches(self.record, operator, via)

    @property
    def copies(self) -> Counted:
        """How many copies of tensors' data were made: calls of `aten::copy_`. Casts count too.

        >>> import ptexplore
        >>> ptexplore.trace("a.t().contiguous()", native=False).copies
        1
        """
        from ptexplore.view.trace.counts import copies

        return copies(self.record, self.session)

    @property
    def syncs(self) -> Counted:
        """How many calls waited for the values of a tensor: `item`, `tolist`, `equal`, `if x`, `nonzero`, `unique`.

        Copies from a device to the CPU count too. On the CPU such a call does not wait, but it is counted: on a device
        it would. `torch.cuda.synchronize()` and copies to a device are not counted.

        >>> import ptexplore
        >>> ptexplore.trace("a.sum().item()", native=False).syncs
        1
        """
        from ptexplore.view.trace.counts import syncs

        return syncs(self.record)

    @property
    def instructions(self) -> Counted:
        """How many instructions the expression took. Raises PtexploreError if it was not stepped as a whole.

        >>> import ptexplore
        >>> ptexplore.trace("torch.add(a, b)").instructions > 10_000
        True
        """
        from ptexplore.view.trace.counts import instructions

        return instructions(self.record, self.session, self.text)

    @property
    def saved_bytes(self) -> Counted:
        """How many bytes the graph keeps for backward. Leaves that get a gradient, as parameters, do not count.

        A storage that several nodes keep counts once. Raises PtexploreError if a part of them is not known, as in a
        block that does not call backward.

        >>> import ptexplore
        >>> ptexplore.trace("a.exp().sin()", grad=True, native=False).saved_bytes
        36
        """
        from ptexplore.view.trace.counts import saved_bytes

        return saved_bytes(self.record, self.session)

    @property
    def stable_keys(self) -> Mapping[int, str]:
        """A dict: the id of a hop -> a key that is the same in every trace of the same code.

        Use it to align two traces.

        The key is made of the hop's content, the key of its caller, and the number of equal hops that the caller called
        before.

        >>> import ptexplore
        >>> first = ptexplore.trace("torch.add(a, b)", native=False)
        >>> second = ptexplore.trace("torch.add(a, b).sin()", native=False)
        >>> set(first.stable_keys.values()) <= set(second.stable_keys.values())
        True
        """
        from ptexplore.model.hop_keys import hop_keys

        return hop_keys(self.record.hops)

    def explain(self, hop: int) -> Explanation:
        """Returns the evidence for the hop with this id. Raises PtexploreError if there is no such hop.

        >>> import ptexplore
        >>> trace = ptexplore.trace("torch.add(a, b)", native=False)
        >>> trace.explain(trace.hops[0].id).hop.kind
        'binding'
        """
        from ptexplore.view.trace.explain import explain

        return explain(self.record, self.session, hop)

    def to_json(self) -> str:
        """Returns the Trace as JSON text, as docs/json.md describes it.

        >>> import json, ptexplore
        >>> json.loads(ptexplore.trace("torch.add(a, b)", native=False).to_json())["expression"]
        'torch.add(a, b)'
        """
        from ptexplore.view.words.saved import trace_to_json

        return trace_to_json(self.record)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the Trace and its session to a file. Raises PtexploreError if the file cannot be written.

        >>> import pathlib, ptexplore, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = pathlib.Path(folder.name) / "x.trace"
        >>> ptexplore.trace("torch.add(a, b)", native=False).save(file)
        >>> ptexplore.load(file).expression
        'torch.add(a, b)'
        """
        from ptexplore.workspace.saved_traces import save_trace

        save_trace(Path(file), self.record, self.session)

    def with_times(self, file: str | os.PathLike[str]) -> PublicTrace:
        """Returns the Trace with the times of another run: a trace that torch.profiler wrote (Chrome's format).

        The Trace must be of a program. Outermost operator calls are matched in runs of several calls: by their names,
        and by the names of the operators that they called. `program.elsewhere` counts the calls that match no place, or
        several. Raises PtexploreError if the file is not such a trace, if it is of another program, or if this is not
        the Trace of a program.

        >>> import json, pathlib, ptexplore, tempfile, torch
        >>> trace = ptexplore.trace(lambda: torch.ones(2).exp())
        >>> event = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1}
        >>> seen = [("aten::ones", 0, 9), ("aten::empty", 1, 2), ("aten::fill_", 4, 3), ("aten::exp", 20, 5)]
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = pathlib.Path(folder.name) / "trace.json"
        >>> _ = file.write_text(json.dumps([event | {"name": name, "ts": ts, "dur": dur} for name, ts, dur in seen]))
        >>> [calls.time for calls in trace.with_times(file).program.calls]
        [9000, 5000]
        """
        from ptexplore.workspace.saved_traces import with_times_of

        return PublicTrace(with_times_of(self.record, os.fspath(file)), self.session)

    def export(
        self, form: Literal["collapsed", "speedscope", "chrome", "line_profiler"], file: str | os.PathLike[str]
    ) -> None:
        """Writes what ran, with weights, to a file for a viewer of profiles.

        "collapsed" has one line for each stack (flamegraph.pl). "speedscope" is the format of the viewer of that name.
        "chrome" has Chrome's trace events (Perfetto). "line_profiler" has the lines of a program, for `python -m
        line_profiler FILE`; its hits are the calls that a line made. The weights of a program are nanoseconds, summed
        by path, since a trace has no timeline. The weights of a stepped trace are instructions. Raises PtexploreError
        if nothing has a weight, or if the file cannot be written.

        >>> import pathlib, ptexplore, tempfile, torch
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = pathlib.Path(folder.name) / "stacks.txt"
        >>> ptexplore.trace(lambda: torch.ones(2) + 1).export("collapsed", file)
        >>> any("torch.ones;ones " in line for line in file.read_text().splitlines())
        True
        """
        from ptexplore.render.exports import exported
        from ptexplore.workspace.saved_traces import write_file

        write_file(Path(file), exported(self.record, self.session, form))

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
        """Returns the output of `ptexplore trace` as an SVG picture that loads nothing.

        The options are explained at `text`.

        >>> import ptexplore
        >>> ptexplore.trace("torch.add(a, b)", native=False).svg()[:4]
        '<svg'
        """
        from ptexplore.render.terminal.console import picture

        return picture(self._draw(Options(full, depth, only, opened, view, verbose, ())), self.expression)

    def _draw(self, options: Options) -> Callable[[Console], None]:
        from ptexplore.render.terminal.trace import print_trace

        page = view(self.record, options, self.session)
        # Text and pictures are passed on to others, so they have no links into folders of this machine.
        return lambda console: print_trace(console, page, lambda _ref: None)
