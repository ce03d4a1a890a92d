"""What a trace says of calls into oneDNN and MKL, against what these print themselves in a plain Python."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import TARGET, InProcess, torch_version

pytestmark = pytest.mark.e2e
BF16 = "torch.rand(64, 64, dtype=torch.bfloat16)"
EXPRESSION = "(a @ b, F.linear(x, w), F.conv3d(y, v), torch.bmm(z, z))"
SOLID, KERNEL, BATCH = "torch.rand(1, 2, 4, 4, 4)", "torch.rand(3, 2, 2, 2, 2)", "torch.rand(2, 20, 20)"
ALONE = f"""
import torch
F = torch.nn.functional
torch.set_num_threads(1)
a, b = torch.rand(3, 3), torch.rand(3, 3)
x, w = {BF16}, {BF16}
y, v, z = {SOLID}, {KERNEL}, {BATCH}
{EXPRESSION}
"""


@functools.cache
def printed(script: str = ALONE) -> list[tuple[str, str, str | None, str]]:
    """Library, what ran, by which implementation, and sizes: of each call, as the libraries print it when asked to."""
    environment = {**os.environ, "ONEDNN_VERBOSE": "1", "MKL_VERBOSE": "1"}
    command = [TARGET or sys.executable, "-I", "-W", "ignore", "-c", script]
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    calls: list[tuple[str, str, str | None, str]] = []
    for line in out.splitlines():
        if line.startswith("onednn_verbose") and ",exec,cpu," in line:
            fields = line.partition(",exec,cpu,")[2].split(",")
            calls.append(("oneDNN", fields[0], fields[1], fields[-2]))
        elif line.startswith("MKL_VERBOSE ") and " CNR:" in line:
            name, _, given = line.removeprefix("MKL_VERBOSE ").partition("(")
            calls.append(("MKL", name, None, re.split(r",(?:desc:)?0x", given.replace(", ", ","))[0]))
    return calls


def test_what_ran_in_the_libraries(command: InProcess) -> None:
    given = {"x": BF16, "w": BF16, "y": SOLID, "v": KERNEL, "z": BATCH}
    variables = [part for name, value in given.items() for part in ("--var", f"{name}={value}")]
    made = command("trace", EXPRESSION, *variables, "--json")
    if not made.data["captured"]["native"]:
        pytest.skip("no native pass here")
    told = [hop["library"] for hop in made.hops if hop["library"]]
    found = [(said["library"], said["what"], said["implementation"], said["problem"]) for said in told]
    assert found == printed(), [finding["text"] for finding in made.data["findings"]]
    assert {what for _, what, _, _ in found} >= {"SGEMM", "MKL_SOMATCOPY", "SGEMM_BATCH"}
    for hop in made.hops:
        if hop["library"]:
            assert hop["kind"] == "closed"
            assert hop["native"]["third_party"] in (hop["library"]["library"], "BLAS or LAPACK")


def test_what_mkl_calls_inside_of_a_transform_is_no_call_of_blas(command: InProcess) -> None:
    """Its functions `commit` and `detach` are named as those of BLAS may be; MKL tells of one transform each way."""
    transform = "torch.fft.irfft(torch.fft.rfft(s))"
    made = command("trace", transform, "--var", "s=torch.ones(16)", "--json")
    if not made.data["captured"]["native"]:
        pytest.skip("no native pass here")
    told = [hop for hop in made.hops if hop["library"] and hop["library"]["library"] == "MKL"]
    alone = printed(f"import torch\ntorch.set_num_threads(1)\ns = torch.ones(16)\n{transform}")
    found = [(hop["library"]["what"], hop["library"]["problem"]) for hop in told]
    assert found == [(what, problem) for _, what, _, problem in alone]
    assert [hop["name"] for hop in told] == ["DftiComputeForward", "DftiComputeBackward"]
    assert not [finding for finding in made.data["findings"] if finding["kind"] == "libraries"]


SYNTAX = """
import torch
p, q = torch.rand(5, 6, requires_grad=True), torch.rand(6, 7)
def product():
    return p @ q
for _ in range(12):
    product().sum().backward()
"""
SCRIPT = ALONE.replace("torch.set_num_threads(1)\n", "").replace(
    EXPRESSION, "for _ in range(40):\n    F.linear(x, w), torch.bmm(z, z)"
)


def test_what_ran_in_the_libraries_in_a_program(command: InProcess, tmp_path: Path) -> None:
    """Of each builtin that was stepped: at the frames, and where stepping was cut at the call.

    So of an operator that syntax calls, and of a node of backward, which no event of Python's ends.
    """
    (tmp_path / "program.py").write_text(SCRIPT + SYNTAX, encoding="utf-8")
    made = command("trace", "--script", str(tmp_path / "program.py"), "--json")
    if not made.data["captured"]["native"]:
        pytest.skip("no native pass here")
    told = [(hop["phase"], *hop["library"].values()) for hop in made.hops if hop["library"]]
    expected = {call for call in printed() if call[1] == "SGEMM_BATCH"}
    named = {(library, what, implementation, problem) for _, library, what, problem, implementation, *_ in told}
    assert named >= expected, json.dumps(told)
    reasons = [why for hop in made.hops for why in hop["why"] if why["code"] == "told-of-such-call"]
    listed = {
        (call["library"], call["what"], call.get("implementation"), call["problem"])
        for why in reasons
        for call in why["calls"]
    }
    for library, what, implementation, problem in printed():
        if library == "oneDNN":
            assert (library, what, implementation, problem) in named | listed
    forward, backward = dict.fromkeys(printed(SYNTAX))
    small = [(phase, call, problem) for phase, _, call, problem, *_ in told if call == "SGEMM"]
    assert small == [("forward", "SGEMM", forward[3]), ("backward", "SGEMM", backward[3])], json.dumps(told)


CONVOLUTION = ("torch.conv2d(x, w)", "torch.randn(1, 3, 16, 16)", "torch.randn(8, 3, 3, 3)")
LARGE = ("torch.conv2d(x, w)", "torch.randn(1, 3, 224, 224)", "torch.randn(64, 3, 7, 7)")
TWO = ("[torch.conv2d(x, w), torch.conv2d(x, w)]", *CONVOLUTION[1:])


@pytest.mark.words
@pytest.mark.parametrize(
    ("given", "asked"),
    [(CONVOLUTION, ("--native-op", "conv2d")), (LARGE, ()), (TWO, ("--native-op", "conv2d#2"))],
    ids=["asked", "large", "two"],
)
def test_one_operator_call_that_was_stepped(
    command: InProcess, given: tuple[str, str, str], asked: tuple[str, ...]
) -> None:
    """All that the libraries tell is of it, if the expression calls no other; a tree that was cut has the first."""
    expression, x, w = given
    made = command("trace", expression, "--var", f"x={x}", "--var", f"w={w}", *asked, "--json")
    if not made.data["captured"]["native"]:
        pytest.skip("no native pass here")
    alone = printed(f"import torch\ntorch.set_num_threads(1)\nx, w = {x}, {w}\n{expression}")
    told = [hop["library"] for hop in made.hops if hop["library"]]
    found = [(said["library"], said["what"], said["implementation"], said["problem"]) for said in told]
    assert found == alone[: len(found)] if given is not TWO else not found
    if given is CONVOLUTION:
        assert len(found) == len(alone)
        return
    sentences = [finding["text"] for finding in made.data["findings"] if finding["kind"] == "libraries"]
    if given is LARGE and not sentences:  # else a busy machine had no time to come to this limit
        sentences = [why["text"] for hop in made.hops if hop["op"] == "aten::conv2d" for why in hop["why"]]
    for library, what, implementation, problem in alone:
        told_of = f"{library}'s {what}{f' by {implementation}' if implementation else ''} ({problem})"
        assert any(told_of in text for text in sentences), sentences


@pytest.mark.words
def test_a_closed_row_names_what_a_library_computed_and_not_the_copies_alone(command: InProcess) -> None:
    """A recurrent network's first screen has no room for what is inside of each `addmm`: the bias is copied first."""
    alone = """
import torch
torch.set_num_threads(1)
net, x = torch.nn.RNN(3, 4, 2), torch.randn(2, 2, 3)
net(x)
"""
    assert {"SGEMM"} == {what for _, what, _, _ in printed(alone)}
    shown = command("trace", "net(x)", "--setup", "net = torch.nn.RNN(3, 4, 2)", "--var", "x=torch.randn(2, 2, 3)",
                    "--view", "path", env={"COLUMNS": "110"})  # fmt: skip
    if "share" not in shown.out:
        pytest.skip("no native pass here")
    told = [line for line in shown.out.splitlines() if "aten::addmm" in line]
    assert told, shown.out
    assert all("copy_kernel, MKL SGEMM" in line for line in told), shown.out


def test_it_never_mixes_with_what_the_expression_prints(command: InProcess) -> None:
    """Neither is theirs shown as the expression's own, nor what the expression prints taken for theirs."""
    fake = "onednn_verbose,v1,primitive,exec,cpu,matmul,mine,undef,src,,,9x9,1.5"
    shown = command("trace", f"(print({fake!r}), a @ b)[1]")
    assert "by mine" not in shown.out
    assert shown.err.count(fake) == 1
    assert "MKL_VERBOSE" not in shown.out + shown.err


@pytest.mark.words
@pytest.mark.parametrize("driver", ["gelsy", "gelsd"])
def test_the_call_that_asks_for_a_workspace_is_no_solve(command: InProcess, driver: str) -> None:
    """MKL prints two calls of LAPACK's function: the first with an LWORK of -1, the second solves."""
    expression = f"torch.linalg.lstsq(p, q, driver='{driver}').solution"
    setup = "import torch\ntorch.set_num_threads(1)\ntorch.manual_seed(0)\np, q = torch.rand(4, 3), torch.rand(4, 2)\n"
    given = ("--var", "p=torch.rand(4, 3)", "--var", "q=torch.rand(4, 2)")
    made = command("trace", expression, *given, "--json")
    if not made.data["captured"]["native"]:
        pytest.skip("no native pass here")
    alone = [what for library, what, _, _ in printed(setup + expression) if library == "MKL" and what[1:4] == "GEL"]
    assert alone == [f"S{driver.upper()}"] * 2
    calls = [hop for hop in made.hops if hop["library"] and hop["library"]["what"] == alone[0]]
    if "+cu" in torch_version() and not calls:  # the MKL of such a build has no names by which they could be told apart
        assert any("it is not known which belong together" in found["text"] for found in made.data["findings"])
        return
    assert [call["library"]["query"] for call in calls] == [True, False]
    assert calls[0]["instructions"] < calls[1]["instructions"]
    shown = command("trace", expression, *given, "--view", "path", env={"COLUMNS": "160"}).out
    rows = [line for line in shown.splitlines() if f"MKL {alone[0]}" in line and "as MKL reports" in line]
    assert len(rows) == 1, shown
    assert "<1%" not in rows[0], shown
