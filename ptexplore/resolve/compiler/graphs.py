"""The graphs of a run: their text, their nodes with your lines, and what backward keeps or computes again."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ptexplore.facts.compiler_texts import ELEMENT_BYTES
from ptexplore.model.compiled import CompiledGraph, ValueForBackward
from ptexplore.model.compiler_log import CodeLine, CompilerLog, CompilerText

DYNAMO, FORWARD, BACKWARD, CODE = (
    "dynamo_output_graph", "aot_forward_graph", "aot_backward_graph", "inductor_output_code",
)  # fmt: skip
MOST_TEXT = 200_000  # characters of one text that are kept; saved files have a limit for one text
MOST_OF_ALL = 16 << 20  # characters of all texts together
_NODE = re.compile(r'^\s+(?P<name>\w+)(?:: "(?P<type>[^"]*)")? = (?P<target>[\w.]+)\(')
_FILE = re.compile(r"^\s*# File: (?P<file>.+?):(?P<line>\d+) in (?P<function>.+?), code: (?P<code>.*)$")
_NO_FILE = "# No stacktrace found"  # begins nodes without a line
_INPUT = re.compile(r'(?P<name>\w+): "(?P<type>[^"]*)"')
_TYPE = re.compile(r"^(?P<dtype>[a-z]+\d+\w*)\[(?P<sizes>[\d, ]*)\]")


@dataclass(frozen=True, slots=True)
class LoweredNode:
    """A node that calls an operator."""

    name: str
    operator: str  # "aten.mul.Tensor"
    type: str
    at: CodeLine | None


@dataclass(frozen=True, slots=True)
class TextGraph:
    """The inputs of a graph with their types, and its nodes in order."""

    inputs: Mapping[str, str]
    nodes: Mapping[str, LoweredNode]


def read_graph(text: str) -> TextGraph:
    """Reads the text of a graph, as `GraphModule.print_readable` writes it."""
    parameters, _, body = text.partition("def forward(")[2].partition("):")
    at: CodeLine | None = None
    nodes: dict[str, LoweredNode] = {}
    for line in body.split("\n"):
        made = _FILE.match(line)
        if made is not None:
            at = CodeLine(made["file"], int(made["line"]), made["function"], made["code"].strip())
        elif _NO_FILE in line:
            at = None
        elif (node := _NODE.match(line)) is not None:
            operator = node["target"].removeprefix("torch.ops.")
            nodes[node["name"]] = LoweredNode(node["name"], operator, node["type"] or "", at)
    return TextGraph({given["name"]: given["type"] for given in _INPUT.finditer(parameters)}, nodes)


def graphs_in(log: CompilerLog, name_of: Callable[[str], str]) -> Iterator[CompiledGraph]:
    """Yields the graphs of each compilation, forward first. `name_of` gives the function of a compilation."""
    room = MOST_OF_ALL
    for key in dict.fromkeys(text.compilation for text in log.texts if text.compilation and "/" in text.compilation):
        texts = [text for text in log.texts if text.compilation == key]
        code = [text for text in texts if text.name == CODE]
        attempt = max((text.attempt for text in texts if text.name == DYNAMO), default=0)
        forward = [text for text in texts if text.name == DYNAMO and text.attempt == attempt]
        backward = [text for text in texts if text.name == BACKWARD]
        kept, again = _partition(texts)
        is_known = bool(backward) and any(text.name == FORWARD for text in texts)
        for number, text in enumerate((*forward, *backward)):
            is_backward = number >= len(forward)
            made = code[number] if number < len(code) else None
            graph = text.text[: min(MOST_TEXT, room)]
            room -= len(graph)
            generated = made.text[: min(MOST_TEXT, room)] if made is not None else ""
            room -= len(generated)
            yield CompiledGraph(
                compilation=key,
                function=name_of(key),
                is_backward=is_backward,
                text=graph,
                code=generated,
                file=made.file if made is not None else "",
                is_cut=len(graph) < len(text.text) or (made is not None and len(generated) < len(made.text)),
                has_partition=is_known and not is_backward,
                kept=() if is_backward else kept,
                again=() if is_backward else again,
            )


def _partition(texts: Iterable[CompilerText]) -> tuple[tuple[ValueForBackward, ...], tuple[ValueForBackward, ...]]:
    """Returns the values that forward keeps for backward, and those that backward computes again.

    Both graphs are parts of one graph, so a name in both is the same value.
    """
    by_name = {text.name: read_graph(text.text) for text in texts if text.name in (FORWARD, BACKWARD)}
    forward, backward = by_name.get(FORWARD), by_name.get(BACKWARD)
    if forward is None or backward is None:
        return (), ()
    kept = []
    for name, kind in backward.inputs.items():
        node = forward.nodes.get(name)
        if node is not None or name in forward.inputs:
            operator, at = (node.operator, node.at) if node is not None else ("", None)
            kept.append(ValueForBackward(name, kind, _size(kind), operator, at))
    again = [
        ValueForBackward(name, node.type, _size(node.type), node.operator, node.at)
        for name, node in backward.nodes.items()
        if name in forward.nodes and forward.nodes[name].operator == node.operator
    ]
    return tuple(kept), tuple(again)


def _size(kind: str) -> int | None:
    """Returns the bytes of the elements of a tensor, from its type in the text of a graph."""
    match = _TYPE.match(kind)
    if match is None or match["dtype"] not in ELEMENT_BYTES:
        return None
    return ELEMENT_BYTES[match["dtype"]] * math.prod(int(size) for size in match["sizes"].split(",") if size.strip())
