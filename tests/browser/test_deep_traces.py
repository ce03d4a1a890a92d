"""Traces that are thousands of levels deep, in a real browser: nothing is left out, and all can be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ptexplore.model.trace import Trace, walk
from ptexplore.render.html.check import broken
from ptexplore.render.html.output import Output
from ptexplore.render.html.pages import write_assets
from ptexplore.render.html.trace_steps import ROWS
from ptexplore.render.html.traces import Traces
from ptexplore.view.site.site import Settings, Site
from tests.browser.conftest import PHONE, Reader
from tests.unit.view.test_deep import frames, nested, operator, other_functions, trace

LEVELS = 4000
# How many elements the innermost one is inside of: beyond 512 Chromium puts what is nested side by side.
DEPTH = """() => {
  let deepest = 0;
  for (const one of document.querySelectorAll("li")) {
    let depth = 0;
    for (let up = one; up; up = up.parentElement) depth++;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def write(root: Path, *traces: tuple[str, Trace]) -> Path:
    site = Site(Settings("Deep", "core"), [], {}, {}, {}, traces=True)
    out = Output(root)
    out.begin()
    Traces(site, out, [(name, one, None) for name, one in traces], {}).write()
    write_assets(out)
    out.finish()
    return root


@pytest.mark.parametrize("width", ["wide", "phone"])
@pytest.mark.parametrize("shape", [other_functions, frames], ids=lambda shape: shape.__name__)
def test_every_level_can_be_read(
    make_reader: Callable[..., Reader], tmp_path: Path, shape: Callable[..., object], width: str
) -> None:
    deep = trace(nested(LEVELS, shape))  # type: ignore[arg-type]
    root = write(tmp_path / "site", ("deep", deep))
    reader = make_reader(f"{root.as_uri()}/", **(PHONE if width == "phone" else {}))
    page = reader.open("traces/deep.html")
    page.click("#unfold")
    assert page.evaluate(DEPTH) < 512
    assert page.evaluate(WIDER) == 0
    page.locator(".trace a", has_text="rows inside").click()
    assert reader.at.startswith("steps/deep/1.html#h")
    met: list[str] = []
    for number in range(1, -(-(LEVELS + 1) // ROWS) + 1):
        page = reader.open(f"steps/deep/{number}.html")
        assert page.evaluate(WIDER) == 0
        assert page.locator("li[id^=h] .leaf code").last.is_visible()
        met += page.eval_on_selector_all("li[id^=h]", "all => all.map((one) => one.id)")
    assert met == [f"h{hop.id}" for hop in walk(deep.hops)]


def test_a_page_of_steps_leads_around_it_and_on(make_reader: Callable[..., Reader], tmp_path: Path) -> None:
    root = write(tmp_path / "site", ("deep", trace(nested(LEVELS, other_functions))))
    page = make_reader(f"{root.as_uri()}/").open("steps/deep/2.html")
    around = page.locator("p.facts a[href*='#h']")
    assert around.first.inner_text() == f"f{ROWS - 7}()"  # the eight nearest of those that it is inside of
    assert around.last.inner_text() == f"f{ROWS}()"
    assert f"inside {ROWS - 8:,} others" in page.inner_text("main")
    assert page.inner_text(f"#h{ROWS + 1} .leaf").startswith(f"level {ROWS}")
    around.last.click()
    page.wait_for_url(f"**/steps/deep/1.html#h{ROWS}")
    page.locator("a[rel=next]").first.click()
    page.wait_for_url("**/steps/deep/2.html")


def test_equal_steps_are_one_row_and_each_hop_leads_to_it(tmp_path: Path) -> None:
    """Nothing is missing: the rows, each as often as it says, are all hops; no link of the site leads nowhere."""
    flat = trace(*(operator(number) for number in range(1, 8)), operator(8, "aten::mul.Tensor"))
    root = write(tmp_path / "site", ("flat", flat), ("deep", trace(nested(100, frames))))
    page = (root / "steps/flat/1.html").read_text(encoding="utf-8")
    assert page.count("<li id=h") == 2
    assert "<span class=times>×7</span>" in page
    assert "2 rows in reading order" in page
    own = (root / "traces/flat.html").read_text(encoding="utf-8")
    assert 'href="../steps/flat/1.html">Every step on a page of its own: 2 rows</a>' in own
    links, trouble = broken(root)
    site_wide = ("index.html", "about.html", "glossary.html", "tours/", "search/")  # which this small site has not
    assert links
    assert [one for one in trouble if not any(part in one.partition(": ")[2] for part in site_wide)] == []
