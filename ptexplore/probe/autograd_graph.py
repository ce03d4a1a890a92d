"""Read the autograd graph behind the value of an expression: nodes, edges, leaves, and what each node saved.

Backward does not run, and no hook is called. A second run of the same code, in another process, notes the line that
made each node. Anomaly mode is on in that run only. So the first run is as it is without ptexplore.
"""

from __future__ import annotations

import builtins
import hashlib
import linecache
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import torch

from . import passes
from . import torch_api as api
from .catalogue import place_of
from .expression import Refused, code_of, free_names, script_file
from .frames import EXPRESSION
from .memory_owners import memory_owners, saved_of
from .reasons import reason
from .recorders import GRAPH, GRAPH_LINES
from .values import describe, names_of, tensors, type_name
from .whose import OURS, TYPED, is_library

if TYPE_CHECKING:
    from .messages import (
        AutogradGraphData,
        AutogradNodeData,
        GradientEdgeData,
        GradientHookData,
        GraphLeafData,
        GraphResultData,
        KeptStorageData,
        KeptValueData,
        NamedTensorData,
        NodeMadeAtData,
        OwnedMemoryData,
        ReadGraphData,
        RunRequestData,
        RunToldData,
    )

Holder: TypeAlias = Literal["leaf", "name", "result"]
MOST_NODES = 100_000  # nodes that are read
MOST_NAMES = 5_000  # named tensors that are read
MOST_DETACHES = 1_000  # calls of detach() that are noted
TEXT = 300  # code: at most so many characters
GIVEN = ("torch", "F", "nn", "math", "np")  # names that every expression sees


class AskedValue(NamedTuple):
    """The value whose graph is asked for, and the variables whose names its tensors get."""

    value: Any
    variables: Mapping[str, Any]


def run(request: RunRequestData) -> RunToldData:
    """Run the code, and return the graph behind the asked value. Raises Refused if the value has no tensor."""
    running = passes.prepared(GRAPH, request)
    owners: list[OwnedMemoryData] = []

    def look(asked: AskedValue) -> None:
        owners.extend(memory_owners(GraphReader(asked.value, named_tensors(asked.variables))))

    asked = evaluated(running, look=look if request.get("owners") else None)
    reader = GraphReader(asked.value, named_tensors(asked.variables))
    told: RunToldData = {
        "observations": [],
        "bound": running.names.bound,
        "result": {"type": type_name(asked.value), "description": describe(asked.value)},
        "graph": {"shape": reader.shape(), "graph": reader.data()},
    }
    if request.get("owners"):
        told["owners"] = owners
    return told


def lines(request: RunRequestData) -> RunToldData:
    """Run the code once more, and return the code that made each node, and that called detach()."""
    running = passes.prepared(GRAPH_LINES, request)
    notes = Notes((request.get("expression") or "").strip())
    detaches = Detaches(notes)
    with api.noting_nodes(notes.note):
        asked = evaluated(running, detaches)
    notes.name_modules(asked.variables)
    reader = GraphReader(asked.value, named_tensors(asked.variables))
    made = [notes.made(node) for node in reader.nodes]
    detached = list(detaches.of_unreached(reader))
    return {"observations": [], "lines": {"shape": reader.shape(), "made": made, "detached": detached}}


def evaluated(
    running: passes.Pass, detaches: Detaches | None = None, look: Callable[[AskedValue], None] | None = None
) -> AskedValue:
    """Run the code up to the asked value. `look` is called with it while the code still runs, or has just ended.

    Raises Raised or Refused.
    """
    script = running.request.get("script")
    watch = _Backward(running.request.get("expression"), script, detaches, look) if script is not None else None
    with passes.stage("context"), ExitStack() as stack:
        passes.enter_contexts(stack, running)
        if watch is not None:
            running.attempt("script", watch.around, running.evaluate)
            if watch.asked is not None:
                return watch.asked
        else:
            evaluate = running.evaluate
            value = running.attempt("expression", lambda: detaches.around(evaluate) if detaches else evaluate())
    if running.raised is not None:
        raise running.raised
    if watch is not None:
        raise watch.refusal()
    asked = AskedValue(value, running.names.values)
    if look is not None:
        look(asked)
    return asked


class _Enough(BaseException):
    """Ends a script at its first backward: the graph is complete, and backward would free it."""


class _Backward:
    """Waits for the first backward of a script, and evaluates the expression where it is called.

    Without an expression, the value is the argument of backward. If the script ends without a backward, the
    expression is evaluated in the variables of the script.
    """

    def __init__(
        self,
        expression: str | None,
        script: str,
        detaches: Detaches | None = None,
        look: Callable[[AskedValue], None] | None = None,
    ) -> None:
        self._detaches, self._look = detaches, look
        self.asked: AskedValue | None = None
        self._expression = expression
        self._file = script_file(script)
        self._missing = ""  # a name that no function has

    def around(self, run: Callable[[], Any]) -> None:
        """Run the script up to its first backward."""
        sys.setprofile(self._hook)
        try:
            run()
        except _Enough:
            pass
        finally:
            sys.setprofile(None)

    def refusal(self) -> Refused:
        """Return why there is no value."""
        if self._missing:
            return Refused("graph", reason("no-such-variable", name=self._missing))
        return Refused("graph", reason("no-backward"))

    def _hook(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and self._detaches is not None:
            self._detaches.hook(frame, event, called)
        code = frame.f_code
        if event == "call" and code in api.BACKWARD:
            self._find(frame.f_back, frame.f_locals.get(api.BACKWARD[code]))
            self._look_at_it()
            raise _Enough
        if event == "return" and code.co_name == "<module>" and code.co_filename == self._file:
            self._find(frame, None)
            self._look_at_it()

    def _look_at_it(self) -> None:
        if self._look is not None and self.asked is not None:
            sys.setprofile(None)
            self._look(self.asked)

    def _find(self, frame: FrameType | None, given: Any) -> None:
        while frame is not None and frame.f_code.co_filename.startswith(api.TORCH_DIR):
            frame = frame.f_back
        if self._expression is None:
            if given is not None and frame is not None:
                self.asked = AskedValue(given, variables_of(frame))
            return
        needed = [name for name in free_names(self._expression) if not hasattr(builtins, name)]
        while frame is not None:
            variables = variables_of(frame)
            self._missing = next((name for name in needed if name not in variables), "")
            if not self._missing:
                code = code_of(self._expression, reason("given-expression"), EXPRESSION)
                self.asked = AskedValue(eval(code, dict(variables)), variables)
                return
            frame = frame.f_back


def variables_of(frame: FrameType) -> Mapping[str, Any]:
    """Return the variables that code in a frame can name."""
    return {**frame.f_globals, **names_of(frame)}


def of_your_process(value: Any, frame: FrameType) -> ReadGraphData:
    """Return the graph behind a value of your process. The variables of `frame` name its leaves.

    Nothing is run. Names of other tensors are left out: to read the node of a view may make a new one.
    """
    variables = variables_of(frame)
    reader = GraphReader(value, named_tensors(variables, only_leaves=True))
    data = reader.data()
    notes = Notes("")
    notes.name_modules(variables)
    for node, entry in zip(reader.nodes, data["nodes"], strict=True):
        made = notes.made(node)
        if made is not None:
            entry["made"] = made
    return {"shape": reader.shape(), "graph": data}


# --- the graph ---


class GraphReader:
    """The nodes behind a value, each before the nodes that it leads to, as backward may run them.

    Raises Refused if the value has no tensor.
    """

    def __init__(self, result: Any, named: NamedTensors | None = None) -> None:
        self.results = list(tensors(result))
        if not self.results:
            raise Refused("graph", reason("has-no-tensor", result=describe(result)))
        self.named = named if named is not None else NamedTensors()
        with api.without_overrides():
            starts = [node for tensor in self.results if (node := _start(tensor)) is not None]
            reached = dict.fromkeys(api.nodes_of(starts, MOST_NODES))
            self.nodes = _in_order(starts, reached)
        self.numbers = {node: number for number, node in enumerate(self.nodes)}
        self.is_cut = any(
            following is not None and following not in self.numbers
            for node in self.nodes
            for following, _ in node.next_functions
        )
        leaves = ((api.leaf_of(node), node) for node in self.nodes)
        self._accumulators = {id(leaf): node for leaf, node in leaves if leaf is not None}  # by address of the leaf

    def unreached(self) -> Iterator[tuple[str, Any]]:
        """Yield the named leaves that require grad and that no edge leads to."""
        for name, tensor in self.named.tensors:
            if tensor.is_leaf and tensor.requires_grad and id(tensor) not in self._accumulators:
                yield name, tensor

    def saved_storages(self) -> Iterator[tuple[Any, int, int, int]]:
        """Yield the storages of saved tensors: node, its number, address, bytes. The first recorded node comes first.

        Nothing is yielded if this torch cannot say what a node saved.
        """
        order = sorted(range(len(self.nodes)), key=lambda number: api.sequence_number(self.nodes[number]))
        for number in order:
            node = self.nodes[number]
            yield from ((node, number, address, size) for address, size in saved_of(node))

    def shape(self) -> str:
        """Return a digest of the names and edges of the graph."""
        total = hashlib.sha1(usedforsecurity=False)
        for node in self.nodes:
            edges = [(self.numbers.get(following, -1), number) for following, number in node.next_functions]
            total.update(f"{node.name()} {edges}\n".encode())
        return total.hexdigest()

    def data(self) -> AutogradGraphData:
        """Return the graph as plain data."""
        storages = _Storages()
        with api.without_overrides():
            for tensor in self.results:
                storages.held_by(tensor, "result", "")
            for name, tensor in self.named.tensors:
                storages.held_by(tensor, "name", name)
            nodes = [self._node(node, storages) for node in self.nodes]
            results = [self._result(tensor) for tensor in self.results]
            named = [self._named(name, tensor) for name, tensor in self.named.tensors]
        return {
            "results": results,
            "nodes": nodes,
            "storages": storages.data(),
            "tensors": named,
            "reads_saved": api.tells_saved_unread(),
            "cut": self.is_cut,
            "more_names": self.named.is_cut,
        }

    def _node(self, node: Any, storages: _Storages) -> AutogradNodeData:
        edges: list[GradientEdgeData] = [
            {
                "node": self.numbers.get(following),
                "input": number,
                "unread": following is not None and following not in self.numbers,
            }
            for following, number in node.next_functions
        ]
        data: AutogradNodeData = {"name": node.name(), "edges": edges, "sequence": api.sequence_number(node)}
        leaf = api.leaf_of(node)
        if leaf is not None:
            data["leaf"] = self._leaf(leaf)
            storages.held_by(leaf, "leaf", next(iter(self.named.of(leaf)), ""))
            return data
        if api.is_silent(node):
            data["silent"] = True
        elif api.tells_saved_unread():
            data["saved"] = [_saved(node, slot, storages) for slot in api.saved_slots(node)]
        function = api.function_of(node)
        place = place_of(function.backward) if function is not None else None
        if place is not None:
            data["python"] = place[:2]
        return data

    def _leaf(self, tensor: Any) -> GraphLeafData:
        return {
            "names": self.named.of(tensor),
            "sizes": sizes_of(tensor),
            "dtype": _dtype(tensor),
            "device": str(tensor.device),
            "has_grad": api.gradient(tensor) is not None,
            "hooks": _hooks(tensor),
        }

    def _result(self, tensor: Any) -> GraphResultData:
        node = _start(tensor)
        return {
            "description": describe(tensor),
            "node": self.numbers.get(node),
            "output": int(tensor.output_nr),
            "needs_grad": bool(tensor.requires_grad),
            "leaf": bool(tensor.is_leaf),
            "hooks": _hooks(tensor),
            "retains_grad": bool(tensor.retains_grad),
        }

    def _named(self, name: str, tensor: Any) -> NamedTensorData:
        node = self._accumulators.get(id(tensor)) if tensor.is_leaf else api.node_of(tensor)
        return {
            "name": name,
            "description": describe(tensor),
            "is_leaf": bool(tensor.is_leaf),
            "needs_grad": bool(tensor.requires_grad),
            "differentiable": tensor.is_floating_point() or tensor.is_complex(),
            "inference": bool(tensor.is_inference()),
            "retains_grad": bool(tensor.retains_grad),
            "has_grad": api.gradient(tensor) is not None,
            "made_by": node.name() if node is not None and not tensor.is_leaf else "",
            "node": self.numbers.get(node),
        }


def _start(tensor: Any) -> Any:
    """Return the node that backward starts at for a tensor; None if the tensor needs no gradient."""
    if not tensor.requires_grad:
        return None
    return api.node_of(tensor) if not tensor.is_leaf else api.accumulator_of(tensor)


def _in_order(starts: Iterable[Any], reached: Mapping[Any, None]) -> list[Any]:
    """Return the reached nodes in topological order: each node comes before its next nodes."""
    done: dict[Any, None] = {}
    seen = set()
    pending: list[tuple[Any, bool]] = [(node, False) for node in starts if node in reached]
    while pending:
        node, is_left = pending.pop()
        if is_left:
            done[node] = None
        elif node not in seen:
            seen.add(node)
            pending.append((node, True))
            pending += [(following, False) for following, _ in node.next_functions if following in reached]
    return list(reversed(done))


def _saved(node: Any, slot: api.SavedSlot, storages: _Storages) -> KeptValueData:
    data: KeptValueData = {"name": slot.name, "kept": slot.kept}
    tensor = slot.value
    if slot.unpacks is not None:
        data["hook"] = _function_name(slot.unpacks)
    if tensor is not None:
        data["type"] = type_name(tensor)
    if not issubclass(type(tensor), api.TENSOR_BASE):
        return data
    data["sizes"], data["dtype"], data["device"] = sizes_of(tensor), _dtype(tensor), str(tensor.device)
    data["version"], data["saved_version"] = api.version(tensor), api.saved_version(node, slot)
    data["is_number"] = api.is_wrapped_number(tensor)
    if not data["is_number"]:
        data["storages"] = storages.numbers(tensor)
    return data


def sizes_of(tensor: Any) -> list[int] | None:
    """Return the sizes of a tensor; None if it has no single shape, or if a size is symbolic."""
    try:
        sizes = list(tensor.shape)
    except RuntimeError:  # a nested tensor
        return None
    return sizes if all(type(size) is int for size in sizes) else None


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _hooks(tensor: Any) -> list[GradientHookData]:
    before, after = (list((held or {}).values()) for held in api.hooks_of(tensor))
    hooks: list[GradientHookData] = [{"kind": "gradient", "function": _function_name(hook)} for hook in before]
    further: list[GradientHookData] = [{"kind": "accumulated", "function": _function_name(hook)} for hook in after]
    return hooks + further


def _function_name(function: Any) -> str:
    name = getattr(function, "__qualname__", None)
    return name if type(name) is str else type_name(function)


@dataclass
class _Storages:
    """The storages that saved tensors have, numbered, and who else holds each."""

    _numbers: dict[int, int] = field(default_factory=dict)  # by address
    _bytes: list[int] = field(default_factory=list)
    _holders: dict[int, dict[tuple[Holder, str], None]] = field(default_factory=dict)  # by address

    def numbers(self, tensor: Any) -> list[int]:
        """Return the numbers of a saved tensor's storages; [] if they cannot be read."""
        numbers = []
        for address, size in api.storages_of(tensor) or ():
            if address not in self._numbers:
                self._numbers[address] = len(self._bytes)
                self._bytes.append(size)
            numbers.append(self._numbers[address])
        return numbers

    def held_by(self, tensor: Any, holder: Holder, name: str) -> None:
        """Note that something besides the graph holds the storages of a tensor."""
        for address, _ in api.storages_of(tensor) or ():
            self._holders.setdefault(address, {})[holder, name] = None

    def data(self) -> list[KeptStorageData]:
        """Return the storages by number."""
        return [
            {"bytes": size, "holders": list(self._holders.get(address, {}))}
            for address, size in zip(self._numbers, self._bytes, strict=True)
        ]


# --- the names of tensors ---


class NamedTensors:
    """Tensors with the names that hold them, in order: a tensor may have several names."""

    def __init__(self, *, only_leaves: bool = False) -> None:
        self.tensors: list[tuple[str, Any]] = []
        self._only_leaves = only_leaves
        self.is_cut = False  # whether there are more names than were read
        self._names: dict[int, list[str]] = {}  # by address of the tensor

    def add(self, name: str, tensor: Any) -> None:
        """Add a name of a tensor, unless there are too many."""
        if self._only_leaves and not tensor.is_leaf:
            return
        if len(self.tensors) == MOST_NAMES:
            self.is_cut = True
            return
        self.tensors.append((name, tensor))
        self._names.setdefault(id(tensor), []).append(name)

    def of(self, tensor: Any) -> list[str]:
        """Return the names of a tensor."""
        return self._names.get(id(tensor), [])


def named_tensors(values: Mapping[str, Any], *, only_leaves: bool = False) -> NamedTensors:
    """Return the tensors that names hold: themselves, in a list, tuple or dictionary, or in a module."""
    named = NamedTensors(only_leaves=only_leaves)
    with api.without_overrides():
        for name, value in list(values.items()):
            if not name.startswith("__") and name not in GIVEN:
                _add(named, name, value)
    return named


def _add(named: NamedTensors, name: str, value: Any, depth: int = 1) -> None:
    kind = type(value)
    if issubclass(kind, api.TENSOR_BASE):
        named.add(name, value)
    elif issubclass(kind, torch.nn.Module):
        with suppress(Exception):  # the user may have overridden named_parameters
            for inner, tensor in (*value.named_parameters(), *value.named_buffers()):
                named.add(f"{name}.{inner}", tensor)
    elif depth and kind in (list, tuple):
        for number, item in enumerate(value):
            _add(named, f"{name}[{number}]", item, depth - 1)
    elif depth and kind is dict:
        for key, item in value.items():
            if type(key) is str:
                _add(named, f"{name}[{key!r}]", item, depth - 1)


# --- the code that made the nodes ---


@dataclass(frozen=True)
class _Note:
    """Where Python was when a node was made: your innermost frame, and the outermost and innermost module that ran."""

    code: CodeType | None
    line: int
    at: int
    outer: Any
    inner: Any


class Notes:
    """Notes where Python is when a node is made, and says it later in names and text."""

    def __init__(self, expression: str) -> None:
        self._expression = expression.splitlines()
        self._yours: dict[CodeType, bool] = {}
        self._names: dict[int, dict[int, tuple[Any, str]]] = {}
        self._bound: dict[int, str] = {}  # names of modules, by address

    def name_modules(self, values: Mapping[str, Any]) -> None:
        """Take the names of modules from variables."""
        self._bound = {id(value): name for name, value in values.items() if issubclass(type(value), torch.nn.Module)}

    def note(self, frame: FrameType | None) -> _Note:
        """Return where Python is. It runs inside an operator, so it only walks the frames."""
        code, line, at, outer, inner = None, 0, 0, None, None
        while frame is not None:
            if frame.f_code is api.MODULE_CALL:
                outer = frame.f_locals.get("self")
                inner = inner if inner is not None else outer
            elif code is None and self.is_yours(frame.f_code):
                code, line, at = frame.f_code, frame.f_lineno, frame.f_lasti
            frame = frame.f_back
        return _Note(code, line, at, outer, inner)

    def is_yours(self, code: CodeType) -> bool:
        """Return whether code is the user's: of a file that is no library, or of the expression."""
        known = self._yours.get(code)
        if known is None:
            file = code.co_filename
            known = not file.startswith(OURS) and (
                file == EXPRESSION or file.startswith(TYPED) or not (file.startswith("<") or is_library(file))
            )
            self._yours[code] = known
        return known

    def made(self, node: Any) -> NodeMadeAtData | None:
        """Return the code that made a node; None if it is not known. A leaf's node is made by its first use."""
        note = api.note_of(node) if api.leaf_of(node) is None else None
        if isinstance(note, str):
            return _from_traceback(note)
        return self.place(note) if isinstance(note, _Note) else None

    def place(self, note: _Note) -> NodeMadeAtData | None:
        """Return the code of a note; None if none of your functions was running."""
        if note.code is None:
            return None
        file = note.code.co_filename
        data: NodeMadeAtData = {"file": file, "line": note.line, "function": note.code.co_name}
        column, end = _columns(note.code, note.at)
        if column is not None and end is not None:
            data["column"], data["end_column"] = column, end
        data["text"] = self._text(file, note.line, column, end)
        if note.inner is not None:
            data["module"], data["module_type"] = self._module(note), api.qualname_of(type(note.inner))
        return data

    def place_of_line(self, code: CodeType, line: int) -> NodeMadeAtData:
        """Return a line of some code as a place."""
        file = code.co_filename
        return {"file": file, "line": line, "function": code.co_name, "text": self._text(file, line, None, None)}

    def _text(self, file: str, line: int, column: int | None, end: int | None) -> str:
        if file != EXPRESSION:
            return linecache.getline(file, line).strip()[:TEXT]
        text = self._expression[line - 1] if 0 < line <= len(self._expression) else ""
        if column is not None and end is not None:
            text = text.encode()[column:end].decode(errors="replace")
        return text.strip()[:TEXT]

    def _module(self, note: _Note) -> str:
        """Return the name of the innermost module: the name of the outermost one, and the name inside that one."""
        outer, inner = note.outer, note.inner
        if id(outer) not in self._names:
            self._names[id(outer)] = {}
            with suppress(Exception):  # the user may have overridden named_modules
                self._names[id(outer)] = api.module_names(outer)
        held = self._names[id(outer)].get(id(inner))
        inside = held[1] if held is not None and held[0] is inner else "?"
        root = self._bound.get(id(outer), type_name(outer))
        return f"{root}.{inside}" if inside else root


class Detaches:
    """The calls of detach() by Python: the node or leaf of the tensor that was detached, and where that was."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._calls: list[tuple[Any, Any, _Note]] = []

    def around(self, run: Callable[[], Any]) -> Any:
        """Run the code, and note each call of detach()."""
        sys.setprofile(self.hook)
        try:
            return run()
        finally:
            sys.setprofile(None)

    def hook(self, frame: FrameType, event: str, called: Any) -> None:
        """Note a call, if it is one of detach()."""
        if event != "c_call" or getattr(called, "__name__", "") not in ("detach", "detach_"):
            return
        tensor = getattr(called, "__self__", None)
        if issubclass(type(tensor), api.TENSOR_BASE) and len(self._calls) < MOST_DETACHES:
            self._calls.append((tensor, api.node_of(tensor), self._notes.note(frame)))

    def of_unreached(self, reader: GraphReader) -> Iterator[tuple[str, NodeMadeAtData]]:
        """Yield the leaves that the graph does not reach, with the first call of detach() on a value made of them."""
        missing = {id(leaf): name for name, leaf in reader.unreached()}
        for tensor, node, note in self._calls:
            behind = api.nodes_of([node], MOST_NODES) if node is not None and missing else ()
            leaves = [tensor, *(leaf for n in behind if (leaf := api.leaf_of(n)) is not None)]
            place = self._notes.place(note)
            for leaf in leaves if place is not None else ():
                name = missing.pop(id(leaf), None)
                if name is not None and place is not None:
                    yield name, place


_FRAME = re.compile(r'  File "(.+)", line (\d+), in (.+)\n(?:    (.*)\n)?')


def _from_traceback(text: str) -> NodeMadeAtData | None:
    """Return your innermost line of a traceback that anomaly mode kept; None if it has none."""
    for file, line, function, code in reversed(_FRAME.findall(text)):
        if not file.startswith((OURS, "<frozen")) and not is_library(file):
            return {"file": file, "line": int(line), "function": function, "text": code.strip()[:TEXT]}
    return None


def _columns(code: CodeType, at: int) -> tuple[int | None, int | None]:
    """Return the first column of the part that a frame is at, and the column after it. Python has them since 3.11."""
    positions = getattr(code, "co_positions", None)
    if positions is None or at < 0:
        return None, None
    for number, (line, last, column, end) in enumerate(positions()):
        if number == at // 2:
            return (column, end) if line == last else (column, None)
    return None, None
