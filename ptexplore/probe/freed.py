"""Find the graph node that an earlier backward had freed, after a later backward of the program reached it again.

The engine only says that a node was freed. The profiler saw which node ran last, which call recorded it, and in which
backward it ran before. The graph says which later call used a result of the freed part, and the program's variables say
which of them hold that result. All this is read after the program has failed; no code of the user is called.
"""

from __future__ import annotations

import ast
import linecache
import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from . import torch_api as api
from .paths import Path
from .whose import OURS
from .written import place_of

if TYPE_CHECKING:
    from .messages import FreedNodeData, GraphCallData, PythonPlaceData

RECORDER: Final = "freed"
REASON = b"Trying to backward through the graph a second time"
KEPT = 1 << 20  # maximum number of nodes whose runs are remembered; with more, all are forgotten
NODES = 50_000  # maximum number of nodes of a graph that are looked at
USES = 4  # maximum number of calls reported that used a result of the freed part
NAMES = 4  # maximum number of names reported that hold such a result
VALUES = 20_000  # maximum number of values of the program that are searched for these names
DEEP = 4  # how many levels of objects inside objects are searched
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_SUBSCRIPT = re.compile(r"\[[^]]*\]")


@dataclass(frozen=True)
class NodeMaker:
    """The call that recorded a node: its path and operator, and when it ended."""

    path: Path
    operator: str
    ended: int


Run = tuple[int, Path]  # a run of a node: when it began, and in which path


class EngineLog:
    """The nodes that the engine ran, by sequence number: the last two runs of each, and the very last node."""

    def __init__(self) -> None:
        self.begins = array("q")  # when each backward began that Python called
        self.last: tuple[str, int, tuple[int, int, int] | None] | None = None
        self._latest = 0
        self._runs: dict[int, tuple[Run, Run | None]] = {}

    def ran(self, event: Any, sequence: int, maker: tuple[int, int, int] | None, path: Path) -> None:
        """Note that a node ran: the profiler's event, its sequence number, the call that recorded it, and the path."""
        begin = event.start_time_ns
        around = event.parent
        if around is not None and (not self.begins or around.start_time_ns != self.begins[-1]):
            self.begins.append(around.start_time_ns)
        known = self._runs.get(sequence)
        self._runs[sequence] = (begin, path), known[0] if known is not None else None
        if begin >= self._latest:
            self._latest, self.last = begin, (event.name, sequence, maker)

    def forget(self) -> None:
        """Drop the runs if there are more than KEPT."""
        if len(self._runs) > KEPT:
            self._runs.clear()

    def before(self, sequence: int) -> Run | None:
        """Returns the run of a node before its last one, or None."""
        known = self._runs.get(sequence)
        return known[1] if known is not None else None

    def number(self, time: int) -> int:
        """Returns how many of these backwards had begun at a time."""
        return bisect_right(self.begins, time)


def node_data(
    log: EngineLog,
    starts: list[Any],
    made: Callable[[int], NodeMaker | None],
    makers: Callable[[], Iterable[NodeMaker]],
    error: BaseException,
    backwards: int,
    *,
    whole: bool,
) -> FreedNodeData | None:
    """Returns the data of an observation "freed"; None if the freed node is not known.

    `starts`: the nodes where the failing backward began. `made`: gives the call that recorded the node with a number.
    `makers`: gives all known calls that recorded nodes. `backwards`: how many backwards were called. `whole`: as for
    `place_of`.
    """

    def at(maker: NodeMaker) -> PythonPlaceData | None:
        return place_of(maker.path, maker.operator, whole=whole)

    if log.last is None:
        return None
    name, sequence, _ = log.last
    before = log.before(sequence)
    if before is None:
        return None
    nodes = list(api.nodes_of(starts, NODES))
    number = {node: api.sequence_number(node) for node in nodes}
    freed = [node for node in nodes if number[node] == sequence and name.endswith(str(node.name()))]
    maker = made(sequence)
    if len(freed) != 1 or maker is None:
        return None
    begun, path = before
    leading = _leading_to(freed[0], nodes)
    when = {node: call.ended for node in leading if (call := made(number[node])) is not None}
    taken = [
        (node, following)
        for node in leading
        for following, _ in node.next_functions
        if following in leading and when.get(node, 0) > begun > when.get(following, begun)
    ]
    taken.sort(key=lambda edge: when[edge[0]])
    uses = [use for node, _ in taken if (use := made(number[node])) is not None]
    results = {following for _, following in taken}
    kept = [known for node in results if (known := made(number[node])) is not None]
    roots = [node for node in starts if node in leading]
    is_counted = len(log.begins) == backwards
    places = [place for use in uses if (place := at(use)) is not None]
    names, exact = _holders(error, results or set(roots), freed[0], places)
    return {
        "node": str(freed[0].name()),
        "operator": maker.operator,
        "recorded": at(maker),
        "recorded_after": log.number(maker.ended) if is_counted else None,
        "freed": place_of(path, "", whole=False),
        "freed_by": log.number(begun) if is_counted else None,
        "backwards": backwards if is_counted else None,
        "uses": _distinct({"at": at(use), "operator": use.operator} for use in uses)[:USES],
        "kept": _distinct({"at": at(known), "operator": known.operator} for known in kept)[:USES],
        "again": _is_made_again([at(known) for known in (maker, *kept)], makers(), begun, at),
        "older": bool(roots) and all(when.get(node, begun) < begun for node in roots),
        "same_start": bool(roots) and all(log.before(number[node]) is not None for node in roots),
        "names": list(names[:NAMES]),
        "exact": exact,
    }


def _distinct(calls: Iterable[GraphCallData]) -> list[GraphCallData]:
    """Returns each call once; two calls are the same if they have the same place, or without one the same operator."""
    return list({str(call["at"] or call["operator"]): call for call in calls}.values())


def _leading_to(freed: Any, nodes: Sequence[Any]) -> set[Any]:
    """Returns the nodes from which the graph's edges lead to `freed`, and `freed` itself."""
    callers: defaultdict[Any, list[Any]] = defaultdict(list)
    for node in nodes:
        for following, _ in node.next_functions:
            callers[following].append(node)
    known, pending = {freed}, [freed]
    while pending:
        for node in callers[pending.pop()]:
            if node not in known:
                known.add(node)
                pending.append(node)
    return known


def _is_made_again(
    places: Sequence[PythonPlaceData | None],
    makers: Iterable[NodeMaker],
    begun: int,
    at: Callable[[NodeMaker], PythonPlaceData | None],
) -> bool | None:
    """Returns whether one of these lines recorded another node later, as a line does that makes a new state.

    Returns None if no line is known.
    """
    lines = {_line(place) for place in places} - {None}
    if not lines:
        return None
    later = {(maker.path, maker.operator): maker for maker in makers if maker.ended > begun}
    return any(_line(at(maker)) in lines for maker in later.values())


def _line(place: PythonPlaceData | None) -> tuple[str, int] | None:
    """Returns the file and line of a place whose line is known, or None."""
    return (place["file"], place["line"]) if place is not None and place.get("exact", True) else None


# --- the program's variables ---


def _holders(
    error: BaseException, results: set[Any], freed: Any, places: Sequence[PythonPlaceData]
) -> tuple[list[str], bool]:
    """Returns names of the program that hold exactly a result of the freed part, and True.

    If there is none (a name may have been rebound since), returns other names, and False. A line that used the result
    reads these names, and their tensors lead to the freed node.
    """
    exact: dict[str, None] = {}
    read: dict[str, None] = {}
    lines = [parts for place in places for parts in _read_on(place)]
    for name, node in _tensors_named(error):
        if node in results:
            exact.setdefault(name)
        elif any(_is_called(name, parts) for parts in lines) and freed in api.nodes_of([node], NODES):
            read.setdefault(name)
    return (list(exact), True) if exact else (list(read), False)


def _read_on(place: PythonPlaceData) -> Iterator[tuple[str, ...]]:
    """Yields the dotted names that a line reads, as parts; all names on the line if it is not a whole statement."""
    text = linecache.getline(str(place["file"]), int(place["line"])).strip() if place.get("exact", True) else ""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from (tuple(name.split(".")) for name in _NAME.findall(text))
        return
    for node in ast.walk(tree):
        updated = node.target if isinstance(node, ast.AugAssign) else None
        is_read = isinstance(getattr(node, "ctx", None), ast.Load) and isinstance(node, (ast.Name, ast.Attribute))
        for read in (updated, node if is_read else None):
            if read is not None and _NAME.fullmatch(dotted := ast.unparse(read)):
                yield tuple(dotted.split("."))


def _is_called(name: str, parts: tuple[str, ...]) -> bool:
    """Returns whether a holder ("model.h[0]") may be the object that a line names ("self.h"), through another name."""
    own = tuple(_SUBSCRIPT.sub("", name).split("."))
    return own == parts or (len(parts) > 1 and parts[0] == "self" and own[-len(parts) + 1 :] == parts[1:])


def _tensors_named(error: BaseException) -> Iterator[tuple[str, Any]]:
    """Yields the tensors that have a node, with names, from the program's functions in the traceback, innermost first.

    Attributes are read only from an object's own dict: any other way may run the program's code.
    """
    frames = []
    at: TracebackType | None = error.__traceback__
    while at is not None:
        if not at.tb_frame.f_code.co_filename.startswith((api.TORCH_DIR, OURS, "<frozen")):
            frames.append(at.tb_frame)
        at = at.tb_next
    known: set[int] = set()
    pending = [(name, value, 0) for frame in reversed(frames) for name, value in list(frame.f_locals.items())]
    pending += [(name, value, 0) for frame in reversed(frames[-1:]) for name, value in list(frame.f_globals.items())]
    for number, (name, value, depth) in enumerate(pending):
        if number > VALUES:
            return
        if id(value) in known or name.startswith("__"):
            continue
        known.add(id(value))
        if issubclass(type(value), api.TENSOR_BASE):  # `isinstance` may run the object's own `__class__`
            if (node := api.grad_fn(value)) is not None:
                yield name, node
        elif depth < DEEP:
            pending += [(inner, held, depth + 1) for inner, held in _inside(name, value)]


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yields what an object of the program holds, with names."""
    kind = type(value)
    if kind in (list, tuple):
        yield from ((f"{name}[{number}]", held) for number, held in enumerate(value))
    elif kind is dict:
        yield from ((f"{name}[{key!r}]", held) for key, held in value.items() if type(key) in (str, int))
    elif not issubclass(kind, type) and type(held := _dict_of(value)) is dict and kind.__name__ != "module":
        modules = held.get("_modules")
        for inner, kept in held.items():
            if not (inner.startswith("_") and type(modules) is dict):
                yield f"{name}.{inner}", kept
        for table in ("_modules", "_buffers", "_parameters") if type(modules) is dict else ():
            yield from ((f"{name}.{inner}", kept) for inner, kept in (held.get(table) or {}).items())


def _dict_of(value: Any) -> Any:
    try:
        return object.__getattribute__(value, "__dict__")
    except Exception:
        return None
