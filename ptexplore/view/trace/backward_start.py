"""Where backward started, in words for rows and facts."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from ptexplore.model.reasons import BackwardFrom, BeganAt, BeganAtReal, BeganAtRealSum, BeganAtSum, Reason
from ptexplore.model.trace import ResultInfo

_STARTS = (BeganAt, BeganAtSum, BeganAtReal, BeganAtRealSum)


def backward_of(result: ResultInfo) -> str:
    """Names in words the tensor that backward was called on."""
    starts = _starts(result.backward)
    if len(starts) > 1:
        return "several results"
    start = starts[0] if starts else None
    is_result = _tensor(start) == result.description
    what = "the result" if is_result else "a tensor of the result"
    real = f"{what}'s real part" if isinstance(start, BeganAtReal | BeganAtRealSum) else what
    return f"the sum of {real}" if isinstance(start, BeganAtSum | BeganAtRealSum) else real


def with_result_as_it(result: ResultInfo) -> ResultInfo:
    """Returns the result for a sentence that has just described it: backward started from "it"."""
    starts = list(_starts(result.backward))
    at = next((number for number, start in enumerate(starts) if _tensor(start) == result.description), None)
    if at is None or not isinstance(result.backward, BackwardFrom):
        return result
    starts[at] = structs.replace(starts[at], tensor="it")
    return replace(result, backward=structs.replace(result.backward, starts=tuple(starts)))


def _starts(backward: Reason | None) -> tuple[Reason, ...]:
    return backward.starts if isinstance(backward, BackwardFrom) else ()


def _tensor(start: Reason | None) -> str:
    return start.tensor if isinstance(start, _STARTS) else ""
