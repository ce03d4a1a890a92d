"""The fixture `trace` of the pytest plugin: a trace that a test made, with its numbers under short names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ptexplore.errors import USAGE, PtexploreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Self, Unpack

    from ptexplore.api.questions import PublicWorkspace
    from ptexplore.api.recording import PublicRecording
    from ptexplore.api.trace import PublicTrace
    from ptexplore.model.options import AskedOfTrace
    from ptexplore.view.trace.counts import Counted

FIXTURE = pytest.StashKey["TraceFixture"]()  # where a test has its fixture.
OF_COMPILE = ("script", "arguments", "variables", "setup", "contexts", "grad", "backward")
EXAMPLE = 'trace("torch.add(a, b)")'


class Workspaces:
    """The workspace of a test session, opened at the first use."""

    def __init__(self) -> None:
        self._opened: PublicWorkspace | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._opened is not None:
            self._opened.__exit__(None, None, None)

    @property
    def workspace(self) -> PublicWorkspace:
        """The workspace."""
        if self._opened is None:
            from ptexplore.api.questions import PublicWorkspace

            self._opened = PublicWorkspace()
        return self._opened


class TraceFixture:
    """Traces code of a test. The names below belong to the last trace.

    `trace("torch.mm(a, b)", grad=True)` runs a text in a process of its own, `trace(function)` calls a function in the
    test's process, and `with trace.record():` records a block of the test.
    """

    def __init__(self, workspaces: Workspaces, folder: str) -> None:
        self._workspaces, self._folder = workspaces, folder
        self._made: PublicTrace | PublicRecording | None = None
        self._asked: tuple[str | None, dict[str, Any]] | None = None  # of a trace that ran a text.

    def __repr__(self) -> str:
        if self._made is None:
            return "<trace of nothing yet>"
        return (
            f"<trace of {self._asked[0] or 'a script'!r}>" if self._asked is not None else "<trace of code of the test>"
        )

    def __call__(
        self, expression: str | Callable[[], object] | None = None, **options: Unpack[AskedOfTrace]
    ) -> PublicTrace:
        """Does the same as `ptexplore.trace`, and keeps the trace for the names below."""
        trace = self._workspaces.workspace.trace(expression, **options)
        self._made = trace
        self._asked = None if callable(expression) else (expression, {name: options.get(name) for name in OF_COMPILE})
        return trace

    def record(self, *, native_budget: int | str = 0) -> PublicRecording:
        """Does the same as `ptexplore.record`, and keeps the trace for the names below."""
        self._asked = None
        self._made = recording = self._workspaces.workspace.record(native_budget=native_budget)
        return recording

    @property
    def is_made(self) -> bool:
        """Whether there is a trace."""
        return self._made is not None

    @property
    def last(self) -> PublicTrace:
        """The last trace. Raises PtexploreError if there is none."""
        from ptexplore.api.recording import PublicRecording

        if self._made is None:
            raise PtexploreError("nothing was traced yet", "the fixture has no trace", EXAMPLE, USAGE)
        return self._made.trace if isinstance(self._made, PublicRecording) else self._made

    def ran(self, name: str) -> Counted:
        """Returns how often a function, operator, kernel or node of backward ran."""
        return self.last.ran(name)

    def dispatches(self, operator: str, via: Sequence[str] | None = None) -> Counted:
        """Returns how many calls of an operator took exactly these dispatch keys."""
        return self.last.dispatches(operator, via)

    @property
    def copies(self) -> Counted:
        """How many copies of tensors' data were made."""
        return self.last.copies

    @property
    def syncs(self) -> Counted:
        """How many calls waited for the values of a tensor."""
        return self.last.syncs

    @property
    def instructions(self) -> Counted:
        """How many instructions the expression took."""
        return self.last.instructions

    @property
    def saved_bytes(self) -> Counted:
        """How many bytes the graph keeps for backward."""
        return self.last.saved_bytes

    @property
    def graph_breaks(self) -> Counted:
        """How many lines ended a graph of torch.compile, in a further run of the text that was traced."""
        if self._asked is None:
            why = (
                "they are read from a run of its own, and a function or a block of the test's process is not run again"
            )
            hint = 'trace("f(a)", setup=["from my_module import f"])'
            raise PtexploreError("the number of graph breaks is not known", why, hint, USAGE)
        expression, options = self._asked
        given = {name: value for name, value in options.items() if value is not None}
        return self._workspaces.workspace.compile(expression, **given).graph_breaks
