"""What is told of a process that the system ended: which limit it was, where one can be it."""

from __future__ import annotations

import resource

import pytest

from ptexplore.capture.failures import failure
from ptexplore.capture.probing import TraceRequest
from ptexplore.model import reasons as why
from ptexplore.model.actions import RunAloneToEnd
from ptexplore.model.reasons import Reason


def killer_and_limit(signal: str) -> tuple[Reason | None, Reason | None]:
    message = {"type": "died", "signal": signal, "recorder": "ops", "exit": None}
    error = failure(message, TraceRequest(expression="f(a)"))
    assert error.reason == why.KilledProcess(why.GivenExpression(), "f(a)")
    assert error.then == RunAloneToEnd()
    assert isinstance(error.because, why.ProcessEnded)
    assert error.because.how == why.KilledBy(signal)
    return error.because.killer, error.because.limit


def test_a_limit_on_processor_time_is_not_reported_as_want_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert killer_and_limit("SIGXCPU") == (None, why.ProcessorTimeLimit())
    assert killer_and_limit("SIGXFSZ") == (None, why.FileSizeLimit())
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert killer_and_limit("SIGKILL") == (why.SystemKillsForMemory(), None)
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (60, 60))
    assert killer_and_limit("SIGKILL") == (why.SystemKillsForTime(), None)
    assert killer_and_limit("SIGSEGV") == (None, None)
