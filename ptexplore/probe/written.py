"""Who wrote to a saved tensor, in a program that ran once: found from the operators that the profiler recorded.

Nothing watched the tensor while the program ran. After a node has refused it, the graph still has that node. The node
gives the tensor's memory (torch 2.13), and the call that recorded it. The schemas of the operators say which of them
wrote to that memory since then. The tensor's count of writes is not read in between. If there are as many operators as
counts, each operator counts as one write. Otherwise some operators wrote through a tensor with a count of its own
(`.data`), or count more than once.
"""

from __future__ import annotations

import ast
import linecache
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from . import torch_api as api
from .paths import Path

if TYPE_CHECKING:
    from .messages import PythonPlaceData, SavedTensorWritesData, TensorWriteData

RECORDER: Final = "writes"
REASON = "has been modified by an inplace operation"
KEPT = 20_000  # the last writes that are kept
SENT_WRITES = 64  # writes that are sent for one tensor
SETS = ("fill_", "copy_", "index_put_", "_index_put_impl_", "masked_fill_")  # the operators that `y[...] = x` calls
# The operators that `y += x` and similar statements call (torch/_C/_VariableFunctions and Tensor's own methods of those
# names).
UPDATES: dict[type[ast.operator], tuple[str, ...]] = {
    ast.Add: ("add_",),
    ast.Sub: ("sub_",),
    ast.Mult: ("mul_",),
    ast.Div: ("div_",),
    ast.FloorDiv: ("floor_divide_",),
    ast.Mod: ("remainder_",),
    ast.Pow: ("pow_",),
    ast.BitAnd: ("__iand__", "bitwise_and_"),
    ast.BitOr: ("__ior__", "bitwise_or_"),
    ast.BitXor: ("__ixor__", "bitwise_xor_"),
    ast.LShift: ("__ilshift__", "bitwise_left_shift_"),
    ast.RShift: ("__irshift__", "bitwise_right_shift_"),
}


@dataclass(frozen=True)
class OperatorWrite:
    """An operator call that writes to tensors by its schema: when, to which memories, from which path."""

    begin: int
    end: int
    memories: tuple[int, ...]
    operator: str
    path: Path


class WriteLog:
    """The last writes of a program's operators."""

    def __init__(self) -> None:
        self._writes: deque[OperatorWrite] = deque(maxlen=KEPT)

    def add(self, event: Any, overload: str | None, path: Path) -> None:
        """Keep a recorded operator call, if it writes."""
        memories = api.written_memories(event, overload)
        if memories:
            begin = event.start_time_ns
            name = f"{event.name}.{overload}" if overload else str(event.name)
            self._writes.append(OperatorWrite(begin, begin + event.duration_time_ns, memories, name, path))

    def since(self, memory: int, time: int) -> list[OperatorWrite] | None:
        """Return the outermost calls that wrote to a memory after a time, in order; None if older ones may be lost."""
        if len(self._writes) == KEPT and min(write.begin for write in self._writes) > time:
            return None
        outermost: list[OperatorWrite] = []
        for write in sorted(self._writes, key=lambda write: (write.begin, -write.end)):
            inside = bool(outermost) and write.end <= outermost[-1].end
            if memory in write.memories and write.begin >= time and not inside:
                outermost.append(write)
        return outermost


def graph_of(error: BaseException) -> list[Any]:
    """Return the nodes at which the backward began that raised."""
    at: TracebackType | None = error.__traceback__
    nodes: list[Any] = []
    while at is not None:
        name = api.BACKWARD.get(at.tb_frame.f_code)
        if name is not None:
            given = at.tb_frame.f_locals.get(name)
            nodes = [node for tensor in api.tensors_in(given) if (node := api.grad_fn(tensor)) is not None]
        at = at.tb_next
    return nodes


def writes_data(
    refused: api.RefusedTensor, writes: Sequence[OperatorWrite] | None, saver: tuple[Path, str] | None, *, whole: bool
) -> SavedTensorWritesData:
    """Return the data of an observation "saved". `saver` is the path and operator of the call that saved the tensor.

    `whole`: every function has a path of its own, so that an operator of a path comes from a statement of its function.
    """
    counts = refused.version - refused.expected
    certain = writes is not None and len(writes) == counts
    each: list[TensorWriteData] = [
        {
            "at": place_of(write.path, write.operator, whole=whole),
            "before": refused.expected + number if certain else refused.expected,
            "after": refused.expected + number + 1 if certain else refused.version,
            "operators": [write.operator],
        }
        for number, write in enumerate((writes or ())[:SENT_WRITES])
    ]
    return {
        "tensor": refused.tensor,
        "expected": refused.expected,
        "version": refused.version,
        "node": refused.node,
        "saved": place_of(*saver, whole=False) if saver is not None else None,
        "writes": each,
        "watched": False,
        "certain": certain,
    }


# --- places ---


def place_of(path: Path, operator: str, *, whole: bool) -> PythonPlaceData | None:
    """Return the innermost place of the user's own Python on a path; for torch's own Python, the place of its call."""
    if path.label.kind == "user":
        line = only_statement(path, operator) if whole else None
        return _place(path, line)
    while path.parent is not None and path.parent.label.kind != "user":
        path = path.parent
    if path.parent is None:
        return None
    direct = any(child is path and key[1] is not None for key, child in path.parent.children.items() if len(key) == 2)
    return _place(path.parent, path.line if direct else None)


def _place(path: Path, line: int | None) -> PythonPlaceData | None:
    """Return a line of a function, or only the function: then the line is its first."""
    label = path.label
    if label.file is None or label.first is None:
        return None
    place: PythonPlaceData = {
        "file": label.file,
        "line": line or label.first,
        "first": label.first,
        "function": label.name,
    }
    if line is None:
        place["exact"] = False
    else:
        place["text"] = linecache.getline(label.file, line).strip()
    return place


def only_statement(path: Path, operator: str) -> int | None:
    """Return the line of the only statement of a function whose syntax can call this in-place operator; otherwise None.

    A builtin has a path of its own, so the operator cannot come from a method call. It may come from a function of
    torch that no longer has a marker of its own.
    """
    label = path.label
    if label.file is None or label.first is None or any(child.cold for child in path.children.values()):
        return None
    try:
        tree = ast.parse("".join(linecache.getlines(label.file)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    name = operator.partition("::")[2].partition(".")[0]
    bodies = [tree] if label.name == "<module>" else list(_functions(tree, label.first))
    lines = {line for body in bodies for line in _writing(body, name)}
    return lines.pop() if len(bodies) == 1 and len(lines) == 1 else None


def _functions(tree: ast.AST, first: int) -> Iterator[ast.AST]:
    """Yield the functions whose code begins at a line: the line of the first decorator, if there is one."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorators = [decorator.lineno for decorator in node.decorator_list]
            if min([node.lineno, *decorators]) == first:
                yield node


def _writing(function: ast.AST, operator: str) -> Iterator[int]:
    """Yield the lines of a function's own statements whose syntax can call this in-place operator."""
    pending = list(ast.iter_child_nodes(function))
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        pending += ast.iter_child_nodes(node)
        if isinstance(node, ast.AugAssign):
            sets = operator in SETS and isinstance(node.target, ast.Subscript)
            if sets or operator in UPDATES.get(type(node.op), ()):
                yield node.lineno
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and operator in SETS:
            yield node.lineno
