"""Reads sizes, strides and storages of tensors: in a probe that runs your statements, or in your own process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ptexplore.capture import own_process
from ptexplore.capture.allowed import AllowedRun
from ptexplore.capture.not_captured import NotCaptured
from ptexplore.capture.single_answer import single_answer
from ptexplore.errors import USAGE
from ptexplore.model import actions as to
from ptexplore.model import reasons as why
from ptexplore.model.codes import convert
from ptexplore.model.places import Runtime
from ptexplore.model.tensor_layouts import SeenTensors


@dataclass(frozen=True, slots=True)
class TensorRun:
    """The tensors that statements gave, the same after further statements, those to compare, and the printed text."""

    seen: SeenTensors
    after: SeenTensors | None
    against: SeenTensors | None
    printed: str


def see_tensors(run: AllowedRun, runtime: Runtime) -> TensorRun:
    """Runs the allowed statements in a probe of `runtime`. Returns their tensors, without any element.

    Raises PtexploreError: (usage) if they cannot be run or give no tensor, (failed) if they raise, die or take too
    long.
    """
    seconds = run.request.timeout
    answer, printed = single_answer(run, "tensors", runtime, to.DrawTensors(), seconds=seconds)
    after = convert(answer["after"], SeenTensors) if "after" in answer else None
    against = convert(answer["against"], SeenTensors) if "against" in answer else None
    return TensorRun(convert(answer["tensors"], SeenTensors), after, against, printed)


def see_own_tensors(named: Mapping[str, object]) -> SeenTensors:
    """Returns the tensors among objects of this process, by the name that you give to each.

    Raises NotCaptured (usage) if none of them is a tensor, or holds one.
    """
    own_process.check_torch()
    probe: Any = own_process.probe_module("tensor_layouts")
    tensors = [tensor for name, value in named.items() for tensor in probe.tensors_named(name, value)]
    if not tensors:
        types = tuple(dict.fromkeys(type(value).__name__ for value in named.values()))
        raise NotCaptured(why.NoTensorGiven(types), why.TensorsAreDrawn(), to.DrawTensors(), USAGE)
    return convert(probe.seen_tensors(tensors), SeenTensors)
