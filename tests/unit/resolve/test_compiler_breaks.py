"""A break is shown with the frames of the program, and without those of the probe that runs it."""

from __future__ import annotations

from ptexplore.capture.probing import PROBE
from ptexplore.model.compiler_log import CodeLine
from ptexplore.resolve.compiler.file_names import of_program


def test_frames_of_the_probe_are_no_frames_of_the_program() -> None:
    yours = (CodeLine("/a/train.py", 28, "<module>"), CodeLine("/a/train.py", 12, "f"))
    probe = (CodeLine(str(PROBE), 180, "<module>"), CodeLine(str(PROBE.parent / "passes.py"), 320, "_script"))
    assert of_program((*probe, CodeLine("frozen runpy", 88, "_run_code"), *yours)) == yours
    assert of_program((*probe, *yours)) == yours
    assert of_program(yours) == yours
