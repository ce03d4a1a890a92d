"""What a probe saw, as records: all that it sends comes in here, and is read once."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import convert, structs

from ptexplore.locations import symbols_dir
from ptexplore.model.messages import (
    SENT,
    ReadObservation,
    Sent,
    SentError,
    SentObservation,
    SentThrow,
    Steps,
)
from ptexplore.model.observed import KINDS, AnyRecord, RaisedError, ThrownError, UnknownRecord


def seen_in(told: Iterable[SentObservation]) -> list[ReadObservation]:
    """What an answer of a run has seen."""
    seen = []
    for sent in told:
        kind = sent["kind"]
        if kind in SENT:
            data = _read(convert(sent["data"], SENT[kind], str_keys=True))  # keys are text in JSON, and numbers here
        else:
            data = convert(sent["data"], KINDS.get(kind, UnknownRecord))
        if data is not None:
            seen.append(ReadObservation(sent["recorder"], kind, data))
    return seen


def _read(data: Sent) -> AnyRecord | Steps | None:
    """What was sent with the names of C++'s functions; None of an error that C++ did not throw."""
    if isinstance(data, SentThrow):
        return _thrown(data)
    if isinstance(data, SentError):
        return _raised(data)
    return data


def _raised(told: SentError) -> RaisedError:
    """What ended a run."""
    error = convert(told, RaisedError, from_attributes=True)
    if not told.cpp:
        return error
    from ptexplore.capture.native.thrown import stack_at  # numpy, only where it is needed

    return structs.replace(error, stack=tuple(stack_at(told.cpp, symbols_dir())))


def _thrown(told: SentThrow) -> ThrownError | None:
    """Where C++ threw an error; None where it did not."""
    from ptexplore.capture.native.thrown import raised, thrown  # numpy, only where it is needed

    error = thrown(told.text, symbols_dir())
    if error is None and told.raised is not None:
        error = raised(told.raised, told.text, symbols_dir())
    return structs.replace(error, elsewhere=told.elsewhere) if error is not None else None
