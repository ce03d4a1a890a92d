"""Packs parts of a page or a script: raw deflate in base64, which a browser unpacks by itself."""

from __future__ import annotations

import base64
import re
import zlib

_PARTED = "\f"  # separates lines and list; no text of a page has it, because source_markup.py replaces it
_BASE64 = r"[A-Za-z0-9+/]+={0,2}"
_IN_PAGE = re.compile(rf'<template id="packed">({_BASE64})</template>')
_IN_SCRIPT = re.compile(rf'ptx\.file\("(?:[^"\\]|\\.)*","({_BASE64})"\)\s*')


def pack(text: str) -> str:
    """Pack a text. The same text gives the same result (with the same zlib)."""
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return base64.b64encode(deflate.compress(text.encode("utf-8", "replace")) + deflate.flush()).decode("ascii")


def unpack(packed: str) -> str:
    """Unpack a text."""
    return zlib.decompress(base64.b64decode(packed), -zlib.MAX_WBITS).decode("utf-8")


def lines_and_list(lines: str, entries: str) -> str:
    """Returns the two parts of a source page as one packed text."""
    return pack(f"{lines}{_PARTED}{entries}")


def page_as_read(page: str) -> str:
    """Returns a page as its reader sees it, with the packed part unpacked in its place."""
    return _IN_PAGE.sub(lambda match: unpack(match[1]), page)


def rows_as_read(script: str) -> str:
    """Returns the rows of a file of definitions as text."""
    match = _IN_SCRIPT.fullmatch(script)
    return unpack(match[1]) if match is not None else script
