"""What all pages share: the jinja environment, with autoescape, the frame of a page, the style, the scripts."""

from __future__ import annotations

import re
import shlex
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from ptexplore.safe_text import clean_lines
from ptexplore.view.notes.folder import MAP_IN_WORDS
from ptexplore.view.notes.labs import lab_code, lab_facts, trace_command
from ptexplore.view.site.site import Site, between, stop_url, up

if TYPE_CHECKING:
    from jinja2 import Environment

    from ptexplore.render.html.output import Output

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"


@cache
def environment() -> Environment:
    """The templates of this folder. `plain` is text without control characters and direction overrides, lines kept."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("ptexplore.render.html", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    templates.filters["plain"] = lambda text: clean_lines(str(text))  # escaped after that as any other
    templates.filters["breakable"] = _breakable
    templates.filters["shell"] = lambda text: shlex.quote(str(text))
    templates.globals |= {
        "stop_url": stop_url, "lab_code": lab_code, "lab_facts": lab_facts, "trace_command": trace_command,
        "map_in_words": MAP_IN_WORDS,
    }  # fmt: skip
    return templates


def _breakable(text: object) -> Markup:
    """An expression that a narrow page breaks behind a bracket or a comma, and not inside of a name."""
    return Markup(re.sub(r"([(\[{,=])", r"\1<wbr>", str(escape(clean_lines(str(text))))))


def render(site: Site, template: str, url: str, **values: Any) -> str:
    """One page. `values` must have `kind`, `id` and `title`."""
    frame = {"before": "", "after": "", "generated": False, "policy": POLICY, "to": partial(between, url)}
    return environment().get_template(template).render(site=site, url=url, root=up(url), **(frame | values))


def write_assets(out: Output) -> None:
    """Write the files that are the same for every site: the style sheet, the scripts, and what hosts need."""
    for asset in sorted((files("ptexplore.render.html") / "assets").iterdir(), key=lambda asset: asset.name):
        if asset.name.endswith((".css", ".js", ".svg")):
            out.write(f"assets/{asset.name}", asset.read_bytes())
    out.write(".nojekyll", "")
