"""The jinja environment, with autoescape, and the one function that renders a page inside the frame all share."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ptexplore.view.site.site import between, up

if TYPE_CHECKING:
    from jinja2 import Environment

    from ptexplore.view.site.site import Site

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"


@cache
def environment() -> Environment:
    """The templates of this folder."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("ptexplore.render.html", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    made.filters["plain"] = _plain
    return made


def _plain(text: object) -> str:
    """Text without control characters and direction overrides, lines kept; escaped after that as any other."""
    from ptexplore.safe_text import clean_lines

    return clean_lines(str(text))


def render(site: Site, template: str, url: str, **values: Any) -> str:
    """One page. `values` must have `kind`, `id` and `title`."""

    def to(there: str) -> str:
        return between(url, there)

    given = {"before": "", "after": "", "generated": False, "policy": POLICY} | values
    return environment().get_template(template).render(site=site, url=url, root=up(url), to=to, **given)
