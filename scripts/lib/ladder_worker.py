"""What really becomes of operators in one torch: run by that torch's Python, which needs nothing of ptexplore.

Operators and their arguments come from PyTorch's own OpInfo samples. Each operator runs alone in a module, which is
exported and decomposed, traced by AOTAutograd with Inductor's table, lowered by Inductor, and run under TorchRefsMode.
A profile function notes which Python functions torch calls for the operator meanwhile. One line of JSON an
operator; the last line has the operators with the tag core, and those with a composite kernel.

ladder_worker.py COUNT
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

By = set[tuple[str, str, int]]  # functions: file, name, first line of the code
OF = tuple(f"/torch/{file}.py" for file in (
    "_decomp/decompositions", "_decomp/decompositions_for_rng", "_inductor/decomposition", "_refs/__init__",
    "_refs/_conversions", "_refs/fft", "_refs/linalg/__init__", "_refs/nn/__init__", "_refs/nn/functional/__init__",
    "_refs/special/__init__",
))  # fmt: skip  # where decompositions are written
MODES = ("fake_tensor.py", "functional_tensor.py", "proxy_tensor.py")
NEAR = 12  # frames between a decomposition and the function of torch that calls it: decorators


@contextmanager
def noting(op: Any) -> Iterator[By]:
    """Collects the Python functions that torch calls in the block to take one operator apart."""
    by: By = set()

    def note(frame: Any, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.endswith(OF) and is_for(op, frame.f_back):
            by.add((frame.f_code.co_filename, frame.f_code.co_name, frame.f_code.co_firstlineno))

    sys.setprofile(note)
    try:
        yield by
    finally:
        sys.setprofile(None)


def is_for(op: Any, frame: Any) -> bool:
    """Whether a call was made by a look-up in a table for this operator, or by a Python kernel of it.

    A call of a mode is not counted: of a fake tensor, for example, it runs the operator's meta function.
    """
    for _ in range(NEAR):
        if frame is None:
            return False
        name, held = frame.f_code.co_name, frame.f_locals
        if name == "maybe_handle_decomp":
            return held.get("op") is op
        if name == "decompose" and isinstance(held.get("self"), torch._ops.OpOverload):
            return held["self"] is op
        if frame.f_code.co_filename.endswith(MODES):
            return False  # an operator inside, or a meta function
        if name == "__torch_function__" and "orig_func" in held:
            return held["orig_func"] is op
        if name == "__call__" and isinstance(held.get("self"), torch._ops.OpOverload):
            return held["self"] is op and not frame.f_back.f_code.co_filename.endswith(MODES)
        frame = frame.f_back
    return False


class Alone(torch.nn.Module):  # type: ignore[misc]
    """A module that calls one operator."""

    def __init__(self, op: Any, args: Any, kwargs: Any) -> None:
        super().__init__()
        self.op = op
        leaves, self.spec = tree_flatten(plain((args, kwargs)))
        self.leaves = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.at = [number for number, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        self.given = tuple(leaf.detach().clone() for leaf in leaves if isinstance(leaf, torch.Tensor))

    def forward(self, *tensors: Any) -> Any:
        """The operator's results, those that are tensors."""
        leaves = list(self.leaves)
        for at, tensor in zip(self.at, tensors, strict=True):
            leaves[at] = tensor
        args, kwargs = tree_unflatten(leaves, self.spec)
        results, _ = tree_flatten(self.op(*args, **kwargs))
        return tuple(result for result in results if isinstance(result, torch.Tensor))


def plain(value: Any) -> Any:
    """Arguments without the lists and dictionaries of a graph, which torch.compile does not take."""
    if isinstance(value, dict):
        return {key: plain(held) for key, held in value.items()}
    return type(value)(map(plain, value)) if type(value) is tuple else (
        [plain(held) for held in value] if isinstance(value, list) else value
    )  # fmt: skip


def is_in(graph: Any, op: Any) -> bool:
    """Whether a graph calls an operator."""
    return any(node.op == "call_function" and node.target is op for node in graph.nodes)


def at_export(alone: Alone) -> dict[str, Any]:
    """After run_decompositions(): whether the operator is still there."""
    program = torch.export.export(alone, alone.given, strict=False)
    with noting(alone.op) as by:
        after = program.run_decompositions()
    return {"kept": is_in(after.graph, alone.op), "by": sorted(by)}


def at_inductor(alone: Alone) -> dict[str, Any]:
    """After AOTAutograd with Inductor's table; and whether Inductor then calls the operator's kernel."""
    from torch._dynamo.backends.common import aot_autograd
    from torch._inductor.decomposition import select_decomp_table

    graphs = []

    def take(module: Any, inputs: Any) -> Any:
        called = lowered(module, inputs) if is_in(module.graph, alone.op) else None
        graphs.append((is_in(module.graph, alone.op), called))
        return module

    backend = aot_autograd(
        fw_compiler=take, bw_compiler=take, inference_compiler=take, decompositions=select_decomp_table
    )
    torch._dynamo.reset()
    with noting(alone.op) as by, torch.no_grad():
        torch.compile(alone, backend=backend, fullgraph=True)(*alone.given)
    kept, called = graphs[0] if graphs else (False, None)
    return {"kept": kept, "called": alone.op.name() in called if isinstance(called, list) else called,
            "by": sorted(by)}  # fmt: skip


def lowered(module: Any, inputs: Any) -> Any:
    """The operators whose kernels Inductor calls, by its own record; the error where it cannot lower the graph."""
    from torch._guards import detect_fake_mode
    from torch._inductor import ir
    from torch._inductor.graph import GraphLowering
    from torch._inductor.virtualized import V

    called: list[str] = []
    create = ir.FallbackKernel.create

    def note(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        called.append(kernel.name() if hasattr(kernel, "name") else str(kernel))
        return create(kernel, *args, **kwargs)

    ir.FallbackKernel.create = note
    try:
        mode = detect_fake_mode(inputs)
        graph = GraphLowering(module, example_inputs=inputs, shape_env=mode.shape_env, is_inference=True)
        with V.set_graph_handler(graph), V.set_fake_mode(mode):
            graph.run(*inputs)
    except Exception as error:  # noqa: BLE001 -- whatever a lowering raises
        return f"{type(error).__name__}: {error}"[:200]
    finally:
        ir.FallbackKernel.create = create
    return called


def at_prims(alone: Alone) -> dict[str, Any]:
    """Under TorchRefsMode: whether the operator is still called."""
    from torch._prims.context import TorchRefsMode
    from torch.fx.experimental.proxy_tensor import make_fx

    with noting(alone.op) as by, TorchRefsMode(), torch.no_grad():
        module = make_fx(alone)(*alone.given)
    return {"kept": is_in(module.graph, alone.op), "by": sorted(by)}


RUNGS: dict[str, Callable[[Alone], dict[str, Any]]] = {
    "export": at_export, "inductor": at_inductor, "prims": at_prims,
}  # fmt: skip


class Calls(torch.fx.Interpreter):  # type: ignore[misc]
    """Runs a graph, and keeps the first call of each operator with its arguments."""

    def __init__(self, module: Any, calls: dict[Any, Any]) -> None:
        super().__init__(module)
        self.calls = calls

    def run_node(self, n: Any) -> Any:
        """One node of the graph."""
        if isinstance(n.target, torch._ops.OpOverload) and n.target not in self.calls:
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            leaves, _ = tree_flatten((args, kwargs))
            if any(isinstance(leaf, torch.Tensor) for leaf in leaves):
                self.calls[n.target] = Alone(n.target, args, kwargs)
        return super().run_node(n)


def samples() -> Iterator[Any]:
    """One sample of each OpInfo, in turns through the alphabet, so that any number of them is a mixture."""
    from torch.testing._internal.common_methods_invocations import op_db

    for start in range(STRIDE):
        for info in op_db[start::STRIDE]:
            if torch.float32 in info.dtypes:
                sample = next(iter(info.sample_inputs("cpu", torch.float32)), None)
                if sample is not None:
                    yield info, sample


STRIDE = 7


class Sampled:
    """A function of the sample's tensors, which calls the operator of an OpInfo."""

    def __init__(self, info: Any, sample: Any) -> None:
        self.op = info.op
        self.leaves, self.spec = tree_flatten((sample.input, sample.args, sample.kwargs))
        self.at = [number for number, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        self.tensors = [self.leaves[number].detach().clone() for number in self.at]

    def __call__(self, *tensors: Any) -> Any:
        """The result of the operator."""
        given = list(self.leaves)
        for number, tensor in zip(self.at, tensors, strict=True):
            given[number] = tensor
        first, args, kwargs = tree_unflatten(given, self.spec)
        return self.op(first, *args, **kwargs)


def calls(count: int) -> dict[Any, Alone]:
    """The first operators that the samples call, each with its arguments: composite ones too."""
    from torch.fx.experimental.proxy_tensor import make_fx

    seen: dict[Any, Alone] = {}
    for info, sample in samples():
        try:
            run = Sampled(info, sample)
            Calls(make_fx(run, pre_dispatch=True)(*run.tensors), seen).run(*run.tensors)
        except Exception:  # noqa: BLE001
            continue  # a sample that cannot be traced says nothing
        if len(seen) >= count:
            break
    return dict(list(seen.items())[:count])


def main() -> None:
    """One line an operator."""
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    for op, alone in calls(int(sys.argv[1])).items():
        told: dict[str, Any] = {"op": op.name()}
        for rung, see in RUNGS.items():
            try:
                told[rung] = see(Alone(op, *tree_unflatten(whole(alone), alone.spec)))
            except Exception as error:  # noqa: BLE001 -- whatever an operator raises
                told[rung] = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(told), flush=True)
    print(json.dumps(known()), flush=True)


def known() -> dict[str, list[str]]:
    """The operators of this torch with the tag core, and those with a composite kernel, as torch itself answers."""
    core, composite = [], []
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        op = getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")
        core += [name] if torch.Tag.core in op.tags else []
        composite += [name] if op._can_decompose() else []
    return {"core": sorted(core), "composite": sorted(composite)}


def whole(alone: Alone) -> list[Any]:
    """The arguments as they were."""
    leaves = list(alone.leaves)
    for at, tensor in zip(alone.at, alone.given, strict=True):
        leaves[at] = tensor
    return leaves


if __name__ == "__main__":
    main()
