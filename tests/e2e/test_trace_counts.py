"""The numbers of a trace that tests assert, each against torch's own counters in another process."""

from __future__ import annotations

from typing import Any

import pytest

import ptexplore
from ptexplore.facts.value_reads import READS, SIZED_BY_VALUES
from ptexplore.model.observed import SteppedCalls, records
from ptexplore.view.trace.counts import Counted
from tests.harness import TARGET
from tests.torch_says import torch_says

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.usefixtures("command"),
    pytest.mark.skipif(TARGET is not None, reason="record() is about the torch of the Python that runs the tests"),
]
SETUP = (
    "x = torch.arange(12.).reshape(3, 4) / 7", "y = torch.ones(3, 4, dtype=torch.int64)",
    "w = torch.ones(5, 4, requires_grad=True)", "F = torch.nn.functional",
    "m = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))",
    "image = torch.ones(1, 3, 8, 8)", "conv = torch.nn.Conv2d(3, 4, 3)",
)  # fmt: skip
EXPRESSIONS = (
    "x.t().contiguous() + x.t().reshape(-1)[:3]",
    "(x.double() + y).half().float()",
    "[x.sum().item(), bool((x > 0).any()), x[x > 1].tolist(), torch.equal(x, x), x.nonzero()]",
    "(x.masked_select(x > 1), x.unique(), y.view(-1).bincount(), x.repeat_interleave(torch.tensor([1, 2, 3]), 0))",
    "F.linear(x, w).relu().exp().sum()",
    "m(x).softmax(-1).sum()",
    "conv(image).flatten(1).tanh().pow(2).sum()",
    "torch.cat([x, x.t().contiguous().t()]).clone().copy_(torch.zeros(6, 4))",
    "x.add(1).mul_(2)",
)
# What the profiler saw, and what hooks on saved tensors were given: each storage once, without those of parameters.
ASK = """
import torch.utils._pytree
{setup}
saved = {{}}
def pack(tensor):
    storage = tensor.untyped_storage()
    if storage.data_ptr() not in leaves:
        saved[storage.data_ptr()] = storage.nbytes(), tensor
    return tensor
leaves = {{t.untyped_storage().data_ptr() for t in (w, *m.parameters(), *conv.parameters())}}
run = lambda: {expression}
run()
with torch.autograd.profiler.profile() as profile:
    run()
with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
    result = run()
def waits(event):
    return event.name in {waiting}
def outer(event):
    while event.cpu_parent is not None:
        event = event.cpu_parent
        yield event
events = [event for event in profile.function_events]
print(json.dumps({{
    "copies": sum(event.name == "aten::copy_" for event in events),
    "syncs": sum(waits(event) and not any(map(waits, outer(event))) for event in events),
    "saved": sum(size for size, _ in saved.values()),
    "operators": sorted({{event.name for event in events if event.name.startswith("aten::")}}),
}}))
"""


def asked_of_torch(expression: str) -> Any:
    # An overload that only torch's own index computation calls: its name is the one of the method that calls it.
    waiting = {name.partition(".")[0] for name in (*READS, *SIZED_BY_VALUES)}
    answer = torch_says(ASK.format(setup="\n".join(SETUP), expression=expression, waiting=waiting))
    answer["syncs"] += expression.count(".tolist()")  # a method that calls no operator here.
    return answer


@pytest.fixture(scope="module", params=EXPRESSIONS)
def asked(request: pytest.FixtureRequest) -> tuple[str, Any]:
    return request.param, asked_of_torch(request.param)


def test_an_expression(asked: tuple[str, Any]) -> None:
    expression, torchs = asked
    trace = ptexplore.trace(expression, setup=SETUP, native=False)
    assert (trace.copies, trace.syncs) == (torchs["copies"], torchs["syncs"]), trace.copies.rows + trace.syncs.rows
    assert trace.saved_bytes == torchs["saved"], trace.saved_bytes.rows
    for operator in torchs["operators"]:
        assert trace.ran(operator), operator
        assert trace.dispatches(operator), operator
    assert trace.ran("aten::cumprod") == 0


def test_a_function_of_this_process(asked: tuple[str, Any]) -> None:
    expression, torchs = asked
    names: dict[str, Any] = {}
    exec("\n".join(("import torch", *SETUP)), names)
    trace = ptexplore.trace(lambda: eval(expression, names))
    assert (trace.copies, trace.syncs) == (torchs["copies"], torchs["syncs"]), trace.copies.rows + trace.syncs.rows
    for operator in torchs["operators"]:
        assert trace.ran(operator), operator


def test_every_operator_whose_result_depends_on_values() -> None:
    """torch marks them. The rest of the marked ones call an operator of the list, or need values only on the CPU."""
    tagged = torch_says(
        "wanted = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}\n"
        "names = set()\n"
        "for name in torch._C._dispatch_get_all_op_names():\n"
        "    space, _, rest = name.partition('::')\n"
        "    op, _, overload = rest.partition('.')\n"
        "    if space == 'aten' and not overload.endswith('out'):\n"
        "        call = getattr(getattr(torch.ops.aten, op, None), overload or 'default', None)\n"
        "        if call is not None and wanted & set(call.tags): names.add(name)\n"
        "print(json.dumps(sorted(names)))"
    )
    calls_one = {"aten::index.Tensor", "aten::argwhere", "aten::one_hot", "aten::allclose"}
    of_sizes = {"aten::_ctc_loss", "aten::_ctc_loss.Tensor", "aten::linalg_lstsq"}  # lengths; singular values
    known = {*READS, *SIZED_BY_VALUES}
    assert set(tagged) - known - calls_one - of_sizes == set()
    assert known - set(tagged) == {"aten::is_nonzero"}  # it calls item.


def test_stepped() -> None:
    """Each C++ function by the name that the binary has, and the instructions as they were counted."""
    trace = ptexplore.trace("torch.add(a, b)", grad=True)
    assert trace.session is not None
    if not trace.record.captured.native:
        pytest.skip("nothing can be stepped here")
    (stepped,) = records(trace.session.observations, "calls", SteppedCalls)
    assert trace.instructions == stepped.instructions
    torchs = {name for library, _, _, name in stepped.functions if library.startswith("libtorch_cpu")}
    assert len(torchs) > 50
    folded = []
    for name in torchs:
        try:
            assert trace.ran(name), name
        except ptexplore.PtexploreError as error:
            folded.append(error.why)
    assert len(folded) < len(torchs) / 4
    assert all("one piece of code" in why for why in folded)
    assert trace.ran("at::native::add_kernel")
    assert not trace.ran("at::native::mul_kernel")
    assert "similar names that ran: at::native::add_kernel" in trace.ran("at::native::mul_kernel").rows
    assert trace.ran("AddBackward0") == 0  # forward records this node.
    assert ptexplore.trace("torch.add(a, b).sum()", backward=True, native=False).ran("AddBackward0") == 1


def test_dispatch_keys_as_torch_prints_them() -> None:
    trace = ptexplore.trace("torch.mm(a, b)", grad=True, native=False)
    torchs = torch_says(
        "keys = torch._C._dispatch_keys(torch.ones(3, 3, requires_grad=True))\n"
        "keys = keys - torch._C._dispatch_tls_local_exclude_set()\n"
        "entries = dict(line.split(': ', 1) for line in torch._C._dispatch_dump_table('aten::mm').splitlines())\n"
        "kept = []\n"
        "while not kept or kept[-1] != 'CPU':\n"
        "    key = keys.highestPriorityTypeId()\n"
        "    keys = keys.remove(key)\n"
        "    name = str(key).rpartition('.')[2]\n"
        "    if not entries[name].startswith('fallthrough'): kept.append(name)\n"
        "print(json.dumps(kept))"
    )
    assert trace.dispatches("aten::mm", via=torchs) == 1, torchs
    assert trace.dispatches("aten::mm", via=["CPU"]) == 0
    assert trace.dispatches("mm") == 1
    assert "aten::mm  AutogradCPU → CPU" in trace.dispatches("aten::mm", via=["CPU"]).rows


def test_what_is_not_known() -> None:
    """A number that the trace does not prove raises, with the reason."""
    import torch

    trace = ptexplore.trace(lambda: torch.ones(2, requires_grad=True) + 1)
    with pytest.raises(ptexplore.PtexploreError, match="whether at::native::add_kernel ran"):
        trace.ran("at::native::add_kernel")
    with pytest.raises(ptexplore.PtexploreError, match="number of instructions"):
        trace.instructions  # noqa: B018
    with pytest.raises(ptexplore.PtexploreError, match="bytes kept") as raised:
        trace.saved_bytes  # noqa: B018
    assert "backward was not called" in raised.value.why
    with pytest.raises(ptexplore.PtexploreError, match="graph breaks"):
        ptexplore.compile("a + b").graph_breaks  # noqa: B018
    backward = ptexplore.trace(lambda: torch.ones(2, requires_grad=True).exp().sum().backward())
    assert backward.saved_bytes == 8


def test_graph_breaks() -> None:
    lines = ("y = x.sin()", "torch._dynamo.graph_break()", "if y.sum() > 0: y = y.cos()", "return y")
    code = "\n    ".join(("def g(x):", *lines))
    torchs = torch_says(f"{code}\nprint(json.dumps(torch._dynamo.explain(g)(torch.ones(3)).graph_break_count))")
    compiled = ptexplore.compile("f(torch.ones(3))", setup=[code, "f = torch.compile(g, backend='eager')"])
    assert compiled.graph_breaks == torchs == 2
    assert "if y.sum() > 0:" in compiled.graph_breaks.rows


def test_a_number_is_a_number() -> None:
    import pickle

    counted = Counted(3, lambda: [f"row {number}" for number in range(20)])
    assert (counted + 1, counted == 3, pickle.loads(pickle.dumps(counted))) == (4, True, 3)
    assert counted.rows.splitlines()[-1] == "… 8 more"
