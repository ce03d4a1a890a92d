"""What torch.compile did to a run: the record that the API returns for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from ptexplore.api.displayed import Bundle
    from ptexplore.model.compiled import CompileReport, GraphBreak, MetFunction, Recompilation
    from ptexplore.view.trace.counts import Counted


class PublicCompiled:  # `ptexplore.Compiled`
    """What torch.compile did: `ptexplore.compile` returns it.

    >>> import ptexplore
    >>> compiled = ptexplore.compile("f(a)", setup=["f = torch.compile(torch.sin, backend='eager')"])
    >>> int(compiled.graph_breaks)
    0
    """

    def __init__(self, record: CompileReport) -> None:
        self.record = record

    def __repr__(self) -> str:
        return f"<Compiled run of {self.record.run.expression!r}: {len(self.functions)} functions>"

    def __str__(self) -> str:
        """Returns the text that `ptexplore compile` prints into a pipe."""
        return self.text()

    def _repr_mimebundle_(self, **_asked: object) -> Bundle:
        """Returns text and HTML, which notebooks show."""
        from ptexplore.api.displayed import WIDTH, bundle, drawn

        return bundle(self.text(WIDTH), drawn(self.record.run.expression, [("what torch.compile did", self._draw())]))

    @property
    def functions(self) -> tuple[MetFunction, ...]:
        """The functions that Dynamo tried to compile, with their breaks.

        >>> import ptexplore
        >>> compiled = ptexplore.compile("f(a)", setup=["f = torch.compile(lambda x: x.sin(), backend='eager')"])
        >>> [function.outcome for function in compiled.functions]
        ['whole']
        """
        return self.record.functions

    @property
    def breaks(self) -> tuple[GraphBreak, ...]:
        """The lines where a graph ended, each with torch's reason.

        >>> import ptexplore
        >>> setup = ["f = torch.compile(lambda x: x.sin() if x.sum() > 0 else x, backend='eager')"]
        >>> len(ptexplore.compile("f(a)", setup=setup).breaks)
        1
        """
        return tuple(at for function in self.functions for at in function.breaks)

    @property
    def graph_breaks(self) -> Counted:
        """How many lines ended a graph. A function that Dynamo gave up counts as one.

        Raises PtexploreError if nothing was compiled.

        >>> import ptexplore
        >>> setup = ["f = torch.compile(lambda x: x.sin() if x.sum() > 0 else x, backend='eager')"]
        >>> int(ptexplore.compile("f(a)", setup=setup).graph_breaks)
        1
        """
        from ptexplore.view.compile_page import graph_breaks

        return graph_breaks(self.record)

    @property
    def recompilations(self) -> tuple[Recompilation, ...]:
        """The functions that were compiled again, each with the guard that failed.

        >>> import ptexplore
        >>> setup = ["f = torch.compile(lambda x, n: x * n, backend='eager', dynamic=False)"]
        >>> [again.checks[0].new for again in ptexplore.compile("f(a, 1), f(a, 2)", setup=setup).recompilations]
        ['2']
        """
        return self.record.recompilations

    def text(self, width: int = 160) -> str:
        """Returns the text of `ptexplore compile`, at most `width` columns wide if possible.

        >>> import ptexplore
        >>> compiled = ptexplore.compile("f(a)", setup=["f = torch.compile(lambda x: x.sin(), backend='eager')"])
        >>> "graph" in compiled.text()
        True
        """
        from ptexplore.render.terminal.console import plain_text

        return plain_text(self._draw(), width)

    def _draw(self) -> Callable[[Console], None]:
        from ptexplore.render.terminal.compiling import print_compile
        from ptexplore.view.compile_page import compile_page

        page = compile_page(self.record)
        return lambda console: print_compile(console, page, links=False)
