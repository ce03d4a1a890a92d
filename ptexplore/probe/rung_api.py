"""Every PyTorch API that makes the graphs of `ptexplore lower`, each behind a name of ours, as in `torch_api.py`.

A version of torch that lacks one raises `Lacking`. Checked against torch 2.6.0 and 2.13.0. The modules behind these
functions take seconds to import, so each function imports what it needs.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode, resolve_name

# Namespaces of operators that torch itself registers.
NAMESPACES = frozenset((
    "aten", "prim", "prims", "quantized", "_quantized", "quantized_decomposed", "mkldnn", "onednn", "mkl", "inductor",
    "rngprims", "debugprims", "c10d", "_c10d_functional", "c10d_functional", "higher_order", "profiler", "sparse",
    "xnnpack", "prepacked", "static_runtime", "mkldnn_prepacked", "fsdp", "symm_mem", "_c10d_functional_autograd",
))  # fmt: skip


class Lacking(Exception):
    """This version of torch cannot make the graph."""


def load(*, differentiates: bool) -> None:
    """Import the modules that make graphs, so that forks of this process need not import them.

    `differentiates`: AOTAutograd's partitioner, too.
    """
    import torch._dynamo
    import torch._functorch.aot_autograd
    import torch._functorch.partitioners
    import torch._inductor  # torch looks for it when it writes the stack of a node
    import torch._prims.context
    import torch.export
    import torch.fx.experimental.proxy_tensor
    import torch.fx.experimental.symbolic_shapes

    if differentiates:
        import torch._inductor.lowering  # noqa: F401


def tree_leaves(value: Any) -> list[Any]:
    """Return the leaves of nested containers."""
    from torch.utils import _pytree

    return list(_pytree.tree_leaves(value))


def tree_map(function: Callable[[Any], Any], value: Any) -> Any:
    """Return nested containers with each leaf replaced."""
    from torch.utils import _pytree

    return _pytree.tree_map(function, value)


# --- your Python ---


class _FunctionCalls(TorchFunctionMode):  # type: ignore[misc]  # torch is read without types
    """Calls a function for each torch function that Python code calls; not for those inside of torch functions."""

    def __init__(self, take: Callable[[str, Any], None]) -> None:
        super().__init__()
        self._take = take

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        del types
        result = func(*args, **(kwargs or {}))
        self._take(function_name(func), result)
        return result


def function_calls(take: Callable[[str, Any], None]) -> AbstractContextManager[Any]:
    """Call `take` with the name and the result of each torch function that Python code calls in this block."""
    return _FunctionCalls(take)


def function_name(function: Any) -> str:
    """Return the public name of a function of torch, else its qualified name."""
    try:
        name = resolve_name(function)
    except Exception:  # an object that only looks like a function
        name = None
    if name:
        return str(name)
    qualified = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or str(function)
    home = getattr(function, "__module__", None)
    home = home.removeprefix("_") if home in ("_operator",) else home
    return f"{home}.{qualified}" if home and home != "builtins" else str(qualified)


# --- torch.fx and TorchScript ---


class _LineTracer(torch.fx.Tracer):  # type: ignore[misc]
    """A tracer that keeps the Python stack of each node."""

    record_stack_traces = True


def symbolic_trace(module: nn.Module) -> torch.fx.GraphModule:
    """Trace a module as torch.fx.symbolic_trace does, with stacks."""
    return torch.fx.GraphModule(module, _LineTracer().trace(module), type(module).__name__)


def script_nodes(module: Any) -> Iterator[Any]:
    """Yield the nodes of a TorchScript module, of inner blocks too, with all calls of other modules inlined.

    Raises Lacking if the module has several versions of forward.
    """
    if not hasattr(module, "inlined_graph"):
        raise Lacking("TorchScript makes one graph for each overload of forward, and none for the module")
    pending = [iter(module.inlined_graph.nodes())]
    while pending:
        node = next(pending[-1], None)
        if node is None:
            pending.pop()
            continue
        yield node
        pending += [iter(block.nodes()) for block in node.blocks()]


# --- ATen ---


def dispatched_graph(module: nn.Module, given: Sequence[Any]) -> torch.fx.GraphModule:
    """Return the ATen operators that the dispatcher's Python key sees, below autograd."""
    from torch.fx.experimental.proxy_tensor import make_fx

    takes_stacks = "record_stack_traces" in inspect.signature(make_fx).parameters  # not in 2.6
    made: torch.fx.GraphModule = make_fx(module, **({"record_stack_traces": True} if takes_stacks else {}))(*given)
    return made


def run_flat(graph: torch.fx.GraphModule, given: Sequence[Any]) -> Any:
    """Run a graph of `dispatched_graph` on the leaves of the inputs. Its own code cannot take every dictionary."""
    return torch.fx.Interpreter(graph).run(*tree_leaves(tuple(given)), enable_io_processing=False)


def exported(module: nn.Module, given: Sequence[Any], *, dynamic: bool) -> Any:
    """Return the program of torch.export. With `dynamic`, torch.export decides which sizes are symbolic."""
    from torch.export import Dim, export

    shapes = None
    if dynamic:
        shapes = tree_map(
            lambda leaf: dict.fromkeys(range(leaf.dim()), Dim.AUTO) if isinstance(leaf, torch.Tensor) else None,
            tuple(given),
        )
    return export(module, tuple(given), dynamic_shapes=shapes)


def functional_program(program: Any) -> Any:
    """Return an exported program without writes. Composite operators stay."""
    return program.run_decompositions({})


def core_program(program: Any) -> Any:
    """Return an exported program after torch's own table of decompositions for Core ATen."""
    return program.run_decompositions()


@contextmanager
def keeping_origins() -> Iterator[None]:
    """Let the nodes that are made in this block keep the nodes that they come from."""
    from torch.fx import traceback

    with traceback.preserve_node_meta():
        yield


def prims_graph(module: torch.fx.GraphModule, given: Sequence[Any]) -> torch.fx.GraphModule:
    """Return a graph with torch's reference implementations in the place of ATen operators, down to Prims."""
    from torch._prims.context import TorchRefsMode
    from torch.fx.experimental.proxy_tensor import make_fx

    def interpreted(*values: Any) -> Any:
        return torch.fx.Interpreter(module).run(*values)

    with torch.no_grad(), keeping_origins(), TorchRefsMode():
        made: torch.fx.GraphModule = make_fx(interpreted)(*given)
    return made


class _Interpreted(nn.Module):  # type: ignore[misc]
    """Runs a graph node by node, so that what traces it keeps the nodes."""

    def __init__(self, graph: torch.fx.GraphModule) -> None:
        super().__init__()
        self.graph = graph

    def forward(self, *given: Any) -> Any:
        """Run the graph."""
        return torch.fx.Interpreter(self.graph).run(*given)


def interpreted_module(graph: torch.fx.GraphModule) -> nn.Module:
    """Return a module that runs a graph node by node."""
    return _Interpreted(graph)


def differentiated(module: nn.Module, take: Callable[[str, torch.fx.GraphModule], None]) -> Callable[..., Any]:
    """Return a module under AOTAutograd, with the partition that torch.compile uses.

    At its first call, `take` gets "aot-forward" and "aot-backward" with their graphs.
    """
    from torch._functorch.aot_autograd import aot_module, make_boxed_func
    from torch._functorch.partitioners import min_cut_rematerialization_partition

    def compiler(name: str) -> Callable[[torch.fx.GraphModule, Any], Any]:
        def compiled(graph: torch.fx.GraphModule, _: Any) -> Any:
            take(name, graph)
            return make_boxed_func(graph)

        return compiled

    made: Callable[..., Any] = aot_module(
        module, compiler("aot-forward"), compiler("aot-backward"), partition_fn=min_cut_rematerialization_partition
    )
    return made


# --- reading graphs ---


def graphs_in(module: torch.fx.GraphModule) -> Iterator[tuple[str, torch.fx.GraphModule]]:
    """Yield a graph and the graphs inside it, which its higher-order operators call, each with a prefix for names."""
    pending = [("", module)]
    seen = set()
    while pending:
        prefix, graph = pending.pop(0)
        seen.add(id(graph))
        yield prefix, graph
        for node in graph.graph.nodes:
            inner = getattr(graph, str(node.target), None) if node.op == "get_attr" else None
            if isinstance(inner, torch.fx.GraphModule) and id(inner) not in seen:
                pending.append((f"{prefix}{node.target}.", inner))


def is_call(node: Any) -> bool:
    """Return whether a node of a graph calls something, other than to take an item of a tuple."""
    return node.op in ("call_function", "call_method", "call_module") and node.target is not operator.getitem


def overload(node: Any) -> torch._ops.OpOverload | None:
    """Return the operator of the dispatcher that a node calls; None if it calls something else."""
    return node.target if isinstance(node.target, torch._ops.OpOverload) else None


def called(node: Any, module: torch.fx.GraphModule) -> str:
    """Return the name of what a node calls."""
    if node.op == "call_method":
        return f"torch.Tensor.{node.target}"
    if node.op == "call_module":
        kind = type(module.get_submodule(node.target))
        return f"{kind.__module__.partition('.modules')[0]}.{kind.__qualname__}"
    if isinstance(node.target, torch._ops.OpOverload):
        return str(node.target)
    if isinstance(node.target, torch._ops.HigherOrderOperator):
        return f"higher_order.{node.target.name()}"
    return function_name(node.target)


def is_core(called_operator: torch._ops.OpOverload) -> bool:
    """Return whether torch tags an operator as Core ATen."""
    return torch.Tag.core in called_operator.tags


def is_random(called_operator: torch._ops.OpOverload) -> bool:
    """Return whether torch tags an operator as drawing random numbers."""
    return torch.Tag.nondeterministic_seeded in called_operator.tags


def is_custom(called_operator: torch._ops.OpOverload) -> bool:
    """Return whether an operator is of a namespace that torch does not have."""
    return called_operator.namespace not in NAMESPACES


def writes_to_inputs(called_operator: torch._ops.OpOverload) -> bool:
    """Return whether the schema of an operator says that it writes to an argument."""
    return bool(called_operator._schema.is_mutable)


def origins(node: Any, known: Mapping[tuple[int, str], str]) -> list[str]:
    """Return the operators in `known` that a node was made from, by its record `from_node`.

    `known` has their names by the id of the graph and the name of the node. Of each chain the nearest one counts.
    """
    names: dict[str, None] = {}
    pending = list(node.meta.get("from_node") or ())
    while pending:
        source = pending.pop(0)
        name = known.get((getattr(source, "graph_id", -1), getattr(source, "name", "")))
        if name is not None:
            names[name] = None
        else:
            pending += getattr(source, "from_node", None) or ()
    return list(names)


def sequence_number(node: Any) -> int | None:
    """Return the number of the autograd node that was the newest, or that ran, when a node of a graph was made.

    Returns None for an addition of two gradients, which belongs to no autograd node. Its number is of the node before.
    torch/_functorch/_aot_autograd/utils.py marks its stack.
    """
    from torch.fx import traceback

    mark = getattr(traceback, "GRADIENT_ACC_SPECIAL_STACK", "Gradient addition node due to multiple use of tensor")
    number = node.meta.get("seq_nr")
    if not isinstance(number, int) or mark in (node.meta.get("stack_trace") or ""):
        return None
    return number


def flat_inputs(program: Any, given: Sequence[Any]) -> list[Any]:
    """Return the inputs of an exported program's graph: parameters, buffers, constants, then your inputs.

    Raises Lacking for a program whose graph takes other things.
    """
    own = iter([leaf for leaf in tree_leaves(tuple(given)) if leaf is not None])
    values: list[Any] = []
    for spec in program.graph_signature.input_specs:
        if spec.kind.name in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
            held = program.state_dict if spec.target in program.state_dict else program.constants
            values.append(held[spec.target])
        elif spec.kind.name == "USER_INPUT":
            values.append(next(own))
        else:
            raise Lacking(f"the program takes an input of the kind {spec.kind.name}")
    return values


def user_outputs(program: Any, values: Sequence[Any]) -> list[tuple[str, str, Any]]:
    """Return what a run of an exported program's graph gave: a kind ("result", "buffer", "input"), a name, a value."""
    kinds = {"USER_OUTPUT": "result", "BUFFER_MUTATION": "buffer", "USER_INPUT_MUTATION": "input"}
    specs = program.graph_signature.output_specs
    return [
        (kinds[spec.kind.name], str(spec.target or ""), value)
        for spec, value in zip(specs, values, strict=True)
        if spec.kind.name in kinds
    ]
