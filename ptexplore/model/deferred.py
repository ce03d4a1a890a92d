"""A module that is imported when something of it is asked for first."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Deferred:
    """Stands for a module by its whole name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(import_module(self._name), name)  # it is asked for once
        return value
