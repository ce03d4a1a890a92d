"""The atlas: what goes in comes out, one look-up reads little, and the shipped one agrees with the tree it is of."""

from __future__ import annotations

import importlib
import random
import re
from pathlib import Path
from types import ModuleType

import pytest

from ptexplore.errors import MISSING, PtexploreError
from ptexplore.model.symbols import Dialect, Symbol
from ptexplore.source.atlas import DIALECT, FORMAT, MAGIC, SHIPPED, Atlas, last_part, write
from ptexplore.source.permalink import permalink
from tests.harness import REPOSITORY

CPU = "native/cpu/Ops.cpp"
FILES = {"native/Ops.cpp": 90, CPU: 120, "native/Empty.cpp": 0, "c10/Stream.h": 50}
SCOPE = "at::native::CPU_CAPABILITY::(anonymous namespace)"
KERNEL = Symbol(
    CPU, "add_kernel", "at::native::add_kernel", "function", 40, 44, 39, scope=SCOPE, signature="(TensorIterator& it)",
    parameters=("TensorIterator &",), guards=("defined(CPU_CAPABILITY_AVX2)", "!(A || B)"), static=True,
)  # fmt: skip
SYMBOLS = [
    KERNEL,
    KERNEL._replace(line=60, end_line=66, begin=60, guards=(), parameters=("TensorIterator &", "const Scalar &")),
    Symbol("native/Ops.cpp", "impl", "at::native::structured_add::impl", "function", 12, 20, 12,
           scope="at::native::structured_add", macro="TORCH_IMPL_FUNC", extractor="macro"),
    Symbol("c10/Stream.h", "operator<<", "c10::operator<<", "function", 8, 8, 7, scope="c10", parameters=(),
           template=True),
    Symbol("c10/Stream.h", "Stream", "c10::Stream", "class", 20, 40, 20, scope="c10"),
    Symbol("c10/Stream.h", "c10", "c10", "namespace", 2, 44, 2),
    Symbol("c10/Stream.h", "main", "main", "function", 45, 46, 45, parameters=("int", "char **")),
]  # fmt: skip
DECLARED = KERNEL._replace(line=3, end_line=3, begin=3, role="declaration")
ROWS = [
    Dialect("native/Ops.cpp", 30, 40, "library", "aten", context="CPU", macro="TORCH_LIBRARY_IMPL"),
    Dialect("native/Ops.cpp", 31, 31, "impl", "aten::add", "CPU", "at::native::add", 30, "m.impl", 'm.impl("add", f)'),
    Dialect("native/Ops.cpp", 33, 34, "impl", "aten::mul", "CPU", None, 30, "m.impl", guards=("defined(X)",)),
    Dialect("native/Ops.cpp", 5, 5, "stub-declare", "add_stub", "void (*)(TensorIterator &)", macro="DECLARE_DISPATCH"),
    Dialect("native/Ops.cpp", 9, 9, "stub-define", "add_stub", macro="DEFINE_DISPATCH"),
    Dialect(CPU, 100, 100, "stub-register", "add_stub", None, "at::native::add_kernel", macro="REGISTER_DISPATCH"),
    Dialect("native/Ops.cpp", 50, 50, "yaml-function", "aten::add"),
]


@pytest.fixture
def lib(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "scripts"))
    return importlib.import_module("lib.atlas_check")


def packed() -> bytes:
    return write("1.2.3", "c0ffee", FILES, [*SYMBOLS, DECLARED], ROWS)


@pytest.fixture
def atlas(tmp_path: Path) -> Atlas:
    file = tmp_path / "atlas.bin"
    file.write_bytes(packed())
    return Atlas.open(file)


def kept(row: Dialect) -> Dialect:
    return row._replace(text="", context=None if row.kind == "stub-declare" else row.context)


def everything(atlas: Atlas) -> tuple[list[Symbol], list[Dialect]]:
    """All rows, file by file."""
    return [s for path in atlas._files for s in atlas.outline(path)], [
        d for path in atlas._files for d in atlas.dialect_in(path)
    ]


def test_every_record_comes_back(atlas: Atlas) -> None:
    symbols, dialect = everything(atlas)
    assert set(symbols) == {row._replace(signature="") for row in SYMBOLS}
    assert set(dialect) == {kept(row) for row in ROWS if row.kind in DIALECT}
    assert (atlas.release, atlas.commit, atlas.counts["symbols"]) == ("1.2.3", "c0ffee", len(SYMBOLS))


def test_lookups_by_name(atlas: Atlas) -> None:
    assert [row.line for row in atlas.definitions("at::native::add_kernel")] == [40, 60]
    assert atlas.definitions("add_kernel") == []
    assert [row.line for row in atlas.symbols_ending("native::add_kernel")] == [40, 60]
    assert atlas.symbols_ending("ative::add_kernel") == []
    assert [row.qualified for row in atlas.symbols_named("operator<<")] == ["c10::operator<<"]
    assert [row.qualified for row in atlas.definitions("main")] == ["main"]
    assert atlas.definitions("c10") == []
    assert [row.kind for row in atlas.outline("c10/Stream.h")] == ["namespace", "function", "class", "function"]
    assert [row.line for row in atlas.outline(CPU)] == [40, 60]
    assert atlas.outline("native/None.cpp") == []
    assert atlas.names("", 99) == sorted({row.name for row in SYMBOLS} - {"c10"})
    assert atlas.names("a", 99) == ["add_kernel"]
    assert atlas.symbols_named("") == []
    assert atlas.symbols_named("\uffff") == []


def test_lookups_of_the_dialect(atlas: Atlas) -> None:
    assert {row.kind for row in atlas.dialect("add_stub")} == {"stub-declare", "stub-define", "stub-register"}
    assert [row.path for row in atlas.dialect("add_stub", ["stub-register"])] == [CPU]
    assert [row.name for row in atlas.dialect_targeting("add_kernel")] == ["add_stub"]
    assert [row.line for row in atlas.dialect_in("native/Ops.cpp", 30)] == [30, 31, 33]
    assert [row.line for row in atlas.dialect_in("native/Ops.cpp", 31)] == [31]
    assert atlas.dialect_in("native/None.cpp") == []
    assert atlas.lines("native/Empty.cpp") == 0
    assert atlas.lines("native/None.cpp") is None


def test_permalinks(atlas: Atlas) -> None:
    assert permalink(atlas.commit, CPU, 40).endswith("/pytorch/pytorch/blob/c0ffee/native/cpu/Ops.cpp#L40")
    assert permalink(atlas.commit, "a b#c.h").endswith("/a%20b%23c.h")


def test_the_same_rows_in_any_order_give_the_same_bytes() -> None:
    shuffled = [*SYMBOLS, DECLARED, KERNEL]
    for seed in range(5):
        random.Random(seed).shuffle(shuffled)
        rows = random.Random(seed).sample(ROWS, len(ROWS))
        assert write("1.2.3", "c0ffee", dict(reversed(FILES.items())), shuffled, rows) == packed()


def test_many_blocks(tmp_path: Path) -> None:
    rows = [KERNEL._replace(name=f"f{n}", qualified=f"at::f{n}", line=n, end_line=n, begin=n) for n in range(1, 6000)]
    file = tmp_path / "atlas.bin"
    file.write_bytes(write("1", "c", {CPU: 6000}, rows, []))
    atlas = Atlas.open(file)
    for number in (1, 2, 999, 1000, 5998, 5999):
        assert [row.line for row in atlas.definitions(f"at::f{number}")] == [number]
    assert atlas.definitions("at::f6000") == []
    assert len(atlas.names("f59", 9999)) == len([n for n in range(1, 6000) if str(n).startswith("59")])
    assert len(atlas.names("f", 7)) == 7


@pytest.mark.parametrize(
    ("qualified", "last"),
    [
        ("add", "add"), ("at::native::add", "add"), ("c10::operator<<", "operator<<"), ("at::operator()", "operator()"),
        ("at::Vec<std::pair<a::b, c>>::size", "size"), ("at::Scalar::operator const char *", "operator const char *"),
        ("at::my_operator", "my_operator"), ("a::operators::f", "f"), ("at::Tensor::~Tensor", "~Tensor"),
        ("at::Vec<a::b>", "Vec<a::b>"), ("a::operator std::string", "operator std::string"), ("", ""),
    ],
)  # fmt: skip
def test_the_last_part_of_a_name(qualified: str, last: str) -> None:
    assert last_part(qualified) == last


def test_a_name_that_does_not_end_its_qualified_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"native/cpu/Ops.cpp:40"):
        write("1", "c", FILES, [KERNEL._replace(name="kernel")], [])


def read_all(atlas: Atlas) -> None:
    everything(atlas)
    for row in ROWS:
        atlas.dialect(row.name)
        atlas.dialect_targeting(last_part(row.target or ""))


@pytest.mark.parametrize("damage", ["none", "empty", "magic", "format", "head", "cut", "block"])
def test_a_missing_or_damaged_file_is_an_error_that_says_so(tmp_path: Path, damage: str) -> None:
    data = packed()
    bad = {
        "empty": b"",
        "magic": b"X" + data[1:],
        "format": MAGIC + bytes([FORMAT + 1]) + data[len(MAGIC) + 1 :],
        "head": data[:30] + b"\0\0\0\0" + data[34:],
        "cut": data[:-200],
        "block": data[:-40] + bytes(byte ^ 255 for byte in data[-40:]),
    }
    file = tmp_path / "atlas.bin"
    if damage != "none":
        file.write_bytes(bad[damage])
    with pytest.raises(PtexploreError) as caught:
        read_all(Atlas.open(file))
    assert caught.value.exit_code == MISSING
    assert "pip install" in caught.value.hint


# --- the shipped one ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shipped() -> Atlas:
    return Atlas.open()


def test_the_shipped_atlas_is_small_and_of_the_pinned_release(shipped: Atlas) -> None:
    assert SHIPPED.stat().st_size < 4_000_000
    assert (shipped.release, shipped.commit) == ("2.6.0", "2236df1770800ffea5697b11b0bb0d910b2e59e1")
    counts = shipped.counts
    assert counts["structured-impl"] > 500
    assert counts["files"] > 4000
    assert counts["symbols"] > 50_000
    assert min(counts["stub-register"], counts["impl"], counts["method"], counts["pybind"]) > 400


@pytest.mark.slow
def test_every_row_of_the_shipped_atlas_stands_at_its_line(shipped: Atlas, source_tree: Path, lib: ModuleType) -> None:
    symbols, dialect = everything(shipped)
    wrong = [why for _, why in lib.disagreements([*symbols, *dialect], source_tree)]
    assert not wrong, f"{len(wrong)} of {len(symbols) + len(dialect)}: {wrong[:20]}"
    for path in {row.path for row in symbols}:
        assert shipped.lines(path) == lib.line_count(source_tree / path), path


@pytest.mark.slow
def test_the_shipped_atlas_knows_every_kernel_and_stub_that_plainly_stands_there(
    shipped: Atlas, source_tree: Path
) -> None:
    """By a way of our own: the macros at the beginnings of lines, save in other macros' bodies."""
    plain = re.compile(r"(?<!\\\n)^(TORCH_IMPL_FUNC|DEFINE_DISPATCH) ?\((\w+)\)", re.MULTILINE)
    kinds = {"TORCH_IMPL_FUNC": "structured-impl", "DEFINE_DISPATCH": "stub-define"}
    missing, seen = [], 0
    for file in sorted((source_tree / "aten").rglob("*.c*")):
        path = str(file.relative_to(source_tree))
        text = file.read_text(encoding="utf-8", errors="replace")
        for match in plain.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            seen += 1
            if not [r for r in shipped.dialect(match[2], [kinds[match[1]]]) if (r.path, r.line) == (path, line)]:
                missing.append(f"{path}:{line}: {match[0]}")
            name = f"at::native::structured_{match[2]}::impl"
            if match[1] == "TORCH_IMPL_FUNC" and not [d for d in shipped.definitions(name) if d.path == path]:
                missing.append(f"{path}:{line}: {name}")
    assert seen > 600
    assert not missing


def test_a_row_at_a_wrong_line_is_found(tmp_path: Path, lib: ModuleType) -> None:
    text = '// one\nvoid g() {\n}\nMAKE(add)\nTABLE = {\n  {\n    "h", f},\n};\n'
    (tmp_path / "a.cpp").write_text(text)
    made = Symbol("a.cpp", "k_add", "k_add", "function", 4, 4, 4, macro="MAKE")
    row = Dialect("a.cpp", 6, 7, "method", "h", macro="PyMethodDef")
    good = [Symbol("a.cpp", "g", "g", "function", 2, 3, 2), made, made._replace(macro="OTHER"), row]
    assert list(lib.disagreements(good, tmp_path)) == []
    for bad in (
        good[0]._replace(line=1), good[0]._replace(line=3), good[0]._replace(end_line=99), good[0]._replace(name=""),  # type: ignore[attr-defined]
        made._replace(line=2), row._replace(line=7, name="x"), row._replace(kind="impl"),
    ):  # fmt: skip
        assert [found for found, _ in lib.disagreements([*good, bad], tmp_path)] == [bad]
    assert lib.line_count(tmp_path / "a.cpp") == 8
