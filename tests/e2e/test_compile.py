"""What torch.compile did: planted breaks and recompilations are named at their lines; tlparse counts the same."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.harness import TARGET, InProcess

PROGRAMS = Path(__file__).resolve().parents[1] / "data" / "compiled"
TORCH_2_6 = TARGET is not None and "2.6" in TARGET


def marked(program: str, words: str) -> int:
    """The line of a program that has a comment with these words."""
    lines = (PROGRAMS / program).read_text(encoding="utf-8").split("\n")
    (found,) = (number for number, line in enumerate(lines, 1) if re.search(rf"# {re.escape(words)}$", line))
    return found


def compiled(command: InProcess, program: str) -> dict[str, Any]:
    """The document of one program."""
    found: dict[str, Any] = command("compile", "--script", str(PROGRAMS / program), "--json").data
    return found


def of(document: dict[str, Any], name: str) -> dict[str, Any]:
    """The function of that name."""
    (found,) = (function for function in document["functions"] if function["name"] == name)
    return dict(found)


# By function: the lines where it breaks, by the words of their comments; and how many parts are compiled.
BREAKS = {
    "whole": ([], 1),
    "prints": (["break prints"], 2),
    "branches": (["break branches"], 2),
    "reads_item": (["break reads_item"], 2),
    "many": (["break many 1", "break many 2", "break many 3"], 4),
    "opens": (["break opens"], 1),  # torch does not go on after a file is open
    "calls_disabled": (["break calls_disabled"], 2),
    "Net.forward": (["break Net.forward"], 2),
    "calls_helper": (["break helper"], 2),
}


def test_planted_breaks_are_named_at_their_lines(compiler_command: InProcess) -> None:
    document = compiled(compiler_command, "breaks.py")
    for name, (words, parts) in BREAKS.items():
        function = of(document, name)
        assert {found["at"]["line"] for found in function["breaks"]} == {marked("breaks.py", w) for w in words}, name
        assert (function["outcome"], function["parts"]) == ("broken" if words else "whole", parts), name
        assert all(found["reason"]["kind"] for found in function["breaks"]), name
    assert of(document, "whole")["runs"] == 1
    assert of(document, "prints")["runs"] == 4  # two calls of two parts
    assert not document["lost"]


# By planted reason: the function, what differed, of what, before and now, and the comment of the line that made it.
AGAIN = [
    ("size", "size", "x", "2", "4", "made size"),
    ("dtype", "dtype", "x", "Float", "Double", "made dtype"),
    ("gradient", "requires_grad", "x", "False", "True", "made gradient"),
    ("integer", "value", "n", "5", "7", "made integer"),
    ("text", "value", "mode", "'sin'", "'cos'", "made text"),
    ("rank", "rank", "x", "1", "2", "made rank"),
    ("grad_mode", "state", "grad_mode", "", "", None),
    ("kind", "value", "n", "2", "2.5", "made kind"),
    ("length", "length", "len(items)", "1", "2", "made length"),
    ("boolean", "value", "flag", "True", "False", "made boolean"),
    ("of_global", "value", "G['GLOBAL']", "1", "2", "made of_global"),
    ("closing.<locals>.inner", "value", "n", "3", "4", "made closing"),
    ("Scaled.forward", "value", "self.scale", "'one'", "'two'", "made attribute"),
    ("grows", "size", "x", "2", "3", "made grows"),
]


@pytest.mark.skipif(TORCH_2_6, reason="torch 2.6 writes other guards, and not which line made them")
def test_planted_recompilations_name_the_guard_and_its_line(compiler_command: InProcess) -> None:
    document = compiled(compiler_command, "again.py")
    first = {}
    for one in document["recompilations"]:
        first.setdefault(one["function"], one["checks"][0])
    for name, checks, subject, old, new, words in AGAIN:
        check = first[name]
        assert (check["checks"], check["subject"], check["old"], check["new"]) == (checks, subject, old, new), check
        if words is not None:
            assert check["at"]["line"] == marked("again.py", words), check
    assert len(first) == len(AGAIN)


def test_a_size_that_changes_becomes_dynamic(compiler_command: InProcess) -> None:
    document = compiled(compiler_command, "again.py")
    (again,) = (one for one in document["recompilations"] if one["function"] == "grows")
    assert again["checks"][0]["checks"] == "size"
    assert of(document, "grows")["again"] == 1  # the third size fits the dynamic version


COUNTED = """\
import torch


@torch.compile(backend="eager")
def counted(x, n):
    for i in range(n):
        x = x * 2
    return x


@torch.compile(backend="eager")
def scaled(x, n):
    return x * n


for n in (2, 3, 4):
    counted(torch.ones(3), n)
    scaled(torch.ones(3), n)
"""


@pytest.mark.words
def test_a_number_that_the_code_needs_is_fixed_again(compiler_command: InProcess, tmp_path: Path) -> None:
    """Torch makes both numbers dynamic at the second call; `range(n)` needs one value, as the third call shows."""
    script = tmp_path / "counted.py"
    script.write_text(COUNTED, encoding="utf-8")
    text = compiler_command("compile", "--script", str(script)).out
    assert "made dynamic, but fixed again: n (scalar change: 2, then 3)" in text
    assert "dynamic from then on: n (scalar change: 2, then 3)" in text
    assert of(compiler_command("compile", "--script", str(script), "--json").data, "scaled")["again"] == 1


# --- tlparse reads the log of a run of the same program ---

TLPARSE = shutil.which("tlparse", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")


def tlparse_says(program: str, folder: Path) -> tuple[Counter[str], int]:
    """How many records of each name tlparse finds in torch's own log of a run, and the sum of all guards."""
    traced, out = folder / "trace", folder / "out"
    environment = {**os.environ, "TORCH_TRACE": str(traced), "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}
    python = TARGET or sys.executable
    subprocess.run([python, str(PROGRAMS / program)], env=environment, check=True, capture_output=True)
    (log,) = traced.iterdir()
    subprocess.run([str(TLPARSE), str(log), "-o", str(out), "--no-browser"], check=True, capture_output=True)
    directory = json.loads((out / "compile_directory.json").read_text(encoding="utf-8"))
    stems = (Path(file["name"]).stem for compilation in directory.values() for file in compilation["artifacts"])
    lines = (out / "raw.jsonl").read_text(encoding="utf-8").splitlines()
    metrics = (json.loads(line).get("compilation_metrics") for line in lines)
    guards = sum(each["guard_count"] or 0 for each in metrics if each is not None)
    return Counter(re.sub(r"_\d+$", "", stem) for stem in stems), guards


@pytest.mark.skipif(TLPARSE is None, reason="tlparse is not installed")
@pytest.mark.parametrize("program", ["breaks.py", "again.py"])
def test_tlparse_counts_the_same(compiler_command: InProcess, program: str, tmp_path: Path) -> None:
    names, guards = tlparse_says(program, tmp_path)
    document = compiled(compiler_command, program)
    breaks = sum(broken["times"] for function in document["functions"] for broken in function["breaks"])
    assert breaks == names["dynamo_graph_break_reason"]
    assert document["graphs"] == names["dynamo_output_graph"]
    assert len(document["recompilations"]) == names["recompile_reasons"]
    assert document["guard_count"] == guards


# --- runs without a compiled function, and runs that fail ---

FAILS = """\
import torch


@torch.compile(backend="eager", fullgraph=True)
def whole(x):
    y = x + 1
    print("no")  # line 7
    return y


@torch.compile(backend="eager", dynamic=False)
def limited(x, k):
    return x * k


for number in range(12):
    limited(torch.ones(2), number + 5)
whole(torch.ones(3))
"""


def test_an_error_of_a_compilation_is_said_and_the_rest_is_kept(compiler_command: InProcess, tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text(FAILS, encoding="utf-8")
    result = compiler_command("compile", "--script", str(script), "--json")
    assert result.code == 1
    document = json.loads(result.out)
    whole, limited = of(document, "whole"), of(document, "limited")
    assert len(document["functions"]) == 2  # none of them is a function of ptexplore
    assert (whole["outcome"], whole["failed_at"]["line"]) == ("failed", 7)
    assert (limited["outcome"], limited["at_limit"], limited["again"], limited["runs"]) == ("whole", True, 7, 8)
    assert document["raised"]["exception"] == "Unsupported"
    assert (limited["eager"], whole["eager"]) == (4, None)  # of twelve calls
    assert [one["checks"][0]["new"] for one in document["recompilations"]] == [str(n) for n in range(6, 13)]


def test_nothing_compiled_is_said_and_wrapping_is_offered(compiler_command: InProcess) -> None:
    result = compiler_command("compile", "torch.add(a, b)")
    assert "compiled nothing" in result.out
    assert "ptexplore compile 'torch.add(a, b)' --compile" in result.out
    document = compiler_command("compile", "torch.add(a, b).sin()", "--compile", "--json").data
    (function,) = document["functions"]
    assert (function["outcome"], function["operators"], function["runs"]) == ("whole", 2, 1)
    kernels = [kernel for kernel in document["kernels"] if kernel["operators"]]
    assert not kernels or {"add", "sin"} <= set(kernels[0]["operators"])  # inductor's own names; torch 2.6 has none


NOT_FUSED = """import torch


@torch.compile
def f(x, w):
    a = x.sin()
    return (a @ w).exp() + a


for n in (4, 5):
    f(torch.ones(n, 4, requires_grad=True), torch.ones(4, 4)).sum().backward()
"""


def test_refused_fusions_and_graphs_of_backward_are_those_that_inductor_logs(
    compiler_command: InProcess, tmp_path: Path
) -> None:
    """The second graph has a dynamic size, and its backward is compiled together with its forward."""
    script = tmp_path / "fused.py"
    script.write_text(NOT_FUSED, encoding="utf-8")
    logs = {"TORCH_LOGS": "fusion,output_code", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
    python = os.environ.get("PTEXPLORE_TEST_PYTHON", sys.executable)
    environment = {**os.environ, **logs}
    plain = subprocess.run([python, str(script)], env=environment, capture_output=True, text=True, check=True).stderr
    reasons = set(re.findall(r"cannot fuse \w+ with \w+: (.+)", plain))
    backward = len(re.findall(r"# AOT ID: \['\d+_backward'\]", plain))
    assert reasons
    assert backward == 2
    result = compiler_command("compile", "--script", str(script), "--json")
    document = json.loads(result.out)
    assert (result.code, document["raised"], document["backward_graphs"]) == (0, None, backward)
    kernels = document["kernels"]
    named = {other["reason"] for kernel in kernels for other in kernel["not_fused"]}
    assert not named if TORCH_2_6 else named and named <= reasons
    of_graphs = {(kernel["compilation"], kernel["is_backward"]) for kernel in kernels}
    assert TORCH_2_6 or of_graphs == {("0/0", False), ("0/0", True), ("0/1", False), ("0/1", True)}


def test_what_cannot_be_run_is_refused(compiler_command: InProcess, tmp_path: Path) -> None:
    compiler_command("compile").three_parts(2)
    compiler_command("compile", "a", "--script", "x.py").three_parts(2)
    compiler_command("compile", "--script", str(tmp_path / "missing.py")).three_parts(2)
    compiler_command("compile", "--script", "x.py", "--compile").three_parts(2)
    compiler_command("compile", "a +").three_parts(2)
    compiler_command("compile", "troch.add(a, b)").three_parts(1, 2)


# --- runs that are saved ---


def test_a_saved_run_is_shown_again_and_never_runs(compiler_command: InProcess, tmp_path: Path) -> None:
    script, file = tmp_path / "train.py", tmp_path / "run.json"
    script.write_text(
        "import torch\n\n\n@torch.compile(backend='aot_eager')\ndef f(x):\n    y = x.sin().exp()\n    print('a')\n"
        "    return y * 2\n\n\nf(torch.ones(3, requires_grad=True)).sum().backward()\n",
        encoding="utf-8",
    )
    first = compiler_command("compile", "--script", str(script), "--save", str(file), "--svg", str(tmp_path / "a.svg"))
    assert "train.py:7" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    script.unlink()
    assert compiler_command("compile", "--load", str(file)).out == first.out
    opened = compiler_command("compile", "--load", str(file), "--open", "[1]").out
    assert "train.py:7" in opened
    graph = compiler_command("compile", "--load", str(file), "--open", "0/0").out
    assert ".sin()" in graph
    document = compiler_command("compile", "--load", str(file), "--json").data
    kept = next(graph["kept"] for graph in document["compiled"] if graph["has_partition"])
    assert [value["bytes"] for value in kept] == [12, 12]  # the input, for sin; the value of exp
    compiler_command("compile", "--load", str(file), "--open", "no such").three_parts(2)


def test_the_last_run_is_kept(compiler_command: InProcess) -> None:
    code = ("f(a)", "--setup", "f = torch.compile(lambda x: x.sin(), backend='eager')")
    first = compiler_command("compile", *code)
    assert compiler_command("compile", "--last").out == first.out
    compiler_command("compile", "--last", "x").three_parts(2)
    compiler_command("compile", "--last", "--setup", "a = 1").three_parts(2)


def test_what_is_not_a_saved_run_is_refused(compiler_command: InProcess, tmp_path: Path) -> None:
    for number, text in enumerate(("", "{}", '{"kind": "compile", "format": 1}', '{"kind": "trace", "format": 1}')):
        file = tmp_path / f"{number}.json"
        file.write_text(text, encoding="utf-8")
        compiler_command("compile", "--load", str(file)).three_parts(2)
    newer = tmp_path / "newer.json"
    newer.write_text('{"kind": "compile", "format": 99}', encoding="utf-8")
    compiler_command("compile", "--load", str(newer)).three_parts(3)
    compiler_command("compile", "--load", str(tmp_path / "missing")).three_parts(2)


# --- a few of the planted programs of scripts/accuracy --only compile ---


@pytest.mark.skipif(TORCH_2_6, reason="torch 2.6 does not say which line made a guard")
def test_lines_of_planted_reasons_are_named_in_other_surroundings(
    compiler_command: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(PROGRAMS.parents[2] / "scripts"))
    accuracy_compile = importlib.import_module("lib.accuracy_compile")
    plants = [plant for plant in accuracy_compile.AGAIN if plant.name in ("attribute", "requires_grad")]
    text, lines = accuracy_compile.program(tuple(plants), ("inner module", "two helpers"))
    script = tmp_path / "planted.py"
    script.write_text(text, encoding="utf-8")
    document = compiler_command("compile", "--script", str(script), "--json").data
    checks = [again["checks"][0] for again in document["recompilations"]]
    assert sorted(check["at"]["line"] for check in checks) == sorted(lines.values())
    assert {check["checks"] for check in checks} == {"value", "requires_grad"}


RAISES = """\
import logging
import torch


def backend(graph, inputs):
    raise ValueError("no such device")


torch.compile(lambda x: x.sin(), backend="eager")(torch.ones(2))
try:
    torch.compile(lambda x: x.cos(), backend=backend)(torch.ones(2))
except Exception:
    pass
logging.getLogger("torch.__trace").handlers.clear()
torch.compile(lambda x: x.tan(), backend="eager")(torch.ones(2))
"""


def test_a_backend_that_raises_has_compiled_nothing(compiler_command: InProcess, tmp_path: Path) -> None:
    script = tmp_path / "raises.py"
    script.write_text(RAISES, encoding="utf-8")
    result = compiler_command("compile", "--script", str(script))
    assert "removed ptexplore's handler" in result.out
    document = compiler_command("compile", "--last", "--json").data
    assert [(f["line"], f["outcome"], f["graphs"]) for f in document["functions"]] == [
        (9, "whole", 1),
        (11, "failed", 0),
    ]
    assert document["graphs"] == 1
