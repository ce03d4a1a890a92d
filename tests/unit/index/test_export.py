"""Tags: sorted as readers search them, nothing in a name or path breaks a line."""

from __future__ import annotations

from pathlib import Path

from ptexplore.index.export import write_tags
from ptexplore.model.symbols import Dialect, FileRecords, Symbol
from ptexplore.store.index.reader import IndexStore
from ptexplore.store.index.rows import ReadFile, pack
from ptexplore.store.index.writer import IndexWriter


def test_lines_are_sorted_and_whole(tmp_path: Path) -> None:
    odd = "a\tb/x\\y.cpp"
    symbols = (
        Symbol(odd, "operator()", "N::operator()", "function", 3, 4, 3, signature="(char c = '\t')"),
        Symbol(odd, "é", "N::é", "variable", 1, 1, 1),
        Symbol(odd, "Z", "N::Z", "class", 2, 9, 2),
        Symbol(odd, "a", "N::Z::a", "member", 5, 5, 5),
        Symbol(odd, "a", "N::Z::a", "function", 6, 6, 6, role="declaration"),
        Symbol(odd, "", "", "enum", 7, 7, 7),  # which no reader can look for
    )
    made = (Dialect(odd, 8, 8, "stub-define", "blend_stub", macro="DEFINE_DISPATCH"),)
    with IndexWriter(tmp_path / "i.sqlite", anew=True) as writer:
        writer.add([pack(ReadFile(1, "checkout", "0", 1, 0, 9), FileRecords(odd, "cpp", symbols, {}, made), "")])
    count = write_tags(IndexStore.open(tmp_path / "i.sqlite"), tmp_path, tmp_path / "tags")
    lines = (tmp_path / "tags").read_bytes().split(b"\n")
    assert lines.pop() == b""
    assert lines == sorted(lines)
    tags = [line.decode().split("\t") for line in lines if not line.startswith(b"!_TAG_")]
    assert len(tags) == count == 6
    assert {tag[1] for tag in tags} == {"a\\tb/x\\\\y.cpp"}
    assert all(tag[2].endswith(';"') and tag[2][:-2].isdigit() for tag in tags)
    found = {(tag[0], tag[2]): tag[3:] for tag in tags}
    assert "class:N::Z" in found["a", '5;"']
    assert "kind:prototype" in found["a", '6;"']
    assert not any(field.startswith("end:") for field in found["a", '6;"'])
    assert "signature:(char c = '\\t')" in found["operator()", '3;"']
    assert "macro:DEFINE_DISPATCH" in found["blend_stub", '8;"']
