"""Restore the objects that --setup made after an evaluation changed them, so that the next one finds the same state.

--setup runs once in a process, because its effects on the process would pile up: a mode entered, a hook registered, an
operator defined. The expression is evaluated again and again. So all objects that the names of --setup lead to are read
before the first evaluation. After each evaluation, changes are undone in place: the objects stay the same objects.

A change that cannot be undone is reported: for example a generator has gone on, or another node has made a tensor.
"""

from __future__ import annotations

import collections
import ctypes
import functools
import gc
import io
import operator
import random
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import torch

from . import torch_api as api
from .reasons import Said, reason
from .values import attributes

MOST_OBJECTS = 200_000  # maximum number of objects that are read
MOST_BYTES = 1 << 29  # maximum number of bytes of tensors and arrays that are kept
OURS = "__ptexplore__"
# Objects whose attributes stay as an evaluation leaves them, by the module of their class; and why.
LEFT = {
    "torch._": "torch's own machinery: its caches fill once in a process, and it knows of them in C++ too",
    "torch.jit": "TorchScript's: what Python holds stands for objects of C++",
    "threading": "a thread's or a lock's: they say what the system does",
    "_thread": "a lock",
    "multiprocessing": "another process's",
    "concurrent": "a thread's, or another process's",
    "asyncio": "an event loop's",
    "logging": "the whole process's",
    "weakref": "they go as what they refer to does",
    "importlib": "the whole process's",
}
ITERATOR_TYPES = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), torch.dtype, torch.device, torch.Size)
UNKNOWN = "(it cannot be read)"


# Attributes that torch sets on the user's functions and tensors. They stay as an evaluation leaves them.
CACHES = {
    **dict.fromkeys(
        ("_sizes_capsule", "_strides_capsule", "_sym_sizes_capsule", "_sym_strides_capsule"),
        "torch/csrc/PyInterpreter.cpp keeps there what a tensor's class says of its sizes or strides",
    ),
    "__dynamo_disable": "torch/_compile.py keeps there what Dynamo makes of a function of yours, once",
    "_torchdynamo_": "Dynamo's marks on a function that it was given",
}


# Global names that Dynamo adds beside a function that it compiles. The compiled code and its guards look them up there.
# They are known by prefix, or in `_BY_ID` by suffix (install_global_by_id of torch/_dynamo/output_graph.py).
DYNAMOS = {
    "__builtins_dict__": "the builtins that the function sees (output_graph.py)",
    "__compiled_fn": "what a graph was compiled to (output_graph.py)",
    "__resume_at_": "what follows a graph break (symbolic_convert.py)",
    "__import_": "a module that the function uses (symbolic_convert.py)",
    "__gen_rand_values": "Python's random numbers (output_graph.py)",
    "__warnings_warn_wrapper": "what warns in its place (symbolic_convert.py)",
    "__comprehension_": "a comprehension with a graph break (comprehension_graph_break.py)",
    "___context_manager_": "a context that is entered again behind a graph break (resume_execution.py)",
    "__subclass_": "a subclass of torch.Tensor's (variables/torch_function.py)",
}
_BY_ID = re.compile(r"_[0-9]+_c[0-9]+")


def is_dynamos(name: object) -> bool:
    """Returns whether Dynamo made a global name for code that it compiled: the name must stay as long as that code."""
    return type(name) is str and (name.startswith(tuple(DYNAMOS)) or _BY_ID.search(name) is not None)


class Lost(Exception):
    """A change cannot be undone; `why` is the reason."""

    def __init__(self, why: Said) -> None:
        super().__init__(why["code"])
        self.why = why


class Keeper(Protocol):
    """One part of an object that an evaluation may change."""

    def put_back(self) -> bool:
        """Undo the change. Returns whether there was one. Raises Lost if it cannot be undone."""


class Kept:
    """The present state of all objects that some names lead to."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._parts: list[tuple[str, Keeper]] = []
        self._memories: dict[int, int] = {}  # how many bytes are kept of the memory at an address
        self._bytes = 0
        self.changed: dict[str, None] = {}  # the names of all that was put back so far
        # By address; kept alive as long as this object. `RandomNumbers` puts back the generators that everyone shares.
        of_all = (*api.random_generators(), random.getstate.__self__)  # type: ignore[attr-defined]
        self._seen: dict[int, Any] = {id(shared): shared for shared in of_all}
        self._pending = [(name, value) for name, value in reversed(list(values.items()))]
        with api.without_overrides():
            while self._pending and len(self._seen) < MOST_OBJECTS:
                name, value = self._pending.pop()
                if type(value) not in PLAIN and id(value) not in self._seen:
                    self._seen[id(value)] = value
                    self._look(name, value)

    def put_back(self) -> list[Said]:
        """Undo the changes made since. Returns the reasons for those that cannot be undone."""
        lost: list[Said] = []
        with api.without_overrides():
            for name, part in self._parts:
                try:
                    if part.put_back():
                        self.changed[name] = None
                except Lost as error:
                    is_its_own = error.why.get("slot") == name
                    why = error.why if is_its_own else reason("of-name", name=name, because=error.why)
                    if why not in lost:
                        lost.append(why)
        return lost

    def _look(self, name: str, value: Any) -> None:
        """Keep the state of one object, and put the objects that it leads to on the list."""
        kind = type(value)
        if kind is types.FunctionType and str(value.__module__).startswith(tuple(LEFT)):
            return
        if issubclass(kind, api.TENSOR_BASE):
            inner: Iterable[Any] = self._tensor(name, value)
        elif issubclass(kind, (dict, list, set, collections.deque, bytearray)):
            inner = self._keep(name, _Container(value))
        elif kind is types.FunctionType:
            inner = self._function(name, value)
        elif (part := _part_of(value)) is not None:
            inner = self._keep(name, part)
        else:
            inner = _led_to(value)
        self._pending += ((name, item) for item in inner)
        if not _is_left(value):
            self._attributes(name, value)

    def _keep(self, name: str, part: Any) -> Iterable[Any]:
        self._parts.append((name, part))
        return part.inner()  # type: ignore[no-any-return]

    def _function(self, name: str, function: types.FunctionType) -> Iterator[Any]:
        for cell in function.__closure__ or ():
            yield from self._keep(name, _Cell(cell))
        yield from function.__defaults__ or ()
        yield from (function.__kwdefaults__ or {}).values()

    def _attributes(self, name: str, value: Any) -> None:
        held = attributes(value)
        if type(value).__dictoffset__ and not issubclass(type(value), (type, types.ModuleType)):
            self._pending += ((name, item) for item in self._keep(name, _Container(held, of_attributes=True)))
        slots = list(_slots(type(value)))
        if slots:
            self._pending += ((name, item) for item in self._keep(name, _Slots(value, slots)))

    def _tensor(self, name: str, tensor: Any) -> Iterable[Any]:
        address, size = api.plain_memory(tensor) or (0, -1)
        if address and size > self._memories.get(address, 0) and self._bytes + size <= MOST_BYTES:
            self._memories[address] = size
            self._bytes += size
            self._parts.append((name, _Memory(address, size, tensor)))
        has_bytes = 0 <= size <= self._memories.get(address, 0)
        return self._keep(name, _Tensor(tensor, has_bytes=has_bytes))


def _part_of(value: Any) -> Any:
    """Returns a keeper for an object of another kind; None if it has nothing to keep but its attributes."""
    kind = type(value)
    if issubclass(kind, type):
        return _Class(value) if value.__module__ == OURS else None
    if kind is functools._lru_cache_wrapper:
        return _Cache(value)
    return _state(value) or (_Iterator(value) if hasattr(kind, "__next__") else None)


def _led_to(value: Any) -> Iterable[Any]:
    """Returns the objects that an unchangeable object leads to."""
    kind = type(value)
    if issubclass(kind, tuple):
        return tuple.__iter__(value)
    if kind is frozenset:
        return value  # type: ignore[no-any-return]
    if issubclass(kind, torch.jit.ScriptModule):  # its tables are in C++
        return [*value.parameters(), *value.buffers()]
    if kind is types.MethodType:
        return value.__self__, value.__func__
    if kind is functools.partial:
        return value.func, value.args, value.keywords
    return (value.__func__,) if kind in (staticmethod, classmethod) else ()


def _is_left(value: Any) -> bool:
    """Returns whether an object's attributes are not restored. Attributes of an nn.Module always are restored."""
    kind = type(value)
    if issubclass(kind, (torch.nn.Module, api.TENSOR_BASE)):
        return False
    return str(getattr(kind, "__module__", "")).startswith(tuple(LEFT))


def _slots(kind: type) -> Iterator[Any]:
    """Yields the descriptors of `__slots__` of classes written in Python."""
    for base in kind.__mro__:
        if "__slots__" in vars(base):
            yield from (d for d in vars(base).values() if type(d) is types.MemberDescriptorType)


# --- the keepers ---


class _Container:
    """The content of a dict, list, set, deque or bytearray, in order. A subclass's own methods are not called."""

    def __init__(self, value: Any, *, of_attributes: bool = False) -> None:
        self._of_attributes = of_attributes
        bases = (collections.OrderedDict, dict, list, set, collections.deque, bytearray)
        self._base: Any = next(base for base in bases if issubclass(type(value), base))
        self._value, self._is_table = value, issubclass(type(value), dict)
        self._held = self._read()

    def _read(self) -> list[Any]:
        if not self._is_table:
            return list(self._base.__iter__(self._value))
        return [part for item in self._base.items(self._value) if not self._is_cache(item[0]) for part in item]

    def _is_cache(self, key: Any) -> bool:
        return self._of_attributes and type(key) is str and (key.startswith(tuple(CACHES)) or is_dynamos(key))

    def inner(self) -> Iterable[Any]:
        return () if self._base is bytearray else self._held

    def put_back(self) -> bool:
        now = self._read()
        if len(now) == len(self._held) and all(map(operator.is_, now, self._held)):
            return False
        if self._is_table:
            self._fill(now)
        else:
            self._base.clear(self._value)
            (self._base.update if self._base is set else self._base.extend)(self._value, self._held)
        return True

    def _fill(self, now: list[Any]) -> None:
        keys, values = self._held[::2], self._held[1::2]
        left: dict[Any, Any] = {}
        if len(now) != len(self._held) or not all(map(operator.is_, now[::2], keys)):
            left = {key: value for key, value in self._base.items(self._value) if self._is_cache(key)}
            self._base.clear(self._value)
        for key, value in (*zip(keys, values, strict=True), *left.items()):
            self._base.__setitem__(self._value, key, value)


class _Slots:
    """The values in an object's slots."""

    def __init__(self, value: Any, slots: list[Any]) -> None:
        self._value, self._slots = value, slots
        self._held = self._read()

    def _read(self) -> list[Any]:
        return [_slot(descriptor, self._value) for descriptor in self._slots]

    def inner(self) -> Iterable[Any]:
        return self._held

    def put_back(self) -> bool:
        has_changed = False
        for descriptor, before, now in zip(self._slots, self._held, self._read(), strict=True):
            if now is not before:
                has_changed = True
                try:
                    if before is UNKNOWN:
                        descriptor.__delete__(self._value)
                    else:
                        descriptor.__set__(self._value, before)
                except (AttributeError, TypeError):
                    slot, owner = descriptor.__name__, type(self._value).__name__
                    raise Lost(reason("slot-changed", slot=slot, owner=owner)) from None
        return has_changed


def _slot(descriptor: Any, value: Any) -> Any:
    try:
        return descriptor.__get__(value)
    except (AttributeError, ValueError):
        return UNKNOWN


class _Cell:
    """A variable that a function of --setup shares with the function around it."""

    def __init__(self, cell: types.CellType) -> None:
        self._cell = cell
        self._held = self._read()

    def _read(self) -> Any:
        try:
            return self._cell.cell_contents
        except ValueError:  # the cell is still empty
            return UNKNOWN

    def inner(self) -> Iterable[Any]:
        return (self._held,)

    def put_back(self) -> bool:
        if self._read() is self._held:
            return False
        if self._held is UNKNOWN:
            del self._cell.cell_contents
        else:
            self._cell.cell_contents = self._held
        return True


class _Class:
    """The attributes of a class that --setup defined."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self._held = self._read()

    def _read(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self._kind).items() if not name.startswith("__")}

    def inner(self) -> Iterable[Any]:
        return [*self._held.values(), *(f for f in vars(self._kind).values() if type(f) is types.FunctionType)]

    def put_back(self) -> bool:
        now, has_changed = self._read(), False
        for name in [*now, *self._held]:
            if name not in self._held:
                type.__delattr__(self._kind, name)
            elif now.get(name, UNKNOWN) is not self._held[name]:
                type.__setattr__(self._kind, name, self._held[name])
            else:
                continue
            has_changed = True
        return has_changed


class _Cache:
    """The results that functools caches for a function. The cache is cleared again if it was empty."""

    def __init__(self, function: Any) -> None:
        self._function, self._held = function, function.cache_info()

    def inner(self) -> Iterable[Any]:
        return (self._function.__wrapped__,)

    def put_back(self) -> bool:
        now = self._function.cache_info()
        if now == self._held:
            return False
        if not self._held.currsize:
            self._function.cache_clear()
            return True
        if now.misses != self._held.misses:
            raise Lost(reason("cache-changed"))
        return False  # the cache answered from what it held


class _State:
    """A state that an object can give and take back: of a random number generator, or the position of a file."""

    def __init__(self, value: Any, read: Callable[[], Any], write: Callable[[Any], Any]) -> None:
        self._value, self._read, self._write = value, read, write
        self._held = read()

    def inner(self) -> Iterable[Any]:
        return ()

    def put_back(self) -> bool:
        try:
            if self._read() == self._held:
                return False
            self._write(self._held)
        except (ValueError, OSError) as error:
            raise Lost(reason("state-unread", error=str(error))) from error
        return True


def _state(value: Any) -> _State | None:
    """Returns the state of an object of C, or None if it has none or the state cannot be read."""
    numpy: Any = sys.modules.get("numpy")
    try:
        if issubclass(type(value), torch.Generator):
            return _State(value, *api.generator_state(value))
        if issubclass(type(value), random.Random):
            return _State(value, value.getstate, value.setstate)
        if issubclass(type(value), (io.BytesIO, io.StringIO)):
            return _State(value, lambda: (value.getvalue(), value.tell()), lambda held: _written(value, *held))
        if issubclass(type(value), io.IOBase):
            return _State(value, value.tell, value.seek) if value.readable() and value.seekable() else None
        if numpy is not None and issubclass(type(value), numpy.ndarray) and not value.dtype.hasobject:
            held = value.tobytes()
            return _State(value, value.tobytes, lambda _: _filled(value, held)) if len(held) < MOST_BYTES else None
        if numpy is not None and issubclass(type(value), numpy.random.Generator):
            bits = value.bit_generator
            return _State(value, lambda: repr(bits.state), _setter(bits, bits.state))
    except Exception:  # for example a closed file, or a class of the user
        return None
    return None


def _written(file: Any, text: Any, position: int) -> None:
    file.seek(0)
    file.truncate()
    file.write(text)
    file.seek(position)


def _filled(array: Any, held: bytes) -> None:
    array[...] = sys.modules["numpy"].frombuffer(held, array.dtype).reshape(array.shape)


def _setter(bits: Any, state: Any) -> Callable[[Any], None]:
    def write(_: Any) -> None:
        bits.state = state

    return write


class _Iterator:
    """The position of an iterator, which cannot go back."""

    def __init__(self, value: Any) -> None:
        self._value, self._held = value, _progress(value)

    def inner(self) -> Iterable[Any]:
        if issubclass(type(self._value), ITERATOR_TYPES) or attributes(self._value):
            return ()
        return gc.get_referents(self._value)

    def put_back(self) -> bool:
        if _progress(self._value) != self._held:
            raise Lost(reason("gone-on", type=type(self._value).__name__))
        return False


def _progress(value: Any) -> Any:
    if issubclass(type(value), ITERATOR_TYPES):
        frame = next(getattr(value, f"{kind}_frame") for kind in ("gi", "cr", "ag") if hasattr(value, f"{kind}_frame"))
        return None if frame is None else frame.f_lasti
    if attributes(value):  # a class of the user: its attributes have the position
        return None
    if type(value).__module__ == "itertools":
        return repr(value) if type(value).__name__ in ("count", "repeat") else None
    length = getattr(type(value), "__length_hint__", None)
    return length(value) if length is not None else None


class _Memory:
    """The bytes of a storage on the CPU, which several tensors may share."""

    def __init__(self, address: int, size: int, tensor: Any) -> None:
        self._tensor, self._address, self._size = tensor, address, size
        self._held = ctypes.string_at(address, size)

    def put_back(self) -> bool:
        if api.plain_memory(self._tensor) != (self._address, self._size):
            return False  # the keeper of the tensor reports that
        if ctypes.string_at(self._address, self._size) == self._held:
            return False
        ctypes.memmove(self._address, self._held, self._size)
        return True


class _Tensor:
    """The state of a tensor without its bytes: where they are, sizes, gradient, and the node that made the tensor."""

    def __init__(self, tensor: Any, *, has_bytes: bool) -> None:
        self._tensor, self._has_bytes = tensor, has_bytes
        self._place = api.placement(tensor)
        self._version, self._node = api.version(tensor), api.node_of(tensor)
        self._grad, self._needs_grad = api.gradient(tensor), bool(tensor.requires_grad)
        self._hooks = [(held, dict(held or {})) for held in api.hooks_of(tensor)]

    def inner(self) -> Iterable[Any]:
        return (self._grad,) if self._grad is not None else ()

    def put_back(self) -> bool:
        tensor, has_changed = self._tensor, False
        if api.placement(tensor) != self._place:
            raise Lost(reason("other-memory"))
        if api.node_of(tensor) is not self._node:
            raise Lost(reason("made-by-another"))
        if api.version(tensor) != self._version:
            if not self._has_bytes:
                raise Lost(reason("written-to"))
            api.set_version(tensor, self._version)
            has_changed = True
        if self._node is None and bool(tensor.requires_grad) is not self._needs_grad:
            tensor.requires_grad_(self._needs_grad)
            has_changed = True
        if api.gradient(tensor) is not self._grad:
            api.set_gradient(tensor, self._grad)
            has_changed = True
        return self._put_hooks_back() or has_changed

    def _put_hooks_back(self) -> bool:
        """Restore the hooks. A node may hold the present dictionary of hooks, so its content is restored, too."""
        has_changed = False
        for kind, (now, (before, inside)) in enumerate(zip(api.hooks_of(self._tensor), self._hooks, strict=True)):
            if now is not None and dict(now) != inside:
                now.clear()
                now.update(inside)
                has_changed = True
            if now is not before:
                api.set_hooks(self._tensor, kind, before)
        return has_changed
