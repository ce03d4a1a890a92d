"""Reads the graph of a rung: its operators with your lines, and the operators of another rung that they come from."""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from . import rung_api
from . import torch_api as api
from .expression import text_of
from .frames import EXPRESSION
from .whose import OURS, is_library

if TYPE_CHECKING:
    from .messages import CodeLineData, RungData, RungFailureData, RungLinkData, RungNoteData, RungOperatorData

MOST_OPERATORS = 5_000  # of one rung
MOST_INPUTS = 64  # of one operator
TEXT_LIMIT = 4_000  # characters of a message
# A line of a Python stack, as Python writes it, and as TorchScript does.
_FRAME = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<function>[^\n]+))?')
_SCRIPT_FRAME = re.compile(r"^\s*(?P<file>\S[^\n]*?)\((?P<line>\d+)\): (?P<function>\S+)$", re.MULTILINE)
_SCRIPT_LINE = re.compile(r"^(?P<file>[^\n]+?):(?P<line>\d+):\d+", re.MULTILINE)


@dataclass
class ReadGraphs:
    """The graphs of a rung: its operators, and their names by graph and node, for the rungs that come from it."""

    name: str
    operators: list[RungOperatorData] = field(default_factory=list)
    count: int = 0
    names: dict[tuple[int, str], str] = field(default_factory=dict)
    sequences: dict[str, int] = field(default_factory=dict)  # by name: torch's number of the autograd node
    graphs: list[Any] = field(default_factory=list)  # kept, since names refer to the ids of graphs

    def data(self) -> RungData:
        """Return the rung as plain data."""
        return {"name": self.name, "count": self.count, "operators": self.operators}  # type: ignore[typeddict-item]


def line_data(file: str, line: int, function: str) -> CodeLineData:
    """Return a line with its text."""
    text = linecache.getline(file, line).strip()
    if file == EXPRESSION and text.startswith("def forward("):  # the expression is the body of a function of ours
        text = text.partition("return (")[2]
    return {"file": file, "line": line, "function": function, "text": text[:200]}


def innermost(frames: Iterable[tuple[str, int, str]]) -> CodeLineData | None:
    """Return your innermost line of a stack, outermost first. Without one, torch's innermost line.

    Returns None if the stack has neither.
    """
    torchs = None
    yours = None
    for frame in frames:
        if frame[0].startswith(OURS) or frame[0].startswith("<eval_with_key"):
            continue
        if api.is_torchs_file(frame[0]):
            torchs = frame
        elif not is_library(frame[0]):
            yours = frame
    chosen = yours or torchs
    return line_data(*chosen) if chosen is not None else None


def frames_in(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield the lines of a stack in a text: file, line, function."""
    for match in _FRAME.finditer(text):
        yield match["file"], int(match["line"]), match["function"] or ""


def here_called_from(frame: FrameType | None) -> CodeLineData | None:
    """Return the innermost line, yours or torch's, of a running stack."""
    stack = []
    while frame is not None:
        stack.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return innermost(reversed(stack))


def value_type(value: Any) -> str:
    """Return dtype and sizes of a value: "float32[3, 3]". Of several values, all of them."""
    if isinstance(value, torch.Tensor):
        sizes = ", ".join(str(size) for size in value.shape)
        return f"{str(value.dtype).removeprefix('torch.')}[{sizes}]"
    if isinstance(value, (tuple, list)):
        return ", ".join(filter(None, map(value_type, value[:8])))
    return ""


def read_graphs(
    module: torch.fx.GraphModule, rung: str, before: ReadGraphs | None = None, keep: Iterable[torch.fx.GraphModule] = ()
) -> ReadGraphs:
    """Return the operators of a graph and of the graphs inside it. `before` is the rung that it was made from."""
    read = ReadGraphs(rung, graphs=[module, *keep])
    for prefix, graph in rung_api.graphs_in(module):
        for node in graph.graph.nodes:
            read.names[id(graph.graph), node.name] = prefix + node.name
            if not rung_api.is_call(node):
                continue
            read.count += 1
            number = rung_api.sequence_number(node)
            if number is not None:
                read.sequences[prefix + node.name] = number
            if len(read.operators) < MOST_OPERATORS:
                read.operators.append(_operator(node, graph, prefix, before))
    if before is not None:
        known = {operator["name"] for operator in before.operators}
        for operator in read.operators:  # a link to a value that is no operator would lead nowhere
            operator["sources"] = [link for link in operator.get("sources", ()) if link["name"] in known]
    return read


def _operator(node: Any, graph: torch.fx.GraphModule, prefix: str, before: ReadGraphs | None) -> RungOperatorData:
    data: RungOperatorData = {"name": prefix + node.name, "operator": rung_api.called(node, graph)}
    inputs = list(dict.fromkeys(prefix + _computed(given).name for given in node.all_input_nodes))
    data["inputs"] = inputs[:MOST_INPUTS]
    made = value_type(node.meta.get("val", node.meta.get("example_value")))
    if made:
        data["type"] = made
    at = innermost(frames_in(node.meta.get("stack_trace") or ""))
    if at is not None:
        data["at"] = at
    if before is not None:
        links: list[RungLinkData] = [
            {"rung": before.name, "name": name}  # type: ignore[typeddict-item]
            for name in rung_api.origins(node, before.names)
        ]
        data["sources"] = links
    path = _module_path(node)
    if path:
        data["module"] = path
    operator = rung_api.overload(node)
    if operator is not None:
        data["is_core"] = rung_api.is_core(operator)
        for key, holds in (("is_custom", rung_api.is_custom), ("writes", rung_api.writes_to_inputs),
                           ("is_random", rung_api.is_random)):  # fmt: skip
            if holds(operator):
                data[key] = True  # type: ignore[literal-required]
    return data


def _computed(node: Any) -> Any:
    """Return the node whose value, or an item of whose value, a node is."""
    while node.op == "call_function" and not rung_api.is_call(node):
        node = node.args[0]
    return node


def _module_path(node: Any) -> str:
    stack = node.meta.get("nn_module_stack")
    try:
        return str(list(stack.values())[-1][0]) if stack else ""
    except (AttributeError, IndexError, TypeError):
        return ""


def read_script(module: Any, rung: str) -> ReadGraphs:
    """Return the operators of a TorchScript module: its nodes outside of the namespace `prim`."""
    read = ReadGraphs(rung)
    for node in rung_api.script_nodes(module):
        if node.kind().startswith("prim::"):
            continue
        read.count += 1
        if len(read.operators) >= MOST_OPERATORS:
            continue
        outputs = [value.debugName() for value in node.outputs()]
        data: RungOperatorData = {
            "name": outputs[0] if outputs else f"node {read.count}",
            "operator": node.kind(),
            "inputs": [value.debugName() for value in node.inputs()][:MOST_INPUTS],
        }
        at = _script_place(node)
        if at is not None:
            data["at"] = at
        read.operators.append(data)
    return read


def control_flow(module: Any) -> Iterator[RungNoteData]:
    """Yield a remark for each branch and loop of a TorchScript module."""
    for node in rung_api.script_nodes(module):
        if node.kind() in ("prim::If", "prim::Loop"):
            yield {"kind": "control-flow", "text": node.kind().removeprefix("prim::"), "at": _script_place(node)}


def _script_place(node: Any) -> CodeLineData | None:
    """Return your line of a node of TorchScript, which keeps one range of text, or a stack with the innermost first."""
    text = node.sourceRange()
    stack = [(m["file"], int(m["line"]), m["function"]) for m in _SCRIPT_FRAME.finditer(text)]
    if not stack:
        stack = [(m["file"], int(m["line"]), "") for m in _SCRIPT_LINE.finditer(text)] or list(frames_in(text))
        return innermost(stack)
    return innermost(reversed(stack))


def function_calls(read: ReadGraphs) -> Any:
    """Return a function that takes each call of a torch function, for the rung of your Python."""
    import sys

    def take(name: str, result: Any) -> None:
        if name.endswith((".__get__", ".__set__")):
            return
        read.count += 1
        if len(read.operators) < MOST_OPERATORS:
            data: RungOperatorData = {"name": f"call {read.count}", "operator": name, "type": value_type(result)}
            at = here_called_from(sys._getframe(1))
            if at is not None:
                data["at"] = at
            read.operators.append(data)

    return take


def failure_of(error: BaseException) -> RungFailureData:
    """Return why a rung could not be made, with your line and the line of torch that raised the error."""
    text = text_of(error)
    stack = [(frame.filename, frame.lineno or 0, frame.name) for frame in traceback.extract_tb(error.__traceback__)]
    yours = next((line for line in (innermost(_yours(stack)), innermost(_yours(frames_in(text)))) if line), None)
    inner = [frame for frame in stack if api.is_torchs_file(frame[0])]
    return {
        "kind": "raised",
        "exception": type(error).__name__,
        "message": text[:TEXT_LIMIT],
        "at": yours,
        "by": line_data(*inner[-1]) if inner else None,
    }


def _yours(frames: Iterable[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
    return [frame for frame in frames if not api.is_torchs_file(frame[0])]


def linked_by_sequence(backward: ReadGraphs, forward: ReadGraphs) -> None:
    """Link operators of backward to the forward operator whose autograd node computes them, by its sequence number.

    torch gives a node of the forward graph the number of the newest autograd node. So the first operator with a number
    is the one that the autograd node is of; later ones with this number have no autograd node.
    """
    first: dict[int, str] = {}
    for operator in forward.operators:
        number = forward.sequences.get(operator["name"])
        if number is not None:
            first.setdefault(number, operator["name"])
    for operator in backward.operators:
        number = backward.sequences.get(operator["name"])
        name = first.get(number) if number is not None else None
        if name is not None:
            operator["sources"] = [{"rung": "aot-forward", "name": name}]
