"""A property that is worked out once, without a lock: no object of the extractors is seen by two threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class lazy(Generic[_T]):  # noqa: N801  (used as `property` is)
    """functools.cached_property, which before Python 3.12 takes a lock for every value it works out."""

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
        value = instance.__dict__[self._name] = self._worked_out(instance)
        return value
