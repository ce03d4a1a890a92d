"""Which node of the graph an earlier backward had freed, of a program whose backward came to it once more.

The engine says only that a node was freed. The profiler saw which node ran last, which call had recorded it, and in
which backward it had run before. The graph still says which later call took a result of the freed part, and the
program's own names which of them hold that result. Read when the program has given up; nothing of the user's is called.
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
KEPT = 1 << 20  # nodes whose runs are remembered, the last ones
NODES = 50_000  # of a graph that are looked at
USES = 4  # calls told that took a result of the freed part
NAMES = 4  # names told that hold one
VALUES = 20_000  # of the program's that are looked at for these
DEEP = 4  # how many objects one in another
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_SUBSCRIPT = re.compile(r"\[[^]]*\]")


@dataclass(frozen=True)
class NodeMaker:
    """The call that recorded a node: its path and operator, and when it ended."""

    path: Path
    operator: str
    ended: int


Run = tuple[int, Path]  # of a node: when it began, in which path


class EngineLog:
    """Which nodes the engine ran, by sequence number: the last two runs of each, and the very last one of all."""

    def __init__(self) -> None:
        self.begins = array("q")  # when each backward began that is called from Python
        self.last: tuple[str, int, tuple[int, int, int] | None] | None = None
        self._latest = 0
        self._runs: dict[int, tuple[Run, Run | None]] = {}

    def ran(self, event: Any, sequence: int, maker: tuple[int, int, int] | None, path: Path) -> None:
        """Keep that a node ran, from the profiler's event of it; `maker` is the call that recorded it."""
        begin = event.start_time_ns
        around = event.parent
        if around is not None and (not self.begins or around.start_time_ns != self.begins[-1]):
            self.begins.append(around.start_time_ns)
        known = self._runs.get(sequence)
        self._runs[sequence] = (begin, path), known[0] if known is not None else None
        if begin >= self._latest:
            self._latest, self.last = begin, (event.name, sequence, maker)

    def forget(self) -> None:
        """Let go of the runs where they are too many."""
        if len(self._runs) > KEPT:
            self._runs.clear()

    def before(self, sequence: int) -> Run | None:
        """The run of a node before its last one."""
        known = self._runs.get(sequence)
        return known[1] if known is not None else None

    def number(self, time: int) -> int:
        """How many of these backwards had begun at a time."""
        return bisect_right(self.begins, time)


def told(
    log: EngineLog,
    starts: list[Any],
    made: Callable[[int], NodeMaker | None],
    makers: Callable[[], Iterable[NodeMaker]],
    error: BaseException,
    backwards: int,
    *,
    whole: bool,
) -> FreedNodeData | None:
    """The data of an observation "freed"; None where the node that was freed is not known.

    `starts` are the nodes that the failing backward began at, `made` gives the call that recorded the node of a number,
    `makers` those calls that are known, `backwards` how many backwards were called. `whole`: as `place_of` takes it.
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
    """Each once, by its place where it has one."""
    return list({str(call["at"] or call["operator"]): call for call in calls}.values())


def _leading_to(freed: Any, nodes: Sequence[Any]) -> set[Any]:
    """The nodes from which the edges of the graph lead to one, itself among them."""
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
    """Whether one of these lines has recorded others since, as one that makes a state does; None where no line is
    known.
    """
    lines = {_line(place) for place in places} - {None}
    if not lines:
        return None
    later = {(maker.path, maker.operator): maker for maker in makers if maker.ended > begun}
    return any(_line(at(maker)) in lines for maker in later.values())


def _line(place: PythonPlaceData | None) -> tuple[str, int] | None:
    """The file and line of a place whose line is known."""
    return (place["file"], place["line"]) if place is not None and place.get("exact", True) else None


# --- the program's own names ---


def _holders(
    error: BaseException, results: set[Any], freed: Any, places: Sequence[PythonPlaceData]
) -> tuple[list[str], bool]:
    """The program's names that hold a result of the freed part, and whether they hold just that.

    A name may have been given anew since it was used: then those whose tensors lead to the freed node, and that a line
    which used such a result reads.
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
    """The dotted names that a line reads, each as its parts; all names on it where it is no statement by itself."""
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
    """Whether a holder ("model.h[0]") may be what a line calls so ("self.h"): the object itself has another name."""
    own = tuple(_SUBSCRIPT.sub("", name).split("."))
    return own == parts or (len(parts) > 1 and parts[0] == "self" and own[-len(parts) + 1 :] == parts[1:])


def _tensors_named(error: BaseException) -> Iterator[tuple[str, Any]]:
    """The program's tensors that have a node, each with its name: in functions that the error left, innermost first.

    No attribute is asked for but by an object's own dict: that may run the program's code.
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
        if issubclass(type(value), api.TENSOR_BASE):  # `isinstance` asks an object for its class
            if (node := api.grad_fn(value)) is not None:
                yield name, node
        elif depth < DEEP:
            pending += [(inner, held, depth + 1) for inner, held in _inside(name, value)]


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """What an object of the program's holds, with the name of each."""
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
