"""Pictures beside tours: whatever is in the file, only what draws is written again."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from ptexplore.render.html.prose import safe_picture
from ptexplore.render.html.svg import ELEMENTS, MARK, redrawn
from tests.harness import REPOSITORY

HEAD = 'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"'
XLINK = 'xmlns:xlink="http://www.w3.org/1999/xlink"'
DRAWN = '<rect width="5" height="5"/>'

# Each holds a rectangle that draws, and something that does more.
ACTIVE = {
    "script": "<script>evil()</script>",
    "prefixed script": '<b.c:script xmlns:b.c="http://www.w3.org/2000/svg">evil()</b.c:script>',
    "script by another letter": '<é:script xmlns:é="http://www.w3.org/2000/svg">evil()</é:script>',
    "default namespace again": '<g xmlns=""><g xmlns="http://www.w3.org/2000/svg"><script>evil()</script></g></g>',
    "html inside": '<script xmlns="http://www.w3.org/1999/xhtml">evil()</script>',
    "foreignObject": '<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><img src="x"/></body></foreignObject>',
    "on attribute": f'<g onload="evil()">{DRAWN}</g>',
    "on attribute by entity": '<rect width="1" on&#108;oad="evil()"/>',
    "handler": '<handler type="text/javascript">evil()</handler>',
    "link": f'<a href="javascript:evil()">{DRAWN}</a>',
    "xlink": f'<a {XLINK} xlink:href="javascript:evil()">{DRAWN}</a>',
    "xlink by another prefix": '<a xmlns:y="http://www.w3.org/1999/xlink" y:href="javascript:evil()"/>',
    "use": f'<use {XLINK} xlink:href="data:image/svg+xml;base64,AAAA#x"/>',
    "image": '<image href="https://evil.example/x.png"/>',
    "feImage": '<filter id="f"><feImage href="https://evil.example/x.png"/></filter>',
    "animate": '<rect><animate attributeName="href" to="javascript:evil()"/></rect>',
    "set": '<a id="x"><set attributeName="href" to="javascript:evil()"/></a>',
    "style": "<style>@import url(https://evil.example/x.css);</style>",
    "style with escapes": r"<style>rect { background: \75 rl(https://evil.example/x) }</style>",
    "cdata": "<style><![CDATA[@import 'https://evil.example']]></style>",
    "style attribute": '<rect style="fill:url(https://evil.example/x)"/>',
    "fill from elsewhere": '<rect fill="url(https://evil.example/x.svg#a)"/>',
    "fill by escape": r'<rect fill="\75rl(https://evil.example/x)"/>',
    "fill by comment": '<rect fill="u/**/rl(https://evil.example/x)"/>',
    "cursor": '<rect cursor="url(https://evil.example/x)" width="1"/>',
    "filter": '<rect filter="url(https://evil.example/x)" width="1"/>',
    "mask": '<rect mask="url(//evil.example/x)" clip-path="url(//evil.example/x#a)" width="1"/>',
    "image-set": "<rect fill=\"image-set('https://evil.example/x' 1x)\"/>",
    "paint function": '<rect fill="paint(evil)"/>',
    "an iframe": '<iframe xmlns="http://www.w3.org/1999/xhtml" src="https://evil.example"/>',
    "base": '<g xml:base="https://evil.example/"><rect/></g>',
    "metadata": '<metadata><script>evil()</script></metadata>',
    "switch": "<switch><script>evil()</script></switch>",
    "instruction": '<?xml-stylesheet href="https://evil.example/x.css"?>',
}  # fmt: skip


def picture(inside: str) -> str:
    return f"<svg {HEAD}>{inside}{DRAWN}</svg>"


def assert_only_draws(made: bytes) -> None:
    """Read by a parser that is not ours: elements, attributes and values."""
    assert made.startswith(MARK)
    for element in ElementTree.fromstring(made).iter():
        assert element.tag.removeprefix("{http://www.w3.org/2000/svg}") in ELEMENTS
        for name, value in element.attrib.items():
            assert not name.startswith(("on", "{")), name
            assert name not in ("href", "style", "src"), name
            assert not re.search(r"script|url\((?!#)|evil|\\|@|//|/\*", value), (name, value)
    text = made.decode("utf-8")
    for word in ("evil()", "evil.example", "javascript", "<script", "foreignObject", "<style", "<?", "<!"):
        assert word not in text, word


@pytest.mark.parametrize("name", ACTIVE)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "latin-1"])
def test_only_what_draws_is_written_again(name: str, encoding: str) -> None:
    declared = encoding.removesuffix("-le")
    text = f'<?xml version="1.0" encoding="{declared}"?>{picture(ACTIVE[name])}'
    data = (b"\xff\xfe" if encoding == "utf-16-le" else b"") + text.encode(encoding, "xmlcharrefreplace")
    made = redrawn(data)
    if made is None:  # what no parser reads is not shown either
        assert "&#" in ACTIVE[name] or "é" in ACTIVE[name] or "<?" in ACTIVE[name]
        return
    assert_only_draws(made)
    assert b'width="5"' in made


@pytest.mark.parametrize(
    "data",
    [
        b'<!DOCTYPE svg SYSTEM "https://evil.example/x.dtd"><svg xmlns="http://www.w3.org/2000/svg"/>',
        b'<!DOCTYPE svg [<!ENTITY a "<script/>">]><svg xmlns="http://www.w3.org/2000/svg">&a;</svg>',
        b'<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg xmlns="http://www.w3.org/2000/svg">&x;</svg>',
        b'<!DOCTYPE svg [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><svg xmlns="http://www.w3.org/2000/svg">&b;</svg>',
        b'<!DOCTYPE svg [<!ATTLIST svg onload CDATA "evil()">]><svg xmlns="http://www.w3.org/2000/svg"/>',
        b"<html xmlns='http://www.w3.org/1999/xhtml'><svg xmlns='http://www.w3.org/2000/svg'/></html>",
        b"<svg><rect/></svg>",
        b'<?xml version="1.0" encoding="utf-7"?>+ADw-svg+AD4-+ADw-/svg+AD4-',
        b'<?xml version="1.0" encoding="no-such"?><svg xmlns="http://www.w3.org/2000/svg"/>',
        b"<svg xmlns='http://www.w3.org/2000/svg'>",
        b"<svg xmlns='http://www.w3.org/2000/svg'>\xff\xfe</svg>",
        b"",
        b"\0" * 100,
        b"<svg xmlns='http://www.w3.org/2000/svg'>" + b"<g>" * 5_000 + b"</g>" * 5_000 + b"</svg>",
        b"<svg xmlns='http://www.w3.org/2000/svg'>" + b"<g/>" * 30_000 + b"</svg>",
    ],
)
def test_what_has_entities_or_is_no_picture_is_not_shown(data: bytes) -> None:
    assert redrawn(data) is None


def test_texts_stay_texts() -> None:
    hostile = "&lt;/text&gt;&lt;script&gt;evil&#40;&#41;&lt;/script&gt; &#x202e;&#x200b;a &amp;amp; b <![CDATA[<b>]]>"
    made = redrawn(picture(f'<text aria-label="&quot;&gt;&lt;x&#x202e;">{hostile}</text>').encode())
    assert made is not None
    assert b"<script" not in made
    root = ElementTree.fromstring(made)
    (text,) = root.iter("{http://www.w3.org/2000/svg}text")
    assert text.text == "</text><script>evil()</script> \ufffd\ufffda &amp; b <b>"
    assert text.attrib["aria-label"] == '"><x\ufffd'


def test_a_picture_that_only_draws_looks_as_it_did() -> None:
    """The same elements with the same attributes and texts, as another parser reads them."""
    folder = REPOSITORY / "tests/data/pictures"
    made = safe_picture(str(folder), "storage-views.svg")
    assert made is not None

    def read(data: bytes) -> list[tuple[str, dict[str, str], str]]:
        return [(e.tag, e.attrib, (e.text or "").strip()) for e in ElementTree.fromstring(data).iter()]

    before, after = read((folder / "storage-views.svg").read_bytes()), read(made)
    after[0][1].pop("data-by")
    assert before == after
    kept = '<linearGradient id="g"><stop offset="5%" stop-color="rgb(1, 2, 3)"/></linearGradient>'
    kept += '<path fill="url(#g)" marker-end="url(#m)" transform="translate(1, -2.5) rotate(4)" d="M0 0 L1e3,-.5"/>'
    again = redrawn(picture(kept).encode())
    assert again is not None
    for part in re.findall(r'[a-z-]+="[^"]+"', kept):
        assert part in again.decode()


def test_a_link_to_a_picture_elsewhere_is_none(tmp_path: Path) -> None:
    (tmp_path / "out.svg").write_text(picture(""))
    (tmp_path / "tours").mkdir()
    (tmp_path / "tours/link.svg").symlink_to("../out.svg")
    for url in ("link.svg", "../out.svg", "%2e%2e/out.svg", "link.svg?x", "link.svg#x", "/etc/passwd", "link\0.svg"):
        assert safe_picture(str(tmp_path / "tours"), url) is None
