"""What the recorders see of Python frames, threads, limits and operators that differ from run to run."""

from __future__ import annotations

import importlib
import itertools
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from ptexplore.capture.probing import TraceRequest
from ptexplore.capture.trace import capture
from ptexplore.model.places import Runtime
from ptexplore.model.reasons import (
    AtRecursionLimit,
    BackwardFrom,
    BeganAt,
    BeganAtRealSum,
    BeganAtSum,
    FramesLost,
    within,
)
from ptexplore.model.trace import Session
from ptexplore.workspace.typed import typed
from tests.harness import THOROUGH

torch = pytest.importorskip("torch")

THREAD = """
from concurrent.futures import ThreadPoolExecutor
def elsewhere(x):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: F.layer_norm(x, (3,))).result()
"""


def trace(runtime: Runtime, expression: str, **options: Any) -> Session:
    return capture(typed(TraceRequest(expression=expression, cwd="/", **options)), runtime)


def seen(session: Session, recorder: str, kind: str = "event") -> list[dict[str, Any]]:
    return [o.as_saved().data for o in session.observations if o.recorder == recorder and o.kind == kind]


def test_frames_name_file_line_and_caller(warm: Runtime) -> None:
    events = seen(trace(warm, "m(a)", setup=("m = nn.Sequential(nn.Linear(3, 2))",)), "frames")
    frames = [e for e in events if e["type"] == "frame"]
    assert [f["function"] for f in frames][:3] == ["_wrapped_call_impl", "_call_impl", "forward"]
    assert frames[0]["caller_line"] is None
    for above, below in itertools.pairwise(frames[:3]):
        assert below["parent"] == above["event"]
        assert below["caller_line"] > above["line"]
        assert below["file"].startswith(warm.torch_dir)
    linear = next(e for e in events if e["type"] == "builtin" and e["method"] == "linear")
    assert linear["table"] == "nn"
    assert linear["tls_include"] > 0
    assert any(e["type"] == "op" and e["parent"] == linear["event"] for e in events)


def test_a_method_tells_the_keys_of_its_own_tensor(warm: Runtime) -> None:
    builtin = next(e for e in seen(trace(warm, "a.add(b)"), "frames") if e["type"] == "builtin")
    assert set(builtin["self"]["keys"]) == {"CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU"}
    operator = next(e for e in seen(trace(warm, "a.add(b)", once=True), "frames") if e["type"] == "op")
    builtin = next(e for e in seen(trace(warm, "a.add(b)", once=True), "frames") if e["type"] == "builtin")
    assert operator["parent"] == builtin["event"]


def test_torchs_own_small_helpers_are_left_out_unless_they_call_operators(warm: Runtime) -> None:
    events = seen(trace(warm, "F.layer_norm(a, (3,)).sum()", grad=True, backward=True, once=True), "frames")
    tables = {e["method"]: e["table"] for e in events if e["type"] == "builtin"}
    assert not [m for m in tables if m.startswith(("_has_torch_function", "__"))]
    assert "run_backward" in tables
    assert {e["type"] for e in events} == {"frame", "builtin", "sets", "op", "engine", "node"}


def test_parents_come_before_children_in_every_tree(warm: Runtime) -> None:
    session = trace(warm, "torch.stack([a, b]).sum()", backward=True, grad=True)
    for recorder in ("ops", "frames", "dispatch"):
        known: set[int] = set()
        for event in seen(session, recorder):
            assert event["parent"] is None or event["parent"] in known
            known.add(event["event"])


def test_other_threads_are_numbered_or_said_to_be_missing(warm: Runtime) -> None:
    session = trace(warm, "elsewhere(a) + torch.mul(a, a)", setup=(THREAD,))
    threads = {e["name"]: e["thread"] for e in seen(session, "frames") if e["type"] == "op"}
    assert threads["aten::mul"] == 0
    if "aten::layer_norm" in threads:
        assert threads["aten::layer_norm"] > 0
    else:
        assert seen(session, "frames", "cut")[0]["told"] == {"code": "more-threads-called", "count": 1}


def test_a_hook_that_the_expression_takes_away_costs_no_order(warm: Runtime) -> None:
    setup = (
        "import sys\n"
        "def hook(module, args):\n"
        "    sys.setprofile(None)\n"
        "m = nn.Linear(3, 3)\n"
        "m.register_forward_pre_hook(hook)"
    )
    session = trace(warm, "torch.mul(m(a), 2)", setup=(setup,))
    product = next(e for e in seen(session, "frames") if e["type"] == "op" and e["name"] == "aten::mul")
    above = next((e for e in seen(session, "frames") if e["event"] == product["parent"]), None)
    assert above is None, f"mul is no part of {above}"
    assert seen(session, "frames", "cut")[0]["told"] == {"code": "frames-lost"}
    assert not seen(session, "compare", "perturbed")


def test_random_choice_of_operators_is_said(warm: Runtime) -> None:
    setup = ("import time\nstart = time.monotonic_ns()\ndef pick(n): return torch.add if n % 2 else torch.mul",)
    expression = "[pick(time.monotonic_ns() // 7)(a, b) for _ in range(64)]"
    found = seen(trace(warm, expression, setup=setup), "compare", "nondeterministic")
    assert found
    assert found[0]["passes"][0] == "ops"
    assert set(found[0]["operators"]) == {"aten::add", "aten::mul"}
    assert found[0]["told"]["cause"] == {"code": "runs-differ"}


def test_seeded_random_choices_are_the_same_in_every_pass(warm: Runtime) -> None:
    setup = ("import random, numpy",) if _has_numpy(warm) else ("import random",)
    more = " + numpy.random.rand()" if _has_numpy(warm) else ""
    expression = f"[(torch.add if random.random(){more} > 0.9 else torch.mul)(a, b) for _ in range(32)]"
    assert not seen(trace(warm, expression, setup=setup), "compare", "nondeterministic")


def _has_numpy(runtime: Runtime) -> bool:
    return os.path.isdir(os.path.join(os.path.dirname(runtime.torch_dir), "numpy"))


def test_a_tensor_without_memory_has_no_fingerprint() -> None:
    """Its data pointer is null: what ctypes gives for that are bytes that nobody wrote, other ones each time."""
    values = importlib.import_module("ptexplore.probe.values")
    kind = type(
        "Wrapper", (torch.Tensor,), {"__torch_dispatch__": classmethod(lambda cls, func, types, *rest: wrapper)}
    )
    wrapper = torch.Tensor._make_wrapper_subclass(kind, (3,))
    assert wrapper.data_ptr() == 0
    assert values.fingerprint(wrapper) is None
    assert values.fingerprint(torch.ones(3)) == values.fingerprint(torch.ones(3)) is not None


MAPPED = """class Square(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x * x
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g"""


def test_what_telling_sizes_changes_is_said(warm: Runtime) -> None:
    """Torch's profiler holds this gradient where it records shapes, in 2.13: AccumulateGrad copies it then."""
    operators: dict[bool, list[str]] = {}
    for shapes in (False, True):
        names: dict[str, Any] = {"torch": torch}
        exec(MAPPED, names)
        a = torch.ones(3, 3, requires_grad=True)
        with torch.autograd.profiler.profile(record_shapes=shapes) as profile:
            torch.vmap(names["Square"].apply)(a).sum().backward()
        operators[shapes] = [event.name for event in profile.function_events if event.name.startswith("aten::")]
    found = seen(
        trace(warm, "torch.vmap(Square.apply)(a)", setup=(MAPPED,), grad=True, backward=True), "compare", "perturbed"
    )
    if torch.__version__ == warm.version:
        assert bool(found) is (operators[False] != operators[True])
    assert all(f["passes"][0] == "ops" and f["operators"][0] == "aten::detach" for f in found)


def test_a_recorder_that_changes_what_runs_is_said(warm: Runtime) -> None:
    setup = ("import sys\ndef watched(): return sys.getprofile() is not None",)
    found = seen(trace(warm, "torch.add(a, b) if watched() else torch.mul(a, b)", setup=setup), "compare", "perturbed")
    assert [f["passes"] for f in found] == [("ops", "frames")]
    assert found[0]["operators"] == ("aten::mul", "aten::add")


def test_a_new_operator_tells_its_table(warm: Runtime) -> None:
    setup = (
        "lib = torch.library.Library('ptexplore_test', 'DEF')\n"
        "lib.define('twice(Tensor x) -> Tensor')\n"
        "lib.impl('twice', lambda x: x + x, 'CPU')"
    )
    request = TraceRequest(expression="torch.ops.ptexplore_test.twice(a)", setup=(setup,), cwd="/")
    session = capture(typed(request), warm, {"aten::add.Tensor": "not what it is"})
    tables = {t["op"]: t for t in seen(session, "ops", "table")}
    assert "twice(Tensor x) -> Tensor" in tables["ptexplore_test::twice"]["schema"]
    assert "CPU" in tables["ptexplore_test::twice"]["table"]
    assert "aten::add.Tensor" in tables


def test_too_deep_an_expression_is_traced_without_its_calls(warm: Runtime) -> None:
    session = trace(warm, "a" + ".T" * 400)
    assert len([e for e in seen(session, "ops") if e["type"] == "op"]) >= 400
    cut = seen(session, "dispatch", "cut")
    assert seen(session, "dispatch", "call") or cut


@pytest.mark.parametrize(
    ("expression", "in_place"),
    [
        ("a.add_(b)", {"a"}),
        ("torch.add(a, b).add_(b)", set()),
        ("F.relu(a, inplace=True) + b", {"a"}),
        ("torch.relu_(a) + b", {"a"}),
        ("a.view(-1).mul_(2) + b.sum()", {"a"}),
        ("a[0].zero_() + b.requires_grad_()", {"a"}),
        ("a.__setitem__(0, 1.0) or b", {"a"}),
        ("(a + b).__class__", set()),
        ("a.sin().add_(b)", set()),
        ("a.data.add_(1) + b", set()),
        ("a.detach().mul_(2) + b", set()),
        ("a.t().sin_() + b", {"a"}),
        ("((a * b).sum().backward(), a.grad.zero_(), b.grad[0].mul_(2))", set()),
        ("((a * b).sum().backward(), nn.utils.clip_grad_norm_(a, 1.0))", set()),
        ("nn.init.zeros_(a) + b", set()),
        ("F.relu_(a) + b", {"a"}),
        ("a.requires_grad_(False).add_(1).requires_grad_() + b", set()),
        ("a.type_as(b).add_(1)", {"a"}),  # it returns a itself, whatever its schema says
    ],
)
def test_only_what_is_changed_in_place_becomes_a_clone(warm: Runtime, expression: str, in_place: set[str]) -> None:
    bound = trace(warm, expression, grad=True, once=True).bound
    assert {b.name for b in bound if "a clone" in b.description} == in_place
    assert {b.name for b in bound} == {"a", "b"}
    assert all("requires_grad" in b.description for b in bound)


@pytest.mark.parametrize(
    ("expression", "description"),
    [
        ("torch.zeros(2, 3, dtype=torch.int64)", "Tensor[2, 3] int64 cpu"),
        ("nn.Parameter(a)", "Parameter[3, 3] float32 cpu requires_grad"),
        ("a.to_sparse()", "Tensor[3, 3] float32 cpu sparse_coo"),
        ("a.shape", "torch.Size([3, 3])"),
        ("(a, [b, 1])", "tuple of Tensor[3, 3] float32 cpu, list of Tensor[3, 3] float32 cpu, 1"),
        ("'x' * 10**7", None),
        ("torch.finfo", "type"),
        ("None", "None"),
    ],
)
def test_results_in_words(warm: Runtime, expression: str, description: str | None) -> None:
    found = trace(warm, expression, once=True).result.description
    assert len(found) < 300
    assert description is None or found == description


def test_backward_of_several_tensors_sums_each(warm: Runtime) -> None:
    session = trace(warm, "(a * 2, {'x': (b * 3).sum()})", backward=True, grad=True)
    assert isinstance(session.result.backward, BackwardFrom)
    assert [type(start) for start in session.result.backward.starts] == [BeganAtSum, BeganAt]
    nodes = [e["name"] for e in seen(session, "ops") if e["type"] == "node"]
    assert nodes.count("MulBackward0") == 2


def test_backward_of_a_complex_result_runs_from_its_real_part(warm: Runtime) -> None:
    session = trace(warm, "torch.fft.fft(a)", backward=True, grad=True)
    assert isinstance(session.result.backward, BackwardFrom)
    assert [type(start) for start in session.result.backward.starts] == [BeganAtRealSum]
    assert "FftR2CBackward0" in [e["name"] for e in seen(session, "ops") if e["type"] == "node"]


# Both limits of a pass, lowered: as many again of what is told, in a tenth of the time.
LOWERED = """
import sys
for _name in ("events", "frames"):
    assert sys.modules[f"_ptexplore_probe.{_name}"].LIMIT == 20_000
    sys.modules[f"_ptexplore_probe.{_name}"].LIMIT = 5_000
"""


def test_a_long_run_is_cut_alike_in_every_pass(warm: Runtime) -> None:
    limit, setup = (20_000, ()) if THOROUGH else (5_000, (LOWERED,))
    session = trace(warm, f"[torch.empty(0) for _ in range({limit + 1000})]", setup=setup)
    for recorder in ("ops", "frames", "dispatch"):
        assert sum(e["type"] == "op" for e in seen(session, recorder)) == limit
        cuts = seen(session, recorder, "cut")
        assert any(str(limit) in str(cut) for cut in cuts)
    (end,) = (e for e in seen(session, "frames") if e["type"] == "cut")
    assert max(e["event"] for e in seen(session, "frames") if e["type"] in ("frame", "builtin")) < end["event"]
    assert not seen(session, "compare", "perturbed")
    assert not seen(session, "compare", "nondeterministic")


def test_a_thread_that_was_there_before_the_expression_is_said_to_be_unrecorded(warm: Runtime) -> None:
    """As a pool's of --setup: a profile function is set in threads that start while it is on."""
    waits = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()"
    for setup, is_said in (((waits,), True), ((), False)):
        cuts = " ".join(str(cut) for cut in seen(trace(warm, "a + 1", setup=setup), "frames", "cut"))
        assert ("'thread-before'" in cuts) == is_said


def test_what_ends_at_the_recursion_limit_is_reported_as_that(warm: Runtime) -> None:
    """The recorders' own frames count for the limit: how deep each pass comes is nothing of the expression's."""
    request = TraceRequest(expression="f(a)", cwd="/", setup=("def f(t):\n return f(t.view(3, 3))",))
    session = capture(typed(request), warm, raising=True)
    (raised, *_) = seen(session, "ops", "raised")
    assert len(raised["frames"]) + raised["further"] > 900, "torch's own traceback has a thousand"
    said = [o.data.told for o in session.observations if o.kind in ("perturbed", "nondeterministic", "cut")]
    assert all({AtRecursionLimit(), FramesLost()} & set(within(one)) for one in said), said


def test_the_recorder_of_calls_leaves_no_frames_of_its_own_questions(warm: Runtime) -> None:
    """Where one run speaks for all: it asks a module for attributes, which nn.Module answers in Python."""
    setup = "m = torch.nn.LSTM(3, 4)\nx = torch.ones(5, 1, 3)"
    names: dict[str, Any] = {"torch": torch}
    exec(setup, names)
    code, called = compile("m(x)[0]", "<here>", "eval"), list[str]()

    def hook(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(torch.__path__[0]):
            called.append(frame.f_code.co_name)

    eval(code, names)
    sys.setprofile(hook)
    eval(code, names)
    sys.setprofile(None)
    session = trace(warm, "m(x)[0]", setup=tuple(setup.split("\n")))
    assert [e["function"] for e in seen(session, "frames") if e["type"] == "frame"] == called


def test_how_often_an_expression_runs(warm: Runtime, tmp_path: Path) -> None:
    """Once for the profiler alone; once more, after one that warms up, for all recorders, which saw the same."""
    counter = tmp_path / "count"
    trace(warm, f"open({str(counter)!r}, 'a').write('x') and torch.add(a, b)")
    assert counter.read_text() == "xxx"


def test_how_often_an_expression_runs_of_which_the_second_run_goes_another_way(warm: Runtime, tmp_path: Path) -> None:
    """One more pass of operators and one of all recorders, both after two runs."""
    counter = tmp_path / "count"
    setup = (
        "import sys",
        f"def seen():\n    open({str(counter)!r}, 'a').write('x')\n    return hasattr(sys, 'seen')",
        "def f(x):\n    was, sys.seen = seen(), 1\n    return x.cos() if was else x.sin()",
    )
    session = trace(warm, "f(a)", setup=setup)
    assert counter.read_text() == "x" * (1 + 2 + 3 + 3)
    for recorder in ("ops", "frames", "dispatch"):
        assert [e["name"] for e in seen(session, recorder) if e["type"] == "op"] == ["aten::cos"]
