"""Writes the pages of saved runs of `ptexplore compile`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ptexplore.model.compiled import CompileReport
from ptexplore.render.html.output import Output
from ptexplore.render.html.pages import render
from ptexplore.render.html.places import torch_link
from ptexplore.view.compile_page import PagePlace, title_of
from ptexplore.view.site.compiled import CompiledOnPage, compiled_on_page, sections_in_use
from ptexplore.view.site.site import Site


@dataclass(frozen=True, slots=True)
class Compiles:
    """The writer of the runs of torch.compile on one site. Each comes with the name of its page."""

    site: Site
    out: Output
    given: Sequence[tuple[str, CompileReport]]

    def listed(self) -> list[tuple[str, str, str]]:
        """Returns the title, the URL and the version of torch of each run."""
        return [(title_of(report), self.url(name), report.run.torch.version) for name, report in self.given]

    @staticmethod
    def url(name: str) -> str:
        """Returns the URL of a run's page."""
        return f"compiles/{name}.html"

    def write(self) -> None:
        """Write the page of each run."""
        for name, report in self.given:
            url, shown = self.url(name), compiled_on_page(report)
            href: Callable[[PagePlace], str | None] = partial(self._href, url, report, shown)
            page = render(
                self.site, "compile.html", url, kind="compile", id=name, title=shown.page.title, page=shown.page,
                sections=sections_in_use(shown.page.sections), files=shown.files, graphs=shown.graphs, href=href,
            )  # fmt: skip
            self.out.write(url, page)

    def _href(self, url: str, report: CompileReport, shown: CompiledOnPage, place: PagePlace) -> str | None:
        """Returns the link of a place: to its line on this page, or to torch's own file if the site has that text."""
        anchor = shown.anchor(place)
        if anchor is not None:
            return f"#{anchor}"
        return torch_link(self.site, url, place, report.run.torch.version)
