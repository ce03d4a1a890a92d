"""The parts that all pages share: the jinja environment with autoescape, the page's frame, the style, the scripts."""

from __future__ import annotations

import re
import shlex
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from ptexplore.render.html.places import SAID, certainty
from ptexplore.render.html.source_markup import breaking
from ptexplore.safe_text import clean_lines
from ptexplore.view.notes.folder import CALL_ORDER, FOUNDATIONS, MAP_IN_WORDS
from ptexplore.view.notes.labs import lab_code, lab_facts, trace_command
from ptexplore.view.notes.predictions import given_steps, lab_question
from ptexplore.view.site.site import Site, between, stop_url, up

if TYPE_CHECKING:
    from jinja2 import Environment

    from ptexplore.render.html.output import Output

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"


@cache
def environment() -> Environment:
    """Returns the environment for the templates of this folder.

    The filter `plain` drops control characters and direction overrides and keeps line breaks.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("ptexplore.render.html", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    templates.filters["plain"] = lambda text: clean_lines(str(text))  # the result is escaped like any other text
    templates.filters["breakable"] = _breakable
    templates.filters["breaking"] = lambda name: Markup(breaking(clean_lines(str(name))))
    templates.filters["shell"] = lambda text: shlex.quote(str(text))
    templates.globals |= {
        "stop_url": stop_url, "lab_code": lab_code, "lab_facts": lab_facts, "trace_command": trace_command,
        "map_in_words": MAP_IN_WORDS, "call_order": CALL_ORDER, "foundations": FOUNDATIONS, "certainty": certainty,
        "said": SAID, "lab_question": lab_question, "given_steps": given_steps,
    }  # fmt: skip
    return templates


def _breakable(text: object) -> Markup:
    """Returns an expression that a narrow page can break after a bracket or a comma, but not inside a name."""
    return Markup(re.sub(r"([(\[{,=])", r"\1<wbr>", str(escape(clean_lines(str(text))))))


def render(site: Site, template: str, url: str, **values: Any) -> str:
    """Render one page. `values` must have `kind`, `id` and `title`."""
    frame = {"before": "", "after": "", "generated": False, "policy": POLICY, "to": partial(between, url)}
    return environment().get_template(template).render(site=site, url=url, root=up(url), **(frame | values))


def write_assets(out: Output) -> None:
    """Write the files that every site shares: the style sheet, the scripts, and a file that hosts need."""
    for asset in sorted((files("ptexplore.render.html") / "assets").iterdir(), key=lambda asset: asset.name):
        if asset.name.endswith((".css", ".js", ".svg")):
            out.write(f"assets/{asset.name}", asset.read_bytes())
    out.write(".nojekyll", "")
