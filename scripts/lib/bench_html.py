"""What a site costs: all of it, one note changed, its size beside the source's, and Pygments for the same files."""

from __future__ import annotations

import json
import re
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lib.bench_browser import browser_rows
from lib.measure import Bench, Row

SHARE = 20  # every so manieth file goes through Pygments, and its time is taken so many times
_PATH = re.compile(r'ptx\.file\(("(?:[^"\\]|\\.)*"),')
NOTE = """---
id: bench
title: Bench
baseline: v2.6.0
---

## A place {{#place}}

```anchor
path: aten/src/ATen/native/BinaryOps.cpp
symbol: at::native::alpha_check
```

Written {times} times.
"""
PEER = """
import sys, time
from pathlib import Path
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound
from pygments.lexers.c_cpp import CppLexer
start = time.perf_counter()
size = 0
for name in sys.stdin.read().split("\\n"):
    text = Path(name).read_text(encoding="utf-8", errors="replace")
    try:
        lexer = get_lexer_for_filename(name)
    except ClassNotFound:
        lexer = CppLexer()
    size += len(highlight(text, lexer, HtmlFormatter(full=True, linenos="inline")))
print(time.perf_counter() - start, size)
"""


def html_rows(bench: Bench, source: Path, folder: Path, runs: int, progress: Callable[[str], None]) -> list[Row]:
    """The rows of a site of `source`, which becomes the bench's checkout."""
    notes, site = folder / "notes", folder / "written"  # the bench itself may stand in a folder called site
    notes.mkdir()
    (notes / "bench.md").write_text(NOTE.format(times=0), encoding="utf-8")
    bench.ptexplore("fetch", "--from", str(source))
    bench.ptexplore("index")
    arguments = ("html", str(site), "--scope", "all", "--notes", str(notes), "--jobs", "2")
    whole, again = [], []
    for number in range(runs):
        progress(f"site {number + 1} of {runs}")
        shutil.rmtree(site, ignore_errors=True)
        whole.append(bench.ptexplore(*arguments).seconds)
    for number in range(runs):
        progress(f"site with one note changed {number + 1} of {runs}")
        (notes / "bench.md").write_text(NOTE.format(times="more and " * (number + 1)), encoding="utf-8")
        again.append(bench.ptexplore(*arguments).seconds)
    pages = json.loads((site / "ptexplore-site.json").read_text(encoding="utf-8"))["pages"]
    size = sum(row[1] for row in pages.values())
    size += (site / "ptexplore-site.json").stat().st_size
    uses = sum(row[1] for url, row in pages.items() if url.startswith("uses/"))
    text = sum(row[2] for url, row in pages.items() if url.startswith("src/") and len(row) > 2)
    progress("Pygments")
    peer, share = _peer(bench, _files(site, pages, source))
    shards = [row[1] for url, row in pages.items() if url.startswith("search/")]
    return [
        Row("html --scope all", statistics.median(whole), "s", 60,
            f"{len(pages):,} files; Pygments alone, one core: {peer:.0f} s ({share})"),
        Row("html --scope all, size without uses", (size - uses) / max(text, 1), "x source", 2,
            f"{(size - uses) / 1e6:.0f} MB of {text / 1e6:.0f} MB"),
        Row("html --scope all, size of uses", uses / max(text, 1), "x source", 0.5, f"{uses / 1e6:.0f} MB"),
        Row("html, one note changed", statistics.median(again), "s", 5),
        Row("html, largest file of the search", max(shards) / 1000, "kB", 100, f"of {len(shards):,}"),
        *browser_rows(site, runs, progress),
    ]  # fmt: skip


def _files(site: Path, pages: dict[str, list[Any]], source: Path) -> list[Path]:
    """The files of the checkout that are shown; of generated ones there is none in it."""
    found = []
    for url in pages:
        if url.startswith("src/") and url.endswith(".js"):
            path = _PATH.match((site / url).read_text(encoding="utf-8"))
            file = source / json.loads(path[1]) if path is not None else None
            if file is not None and file.is_file():
                found.append(file)
    return found


def _peer(bench: Bench, files: list[Path]) -> tuple[float, str]:
    """Seconds that Pygments takes for these files, from a share of them by size."""
    import subprocess

    chosen = sorted(files)[::SHARE]
    done = subprocess.run(
        [bench.python, "-c", PEER], input="\n".join(map(str, chosen)), capture_output=True, text=True, check=True
    )
    seconds = float(done.stdout.split()[0])
    part = sum(one.stat().st_size for one in chosen) / sum(one.stat().st_size for one in files)
    return seconds / part, f"{len(chosen)} of the {len(files):,} files of the checkout, scaled by size"
