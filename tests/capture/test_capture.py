"""Captures of a real torch: what the recorders see, and what each bad input is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptexplore.capture.probing import TraceRequest
from ptexplore.capture.trace import capture
from ptexplore.errors import PtexploreError
from ptexplore.model.places import Runtime
from ptexplore.model.program_order import units
from ptexplore.model.trace import SavedSession, Session
from ptexplore.saved.document import from_json, to_json
from ptexplore.saved.session import checked, portable
from ptexplore.view.words.errors import in_words
from ptexplore.workspace.typed import typed

pytest.importorskip("torch")


def trace(runtime: Runtime, expression: str | None, **options) -> Session:
    with in_words():
        return capture(typed(TraceRequest(expression=expression, cwd=options.pop("cwd", "/"), **options)), runtime)


def events(session: Session, recorder: str, kind: str = "event") -> list[dict]:
    return [o.as_saved().data for o in session.observations if o.recorder == recorder and o.kind == kind]


def names(session: Session, recorder: str) -> list[str]:
    return [e["name"] for e in events(session, recorder) if e["type"] in ("op", "node")]


def test_three_passes_see_the_same_operators(warm: Runtime) -> None:
    session = trace(warm, "a @ b")
    assert names(session, "ops")[:2] == ["aten::matmul", "aten::mm"]
    assert names(session, "ops") == names(session, "frames") == names(session, "dispatch")


def test_builtin_holds_its_operator(warm: Runtime) -> None:
    seen = events(trace(warm, "torch.add(a, b)"), "frames")
    builtin = next(e for e in seen if e["type"] == "builtin")
    operator = next(e for e in seen if e["type"] == "op")
    assert (builtin["table"], builtin["method"]) == ("torch", "add")
    assert operator["parent"] == builtin["event"]


@pytest.mark.parametrize(
    ("expression", "kind", "method"),
    [
        ("torch.add(a, b)", "builtin", "add"),
        ("a.add_(b)", "builtin", "add_"),
        ("a @ b", "method", "__matmul__"),
        ("a[1:, None]", "slot", "__getitem__"),
        ("2 - a", "python", "__rsub__"),
        ("-a", "method", "neg"),  # which torch.Tensor has under the name __neg__
        ("a < b", "python", "__lt__"),
        ("a.T", "attribute", "T"),
    ],
)
def test_what_the_expression_calls(warm: Runtime, expression: str, kind: str, method: str) -> None:
    call = events(trace(warm, expression), "dispatch", "call")[0]
    if call["callable"]["kind"] != "python" and kind == "python":
        kind = "method"  # comparisons moved from Python to C between versions
    assert call["callable"].get("method", method) == method
    assert call["callable"]["kind"] == kind
    assert call["source"] == expression


def test_key_sets_are_those_of_the_tensors(warm: Runtime) -> None:
    call = events(trace(warm, "torch.add(a, b)"), "dispatch", "call")[0]
    first = call["arguments"][0]
    assert set(first["keys"]) == {"CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU"}
    assert "ADInplaceOrView" in call["tls_include"]["keys"]
    assert "AutocastCPU" in call["tls_exclude"]["keys"]


def test_inference_mode_changes_the_local_sets(warm: Runtime) -> None:
    call = events(trace(warm, "torch.add(a, b)", contexts=("torch.inference_mode()",)), "dispatch", "call")[0]
    assert "AutogradOther" in call["tls_exclude"]["keys"]


def test_instrumented_expression_keeps_its_meaning(warm: Runtime) -> None:
    expression = (
        "[(n := 3) and n + 1, 1 < 2 < 3, [i * 2 for i in range(3)], (lambda q: q[::-1])('ab'), "
        "max(*[1, 5], key=lambda v: -v), {'k': not 0}['k'], (0 or 7) ** 2, f'{1 + 1}', 'abc'[1:3], [*range(2)], "
        "1 if [] else 2, sum(x * x for x in (1, 2)), dict(**{'a': 1}), a[..., 0, None].shape == (3, 1), -True, ~5]"
    )
    session = trace(warm, f"str({expression})")
    expected = "[4, True, [0, 2, 4], 'ba', 1, True, 49, '2', 'bc', [0, 1], 2, 5, {'a': 1}, True, -1, -6]"
    assert session.result.description == repr(expected)
    assert names(session, "ops") == names(session, "dispatch")


def test_backward_links_nodes_by_sequence_number(warm: Runtime) -> None:
    session = trace(warm, "(a * b).sum()", grad=True, backward=True)
    ops = [e for e in events(session, "ops") if e["type"] == "op"]
    forward = {e["sequence"]: e["name"] for e in ops if e["phase"] == "forward"}
    nodes = [e for e in events(session, "ops") if e["type"] == "node"]
    assert [n["name"] for n in nodes][:2] == ["SumBackward0", "MulBackward0"]
    assert all(n["phase"] == "backward" for n in nodes)
    assert forward[nodes[1]["sequence"]] == "aten::mul"
    graph = {g["name"]: g["sequence"] for g in events(session, "ops", "graph")}
    assert graph["MulBackward0"] == nodes[1]["sequence"]


def test_in_place_with_grad_takes_a_clone_and_says_so(warm: Runtime) -> None:
    session = trace(warm, "a.add_(b)", grad=True)
    assert "a clone, so no leaf" in session.bound[0].description
    assert [b.name for b in session.bound] == ["a", "b"]


def test_once_is_one_run(warm: Runtime, tmp_path: Path) -> None:
    counter = tmp_path / "count"
    code = f"open({str(counter)!r}, 'a').write('x') and torch.add(a, b)"
    session = trace(warm, code, once=True)
    assert counter.read_text() == "x"
    assert names(session, "ops") == names(session, "frames") == names(session, "dispatch") == ["aten::add"]
    assert [e["type"] for e in events(session, "dispatch") if e["type"] != "op"][-1] == "call"


def test_script(warm: Runtime, tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text("import torch\nif __name__ == '__main__':\n    print('seen')\n    torch.ones(2) + 1\n")
    session = trace(warm, None, script=str(script))
    assert session.program is not None
    called = [kind.name for unit in units(session.program) for _, kind in unit]
    assert called[0] == "aten::ones"
    assert "aten::add" in called
    assert session.captured.dispatch is False
    assert [o.as_saved().data["text"] for o in session.observations if o.kind == "output"] == ["seen\n"]


@pytest.mark.parametrize("text", [b"def f(:\n", b"\0", b"# coding: nowhere\n", b"x = '\xff'\n"])
def test_a_script_that_is_no_python(warm: Runtime, tmp_path: Path, text: bytes) -> None:
    script = tmp_path / "s.py"
    script.write_bytes(text)
    with pytest.raises(PtexploreError, match="the script does not parse") as caught:
        trace(warm, None, script=str(script))
    assert caught.value.exit_code == 2
    assert caught.value.why
    assert caught.value.hint


def test_neighbour_cannot_stand_in_for_torch(runtime: Runtime, tmp_path: Path) -> None:
    for package in ("torch", "torchgen", "names", "json"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise SystemExit('the wrong one')")
    (tmp_path / "mine.py").write_text("value = 5")
    session = trace(runtime, "torch.add(a, mine.value)", setup=("import mine",), cwd=str(tmp_path))
    assert names(session, "ops")[0] == "aten::add"


def test_same_seed_same_values(warm: Runtime) -> None:
    one, two = (trace(warm, "float(a.sum())").result.description for _ in range(2))
    assert one == two


def test_session_round_trip(warm: Runtime) -> None:
    session = trace(warm, "torch.add(a, b)")
    again = checked(from_json(to_json(portable(session)).encode(), SavedSession, "x"), lambda reason: reason, "x")
    assert [seen.data for seen in again.observations] == [seen.data for seen in session.observations]
    assert again.expression == session.expression


BAD = {
    "torch.add(a,": (2, "does not parse", ""),
    "": (2, "empty", ""),
    "a = 1; b = 2": (2, "2 statements", ""),
    "import os": (2, "statement", ""),
    "troch.add(a, b)": (2, "'troch' is not defined", "torch"),
    "torch.ad(a, b)": (2, "has no 'ad'", "torch.add"),
    "foo(a)": (2, "'foo' is not defined", ""),
    "g(a)": (2, "is called", ""),
    "torch.mm(a, torch.ones(2, 2))": (1, "raised RuntimeError", ""),
    "a.ad_(b)": (1, "raised AttributeError", "add_"),
    "__import__('ctypes').string_at(0)": (1, "killed its process", ""),
    "torch.ones(10**13)": (1, "more memory", ""),
    "bytearray(10**14)": (1, "more memory", ""),
    "__import__('os')._exit(0)": (1, "killed its process", ""),
    "1 / 0": (1, "raised ZeroDivisionError", ""),
    "exit(3)": (1, "raised SystemExit", ""),
    "\0": (2, "does not parse", ""),
}


@pytest.mark.parametrize("expression", BAD)
def test_bad_expression(warm: Runtime, expression: str) -> None:
    code, message, hint = BAD[expression]
    with pytest.raises(PtexploreError) as caught:
        trace(warm, expression)
    assert caught.value.exit_code == code
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_syntax_error_shows_the_place(warm: Runtime) -> None:
    with pytest.raises(PtexploreError) as caught:
        trace(warm, "torch.add(a b)")
    line, caret = caught.value.why.split("\n")
    assert line == "torch.add(a b)"
    assert caret.strip() == "^"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variables": (("x", "torch.randn("),)}, "does not parse"),
        ({"variables": (("x", "torch.mm(a, torch.ones(7, 7))"),)}, "--var x raised RuntimeError"),
        ({"setup": ("m = = 3",)}, "--setup does not parse"),
        ({"setup": ("1 / 0",)}, "--setup raised ZeroDivisionError"),
        ({"contexts": ("3",)}, "is not a context manager"),
        ({"backward": True, "expression": "1 + 1"}, "does not require grad"),
    ],
)
def test_bad_options(warm: Runtime, options: dict, message: str) -> None:
    expression = options.pop("expression", "torch.add(a, b)")
    with pytest.raises(PtexploreError) as caught:
        trace(warm, expression, **options)
    assert caught.value.exit_code == 2
    assert message in caught.value.message


def test_a_python_without_torch(tmp_path: Path, runtime: Runtime) -> None:
    import dataclasses
    import sys
    import venv

    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    bare = dataclasses.replace(runtime, python=str(tmp_path / "bare" / "bin" / "python"))
    with pytest.raises(PtexploreError) as caught:
        trace(bare, "torch.add(a, b)")
    assert caught.value.exit_code == 3
    assert sys.executable not in caught.value.message
