"""Why a tensor was copied, and what errors say of strides: each against what the same tensors say in a plain torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from ptexplore.model.details import Copies, WritesNewTensor
from ptexplore.model.reasons import NotJoined
from ptexplore.view.trace.amounts import size
from ptexplore.view.words.details import described
from ptexplore.view.words.reasons import sentence
from tests.harness import InProcess

pytestmark = pytest.mark.e2e
functional = torch.nn.functional
EXPRESSION = "(x.t().reshape(-1), v.clone(), x.t().clone(), y.half(), F.conv2d(image, weight), y.contiguous())"
VARIABLES = {
    "x": "torch.randn(3, 4)",
    "v": "torch.arange(25).reshape(5, 5)[::2]",
    "y": "torch.randn(4, 3)",
    "image": "torch.randn(2, 3, 16, 16).to(memory_format=torch.channels_last)",
    "weight": "torch.randn(8, 3, 3, 3)",
}
NAMES = {"torch": torch, "F": functional}


def given(**variables: str) -> list[str]:
    return [part for name, value in variables.items() for part in ("--var", f"{name}={value}")]


def outermost(hops: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """The first call of an operator that copies, as the trace has it."""
    return next(hop for hop in hops if hop["kind"] == "op" and hop["copy"] and hop["name"].startswith(f"aten::{name}"))


def test_copies_have_the_strides_of_torchs_own_tensors(command: InProcess) -> None:
    made = command("trace", EXPRESSION, *given(**VARIABLES), "--no-native", "--json")
    values = {name: eval(text, dict(NAMES)) for name, text in VARIABLES.items()}
    x, v, y, weight = (values[name] for name in ("x", "v", "y", "weight"))
    reshape = outermost(made.hops, "reshape")
    copy = reshape["copy"]
    assert (copy["bytes"], copy["source"]["strides"], copy["result"]["strides"]) == (48, [1, 4], [3, 1])
    assert copy["source"]["strides"] == list(x.t().stride())
    (why,) = [reason for reason in reshape["why"] if reason["code"] == "not-joined"]
    assert why["text"] == sentence(NotJoined(0, 1, 1, 3, 4))
    clones = [hop for hop in made.hops if hop["kind"] == "op" and hop["name"] == "aten::clone" and hop["copy"]]
    told = {tuple(hop["copy"]["source"]["strides"]): tuple(hop["copy"]["result"]["strides"]) for hop in clones}
    for tensor in (v, x.t()):
        assert told[tensor.stride()] == tensor.clone().stride()
    reasons = {tuple(hop["copy"]["source"]["strides"]): [why["code"] for why in hop["why"]] for hop in clones}
    assert "not-dense" in reasons[v.stride()]
    assert torch.ops.aten.is_non_overlapping_and_dense(v) is False
    cast = outermost(made.hops, "_to_copy")["copy"]
    assert (cast["source"]["dtype"], cast["result"]["dtype"]) == ("float32", "float16")
    assert cast["bytes"] == y.half().numel() * y.half().element_size()
    contiguous = outermost(made.hops, "contiguous")
    asked = weight.contiguous(memory_format=torch.channels_last)
    assert (contiguous["copy"]["argument"], contiguous["copy"]["is_view"]) == ("weight", False)
    assert contiguous["copy"]["result"]["strides"] == list(asked.stride())
    assert [why for why in contiguous["why"] if why["code"] == "format-wanted"][0]["format"] == "channels_last"
    copies = [hop for hop in made.hops if hop["name"] == "aten::copy_" and hop["copy"]]
    assert len(copies) == 5  # y is contiguous, so contiguous() returns it
    convolution = next(hop for hop in made.hops if hop["name"] == "aten::conv2d")
    strides = {tensor["name"]: tuple(tensor["strides"]) for tensor in convolution["tensors"]}
    assert strides == {"input": values["image"].stride(), "weight": weight.stride()}


@pytest.mark.words
def test_a_call_that_need_not_copy_says_that_it_did_not(command: InProcess) -> None:
    """Whether it copied is judged by plain torch: the result has the memory of the tensor, or memory of its own."""
    calls = (
        "y.contiguous()",
        "y.to(torch.float32)",
        "y.reshape(6)",
        "y.t().contiguous()",
        "y.half()",
        "y.t().reshape(6)",
    )
    made = command("trace", f"({', '.join(calls)})", "--var", "y=torch.randn(2, 3)", "--no-native", "--view", "path")
    y = torch.randn(2, 3)
    rows = [line for line in made.out.splitlines() if "copies" in line or "casts" in line]
    own = [eval(call, dict(NAMES), {"y": y}).data_ptr() == y.data_ptr() for call in calls]
    assert ["copies nothing" in row for row in rows] == own


def test_a_conjugate_is_copied_when_its_values_are_needed(command: InProcess) -> None:
    x = torch.randn(3, dtype=torch.complex64)
    assert x.conj().is_conj()
    made = command(
        "trace", "x.conj().resolve_conj()", *given(x="torch.randn(3, dtype=torch.complex64)"), "--no-native", "--json"
    )
    resolved = outermost(made.hops, "resolve_conj")
    assert [(why["code"], why["bit"]) for why in resolved["why"] if why["code"] == "bit-set"] == [
        ("bit-set", "conjugate")
    ]


def test_the_first_screen_says_why_a_reshape_copied(command: InProcess, tmp_path: Path) -> None:
    saved = str(tmp_path / "copied.trace")
    ran = command("trace", "x.t().reshape(-1)", *given(x="torch.randn(3, 4)"), "--no-native", "--save", saved)
    words = described((Copies(what=("48 B",), strides=("(1, 4)", "(3, 1)")),))
    assert " ".join(words.split()) in " ".join(ran.out.split())
    shown = command("trace", "--load", saved, "--view", "copies", "--json")
    (row,) = json.loads(shown.out)["view"]["table"]
    assert (row["name"], row["cells"]) == ("aten::reshape", ["48 B", "1", "x.t().reshape(-1)"])


@pytest.mark.parametrize(
    ("expression", "variables", "what", "code"),
    [
        (
            "h.view(2, -1)",
            {"h": "torch.randn(2, 64, 16).transpose(1, 2)"},
            {"self": "float32[2, 16, 64] cpu strides (1024, 1, 16)"},
            {"code": "not-joined", "first": 1, "second": 2, "stride": 1, "inner_size": 64, "inner_stride": 16},
        ),
        (
            "e.add_(1)",
            {"e": "torch.zeros(3, 1).expand(3, 4)"},
            {"self": "float32[3, 4] cpu strides (1, 0)"},
            {"code": "one-in-memory", "argument": "self", "dimension": 1, "size": 4},
        ),
    ],
)
def test_an_error_names_the_dimensions(
    command: InProcess, expression: str, variables: dict[str, str], what: dict[str, str], code: dict[str, Any]
) -> None:
    ran = command("trace", expression, *given(**variables), "--no-native", "--json")
    ending = json.loads(ran.out)["ending"]
    told = dict(ending["given"])
    assert {name: told[name] for name in what} == what
    assert {name: value for name, value in ending["in_memory"].items() if name != "text"} == code


def test_an_error_under_vmap_says_which_argument_it_mapped_over(command: InProcess) -> None:
    expression = "torch.vmap(lambda x: torch.zeros(()).copy_(x))(v)"
    ending = json.loads(command("trace", expression, *given(v="torch.randn(3)"), "--no-native", "--json").out)["ending"]
    told = dict(ending["given"])
    assert told["src"].endswith("in vmap level 1")
    assert "vmap" not in told["self"]


SCRIPT = """\
import torch
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.Flatten())
image = torch.randn(2, 3, 16, 16).to(memory_format=torch.channels_last)
def work(x):
    y = x.permute(0, 2, 3, 1)[:, ::2].reshape(2, -1)
    return y.half(), y.t().contiguous()
for _ in range(3):
    net(image)
    work(torch.randn(2, 3, 16, 16))
torch.zeros(3, 4).copy_(torch.ones(4))
"""


def test_a_programs_copies_with_their_lines(command: InProcess, tmp_path: Path) -> None:
    script = tmp_path / "copying.py"
    script.write_text(SCRIPT, encoding="utf-8")
    made = command("trace", "--script", str(script), "--native-budget", "0", "--view", "copies", "--json")
    rows = {row["name"]: row for row in json.loads(made.out)["view"]["table"]}
    told = {name: tuple(row["cells"][1:]) for name, row in rows.items()}
    assert told["aten::reshape"] == ("3", "copying.py:5")
    assert told["aten::contiguous"] == ("3", "copying.py:6")
    assert told["aten::contiguous in aten::conv2d"] == ("3", "copying.py:8")
    assert told["aten::copy_"] == ("1", "copying.py:10")
    (flattened,) = [row for row in rows.values() if row["cells"][2] == "copying.py:8" and "flatten" in row["name"]]
    assert flattened["cells"][0] == "37.6 kB"  # three times 2 × 8 × 14 × 14 floats
    reshape = rows["aten::reshape"]
    x = torch.empty(2, 3, 16, 16).permute(0, 2, 3, 1)[:, ::2]
    assert reshape["details"][0]["strides"] == [str(x.stride()), str(x.contiguous().stride())]
    (why,) = [detail["reason"] for detail in reshape["details"] if detail["code"] == "because-of"]
    pairs = [(pair["first"], pair["second"], pair["stride"]) for pair in why["pairs"]]
    assert (2, 3, x.stride(2)) in pairs


RAISES = """\
import torch
def flat(x):
    return x.view(2, -1)
flat(torch.randn(2, 64, 16))
flat(torch.randn(2, 8, 4).transpose(1, 2))
"""


def test_an_error_in_a_script_has_the_tensors_of_the_call_that_raised(command: InProcess, tmp_path: Path) -> None:
    """The calls before it had other sizes and strides."""
    script = tmp_path / "raising.py"
    script.write_text(RAISES, encoding="utf-8")
    made = command("trace", "--script", str(script), "--native-budget", "0", "--json")
    ending = json.loads(made.out)["ending"]
    assert ending["given"] == [["self", "float32[2, 4, 8] cpu strides (32, 1, 4)"]]
    pairs = [(pair["first"], pair["second"]) for pair in ending["in_memory"]["pairs"]]
    assert pairs == [(1, 2), (0, 1)]


SOURCES = {
    "q": "torch.randn(2, 4, 16, 8)",
    "x": "torch.randn(64, 64)",
    "y": "torch.randn(12, 64, 1)",
    "w": "torch.randn(3, 4, 5)",
}


@pytest.mark.words
@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("torch.einsum('bhid,bhjd->bhij', q, q)", "q"),
        ("torch.matmul(x, y)", "xy"),
        ("torch.tensordot(w, w.permute(1, 2, 0), 2)", "w"),
        ("torch.tensordot(w, w, ([1, 2], [1, 2]))", "w"),
    ],
)
def test_a_call_says_that_the_reshapes_inside_copy_nothing(command: InProcess, expression: str, names: str) -> None:
    """Whether one copied is judged by torch's own profiler."""
    values = {name: eval(SOURCES[name], dict(NAMES)) for name in names}
    with torch.profiler.profile() as profile:
        eval(expression, dict(NAMES), values)
    events = [event.name for event in profile.events()]
    assert "aten::reshape" in events
    made = command(
        "trace", expression, *given(**{name: SOURCES[name] for name in names}), "--no-native", "--view", "path"
    )
    assert ("inside: copies nothing" in made.out) == ("aten::copy_" not in events), made.out


@pytest.mark.words
@pytest.mark.parametrize(
    ("expression", "is_known"),
    [
        ("torch.stack([x, x])", True),
        ("torch.cat([y] * 300, 1)", True),
        ("torch.cat([x.half(), x])", False),  # the result has a dtype of its own
        ("torch.gather(x, 1, torch.zeros(64, 3, dtype=torch.int64))", True),
        ("x.flip(0)", True),
        ("x[torch.tensor([1, 2])]", False),
    ],
)
def test_a_call_that_writes_a_new_tensor_says_how_much(command: InProcess, expression: str, is_known: bool) -> None:
    names = {name: SOURCES[name] for name in "xy"}
    result = eval(expression, dict(NAMES), {name: eval(text, dict(NAMES)) for name, text in names.items()})
    made = command("trace", expression, *given(**names), "--no-native", "--view", "path")
    words = described((WritesNewTensor(bytes=size(result.nbytes) if is_known else ""),))
    assert words in " ".join(made.out.split()), made.out
    assert is_known or f"{words}," not in " ".join(made.out.split()), made.out


@pytest.mark.words
def test_a_call_on_tensors_without_data_copies_and_writes_nothing(command: InProcess) -> None:
    words = described((WritesNewTensor(bytes=""),)).strip()
    asked = ("torch.stack([z.t().contiguous()])", "--var", "z=torch.ones(3, 4, device='meta')", "--no-native")
    assert words not in command("trace", *asked, "--view", "path").out
    assert not any(hop["copy"] for hop in command("trace", *asked, "--json").hops)
