"""Values that are computed once: properties (with or without a lock) and methods.

Also a way to switch the garbage collector off while a block makes many records that stay.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

_T = TypeVar("_T")
_P = ParamSpec("_P")
_Self = TypeVar("_Self")


class lazy(Generic[_T]):  # noqa: N801  (used as `property` is)
    """Like functools.cached_property, which takes a lock for every value before Python 3.12.

    This property has no lock: two threads never share an object of the extractors.
    """

    def __init__(self, worked_out: Callable[[Any], _T]) -> None:
        self._worked_out = worked_out
        self._name = worked_out.__name__
        self.__doc__ = worked_out.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[_T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> _T: ...

    def __get__(self, instance: object | None, owner: type) -> lazy[_T] | _T:
        if instance is None:
            return self
        return self._value(instance)

    def _value(self, instance: object) -> _T:
        value = instance.__dict__[self._name] = self._worked_out(instance)
        return value


class lazy_in_threads(lazy[_T]):  # noqa: N801  (used as `property` is)
    """The same for an object that several threads ask: one thread computes the value, and the others wait for it.

    The object has a lock, `guard`, which its holder can acquire again. functools.cached_property has one lock for all
    objects of a class before Python 3.12, and no lock since.
    """

    def _value(self, instance: Any) -> _T:
        with instance.guard:
            known = instance.__dict__
            return cast("_T", known[self._name]) if self._name in known else super()._value(instance)


def remembered(method: Callable[Concatenate[_Self, _P], _T]) -> Callable[Concatenate[_Self, _P], _T]:
    """Make a method remember its answers by their arguments. The answers live on the object, as long as it does."""
    name = f"{method.__name__} remembered"

    @wraps(method)
    def remembering(self: _Self, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        answers: dict[object, _T] = self.__dict__.setdefault(name, {})
        asked = (args, *kwargs.items())
        if asked not in answers:
            answers[asked] = method(self, *args, **kwargs)
        return answers[asked]

    return remembering


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Switch the garbage collector off in this block.

    The objects that are made here stay. A search for cycles among them takes twice as long as making them.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
