"""Make the n-th call of the operating system fail in one module of ours: full and broken disks, signals, no memory."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ERRORS = (
    OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    OSError(errno.EIO, os.strerror(errno.EIO)),
    InterruptedError(errno.EINTR, os.strerror(errno.EINTR)),
    MemoryError("no memory"),
    KeyboardInterrupt("^C"),
)
_CALLS = ("open", "fsync", "rename", "replace", "fchmod", "stat", "fstat", "access", "write")


@dataclass
class Fault:
    """Whether it came to the call that fails, and which call that was."""

    left: int
    error: BaseException
    fired: bool = False
    call: str = ""

    def meet(self, call: str) -> None:
        """One call more."""
        if not self.left and not self.fired:
            self.fired, self.call = True, call
            raise self.error
        self.left -= 1


class _Opened:
    """An open file whose reading and writing may fail: half of it is written then."""

    def __init__(self, file: Any, fault: Fault) -> None:
        self._file, self._fault = file, fault

    def __enter__(self) -> _Opened:
        self._file.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._file.__exit__(*error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: Any) -> int:
        """All of it, or half and the error."""
        try:
            self._fault.meet("write")
        except BaseException:
            self._file.write(data[: len(data) // 2])
            raise
        return int(self._file.write(data))

    def read(self, *most: int) -> Any:
        """What is there, or the error."""
        self._fault.meet("read")
        return self._file.read(*most)


class _System:
    """`os` with calls that count."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name == "fdopen":
            return lambda *given, **named: _Opened(real(*given, **named), self._fault)
        if name not in _CALLS:
            return real

        def counted(*given: Any, **named: Any) -> Any:
            self._fault.meet(name)
            return real(*given, **named)

        return counted


@contextlib.contextmanager
def failing(module: ModuleType, nth: int, error: BaseException) -> Iterator[Fault]:
    """In this block the n-th call (from 0) that `module` makes of the system raises `error`."""
    fault = Fault(nth, error)
    real, module.os = module.os, _System(fault)  # type: ignore[attr-defined]
    try:
        yield fault
    finally:
        module.os = real  # type: ignore[attr-defined]


def keeps_back(monkeypatch: pytest.MonkeyPatch, kept: Path, number: int = errno.EIO) -> None:
    """From now on one file cannot be read, by whatever way of pathlib's and of os; its state can be."""

    def refusing(real: Any) -> Any:
        def opened(file: Any, *given: Any, **named: Any) -> Any:
            if os.fspath(file) == str(kept):
                raise OSError(number, os.strerror(number), str(file))
            return real(file, *given, **named)

        return opened

    monkeypatch.setattr(Path, "open", refusing(Path.open))
    monkeypatch.setattr(os, "open", refusing(os.open))
