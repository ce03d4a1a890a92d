"""The newest traces in the cache: which one is the last, how many are kept, what is not kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ptexplore.errors import MISSING, PtexploreError
from ptexplore.locations import kept_traces_dir
from ptexplore.model.trace import Captured, ResultInfo, TorchInfo, Trace
from ptexplore.workspace import kept_traces, saved_traces
from ptexplore.workspace.kept_traces import MOST, keep, keeper, last
from ptexplore.workspace.saved_traces import load_trace


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def trace(expression: str) -> Trace:
    return Trace(
        expression=expression,
        bound=(),
        torch=TorchInfo("2.13.0", "a" * 40, "wheel", "3.11.2"),
        trees=(),
        captured=Captured(ops=True),
        result=ResultInfo("torch.Tensor", "Tensor[3, 3]"),
        findings=(),
        hops=(),
    )


def test_the_last_trace_is_the_one_that_was_kept_last() -> None:
    for name in ("first", "second"):
        keep(trace(name), None)
    assert load_trace(str(last()))[0].expression == "second"
    assert load_trace(str(last(2)))[0].expression == "first"


def test_only_the_newest_are_kept() -> None:
    for number in range(MOST + 2):
        keep(trace(f"a{number}"), None)
    assert len(list(kept_traces_dir().iterdir())) == MOST
    assert load_trace(str(last(MOST)))[0].expression == "a2"


def test_another_terminals_trace_is_shown_if_this_one_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(trace("mine"), None)
    monkeypatch.setattr(kept_traces, "_terminal", lambda: os.getsid(0) + 1)
    assert load_trace(str(last()))[0].expression == "mine"


def test_each_terminal_has_its_own_last_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(trace("mine"), None)
    with monkeypatch.context() as other:
        other.setattr(kept_traces, "_terminal", lambda: os.getsid(0) + 1)
        keep(trace("other"), None)
        assert load_trace(str(last()))[0].expression == "other"
    assert load_trace(str(last()))[0].expression == "mine"


@pytest.mark.parametrize("number", [1, 3])
def test_no_trace_is_kept(number: int, cache: Path) -> None:
    with pytest.raises(PtexploreError) as error:
        last(number)
    assert error.value.exit_code == MISSING
    assert str(cache) in error.value.why


def test_a_kept_trace_is_for_its_user_alone() -> None:
    keep(trace("a"), None)
    assert last().stat().st_mode & 0o077 == 0


def test_a_link_in_the_cache_is_not_followed(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    cache.mkdir()
    (cache / "traces").symlink_to(tmp_path / "elsewhere")
    keep(trace("a"), None)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_folder_that_cannot_be_made(cache: Path) -> None:
    cache.write_text("a file is in its place")
    assert keeper(trace("a"), None) is None
    keep(trace("a"), None)
    assert cache.read_text() == "a file is in its place"


def test_a_large_trace_is_kept_unless_it_could_not_be_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_traces, "LARGE", -1)
    write = keeper(trace("large"), None)
    assert write is not None
    write()
    assert load_trace(str(last()))[0].expression == "large"
    monkeypatch.setattr(saved_traces, "MAX_HOPS", -1)
    assert keeper(trace("larger"), None) is None
