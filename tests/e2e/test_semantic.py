"""`ptexplore index --semantic` as a user has it: uses resolve, diagnostics show, what did not change stays resolved."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ptexplore.store.index.reader import IndexStore
from tests import small_source
from tests.harness import REPOSITORY, Cli

pytestmark = pytest.mark.e2e

USAGE, MISSING = 2, 3
PATH, HEADER = "c10/core/shape.cpp", "c10/core/shape.h"
TREE = {
    "version.txt": "2.99.0a0\n",
    HEADER: """#pragma once
namespace shapes {
struct Shape { virtual ~Shape(); virtual int size() const; };
struct Square : Shape { int size() const override; };
struct Basket { int size() const; };
}
""",
    PATH: """#include <c10/core/shape.h>
namespace shapes {
int both(const Shape& shape, const Basket& basket) {
  return shape.size()
      + basket.size();
}
}
""",
    "c10/core/broken.cpp": """#include <c10/core/gone.h>
#include <c10/core/shape.h>
int broken(const shapes::Basket& basket) { return basket.size() + unheard_of(); }
""",
    "c10/core/gpu.cu": "int nothing;\n",
    "aten/src/ATen/Blend.h": "#pragma once\n",
}


@pytest.fixture
def refining(own_cache: Path, tmp_path: Path) -> Cli:
    root = small_source.write(tmp_path / "mini", TREE)
    for file in root.rglob("*.*"):
        os.utime(file, (1.6e9, 1.6e9))  # old enough to be believed
    (tmp_path / "cwd").mkdir()
    cli = Cli(own_cache, tmp_path / "cwd")
    assert cli("fetch", "--from", str(root)).code == 0
    return cli


def refine(cli: Cli, *paths: str) -> dict:
    return cli("index", "--checkout", "mini", "--json", "--semantic", *paths).data["semantic"]


def resolved(cli: Cli) -> set[tuple[str, int, str, str | None]]:
    store = IndexStore.open(cli.cache / "index" / "checkout-mini.sqlite")
    try:
        found = store.refs("size")
        return {(one.path, one.line, one.kind, one.target) for one in found if one.extractor == "libclang"}
    finally:
        store.close()


def test_uses_resolve_errors_show_and_stay(refining: Cli, tmp_path: Path) -> None:
    done = refine(refining, "core")
    assert resolved(refining) == {
        (HEADER, 4, "override", "shapes::Shape::size()"),
        (PATH, 4, "call", "shapes::Shape::size()"),
        (PATH, 5, "call", "shapes::Basket::size()"),
        ("c10/core/broken.cpp", 3, "call", "shapes::Basket::size()"),
    }
    worst, best = done["units"]
    assert (worst["path"], worst["errors"]) == ("c10/core/broken.cpp", 2)
    assert (best["path"], best["errors"]) == (PATH, 0)
    assert "gone.h" in worst["messages"][0]["text"]
    assert done["not_read"] == ["c10/core/gpu.cu"]
    assert "2.99.0" in done["note"]  # headers are of another version, and that is said

    # A later index keeps what libclang resolved in files that did not change, and reads the changed one anew.
    before = resolved(refining)
    (tmp_path / "mini" / PATH).write_text(TREE[PATH].replace("basket.size()", "0"), encoding="utf-8")
    summary = refining("index", "--checkout", "mini", "--json").data["indexes"][0]
    assert summary["read"] == 1
    assert resolved(refining) == {one for one in before if one[0] != PATH}

    shown = refining("index", "--checkout", "mini", "--semantic", PATH, "--problems")
    assert "1 units parsed" in shown.out
    assert (PATH, 4, "call", "shapes::Shape::size()") in resolved(refining)


def test_a_path_without_cpp_is_said(refining: Cli) -> None:
    refining("index", "--checkout", "mini", "--semantic", "c10/gone").three_parts(USAGE)


@pytest.mark.parametrize("package, named", [("clang_tidy", "ptexplore[semantic]"), ("clang", "libclang>=18.1")])
def test_libclang_or_its_headers_are_missing(refining: Cli, tmp_path: Path, package: str, named: str) -> None:
    (tmp_path / "blind").mkdir()
    blind = f"import sys\nsys.modules['{package}'] = None\n"
    (tmp_path / "blind" / "sitecustomize.py").write_text(blind, encoding="utf-8")
    env = {"PYTHONPATH": f"{tmp_path / 'blind'}{os.pathsep}{REPOSITORY}"}
    failed = refining("index", "--checkout", "mini", "--semantic", env=env, target=None)
    assert named in failed.three_parts(MISSING).err
