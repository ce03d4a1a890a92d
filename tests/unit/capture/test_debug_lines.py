"""The line at which a function of an extension begins, against what binutils' addr2line says of the same file."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ptexplore.capture.native.debug_lines import begins
from ptexplore.capture.native.symbols import Elf

# Two functions of two files: behind `first` stands a row without an instruction, which begins no statement.
TEXT = """
.file 1 "one.h"
.file 2 "two.cpp"
.text
.globl first
first:
 .loc 1 10 0
 nop
 .loc 1 22 0 is_stmt 0
.globl second
second:
 .loc 2 7 0 is_stmt 1
 nop
 .loc 2 8 0
 ret
"""


@pytest.mark.skipif(not (shutil.which("gcc") and shutil.which("addr2line")), reason="needs gcc and binutils")
@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_function_begins_at_the_first_statement_of_its_own(tmp_path: Path, version: int) -> None:
    source, made = tmp_path / "text.s", tmp_path / "made.so"
    source.write_text(TEXT)
    subprocess.run(["gcc", "-shared", f"-Wa,-gdwarf-{version}", "-o", made, source], check=True)
    symbols = subprocess.run(["nm", made], capture_output=True, text=True, check=True).stdout.splitlines()
    addresses = {line.split()[2]: int(line.split()[0], 16) for line in symbols if line.endswith((" first", " second"))}
    rows = begins(Elf(str(made))._section)
    assert len(addresses) == 2
    for address in addresses.values():
        said = subprocess.run(["addr2line", "-e", made, hex(address)], capture_output=True, text=True, check=True)
        file, line = rows[address]
        assert f"{Path(file).name}:{line}" == Path(said.stdout.strip()).name
