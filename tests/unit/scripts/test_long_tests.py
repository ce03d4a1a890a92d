"""The list of tests that take long: it names tests that exist, and the script keeps one test of each file."""

from __future__ import annotations

import ast
import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
spec = importlib.util.spec_from_loader(
    "long_tests", SourceFileLoader("long_tests", str(ROOT / "scripts" / "long-tests"))
)
assert spec is not None
assert spec.loader is not None
long_tests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(long_tests)


def test_the_list_names_tests() -> None:
    lines = [line for line in long_tests.LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert lines
    assert lines == sorted(lines)
    for line in lines:
        file, _, name = line.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert name.partition("[")[0] in functions, line


def test_the_quickest_variant_stays_and_each_file_keeps_a_test() -> None:
    times = {
        ("tests/a.py", "test_long"): {"test_long[1]": 3.0, "test_long[2]": 2.0, "test_long[3]": 4.0},
        ("tests/a.py", "test_short"): {"test_short": 1.0},
        ("tests/a.py", "test_slow"): {"test_slow": 20.0},
        ("tests/b.py", "test_only"): {"test_only": 30.0},
        ("tests/c.py", "test_first"): {"test_first[1]": 30.0, "test_first[2]": 20.0},
        ("tests/c.py", "test_other"): {"test_other": 40.0},
    }
    assert long_tests.long_tests(times, 6.0) == [
        "tests/a.py::test_long[2]", "tests/a.py::test_slow", "tests/c.py::test_first[2]", "tests/c.py::test_other",
    ]  # fmt: skip
