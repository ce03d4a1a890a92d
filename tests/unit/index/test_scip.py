"""An index in SCIP: read back field by field with the numbers of scip.proto, not with the code that wrote it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptexplore.errors import PtexploreError
from ptexplore.index.scip import write_scip
from ptexplore.model.symbols import Dialect, FileRecords, Ref, Symbol, ref_lines
from ptexplore.source.tree import checkout_tree
from ptexplore.store.index.reader import IndexStore
from ptexplore.store.index.rows import ReadFile, pack
from ptexplore.store.index.writer import IndexWriter
from tests import small_source

pytest.importorskip("google.protobuf")

Fields = dict[int, list[int | bytes]]
PATH, YAML = "aten/src/ATen/native/Mix.cpp", "aten/src/ATen/native/native_functions.yaml"
TEXT = """namespace at::native {
struct Mix { Mix(const Mix& other); int é; };
int blend(int a);
int blend(float a);
static int blend(char a) { return log("ü😀") + lone(a); }
int lone(int a) { return lone(a) + lone(1); }
}
"""
SYMBOLS = (
    Symbol(PATH, "native", "at::native", "namespace", 1, 7, 1),
    Symbol(PATH, "Mix", "at::native::Mix", "struct", 2, 2, 2),
    Symbol(PATH, "Mix", "at::native::Mix::Mix", "function", 2, 2, 2, "declaration", parameters=("const Mix &",)),
    Symbol(PATH, "é", "at::native::Mix::é", "member", 2, 2, 2),
    Symbol(PATH, "blend", "at::native::blend", "function", 3, 3, 3, "declaration", parameters=("int",)),
    Symbol(PATH, "blend", "at::native::blend", "function", 4, 4, 4, "declaration", parameters=("float",)),
    Symbol(PATH, "blend", "at::native::blend", "function", 5, 5, 5, parameters=("char",), static=True),
    Symbol(PATH, "lone", "at::native::lone", "function", 6, 6, 6, parameters=("int",)),
)
REFS = (
    Ref(PATH, 5, "lone", "lone", "call", "at::native::lone", "libclang"),
    Ref(PATH, 6, "lone", "lone", "call", "at::native::lone", "libclang"),
    Ref(PATH, 5, "log", "log", "call"),
    Ref(PATH, 5, "blend", "blend", "call", "at::native::blend", "libclang"),  # which of two is not known
)
SYMBOL = re.compile(
    r"local [\w+$-]+|ptexplore \. pytorch 2\.99\.0 ((?:[\w+$-]+|`(?:[^`]|``)+`)(?:[/#.!]|\([\w+$-]*\)\.))+", re.ASCII
)


def read(data: bytes) -> Fields:
    """The fields of a message by number: integers, or bytes of what has a length."""
    fields = defaultdict[int, list[int | bytes]](list)
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        field, kind = divmod(number(), 8)
        assert kind in (0, 2)
        value = number()
        if kind == 2:
            fields[field].append(data[at : at + value])
            at += value
        else:
            fields[field].append(value)
    return fields


def inner(fields: Fields, number: int) -> Iterator[Fields]:
    for value in fields[number]:
        assert isinstance(value, bytes)
        yield read(value)


def text(fields: Fields, number: int) -> str:
    (value,) = fields[number]
    assert isinstance(value, bytes)
    return value.decode()


def packed(fields: Fields, number: int) -> list[int]:
    return list(read_varints(fields[number][0])) if fields[number] else []


def read_varints(data: int | bytes) -> Iterator[int]:
    assert isinstance(data, bytes)
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, IndexStore, Path]:
    root = small_source.write(tmp_path / "tree", {PATH: TEXT, YAML: "- func: mix.out(Tensor a) -> Tensor\n"})
    row = Dialect(YAML, 1, 1, "yaml-function", "aten::mix.out", text="mix.out(Tensor a) -> Tensor")
    with IndexWriter(tmp_path / "i.sqlite", anew=True) as writer:
        records = FileRecords(PATH, "cpp", SYMBOLS, ref_lines(REFS), ())
        writer.add([pack(ReadFile(1, "checkout", "0", 1, 0, 7), records, "")])
        yaml = FileRecords(YAML, "yaml", (), {}, (row,))
        writer.add([pack(ReadFile(2, "checkout", "0", 1, 0, 1), yaml, "")])
    return root, IndexStore.open(tmp_path / "i.sqlite"), tmp_path / "index.scip"


def test_read_back(written: tuple[Path, IndexStore, Path]) -> None:
    root, store, target = written
    tree = checkout_tree(small_source.indexed(root).checkout or pytest.fail("no checkout"))
    write_scip(store, tree, root, target)
    index = read(target.read_bytes())
    (metadata,) = inner(index, 1)
    assert text(metadata, 3) == root.as_uri()
    assert metadata[4] == [1], "UTF-8"
    documents = {text(document, 1): document for document in inner(index, 2)}
    assert set(documents) == {PATH, YAML}
    lines = TEXT.split("\n")
    shown = []
    for occurrence in inner(documents[PATH], 2):
        line, begin, end = packed(occurrence, 1)
        symbol = text(occurrence, 2)
        assert SYMBOL.fullmatch(symbol), symbol
        (roles,) = occurrence[3] or [0]
        name = lines[line].encode()[begin:end].decode()
        shown.append((line + 1, name, symbol.removeprefix("ptexplore . pytorch 2.99.0 at/native/"), roles))
    assert (2, "Mix", "Mix#", 1) in shown
    assert (2, "é", "Mix#`é`.", 1) in shown
    assert (2, "Mix", "Mix#Mix().", 0x40) in shown
    assert (6, "lone", "lone().", 1) in shown
    assert (5, "lone", "lone().", 0) in shown
    assert (6, lines[5], "lone().", 0) in shown, "which of two on the line is meant is not known"
    blends = [symbol for _line, name, symbol, _roles in shown if name == "blend"]
    assert len(set(blends)) == 3, "two overloads, and one that only this file sees"
    assert sum(symbol.startswith("local ") for symbol in blends) == 1
    assert not any(symbol.startswith("blend") and not roles for _line, _name, symbol, roles in shown)
    infos = {text(info, 1): info[5] for info in inner(documents[PATH], 3)}
    assert infos["ptexplore . pytorch 2.99.0 at/native/Mix#"] == [49]
    assert infos["ptexplore . pytorch 2.99.0 at/native/Mix#Mix()."] == [26]
    (operator,) = inner(documents[YAML], 2)
    assert text(operator, 2) == "ptexplore . pytorch 2.99.0 aten/`mix.out`."
    assert packed(operator, 1) == [0, 8, 15]


def test_only_its_own_file_is_replaced(written: tuple[Path, IndexStore, Path]) -> None:
    root, store, target = written
    tree = checkout_tree(small_source.indexed(root).checkout or pytest.fail("no checkout"))
    target.write_text("mine")
    with pytest.raises(PtexploreError, match="not overwritten"):
        write_scip(store, tree, root, target, force=True)
    assert target.read_text() == "mine"
    target.unlink()
    write_scip(store, tree, root, target)
    with pytest.raises(PtexploreError, match="not overwritten"):
        write_scip(store, tree, root, target)
    before = target.read_bytes()
    write_scip(store, tree, root, target, force=True)
    assert target.read_bytes() == before
