"""Events against frames: the same names in the same order and nesting, whatever one side has more."""

from __future__ import annotations

from ptexplore.model.trace import Hop
from ptexplore.resolve.claims import NOT_YET, Claim
from ptexplore.resolve.native.join import align
from tests.unit.resolve.making import recorded
from tests.unit.resolve.native_calls import calls, part


def op(name: str, *children: Claim, known: bool = True) -> Claim:
    full = f"aten::{name}"
    hop = Hop(0, "op", full, "observed", NOT_YET, op=full if known else None)
    return Claim(hop, recorded({"type": "op", "name": full.partition(".")[0]}), children=children)


def binding(name: str, *children: Claim) -> Claim:
    hop = Hop(0, "binding", f"torch::autograd::{name}", "observed", NOT_YET)
    return Claim(
        hop,
        recorded({"type": "builtin", "table": "torch", "method": name, "tls_include": 0, "tls_exclude": 0}),
        None,
        children,
    )


def named(cpp_name: str) -> str:
    base, _, overload = cpp_name.partition("_")
    return f"aten::{base}" + (f".{overload}" if overload else "")


def matched(claims: list[Claim], text: str) -> list[int | None]:
    """By claim, in order, the number of its frame."""
    one = part(1, calls(text))
    found = align(claims, one.frames, named)
    return [found[c.identity].number if c.identity in found else None for top in claims for c in top.walk()]


ADD, MUL, BOXED = "at::_ops::add_T::call(int)", "at::_ops::mul_T::call(int)", "c10::Dispatcher::callBoxed(int) const"


def test_the_same_on_both_sides() -> None:
    claims = [binding("f", op("add.T", op("mul.T"))), op("add.T")]
    assert matched(claims, f"torch::autograd::f()\n {ADD}\n  {MUL}\n{ADD}") == [0, 1, 2, 3]


def test_calls_that_the_profiler_did_not_record() -> None:
    assert matched([op("add.T"), op("add.T")], f"{MUL}\n{ADD}\n {MUL}\n{ADD}") == [1, 3]


def test_events_without_a_frame() -> None:
    assert matched([op("sub"), op("add.T"), op("sub")], f"{ADD}\n") == [None, 0, None]


def test_another_overload_is_another_operator() -> None:
    assert matched([op("add.S")], f"{ADD}\n") == [None]
    assert matched([op("add", known=False)], f"{ADD}\n") == [0], "the event has no overload: the frame tells"


def test_what_nests_otherwise_stays_unmatched() -> None:
    assert matched([op("add.T", op("mul.T"))], f"{ADD}\n{MUL}\n") == [0, None]


def test_what_an_operator_called_is_not_taken_for_what_a_later_one_calls() -> None:
    """Stepping was cut inside of the first, before its end; the second calls functions alike."""
    claims = [op("add.T", binding("h"), binding("f")), op("mul.T", binding("f"), binding("g"))]
    told = matched(claims, f"{ADD}\n torch::autograd::f()\n torch::autograd::g()\n")
    assert told == [0, None, None, None, None, None]


def test_a_boxed_call_is_the_one_event_that_is_left() -> None:
    assert matched([op("add.T"), op("own"), op("add.T")], f"{ADD}\n{BOXED}\n{ADD}") == [0, 1, 2]
    assert matched([op("add.T"), op("own"), op("other")], f"{ADD}\n{BOXED}\n") == [0, None, None]


def frame(name: str, line: int, *children: Claim) -> Claim:
    event = recorded({"type": "frame", "file": "/torch/a.py", "line": line, "function": name})
    return Claim(Hop(0, "python", name, "observed", NOT_YET), event, children=children)


def test_what_ran_once_for_each_operator_does_not_draw_a_call_to_the_next_ones() -> None:
    """The recorded run filled a cache below the second call; the stepped one had done so below the first."""
    fill = [frame("find", 1), frame("make", 2), frame("hold", 3), frame("keep", 4)]
    claims = [op("add.T"), op("mul.T", *fill)]

    lines = [f"$/torch/a.py:{line} {name}" for name, line in (("find", 1), ("make", 2), ("hold", 3), ("keep", 4))]
    text = "\n".join([ADD, *(f" {line}" for line in lines), MUL])
    assert matched(claims, text) == [0, 5, None, None, None, None]


def node(name: str) -> Claim:
    hop = Hop(0, "node", f"torch::autograd::{name}::apply", "observed", NOT_YET)
    return Claim(hop, recorded({"type": "node", "name": name}))


def test_a_node_whose_apply_is_that_of_a_base_class() -> None:
    # As in 2.13.0's binary: NotImplemented has Error's, which has two of that name, and one calls the other.
    apply = "torch::autograd::Error::apply(std::vector<at::Tensor>&&)"
    text = f"torch::autograd::SumBackward0::apply(std::vector<at::Tensor>&&)\n{apply}\n {apply} const\n"
    assert matched([node("SumBackward0"), node("NotImplemented")], text) == [0, 1]
    assert matched([node("SumBackward0"), node("NotImplemented"), node("NotImplemented")], text) == [0, None, None]


def launch(through: str) -> Claim:
    hop = Hop(0, "launch", "kernel", "observed", NOT_YET)
    return Claim(hop, recorded({"type": "launch", "name": "kernel", "through": through, "took": 1}))


def test_launches_of_each_operator_for_itself() -> None:
    """A library with a runtime of its own launches unseen: that says nothing of what another operator launched."""
    given = "@libcudart.so.13 cudaLaunchKernel"
    claims = [op("add.T", launch("cudaLaunchKernel")), op("mul.T", launch("cudaLaunchKernel"))]
    assert matched(claims, f"{ADD}\n {given}\n{MUL}\n") == [0, 1, 2, None]
    assert matched(claims, f"{ADD}\n{MUL}\n {given}\n") == [0, None, 1, 2]
    assert matched(claims, f"{ADD}\n {given}\n {given}\n{MUL}\n") == [0, None, 3, None], "which of two is not known"
    inner = [op("add.T", launch("cudaLaunchKernel"), op("mul.T", launch("cudaLaunchKernel")))]
    assert matched(inner, f"{ADD}\n {MUL}\n  {given}\n {given}\n") == [0, 3, 1, 2]


def test_a_graph_s_kernels_come_by_one_call() -> None:
    graph = [launch("cudaGraphLaunch"), launch("cudaGraphLaunch")]
    assert matched(graph, "@libcudart.so.13 cudaGraphLaunch\n") == [None, None]
    assert matched(graph[:1], "@libcudart.so.13 cudaGraphLaunch\n") == [0]


def test_a_node_is_no_other_that_stands_at_its_place() -> None:
    """TorchScript's node has a class of its own, which no other is made of: the first call had another there."""
    script = "torch::jit::(anonymous namespace)::DifferentiableGraphBackward::apply(std::vector<at::Tensor>&&)"
    text = f"torch::autograd::SumBackward0::apply(std::vector<at::Tensor>&&)\n{script}\n"
    assert matched([node("SumBackward0"), node("ReluBackward0")], text) == [0, None]
    assert matched([node("SumBackward0"), node("MyFunctionBackward")], text.replace(script, PY_NODE)) == [0, 1]
    foreign = text.replace(script, "@libmine.so MyNode::apply(std::vector<at::Tensor>&&)")
    assert matched([node("SumBackward0"), node("Mine")], foreign) == [0, 1], (
        "what an extension's classes have is not known"
    )


PY_NODE = "torch::autograd::PyNode::apply(std::vector<at::Tensor>&&)"


def test_a_boxed_call_is_no_operators_but_the_one_that_has_the_kernel_which_ran() -> None:
    def told(name: str) -> str:
        return "aten::add.T" if name == "ns::add_kernel" else named(name)

    boundary = (
        "c10::impl::make_boxed_from_unboxed_functor<c10::impl::detail::WrapFunctionIntoFunctor_<"
        "c10::CompileTimeFunctionPointer<int (int), &ns::add_kernel>, int, int>, false>::call(int)"
    )
    one = part(1, calls(f"{BOXED}\n {boundary}\n  ns::add_kernel(int)\n"))
    for name, frame in (("sub.T", None), ("add.T", one.frames[0])):
        claim = op(name)
        assert align([claim], one.frames, told).get(claim.identity) is frame
    both = part(1, calls(f"{BOXED}\n {boundary}\n{MUL}\n"))
    claim = op("mul.T")
    assert align([claim], both.frames, told) == {claim.identity: both.frames[2]}, "the profiler records no boxed call"
