"""Writes the pages of tensors in memory: each storage as cells, the tensors over it, and what a call would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ptexplore.facts.layouts import JOINED
from ptexplore.model.tensor_facts import ViewRefused
from ptexplore.model.tensor_layouts import TensorLayouts
from ptexplore.render.html.output import Output
from ptexplore.render.html.pages import render
from ptexplore.render.html.source_markup import escaped
from ptexplore.render.html.storage_figure import cell_tables
from ptexplore.view.site.site import Site
from ptexplore.view.tensor.page import BlockView, tensor_page
from ptexplore.view.tensor.strip import strip

WIDE = 100  # columns of a row of cells


@dataclass(frozen=True, slots=True)
class TensorPages:
    """The writer of the drawn tensors on one site. The page of each has a number as its name."""

    site: Site
    out: Output
    given: Sequence[tuple[str, TensorLayouts]]

    def listed(self) -> list[tuple[str, str, str]]:
        """Returns the statements, the URL and the version of torch of each page."""
        return [
            (text, self.url(number), tensor_page(layouts, text).torch)
            for number, (text, layouts) in enumerate(self.given, 1)
        ]

    @staticmethod
    def url(number: int) -> str:
        """Returns the URL of a page."""
        return f"tensors/{number}.html"

    def write(self) -> None:
        """Write each page."""
        for number, (text, layouts) in enumerate(self.given, 1):
            page = tensor_page(layouts, text, on_site=True)
            figures = [(_heading(block), Markup(_figure(block))) for block in page.blocks]
            written = render(
                self.site, "tensors.html", self.url(number), kind="tensors", id=str(number), title=page.title,
                page=page, figures=figures, rule=JOINED if _is_refused(layouts) else None,
                rule_place=self.site.place(self.url(number), JOINED.file, None),
            )  # fmt: skip
            self.out.write(self.url(number), written)


def _is_refused(layouts: TensorLayouts) -> bool:
    """Whether a call would fail by the rule of views."""
    return any(isinstance(fact, ViewRefused) for answer in layouts.answers for fact in answer.facts)


def _heading(block: BlockView) -> str:
    """Returns the heading of a block: "Storage 1: 96 B, int64, cpu, 12 cells of 8 B"."""
    name, *facts = block.facts
    return f"{name[:1].upper()}{name[1:]}: {', '.join(facts)}"


def _figure(block: BlockView) -> str:
    tables = cell_tables(strip(block.tensors, block.cells, WIDE))
    label = escaped(", ".join(block.facts))
    return (
        f'<figure class="storage"><div class="drawn" tabindex="0" role="region" aria-label="{label}">{tables}</div>'
        "</figure>"
    )
