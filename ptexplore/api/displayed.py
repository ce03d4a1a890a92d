"""What a notebook shows of a result: text, and HTML that opens and closes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from ptexplore.view.card import Card
from ptexplore.view.search.show import ShowView

if TYPE_CHECKING:
    from rich.console import Console

    from ptexplore.model.trace import Session, Trace

WIDTH = 110  # columns of text in a notebook.
Bundle = dict[str, str]


def bundle(text: str, html: str) -> Bundle:
    """Returns both forms by their media types, as `_repr_mimebundle_` gives them."""
    return {"text/plain": text.rstrip(), "text/html": html}


def drawn(title: str, parts: Iterable[tuple[str, Callable[[Console], object]]]) -> str:
    """Returns HTML of parts that are drawn as in a terminal. The first one is open."""
    from ptexplore.render.html.notebook import FoldedPart, folded, preformatted
    from ptexplore.render.terminal.console import inline_html

    shown = [
        FoldedPart(heading, preformatted(inline_html(draw, WIDTH)), is_open=not number)
        for number, (heading, draw) in enumerate(parts)
    ]
    return folded(title, (), shown)


def trace_html(trace: Trace, session: Session | None) -> str:
    """Returns HTML of a trace: the first screen as rows that open and close, and further views."""
    from ptexplore.render.html.notebook import FoldedPart, preformatted, trace_rows
    from ptexplore.render.terminal.console import inline_html
    from ptexplore.render.terminal.trace import print_trace
    from ptexplore.view.trace.page import Options
    from ptexplore.view.trace.views import view

    def more(heading: str, options: Options) -> FoldedPart:
        shown = view(trace, options, session)
        return FoldedPart(
            heading, preformatted(inline_html(lambda console: print_trace(console, shown, _no_link), WIDTH))
        )

    further = [
        more("operators by cost", Options(False, None, None, None, "operators", False, ())),
        more("what was copied", Options(False, None, None, None, "copies", False, ())),
    ]
    return trace_rows(view(trace, Options(), session), further)


@dataclass(frozen=True, slots=True)
class PublicCard(Card):  # what `ptexplore.op` returns
    """The card of an operator, with its form for notebooks."""

    def _repr_mimebundle_(self, **_asked: object) -> Bundle:
        from ptexplore.render.terminal.card import print_card
        from ptexplore.render.terminal.console import plain_text

        def draw(console: Console, *, full: bool = False) -> None:
            print_card(console, self, _no_link, full=full)

        title = self.operator.name
        html = drawn(title, [("kernels", draw), ("every detail", lambda console: draw(console, full=True))])
        return bundle(plain_text(draw, WIDTH), html)


@dataclass(frozen=True, slots=True)
class PublicShown(ShowView):  # what `ptexplore.show` returns
    """The pages of source, with their form for notebooks."""

    def _repr_mimebundle_(self, **_asked: object) -> Bundle:
        from ptexplore.render.terminal.console import plain_text
        from ptexplore.render.terminal.search import print_candidates
        from ptexplore.render.terminal.show import page_lines

        def draw(console: Console, number: int = 0) -> None:
            if not self.pages:
                print_candidates(console, self, _no_link, MOST)
                return
            from rich.text import Text

            lines = "\n".join(page_lines(console, self.pages[number : number + 1], None))
            console.print(Text.from_ansi(lines), soft_wrap=True)

        def page(number: int) -> Callable[[Console], None]:
            return lambda console: draw(console, number)

        parts = [(each.spot.ref.path or self.target, page(number)) for number, each in enumerate(self.pages)]
        text = "\n\n".join(plain_text(page(number), WIDTH) for number in range(max(len(self.pages), 1)))
        return bundle(text, drawn(self.target, parts or [("which one?", draw)]))


MOST = 40  # candidates.


def with_display(card: Card) -> PublicCard:
    """Returns a card with its form for notebooks."""
    return PublicCard(**{known.name: getattr(card, known.name) for known in fields(card)})


def pages_with_display(pages: ShowView) -> PublicShown:
    """Returns pages with their form for notebooks."""
    return PublicShown(**{known.name: getattr(pages, known.name) for known in fields(pages)})


def _no_link(*_: object) -> None:
    """Text that is passed on has no links into folders of this machine."""
