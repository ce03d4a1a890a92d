"""The native pass's part of a session: the calls that were stepped, or why there are none."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ptexplore.capture.probing import TraceRequest
from ptexplore.capture.trace import capture
from ptexplore.model.places import Runtime
from ptexplore.model.reasons import PassStopped, RunningPass, RunsOnce
from ptexplore.model.trace import Session
from ptexplore.workspace.typed import typed

pytest.importorskip("torch")
stepper = pytest.importorskip("ptexplore.probe.stepper")
if stepper.why_not() is not None:
    pytest.skip(stepper.why_not(), allow_module_level=True)
native = pytest.importorskip("ptexplore.probe.native")


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Function tables are kept where all of these tests find them."""
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def trace(runtime: Runtime, expression: str | None, **options) -> Session:
    return capture(typed(TraceRequest(expression=expression, native=True, **options)), runtime)


def parts(session: Session) -> list[dict]:
    return [o.as_saved().data for o in session.observations if (o.recorder, o.kind) == ("native", "calls")]


def names(part: dict) -> list[str]:
    return [part["functions"][number][3].partition("(")[0] for number in part["function"]]


def test_the_calls_of_an_addition(warm: Runtime) -> None:
    session = trace(warm, "torch.add(a, b)")
    assert (session.captured.native, session.captured.reason) == (True, None)
    [part] = parts(session)
    called = names(part)
    assert called.index("torch::autograd::THPVariable_add") < called.index("at::_ops::add_Tensor::call")
    is_rewritten = tuple(map(int, warm.python_version.split(".")[:2])) >= native.INSTRUMENTED  # by one more run
    warm_ups = native.WARM_UPS + is_rewritten
    assert (part["part"], part["cut"], part["warm_ups"], part["threads"]) == ("forward", None, warm_ups, 1)
    assert all(0 <= begin <= end <= part["instructions"] for begin, end in zip(part["begin"], part["end"], strict=True))
    assert all(below <= above + 1 for above, below in pairwise(part["depth"]))


def test_a_key_set_is_among_the_registers(warm: Runtime) -> None:
    [part] = parts(trace(warm, "torch.add(a, b)"))
    [wrapper] = [n for n, name in enumerate(names(part)) if name == "at::_ops::add_Tensor::call"]
    kernels = [registers for number, registers in part["registers"].items() if int(number) > wrapper]
    assert any(one & 0xFFFF == 1 and 1 << 16 <= one < 1 << 46 for registers in kernels for one in registers)


def test_what_may_run_once_only_is_not_stepped(warm: Runtime) -> None:
    session = trace(warm, "a + b", once=True)
    assert session.captured.native is False
    assert session.captured.reason == RunsOnce()
    assert parts(session) == []


def test_not_asked_for(warm: Runtime) -> None:
    session = capture(typed(TraceRequest(expression="a + b")), warm)
    assert (session.captured.native, parts(session)) == (False, [])


ENDLESS = """
import sys
def in_the_native_pass():
    frame = sys._getframe()
    while frame and "native" not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None
def endless():
    while in_the_native_pass():
        pass
"""


def test_a_run_that_never_ends_ends_the_native_pass_alone(warm: Runtime) -> None:
    session = trace(warm, "[endless(), a + b]", setup=(ENDLESS,), timeout=2.0)
    assert session.captured.native is False
    assert session.captured.reason == PassStopped(RunningPass("native"), 2.0)
    assert any(o.as_saved().data.get("name") == "aten::add" for o in session.observations)
