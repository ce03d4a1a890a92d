"""Events that no row asks about are skipped: by machine code and in Python alike, and nothing else is."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import convert

from ptexplore.model.program import Program
from ptexplore.probe import event_filter, python_calls

torch = pytest.importorskip("torch")
FILTER = event_filter.of_this_process()
filtered = pytest.mark.skipif(FILTER is None, reason="no filter on this system")


def skipped_events() -> Any:
    return importlib.import_module("ptexplore.probe.skipped_events")


def small(number: int) -> int:
    return abs(number)


def work() -> list[str]:
    found: list[str] = []
    for word in ("b", "a"):
        found.append(word.strip())
        small(len(found))
    try:
        int("x")
    except ValueError:
        found.append(str(sum(n for n in range(2))))
    with contextlib.suppress(IndexError):
        [].pop()
    return sorted(found, key=lambda word: word.lower())


def events_of(run: Callable[[], object], on: Callable[[Callable[..., None]], Callable[[], None]]) -> list[Any]:
    """The events that a profile function gets."""
    seen: list[Any] = []

    def function(frame: Any, event: str, argument: Any) -> None:
        if frame.f_code.co_name not in ("events_of", "function"):
            about = argument.__name__ if event.startswith("c_") else repr(argument)
            seen.append((frame.f_code.co_name, frame.f_lineno, event, about))

    sets = on(function)
    sets()
    try:
        run()
    finally:
        sys.setprofile(None)
    return seen


@filtered
def test_an_empty_filter_passes_on_every_event() -> None:
    assert FILTER is not None
    FILTER.forget()
    plain = events_of(work, event_filter.set_directly)
    assert events_of(work, FILTER.setter) == plain
    assert len(plain) > 40
    assert {event for _, _, event, _ in plain} == {"call", "return", "c_call", "c_return", "c_exception"}


@filtered
def test_what_is_in_the_table_is_counted_and_dropped() -> None:
    assert FILTER is not None
    FILTER.forget()
    plain = events_of(work, FILTER.setter)
    before = list(FILTER.counts)
    for address in (id(small.__code__), id(list), python_calls.row_of(len)):
        FILTER.skip(address)
    left = events_of(work, FILTER.setter)
    FILTER.forget()
    dropped = [(name, event, about) for name, _, event, about in plain]
    for name, _, event, about in left:
        dropped.remove((name, event, about))
    assert {(name if event in ("call", "return") else about) for name, event, about in dropped} == {
        "small", "append", "pop", "len",
    }  # fmt: skip
    builtins, frames = (after - one for after, one in zip(FILTER.counts, before, strict=True))
    assert (frames, builtins) == (4, len(dropped) - 4)
    assert sys.getprofile() is None


@filtered
@pytest.mark.parametrize("event", ["call", "c_call", "c_return", "return"])
def test_an_error_of_the_function_is_raised_as_without_a_filter(event: str) -> None:
    """With the same traceback, and no profile function is set after it."""
    assert FILTER is not None
    FILTER.forget()

    def function(frame: Any, happened: str, _: Any) -> None:
        if happened == event and frame.f_code.co_name == "small":
            raise KeyError(event)

    def raised(sets: Callable[[], None]) -> str:
        sets()
        try:
            small(1)
        except KeyError as error:
            assert sys.getprofile() is None
            return "".join(traceback.format_tb(error.__traceback__))
        finally:
            sys.setprofile(None)
        return "nothing was raised"

    by_python = raised(event_filter.set_directly(function))
    assert "raise KeyError" in by_python
    assert raised(FILTER.setter(function)) == by_python


@filtered
def test_the_function_that_is_set_is_the_one_in_python() -> None:
    assert FILTER is not None

    def function(*_: Any) -> None:
        return None

    FILTER.setter(function)()
    try:
        assert sys.getprofile() is function
    finally:
        sys.setprofile(None)


SKIPPED = [
    len, "".strip, [].append, print, {}.get, (1).bit_length, object().__reduce_ex__, torch._C._get_tracing_state,
]  # fmt: skip
NOT_SKIPPED = [
    torch.ones(2).add, torch.ones(2).shape.index,
    time.sleep, threading.Lock().acquire, sys.setprofile, dict.fromkeys, torch.Generator().manual_seed,
    torch._C._profiler._RecordFunctionFast("x").__enter__,
]  # fmt: skip


def test_methods_of_torch_and_functions_that_wait_are_not_skipped() -> None:
    skipped = skipped_events().SkippedEvents()
    for builtin in (*SKIPPED, *NOT_SKIPPED):
        skipped.skip_builtin(builtin)
    try:
        for builtin in SKIPPED:  # one of pybind11's is skipped by itself: the type of its object is that of all
            assert type(builtin.__self__) in skipped.owners or builtin in skipped.builtins, builtin
        for builtin in NOT_SKIPPED:
            assert type(getattr(builtin, "__self__", None)) not in skipped.owners, builtin
            assert builtin not in skipped.builtins, builtin
    finally:
        skipped.forget()


# --- of a recording ---


class Words:
    def __init__(self) -> None:
        self.words = [str(number) for number in range(50)]

    def longest(self) -> int:
        return max(len(word.strip().upper()) for word in self.words)


def run() -> None:
    words = Words()
    for _ in range(20):
        x = torch.ones(words.longest())
        x = torch.nn.functional.relu(x + 1)
    torch.nn.Linear(2, 2)(x)


def recorded() -> tuple[Any, Program]:
    torch.manual_seed(0)
    with importlib.import_module("ptexplore.probe.recording").recording((__file__,)) as seen:
        run()
    return seen, convert(seen.data(), Program)


def test_a_recording_without_the_filter_has_the_same_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded()
    seen, program = recorded()
    monkeypatch.setattr(event_filter, "_made", [None])
    without, in_python = recorded()

    def paths(of: Program) -> list[object]:
        return [(path.kind, path.name, path.parent, path.calls, path.line, path.first) for path in of.paths]

    assert paths(program) == paths(in_python)
    assert (program.routes, program.order) == (in_python.routes, in_python.order)
    assert [kind.name for kind in program.kinds] == [kind.name for kind in in_python.kinds]
    assert seen.calls.calls == without.calls.calls
    for one, other in zip(seen.paths.by_number, without.paths.by_number, strict=True):
        assert one.skipped == other.skipped


def test_skipped_events_are_counted_where_they_happened() -> None:
    recorded()
    seen, program = recorded()
    (longest,) = (path for path in seen.paths.by_number if path.label.name == "Words.longest")
    expected: Counter[str] = Counter()
    for name, _, event, _ in events_of(Words().longest, event_filter.set_directly):
        if name != "longest" or event.startswith("c_"):
            expected["builtins" if event.startswith("c_") else "frames"] += 20
    for skipped, all_events in zip(longest.skipped, (expected["builtins"], expected["frames"]), strict=True):
        assert all_events - 4 <= skipped <= all_events, "the first event of each is looked at"
    path = program.paths[longest.index]
    assert path.recording > 0
    assert path.error > 0
