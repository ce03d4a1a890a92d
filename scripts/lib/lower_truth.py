"""The rungs of some cases, read without ptexplore: operators counted, links checked, results compared with eager mode.

    python lower_truth.py FILE

FILE has what ptexplore says of each case, as JSON lines. For each case a line with the differences is printed.
"""

from __future__ import annotations

import copy
import json
import os
import re
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lower_cases import made

warnings.simplefilter("ignore")
SECONDS = 100
KINDS = ("call_function", "call_method", "call_module")


def walk(graph_module: torch.fx.GraphModule) -> list[Any]:
    """Every call of a graph and of the graphs inside it."""
    graphs = [part for part in graph_module.modules() if isinstance(part, torch.fx.GraphModule)]
    return [
        node for part in graphs for node in part.graph.nodes if node.op in KINDS and "getitem" not in str(node.target)
    ]


def counted(nodes: list[Any]) -> Counter[str]:
    """How often each operator of the dispatcher is called; other functions are counted together."""
    return Counter(str(node.target) if isinstance(node.target, torch._ops.OpOverload) else "other" for node in nodes)


def script_counts(module: Any) -> Counter[str]:
    """The operators of a TorchScript graph, by its text."""
    kinds = re.findall(r"= (\w+::\w+)", str(module.inlined_graph))
    return Counter(kind for kind in kinds if not kind.startswith("prim::"))


def chain(node: Any) -> list[list[Any]]:
    """The levels of a node's record, the nearest first."""
    levels, level = [], list(node.meta.get("from_node") or ())
    while level:
        levels.append(level)
        level = [inner for source in level for inner in source.from_node]
    return levels


def sources(node: Any, rung: str) -> set[str]:
    """The nodes of the rung above that a node was made from, by the names of torch's passes."""
    levels = chain(node)
    if rung in ("functional", "aot-forward"):  # the exported program is where every chain ends
        return {source.name for source in levels[-1]} if levels else set()
    if rung == "core":  # the nearest copy that was made by ExportedProgram.module()
        for level in levels:
            if level[0].pass_name.startswith("ExportedProgram.module()"):
                return {source.name for source in level}
        return set()
    return {source.name for source in levels[0]} if levels else set()


class Altered(torch.fx.Interpreter):
    """Runs a graph, and adds noise to the value of one node."""

    def __init__(self, graph_module: torch.fx.GraphModule, name: str = "") -> None:
        super().__init__(graph_module)
        self.name, self.values, self.aliases = name, {}, set()

    def run_node(self, node: Any) -> Any:
        result = super().run_node(node)
        if not isinstance(result, torch.Tensor) or node.op not in KINDS:
            return result
        memory = {self.env[given].untyped_storage()._cdata for given in node.all_input_nodes
                  if given in self.env and isinstance(self.env[given], torch.Tensor)}  # fmt: skip
        writes = isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable
        if result.untyped_storage()._cdata in memory and not writes:
            self.aliases.add(node.name)
        if node.name == self.name:
            noise = torch.linspace(0.1, 0.7, max(result.numel(), 1), dtype=torch.float64)[: result.numel()]
            noise = noise.reshape(result.shape).to(result.dtype)
            result = result.add_(noise) if writes else result + noise
        self.values[node.name] = result.detach().clone()
        return result


def flat_inputs(program: Any, given: tuple[Any, ...]) -> list[Any]:
    """The inputs of a program's graph."""
    own = iter([leaf for leaf in _pytree.tree_leaves(given) if leaf is not None])
    held = {**program.state_dict, **program.constants}
    return [copy.deepcopy(held[spec.target]).detach() if spec.kind.name != "USER_INPUT" else next(own)
            for spec in program.graph_signature.input_specs]  # fmt: skip


def outputs(program: Any, values: Any) -> list[torch.Tensor]:
    """The results of a run of a program's graph, without what it writes."""
    return [value.detach() for spec, value in zip(program.graph_signature.output_specs, values, strict=True)
            if spec.kind.name == "USER_OUTPUT" and isinstance(value, torch.Tensor)]  # fmt: skip


def is_near(values: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    """Whether results are equal within torch.testing's tolerance; a perturbed value is larger, so tenfold."""
    try:
        for value, other in zip(values, others, strict=True):
            torch.testing.assert_close(value, other, rtol=1e-4, atol=1e-4, equal_nan=True)
    except (AssertionError, ValueError):
        return False
    return True


def perturbed(
    export: Any, program: Any, graph: Any, links: dict[str, set[str]], given: tuple[Any, ...]
) -> dict[str, Any]:
    """For each operator above, whose value one node of a rung gives: noise in both must have equal effects."""
    answer: dict[str, Any] = {"tried": 0, "wrong": []}
    members: dict[str, list[Any]] = {}
    for node in graph.graph.nodes:
        if node.op == "call_function" and len(links.get(node.name, ())) == 1:
            members.setdefault(next(iter(links[node.name])), []).append(node)

    def ran(made_graph: Any, of: Any, name: str = "") -> Altered:
        run = Altered(made_graph, name)
        with torch.no_grad():
            run.out = outputs(of, run.run(*flat_inputs(of, copy.deepcopy(given))))
        return run

    plain_above, plain_below = ran(export.graph_module, export), ran(graph, program)
    writes = any(node.target._schema.is_mutable for node in walk(export.graph_module)
                 if isinstance(node.target, torch._ops.OpOverload))  # fmt: skip
    for name, nodes in members.items():
        inside = set(nodes)
        used = [node for node in nodes if any(user not in inside for user in node.users)]
        value = plain_above.values.get(name)
        if len(used) != 1 or value is None or not value.is_floating_point() or not value.numel():
            continue
        other = plain_below.values.get(used[0].name)
        if other is None or other.shape != value.shape or other.dtype != value.dtype:
            continue
        if writes and name in plain_above.aliases:
            continue  # noise in a view is noise in what it is a view of
        answer["tried"] += 1
        above, below = ran(export.graph_module, export, name), ran(graph, program, used[0].name)
        if not is_near(above.out, below.out) or not is_near([value], [other]):
            answer["wrong"].append(f"{used[0].name} for {name}")
    return answer


class Case:
    """One case: the graphs that are made here, and how a document differs from them."""

    def __init__(self, name: str, document: dict[str, Any]) -> None:
        self.module, self.given = made(name)
        self.rungs = {rung["name"]: rung for rung in document["rungs"] if "failure" not in rung}
        self.answer: dict[str, Any] = {"case": name, "counts": {}, "links": {}, "near": {}, "perturbed": {}}
        module, given = self.fresh()
        torch.manual_seed(0)
        self.eager = tensors(module(*given))

    def fresh(self) -> tuple[Any, Any]:
        """Copies of the module and the inputs."""
        return copy.deepcopy((self.module, self.given))

    def saw(self, rung: str, counts: Counter[str]) -> None:
        """Compare the operators of a rung with those of the graph here."""
        if rung not in self.rungs:
            return
        known = Counter(
            operator["operator"] if "::" in operator["operator"] or operator.get("is_core") is not None else "other"
            for operator in self.rungs[rung]["operators"]
        )
        is_equal = known == counts and self.rungs[rung]["count"] == sum(counts.values())
        self.answer["counts"][rung] = "equal" if is_equal else f"{dict(known - counts)} {dict(counts - known)}"

    def linked(self, rung: str, above: str, nodes: list[Any], operators: set[str]) -> None:
        """Compare the links of a rung with torch's record in the graph here."""
        known = {
            operator["name"]: {link["name"] for link in operator.get("sources", ()) if link["rung"] == above}
            for operator in self.rungs[rung]["operators"]
        }
        wrong = [
            f"{node.name}: {known.get(node.name)}, {sources(node, rung) & operators}"
            for node in nodes
            if known.get(node.name) != sources(node, rung) & operators
        ]
        self.answer["links"][rung] = {"nodes": len(nodes), "wrong": wrong}

    def near(self, rung: str, values: Any) -> None:
        """Compare the result of a graph here with eager mode."""
        try:
            for value, other in zip(tensors(values), self.eager, strict=True):
                torch.testing.assert_close(value, other, equal_nan=True)
            self.answer["near"][rung] = True
        except (AssertionError, ValueError):
            self.answer["near"][rung] = False

    def torch_level(self) -> None:
        """torch.fx, TorchScript, and ATen as dispatched."""
        if "fx" in self.rungs:
            module, given = self.fresh()
            traced = torch.fx.symbolic_trace(module)
            nodes = [node for node in traced.graph.nodes if node.op in KINDS and "getitem" not in str(node.target)]
            self.saw("fx", Counter({"other": len(nodes)}))
            self.near("fx", traced(*given))
        if "jit-trace" in self.rungs:
            self.saw("jit-trace", script_counts(torch.jit.trace(*self.fresh(), check_trace=False)))
        if "jit-script" in self.rungs:
            self.saw("jit-script", script_counts(torch.jit.script(self.fresh()[0])))
        if "aten" in self.rungs:
            from torch.fx.experimental.proxy_tensor import make_fx

            module, given = self.fresh()
            self.saw("aten", counted(walk(make_fx(module)(*given))))

    def programs(self) -> None:
        """torch.export's program, and what is made from it."""
        if "export" not in self.rungs:
            return
        export = torch.export.export(*self.fresh())
        functional = export.run_decompositions({})
        core = functional.run_decompositions()
        self.saw("export", counted(walk(export.graph_module)))
        self.near("export", copy.deepcopy(export.module())(*self.fresh()[1]))
        for rung, above_name, above, program in (
            ("functional", "export", export, functional),
            ("core", "functional", functional, core),
        ):
            if rung not in self.rungs:
                return
            self.saw(rung, counted(walk(program.graph_module)))
            self.linked(rung, above_name, walk(program.graph_module), {node.name for node in walk(above.graph_module)})
            self.near(rung, copy.deepcopy(program.module())(*self.fresh()[1]))
            self.answer["perturbed"][rung] = perturbed(
                above, program, program.graph_module, self.told(rung), self.given
            )
        if "prims" in self.rungs:
            self.prims(core)
        if "aot-forward" in self.rungs and self.rungs["aot-forward"].get("links_to"):
            self.differentiated(export)

    def told(self, rung: str) -> dict[str, set[str]]:
        """The links of a document, by operator."""
        operators = self.rungs[rung]["operators"]
        return {operator["name"]: {link["name"] for link in operator.get("sources", ())} for operator in operators}

    def prims(self, core: Any) -> None:
        """The graph in Prims."""
        from torch._prims.context import TorchRefsMode
        from torch.fx.experimental.proxy_tensor import make_fx
        from torch.fx.traceback import preserve_node_meta

        inputs = flat_inputs(core, copy.deepcopy(self.given))
        with torch.no_grad(), preserve_node_meta(), TorchRefsMode():
            graph = make_fx(lambda *values: torch.fx.Interpreter(core.graph_module).run(*values))(*inputs)
        self.saw("prims", counted(walk(graph)))
        self.linked("prims", "core", walk(graph), {node.name for node in walk(core.graph_module)})
        with torch.no_grad():
            self.near("prims", outputs(core, graph(*flat_inputs(core, copy.deepcopy(self.given)))))
        self.answer["perturbed"]["prims"] = perturbed(core, core, graph, self.told("prims"), self.given)

    def differentiated(self, export: Any) -> None:
        """AOTAutograd's graphs. A node of backward has the stack of the forward operator whose gradient it computes."""
        from torch._functorch.aot_autograd import aot_module, make_boxed_func
        from torch._functorch.partitioners import min_cut_rematerialization_partition
        from torch.fx.traceback import preserve_node_meta

        graphs = []

        def compiler(graph: Any, _: Any) -> Any:
            graphs.append(graph)
            return make_boxed_func(graph)

        module = Runs(export.module())
        differentiated = aot_module(module, compiler, compiler, partition_fn=min_cut_rematerialization_partition)
        with preserve_node_meta():
            result = _pytree.tree_leaves(differentiated(*self.fresh()[1]))
            needing = [leaf for leaf in result if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
            if needing:
                torch.autograd.backward([leaf.sum() for leaf in needing])
        forward = walk(graphs[0])
        self.saw("aot-forward", counted(forward))
        self.linked("aot-forward", "export", forward, {node.name for node in walk(export.graph_module)})
        if "aot-backward" not in self.rungs:
            return
        backward = walk(graphs[1])
        self.saw("aot-backward", counted(backward))
        stacks = {node.name: node.meta.get("stack_trace") for node in forward}
        links = {
            operator["name"]: [link["name"] for link in operator.get("sources", ()) if link["rung"] != "export"]
            for operator in self.rungs["aot-backward"]["operators"]
        }
        linked = [node for node in backward if links.get(node.name)]
        wrong = [f"{node.name}: {links[node.name]}" for node in linked
                 if any(stacks.get(name, "") != node.meta.get("stack_trace") for name in links[node.name])]  # fmt: skip
        self.answer["links"]["aot-backward"] = {"nodes": len(linked), "wrong": wrong}


class Runs(torch.nn.Module):
    """Runs a graph node by node."""

    def __init__(self, graph: Any) -> None:
        super().__init__()
        self.graph = graph

    def forward(self, *given: Any) -> Any:
        return torch.fx.Interpreter(self.graph).run(*given)


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors of a result."""
    return [leaf.detach() for leaf in _pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def truth(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """What differs between a document and the graphs that are made here."""
    case = Case(name, document)
    case.torch_level()
    case.programs()
    return case.answer


def main() -> None:
    """Each case in a fork: none changes the next one."""
    import torch._prims.context
    import torch.export
    import torch.fx.experimental.proxy_tensor
    from torch.testing._internal.common_methods_invocations import op_db

    del op_db
    torch.set_num_threads(1)
    for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        sys.stdout.flush()
        child = os.fork()
        if not child:
            import signal

            signal.alarm(SECONDS)
            try:
                answer = truth(document["case"], document)
            except Exception as error:  # noqa: BLE001  (the answer says which)
                answer = {"case": document["case"], "failed": f"{type(error).__name__}: {str(error)[:300]}"}
            print(json.dumps(answer), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
