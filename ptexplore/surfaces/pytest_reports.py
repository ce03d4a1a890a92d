"""What the pytest plugin adds to the reports of failing tests: the rows behind a number, and the trace of an error.

Nothing is added to a test that passes, is skipped, or fails as expected.
"""

from __future__ import annotations

import dis
import hashlib
import os
import re
import shlex
import sys
import unittest
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest._code.code import ExceptionRepr

from ptexplore.errors import PtexploreError
from ptexplore.surfaces.pytest_fixture import FIXTURE

if TYPE_CHECKING:
    from types import TracebackType

    from ptexplore.api.trace import PublicTrace

SECTION = "ptexplore"
SAVED = "ptexplore_trace"  # the attribute of a report with the file of its trace.
WIDEST = 160
NARROWEST = 80
LONGEST = 100  # characters of a test's name in the name of a file.
_OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_CHECKS = os.path.join("torch", "testing", "")  # what raises there compares values, and is no error of torch.
_RAISES = ("RAISE_VARARGS", "RERAISE")
_AT_ASSERT = "@py_"  # pytest keeps the values of an assertion in variables with such names, until it passes.


class Reports:
    """The hooks. `traces_failures`: the option was given, so a failing test is called a second time and traced."""

    def __init__(self, config: pytest.Config, *, traces_failures: bool) -> None:
        self._config, self._traces_failures = config, traces_failures

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Adds sections to the report of a failing test."""
        if call.excinfo is not None and isinstance(call.excinfo.value, PtexploreError):
            _cut(call.excinfo.tb)
        report = yield
        if report.failed and call.excinfo is not None:
            error = call.excinfo.value
            for text in (*_of_error(error), *_of_assertion(error), *self._of_trace(item, call.when, error, report)):
                _add(report, text)
        return report

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Says where traces were kept, if some were."""
        folder = self._config.getoption("ptexplore_save")
        count = sum(hasattr(report, SAVED) for report in terminalreporter.getreports("failed"))
        if folder and count:
            terminalreporter.write_line(f"ptexplore: {count} {'traces' if count > 1 else 'trace'} in {folder}")

    def _of_trace(self, item: pytest.Item, when: str, error: BaseException, report: pytest.TestReport) -> Iterator[str]:
        """Yields the first screen of a failing test's trace, and its file."""
        fixture = item.stash.get(FIXTURE, None)
        is_torchs = self._traces_failures and _may_be_torchs(error)
        if when != "call" or not (is_torchs or (self._config.getoption("ptexplore_save") and fixture is not None)):
            return
        try:
            trace = fixture.last if fixture is not None and fixture.is_made else None
            again: list[str] = []
            if is_torchs and (trace is None or not _is_of(trace, error)):
                trace, again = _second_call(item), ["a second call of the test, recorded:"]
                if not _is_of(trace, error):
                    if trace.ending is None or _is_in_torch(trace):
                        yield "no trace: a second call of the test did not raise this error"
                    return
            if trace is None:
                return
            file = self._file(item)
            trace.save(file)
            setattr(report, SAVED, str(file))
            screen = [trace.text(width=self._width).strip(), ""] if _is_in_torch(trace) else []
            yield "\n".join([*again, *screen, f"open it: ptexplore trace --load {shlex.quote(str(file))}"])
        except PtexploreError as failed:
            yield "no trace: " + "\n".join(_three_parts(failed))
        except Exception as failed:  # noqa: BLE001  (a failing test must be reported as it is, whatever fails here)
            yield f"no trace: {type(failed).__name__}: {failed}"

    @property
    def _width(self) -> int:
        return max(NARROWEST, min(WIDEST, self._config.get_terminal_writer().fullwidth))

    def _file(self, item: pytest.Item) -> Path:
        """Returns the file for the trace of a test: in the folder that was given, else in pytest's temporary one."""
        name = re.sub(r"[^\w.-]+", "-", item.nodeid)[-LONGEST:].strip("-")
        digest = hashlib.sha256(item.nodeid.encode()).hexdigest()[:8]  # two tests may differ in other characters only.
        folder = self._config.getoption("ptexplore_save")
        if folder:
            file = Path(folder, f"{name}-{digest}.trace")
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.is_symlink():  # the name can be predicted: somebody else's link may lead to a file of yours
                file.unlink()
            return file
        factory: pytest.TempPathFactory = self._config._tmp_path_factory  # type: ignore[attr-defined]
        return factory.mktemp("ptexplore") / f"{name}-{digest}.trace"


def _add(report: pytest.TestReport, text: str) -> None:
    """Adds a section below the traceback."""
    if isinstance(report.longrepr, ExceptionRepr):
        report.longrepr.addsection(SECTION, text)
    else:
        report.sections.append((SECTION, text))


def _of_error(error: BaseException) -> Iterator[str]:
    """Yields the reason and the remedy of an error of ptexplore, whose message pytest shows."""
    if isinstance(error, PtexploreError):
        yield "\n".join(_three_parts(error))


def _three_parts(error: PtexploreError) -> Iterator[str]:
    yield error.message
    if error.why:
        yield f"why: {error.why}"
    if error.hint:
        yield f"try: {error.hint}"


def _of_assertion(error: BaseException) -> Iterator[str]:
    """Yields the rows behind each number in the assertion that failed."""
    counts = sys.modules.get("ptexplore.view.trace.counts")
    if counts is None or not isinstance(error, AssertionError) or error.__traceback__ is None:
        return
    names = _innermost(error.__traceback__).tb_frame.f_locals
    values = [value for name, value in names.items() if name.startswith(_AT_ASSERT)]
    counted = {id(value): value for value in values if isinstance(value, counts.Counted)}
    yield from (value.rows for value in counted.values())


def _cut(traceback: TracebackType) -> None:
    """Cuts a traceback of an error of ptexplore below the test's own line."""
    at: TracebackType | None = traceback
    last = None
    while at is not None:
        if not at.tb_frame.f_code.co_filename.startswith(_OURS):
            last = at
        at = at.tb_next
    if last is not None:
        last.tb_next = None


def _innermost(traceback: TracebackType) -> TracebackType:
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def _may_be_torchs(error: BaseException) -> bool:
    """Whether an error may have been raised inside torch: in its Python, or in code that is no Python."""
    torch = sys.modules.get("torch")
    if torch is None or error.__traceback__ is None or not isinstance(error, Exception):
        return False
    if isinstance(error, PtexploreError):
        return False
    at = _innermost(error.__traceback__)
    code = at.tb_frame.f_code
    if code.co_filename.startswith(os.path.dirname(str(torch.__file__)) + os.sep):
        return _CHECKS not in code.co_filename
    return dis.opname[code.co_code[at.tb_lasti]] not in _RAISES


def _is_of(trace: PublicTrace, error: BaseException) -> bool:
    """Whether a trace ended with such an error, inside torch."""
    ending = trace.ending
    if ending is None or ending.exception != type(error).__name__ or not _is_in_torch(trace):
        return False
    return ending.message.partition("\n")[0].strip() == str(error).partition("\n")[0].strip()


def _is_in_torch(trace: PublicTrace) -> bool:
    return trace.ending is not None and trace.ending.source.path is not None


def _second_call(item: pytest.Item) -> PublicTrace:
    """Calls the function of a test again, with the same fixtures, and returns the trace of it.

    Its output and its warnings are dropped, since the report has what the first call printed.
    """
    from ptexplore.api.recording import PublicRecording

    recording = PublicRecording()
    function: Any = item.obj  # type: ignore[attr-defined]
    case = getattr(function, "__self__", None)
    with _silent(item):
        if isinstance(case, unittest.TestCase):
            case.setUp()
            try:
                return recording.call(function)
            finally:
                case.tearDown()
                case.doCleanups()
        item.obj = recording(function)  # type: ignore[attr-defined]
        try:
            item.runtest()
        except Exception:  # noqa: BLE001  (the trace has it)
            pass
        finally:
            item.obj = function  # type: ignore[attr-defined]
    return recording.trace


@contextmanager
def _silent(item: pytest.Item) -> Iterator[None]:
    capture = item.config.pluginmanager.getplugin("capturemanager")
    with warnings.catch_warnings(record=True):
        if capture is not None:
            capture.resume_global_capture()
        try:
            yield
        finally:
            if capture is not None:
                capture.suspend_global_capture(in_=False)
                capture.read_global_capture()
