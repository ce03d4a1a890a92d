"""Writes the pages of saved runs of `ptexplore lower`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ptexplore.model.rungs import LowerReport
from ptexplore.render.html.output import Output
from ptexplore.render.html.pages import render
from ptexplore.render.html.places import torch_link
from ptexplore.view.compile_page import PagePlace
from ptexplore.view.site.lowered import lowered_on_page
from ptexplore.view.site.site import Site, between


@dataclass(frozen=True, slots=True)
class Lowers:
    """The writer of the runs of `lower` on one site. Each comes with the name of its page."""

    site: Site
    out: Output
    given: Sequence[tuple[str, LowerReport]]

    def listed(self) -> list[tuple[str, str, str]]:
        """Returns the title, the URL and the version of torch of each run."""
        return [(report.run.expression, self.url(name), report.run.torch.version) for name, report in self.given]

    @staticmethod
    def url(name: str) -> str:
        """Returns the URL of a run's page."""
        return f"lowers/{name}.html"

    def write(self) -> None:
        """Write the page of each run."""
        for name, report in self.given:
            url, shown = self.url(name), lowered_on_page(report)
            page = render(
                self.site, "lower.html", url, kind="lower", id=name, title=shown.page.title, page=shown.page,
                changes=shown.page.sections[1] if len(shown.page.sections) > 1 else None,
                linked=shown.linked, by_line=shown.by_line,
                href=partial(self._href, url, report.run.torch.version), operator_href=partial(self._operator, url),
            )  # fmt: skip
            self.out.write(url, page)

    def _href(self, url: str, version: str, place: PagePlace) -> str | None:
        return torch_link(self.site, url, place, version)

    def _operator(self, url: str, called: str) -> str | None:
        """Returns the link of the page of an operator, such as "aten.add.Tensor", if the site has one."""
        namespace, _, name = called.replace("::", ".").partition(".")
        page = self.site.operators.get(f"{namespace}::{name}")
        return between(url, page) if page is not None else None
