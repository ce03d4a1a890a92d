"""A record is confirmed only by the macro of its key at its very line, with its operator inside."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ptexplore.cpp.macros import collect
from ptexplore.cpp.text import Text
from ptexplore.index.dialect.confirm import confirm
from ptexplore.index.dialect.cpp import dialect
from ptexplore.model.codes import Reason
from ptexplore.model.operators import DumpRecord
from ptexplore.model.place_reasons import BlockHasOtherKey, BlockLacks, BlockNamesTwice, MacroForOthers, NoMacro
from ptexplore.model.symbols import Dialect

FOLDER = Path(__file__).parents[2] / "data" / "minitorch" / "dialect"


@pytest.fixture(scope="module")
def text() -> Text:
    return Text("kernels.cpp", (FOLDER / "kernels.cpp").read_text())


@pytest.fixture(scope="module")
def rows(text: Text) -> list[Dialect]:
    return dialect(text, collect([("lists.h", (FOLDER / "lists.h").read_text())]))


def record(op: str, key: str | None, line: int) -> DumpRecord:
    return DumpRecord(f"mini::{op}", key, False, False, False, "kernels.cpp", line, None, "")


@pytest.mark.parametrize(
    ("op", "key", "line", "own", "target"),
    [
        ("blend", None, 33, 35, None),
        ("whole", None, 33, 39, "whole_kernel"),
        ("whole", "CompositeImplicitAutograd", 33, 39, "whole_kernel"),
        ("keyed", "CPU", 33, 40, "keyed_kernel"),
        ("blend", "CompositeImplicitAutograd", 33, 41, None),
        ("blend.out", "CPU", 44, 46, "native::blend_out"),
        ("mirror", "AutocastCUDA", 61, 65, "wrapped::call"),  # Autocast is another name of that key
        ("mirror", "AutocastCUDA", 64, 65, "wrapped::call"),  # where the invocation ends: what GCC records
        ("fold", "Conjugate", 69, 70, None),
        ("send", "CUDA", 85, 85, "sendCUDA"),
        ("receive", "CPU", 88, 86, "receiveCPU"),
    ],
)
def test_confirmed(
    text: Text, rows: list[Dialect], op: str, key: str | None, line: int, own: int, target: str | None
) -> None:
    row, why = confirm(record(op, key, line), rows, text)
    assert (why, row and row.line, row and row.target) == (None, own, target)


@pytest.mark.parametrize(
    ("op", "key", "line", "why"),
    [
        ("blend", "CPU", 43, NoMacro(43)),
        ("blend", "CPU", 45, NoMacro(45)),
        ("blend", "CUDA", 44, MacroForOthers(44, ("CPU",), "CUDA")),
        ("blend", None, 44, MacroForOthers(44, ("CPU",), "")),
        ("absent", "CPU", 44, BlockLacks(44, "mini::absent")),
        ("blend", "CPU", 33, BlockHasOtherKey(33, "mini::blend", "CPU")),
        ("fold", "CPU", 44, BlockNamesTwice(44, "mini::fold", (50, 52))),
        ("send", "Meta", 85, MacroForOthers(85, ("CPU", "CUDA"), "Meta")),
        ("blend", "CompositeImplicitAutograd", 34, NoMacro(34)),
    ],
)
def test_not_confirmed(text: Text, rows: list[Dialect], op: str, key: str | None, line: int, why: Reason) -> None:
    assert confirm(record(op, key, line), rows, text) == (None, why)


@pytest.mark.skipif(shutil.which("cpp") is None, reason="no C preprocessor here")
def test_the_lines_taken_are_those_a_compiler_records(tmp_path: Path, text: Text, rows: list[Dialect]) -> None:
    marker = "#define TORCH_LIBRARY_IMPL(ns, k, m) @ __LINE__ ns k @\n#line 1\n"
    (tmp_path / "x.cpp").write_text(marker + text.raw)
    shutil.copy(FOLDER / "lists.h", tmp_path)
    done = subprocess.run(["cpp", "-P", "x.cpp"], cwd=tmp_path, capture_output=True, text=True, check=True)
    recorded = {tuple(one.split()) for one in done.stdout.split("@")[1::2]}
    named = [("Autocast", "mirror"), ("Conjugate", "fold"), ("CUDA", "send"), ("CUDA", "receive")]
    for key, op in named:
        lines = [int(one[0]) for one in recorded if one[1:] == ("mini", key)]
        assert any(confirm(record(op, key, line), rows, text)[0] for line in lines), (op, lines)
