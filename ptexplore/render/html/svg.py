"""Redraws pictures beside tours: they are parsed and written again, with only those parts that draw.

An SVG may be a program, and no pattern finds all of these: names have prefixes, letters have entities, files have
encodings. So the file itself is not kept. The file is parsed (DTDs and entities are refused). The elements, attributes
and values of the lists below are written again, as UTF-8. The result has no styles, links, scripts, animations or
embedded pictures.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from ptexplore.safe_text import clean_document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

MARK = b'<svg data-by="ptexplore" '  # each redrawn picture begins like this
_NAMESPACE = "{http://www.w3.org/2000/svg}"
_DEEPEST = 60  # levels of nested elements
_MOST = 20_000  # elements

# Elements that only draw. Not `use` (it loads), `a`, `image`, `foreignObject`, `script`, `style`, `animate` or `set`.
_DRAWN = """
svg g title desc defs path rect circle ellipse line polyline polygon text tspan linearGradient radialGradient stop
clipPath marker
"""
ELEMENTS = frozenset(_DRAWN.split())
# Texts that are read aloud: any characters, escaped.
_WORDS = frozenset({"aria-label"})
_NAMES = frozenset({"id", "aria-labelledby", "aria-describedby", "role"})
# Numbers, lengths, colours, words of CSS, and functions that compute these.
_LOOKS = """
x y x1 y1 x2 y2 cx cy r rx ry fx fy d points dx dy width height viewBox preserveAspectRatio transform
fill fill-opacity fill-rule stroke stroke-width stroke-opacity stroke-linecap stroke-linejoin stroke-miterlimit
stroke-dasharray stroke-dashoffset opacity color font-family font-size font-weight font-style text-anchor
dominant-baseline letter-spacing word-spacing text-decoration textLength lengthAdjust rotate
offset stop-color stop-opacity gradientUnits gradientTransform spreadMethod clipPathUnits clip-rule
markerWidth markerHeight refX refY orient markerUnits shape-rendering text-rendering visibility display
"""
_DRAWING = frozenset(_LOOKS.split())
# These may refer to a thing in the picture itself: url(#name).
_LOCAL = frozenset({"fill", "stroke", "clip-path", "marker-start", "marker-mid", "marker-end"})

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_ -]{0,199}")
_FUNCTION = re.compile(r"\b(?:translate|scale|rotate|skewX|skewY|matrix|rgba?|hsla?)\([0-9eE\s.,%+-]*\)")
_VALUE = re.compile(r"[A-Za-z0-9\s.,#%+'\"-]*")
_REFERENCE = re.compile(r"url\(#[A-Za-z][A-Za-z0-9_-]{0,99}\)")


def redrawn(data: bytes) -> bytes | None:
    """Redraw a picture. Returns None if it is no SVG, has a DTD, or is too deep or too large."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    try:
        root = fromstring(data, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, LookupError, RecursionError):
        return None
    if root.tag != f"{_NAMESPACE}svg":
        return None
    try:
        text = "".join(_written(root))
    except _TooMuchError:
        return None
    body = clean_document(text.removeprefix("<svg"))
    return MARK + b'xmlns="http://www.w3.org/2000/svg"' + str(body).encode("utf-8", "replace") + b"\n"


class _TooMuchError(Exception):
    """The picture nests too deeply, or has too many elements."""


def _written(root: Element) -> Iterator[str]:
    """Yields the text of an element, with the parts inside it that are on the lists."""
    count = 0
    pending: list[Element | str] = [root]
    depth = 0
    while pending:
        piece = pending.pop()
        if isinstance(piece, str):
            depth -= piece.startswith("</")
            yield piece
            continue
        name = str(piece.tag).removeprefix(_NAMESPACE)
        if name not in ELEMENTS or not str(piece.tag).startswith(_NAMESPACE):
            continue
        count, depth = count + 1, depth + 1
        if count > _MOST or depth > _DEEPEST:
            raise _TooMuchError
        given = "".join(
            f" {key}={quoteattr(value)}" for key, value in sorted(piece.attrib.items()) if _is_safe(key, value)
        )
        yield f"<{name}{given}>"
        inside: list[Element | str] = [escape(piece.text or "")]
        for child in piece:
            inside += [child, escape(child.tail or "")]
        pending += [f"</{name}>", *reversed(inside)]


def _is_safe(key: str, value: str) -> bool:
    if key in _WORDS:
        return True
    if key in _NAMES:
        return _NAME.fullmatch(value) is not None
    if key in _LOCAL and _REFERENCE.fullmatch(value.strip()):
        return True
    return key in _DRAWING and _VALUE.fullmatch(_FUNCTION.sub("", value)) is not None
