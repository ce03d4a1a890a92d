"""The instrumented expression means what the plain one means: value, order of evaluation, frames, errors."""

from __future__ import annotations

import ast
import importlib
import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch")
dispatch = importlib.import_module("ptexplore.probe.dispatch")


class Log:
    """Values that tell when they are looked at."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, name: str, value: Any = None) -> Any:
        self.seen.append(name)
        return value


def both(expression: str, **names: Any) -> tuple[Any, Any, Any]:
    """The outcome of the plain and of the instrumented expression, each (value or error, log), and the recorder."""
    outcomes = []
    recorder = None
    for instrumented in (False, True):
        log = Log()
        torch.manual_seed(0)
        scope = {"log": log, "torch": torch, "a": torch.ones(3, 3), "b": torch.full((3, 3), 2.0), **names}
        tree = ast.parse(expression, mode="eval")
        if instrumented:
            tree, sites = dispatch.rewrite(tree, expression)
            recorder = dispatch.CallRecorder(sites)
            scope[dispatch.HELPER] = recorder
        code = compile(tree, "<expression>", "eval")
        try:
            value = eval(code, scope)
        except Exception as error:
            value = (type(error), str(error))
        outcomes.append((value, log.seen))
    assert recorder is not None
    return *outcomes, recorder


MEANINGS = [
    "log('f', max)(log('x', 1), *log('y', [2, 5]), key=log('k', lambda v: -v), **log('z', {'default': 0}))",
    "log('f', max)(log('x', 1), log('y', 2), **log('z', {}))",
    "log('a', 1) < log('b', 2) < log('c', 3) < log('d', 0) < log('e', 9)",
    "log('a', 3) < log('b', 2) < log('c', 3)",
    "log('a', 1) in log('b', [1]) in log('c', [[1]])",
    "log('a', 1) is not log('b', 2) == log('c', 2) not in log('d', [2])",
    "log('a', 0) or log('b', 5) and log('c', 0) or log('d', 7)",
    "log('a', 1) if log('t', []) else log('b', 2)",
    "[(y := log(str(i), i * 2)) + y for i in log('iter', range(3)) if log('if', i)]",
    "{log('k', 1): log('v', 2), **log('rest', {3: 4})}",
    "(z := log('z', 4)) + z",
    "[*log('a', (1, 2)), *log('b', (3,))]",
    "log('o', [1, 2, 3, 4])[log('l', 1):log('u', None):log('s', 2)]",
    "sum(x * x for x in log('xs', (1, 2, 3)))",
    "(lambda q, *r, s=1, **t: (q, r, s, t))(1, 2, 3, s=4, u=5)",
    'f\'{log("f", 3):>{log("w", 5)}}|{1 + 1!r}\'',
    "not log('a', 0), -log('b', 5), ~log('c', 5), +log('d', 5)",
    "2 ** -1, -2 ** 2, 7 // 2 % 2, 1 << 3 | 1 & 3 ^ 2",
    "locals() is globals(), 'log' in dir(), eval('log') is log",
    "next((i for i in [1, 2]), 0), next(iter(()), 'none')",
    "list[int], dict[str, int]",
    "'%s' % 'x', 'a' * 3, [1] + [2], (1,) < (2,)",
    "torch.tensor([1.0, 2.0])[None, ...].shape, torch.arange(9).view(3, 3)[1:, 0].tolist()",
    "(2 - torch.ones(2)).tolist(), (torch.ones(2) - 2).tolist(), (2 ** torch.ones(2)).tolist()",
    "(torch.ones(2) < 2).tolist(), (2 > torch.ones(2)).tolist(), bool(torch.ones(1)), not torch.zeros(1)",
    "1.0 in torch.ones(2), 3.0 not in torch.ones(2)",
    "torch.ones(2).T.shape, torch.ones(2).is_cuda, torch.ones(2, requires_grad=True).grad",
    "torch.add(input=torch.ones(2), other=torch.ones(2), alpha=3).tolist()",
    "divmod(torch.tensor(7), 2)[0].item() if False else abs(torch.tensor(-7)).item()",
    # errors
    "log('a', max)(log('b', 1), missing, log('c'))",
    "torch.mm(a, torch.ones(2, 2))",
    "a < b < a",
    "a.nope(log('b'))",
    "a @ 'text'",
    "[][0]",
    "a[5]",
]


@pytest.mark.parametrize("expression", MEANINGS)
def test_same_meaning(expression: str) -> None:
    plain, instrumented, _ = both(expression)
    assert instrumented == plain


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a traceback has no columns before")
@pytest.mark.parametrize(
    "expression",
    [
        "a.sum() + {}['k']",
        "[log('a', 1), log('b', ()).real, a.T]",
        "a.sum(), a.T.grad_fn.name, a.exp()",
        "-log('text', 't') if log('if', 1) else a",
        "log('i', 1) + log('t', 't')",
        "[x / 0 for x in (1,)][0]",
        "3 in log('number', 3)",
    ],
)
def test_the_part_that_raised_without_a_call_is_what_pythons_traceback_marks(expression: str) -> None:
    *_, recorder = both(expression)
    try:
        eval(compile(expression, "<expression>", "eval"), {"log": Log(), "torch": torch, "a": torch.ones(3, 3)})
    except Exception as error:
        step = error.__traceback__
        while step is not None and step.tb_frame.f_code.co_filename != "<expression>":
            step = step.tb_next
        assert step is not None
        while step.tb_next is not None:  # a comprehension is a function of its own
            step = step.tb_next
        at = list(step.tb_frame.f_code.co_positions())[step.tb_lasti // 2]  # type: ignore[attr-defined]
        assert recorder.part == expression[at[2] : at[3]] != ""
        assert recorder.left == []
        assert not recorder._open


@pytest.mark.parametrize("expression", ["len(Given())", "Given().size()", "size(given=Given())", "abs(len(Given()))"])
def test_what_a_call_lets_go_of_goes_behind_its_marker(expression: str) -> None:
    """As Python has it: a builtin has returned when what it was given is destroyed."""
    open_calls = []

    class Given:
        def __len__(self) -> int:
            return 3

        size = __len__

        def __del__(self) -> None:
            open_calls.append([recorder.sites[call.site]["source"] for call in recorder._open])

    tree, sites = dispatch.rewrite(ast.parse(expression, mode="eval"), expression)
    recorder = dispatch.CallRecorder(sites)
    scope = {"Given": Given, "size": lambda given: 3, dispatch.HELPER: recorder}
    assert eval(compile(tree, "<expression>", "eval"), scope) == 3
    assert open_calls == [[]]


def test_frames_are_the_expressions_own() -> None:
    def caller() -> str:
        import sys

        return sys._getframe(1).f_code.co_filename

    plain, instrumented, _ = both("[who(), (lambda: who())(), [who() for _ in (1,)]]", who=caller)
    assert instrumented == plain
    assert plain[0] == ["<expression>", "<expression>", ["<expression>"]]


class Loud(torch.Tensor):
    """A tensor class that overrides a reflected operator, and torch functions."""

    asked: int = 0

    def __radd__(self, other: Any) -> str:
        return "mine"

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.asked += 1
        return super().__torch_function__(function, types, args, kwargs or {})


def test_derived_class_goes_first() -> None:
    loud = torch.ones(3, 3).as_subclass(Loud)
    plain, instrumented, recorder = both("a + loud", loud=loud)
    assert plain == instrumented == ("mine", [])
    assert recorder.calls[0]["callable"]["qualname"] == "Loud.__radd__"
    assert [x["name"] for x in recorder.calls[0]["arguments"]] == ["self", "other"]
    assert recorder.calls[0]["arguments"][0]["description"].startswith("Loud")


def test_looking_at_an_argument_does_not_run_its_class() -> None:
    counts = []
    loud = torch.ones(3, 3).as_subclass(Loud)
    for expression in ("loud.sum()", "loud.sum()"):
        Loud.asked = 0
        both(expression, loud=loud)
        counts.append(Loud.asked)
    Loud.asked = 0
    loud.sum()
    assert counts == [2 * Loud.asked] * 2


@pytest.mark.parametrize(
    ("expression", "target"),
    [
        ("torch.add(a, b)", ("builtin", "torch", "add", "torch.add")),
        ("a.add_(b)", ("builtin", "Tensor", "add_", "torch.Tensor.add_")),
        ("torch.nn.functional.linear(a, b)", ("builtin", "nn", "linear", "torch._C._nn.linear")),
        ("torch.linalg.det(a)", ("builtin", "linalg", "linalg_det", "torch._C._linalg.linalg_det")),
        ("a @ b", ("method", "Tensor", "__matmul__", "torch.Tensor.__matmul__")),
        ("a + 1", ("method", "Tensor", "__add__", "torch.Tensor.__add__")),
        ("1 + a", ("method", "Tensor", "__radd__", "torch.Tensor.__radd__")),
        ("a[0]", ("slot", "Tensor", "__getitem__", "torch.Tensor.__getitem__")),
        ("a.T", ("attribute", "Tensor", "T", "torch.Tensor.T")),
        ("2 - a", ("python", None, "__rsub__", "torch.Tensor.__rsub__")),
        ("torch.nn.Linear(3, 3)", ("class", None, None, "Linear")),
        ("torch.einsum('ij->ji', a)", ("python", None, None, "einsum")),
    ],
)
def test_what_it_resolves_to(expression: str, target: tuple[str | None, ...]) -> None:
    _, _, recorder = both(expression)
    found = recorder.calls[0]["callable"]
    assert tuple(found.get(name) for name in ("kind", "table", "method", "qualname")) == target
    if target[0] in ("python", "class"):
        assert found["file"].endswith(".py")


def test_nested_calls_come_in_order_of_execution() -> None:
    _, _, recorder = both("torch.add(a @ b, a.T[0]) if a.sum() > 0 else -b")
    assert [c["source"] for c in recorder.calls] == [
        "a.sum()", "a.sum() > 0", "a @ b", "a.T", "a.T[0]", "torch.add(a @ b, a.T[0])",
    ]  # fmt: skip


def test_arguments_are_named_by_place_or_keyword() -> None:
    _, _, recorder = both("torch.add(a, other=b)")
    assert [x["name"] for x in recorder.calls[0]["arguments"]] == ["0", "other"]
    _, _, recorder = both("torch.stack([a, b])")
    assert [x["name"] for x in recorder.calls[0]["arguments"]] == ["0[0]", "0[1]"]


def test_an_exception_leaves_no_marker_open() -> None:
    _, _, recorder = both("torch.add(a, torch.mm(a, torch.ones(2, 2)))")
    with recorder:
        pass
    assert not recorder._open


def test_tensors_from_before_what_is_there_was_settled_are_held_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "_settled", [])
    early = torch.ones(3)
    dispatch.settle()
    late = torch.ones(2)
    assert {int(early._cdata), int(late._cdata)} <= {tensor["impl"] for tensor in dispatch.Held().data}


def test_a_function_of_pybinds_is_named_by_the_class_that_has_it() -> None:
    """Python makes a builtin's `__qualname__` of what it is bound to, which is a record of pybind11's own."""
    graph = torch._C.Graph()
    assert "Graph" not in graph.addInput.__qualname__, "else this says nothing"
    assert dispatch._bound_by_others(graph.addInput) == "Graph.addInput"
    assert dispatch._bound_by_others(torch._C.parse_schema) == "parse_schema"
    for own in ([].append, len, dict.fromkeys, torch.ones(1).add, torch.add, Log):
        assert dispatch._bound_by_others(own) is None
