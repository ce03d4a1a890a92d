"""What a reader of the site waits for, in a real Chromium over file://: the first paint, the search."""

from __future__ import annotations

import json
import random
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lib.bench_paint import EMPTY, paints
from lib.measure import Row

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LINES = 2000  # of the page whose first paint is measured
WORDS = 60
SEED = 7
_LINES = re.compile(rb'data-lines="?(\d+)')
_HEAD = 20_000  # bytes of a page in which its number of lines stands
# Types each word letter by letter; gives for each the milliseconds from the letter to the laid-out list.
TYPED = """async (words) => {
  const input = document.querySelector('#q'), box = document.querySelector('#results'), times = [];
  const answer = (text) => new Promise((done) => {
    const seen = new MutationObserver(() => { if (input.dataset.answered === text) { seen.disconnect(); done(); } });
    delete input.dataset.answered;
    seen.observe(input, { attributes: true });
    input.value = text;
    input.dispatchEvent(new Event('input', { bubbles: true }));
  });
  for (const word of words) {
    for (let n = 2; n <= word.length; n++) {
      const started = performance.now();
      await answer(word.slice(0, n));
      box.getBoundingClientRect();
      times.push(performance.now() - started);
    }
  }
  return times;
}"""


def browser_rows(site: Path, runs: int, progress: Callable[[str], None]) -> list[Row]:
    """First paint of a page of about 2,000 lines, its size, the search's p95; none, and a word, without Chromium."""
    program = shutil.which("chromium")
    if program is None:
        print("no chromium here, so what a reader waits for is not measured: apt-get install chromium", file=sys.stderr)
        return []
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("no playwright here, so what a reader waits for is not measured: pip install playwright", file=sys.stderr)
        return []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            progress("first paint in Chromium")
            rows = _paint(browser, site, runs)
            progress("search in Chromium")
            return rows + _search(browser, site)
        finally:
            browser.close()


def _paint(browser: Browser, site: Path, runs: int) -> list[Row]:
    page_file, lines = _page_of(site, LINES)
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.html"
        empty.write_text(EMPTY, encoding="utf-8")
        found, floor = paints(browser, site / "index.html", [page_file, empty], max(runs, 9))
    name = f"a page of {lines:,} lines"
    note = f"file://, Chromium {browser.version}, in a tab that showed the site before, worst {max(found.clock):.0f} ms"
    return [
        Row(f"{name}: first contentful paint", statistics.median(found.clock), "ms", 100,
            f"{note}; an empty page {statistics.median(floor.clock):.0f}"),
        Row(f"{name}: processor time of the main thread until then", statistics.median(found.busy), "ms", None,
            f"an empty page {statistics.median(floor.busy):.1f}"),
        Row(f"{name}: size", page_file.stat().st_size / 1000, "KB", 300, page_file.relative_to(site).as_posix()),
    ]  # fmt: skip


def _page_of(site: Path, lines: int) -> tuple[Path, int]:
    """The source page whose number of lines is the nearest."""
    found = []
    for one in sorted(site.glob("src/**/*.html")):
        with one.open("rb") as file:
            head = file.read(_HEAD)
        match = _LINES.search(head)
        if match and b"data-packed" not in head:  # its lines come after the first paint
            found.append((abs(int(match[1]) - lines), one, int(match[1])))
    _, page, count = min(found)
    return page, count


def _search(browser: Browser, site: Path) -> list[Row]:
    words = _words(site)
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    first: list[float] = page.evaluate(TYPED, words)
    again: list[float] = page.evaluate(TYPED, words)
    page.close()
    note = (
        f"{len(again)} letters of {len(words)} words; {_p95(first):.1f} ms if parts of the search index must be loaded"
    )
    return [
        Row("search while you type, index loaded: p95", _p95(again), "ms", 50, note),
    ]


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def _words(site: Path) -> list[str]:
    """Names of all shards, drawn with a fixed seed, as somebody types them: their first ten letters."""
    names: set[str] = set()
    for shard in sorted((site / "search").glob("[0-9]*.js")):
        text = shard.read_text(encoding="utf-8")
        data: dict[str, Any] = json.loads(text[text.index("{") : text.rindex("}") + 1])
        names.update(row.partition("\t")[0] for row in data["r"].split("\n"))
    usable = sorted(name for name in names if len(name) > 3)
    return [name[:10].lower() for name in random.Random(SEED).sample(usable, min(WORDS, len(usable)))]
