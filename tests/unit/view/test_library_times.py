"""Calls into oneDNN and MKL on the rows: which one is named, and when its time is shown."""

from __future__ import annotations

import pytest

from ptexplore.model.place_reasons import NotLookedUp
from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import LibraryTold, ToldOfSuchCall
from ptexplore.model.trace import Hop, LibraryEntry
from ptexplore.view.trace.amounts import library_time
from ptexplore.view.trace.path import COSTLY, SMALL, SMALL_OF_ONE, _least_share
from ptexplore.view.trace.program_operators import _in_libraries
from ptexplore.view.words.details import described
from ptexplore.view.words.reasons import sentence

NOWHERE = SourceRef(None, None, None, "unknown", reason=NotLookedUp())


def entered(number: int, what: str, took: int) -> Hop:
    entry = LibraryEntry("oneDNN", what, "8x8", "jit:avx2", took=took)
    return Hop(number, "closed", "dnnl_primitive_execute", "observed", NOWHERE, library=entry)


def an_operator(*inside: Hop, **more: object) -> Hop:
    return Hop(1, "op", "aten::conv2d", "observed", NOWHERE, children=inside, **more)  # type: ignore[arg-type]


@pytest.mark.words
def test_of_several_calls_the_longest_is_named_with_its_time() -> None:
    call = an_operator(
        entered(2, "reorder", 1_000), entered(3, "convolution", 58_000_000), entered(4, "reorder", 2_000)
    )
    assert described(_in_libraries([call])) == "oneDNN: convolution 8x8 by jit:avx2, 58 ms +2"


@pytest.mark.words
def test_where_stepping_was_cut_the_report_of_a_fork_counts() -> None:
    reports = (
        LibraryTold("oneDNN", "reorder", "4x4", "jit:uni", 2, 3_000),
        LibraryTold("MKL", "SGEMM", "N,N,3,4,5", took=200_000),
    )
    call = an_operator(entered(2, "reorder", 1_000), why=(ToldOfSuchCall(reports),))
    assert described(_in_libraries([call])) == "MKL: SGEMM transa=N transb=N m=3 n=4 k=5, 200 us +2"


@pytest.mark.words
def test_a_report_has_no_time_in_its_sentence() -> None:
    """So the sentence is the same in each run."""
    assert sentence(LibraryTold("MKL", "SGEMM", "3,3,3", took=200_000)) == "MKL's SGEMM (3,3,3)"


@pytest.mark.parametrize(("nanoseconds", "shown"), [(0, ""), (99_999, ""), (100_000, "100 us"), (12_300_000, "12 ms")])
def test_a_short_time_is_left_out(nanoseconds: int, shown: str) -> None:
    assert library_time(nanoseconds) == shown


def test_rows_may_be_smaller_if_python_outweighs_the_operators() -> None:
    assert _least_share(60, 100, single=True) == SMALL_OF_ONE
    assert _least_share(60, 100, single=False) == SMALL
    assert _least_share(5, 100, single=True) == pytest.approx(SMALL_OF_ONE * 0.05 / COSTLY)
    assert _least_share(0, 100, single=True) == SMALL_OF_ONE, "nothing is known about the operators"
