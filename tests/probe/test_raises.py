"""Who raised an error that torch keeps no line with: the functions are those that gdb stopped in.

gdb had breakpoints on PyErr_SetString, PyErr_Format, PyErr_SetObject, PyErr_SetNone and __cxa_throw, in torch 2.13.0.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ptexplore.capture.native.thrown import raised
from ptexplore.model.codes import convert
from ptexplore.model.messages import RaiserNoted
from tests.harness import TARGET, torch_version

DISPATCHER = "pybind11::cpp_function::dispatcher"
REFUSED = "torch::handle_torch_function_no_python_arg_parser"
CASES = {  # expression -> the function that gdb saw call it, and what it called
    "Refusing(torch.ones(2)).sum()": (REFUSED, "PyErr_SetString"),
    "torch.add(NoFunction(), 1)": (REFUSED, "PyErr_SetString"),
    "torch.ones(2).add(NoFunction())": (REFUSED, "PyErr_SetString"),
    "torch.Size(['a'])": ("THPSize_pynew", "PyErr_Format"),
    "torch.Size([1.5])": ("THPSize_pynew", "PyErr_Format"),
    "torch.ones(2).untyped_storage()['a']": ("THPStorage_get", "PyErr_Format"),
    "torch.finfo(torch.int32)": ("THPFInfo_pynew", "PyErr_Format"),
    "torch.iinfo(torch.float32)": ("THPIInfo_pynew", "PyErr_Format"),
    "hooked()": ("check_single_result", "PyErr_Format"),
    "torch.ops.aten.add(1)": ("torch::jit::getOpWithStack", "throw"),
    "torch._C.parse_schema('foo(')": ("torch::jit::Lexer::expected", "throw"),
    "torch._C.parse_ir('foo(')": ("torch::jit::Lexer::expected", "throw"),
    "torch._C._dispatch_has_kernel(3)": (DISPATCHER, "PyErr_SetString"),
    "torch._C._jit_set_profiling_mode('a')": (DISPATCHER, "PyErr_SetString"),
    "torch._C._get_tracing_state(3)": (DISPATCHER, "PyErr_SetString"),
    "torch._C.FunctionSchema(1)": (DISPATCHER, "PyErr_SetString"),
    "torch._C.Graph().addInput(3)": (DISPATCHER, "PyErr_SetString"),
    "torch._C._functorch._add_batch_dim(torch.ones(2), 0, 'a')": (DISPATCHER, "PyErr_SetString"),
    # Python's own library raised these: for torch, or by itself.
    "torch._C._ImperativeEngine().run_backward((torch.ones(2),), (None,), 'a')": None,
    "torch.layout()": None,
    "torch.ones(2).apply_(3)": None,
    "len(5)": None,
    "caught()": None,
}
CODE = """
import importlib, json, sys
sys.path.insert(0, ROOT)
import torch
raises = importlib.import_module("ptexplore.probe.raises")

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

def hooked():
    y = torch.ones(2, requires_grad=True).exp()
    y.register_hook(lambda grad: 3)
    y.sum().backward()

def caught():
    try:
        torch.Size(["a"])
    except TypeError:
        len(5)  # another error of the same class

log = raises.RaiseLog()
entries = [entry for entry, _ in log._entries()]
words = lambda: [raises.ctypes.c_uint64.from_address(entry).value for entry in entries]
told = {}
for expression in EXPRESSIONS:
    try:
        eval(expression)  # binds what is bound late
    except Exception:
        pass
    was = words()
    log.on()
    try:
        eval(expression)
    except Exception as error:
        log.off()
        told[expression] = {"text": str(error), "raised": log.data_of(error), "as_before": words() == was}
    log.off()
print(json.dumps({"entries": len(entries), "told": told}))
"""


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    root = str(Path(__file__).parents[2])
    code = f"ROOT, EXPRESSIONS = {root!r}, {tuple(CASES)!r}\n{CODE}"
    ran = subprocess.run(
        [TARGET or sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr
    answer: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return answer


@pytest.mark.skipif(sys.platform != "linux", reason="jump tables of Linux")
@pytest.mark.parametrize("expression", CASES)
def test_the_function_that_raised_is_the_one_that_gdb_stopped_in(
    answers: dict[str, Any], expression: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if not torch_version().startswith("2.13"):
        pytest.skip("gdb was asked about 2.13.0")
    case, expected = answers["told"][expression], CASES[expression]
    assert case["as_before"]
    if expected is None:
        assert case["raised"] is None
        return
    cache = tmp_path_factory.getbasetemp() / "symbols"
    error = raised(convert(case["raised"], RaiserNoted), case["text"], cache)
    assert error is not None
    function, by = expected
    assert (error.function.rpartition("(anonymous namespace)::")[2], error.by) == (function, by)
    assert error.message == case["text"]
