"""What has a row of its own in a recorded program: decorated forwards, functions of training loops, trainers."""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptexplore.facts.complaints import COMPLAINTS
from ptexplore.facts.timed_functions import TIMED
from ptexplore.model.codes import convert
from ptexplore.model.program import Program
from ptexplore.model.run import Part
from ptexplore.view.trace.line_figures import figures_of
from ptexplore.view.trace.program_parts import run_of

torch = pytest.importorskip("torch")
nn = torch.nn


def of_probe(name: str) -> Any:
    return importlib.import_module(f"ptexplore.probe.{name}")


def recorded(run: Callable[[], object]) -> Program:
    with of_probe("recording").recording() as seen:
        run()
    return convert(seen.data(), Program)


def parts(run: Callable[[], object]) -> dict[str, Part]:
    """The parts by name; a module has the name of its class."""
    return {part.type if part.kind == "module" and part.type else part.name: part for part in
            run_of(recorded(run), "x").whole.walk()}  # fmt: skip


def with_wraps(forward: Any) -> Any:
    @functools.wraps(forward)
    def wrapper(*given: Any, **named: Any) -> Any:
        return forward(*given, **named)

    return wrapper


def without_wraps(forward: Any) -> Any:
    def wrapper(*given: Any, **named: Any) -> Any:
        return forward(*given, **named)

    return wrapper


class Wrapped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    @with_wraps
    @torch.no_grad()
    def forward(self, x: Any) -> Any:
        return nn.ReLU()(self.linear(x))


class Enclosed(Wrapped):
    @without_wraps
    def forward(self, x: Any) -> Any:
        return self.linear(x).relu()


@pytest.mark.parametrize("kind", [Wrapped, Enclosed])
def test_a_decorated_forward_is_its_module_at_its_own_place(kind: Any) -> None:
    model, x = kind(), torch.ones(2, 3)
    program = recorded(lambda: model(x))
    (path,) = [path for path in program.paths if path.kind == "module" and path.type == kind.__name__]
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert path.first is not None
    assert lines[path.first - 1].strip().startswith("@"), "Python's first line of a function is its first decorator"
    names = [(part.name or part.type or "").rpartition(".")[2] for part in run_of(program, "x").whole.walk()]
    assert not {"wrapper", "forward"} & {*names}
    assert ("ReLU" in names) is (kind is Wrapped), "a module made in a forward has no other name than its class"


def test_steps_of_a_training_loop_have_rows() -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    scaler = torch.amp.GradScaler("cpu", enabled=True)

    def run() -> None:
        model.zero_grad()
        scaler.scale(model(torch.ones(2, 3)).sum()).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()

    found = parts(run)
    expected = {"Linear.zero_grad", "GradScaler.scale", "Tensor.backward", "GradScaler.unscale_", "clip_grad_norm_",
                "GradScaler.step", "AdamW.step", "GradScaler.update", "StepLR.step"}  # fmt: skip
    assert expected <= {*found}
    assert "AdamW.step" in {part.name for part in found["GradScaler.step"].parts}
    assert all(found[name].calls == 1 for name in expected)


def test_a_closure_is_inside_of_the_step_that_called_it() -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    called = []

    def closure() -> Any:
        called.append(1)
        optimizer.zero_grad()
        loss = model(torch.ones(2, 3)).pow(2).sum()
        loss.backward()
        return loss

    found = parts(lambda: optimizer.step(closure))
    inside = {part.name.rpartition(".")[2]: part for part in found["LBFGS.step"].parts}
    assert inside["closure"].calls == len(called) > 1
    assert found["LBFGS.step"].own, "its own operators are not the closure's"
    assert found["LBFGS.step"].cost > inside["closure"].cost


LIBRARY = """\
import torch

class Trainer:
    def fit(self, step):
        for _ in range(3):
            self.run(step)

    def run(self, step):
        return step(torch.ones(2))
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An installed package that uses torch."""
    return installed(LIBRARY, "trainers", tmp_path, monkeypatch)


def installed(text: str, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module from a folder that counts as one of installed packages."""
    whose = of_probe("whose")
    for names in ("LIBRARIES", "INSTALLED"):
        monkeypatch.setattr(whose, names, (*getattr(whose, names), os.path.realpath(folder) + os.sep))
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ENVIRONMENT = """\
class Environment:
    def step(self, action):
        return self.simulate(action)

    def simulate(self, action):
        return sum(i * action for i in range(20_000))
"""


def test_a_package_without_torch_has_a_row_and_its_line_has_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the environment of a reinforcement-learning loop, or a decoder of images."""
    environments = installed(ENVIRONMENT, "environments", tmp_path, monkeypatch)

    def play() -> None:
        environment = environments.Environment()
        for _ in range(3):
            environment.step(2)
            torch.ones(2)

    program = recorded(play)
    found = {part.name.rpartition(".")[2]: part for part in run_of(program, "x").whole.walk()}
    assert found["step"].calls == 3
    assert "simulate" not in found, "the package calls it itself"
    assert found["step"].cost > 0.5 * found["play"].cost
    stepping = play.__code__.co_firstlineno + 3
    (line,) = [path.line for path in program.paths if path.name.endswith("step")]
    assert line == stepping
    lines = figures_of(program, lambda path: path.kind == "user" and path.file == __file__).figures
    (figures,) = [figures for place, figures in lines.items() if place.line == stepping and not place.function]
    assert figures.whole.cost == found["step"].cost


def test_a_function_of_a_library_that_your_code_calls_has_a_row(library: Any) -> None:
    """Functions that the library calls itself have none."""

    def step(x: Any) -> Any:
        return x.exp()

    found = parts(lambda: library.Trainer().fit(step))
    names = {name.rpartition(".")[2] for name in found}
    assert {"fit", "step"} <= names
    assert "run" not in names
    (fit,) = [part for name, part in found.items() if name.endswith("fit")]
    assert [(part.name.rpartition(".")[2], part.calls) for part in fit.parts] == [("step", 3)]


def test_the_probe_and_the_tables_of_facts_agree() -> None:
    labels, judges = of_probe("labels"), of_probe("judges")
    assert [(row.path, row.names) for row in TIMED] == [*labels.TIMED, *labels.COMPILERS]
    assert [(row.words, row.name) for row in COMPLAINTS] == list(judges.COMPLAINTS.items())
