"""What stands packed: the same text again, and links into it and out of it are followed by --check."""

from __future__ import annotations

import re
from pathlib import Path

from ptexplore.render.html.check import broken
from ptexplore.render.html.packed import lines_and_list, pack, page_as_read, rows_as_read, unpack

TEXT = "<li id=L2>a \u96ea &lt;b>\n" * 400


def test_what_is_packed_is_small_the_same_each_time_and_comes_back() -> None:
    assert unpack(pack(TEXT)) == TEXT
    assert pack(TEXT) == pack(TEXT)
    assert len(pack(TEXT)) < len(TEXT) / 10
    assert re.fullmatch(r"[A-Za-z0-9+/]+={0,2}", pack(TEXT)), "nothing in it is markup"
    assert rows_as_read(f'ptx.file("a\\"b","{pack(TEXT)}")\n') == TEXT
    assert page_as_read("<p>as it is") == "<p>as it is"


def test_check_looks_into_what_is_packed(tmp_path: Path) -> None:
    lines = "<ol class=c><li id=L1><a href=#r1>x</a>\n<li><a href=gone.html>y</a>\n</ol>"
    packed = lines_and_list(lines, "<li id=r1><a href=b.html#s=at::two>b</a> <a href=b.html#s=at::three>b</a>\n")
    code = f'<div class="code" id="code" data-lines="2" data-packed><template id="packed">{packed}</template></div>'
    (tmp_path / "a.html").write_text(f"{code}<a href=#r1>1</a> <a href=#r2>2</a> <a href=#L2>3</a> <a href=#L3>4</a>")
    (tmp_path / "b.html").write_text("<p>b")
    rows = pack('[[1,"at::one","f","",""],\n[2,"at::two","f","",""]]')
    (tmp_path / "b.js").write_text(f'ptx.file("b","{rows}")\n')
    count, found = broken(tmp_path)
    assert count == 7
    assert sorted(re.findall(r"gone\.html|#\S+(?=:)", " ".join(found))) == ["#L3", "#r2", "#s=at::three", "gone.html"]
