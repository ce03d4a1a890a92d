"""How soon a page is painted in a tab that has shown the site before: by the clock, and by the main thread's own time.

Each page is opened in turn with one that holds a word alone: what that takes is the browser's and the machine's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

EMPTY = "<!doctype html><title>empty</title><p>word"
_TRACED = ("-*", "devtools.timeline", "loading", "toplevel")
_PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_SETTLED = 100  # milliseconds after the page that was there before


@dataclass(frozen=True)
class Painted:
    """Milliseconds of every run: from the navigation to the first contentful paint, and those of the main thread."""

    clock: tuple[float, ...]
    busy: tuple[float, ...]


def paints(browser: Browser, before: Path, pages: Sequence[Path], runs: int) -> list[Painted]:
    """Open each of `pages` so many times, in turns, from `before` in one tab; the first turn warms and is dropped."""
    page = browser.new_page()
    found: list[list[tuple[float, float]]] = [[] for _ in pages]
    for _ in range(runs + 1):
        for one, times in zip(pages, found, strict=True):
            page.goto(before.as_uri())
            page.wait_for_timeout(_SETTLED)
            times.append(_paint(browser, page, one))
    page.close()
    return [Painted(*zip(*times[1:], strict=True)) for times in found]


def _paint(browser: Browser, page: Page, file: Path) -> tuple[float, float]:
    browser.start_tracing(page=page, categories=list(_TRACED))
    page.goto(file.as_uri())
    clock = page.wait_for_function(_PAINTED).json_value()
    return clock, _busy(json.loads(browser.stop_tracing())["traceEvents"], clock)


def _busy(events: list[dict[str, Any]], clock: float) -> float:
    """Processor time of the tasks that the page's main thread ran from the navigation to the paint."""
    paint = [one for one in events if one["name"] == "firstContentfulPaint"][-1]
    names = [one for one in events if one["name"] == "thread_name" and one["pid"] == paint["pid"]]
    main = next(one["tid"] for one in names if one["args"]["name"] == "CrRendererMain")
    first, last = paint["ts"] - clock * 1000, paint["ts"]
    tasks = [one for one in events if one["ph"] == "X" and (one["pid"], one["tid"]) == (paint["pid"], main)]
    end = total = 0.0
    for task in sorted(tasks, key=lambda one: (one["ts"], -one.get("dur", 0))):
        if first <= task["ts"] <= last and task["ts"] >= end:  # one that is inside another is part of it
            total += task.get("tdur", 0)
            end = task["ts"] + task.get("dur", 0)
    return total / 1000
