"""The index's store: what is put in comes out, by name and by place; search; and what a killed writer leaves behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ptexplore.model.symbols import Dialect, FileRecords, Ref, Symbol, ref_lines
from ptexplore.store.index import rows as index_rows
from ptexplore.store.index import writer as index_writer
from ptexplore.store.index.reader import IndexStore, StaleIndex
from ptexplore.store.index.search import slips
from ptexplore.store.index.writer import IndexWriter

A, B, T = "aten/src/ATen/Blend.cpp", "torch/csrc/blend.cpp", "test/cpp/blend_test.cpp"
SYMBOLS = (
    Symbol(A, "at", "at", "namespace", 1, 90, 1),
    Symbol(
        A, "blend_kernel", "at::native::blend_kernel", "function", 12, 20, 10,
        scope="at::native::CPU_CAPABILITY::(anonymous namespace)", signature="(int a, at::Tensor b) const",
        parameters=("int", "at::Tensor"), guards=("defined(USE_X)", "!(A && B)"), template=True, static=True,
    ),
    Symbol(A, "blend_kernel", "at::native::blend_kernel", "function", 5, 5, 5, role="declaration", scope="at::native"),
    Symbol(A, "TensorIterator", "at::TensorIterator", "class", 30, 60, 30, scope="at"),
    Symbol(A, "TensorIterator", "at::TensorIterator::TensorIterator", "function", 31, 31, 31, parameters=(),
           scope="at::TensorIterator"),
    Symbol(A, "operator std::string", "at::X::operator std::string", "function", 62, 62, 62, scope="at::X"),
    Symbol(A, "blend_out", "at::native::structured_blend_out", "function", 70, 75, 70, macro="TORCH_IMPL_FUNC"),
    Symbol(A, "TILE", "TILE", "macro", 80, 80, 80, extractor="macro"),
)  # fmt: skip
OTHERS = (
    Symbol(B, "blend_kernels", "torch::blend_kernels", "function", 3, 4, 3, scope="torch"),
    Symbol(B, "conv2d", "torch.nn.functional.conv2d", "function", 8, 9, 7, scope="torch.nn.functional"),
)
REFS = (
    Ref(A, 3, "run", "x.run", "call"),
    Ref(A, 3, "run", "x.run", "call"),
    Ref(A, 300, "run", "x.run", "call"),
    Ref(A, 70_000, "run", "run", "call"),
    Ref(A, 4, "Blend.h", "ATen/Blend.h", "include"),
    Ref(A, 9, "run", "run", "address", "at::run", "libclang"),
)
DIALECT = (
    Dialect(A, 70, 70, "library", "aten", "CPU", macro="TORCH_LIBRARY_IMPL"),
    Dialect(A, 71, 72, "impl", "aten::blend", "CPU", "at::native::blend_kernel", 70, "TORCH_LIBRARY_IMPL", "x", ("Y",)),
    Dialect(A, 88, 88, "stub-register", "blend_stub", "CUDA", None, None, "REGISTER_DISPATCH"),
)


def put(writer: IndexWriter, first: int, *files: tuple[FileRecords, str]) -> None:
    for number, (records, words) in enumerate(files, first):
        writer.add(
            [index_rows.pack(index_rows.ReadFile(number, "checkout", f"{number:x}", 10, 0, 100), records, words)]
        )


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "index.sqlite"
    with IndexWriter(path, anew=True) as writer:
        put(
            writer,
            1,
            (FileRecords(A, "cpp", SYMBOLS, ref_lines(REFS), DIALECT, ("odd",)), "Blend blend_kernel tensor"),
            (FileRecords(B, "cpp", OTHERS), "blend tensor_list"),
            (FileRecords(T, "cpp", (Symbol(T, "blend_kernel", "blend_kernel", "function", 1, 1, 1),)), "blend"),
        )
        writer.put_meta({"tree": "x"})
    return path


@pytest.fixture
def store(database: Path) -> IndexStore:
    return IndexStore.open(database)


def test_records_come_out_as_they_were(store: IndexStore) -> None:
    assert sorted(store.outline(A), key=repr) == sorted(SYMBOLS, key=repr)
    assert sorted(store.refs_in(A), key=repr) == sorted(REFS, key=repr)
    assert store.dialect_in(A) == list(DIALECT)
    assert store.problems() == [(A, ["odd"])]
    assert [file.path for file in store.files()] == sorted([A, B, T])


def test_symbols_by_name(store: IndexStore) -> None:
    assert [one.line for one in store.definitions("at::native::blend_kernel")] == [12]
    assert [one.line for one in store.declarations("at::native::blend_kernel")] == [5]
    assert [one.path for one in store.definitions("blend_kernel")] == [T]
    assert len(store.definitions("at::X::operator std::string")) == 1
    assert len(store.definitions("torch.nn.functional.conv2d")) == 1
    assert len(store.definitions("at::native::structured_blend_out")) == 1, "a name that the qualified name lacks"
    assert {one.path for one in store.symbols_named("blend_kernel")} == {A, T}
    assert {one.line for one in store.symbols_ending("native::blend_kernel")} == {5, 12}
    assert not store.symbols_ending("tive::blend_kernel")
    assert len(store.symbols_ending("functional.conv2d")) == 1
    assert not store.definitions("at::native::")
    assert not store.definitions("")


def test_the_innermost_definition(store: IndexStore) -> None:
    lines = {9: "at", 10: "blend_kernel", 20: "blend_kernel", 21: "at", 31: "TensorIterator", 60: "TensorIterator"}
    for line, name in lines.items():
        found = store.enclosing(A, line)
        assert found is not None
        assert found.name == name
    assert store.enclosing(A, 91) is None
    assert store.enclosing("nowhere.cpp", 1) is None


def test_references_and_rows(store: IndexStore) -> None:
    assert [one.line for one in store.refs("run")] == [3, 3, 9, 300, 70_000]
    assert [one.line for one in store.refs("run", ["call"], limit=3)] == [3, 3, 300]
    assert store.refs("run", []) == []
    assert store.refs("run", ["address"])[0].target == "at::run"
    assert store.dialect_targeting("blend_kernel") == [DIALECT[1]]
    assert store.dialect("aten::blend", ["impl", "def"]) == [DIALECT[1]]
    assert store.dialect("aten::blend", ["def"]) == []
    assert store.dialect_in(A, 70) == list(DIALECT[:2])
    counts = {key: count for key, count in store.counts().items() if key.startswith("dialect ")}
    assert counts == {"dialect library": 1, "dialect impl": 1, "dialect stub-register": 1}
    counts = store.counts()
    assert (counts["files"], counts["refs"], counts["ref call"], counts["symbols"]) == (3, 6, 4, 11)


def test_files_by_words_and_by_parts_of_their_path(store: IndexStore) -> None:
    assert store.files_with_words(["blend", "tens"], 9) == [A, B]
    assert store.files_with_words(["tensor", "blend"], 9) == [A]
    assert store.files_with_any_word(["tensor", "tensor_list", "missing"]) == [A, B]
    assert store.files_like("BLEND.CPP", 9) == [B, A]
    assert store.files_like("csrc/bl", 9) == [B]


def test_pieces_of_words_are_found_as_a_look_through_every_text_finds_them(tmp_path: Path) -> None:
    """The first word may be an ending, the last a beginning, a single one any piece."""
    chooser = random.Random(5)
    letters = "ab_c"
    texts = {
        f"c10/{number}.h": " ".join(
            "x" + "".join(chooser.choice(letters) for _letter in range(chooser.randint(3, 8))) for _word in range(12)
        )
        for number in range(40)
    }
    with IndexWriter(tmp_path / "index.sqlite", anew=True) as writer:
        for number, (path, text) in enumerate(texts.items(), 1):
            put(writer, number, (FileRecords(path, "cpp"), text))
    store = IndexStore.open(tmp_path / "index.sqlite")
    compared = 0
    for _trial in range(400):
        text = chooser.choice(list(texts.values()))
        begin = chooser.randrange(len(text) - 12)
        asked = text[begin : begin + chooser.randint(3, 12)].strip()
        words = asked.split()
        if not words or len(words[0]) < 3:
            continue
        compared += 1
        expected = {path for path, held in texts.items() if asked in held}
        assert expected <= set(store.files_with_words(words, 99)), asked
    assert compared > 200
    assert store.files_with_words(["ab"], 99) == [], "two letters alone begin a word"


def test_words_are_found_of_files_that_come_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_writer, "_WORDS", 1)
    with IndexWriter(tmp_path / "index.sqlite", anew=True) as writer:
        for number in (4, 5, 9, 8, 1, 6, 2, 7):
            put(writer, number, (FileRecords(f"c10/{number}.h", "cpp"), f"every only{number}"))
    store = IndexStore.open(tmp_path / "index.sqlite")
    assert store.files_with_words(["every", ""], 20) == [f"c10/{number}.h" for number in (1, 2, 4, 5, 6, 7, 8, 9)]
    for number in (1, 5, 9):
        assert store.files_with_words([f"only{number}"], 9) == [f"c10/{number}.h"]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("blend_kernel", "at::native::blend_kernel"),
        ("native::blend_k", "at::native::blend_kernel"),
        ("blend_ker", "at::native::blend_kernel"),
        ("TI", "TILE"),
        ("TensIt", "at::TensorIterator"),
        ("b_k", "at::native::blend_kernel"),
        ("kernels", "torch::blend_kernels"),
        ("blend_krenel", "at::native::blend_kernel"),
        ("tensoriterato", "at::TensorIterator"),
        ("tensoritreator", "at::TensorIterator"),
    ],
)
def test_search(store: IndexStore, query: str, first: str) -> None:
    found = store.search(query, 8)
    assert found[0][0].qualified == first, found
    assert found[0][0].role == "definition"
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_search_puts_tests_and_declarations_last_and_finds_humps_behind_prefixes(store: IndexStore) -> None:
    exact = [one for one, score in store.search("blend_kernel", 8) if score == 1000]
    assert [(one.path, one.role) for one in exact] == [(A, "definition"), (A, "declaration"), (T, "definition")]
    assert "at::TensorIterator" in [one.qualified for one, _ in store.search("TI", 2)]
    assert len(store.search("e", 3)) <= 3


ODD = ('"', "*", "a*", "NEAR(a b)", "%", "_", "a OR b", "[a-z]+", "(", ".*", "\\", "'; DROP TABLE file; --", "\n",
       "\0", "", " ", "::", "a::", "::a", "-", "\ud800", "İ", "a" * 5000)  # fmt: skip


@pytest.mark.parametrize("query", ODD)
def test_no_query_is_syntax(store: IndexStore, query: str) -> None:
    assert isinstance(store.search(query, 5), list)
    assert isinstance(store.files_with_words([query, "x"], 5), list)
    assert store.refs(query) == []
    assert isinstance(store.names(query, 5), list)
    assert isinstance(store.symbols_ending(query), list)
    store.files_like(query, 5)
    assert len(store.files()) == 3


def test_completion(store: IndexStore) -> None:
    assert store.names("blend_k", 9) == ["blend_kernel", "blend_kernels"]
    assert store.names("at::native::bl", 9) == ["at::native::blend_kernel"]
    assert store.names("torch.nn.functional.", 9) == ["torch.nn.functional.conv2d"]


def test_slips() -> None:
    assert [slips("tensor", other, 2) for other in ("tensor", "tesnor", "tnsor", "tensoor", "sensor", "tnesro")] == [
        0, 1, 1, 1, 1, 2
    ]  # fmt: skip
    assert slips("tensor", "storage", 2) == 3


def test_changes_in_place(database: Path) -> None:
    with IndexWriter(database, anew=False) as writer:
        writer.remove([B, "not there"])
        writer.replace_refs(A, {("go", "x.go", "call", "at::X::go", "libclang"): [1]}, "libclang")
        first = int(writer.meta("next_file") or 0)
        put(writer, first, (FileRecords("c10/n.h", "cpp", (Symbol("c10/n.h", "N", "N", "class", 1, 2, 1),)), "fresh"))
    store = IndexStore.open(database)
    assert [file.path for file in store.files()] == [A, "c10/n.h", T]
    assert [one.target for one in store.refs_in(A)] == ["at::X::go"]
    assert store.file(A).extractor == "libclang"  # type: ignore[union-attr]
    assert store.files_with_words(["tensor_list"], 9) == []
    assert store.files_with_words(["fresh"], 9) == ["c10/n.h"]
    assert "blend_kernels" not in store.names("", 99)
    assert store.counts()["ref call"] == 1


def test_what_fails_in_a_block_leaves_no_trace(database: Path, tmp_path: Path) -> None:
    before = database.read_bytes()
    for anew in (True, False):
        with pytest.raises(ValueError, match="no"), IndexWriter(database, anew=anew) as writer:
            if not anew:
                writer.remove([A])
            raise ValueError("no")
    assert database.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [database.name]


KILLED = """
import os, signal, sys
from pathlib import Path
from ptexplore.store.index.writer import IndexWriter
writer = IndexWriter(Path(sys.argv[1]), anew=False)
writer._db.execute("PRAGMA cache_size = 1")  # so that changes reach the file before they are whole
writer.remove(sys.argv[2:])
writer._db.execute("UPDATE symbol SET line = line + 1000")
writer._db.execute("UPDATE ref SET name = name || 'x'")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_change_is_undone_by_whoever_reads_next(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    many = []
    for n in range(200):
        symbols = tuple(Symbol(f"{n}.cpp", f"f{k}", f"f{k}", "function", k, k, k) for k in range(1, 99))
        many.append((FileRecords(f"{n}.cpp", "cpp", symbols), ""))
    with IndexWriter(path, anew=True) as writer:
        put(writer, 1, *many)
    before = path.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), "7.cpp"],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() != before, "half of a change was in the file"
    store = IndexStore.open(path)
    assert store.counts()["symbols"] == 200 * 98
    assert [one.line for one in store.symbols_named("f5")] == [5] * 200
    assert path.read_bytes() == before


def test_what_cannot_be_used_is_stale(database: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        IndexStore.open(tmp_path / "none.sqlite")
    whole = database.read_bytes()
    for damaged in (b"", b"text" * 5000, whole[: len(whole) // 2], whole[:4096], b"\0" * len(whole)):
        database.write_bytes(damaged)
        with pytest.raises(StaleIndex):
            IndexStore.open(database)
    damaged = bytearray(whole)
    damaged[16384:] = b"\xff" * (len(damaged) - 16384)
    database.write_bytes(damaged)
    with pytest.raises(StaleIndex):
        store = IndexStore.open(database)
        store.files()
        for path in (A, B):
            store.outline(path)
            store.refs_in(path)
        store.search("blend", 5)
