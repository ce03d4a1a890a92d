"""The native tree against what other tools see: valgrind's counts, gdb's backtrace, and a second run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness import TARGET, THOROUGH, Cli

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.uname().machine != "x86_64" or sys.platform != "linux", reason="stepping is x86-64 Linux"),
]
# One kernel and one memcpy for both sides: valgrind's processor has neither AVX-512 nor the fast string instructions.
SAME = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "OMP_NUM_THREADS": "1",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-ERMS,-FSRM",
}


def stepped(cli: Cli, folder: Path, expression: str, *options: str) -> dict[str, Any]:
    """The one stepped part of a trace."""
    saved = folder / "session"
    saved.unlink(missing_ok=True)
    result = cli("trace", expression, "--save", str(saved), *options, env=SAME)
    assert result.code == 0, result
    session = json.loads(saved.read_text(encoding="utf-8"))["session"]
    (part,) = [seen["data"] for seen in session["observations"] if seen["kind"] == "calls"]
    assert part["cut"] is None
    return part


def test_gdb_sees_the_same_callers_of_the_leaf_kernel(cli: Cli, tmp_path: Path) -> None:
    """The backtrace at the kernel is part of our chain of callers: it lacks what left by a tail call."""
    gdb = shutil.which("gdb")
    if gdb is None:
        pytest.skip("needs gdb (scripts/test installs it where it can)")
    part = stepped(cli, tmp_path, "torch.add(a, b)", "--native-op", "add.Tensor")
    mangled = [part["functions"][number][2] for number in part["function"]]
    leaf = next(n for n, name in enumerate(mangled) if "10add_kernelE" in name)
    ours, depth = [mangled[leaf]], part["depth"][leaf]
    for number in range(leaf, -1, -1):
        if part["depth"][number] < depth:
            ours.append(mangled[number])
            depth = part["depth"][number]
    program = tmp_path / "program.py"
    program.write_text(
        "import torch; torch.set_num_threads(1)\na, b = torch.randn(3, 3), torch.randn(3, 3)\n"
        "for _ in range(4): torch.add(a, b)\n",
        encoding="utf-8",
    )
    commands = [
        "set debuginfod enabled off",
        "set breakpoint pending on",
        "set print demangle off",
        f"break {ours[0]}",
    ]
    commands += ["ignore 1 3", "run", "backtrace 40"]
    given = [part for command in commands for part in ("-ex", command)]
    done = subprocess.run(
        [gdb, "-nx", "-batch", *given, "--args", TARGET or sys.executable, str(program)],
        env=cli.environment() | SAME, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    frames = re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\S+)", done.stdout, re.MULTILINE)
    theirs = frames[: next((n for n, name in enumerate(frames) if "4_ops10add_Tensor4call" in name), len(frames)) + 1]
    assert len(theirs) >= 3, done.stdout
    position = iter(ours)
    missing = [name for name in theirs if not any(name == own for own in position)]
    assert not missing, (missing, ours, theirs)


# By operator: what calls it, and its entry point. None takes memory: the way through malloc is another each time.
COUNTED = {
    "add.out": ("torch.add(a, b, out=c)", "at::_ops::add_out::call(*"),
    "sum.IntList_out": ("torch.sum(a, 0, out=d)", "at::_ops::sum_IntList_out::call(*"),
    "relu_": ("torch.relu_(a)", "at::_ops::relu_::call(*"),
}
SETUP = "a, b, c, d = torch.ones(3, 3), torch.ones(3, 3), torch.zeros(3, 3), torch.zeros(3)"


@pytest.mark.slow
def test_instruction_counts_are_those_of_callgrind(cli: Cli, tmp_path: Path) -> None:
    """Within half a per cent, for three operators; both on warm code."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("needs valgrind (scripts/test installs it where it can)")
    if not THOROUGH:
        pytest.skip("takes half a minute: scripts/test --matched runs it, or PTEXPLORE_TEST_THOROUGH=1")
    program, python = tmp_path / "program.py", TARGET or sys.executable
    lines = ["import torch; torch.set_num_threads(1)", SETUP]
    lines += [f"for _ in range(4): {call}" for call, _ in COUNTED.values()]
    program.write_text("\n".join(lines), encoding="utf-8")
    dumps = [f"--dump-after={entry}" for _, entry in COUNTED.values()]
    subprocess.run(
        [valgrind, "--tool=callgrind", f"--callgrind-out-file={tmp_path}/out", *dumps, python, str(program)],
        env=cli.environment() | SAME, cwd=tmp_path, capture_output=True, timeout=900, check=True,
    )  # fmt: skip
    for op, (call, entry) in COUNTED.items():
        theirs = [
            inclusive(file, entry.rstrip("*"))
            for file in sorted(tmp_path.glob("out.*"), key=lambda f: int(f.suffix[1:]))
        ]
        warm = [count for count in theirs if count][-1]
        ours = stepped(cli, tmp_path, call, "--setup", SETUP, "--native-op", op)["instructions"]
        assert abs(ours - warm) <= 0.005 * warm, (op, ours, warm)


def inclusive(file: Path, function: str) -> int:
    """The instructions of the one call of a function in callgrind's output; 0 where it has none."""
    names: dict[str, str] = {}
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    called = ""
    for number, line in enumerate(lines):
        if found := re.match(r"(c?)fn=\((\d+)\)(?: (.*))?$", line):
            names.setdefault(found[2], found[3] or "")
            called = names[found[2]] if found[1] else called
        elif line.startswith("calls=1 ") and called.startswith(function):
            return int(lines[number + 1].split()[1])
    return 0
