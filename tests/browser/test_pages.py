"""Every kind of page in a real browser: no barrier, nothing that moves or overflows, quick; and no payload runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser import hostile
from tests.browser.conftest import LINES, PHONE, Reader
from tests.harness import REPOSITORY, THOROUGH

AXE = REPOSITORY / ".venv-browser" / "node_modules" / "axe-core" / "axe.min.js"
SHOTS = REPOSITORY / "build" / "screenshots"  # git does not look into build/
MIX = "src/aten/src/ATen/native/Mix.cpp.html"
BIG = "src/torch/csrc/thousands.cpp.html"
MADE = "src/torch/csrc/made.cpp.html"  # stands packed


def pages(site: Path) -> list[str]:
    """One page of each kind."""
    trace = next(one.name for one in sorted((site / "traces").glob("*.html")) if one.name != "index.html")
    found = [
        "index.html", "concepts.html", "about.html", "tours/index.html", "tours/blending.html",
        "tours/blending/entry.html", "tours/blending/gone.html", "src/index.html", MIX, "ops/index.html",
        "traces/index.html", f"traces/{trace}",
    ]  # fmt: skip
    cards = sorted(one.relative_to(site).as_posix() for one in (site / "ops").glob("*/*.html"))
    return [one for one in found if (site / one).is_file()] + cards[:1]


def test_no_barrier_in_either_theme(file_reader: Reader, site: Path) -> None:
    if not AXE.is_file():
        pytest.skip("needs axe-core: scripts/test fetches it, where npm is")
    text = AXE.read_text(encoding="utf-8")
    found = []
    for url in pages(site):
        page = file_reader.open(url)
        if url == MIX:
            page.goto(f"{page.url}#u33")
            page.wait_for_selector("#uses .tabs")
            page.click("#uses button:text-is('Calls')")
            page.wait_for_selector("#uses svg")
            file_reader.search("mi")
        page.evaluate(text)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            # The other theme has other colours, and nothing else.
            rules = "" if scheme == "light" else ", runOnly: ['color-contrast']"
            result: dict[str, Any] = page.evaluate(f"axe.run({{ resultTypes: ['violations'], preload: false{rules} }})")
            found += [
                f"{url} {scheme}: {one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}"
                for one in result["violations"]
                if one["impact"] in ("serious", "critical")
            ]
    assert found == []


# How far the sign of a stop reaches below the line that it is at.
BELOW_ITS_LINE = """[...document.querySelectorAll("a.to-stop")].map((sign) =>
  sign.getBoundingClientRect().bottom - sign.closest("li").getBoundingClientRect().bottom)"""


@pytest.mark.parametrize("width", ["wide", "phone"])
def test_nothing_moves_and_nothing_overflows(make_reader: Callable[..., Reader], site: Path, width: str) -> None:
    reader = make_reader(**(PHONE if width == "phone" else {}))
    found = []
    for url in [*pages(site), BIG, MADE]:
        page = reader.open(url)
        page.wait_for_function("document.readyState === 'complete' && !document.querySelector('[data-packed]')")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        moved = page.evaluate("window.__shift")
        if over > 0 or moved > 0:
            found.append(f"{url}: {over} px too wide, {moved:.3f} moved")
    assert found == []
    page = reader.open(MIX)
    for pixels in (390, 700, 900, 1000, 1400) if width == "wide" else ():
        page.set_viewport_size({"width": pixels, "height": 800})
        head, crumb = (page.locator(part).bounding_box() for part in ("body > header", ".crumb"))
        assert head is not None
        assert crumb is not None
        assert head["height"] < 60, f"{pixels}: the head has two rows"
        assert crumb["y"] >= head["height"] - 1, f"{pixels}: the head lies over where one is"
    if width == "phone":
        below = page.evaluate(BELOW_ITS_LINE)
        assert below, "a line of it has a stop"
        assert max(below) <= 0, "the sign of a stop lies over the next line"
        page = reader.open(f"{MIX}#u34")
        page.click("#uses button:text-is('Calls')")
        page.wait_for_selector("#uses .in-words[open]")  # the drawing is wider than the screen
        assert page.is_visible("#uses .in-words a:has-text('made_')")


def test_a_page_of_two_thousand_lines_is_quick_and_small(file_reader: Reader, site: Path) -> None:
    assert (site / BIG).read_bytes().count(b"<li") >= LINES
    assert (site / BIG).stat().st_size <= 300_000
    channel = file_reader.page.context.new_cdp_session(file_reader.page)
    channel.send("Performance.enable", {"timeDomain": "threadTicks"})  # processor time: a busy machine is no slow page
    took = []
    for _ in range(3):
        file_reader.open("about.html")
        before = {one["name"]: one["value"] for one in channel.send("Performance.getMetrics")["metrics"]}
        file_reader.open(BIG)
        file_reader.until("() => performance.getEntriesByName('first-contentful-paint').length > 0")
        after = {one["name"]: one["value"] for one in channel.send("Performance.getMetrics")["metrics"]}
        took.append(
            after["TaskDuration"] - (before["TaskDuration"] if after["TaskDuration"] > before["TaskDuration"] else 0)
        )
    assert min(took) <= 0.1, took


def test_no_payload_runs(file_reader: Reader, site: Path) -> None:
    """Files, notes and a trace of nothing but payloads: every page of theirs is opened, and all of it is text."""
    every = sorted(one.relative_to(site).as_posix() for one in site.rglob("*.html"))
    odd = [one for one in every if "hostile" in one or "/csrc/" in one or one.count("/") < 2]
    assert sum("odd" in (site / one).read_text(encoding="utf-8") for one in odd) >= len(hostile.NAMES)
    for url in odd:
        page = file_reader.open(url)
        state = page.evaluate("""() => ({
          ran: window.__ran ?? 0,
          schemes: [...document.querySelectorAll('[href], [src], [action], [data]')].flatMap((one) =>
            ['href', 'src', 'action', 'data'].map((name) => one.getAttribute(name)))
            .filter((one) => one && /^\\s*(javascript|data|vbscript):/i.test(one)),
          handlers: [...document.querySelectorAll('*')].filter((one) =>
            [...one.attributes].some((a) => /^on/.test(a.name))).length,
          foreign: document.querySelectorAll(
            'iframe, object, embed, svg:has(:not(rect)), script:not([src]), style').length,
          unsafe: /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e]/
            .test(document.body.innerText + document.title),
        })""")
        assert state == {"ran": 0, "schemes": [], "handlers": 0, "foreign": 0, "unsafe": False}, url


def test_odd_names_are_found_and_opened(file_reader: Reader) -> None:
    for number in range(len(hostile.NAMES)):
        page = file_reader.open("index.html")
        assert f"odd_name_{number}" in file_reader.search(f"odd_name_{number}")[0]
        page.keyboard.press("Enter")
        page.wait_for_url("**/src/torch/csrc/*.html#L3")
        file_reader.until("() => document.querySelector('.on')")
        assert f"int odd_name_{number}(int a)" in file_reader.marked()[0]
        assert page.inner_text("h1") == hostile.NAMES[number].removeprefix("torch/csrc/")
    page.hover("#code a:not([href^='#u']):has-text('odd_name')")
    page.wait_for_selector("#card:not([hidden])")
    assert page.evaluate("window.__ran ?? 0") == 0


def test_a_page_is_read_without_scripts(make_reader: Callable[..., Reader]) -> None:
    reader = make_reader(java_script_enabled=False)
    page = reader.open("tours/blending/entry.html")
    page.locator("main a[rel=next]").first.click()
    page.wait_for_url("**/token.html")
    assert not page.locator("#theme").is_visible(), "what does nothing is not shown"
    page.locator(".excerpt a").first.click()


@pytest.mark.skipif(not THOROUGH, reason="scripts/test --matched runs it, or PTEXPLORE_TEST_THOROUGH=1")
def test_five_pages_to_look_at(make_reader: Callable[..., Reader], site: Path) -> None:
    """Kept as artefacts, in both themes and widths: scripts cannot tell whether a page is pleasant to read."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    trace = next(one for one in pages(site) if one.startswith("traces/") and not one.endswith("index.html"))
    shown = {
        "home": "index.html",
        "tour": "tours/blending.html",
        "stop": "tours/blending/token.html",
        "source": f"{MIX}#L11-L13",
        "trace": trace,
    }
    for width, options in (("wide", {}), ("phone", PHONE)):
        for scheme in ("light", "dark"):
            reader = make_reader(color_scheme=scheme, **options)
            for name, url in shown.items():
                reader.open(url).screenshot(path=SHOTS / f"{name}-{width}-{scheme}.png")
    assert len(list(SHOTS.glob("*.png"))) >= 20
