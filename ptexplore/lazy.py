"""Worked out once: a property, with a lock of its object or without one, or a method.

And what is left out altogether: looking for garbage while records are made that all stay.
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
    """functools.cached_property, which before Python 3.12 takes a lock for every value it works out.

    It has no lock: no object of the extractors is seen by two threads.
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
    """The same of an object that several threads ask: one of them works it out, and the others wait for that.

    The object has a lock, `guard`, which its holder may take once more. functools.cached_property has one lock for all
    objects of a class before Python 3.12, and none since.
    """

    def _value(self, instance: Any) -> _T:
        with instance.guard:
            known = instance.__dict__
            return cast("_T", known[self._name]) if self._name in known else super()._value(instance)


def remembered(method: Callable[Concatenate[_Self, _P], _T]) -> Callable[Concatenate[_Self, _P], _T]:
    """Make a method remember its answers by their arguments, on its object and for as long as that lives."""
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
    """Look for no circles among what is made in this block, since it stays: that takes twice as long as making it."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
