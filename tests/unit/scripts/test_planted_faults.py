"""The planted faults fit the code as it is, and what cannot be planted is named."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = str(ROOT / "scripts/planted-faults")
    spec = importlib.util.spec_from_loader("planted_faults", SourceFileLoader("planted_faults", path))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    sys.modules["planted_faults"] = module  # where its dataclass looks for its annotations
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


def test_every_fault_can_be_planted(script: ModuleType) -> None:
    """Where the code around one was changed: write it anew in scripts/lib/faults.py, for the same rule."""
    assert script.stale(script.FAULTS) == []


def test_sixty_faults_each_of_a_rule_of_its_own(script: ModuleType) -> None:
    assert len({one.rule for one in script.FAULTS}) == len(script.FAULTS) == 60
    assert len({(one.file, one.old) for one in script.FAULTS}) == 60


def test_a_fault_is_python_and_changes_what_the_code_does(script: ModuleType) -> None:
    """One that does not parse would be noticed by every test."""
    for fault in script.FAULTS:
        text = (ROOT / "ptexplore" / fault.file).read_text(encoding="utf-8")
        changed = ast.dump(ast.parse(text.replace(fault.old, fault.new)))
        assert changed != ast.dump(ast.parse(text)), fault.rule


def test_what_is_no_longer_in_the_code_is_named(script: ModuleType) -> None:
    gone = script.Fault("resolve/merge.py", "no such text", "x", "a rule")
    nowhere = script.Fault("resolve/no_such_file.py", "x", "y", "another rule")
    first, second = script.stale((gone, nowhere))
    assert "ptexplore/resolve/merge.py holds 0 times, not once: 'no such text' (a rule)" in first
    assert "no_such_file.py" in second


def test_the_tests_of_a_module_are_those_named_like_it(script: ModuleType) -> None:
    assert script.likely(ROOT, "resolve/keyset.py") == (
        "tests/unit/resolve/test_keyset.py",
        "tests/unit/resolve/test_keyset_rules.py",
    )
    assert script.likely(ROOT, "resolve/nothing.py") == ()


def test_it_lists_them() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/planted-faults"), "keyset", "--list"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "resolve/keyset.py: a pair that torch's parser does not know" in done.stdout
