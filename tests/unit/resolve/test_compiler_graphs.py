"""Graphs in the compiler's log: their nodes with lines, what backward keeps and computes again, kernels not fused."""

from __future__ import annotations

from ptexplore.model.compiled import NotFused
from ptexplore.model.compiler_log import CodeLine, CompileEnd, CompilerLog, CompilerText, FusionRefusal
from ptexplore.resolve.compiler.file_names import file_names
from ptexplore.resolve.compiler.graphs import graphs_in, read_graph
from ptexplore.resolve.compiler.kernels import kernels_in

FORWARD = """\
class GraphModule(torch.nn.Module):
    def forward(
        self,
        primals_1: "f32[4, 8][8, 1]cpu",  # PlainAOTInput(idx=0)
        primals_2: "bf16[4, s7][s7, 1]cpu",  # PlainAOTInput(idx=1)
    ):
        # File: /a/train.py:5 in f, code: a = x.sin()
        sin: "f32[4, 8][8, 1]cpu" = torch.ops.aten.sin.default(primals_1)
        # File: /a/train.py:6 in f, code: b = a.exp()
        exp: "f32[4, 8][8, 1]cpu" = torch.ops.aten.exp.default(sin);  sin = None
        # No stacktrace found for following nodes
        add: "f32[4, 8][8, 1]cpu" = torch.ops.aten.add.Tensor(exp, 1)
        return (
            add,  # PlainAOTOutput(idx=0)
            primals_1,  # SavedForBackwardsAOTOutput(idx=0)
            exp,  # SavedForBackwardsAOTOutput(idx=1)
        )
"""
BACKWARD = """\
class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "f32[4, 8][8, 1]cpu", primals_2: "bf16[4, s7][s7, 1]cpu", exp: "f32[4, 8][8, 1]cpu", tangents_1: "f32[4, 8][8, 1]cpu"):
        # File: /a/train.py:5 in f, code: a = x.sin()
        sin: "f32[4, 8][8, 1]cpu" = torch.ops.aten.sin.default(primals_1)
        mul: "f32[4, 8][8, 1]cpu" = torch.ops.aten.mul.Tensor(tangents_1, exp);  tangents_1 = exp = None
        cos: "f32[4, 8][8, 1]cpu" = torch.ops.aten.cos.default(primals_1);  primals_1 = None
        return (cos,)
"""  # noqa: E501  (as torch writes it)


def text(name: str, content: str, **more: object) -> CompilerText:
    return CompilerText(name, "0/0", 0, content, **more)  # type: ignore[arg-type]


def test_the_nodes_of_a_graph_have_their_lines() -> None:
    graph = read_graph(FORWARD)
    assert list(graph.inputs) == ["primals_1", "primals_2"]
    assert graph.nodes["exp"].operator == "aten.exp.default"
    assert graph.nodes["exp"].at == CodeLine("/a/train.py", 6, "f", "b = a.exp()")
    assert graph.nodes["add"].at is None


def test_a_value_in_both_graphs_is_kept_or_computed_again() -> None:
    log = CompilerLog(texts=(text("aot_forward_graph", FORWARD), text("aot_backward_graph", BACKWARD),
                             text("dynamo_output_graph", "graph")))  # fmt: skip
    forward, backward = graphs_in(log, lambda _: "f")
    assert forward.has_partition
    assert (backward.is_backward, backward.has_partition, backward.kept) == (True, False, ())
    assert [(kept.name, kept.bytes, kept.operator) for kept in forward.kept] == [
        ("primals_1", 128, ""),
        ("primals_2", None, ""),  # a symbolic size
        ("exp", 128, "aten.exp.default"),
    ]
    assert [again.name for again in forward.again] == ["sin"]


def test_without_a_backward_graph_nothing_is_said_about_it() -> None:
    log = CompilerLog(texts=(text("dynamo_output_graph", "graph"), text("aot_forward_graph", FORWARD)))
    (graph,) = graphs_in(log, lambda _: "f")
    assert not graph.has_partition


CODE = """\
# [Provenance debug handles] cpp_fused_sin_0:1
# [Provenance debug handles] cpp_fused_exp_1:2
"""


def test_kernels_of_backward_have_operators_and_the_reason_of_the_scheduler() -> None:
    mapped = {"cpp_fused_sin_0:1": ("sin",), "cpp_fused_exp_1:2": ("add", "exp")}
    log = CompilerLog(
        texts=(
            text("inductor_post_grad_graph", FORWARD),
            text("inductor_output_code", CODE, file="/c/code.py"),
            text("inductor_provenance_tracking_node_mappings", '{"version": 2.0}', operators=mapped),
            text("inductor_provenance_tracking_kernel_stack_traces", "{}"),
        ),
        ends=(CompileEnd("0/0", is_backward=True, texts=4),),
        refusals=(
            FusionRefusal("0/0", ("sin",), ("exp",), "first reason", 1),
            FusionRefusal("0/0", ("sin",), ("exp",), "last reason", 1),
            FusionRefusal("0/0", ("sin",), ("other",), "of another kernel", 1),
            FusionRefusal("0/0", ("sin",), ("exp",), "of the next graph", 4),
        ),
    )
    sin, exp = kernels_in(log, file_names(log, "/t/torch"))
    assert (sin.is_backward, sin.operators, exp.operators) == (True, ("sin",), ("exp", "add"))
    assert exp.calls == ("aten.exp.default", "aten.add.Tensor")
    assert [line.line for line in exp.lines] == [6]
    assert sin.not_fused == (NotFused("cpp_fused_exp_1", "last reason"),)
    assert exp.not_fused == ()


def test_a_call_into_a_library_has_the_operator_that_it_is() -> None:
    log = CompilerLog(
        texts=(
            text("inductor_post_grad_graph", FORWARD),
            text(
                "inductor_output_code",
                "# [Provenance debug handles] torch.ops.aten.exp.out:1\n"
                "# [Provenance debug handles] extern_kernels.add:2\n"
                "# [Provenance debug handles] extern_kernels.other:3\n",
            ),
            text(
                "inductor_provenance_tracking_node_mappings",
                '{"cppCodeToPost": {"torch.ops.aten.exp.out:1": ["sin", "exp"], "extern_kernels.add:2": '
                '["exp", "add"], "extern_kernels.other:3": ["sin", "exp"]}}',
            ),
        ),
    )
    exp, add, other = kernels_in(log, file_names(log, "/t/torch"))
    assert (exp.operators, exp.calls, [line.line for line in exp.lines]) == (("exp",), ("aten.exp.default",), [6])
    assert (add.operators, add.calls) == (("add",), ("aten.add.Tensor",))
    assert other.operators == ("sin", "exp")  # its operator is not in the graph
