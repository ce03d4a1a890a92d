"""What is told of a process that the system ended: which limit it was, where one can be it."""

from __future__ import annotations

import resource

import pytest

from ptexplore.capture.failures import failure
from ptexplore.capture.probing import TraceRequest


def told(signal: str) -> str:
    message = {"type": "died", "signal": signal, "recorder": "ops", "exit": None}
    error = failure(message, TraceRequest(expression="f(a)"))
    assert error.message
    assert error.hint
    return error.why


def test_a_limit_on_processor_time_is_not_told_as_want_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "processor time is reached (ulimit -t)" in told("SIGXCPU")
    assert "memory" not in told("SIGXCPU")
    assert "(ulimit -f)" in told("SIGXFSZ")
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert told("SIGKILL").endswith("kills a process so when memory runs out")
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (60, 60))
    assert "its limit of processor time (ulimit -t) or memory" in told("SIGKILL")
    assert "memory" not in told("SIGSEGV")
