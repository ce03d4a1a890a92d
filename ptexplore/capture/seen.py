"""What a probe saw, as records: all that it sends comes in here, and is read once."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import convert, structs

from ptexplore.locations import symbols_dir
from ptexplore.model.messages import (
    SENT,
    Seen,
    Sent,
    SentError,
    SentObservation,
    SentThrow,
    Steps,
)
from ptexplore.model.observed import KINDS, AnyRecord, RaisedError, ThrownError, UnknownRecord


def seen_in(told: Iterable[SentObservation]) -> list[Seen]:
    """What an answer of a run has seen."""
    read = ((one, _read(_sent(one))) for one in told)
    return [Seen(one["recorder"], one["kind"], data) for one, data in read if data is not None]


def _sent(one: SentObservation) -> AnyRecord | Sent:
    """The data of what was sent. Keys of objects are text in JSON, though they may be numbers here."""
    kind = one["kind"]
    return convert(one["data"], SENT.get(kind) or KINDS.get(kind, UnknownRecord), str_keys=True)


def _read(data: AnyRecord | Sent) -> AnyRecord | Steps | None:
    """What was sent with the names of C++'s functions; None of an error that C++ did not throw."""
    if isinstance(data, SentThrow):
        return _thrown(data)
    if isinstance(data, SentError) and data.cpp:
        from ptexplore.capture.native.thrown import stack_at  # numpy, only where it is needed

        data = structs.replace(data, stack=tuple(stack_at(data.cpp, symbols_dir())))
    return convert(data, RaisedError, from_attributes=True) if isinstance(data, SentError) else data


def _thrown(told: SentThrow) -> ThrownError | None:
    """Where C++ threw an error; None where it did not."""
    from ptexplore.capture.native.thrown import raised, thrown  # numpy, only where it is needed

    error = thrown(told.text, symbols_dir())
    if error is None and told.raised is not None:
        error = raised(told.raised, told.text, symbols_dir())
    return structs.replace(error, elsewhere=told.elsewhere) if error is not None else None
