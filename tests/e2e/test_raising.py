"""Traces of what raises: what ran until then, the line that threw, the step that was left, and why.

What is expected is what plain Python raises, what the text at a line says, and what torch's own dispatcher lists.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ptexplore.model.places import Runtime
from ptexplore.model.reasons import ListUntold
from ptexplore.store.catalogue.reader import Store
from ptexplore.view.words.reasons import sentence
from tests.harness import TARGET, THOROUGH, InProcess, as_in_the_repository, nested, torch_version
from tests.torch_says import keeps_columns, torch_says


@pytest.mark.parametrize("options", [(), ("--no-native",)])
def test_a_node_that_has_the_apply_of_a_base_class_stands_in_the_engine(
    command: InProcess, options: tuple[str, ...]
) -> None:
    """`NotImplemented` is a struct of its own over Error, which throws (autograd/functions/basic_ops.h)."""
    ending = ending_of(command, "(a // 2).sum()", "--backward", *options)
    nodes = [hop for hop in ending["hops"] if hop["kind"] == "node" and hop["phase"] == "backward"]
    assert [hop["name"].split("::")[-2] for hop in nodes] == ["SumBackward0", "NotImplemented"]
    path = left(ending)
    if not path:  # C++ threw it as an exception of its own, which keeps no line, and Python raised nothing itself
        assert torch_version().startswith("2.6")
    else:
        assert nodes[1]["id"] in [hop["id"] for hop in path]
    by_id = {hop["id"]: hop for hop in ending["hops"]}
    if not options:
        above = [nodes[1]]
        while above[-1]["parent"] is not None:
            above.append(by_id[above[-1]["parent"]])
        assert "Engine::execute" in " ".join(hop["name"] for hop in above), above
        assert nodes[1]["native"]["symbol"].startswith("torch::autograd::Error::apply")


def test_an_operator_that_refuses_what_it_was_given_is_no_other_overload(command: InProcess) -> None:
    """No tensor here has names: what takes names of dimensions raises, and C++'s stack has its entry point."""
    ending = ending_of(command, "a.sum(dim='N')", "--no-native")
    entries = {name.split("(")[0].split("::")[-2] for name in ending["stack"] if name.startswith("at::_ops::")}
    assert entries == ({"sum_dim_DimnameList"} if torch_version().startswith("2.6") else set()), "or no names are taken"
    called = [hop for hop in ending["hops"] if hop["kind"] == "op"]
    assert [hop["op"] for hop in called] in (["aten::sum.dim_DimnameList"], [None], [])
    assert not [hop for hop in ending["hops"] if "dim_IntList" in hop["name"]]


THROWS = re.compile(r"\b(?:TORCH|AT|C10)_\w*(?:CHECK|ASSERT|ERROR)\w*|\bthrow\b")


def ending_of(command: InProcess, *arguments: str) -> dict[str, Any]:
    result = command("trace", *arguments, "--json")
    assert result.code == 1, result
    ending = json.loads(result.out)["ending"]
    assert ending is not None, result
    return ending | {"hops": json.loads(result.out)["hops"]}


def left(ending: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps that the error left, innermost first."""
    by_id = {hop["id"]: hop for hop in ending["hops"]}
    path, number = [], ending["hop"]
    while number is not None:
        path.append(by_id[number])
        number = by_id[number]["parent"]
    return path


CASES = {  # expression -> exception, function that threw, its file, the operator that was left, the binding or function
    "a @ torch.ones(2, 2)": ("RuntimeError", "meta", "aten/src/ATen/native/LinearAlgebra.cpp", "aten::mm"),
    "a[7]": ("IndexError", "applySelect", "aten/src/ATen/TensorIndexing.h", None),
    "a.view(5)": ("RuntimeError", "infer_size_impl", "aten/src/ATen/InferSize.h", "aten::view"),
    "F.linear(a, torch.ones(2, 2))": ("RuntimeError", "meta", "aten/src/ATen/native/LinearAlgebra.cpp", "aten::addmm"),
    "torch.ones(2, requires_grad=True).add_(1)": (
        "RuntimeError", "check_inplace", "torch/csrc/autograd/VariableTypeUtils.h", "aten::add_.Tensor",
    ),
    "torch.add(1, 2, 3, 4, 5)": ("TypeError", "print_error", "torch/csrc/utils/python_arg_parser.cpp", None),
}  # fmt: skip

# Torch 2.6 throws them as C++'s own exceptions, which keep no line: infer_size of aten/src/ATen/InferSize.h,
# print_error of torch/csrc/utils/python_arg_parser.cpp.
WITHOUT_LINE = ("a.view(5)", "torch.add(1, 2, 3, 4, 5)")


@pytest.mark.parametrize("expression", CASES)
def test_the_line_that_threw_and_the_operator_that_was_left(
    command: InProcess, runtime: Runtime, expression: str
) -> None:
    exception, function, path, operator = CASES[expression]
    ending = ending_of(command, expression, "--no-native")
    if expression in WITHOUT_LINE and torch_version().startswith("2.6"):
        assert ending["how"].startswith("by throwing "), "its own class, of which only the function is known"
        return
    assert (ending["exception"], ending["function"], ending["source"]["path"]) == (exception, function, path)
    ops = [hop["op"] for hop in left(ending) if hop["kind"] == "op"]
    if operator == "aten::addmm" and not ops:
        pytest.fail(str(left(ending)))
    assert (ops[0] if ops else None) in (operator, "aten::matmul", "aten::linear", "aten::mm")
    installed = Path(runtime.torch_dir, "include", path.replace("aten/src/", ""))
    if installed.is_file():  # a header: its text is at hand, and says that it throws there
        lines = as_in_the_repository(installed).splitlines()
        line = ending["source"]["line"]
        assert any(THROWS.search(text) for text in lines[max(0, line - 12) : line])
        assert ending["source"]["precision"] == "registered"
    else:
        assert ending["source"]["precision"] == "unknown"


REFUSING = """
class Refusing(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented
    @staticmethod
    def __new__(cls, t):
        return torch.Tensor._make_subclass(cls, t)
class NoFunction:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented
"""
PARSER = "torch::handle_torch_function_no_python_arg_parser"


@pytest.mark.parametrize("options", [(), ("--no-native",)])
@pytest.mark.parametrize("expression", ["Refusing(torch.ones(2)).sum()", "torch.add(NoFunction(), 1)"])
def test_an_error_that_cpp_set_by_a_function_of_pythons_is_cpps(
    command: InProcess, expression: str, options: tuple[str, ...]
) -> None:
    """python_arg_parser.cpp calls PyErr_SetString and throws python_error; gdb stops in that function."""
    ending = ending_of(command, expression, "--setup", REFUSING, *options)
    assert (ending["exception"], ending["function"], ending["how"]) == (
        "TypeError",
        PARSER,
        "by calling PyErr_SetString",
    )
    assert f"{PARSER}(" in ending["stack"][0]
    if "Refusing" in expression:
        assert left(ending)[0]["name"] == PARSER
        assert "aten::sum" in [hop["op"] for hop in left(ending)]
    shown = command("trace", expression, "--setup", REFUSING, *options, env={"COLUMNS": "160"})
    assert f"raised in     {PARSER}, by calling PyErr_SetString" in shown.out
    assert "or a builtin" not in shown.out
    assert "returned NotImplemented: - tensor subclass <class" in " ".join(shown.out.split()), (
        "the list that the words end before is in them"
    )


def test_an_error_that_no_cpp_of_torchs_raised_is_said_to_be_unknown(command: InProcess) -> None:
    """`len` is Python's; the numbers of a hook's own error are its line's."""
    ending = ending_of(command, "len(5)", "--no-native")
    assert (ending["function"], ending["how"], ending["source"]["precision"]) == ("", "", "unknown")
    assert ending["source"]["reason"]["code"] == "throw-unseen"
    numpy = ending_of(command, "np.zeros(2).reshape(3)", "--setup", "import numpy as np", "--no-native")
    assert numpy["source"]["reason"]["code"] == "other-library", numpy["source"]


def test_what_was_called_before_a_step_that_only_the_stack_tells_of_is_not_denied(command: InProcess) -> None:
    """ADInplaceOrView's kernel calls the CPU's first, which writes, and then counts: so the tensor has been written."""
    setup = ("--setup", "with torch.inference_mode(): p = torch.ones(3)")
    shown = command("trace", "p.mul_(2)", *setup, "--no-native", "--view", "path", env={"COLUMNS": "200"})
    (marked,) = (line for line in shown.out.splitlines() if "was raised here" in line)
    assert "earlier C++ calls that had ended were not seen" in marked
    stepped = command("trace", "p.mul_(2)", *setup, env={"COLUMNS": "200"})
    assert "was not seen" not in stepped.out


def test_the_call_that_raised_has_a_row_though_no_operator_ran_in_it(command: InProcess) -> None:
    shown = command("trace", "a.sum() and int('seven')", "--no-native", "--view", "path", env={"COLUMNS": "200"})
    (marked,) = (line for line in shown.out.splitlines() if "was raised here" in line)
    assert "int()" in marked


def test_what_was_not_counted_of_the_call_that_raised_is_no_share_of_the_row_around_it(command: InProcess) -> None:
    """What int() ran was stepped, and is known to be of no row: "self" of the row around it would have it."""
    shown = command("trace", "int('x' * a.numel())", "--view", "path", env={"COLUMNS": "160"}).out
    rows = [line for line in shown.splitlines() if line.lstrip().startswith("100%") or "was raised here" in line]
    assert [row.split()[:2] for row in rows] == [["100%", "Python"], ["└", "int()"]]


UNITS = """class Units(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.Tensor.add: raise TypeError('units do not match')
        return super().__torch_function__(func, types, args, kwargs or {})
"""


@pytest.mark.parametrize("options", [(), ("--no-native",)])
def test_a_function_of_yours_whose_error_became_notimplemented_has_a_row(
    command: InProcess, options: tuple[str, ...]
) -> None:
    """TypeError_to_NotImplemented_ of python_variable_methods.cpp; Python then words an error of its own."""
    shown = command("trace", "Units(a) + 1", "--setup", UNITS, *options, "--view", "path", env={"COLUMNS": "200"})
    assert "unsupported operand type(s) for +" in shown.out
    assert "__torch_function__()" in shown.out


def test_no_step_is_shown_that_was_not_come_to(command: InProcess) -> None:
    """check_inplace throws in the autograd kernel, before it redispatches."""
    ending = ending_of(command, "x.add_(1)", "--var", "x=torch.ones(2, requires_grad=True)", "--no-native")
    assert [hop["key"] for hop in ending["hops"] if hop["kind"] == "key"] == ["AutogradCPU"]
    assert not [hop for hop in ending["hops"] if hop["kind"] in ("stub", "impl")]


def test_stepped_and_not_stepped_leave_the_same_operators(command: InProcess) -> None:
    arguments = ("x.add_(1)", "--var", "x=torch.ones(2, requires_grad=True)")
    plain, stepped = ending_of(command, *arguments, "--no-native"), ending_of(command, *arguments)
    operators = [[hop["op"] for hop in left(ending) if hop["kind"] == "op"] for ending in (plain, stepped)]
    assert operators[0] == operators[1] == ["aten::add_.Tensor"]
    if any(hop["instructions"] for hop in stepped["hops"]):
        assert left(stepped)[0]["name"] == "torch::autograd::check_inplace"


def test_the_screen_says_it_first_and_where_it_was_left(command: InProcess) -> None:
    result = command("trace", "torch.ones(2).to_sparse().cumsum(0)", "--no-native")
    assert result.code == 1
    assert result.err == ""
    before = result.out[: result.out.index("\ntorch.ones(2)")]
    assert "the expression raised NotImplementedError: Could not run 'aten::cumsum'" in before
    assert re.search(r"self: float32\[2\] cpu sparse_coo", before)
    assert "aten::cumsum has no kernel for SparseCPU; self brought that key" in " ".join(before.split())
    assert ".to_dense() first" in before
    [row] = re.findall(r"NotImplementedError was raised here", result.out)
    assert row
    again = command("trace", "torch.ones(2).to_sparse().cumsum(0)", "--no-native", "--view", "operators")
    assert "the expression raised NotImplementedError" in again.out
    # The kernel is on C++'s stack by the functor that calls it and by itself: it is one step.
    hops = ending_of(command, "torch.ones(2).to_sparse().cumsum(0)", "--no-native")["hops"]
    assert len([hop for hop in hops if "VariableType" in hop["name"] and hop["name"].endswith("cumsum")]) == 1


def test_python_that_raises_is_placed_at_its_own_line(command: InProcess, runtime: Runtime) -> None:
    ending = ending_of(command, "F.interpolate(a, 3)", "--no-native")
    inner = ending["python"][0]
    path, line = inner["source"]["path"], inner["source"]["line"]
    text = Path(runtime.torch_dir).parent.joinpath(path).read_text(encoding="utf-8").splitlines()
    around = "\n".join(text[line - 1 : line + 4])
    assert "raise" in around
    assert inner["name"] in ("interpolate", "_interpolate")
    assert inner["source"]["precision"] == "located"


def test_what_a_hook_or_a_function_of_yours_raises(command: InProcess) -> None:
    check = "def check(g):\n    raise ValueError('too large')\n"
    setup = f"{check}x = torch.ones(2, requires_grad=True)\nx.register_hook(check)"
    ending = ending_of(command, "(x * 2).sum()", "--backward", "--setup", setup, "--no-native")
    assert (ending["stage"], ending["exception"], ending["message"]) == ("backward", "ValueError", "too large")
    assert ending["python"][0]["name"] == "check"


def test_an_operator_behind_which_the_engine_went_on_had_ended(command: InProcess) -> None:
    """The hook is given what add_ made: the sum of both gradients. So all of its kernels ran before the error."""
    code = (
        "import torch; x = torch.tensor([1., 3.], requires_grad=True)\nx.register_hook(print); (x * x).sum().backward()"
    )
    plain = subprocess.run([TARGET or sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "[2., 6.]" in plain
    keys = []
    for hook in ("lambda g: 1 / 0", "lambda g: None"):
        call = f"x.register_hook({hook}) and (x * x).sum().backward()"
        shown = command("trace", call, "--var", "x=torch.tensor([1., 3.])", "--grad", "--no-native", "--json")
        hops = nested(json.loads(shown.out)["hops"])
        pending = [hop for hop in hops if (hop["op"] or "").startswith("aten::add_") and hop["kind"] == "op"]
        assert len(pending) == 1
        keys.append([])
        while pending:
            hop = pending.pop()
            keys[-1] += [hop["key"]] * (hop["kind"] == "key")
            pending += hop["children"]
    assert keys[0] == keys[1] == ["AutogradCPU", "ADInplaceOrView", "CPU"]


def test_where_an_error_ended_is_open_behind_the_first_key(command: InProcess) -> None:
    """--once: no run asks for C++'s stack, so any kernel of the last call may have thrown."""
    given = ("trace", "torch.mm(x, x)", "--var", "x=torch.ones(2, 3)", "--once", "--no-native")
    shown = command(*given, "--view", "path", env={"COLUMNS": "160"}).out
    row = next(line for line in shown.splitlines() if "VariableType::mm" in line)
    assert "next dispatch key not known" in row
    kernel = next(hop for hop in json.loads(command(*given, "--json").out)["hops"] if hop["kind"] == "kernel")
    assert [why for why in kernel["why"] if (why["code"], why.get("after")) == ("key-not-known", "AutogradCPU")]


HOOK = "w = torch.ones(3, requires_grad=True); w.register_post_accumulate_grad_hook(lambda p: p.grad.zero_()); "
AGAIN = """
def f(n, x):
    if n:
        y = f(n - 1, x)
        return x.gather(0, torch.tensor([5]))
    return x.exp()
"""
DISPATCHES = """
class Sub(torch.Tensor):
    @staticmethod
    def __new__(cls, e): return torch.Tensor._make_wrapper_subclass(cls, e.shape, dtype=e.dtype)
    def __init__(self, e): self.e = e
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        torch.mul(args[0].e, args[1])
        torch.div(args[0].e, torch.ones(7))
s = Sub(torch.ones(3))
"""
FINALLY = """
def f(x):
    try:
        return x.gather(0, torch.tensor([5]))
    finally:
        x.gather(0, torch.tensor([1]))
"""
NAMESAKES = {  # setup, expression -> the function of Python and the binding or node that it left last
    (HOOK + "f = lambda: w.cosh().sum().backward()", "f()"): ("_engine_run_backward", "AccumulateGrad"),
    (AGAIN, "f(2, torch.ones(3))"): ("f", "gather"),
    (DISPATCHES, "torch.mul(s, 2.0)"): ("__torch_dispatch__", "div"),
    (FINALLY, "f(torch.ones(3))"): ("f", "gather"),
}


@pytest.mark.parametrize("options", [(), ("--no-native",)])
@pytest.mark.parametrize("case", NAMESAKES)
def test_what_ended_well_was_not_left_though_it_has_the_name_of_what_was(
    command: InProcess, case: tuple[str, str], options: tuple[str, ...]
) -> None:
    """A hook that answers something, a function that called itself, an operator inside of another that Python runs.

    The functions of Python are those of the error's own traceback; what comes last in each was left by construction.
    """
    setup, expression = case
    function, last = NAMESAKES[case]
    ending = ending_of(command, expression, "--setup", setup, *options)
    path = left(ending)
    assert path, ending["message"]
    python = [hop["name"].split(".")[-1] for hop in path if hop["kind"] == "python"]
    names = [frame["name"] for frame in ending["python"] if frame["name"] != "<module>"]
    assert (python, names[0]) == (names, function)
    gathers = [hop for hop in ending["hops"] if hop["kind"] == "binding" and hop["name"].endswith("_gather")]
    assert setup != FINALLY or gathers[0] in path, "the first of the two that f calls raised, by its text"
    inside = [
        hop for hop in path[: [hop["kind"] for hop in path].index("python")] if hop["kind"] in ("binding", "node", "op")
    ]
    assert last in inside[-1]["name"] or last in inside[0]["name"], [hop["name"] for hop in path]


CAUGHT = """
import concurrent.futures
def inner(x):
    return x.gather(0, torch.tensor([5]))
def catches(x):
    try:
        return inner(x)
    except RuntimeError as error:
        return error
def f(x):
    error = catches(x)
    raise error
def again(x):
    try:
        return inner(x)
    except RuntimeError as error:
        raise error
def other(x):
    try:
        return inner(x)
    except RuntimeError as error:
        raise ValueError(f"layer 3: {error}")
def same(x):
    try:
        return inner(x)
    except RuntimeError as error:
        raise RuntimeError(str(error))
def waits(x):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(catches_not, x).result()
def catches_not(x):
    return inner(x)
"""


@pytest.mark.parametrize(
    ("call", "names"),
    [("f", ["inner", "f"]), ("again", ["inner", "again"]), ("waits", ["inner", "catches_not", "waits"])],
)
def test_a_function_that_caught_an_error_was_not_left_by_it(command: InProcess, call: str, names: list[str]) -> None:
    """What is caught and raised again has the frames of both ways in its traceback; by Python's rules one caught it."""
    ending = ending_of(command, f"{call}(torch.ones(3))", "--setup", CAUGHT, "--no-native")
    yours = [frame["name"] for frame in ending["python"] if frame["source"]["path"] is None]
    assert [name for name in yours if name != "<module>"] == names


@pytest.mark.parametrize("options", [(), ("--no-native",)])
@pytest.mark.parametrize("call", ["other", "same"])
def test_an_error_of_pythons_with_the_words_of_one_of_cpps_is_another(
    command: InProcess, call: str, options: tuple[str, ...]
) -> None:
    """Python's `raise` makes it, by the text: C++ threw the one that was caught."""
    ending = ending_of(command, f"{call}(torch.ones(3))", "--setup", CAUGHT, *options)
    assert not ending["stack"]
    assert not ending["function"]
    assert [hop["name"] for hop in left(ending)] == [call]
    called = [hop for hop in ending["hops"] if hop["kind"] == "op" and hop["name"].startswith("aten::gather")]
    assert len(called) == 1


def test_a_scripted_function_that_raises_holds_what_ran_it(command: InProcess) -> None:
    """By the text: `__call__` of torch/csrc/jit/python/script_init.cpp comes to runAndInsertCall of pybind_utils.h."""
    setup = "@torch.jit.script\ndef s(t):\n    assert t.size(0) == 2, 'two rows please'\n    return t"
    ending = ending_of(command, "s(a)", "--setup", setup)
    runs = next(hop for hop in ending["hops"] if hop["name"].endswith("runAndInsertCall"))
    around = [hop["name"] for hop in left(ending | {"hop": runs["id"]})]
    called = [hop for hop in ending["hops"] if "ScriptFunction" in hop["name"]]
    # The dispatcher is asked for no operator in it. What shows then what ran inside is the function of Python that it
    # calls, and which call led there is known by columns. torch 2.6 calls none. What is not known is not said.
    if torch_version().startswith("2.6.") or not keeps_columns():
        reasons = [hop["source"]["reason"] for hop in called]
        assert [(reason["code"], "inside" in reason) for reason in reasons] == [("function-unseen", False)]
        return
    assert all(hop["name"] in around for hop in called), "the recorder may see no call of it"


def test_a_lambda_of_the_expression_is_among_what_was_left(command: InProcess) -> None:
    result = command("trace", "torch.vmap(lambda v: v.item())(a[0])", "--no-native")
    innermost = next(line for line in result.out.splitlines() if "Python stack" in line)
    assert innermost.split() == ["Python", "stack", "<lambda>", "the", "expression"], "by the error's own traceback"


def test_an_operator_that_was_called_boxed_is_left_where_it_stands(command: InProcess) -> None:
    """Of such a call C++'s stack names no operator: `Dispatcher::callBoxed` is all of it (Dispatcher.h)."""
    setup = "lib = torch.library.Library('qq', 'DEF'); lib.define('nothing(Tensor a) -> Tensor')"
    ending = ending_of(command, "torch.ops.qq.nothing(a)", "--setup", setup, "--no-native")
    assert any(name.startswith("c10::Dispatcher::callBoxed") for name in ending["stack"])
    assert "qq::nothing" in [hop["op"] for hop in left(ending)]
    call = next(hop for hop in ending["hops"] if hop["kind"] == "op")
    beside = [hop["name"] for hop in ending["hops"] if hop["parent"] == call["parent"] and hop is not call]
    assert not beside, "what called it calls nothing else"


def test_a_script_that_raises(command: InProcess, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import torch\na = torch.ones(2)\nb = a + 1\ntorch.stack([a, torch.ones(3)])\n", encoding="utf-8")
    ending = ending_of(command, "--script", str(script))
    assert (ending["stage"], ending["exception"]) == ("script", "RuntimeError")
    for view in ("modules", "operators"):
        screen = command("trace", "--script", str(script), "--no-native", "--view", view)
        assert "the script raised RuntimeError: stack expects" in screen.out, view
    assert ending["python"][-1]["source"]["line"] == 4
    assert ending["function"] == "check_stack_inputs"
    assert ending["source"]["path"] == "aten/src/ATen/native/TensorShape.cpp"
    assert [hop["op"] for hop in left(ending) if hop["kind"] == "op"] == ["aten::stack"]
    assert any(hop["op"] == "aten::add.Tensor" for hop in ending["hops"])


WRITING = """import torch

def bump(t):
    t += 1

y = torch.ones(3, requires_grad=True).exp()
bump(y)
y[0] = 5
y.sum().backward()
"""


@pytest.mark.parametrize("again", [False, True])
def test_who_wrote_to_a_saved_tensor_of_a_script(command: InProcess, tmp_path: Path, again: bool) -> None:
    """By the operators of its one run where this torch lets the tensor be read; else a second run is offered."""
    script = tmp_path / "train.py"
    script.write_text(WRITING, encoding="utf-8")
    saved = tmp_path / "train.trace"
    asked = ("--script", str(script), "--native-budget", "0", *(["--again"] if again else []))
    ending = ending_of(command, *asked, "--save", str(saved))
    modified, shown = ending["modified"], command("trace", "--load", str(saved)).out
    if not again and tuple(map(int, torch_version().split(".")[:2])) < (2, 13):
        assert modified["saver"] is None
    else:
        lines = [writer["source"]["line"] for writer in modified["writers"]]
        assert lines == [4, 8]
        add = "aten::add_" if torch_version().startswith("2.6") else "aten::add_.Tensor"  # that one tells no overloads
        assert [writer["operators"] for writer in modified["writers"]] == [[add], ["aten::copy_"]]
        assert modified["saver"]["source"]["line"] == 6
        assert modified["watched"] is again
        assert ("derived: these operators wrote" in shown) is not again
    assert ("runs it once more" in " ".join(shown.split())) is not again


def test_a_run_that_watched_and_saw_nothing_is_told_as_that(command: InProcess, tmp_path: Path) -> None:
    """A script that does something else the second time: the same command is not offered again."""
    script, ran = tmp_path / "train.py", tmp_path / "ran"
    begins = f"import os\nif os.path.exists({str(ran)!r}): raise SystemExit\nopen({str(ran)!r}, 'w').close()\n"
    script.write_text(begins + WRITING, encoding="utf-8")
    shown = " ".join(command("trace", "--script", str(script), "--native-budget", "0", "--again").out.split())
    assert "unwatched: a separate run that watches saved tensors did not show" in shown
    assert "runs it once more" not in shown


def test_again_is_for_scripts(command: InProcess) -> None:
    result = command("trace", "a + b", "--again")
    assert result.code == 2
    assert "--again is for a script" in result.err


@pytest.mark.parametrize(("code", "status"), [("exit(3)", 1), ("exit(0)", 0)])
def test_a_script_that_exits(command: InProcess, tmp_path: Path, code: str, status: int) -> None:
    script = tmp_path / "leave.py"
    script.write_text(f"import torch\ntorch.ones(2)\n{code}\n", encoding="utf-8")
    result = command("trace", "--script", str(script), "--json")
    assert result.code == status
    assert (json.loads(result.out)["ending"] is not None) is bool(status)


def test_it_is_saved_shown_again_and_explained(command: InProcess, tmp_path: Path) -> None:
    saved = tmp_path / "raised.json"
    first = command("trace", "a.view(5)", "--no-native", "--save", str(saved))
    again = command("trace", "--load", str(saved))
    assert (first.code, again.code) == (1, 1)
    of_both = [[line for line in run.out.splitlines() if " raised " in line] for run in (first, again)]
    assert of_both[0] == of_both[1] != []
    assert str(tmp_path) not in saved.read_text(encoding="utf-8")


def test_once_is_once(command: InProcess, tmp_path: Path) -> None:
    """No second run is asked where C++ threw it."""
    count = tmp_path / "count"
    setup = f"def f(x):\n    open({str(count)!r}, 'a').write('.')\n    return x.view(5)"
    ending = ending_of(command, "f(a)", "--setup", setup, "--once")
    assert count.read_text(encoding="utf-8") == "."
    assert ending["function"] == ""
    assert [why["code"] for why in ending["why"]] == ["no-second-run"]


# --- writes in place ---

FORWARD = ["a.exp()", "a.tanh()", "a.sigmoid()", "(a * a).exp()"]  # each saves its result
WRITES = [
    "y.mul_(2)",
    "y.add_(1)",
    "y[0].zero_()",
    "y.view(-1).sub_(1)",
    "y.t().neg_()",
    "torch.relu_(y)",
    "y[1:].fill_(3)",
]
OTHERS = ["", "z.add_(1), ", "z[0].mul_(2), "]


def planted() -> list[tuple[str, str]]:
    """Expressions in which one call writes to a saved tensor, and that call."""
    rows = [
        (f"(lambda *r: r[0])(y := {forward}, z := torch.ones(3, 3), {other}{write}).sum()", write)
        for forward in FORWARD
        for write in WRITES
        for other in OTHERS
    ]
    return rows if THOROUGH else rows[::19]


@pytest.mark.parametrize(("expression", "write"), planted())
def test_the_call_that_wrote_to_a_saved_tensor_is_named(command: InProcess, expression: str, write: str) -> None:
    ending = ending_of(command, expression, "--backward", "--no-native")
    modified = ending["modified"]
    assert modified is not None, ending["message"]
    assert write in modified["writes"]
    if modified["certain"]:
        assert modified["writes"] == [write]
    assert modified["version"] - modified["expected"] == 1


STEP = """
m = nn.Linear(3, 3)
opt = torch.optim.SGD(m.parameters(), 0.1)
def twice():
    loss = m(m(torch.ones(2, 3))).sum()
    loss.backward(retain_graph=True)
    opt.step()
    loss.backward()
def written(x):
    y = x.exp()
    z = torch.ones(3)
    z.add_(1); y[0] = 5
    y += 1
    return y.view(-1)
def without_elements(others):
    y = torch.ones(0, requires_grad=True).exp()
    torch.ones(2).add_(1)
    others()
    y.mul_(2)
    return y.sum()
def compressed():
    s = torch.eye(3).to_sparse_csr().requires_grad_()
    y = s.sin()
    with torch.no_grad():
        s.mul_(2)
    return y.to_dense().sum()
def through_data(x):
    y = x.exp()
    y.data.mul_(2)
    y.detach().add_(1)
    return y.sum()
"""
# the expression -> the node and the line that saved it, and of each write the line, the operator and the text
IN_A_DEF = {
    "twice()": (("AddmmBackward0", 5), [(7, "aten::add_.Tensor", "opt.step()")]),
    "written(torch.ones(3, requires_grad=True)).sum().backward()": (
        ("ExpBackward0", 10),
        [(12, "aten::copy_", "z.add_(1); y[0] = 5"), (13, "aten::add_.Tensor", "y += 1")],
    ),
    # Tensors without memory of their own: the one operator of that line that wrote to one of them.
    "without_elements(int).backward()": (("ExpBackward0", 16), [(19, "aten::mul_.Tensor", "y.mul_(2)")]),
    "without_elements(torch.ones(0).zero_).backward()": (
        ("ExpBackward0", 16),
        [(19, "aten::mul_.Tensor", "y.mul_(2)")],
    ),
    # `.data` counts its writes apart: after the first write `_version` is still 0.
    "through_data(torch.ones(3, requires_grad=True)).backward()": (
        ("ExpBackward0", 28),
        [(30, "aten::add_.Tensor", "y.detach().add_(1)")],
    ),
    "compressed().backward()": (("SinBackward0", 23), [(25, "aten::mul_.Tensor", "s.mul_(2)")]),
}


@pytest.mark.parametrize("expression", IN_A_DEF)
def test_writes_in_a_function_of_yours_and_by_an_optimizer_are_named_by_line(
    compiler_command: InProcess, expression: str
) -> None:
    (node, line), writes = IN_A_DEF[expression]
    modified = ending_of(compiler_command, expression, "--setup", STEP, "--no-native")["modified"]
    saver, writers = modified["saver"], modified["writers"]
    assert (saver["node"], saver["source"]["line"]) == (node, line)
    if torch_version().startswith("2.6"):  # whose profiler does not tell overloads
        writes = [(line, *(name.partition(".")[0] for name in names), text) for line, *names, text in writes]
    assert [(w["source"]["line"], *w["operators"], w["text"]) for w in writers] == writes
    assert [w["after"] - w["before"] for w in writers] == [1] * len(writes)


def test_a_mismatch_is_told_with_the_arguments_and_the_condition(command: InProcess) -> None:
    told = ending_of(command, "a.gather(0, torch.ones(4, 5, dtype=torch.long))", "--no-native")
    assert [(v["text"], v["argument"]) for v in told["compared"]] == [("[4, 5]", "index"), ("[3, 3]", "self")]
    assert "index" in told["check"]
    assert told["source"]["precision"] == "registered"


def test_what_the_profiler_does_not_tell_of_is_said_to_be_given_all_the_same(command: InProcess) -> None:
    """The indices, of which the message speaks: a list of optional tensors."""
    given = ending_of(command, "a[0].index_put_((torch.tensor([0, 1]),), torch.ones(3))", "--no-native")["given"]
    assert given == [["self", "float32[3] cpu"], ["values", "float32[3] cpu"], ["indices", sentence(ListUntold())]]


# --- every operator without a kernel ---

ASK = """
import json, re, sys, warnings
import torch
warnings.simplefilter("ignore")
MAKE = {
    "SparseCPU": lambda: torch.ones(2, 2).to_sparse(),
    "SparseCsrCPU": lambda: torch.ones(2, 2).to_sparse_csr(),
    "QuantizedCPU": lambda: torch.quantize_per_tensor(torch.ones(2, 2), 0.1, 0, torch.quint8),
    "MkldnnCPU": lambda: torch.ones(2, 2).to_mkldnn(),
    "NestedTensorCPU": lambda: torch.nested.nested_tensor([torch.ones(2, 2)]),
    "Meta": lambda: torch.ones(2, 2, device="meta"),
}
SIMPLE = {"int": 1, "number": 1, "Scalar": 1, "SymInt": 1, "float": 1.0, "bool": False, "str": "mean"}
def value(kind, make):
    kind = str(kind)
    if kind == "Tensor": return make()
    if kind == "List[Tensor]": return [make(), make()]
    if kind.startswith("Optional"): return None
    if kind.startswith("List[int]"): return [1, 1]
    if kind.startswith("List[bool]"): return [True, True]
    if kind == "Device": return torch.device("cpu")
    return SIMPLE[kind]
told = []
given = json.load(sys.stdin)
for key, make in MAKE.items():
    for name in given[key]:
        base, _, overload = name.removeprefix("aten::").partition(".")
        try:
            call = getattr(getattr(torch.ops.aten, base), overload or "default")
            needed = [a for a in call._schema.arguments if not a.has_default_value()]
            positional = [value(a.type, make) for a in needed if not a.kwarg_only]
            named = {a.name: value(a.type, make) for a in needed if a.kwarg_only}
        except (AttributeError, KeyError):
            continue
        if not any("Tensor" in str(a.type) for a in needed):
            continue
        try:
            with torch.no_grad(): call(*positional, **named)
        except NotImplementedError as error:
            if re.match(r"Could not run '", str(error)): told.append((key, name, str(error)))
        except Exception:
            pass
print(json.dumps(told))
"""
LISTED = re.compile(
    r"Could not run '([\w:.]+)' with arguments from the '(\w+)' backend\..*?these backends: \[(.*?)\]", re.DOTALL
)


def test_every_missing_kernel_is_as_the_dispatcher_says(warm_cache: Path, runtime: Runtime) -> None:
    """Operators called with tensors of a key that their table lacks: each message's operator, key and list of keys."""
    store = Store.open(warm_cache / "catalogue" / f"{runtime.key}.sqlite")
    keys = ("SparseCPU", "SparseCsrCPU", "QuantizedCPU", "MkldnnCPU", "NestedTensorCPU", "Meta")
    names = [name for name in store.all_names() if name.startswith("aten::")][:: 1 if THOROUGH else 23]
    held = {name: {known for entry in store.table(name) for known in entry.keys} for name in names}
    lacking = {key: [name for name, known in held.items() if key not in known] for key in keys}
    python = [TARGET or runtime.python, "-c", ASK]
    given = json.dumps(lacking)
    told = json.loads(subprocess.run(python, input=given, capture_output=True, text=True, check=True).stdout)
    assert len(told) > (4000 if THOROUGH else 150)
    for key, name, message in told:
        listed = LISTED.match(message)
        assert listed is not None, message
        op, missing, backends = listed.groups()
        entries = {known for entry in store.table(op) for known in entry.keys} - {"Undefined"}
        assert (missing not in entries, entries) == (True, set(backends.split(", "))), (key, name)
    store.close()


@pytest.mark.parametrize(
    ("expression", "brought"),
    [
        ("torch._foreach_add([a, n], [a, a])", ["self"]),  # of a list with a nested tensor the profiler tells nothing
        ("a.atan2(n)", ["other"]),
        ("torch.empty(2, device='xla')", ["device"]),
    ],
)
def test_the_argument_that_brought_a_key_where_the_profiler_tells_nothing_of_it(
    command: InProcess, expression: str, brought: list[str]
) -> None:
    nested = "n=torch.nested.nested_tensor([torch.ones(3, 3)])"
    told = ending_of(command, expression, "--var", nested, "--no-native")
    if torch_version().startswith("2.6") and "atan2" in expression:  # the profiler of which tells no overload
        brought = ["argument 1 of your call"]
    assert told["missing"]["arguments"] == brought
    keys = [hop["key"] for hop in told["hops"] if hop["kind"] == "key" and hop["op"].startswith("aten::_foreach")]
    assert keys == []


# --- the message alone ---


def test_a_pasted_message_is_explained(command: InProcess, tmp_path: Path) -> None:
    text = (
        "NotImplementedError: Could not run 'aten::cumsum' with arguments from the 'SparseCPU' backend. This could be …"
    )
    file = tmp_path / "error.txt"
    file.write_text(f"Traceback (most recent call last):\n  File …\n{text}\n", encoding="utf-8")
    told = command("explain-error", str(file))
    assert told.code == 0, told
    assert "aten::cumsum has no kernel for SparseCPU" in told.out
    data = command("explain-error", str(file), "--json").data
    assert data["missing"]["own"] == ["CPU", "Meta"] if torch_version() == "2.13.0+cpu" else data["missing"]["own"]
    assert data["missing"]["conversion"] == "to_dense()"


@pytest.mark.parametrize("text", ["", "  \n\t\n", "\x00\x01", "12 34"])
def test_a_text_without_words_is_refused(command: InProcess, tmp_path: Path, text: str) -> None:
    file = tmp_path / "error.txt"
    file.write_bytes(text.encode())
    command("explain-error", str(file)).three_parts(1, 2)


@pytest.mark.parametrize(
    "text",
    [
        "ZebraError: the stripes are not known",
        "Could not run 'aten::cums",
        "\x1b]0;title\x07\x1b[31mred\u202e",
        "Could not run 'a' * 'b' with arguments from the '' backend.",
    ],
)
def test_a_message_that_tells_little_is_not_refused(command: InProcess, tmp_path: Path, text: str) -> None:
    file = tmp_path / "error.txt"
    file.write_bytes(text.encode())
    told = command("explain-error", str(file))
    assert told.code == 0, told
    data = command("explain-error", str(file), "--json").data
    assert (data["cause"], data["missing"], data["lines"], data["operators"]) == (None, None, [], [])


def test_an_operator_that_is_not_there_and_a_hundred_megabytes(command: InProcess, tmp_path: Path) -> None:
    file = tmp_path / "error.txt"
    gone = "Could not run 'aten::gone\x1b' with arguments from the 'SparseCPU' backend."
    file.write_text(gone.replace("\x1b", ""), encoding="utf-8")
    assert "this torch has no operator with that name" in command("explain-error", str(file)).out
    with file.open("wb") as out:
        out.truncate(100 << 20)
    command("explain-error", str(file)).three_parts(1)
    with file.open("ab") as out:  # a program's output ends with its error
        out.write(b"\nIndexError: index out of range in self\n")
    assert "num_embeddings" in command("explain-error", str(file)).out
    command("explain-error", str(tmp_path / "none.txt")).three_parts(2)
    command("explain-error", str(tmp_path)).three_parts(2)


@pytest.mark.parametrize("folder", ["/opt/lib/python3.12/site-packages", "/srv/pytorch", "C:\\pytorch"])
def test_your_line_is_none_of_torchs_wherever_that_is(command: InProcess, tmp_path: Path, folder: str) -> None:
    """A checkout that torch was built in is in no folder of packages; your own folder may be called torch."""
    slash = "\\" if "\\" in folder else "/"
    torchs = [("_tensor.py", 623, "backward"), ("autograd/__init__.py", 395, "backward")]
    elsewhere = [(slash.join([folder, "torch", *file.split("/")]), line, name) for file, line, name in torchs]
    told = [("/srv/torch/train.py", 12, "step"), *elsewhere]
    lines = [f'  File "{file}", line {line}, in {name}' for file, line, name in told]
    file = tmp_path / "error.txt"
    text = "\n".join(
        [
            "Traceback (most recent call last):",
            *lines,
            "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
        ]
    )
    file.write_text(text, encoding="utf-8")
    yours = command("explain-error", str(file), "--json").data["yours"]
    assert (yours["name"], yours["source"]["line"]) == ("step", 12)


@pytest.mark.parametrize(
    "inputs, index, why",
    [
        ("[a, a[0]]", 1, "input 1 of 2 (Tensor[3] float32 cpu requires_grad) is a result of SelectBackward0"),
        (
            "[a.detach().requires_grad_(), a]",
            0,
            "input 0 of 2 (Tensor[3, 3] float32 cpu requires_grad) shares the memory",
        ),
        ("b", 0, "to the input (Tensor[3, 3] float32 cpu requires_grad): they come from one leaf, Tensor[3, 3]"),
    ],
)
def test_an_input_that_the_outputs_do_not_come_from(command: InProcess, inputs: str, index: int, why: str) -> None:
    import torch

    expression = f"torch.autograd.grad((a * 2).sum(), {inputs})"
    names = {"torch": torch, "a": torch.rand(3, 3, requires_grad=True), "b": torch.rand(3, 3, requires_grad=True)}
    gradients = eval(expression.replace(inputs, f"{inputs}, allow_unused=True"), names)
    assert [number for number, gradient in enumerate(gradients) if gradient is None] == [index]
    ending = ending_of(command, expression, "--grad", "--no-native")
    assert why in ending["cause"]["why"]
    assert "allow_unused=True gives None for it" in ending["cause"]["remedy"]
    reached = [hop["node"] for hop in ending["hops"] if (hop["node"] or {}).get("reached")]
    assert not any(node["failed"] for node in reached), "the engine had ended"
    shown = command("trace", expression, "--grad", "--no-native", "--view", "path").out
    assert "to fix it" in shown
    assert "an error came first" not in shown


CHAINED = """
def failing(x):
    return x.view(7)
def chain(x):
    try:
        return failing(x)
    except RuntimeError as error:
        raise ValueError("no such shape") from error
def handling(x):
    try:
        return chain(x)
    except ValueError:
        return {}["none"]
def hidden(x):
    try:
        return failing(x)
    except RuntimeError:
        raise KeyError("hidden") from None
"""


@pytest.mark.parametrize("name", ["chain", "handling", "hidden"])
def test_the_errors_that_led_to_it_are_those_of_pythons_traceback(command: InProcess, name: str) -> None:
    plain = torch_says(
        f"{CHAINED}\ntry: {name}(torch.ones(3))\nexcept Exception as error: last = error\nchain = []\n"
        "while True:\n before = last.__cause__ or (None if last.__suppress_context__ else last.__context__)\n"
        " if before is None: break\n at = before.__traceback__\n"
        " while at.tb_next: at = at.tb_next\n"
        " chain.append([type(before).__name__, str(before), before is last.__cause__,"
        " at.tb_frame.f_code.co_name, at.tb_lineno])\n last = before\n"
        "print(json.dumps(chain))"
    )
    given = (f"{name}(x)", "--setup", CHAINED, "--var", "x=torch.ones(3)", "--no-native")
    ending = json.loads(command("trace", *given, "--json").out)["ending"]
    told = [
        [
            error["exception"],
            error["message"],
            error["is_cause"],
            error["left"]["name"],
            error["left"]["source"]["line"],
        ]
        for error in ending["before"]
    ]
    assert told == plain
    assert len(plain) == ["hidden", "chain", "handling"].index(name)
    shown = command("trace", *given, "--view", "path").out
    assert shown.count("raised from ") == (name != "hidden")
    assert shown.count("handling  ") == (name == "handling")
    told = [
        re.findall(r", raised in (.+?)\(\)", line)[0]
        for line in shown.splitlines()
        if "raised from " in line or "handling  " in line
    ]
    assert told == [function for _, _, _, function, _ in plain], "it may have been caught where it was raised"


KERNELS = """
lib = torch.library.Library("left", "DEF")
lib.define("strict(Tensor x) -> Tensor")
def strict_cpu(x):
    y = x + 1
    return {}[y.numel()]
lib.impl("strict", strict_cpu, "CPU")
class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2
    @staticmethod
    def backward(ctx, g):
        h = g * 2
        return {}[h.numel()]
"""


@pytest.mark.parametrize("native", [True, False] if THOROUGH else [False])
@pytest.mark.parametrize(
    ("expression", "operator"), [("torch.ops.left.strict(a)", "left::strict"), ("Fn.apply(a).sum().backward()", None)]
)
def test_what_a_kernel_of_python_raised_stands_at_the_kernel(
    compiler_command: InProcess, expression: str, operator: str | None, native: bool
) -> None:
    """Python called C++, and that Python again: the traceback has both, and its innermost function raised."""
    made = f"import torch, traceback{KERNELS}\na = torch.ones(3, requires_grad={operator is None})\n"
    asked = (
        f"try: {expression}\nexcept KeyError as e: print(json.dumps(traceback.extract_tb(e.__traceback__)[-1].name))"
    )
    function = torch_says(made + asked)
    given = (expression, "--setup", KERNELS, "--var", "a=torch.ones(3)", *(["--grad"] if operator is None else []))
    ending = ending_of(compiler_command, *given, *([] if native else ["--no-native"]))
    path = left(ending)
    assert path[0]["name"] == function
    assert path[0]["kind"] == "python"
    assert [hop["op"] for hop in path if hop["kind"] == "op"] == ([operator] if operator is not None else [])
    assert [hop["name"] for hop in path if hop["caught"] is not None] == []


def test_of_an_operator_inside_of_the_same_the_one_that_threw_is_marked(compiler_command: InProcess) -> None:
    """vmap gives mm's kernel a batch of more dimensions, for which it calls matmul, and that the mm that throws."""
    given = (
        "torch.vmap(lambda r: r @ w)(x)",
        "--var",
        "x=torch.ones(2, 3)",
        "--var",
        "w=torch.ones(2, 2)",
        "--no-native",
    )
    ending = ending_of(compiler_command, *given)
    number = left(ending)[0]["id"]
    assert [hop["op"] for hop in left(ending) if hop["kind"] == "op"].count("aten::mm") == 2
    assert [hop["id"] for hop in ending["hops"] if hop["op"] == "aten::mm" and hop["kind"] == "op"][-1] == number
    for view in ("path", "tree"):
        shown = compiler_command("trace", *given, "--view", view, "-v").out
        assert re.search(rf"in row +\[{number}\] aten::mm$", shown, re.MULTILINE)
        assert re.search(r"arguments +self: float32\[2, 3\] cpu, mat2: float32\[2, 2\] cpu", shown)


SCRIPTED = """import torch
@torch.jit.script
def s(x):
    return x[5].sum()
"""


def test_what_torchscript_raises_is_no_name_of_what_left_the_kernel(command: InProcess, tmp_path: Path) -> None:
    """The kernel raises an IndexError; the interpreter makes a RuntimeError of it."""
    file = tmp_path / "scripted.py"
    file.write_text(SCRIPTED)
    classes = torch_says(
        f"import runpy\ns = runpy.run_path({str(file)!r})['s']\nmade = []\n"
        "for call in (lambda: torch.select(torch.ones(2), 0, 5), lambda: s(torch.ones(2))):\n"
        "    try: call()\n    except Exception as error: made.append(type(error).__name__)\n"
        "print(json.dumps(made))"
    )
    assert classes == ["IndexError", "RuntimeError"]
    given = ("--setup", SCRIPTED, "--var", "x=torch.ones(2)", "--no-native", "--view", "path")
    shown = command("trace", "s(x)", *given).out
    assert "the expression raised RuntimeError" in shown
    assert re.findall(r"(\S+ \S+) was raised here", shown) == ["the error"]
