"""Lines of installed headers: from 2.9 on a file lies a line lower than the text that the repository has."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptexplore.lookup.trees import IndexedTree
from ptexplore.model.places import Runtime
from ptexplore.workspace.workspace import Workspace
from tests.harness import TARGET, InProcess, torch_version

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

GUARD = "#if !defined(TORCH_STABLE_ONLY)"  # what setup.py writes above a header
# Headers of PyTorch's own in a wheel, and those of them that begin with the guard.
COUNTS = {"2.6.0+cu124": (8_613, 0), "2.13.0+cpu": (9_121, 9_054)}
LEAST = 100_000  # definitions


@pytest.fixture(scope="module")
def installed(warm_cache: Path) -> Iterator[IndexedTree]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PTEXPLORE_CACHE", str(warm_cache))
        with Workspace(TARGET) as workspace:
            yield next(indexed for indexed in workspace.trees if indexed.checkout is None)


def lines_of(file: str) -> list[str]:
    return Path(file).read_text(encoding="utf-8", errors="replace").split("\n")


def test_every_definition_of_a_header_is_on_the_line_that_is_opened(installed: IndexedTree) -> None:
    files = {file.path: installed.tree.file_of(file.path) or "" for file in installed.store.files()}
    headers = {path: lines_of(file) for path, file in files.items() if "/torch/include/" in file}
    guarded = {path for path, lines in headers.items() if lines[0].startswith(GUARD)}
    if torch_version() in COUNTS:
        assert (len(headers), len(guarded)) == COUNTS[torch_version()]
    seen = 0
    for symbol in installed.store.every_symbol():
        if symbol.path not in headers or symbol.macro is not None:
            continue
        place = installed.tree.place_of(symbol.path, symbol.line)
        assert place == (files[symbol.path], symbol.line + (symbol.path in guarded))
        # An operator's name may be written with spaces, and over several lines.
        name = "operator" if symbol.name.startswith("operator") else symbol.name
        assert name in headers[symbol.path][place[1] - 1], symbol
        seen += 1
    assert seen > LEAST


def test_a_line_of_an_installed_file_is_asked_for_and_opened(
    command: InProcess, runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = f"{runtime.torch_dir}/include/c10/core/Device.h"
    text = lines_of(file)
    number = next(number for number, line in enumerate(text, 1) if line.startswith("struct C10_API Device"))
    (page,) = command("show", f"{file}:{number}", "--tree", "runtime", "--json").data["pages"]
    assert page["lines"][page["mark"] - page["first"]] == text[number - 1]
    assert (page["file"], page["file_line"]) == (file, number)
    shift = int(text[0].startswith(GUARD))
    assert page["mark"] == number - shift
    assert sum("further down" in fact for fact in page["facts"]) == shift
    editor = tmp_path / "vim"
    editor.write_text(f"#!/bin/sh\nprintf '%s ' \"$@\" > {tmp_path}/opened\n")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    assert command("show", f"c10/core/Device.h:{number - shift}", "--tree", "runtime", "--open").code == 0
    assert (tmp_path / "opened").read_text().split() == [f"+{number}", file]


PROGRAM = """
#include <c10/util/ArrayRef.h>
#include <iostream>
int main() {
  try {
    c10::ArrayRef<int>().front();
  } catch (const c10::Error& error) {
    std::cout << error.what() << std::endl;
  }
}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler for a program with torch's headers")
def test_a_line_that_a_compiler_read_in_an_installed_header(
    command: InProcess, runtime: Runtime, tmp_path: Path
) -> None:
    """What is inlined from a header names the installed file, and its line there."""
    (tmp_path / "inlined.cpp").write_text(PROGRAM)
    folder = runtime.torch_dir
    linked = [f"-L{folder}/lib", "-lc10", f"-Wl,-rpath,{folder}/lib"]
    asked = [runtime.python, "-c", "import torch; print(int(torch.compiled_with_cxx11_abi()))"]
    abi = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    flags = ["-std=c++20", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", f"-I{folder}/include"]
    build = ["g++", *flags, "inlined.cpp", "-o", "inlined", *linked]
    subprocess.run(build, cwd=tmp_path, check=True)
    told = subprocess.run(["./inlined"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    recorded = next(line for line in told.splitlines() if "Exception raised from" in line)
    number = int(recorded.rpartition(" (most recent call first)")[0].rpartition(":")[2])
    file = f"{folder}/include/c10/util/ArrayRef.h"
    assert f"{file}:{number}" in recorded
    (tmp_path / "told.txt").write_text(told)
    source = command("explain-error", str(tmp_path / "told.txt"), "--json").data["source"]
    shift = int(lines_of(file)[0].startswith(GUARD))
    assert (source["path"], source["line"]) == ("c10/util/ArrayRef.h", number - shift)
    assert source["precision"] == "registered"
