"""The kernels that Inductor generated, with the operators that are fused in each and the lines that they compute."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ptexplore.facts.compiler_texts import AOT_GRAPH
from ptexplore.model.compiled import GeneratedKernel, NotFused
from ptexplore.model.compiler_log import CodeLine, CompilerLog, FusionRefusal
from ptexplore.resolve.compiler.file_names import FileNames
from ptexplore.resolve.compiler.graphs import LoweredNode, read_graph
from ptexplore.resolve.compiler.texts import stack_in

MAPPINGS = "inductor_provenance_tracking_node_mappings"
STACKS = "inductor_provenance_tracking_kernel_stack_traces"
CODE = "inductor_output_code"
LOWERED = "inductor_post_grad_graph"  # the graph whose operators Inductor fuses
_KERNEL = re.compile(r"^(?P<name>.+?)(?::\d+)?$")  # "cpp_fused_add_0:2" is one call of the kernel


def kernels_in(log: CompilerLog, names: FileNames) -> Iterator[GeneratedKernel]:
    """Yields the kernels of each generated file, in order. A version that writes no provenance gives none.

    The records of a graph follow each other: the graph, its code, the operators of its kernels, the lines of its
    kernels.
    """
    for number, code in enumerate(log.texts):
        if code.name != CODE:
            continue
        operators, stacks = _provenance(log, number)
        nodes = _nodes_before(log, number)
        order = {name: place for place, name in enumerate(nodes)}
        refusals = _refusals(log, number)
        kernels: list[GeneratedKernel] = []
        for call in _calls(code.text):
            fused = sorted(map(str, operators.get(call) or ()), key=lambda name: order.get(name, len(order)))
            known = [nodes[name] for name in fused if name in nodes]
            lines = list(_lines(stacks.get(call) or (), names))
            lines = lines or [names.line(node.at) for node in known if node.at is not None]
            made = GeneratedKernel(
                name=_KERNEL.sub(r"\g<name>", call),
                compilation=code.compilation or "",
                operators=tuple(fused),
                lines=tuple(dict.fromkeys(line for line in lines if not names.is_torchs(line))),
                is_backward=_is_backward(log, number),
                file=code.file,
                calls=tuple(node.operator for node in known),
            )
            kernels.append(made)
        for place, kernel in enumerate(kernels):
            not_fused = tuple(_not_fused(kernel, _neighbours(kernels[place + 1 :]), refusals))
            yield replace(_of_library(kernel, nodes, names), not_fused=not_fused)


def _of_library(kernel: GeneratedKernel, nodes: Mapping[str, LoweredNode], names: FileNames) -> GeneratedKernel:
    """Returns a call into a library with only the operators that it computes.

    Its name is the operator. Inductor adds the operators of its inputs, which other kernels compute.
    """
    if "." not in kernel.name:
        return kernel
    called = kernel.name.removeprefix("torch.ops.")
    own = [name for name in kernel.operators if name in nodes and _is_call_of(nodes[name].operator, called)]
    if not own:
        return kernel
    lines = [names.line(at) for name in own if (at := nodes[name].at) is not None]
    yours = tuple(dict.fromkeys(line for line in lines if not names.is_torchs(line)))
    calls = tuple(nodes[name].operator for name in own)
    return replace(kernel, operators=tuple(own), calls=calls, lines=yours or kernel.lines)


def _is_call_of(operator: str, called: str) -> bool:
    """Whether a call ("extern_kernels.mm", "aten.sort.stable") is of an operator ("aten.mm.default").

    Inductor may call another overload than the graph.
    """
    whole, names = operator.split("."), called.split(".")
    return names[0] in (whole[0], "extern_kernels") and names[1:2] == whole[1:2]


def _refusals(log: CompilerLog, number: int) -> list[FusionRefusal]:
    """Returns the fusions that the scheduler refused for the code that is the text `number`, the last one first."""
    code = log.texts[number]
    before = (place for place in range(number - 1, -1, -1) if log.texts[place].name == CODE)
    begin = next((place for place in before if log.texts[place].compilation == code.compilation), -1)
    own = [r for r in log.refusals if r.compilation == code.compilation and begin < r.texts <= number]
    return own[::-1]


def _neighbours(following: Sequence[GeneratedKernel]) -> Sequence[GeneratedKernel]:
    """Returns the kernels up to the next one that Inductor generates. The name of a library's kernel has a dot."""
    generated = (place for place, kernel in enumerate(following) if "." not in kernel.name)
    return following[: next(generated, len(following)) + 1]


def _not_fused(
    kernel: GeneratedKernel, following: Iterable[GeneratedKernel], refusals: Iterable[FusionRefusal]
) -> Iterator[NotFused]:
    """Yields the following kernels of which the scheduler said why parts of them and of this kernel were not fused."""
    own = set(kernel.operators)
    for other in following:
        theirs = set(other.operators)
        for refusal in refusals:
            first, second = set(refusal.first), set(refusal.second)
            is_about = (first <= own and second <= theirs) or (first <= theirs and second <= own)
            if is_about and first and second and not own & theirs:
                yield NotFused(other.name, refusal.reason)
                break


def _nodes_before(log: CompilerLog, number: int) -> Mapping[str, LoweredNode]:
    """Returns the nodes of the graph whose code is the text `number`: the last graph before, of this compilation."""
    code = log.texts[number]
    before = (t for t in log.texts[number::-1] if t.name == LOWERED and t.compilation == code.compilation)
    text = next(before, None)
    return read_graph(text.text).nodes if text is not None else {}


def _provenance(log: CompilerLog, number: int) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Returns the operators and the stacks of the kernels in the code that is the text `number`, by call."""
    operators: Mapping[str, Any] = {}
    code = log.texts[number]
    for text in log.texts[number + 1 :]:
        if text.compilation != code.compilation:
            continue
        if text.name == CODE:
            break
        if text.name == MAPPINGS:
            operators = _document(text.text).get("cppCodeToPost") or text.operators
        elif text.name == STACKS:
            return operators, _document(text.text)
    return operators, {}


def _is_backward(log: CompilerLog, number: int) -> bool:
    """Whether the code that is the text `number` is of a backward graph: its first line says so.

    Without that line, the next end of its compilation says so. A graph of backward with dynamic sizes has no end of its
    own: it is compiled together with forward.
    """
    title = log.texts[number].text.partition("\n")[0]
    if title.startswith(AOT_GRAPH.words):
        return title.rstrip("]'\" ").endswith("_backward")
    key = log.texts[number].compilation
    ends = (end for end in log.ends if end.compilation == key and end.texts > number)
    following = min(ends, key=lambda end: end.texts, default=None)
    return following is not None and following.is_backward


def _document(text: str) -> Mapping[str, Any]:
    try:
        match = json.loads(text)
    except ValueError:
        return {}
    return match if isinstance(match, dict) else {}


_HANDLES = re.compile(r"\[Provenance debug handles\] (?P<calls>.+)$", re.MULTILINE)


def _calls(code: str) -> Iterator[str]:
    """Yields the calls of kernels in generated code, as Inductor marks them."""
    for match in _HANDLES.finditer(code):
        yield from (call.strip() for call in match["calls"].split(","))


def _lines(stacks: Any, names: FileNames) -> Iterator[CodeLine]:
    """Yields the innermost line of yours of each stack."""
    for stack in stacks if isinstance(stacks, list) else ():
        yours = [names.line(frame) for frame in stack_in(str(stack)) if not names.is_torchs(frame)]
        yield from yours[-1:]
