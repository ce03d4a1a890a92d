"""A stand-in for a module, which is imported when one of its names is first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Deferred:
    """Stands for the module with this full name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(import_module(self._name), name)  # later reads find it in __dict__
        return value
