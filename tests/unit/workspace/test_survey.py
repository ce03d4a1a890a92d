"""Which operators a survey has left to do, what its folder is about, and what Ctrl-C leaves."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from ptexplore.capture.survey import Surveyed
from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model.places import Runtime, TreeInfo
from ptexplore.model.reasons import Said
from ptexplore.view.survey import Concluded, Folder
from ptexplore.workspace import survey as survey_module
from ptexplore.workspace.survey import SurveyPlan, SurveyRequest, Todo, run_survey, survey_report
from tests.faults import keeps_back

RUNTIME = TreeInfo("runtime", "2.13.0", ("generated", "wheel"))
TORCH = Runtime("python", "3.11", "/torch", "2.13.0", "c" * 40, "wheel", None, None, (), "k", "i")
OPERATORS = ["add", "linalg.det", "linalg.inv", "mul", "sub"]


@contextmanager
def uncounted(title: str) -> Iterator[Callable[[int, int], None]]:
    del title
    yield lambda now, of: None


class Crew:
    """Stands in for the workers: saves what is picked until it is stopped, and remembers it."""

    def __init__(self, most: int = 100) -> None:
        self.most = most
        self.picked: list[str] = []

    def __call__(self, plan: SurveyPlan, jobs: int, todo: Todo, progressed: object) -> None:
        self.picked = list(todo(OPERATORS))
        for op in self.picked[: self.most]:
            Folder(plan.folder).save(Concluded(Surveyed(op), None))
        if self.most < len(self.picked):
            raise KeyboardInterrupt


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
def survey(tmp_path: Path, notices: list[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Sequence[str]]:
    """Survey as asked for; what was given to the workers."""

    def run(crew: Crew | None = None, torch: Runtime = TORCH, **asked: object) -> Sequence[str]:
        crew = crew or Crew()
        monkeypatch.setattr("ptexplore.workspace.survey.survey_with_workers", crew)
        request = SurveyRequest(out=tmp_path, **asked)  # type: ignore[arg-type]
        run_survey(request, Folder(tmp_path), None, torch, (RUNTIME,), uncounted, notices.append)
        return crew.picked

    return run


def test_what_is_done_is_not_done_again(survey: Callable[..., Sequence[str]], tmp_path: Path) -> None:
    assert survey(only="^linalg") == ["linalg.det", "linalg.inv"]
    assert survey() == ["add", "mul", "sub"]
    assert survey() == [], "all of it is saved: no worker starts"
    assert survey(again=True, only="^linalg") == ["linalg.det", "linalg.inv"]
    assert survey(resolve=True) == OPERATORS, "what is saved is what can be concluded anew"
    report = survey_report(SurveyRequest(out=tmp_path), Folder(tmp_path))
    assert dict(report.about)["run"] == "forward"


def test_a_limit_takes_some_from_all_over_the_list(survey: Callable[..., Sequence[str]]) -> None:
    assert survey(limit=2) == ["add", "linalg.inv"]


@pytest.mark.parametrize("linked", ["facts", "traces"])
def test_nothing_is_written_or_deleted_through_a_link_in_its_folder(
    survey: Callable[..., Sequence[str]], tmp_path: Path, linked: str
) -> None:
    survey()
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / linked).rename(elsewhere) if (tmp_path / linked).exists() else elsewhere.mkdir()
    names = {"facts": "add.json", "traces": "add.json.gz"}
    (elsewhere / names[linked]).write_text("precious")
    (tmp_path / linked).symlink_to(elsewhere)
    folder = Folder(tmp_path)
    with pytest.raises(OSError, match=r"directory|symbolic"):
        folder.forget("add")
    assert (elsewhere / names[linked]).read_text() == "precious"
    with pytest.raises(OSError, match=r"directory|symbolic"):
        survey(again=True, only="^add$")
    assert (elsewhere / names[linked]).read_text() == "precious"


def test_what_matches_nothing_is_refused(survey: Callable[..., Sequence[str]]) -> None:
    with pytest.raises(PtexploreError, match="nothing matches --only nope") as refused:
        survey(only="nope")
    assert refused.value.exit_code == USAGE


def test_a_folder_holds_one_survey(survey: Callable[..., Sequence[str]]) -> None:
    survey()
    for other in ({"backward": True}, {"torch": replace(TORCH, version="2.14.0")}):
        with pytest.raises(PtexploreError, match="has another survey"):
            survey(**other)


def test_ctrl_c_keeps_what_is_done_and_says_so(survey: Callable[..., Sequence[str]], notices: list[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        survey(Crew(most=2))
    assert notices == ["2 of 5 operators are done and saved: the same command continues"]
    assert survey() == ["linalg.inv", "mul", "sub"]


@pytest.mark.parametrize("resolve", [True, False])
def test_nothing_saved_is_an_error(survey: Callable[..., Sequence[str]], tmp_path: Path, resolve: bool) -> None:
    with pytest.raises(PtexploreError, match="there is no saved survey") as missing:
        if resolve:
            survey(resolve=True)
        survey_report(SurveyRequest(out=tmp_path), Folder(tmp_path))
    assert missing.value.exit_code == MISSING


def test_a_folder_that_names_an_operator_very_often_has_one_row_of_it(
    survey: Callable[..., Sequence[str]], tmp_path: Path
) -> None:
    survey()
    about = json.loads((tmp_path / "survey.json").read_text())
    report = survey_report(SurveyRequest(), Folder(tmp_path))
    often = {**about, "operators": about["operators"] * 100_000}
    (tmp_path / "survey.json").write_text(json.dumps(often))
    assert survey_report(SurveyRequest(), Folder(tmp_path)) == report
    (tmp_path / "survey.json").write_text(json.dumps({**about, "operators": [f"op{n}" for n in range(20_000)]}))
    assert Folder(tmp_path).about() is None


@pytest.mark.parametrize("kept", ["survey.json", "facts/mul.json"])
def test_what_a_bad_disk_keeps_back_is_not_done_anew(
    survey: Callable[..., Sequence[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    survey()
    before = (tmp_path / kept).read_bytes()
    with monkeypatch.context() as broken:
        keeps_back(broken, tmp_path / kept)
        for asked in (survey, lambda: survey_report(SurveyRequest(), Folder(tmp_path))):
            with pytest.raises(OSError, match="Input/output error"):
                asked()
        broken.setattr(os, "listdir", (tmp_path / kept).open)  # as it fails
        with pytest.raises(OSError, match="Input/output error"):
            Folder(tmp_path).rows()
    assert (tmp_path / kept).read_bytes() == before
    assert survey() == []


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), OSError(errno.EIO, "bad", "x.h"), MemoryError()]
)
def test_what_says_nothing_of_an_operator_ends_the_survey(tmp_path: Path, error: Exception) -> None:
    """No operator is told to be done by it: the next run takes it up."""
    ours, theirs = multiprocessing.Pipe()
    kept = Folder(tmp_path)

    def fail(_op: str) -> Surveyed:
        raise error

    ours.send("add")
    with survey_module._telling(theirs, tmp_path):
        survey_module._answer(theirs, OPERATORS, fail, kept, None)  # type: ignore[arg-type]
    worker = SimpleNamespace(link=ours, op="add")
    plan = SurveyPlan(None, None, tmp_path)  # type: ignore[arg-type]
    assert survey_module._hear(worker, plan) == OPERATORS  # type: ignore[arg-type]
    with pytest.raises(PtexploreError, match="the survey stopped") as told:
        survey_module._hear(worker, plan)  # type: ignore[arg-type]
    assert "x.h" in told.value.why or str(tmp_path) in told.value.why or "memory" in told.value.why
    assert not kept.rows()


@pytest.mark.parametrize("error", [OSError(errno.EIO, "bad"), MemoryError(), ValueError("a fault of ours")])
def test_a_bad_disk_is_no_failure_of_what_is_concluded(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_given: object) -> None:
        raise error

    monkeypatch.setattr("ptexplore.resolve.trace.resolve", fail)
    run = Surveyed("add", session=object())  # type: ignore[arg-type]
    if isinstance(error, ValueError):
        assert "a fault of ours" in survey_module._concluded(run, None).why  # type: ignore[arg-type]
        return
    with pytest.raises(type(error)):
        survey_module._concluded(run, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["survey.json", "facts/add.json"])
def test_a_fifo_in_a_folder_of_somebody_else_keeps_nobody_waiting(tmp_path: Path, name: str) -> None:
    folder = Folder(tmp_path)
    (tmp_path / "facts").mkdir()
    os.mkfifo(tmp_path / name)
    assert folder.about() is None
    assert folder.rows() == {}


def test_a_sentence_of_an_older_survey_is_kept(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.save(Concluded(Surveyed("add"), None))
    facts = next(tmp_path.rglob("add*.json"))
    saved = json.loads(facts.read_text(encoding="utf-8"))
    saved["run"] |= {"why": "it took too long", "inside": [{"op": "add", "way": "vmap", "why": "no rule"}]}
    facts.write_text(json.dumps(saved), encoding="utf-8")
    run = folder.load("add")
    assert run.why == Said("it took too long")
    assert [inside.why for inside in run.inside] == [Said("no rule")]


def test_a_trace_that_is_a_fifo_cannot_be_read(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.save(Concluded(Surveyed("add"), None))
    (tmp_path / "traces").mkdir(exist_ok=True)
    os.mkfifo(folder.trace("add"))
    with pytest.raises(OSError, match="a FIFO"):
        folder.load("add")
