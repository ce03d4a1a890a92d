"""Checks that every link of a written site leads to a file, and to an anchor or line in it."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from urllib.parse import unquote

from ptexplore.render.html.packed import page_as_read, rows_as_read

# Attributes are read one after another: a title may contain text that looks like a tag or an attribute.
_VALUE = r"""(?:"([^"]*)"|'([^']*)'|([^\s>]*))"""
_ATTRIBUTE = re.compile(rf"""\s+([^\s=>"'/]+)(?:\s*=\s*{_VALUE})?""")
_TAG = re.compile(r"""<(?:a|link|img|script)((?:\s+[^\s=>"'/]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]*))?)*)\s*/?>""")
_ID = re.compile(r"""<[^>]*?\sid=(?:"([^"]*)"|([^\s>]+))""")
_LINES = re.compile(r'<div class="code"[^>]*data-lines="(\d+)"')
_SYMBOL = re.compile(r'^(?:ptx\.file\(.*?,)?\[?\[\d+,"([^"]+)"', re.MULTILINE)
_OUTSIDE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_LINE = re.compile(r"[Lu](\d+)(?:-L(\d+))?")


def broken(root: Path) -> tuple[int, list[str]]:
    """Count the links inside a site. Returns the count and a description of each link that leads to nothing."""
    pages = {file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file()}
    wanted: dict[str, dict[str, str]] = {}  # page -> anchor -> a page that links to it
    trouble: list[str] = []
    count = 0
    for page in sorted(page for page in pages if page.endswith(".html")):
        for link in _links(page_as_read(_read(root / page))):
            count += 1
            file, _, anchor = link.replace("&amp;", "&").partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(file))) if file else page
            if target not in pages:
                trouble.append(f"{page}: {link}: this file does not exist")
            elif anchor:
                wanted.setdefault(target, {}).setdefault(anchor, page)
    for page, anchors in sorted(wanted.items()):
        text = page_as_read(_read(root / page))
        ids = {quoted or plain for quoted, plain in _ID.findall(text)}
        lines = _LINES.search(text)
        last = int(lines[1]) if lines else 0
        for anchor, origin in sorted(anchors.items()):
            if anchor not in ids and not _is_line(anchor, last) and not _is_symbol(root / page, anchor):
                trouble.append(f"{origin}: {page}#{anchor}: this anchor does not exist")
    return count, trouble


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def _links(text: str) -> set[str]:
    """Returns the links of a page that stay on the site, as they are written."""
    links = {
        next(filter(None, values), "")
        for tag in _TAG.findall(text)
        for name, *values in _ATTRIBUTE.findall(tag)
        if name in ("href", "src")
    }
    return {link for link in links if not _OUTSIDE.match(link)}


def _is_line(anchor: str, last: int) -> bool:
    match = _LINE.fullmatch(anchor)
    return match is not None and 1 <= int(match[1]) <= int(match[2] or match[1]) <= last


def _is_symbol(page: Path, anchor: str) -> bool:
    """Whether the page's file defines #s=NAME; NAME may be the end of a qualified name."""
    name = unquote(anchor.removeprefix("s="))
    data = page.with_suffix(".js")
    if not anchor.startswith("s=") or not data.is_file():
        return False
    symbols = _SYMBOL.findall(rows_as_read(_read(data)))
    return any(symbol == name or symbol.endswith((f"::{name}", f".{name}")) for symbol in symbols)
