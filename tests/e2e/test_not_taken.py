"""What the text allows and did not run is no step: the stubs that were called, against gdb; symbols' files, with nm."""

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

from tests.harness import TARGET, THOROUGH, Cli, InProcess

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.uname().machine != "x86_64" or sys.platform != "linux", reason="stepping is x86-64 Linux"),
]
CALLS = (
    ("F.softmax(a, -1)", "a = torch.rand(3, 3)"),
    ("F.conv2d(x, w)", "x, w = torch.rand(1, 3, 8, 8), torch.rand(4, 3, 3, 3)"),
    ("F.cross_entropy(a, t)", "a, t = torch.rand(3, 3), torch.tensor([0, 1, 2])"),
    ("torch.cat([a, a])", "a = torch.rand(3, 3)"),
    ("a.index_put_((t,), b, accumulate=True)", "a, b, t = torch.rand(3, 3), torch.rand(3, 3), torch.tensor([0, 1, 2])"),
    ("torch.std(a)", "a = torch.rand(3, 3)"),
    ("torch.where(a > 0, a, a)", "a = torch.rand(3, 3)"),
    ("F.gelu(a)", "a = torch.rand(3, 3)"),
)
GUESSED = ("stub", "impl", "native")  # what the text of a kernel says that it calls


def steps(command: InProcess, expression: str, setup: str) -> tuple[set[str], set[str]]:
    """The stubs that a trace has as steps, and those that it says were not called."""
    made = command("trace", expression, "--setup", setup, "--json")
    assert not [finding for finding in made.data["findings"] if finding["kind"] == "cut"]
    assert not [hop["name"] for hop in made.hops if hop["kind"] in GUESSED and hop["status"] == "predicted"]
    idle = {call["stub"] for hop in made.hops for call in hop["not_taken"]}
    return {hop["name"] for hop in made.hops if hop["kind"] == "stub"}, idle


@pytest.mark.parametrize(("expression", "setup"), CALLS if THOROUGH else CALLS[:2])
def test_no_step_of_a_whole_trace_is_a_guess(sourced_command: InProcess, expression: str, setup: str) -> None:
    called, idle = steps(sourced_command, expression, setup)
    assert called or idle


def called_by_gdb(cli: Cli, folder: Path) -> list[set[str]]:
    """For each call the stubs that `this` was, at each stop in get_call_ptr during the call's last run."""
    gdb = shutil.which("gdb")
    if gdb is None:
        pytest.skip("needs gdb (scripts/test installs it where it can)")
    program = folder / "program.py"
    lines = ["import os, torch", "import torch.nn.functional as F", "torch.set_num_threads(1)"]
    for expression, setup in CALLS:
        lines += [setup, *([expression] * 2), "os.getppid()", expression, "os.getppid()"]
    program.write_text("\n".join(lines), encoding="utf-8")
    commands = folder / "commands"
    commands.write_text(
        "set debuginfod enabled off\nset pagination off\nset breakpoint pending on\nset confirm off\n"
        "break getppid\ncommands\nsilent\nprintf \"MARK\\n\"\ncontinue\nend\n"
        "break at::native::DispatchStubImpl::get_call_ptr\ncommands\nsilent\ninfo symbol $rdi\ncontinue\nend\n"
        "run\n",
        encoding="utf-8",
    )  # fmt: skip
    command = [gdb, "-nx", "-batch", "-x", str(commands), "--args", TARGET or sys.executable, str(program)]
    done = subprocess.run(
        command, env=cli.environment(), cwd=folder, capture_output=True, text=True, timeout=500, check=False
    )
    parts: list[set[str]] = [set()]
    for line in done.stdout.splitlines():
        if line == "MARK":
            parts.append(set())
        elif symbol := re.match(r"(at::\S+) in section", line):
            parts[-1].add(symbol[1])
    assert len(parts) == 2 * len(CALLS) + 1, done.stdout[-2000:] + done.stderr[-2000:]
    return parts[1::2]


@pytest.mark.skipif(not THOROUGH, reason="scripts/test --matched runs it, or PTEXPLORE_TEST_THOROUGH=1")
def test_gdb_stops_in_the_stubs_that_are_steps(sourced_command: InProcess, cli: Cli, tmp_path: Path) -> None:
    """Each stub that is a step was called; none was that a function is said not to have called."""
    for (expression, setup), theirs in zip(CALLS, called_by_gdb(cli, tmp_path), strict=True):
        called, idle = steps(sourced_command, expression, setup)
        assert called <= theirs, expression
        assert not idle & theirs, expression


def recorded(command: InProcess, folder: Path, *asked: str) -> dict[str, Any]:
    """What the native pass recorded."""
    saved = folder / "session"
    assert command("trace", *asked, "--save", str(saved)).code == 0
    session = json.loads(saved.read_text(encoding="utf-8"))["session"]
    part: dict[str, Any] = next(seen["data"] for seen in session["observations"] if seen["kind"] == "calls")
    return part


def test_the_file_of_a_local_symbol_is_the_one_that_defines_it(command: InProcess, cli: Cli, tmp_path: Path) -> None:
    """The regenerated text of that file has the name."""
    part = recorded(command, tmp_path, "F.softmax(a, -1)")
    generated = [
        (name, part["units"][str(number)])
        for number, (_, _, mangled, name) in enumerate(part["functions"])
        if "_GLOBAL__N_1" in mangled and part["units"].get(str(number), "").startswith("Register")
    ]
    assert generated
    for name, unit in generated:
        words = set(re.findall(r"\w+", cli.text_of(f"build/aten/src/ATen/{unit}")))
        own = re.findall(r"\(anonymous namespace\)::(\w+)", name)
        assert set(own) & words, (name, unit)


WRAP = "wrap_kernel_functor_unboxed_"


def test_the_boundarys_specialisation_is_that_of_its_function_type(sourced_command: InProcess) -> None:
    """By the text at the line: the head above it asks for a DispatchKeySet just where the symbol's type has one."""
    made = sourced_command("trace", "torch.add(a, b)", "--grad", "--json")
    hops = [hop for hop in made.hops if hop["name"] == f"c10::impl::{WRAP}::call"]
    kinds = set()
    for hop in hops:
        assert hop["source"]["line"] is not None, hop["source"]
        text = (
            Path(os.environ["PTEXPLORE_TEST_SOURCE"], hop["source"]["path"])
            .read_text(encoding="utf-8")
            .split("\n")[: hop["source"]["line"]]
        )
        head = "\n".join(text).rpartition(f"struct {WRAP}<")[2].partition("{")[0]
        takes_set = bool(re.search(r"&?, \S+ \(c10::DispatchKeySet\b[^()]*\)>::call\(", hop["native"]["symbol"]))
        assert ("DispatchKeySet" in head) is takes_set
        kinds.add(takes_set)
    assert kinds == {True, False}


def test_the_policy_of_autocast_chooses_its_specialisation(sourced_command: InProcess, sourced: Cli) -> None:
    """By the text: the enumeration's names, counted, say which policy the number in the symbol is."""
    one_call = ("--native-op", "mse_loss", "--with", "torch.autocast('cpu', torch.bfloat16)")
    hops = sourced_command("trace", "F.mse_loss(a, b)", *one_call, "--json").hops
    (kernel,) = [hop for hop in hops if hop["name"].endswith("::WrapFunction_::call")]
    text = sourced.text_of_place(kernel["source"])
    listed = re.sub(r"//.*", "", text.partition("enum class CastPolicy")[2].partition("{")[2].partition("}")[0])
    names = [item.split()[0] for item in listed.split(",") if item.strip()]
    head = "\n".join(text.split("\n")[: kernel["source"]["line"]]).rpartition("struct WrapFunction_<")[2]
    policy = names[int(kernel["native"]["symbol"].partition("CastPolicy)")[2][0])]
    assert policy == "fp32"
    assert head.strip().startswith(f"CastPolicy::{policy},")


def test_what_stands_for_itself_in_the_binary_has_a_reason(sourced_command: InProcess) -> None:
    """What the compiler or the standard library put there names whose it is."""
    hops = sourced_command("trace", "torch.sort(a)", "--json").hops
    standard = [h for h in hops if h["name"].startswith("std::") and h["kind"] == "native"]
    assert standard
    told = {hop["source"]["reason"]["code"] for hop in standard if hop["source"]["path"] is None}
    assert told <= {"standard-library-for"}
    made = [hop["source"]["reason"]["code"] for hop in hops if hop["name"] == "__tls_init"]
    assert set(made) <= {"sets-up-variables"}
