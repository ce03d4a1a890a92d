"""Find one chain of references from a root to an object: `trainer.history[3]`, `hook.__closure__[0].cell_contents`.

A root is a variable of a module or of a running function. References between Python objects come from the garbage
collector; `grad_fn` and `next_functions` are read as attributes. Nothing of the user runs.
"""

from __future__ import annotations

import functools
import gc
import re
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from types import (
    AsyncGeneratorType,
    BuiltinMethodType,
    CellType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Any, Final

from . import torch_api as api
from .values import names_of, type_name
from .whose import OURS, is_library

DEPTH: Final = 20  # references from an object to its root.
FEW: Final = 64  # objects whose referrers C looks for.
MOST_HOLDERS: Final = 2_000  # objects of one level whose holders are looked for.
LONGEST: Final = 300  # characters of a chain.
MOST_NODES: Final = 100_000  # nodes whose edges are read.
KEY: Final = 60  # characters of a key
_DICT: Final = "\0dict"  # an object's own `__dict__`: its keys are attributes
_CELL: Final = "\0cell"
_OF_THREAD: Final = "\0thread"
_SEVERAL: Final = 4  # equal steps in a row that are written as one.
_PLAIN_KEYS: Final = (str, int, float, bool, type(None))
# The attributes by which objects of these classes hold others.
_HELD_BY: Final[tuple[tuple[type, tuple[str, ...]], ...]] = (
    (FunctionType, ("__defaults__", "__kwdefaults__", "__closure__", "__dict__", "__annotations__", "__wrapped__")),
    (MethodType, ("__self__", "__func__")),
    (BaseException, ("args", "__traceback__", "__cause__", "__context__")),
    (TracebackType, ("tb_frame", "tb_next")),
    (functools.partial, ("args", "keywords", "func")),
    (BuiltinMethodType, ("__self__",)),
)
_FRAMES: Final[tuple[tuple[type, str], ...]] = (
    (GeneratorType, "gi_frame"), (CoroutineType, "cr_frame"), (AsyncGeneratorType, "ag_frame"),
)  # fmt: skip
_INSIDE: Final = " → inside it"
_IN_SET: Final = " → in it"
_AS_KEY: Final = " → a key of it"
_SHORTER = re.compile(r"\._(?:modules|parameters|buffers)\['([A-Za-z_]\w*)'\]")
_STEPS = re.compile(rf"(\.next_functions\[\d+\]\[0\]){{{_SEVERAL},}}")


@dataclass(frozen=True)
class Chain:
    """References from a root to an object. `objects` begins with the object that the root names."""

    root: str  # the name of the root; for an object without a root its class
    objects: tuple[Any, ...]
    texts: tuple[str, ...]  # the references between the objects, in order.
    has_root: bool = True  # whether it begins at a root
    is_cycle: bool = False  # whether it has no root, but the first object is held by the last one through `grad_fn`

    def text(self) -> str:
        """Return the chain as Python code if it can be written so, otherwise with words."""
        text = _SHORTER.sub(r".\1", f"{self.root}{''.join(self.parts())}".removeprefix("."))
        text = _STEPS.sub(lambda m: f" → {m[0].count('.next_functions')} nodes", text)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"

    def parts(self) -> list[str]:
        """Return for each object except the first how the one before it leads to it; "" inside of one step."""
        return _parts(self.objects, self.texts)


class Chains:
    """The chains to some objects. Each level of the search looks at all objects that the collector knows."""

    def __init__(self, targets: list[Any], variables: Mapping[int, str], ignored: list[Any]) -> None:
        """`variables` are the roots that the collector does not see, by address: local variables that are in use."""
        self._variables = variables
        self._running = {id(frame) for frame in _running_frames()}
        self._ignored = {id(item) for item in (*ignored, targets, self.__dict__, sys._getframe())}
        self._ignored |= {id(names) for _, names in _your_running_names()}
        # The search would meet its own tables: so they have addresses, and only `_objects` refers to objects.
        self._holders: dict[int, list[tuple[int, str]]] = {}  # by object: the objects that refer to it, and how
        self._roots: dict[int, str] = {}
        self._objects: dict[int, Any] = {}  # the holders, by address
        self._items: dict[int, set[int]] = {}  # by holder: the objects that it refers to
        self._covered: set[int] = set()  # objects that have a root
        tables = (self._holders, self._roots, self._objects, self._items, self._covered, self._variables)
        self._ignored |= set(map(id, tables))
        self._search(targets)

    def of(self, target: Any) -> Chain | None:
        """Return the shortest chain to an object: from a root, or from an object without a root; None if alone."""
        referred: dict[int, tuple[int, str]] = {}  # by holder: the object that it refers to, and how
        pending, met, ends = deque([id(target)]), {id(target)}, list[int]()
        while pending:
            number = pending.popleft()
            if number in self._roots or number in self._variables:
                root = self._roots[number] if number in self._roots else self._variables[number]
                return self._chain(root, number, target, referred)
            holders = self._holders.get(number, ())
            if number in referred and all(holder in met for holder, _ in holders):
                ends.append(number)
            for holder, text in holders:
                if holder not in met:
                    met.add(holder)
                    referred[holder] = number, text
                    pending.append(holder)
        chains = [self._chain(None, number, target, referred) for number in ends]
        return next((chain for chain in chains if chain.is_cycle), chains[0] if chains else None)

    def _chain(self, root: str | None, first: int, target: Any, referred: Mapping[int, tuple[int, str]]) -> Chain:
        numbers, texts = [first], []
        while numbers[-1] != id(target):
            number, text = referred[numbers[-1]]
            numbers.append(number)
            texts.append(text)
        objects = tuple(target if number == id(target) else self._objects[number] for number in numbers)
        if root is not None:
            return Chain(root, objects, tuple(texts))
        is_cycle = any(holder in numbers for holder, _ in self._holders.get(first, ()))
        return Chain(type_name(objects[0]), objects, tuple(texts), has_root=False, is_cycle=is_cycle)

    def _search(self, targets: list[Any]) -> None:
        current = list({id(item): item for item in targets}.values())
        self._cover([item for item in current if id(item) in self._variables])
        for _ in range(DEPTH):
            wanted = {id(item) for item in current} - set(self._holders)
            if not wanted:
                return
            for number in wanted:
                self._holders[number] = []
            following: dict[int, Any] = {}
            self._ignored.add(id(following))
            for holder, item, text in self._referring(current, wanted):
                self._holders[item].append((id(holder), text))
                self._objects[id(holder)] = holder
                self._items.setdefault(id(holder), set()).add(item)
                following[id(holder)] = holder
                root = self._root(holder)
                if root is not None:
                    self._roots[id(holder)] = root
            roots = [h for h in following.values() if id(h) in self._roots or id(h) in self._variables]
            self._cover(roots)
            # The holders of an object that has a root already are not asked for theirs.
            needed = (holder for number, holder in following.items() if not self._items[number] <= self._covered)
            current = [holder for holder in needed if id(holder) not in self._covered][:MOST_HOLDERS]
            self._ignored |= {id(current), id(roots)}

    def _cover(self, holders: list[Any]) -> None:
        """Note the objects below some roots."""
        pending = list(map(id, holders))
        while pending:
            number = pending.pop()
            if number not in self._covered:
                self._covered.add(number)
                pending += self._items.get(number, ())

    def _referring(self, items: list[Any], wanted: set[int]) -> Iterator[tuple[Any, int, str]]:
        for holder in _referrers(items):
            # The variables of running functions are roots already. Their frames would keep this search alive, too.
            if id(holder) in self._ignored or id(holder) in self._running or holder is items or _is_ours(holder):
                continue
            for item, text in _references(holder, wanted):
                yield holder, item, text
        for item in items:
            is_tensor = issubclass(type(item), api.TENSOR_BASE)
            if id(item) in wanted and (is_tensor or api.is_node(item)):
                for holder, text in (self._gradients if is_tensor else self._edges).get(id(item), []):
                    yield self._objects[holder], id(item), text

    def _root(self, holder: Any) -> str | None:
        if isinstance(holder, dict) and _is_of_module(holder):
            return "" if holder["__name__"] == "__main__" else str(holder["__name__"])
        if isinstance(holder, ModuleType):
            return holder.__name__
        return None

    # --- references in C++ ---

    @cached_property
    def _gradients(self) -> Mapping[int, list[tuple[int, str]]]:
        """By address of a tensor: the tensors whose `.grad` it is. C++ holds that."""
        held: dict[int, list[tuple[int, str]]] = {}
        for item in gc.get_objects():
            if issubclass(type(item), api.TENSOR_BASE) and (gradient := api.gradient(item)) is not None:
                self._objects |= {id(item): item, id(gradient): gradient}
                held.setdefault(id(gradient), []).append((id(item), ".grad"))
        return held

    @cached_property
    def _edges(self) -> Mapping[int, list[tuple[int, str]]]:
        """By address of a node: the tensors whose `grad_fn` it is, and the nodes that lead to it."""
        edges: dict[int, list[tuple[int, str]]] = {}
        starts = []
        for item in gc.get_objects():
            if issubclass(type(item), api.TENSOR_BASE) and (node := api.made_by(item)) is not None:
                self._objects[id(item)] = item
                edges.setdefault(id(node), []).append((id(item), ".grad_fn"))
                starts.append(node)
            elif api.is_node(item):
                starts.append(item)
        for node in list(api.nodes_of(starts, MOST_NODES)):
            self._objects[id(node)] = node
            for number, (following, _) in enumerate(node.next_functions):
                if following is not None:
                    self._objects[id(following)] = following
                    edges.setdefault(id(following), []).append((id(node), f".next_functions[{number}][0]"))
        return edges


def running_variables(*, tensors_only: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield the values of local variables of your running functions, in every thread: `step: x`.

    Globals are left out.
    """
    for function, names in _your_running_names():
        for name, value in names.items():
            if not tensors_only or issubclass(type(value), api.TENSOR_BASE):
                yield f"{function}: {name}", value


def _your_running_names() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the functions of yours that run, with their variables.

    Before Python 3.13 a frame keeps the dict of its variables, once it was asked for. So no other frame is asked.
    """
    for frame in _running_frames():
        code = frame.f_code
        if code.co_name != "<module>" and not code.co_filename.startswith(OURS) and not is_library(code.co_filename):
            yield code.co_name, names_of(frame)


def _running_frames() -> Iterator[FrameType]:
    mine = threading.get_ident()
    others = [frame for thread, frame in sys._current_frames().items() if thread != mine]
    for first in (sys._getframe(), *others):
        frame: FrameType | None = first
        while frame is not None:
            yield frame
            frame = frame.f_back


def _referrers(targets: list[Any]) -> Iterable[Any]:
    """Return the objects that refer to some objects. `gc.get_referrers` compares each reference with each target."""
    if len(targets) <= FEW:
        return gc.get_referrers(*targets)
    wanted = set(map(id, targets))
    return [holder for holder in gc.get_objects() if not wanted.isdisjoint(map(id, gc.get_referents(holder)))]


def _is_ours(holder: Any) -> bool:
    if isinstance(holder, FrameType):
        return holder.f_code.co_filename.startswith(OURS)
    if isinstance(holder, FunctionType):
        return holder.__code__.co_filename.startswith(OURS)
    return isinstance(holder, dict) and _is_of_module(holder) and str(holder.get("__file__")).startswith(OURS)


def _references(holder: Any, wanted: set[int]) -> Iterator[tuple[int, str]]:
    """Yield the wanted objects that a holder refers to, each once, with the text for the reference."""
    done = set()
    for item, text in _named_references(holder):
        if id(item) in wanted and id(item) not in done:
            done.add(id(item))
            yield id(item), text
    for item in gc.get_referents(holder):
        if id(item) in wanted and id(item) not in done and item is not type(holder):
            done.add(id(item))
            yield id(item), _INSIDE


def _named_references(holder: Any) -> Iterator[tuple[Any, str]]:
    if isinstance(holder, dict):
        of_module = _is_of_module(holder)
        for key, item in list(holder.items()):
            yield item, f".{key}" if of_module else f"[{_key(key)}]"
        yield from ((key, _AS_KEY) for key in list(holder))
    elif isinstance(holder, (list, tuple, deque)):
        yield from ((item, f"[{number}]") for number, item in enumerate(holder))
    elif isinstance(holder, (set, frozenset)):
        yield from ((item, _IN_SET) for item in holder)
    elif isinstance(holder, CellType):
        with suppress(ValueError):
            yield holder.cell_contents, _CELL
    elif isinstance(holder, FrameType):
        yield from _locals_of(holder, "")
    for kind, attribute in _FRAMES:
        if isinstance(holder, kind) and (frame := getattr(holder, attribute)) is not None:
            yield frame, f".{attribute}"
            yield from _locals_of(frame, f".{attribute}")
    for kind, attributes in _HELD_BY:
        for name in attributes if isinstance(holder, kind) else ():
            yield getattr(holder, name, None), f".{name}"
    yield from _attributes(holder)


def _attributes(holder: Any) -> Iterator[tuple[Any, str]]:
    if isinstance(holder, type):
        for item in gc.get_referents(holder):
            if type(item) is dict and "__module__" in item:
                yield item, _DICT
        return
    if issubclass(type(holder), api.TENSOR_BASE):
        with suppress(Exception):
            for hooks, name in zip(api.hooks_of(holder), api.HOOKS, strict=True):
                yield hooks, f".{name}"
            yield api.gradient(holder), ".grad"
            yield api.made_by(holder), ".grad_fn"
    with suppress(Exception):
        own = object.__getattribute__(holder, "__dict__")
        yield from ((item, f".{name}") for name, item in own.items())
        yield own, _DICT
    for base in api.bases_of(type(holder)):
        slots = api.defined_by(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            with suppress(Exception):
                yield api.defined_by(base)[name].__get__(holder), f".{name}"


def _locals_of(frame: FrameType, prefix: str) -> Iterator[tuple[Any, str]]:
    """Yield the variables of a frame that does not run, and the cells that hold them."""
    names = dict(frame.f_locals)
    for name, item in names.items():
        yield item, f"{prefix}.f_locals[{name!r}]"
    for item in gc.get_referents(frame):
        if isinstance(item, CellType):
            with suppress(ValueError):
                for name, value in names.items():
                    if value is item.cell_contents:
                        yield item, f"{prefix}.f_locals[{name!r}]"


def _key(key: Any) -> str:
    """Return a key as Python code if that runs nothing of the user; otherwise its class."""
    if type(key) in _PLAIN_KEYS or (type(key) is tuple and all(type(item) in _PLAIN_KEYS for item in key)):
        text = repr(key)
        return text if len(text) <= KEY else f"{text[:KEY]}…"
    return f"<{type_name(key)}>"


def _is_of_module(names: dict[Any, Any]) -> bool:
    """Whether a dict has the global variables of some code."""
    name = names.get("__name__")
    return type(name) is str and ("__builtins__" in names or getattr(sys.modules.get(name), "__dict__", None) is names)


def _parts(objects: tuple[Any, ...], texts: tuple[str, ...]) -> list[str]:
    parts: list[str] = []
    before = ""
    for holder, item, text in zip(objects, objects[1:], texts, strict=False):
        is_of_thread = isinstance(holder, threading.local) and isinstance(item, dict)  # a dict by thread
        now: str = _OF_THREAD if is_of_thread else _DICT if before == _OF_THREAD else text
        if now in (_DICT, _OF_THREAD):
            parts.append("")
        elif now == _CELL:
            parts.append("" if "f_locals" in before else ".cell_contents")  # a frame gives the value itself
        elif before == _DICT and now.startswith("['") and now[2:-2].isidentifier():
            parts.append(f".{now[2:-2]}")
        else:
            parts.append(now)
        before = now
    return parts
