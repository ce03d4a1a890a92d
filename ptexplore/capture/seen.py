"""Converts a probe's observations to records: everything that the probe sends is read here, once."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from ptexplore.locations import symbols_dir
from ptexplore.model.codes import convert
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


def seen_in(observations: Iterable[SentObservation]) -> list[ReadObservation]:
    """Returns the observations in the answer of a run."""
    seen = []
    for sent in observations:
        kind = sent["kind"]
        if kind in SENT:
            # the keys are numbers, which JSON turns into text
            data = _read(convert(sent["data"], SENT[kind], str_keys=True))
        else:
            data = convert(sent["data"], KINDS.get(kind, UnknownRecord))
        if data is not None:
            seen.append(ReadObservation(sent["recorder"], kind, data))
    return seen


def _read(data: Sent) -> AnyRecord | Steps | None:
    """Adds the names of C++ functions to a message. None for an error that C++ did not throw."""
    if isinstance(data, SentThrow):
        return _thrown(data)
    if isinstance(data, SentError):
        return _raised(data)
    return data


def _raised(sent: SentError) -> RaisedError:
    """Returns the error that ended a run."""
    error = convert(sent, RaisedError, from_attributes=True)
    if not sent.cpp:
        return error
    from ptexplore.capture.native.thrown import stack_at  # imports numpy, so only if needed

    return structs.replace(error, stack=tuple(stack_at(sent.cpp, symbols_dir())))


def _thrown(sent: SentThrow) -> ThrownError | None:
    """Returns where C++ threw an error, or None if it did not."""
    from ptexplore.capture.native.thrown import raised, thrown  # imports numpy, so only if needed

    error = thrown(sent.text, symbols_dir())
    if error is None and sent.raised is not None:
        error = raised(sent.raised, sent.text, symbols_dir())
    return structs.replace(error, elsewhere=sent.elsewhere) if error is not None else None
