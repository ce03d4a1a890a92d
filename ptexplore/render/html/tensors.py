"""Writes the pages of tensors in memory: each storage as cells, the tensors over it, and what a call would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

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
            page = tensor_page(layouts, text)
            figures = [(", ".join(block.facts), Markup(_figure(block))) for block in page.blocks]
            written = render(
                self.site, "tensors.html", self.url(number), kind="tensors", id=str(number), title=page.title,
                page=page, figures=figures,
            )  # fmt: skip
            self.out.write(self.url(number), written)


def _figure(block: BlockView) -> str:
    tables = cell_tables(strip(block.tensors, block.cells, WIDE))
    label = escaped(", ".join(block.facts))
    return (
        f'<figure class="storage"><div class="drawn" tabindex="0" role="region" aria-label="{label}">{tables}</div>'
        "</figure>"
    )
