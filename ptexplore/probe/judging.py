"""Judges the solution of an exercise: cases first, then the solution in a child of its own, then the real answers."""

from __future__ import annotations

import json
import os
import random
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING, TypedDict

import torch

from .judges import JUDGES, Case

if TYPE_CHECKING:
    from .messages import JudgedCaseData, JudgedData, RunRequestData

SECONDS = 20  # of processor time and of waiting for a solution
_LARGEST = 64 * 1024 * 1024  # bytes of results


class SolvedCases(TypedDict, total=False):
    """What the process of a solution says (`solution.py`): the results as JSON, an error, the last case that began."""

    given: list[str]
    raised: str
    number: int
    printed: str


def judge(request: RunRequestData) -> JudgedData:
    """Runs a solution on random cases and compares each result with PyTorch's."""
    judge = JUDGES[str(request["judge"])]()
    draw = random.Random(request["seed"])
    cases = [judge.make(draw) for _ in range(judge.cases)]
    told, died = _solved(request, cases)
    given = [json.loads(text) for text in told.get("given", [])]
    first = None
    right = 0
    for number, (case, result) in enumerate(zip(cases, given, strict=False)):
        wanted = json.loads(json.dumps(judge.answer(case)))
        if _same(result, wanted):
            right += 1
        elif first is None:
            first = _case(number, case, wanted, json.dumps(result))
    if first is None and len(given) < len(cases) and told.get("number", -1) >= 0:
        number = min(len(given), len(cases) - 1)
        first = _case(number, cases[number], json.loads(json.dumps(judge.answer(cases[number]))), "")
    judged: JudgedData = {
        "type": "judged", "torch": torch.__version__, "cases": len(cases), "right": right, "first": first,
        "raised": str(told.get("raised", "")), "died": died, "printed": str(told.get("printed", "")),
        "rules_of": judge.rules_of(),
    }  # fmt: skip
    return judged


def _same(result: object, wanted: object) -> bool:
    """Whether a result is right: `1` and `True` are different, unlike in Python. The order of keys does not count."""
    return json.dumps(result, sort_keys=True) == json.dumps(wanted, sort_keys=True)


def _case(number: int, case: Case, wanted: object, result_text: str) -> JudgedCaseData:
    return {"number": number, "case": json.dumps(case), "wanted": json.dumps(wanted), "result": result_text}


def _solved(request: RunRequestData, cases: list[Case]) -> tuple[SolvedCases, str]:
    """Returns what the solution's process said, and how it died ("" if it did not)."""
    reader, writer = os.pipe()
    driver = os.path.join(os.path.dirname(os.path.abspath(__file__)), "solution.py")
    asked = {"text": request["expression"], "function": request["function"], "cases": cases, "seconds": SECONDS}
    environment = {"PATH": "/nowhere", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", driver, str(writer)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, pass_fds=(writer,), env=environment, cwd="/", start_new_session=True,
    )  # fmt: skip
    os.close(writer)
    try:
        assert child.stdin is not None
        try:
            child.stdin.write(json.dumps(asked).encode() + b"\n")
            child.stdin.close()
        except BrokenPipeError:
            pass  # the process died at once: its status says why
        data = _read(reader, time.monotonic() + 2 * SECONDS)
        if data is None:
            return {}, "late"
        status = child.wait(5)
    except subprocess.TimeoutExpired:
        return {}, "late"
    finally:
        os.close(reader)
        child.kill()
        child.wait()
    try:
        told: SolvedCases = json.loads(data)
        return told, ""
    except ValueError:
        return {}, "late" if status in (-24, -9) else f"signal {-status}" if status < 0 else "silent"


def _read(reader: int, until: float) -> bytes | None:
    """Returns all that arrives; None if the time is over or it is too much."""
    data = bytearray()
    while len(data) < _LARGEST:
        ready, _, _ = select.select([reader], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return None
        part = os.read(reader, 1 << 16)
        if not part:
            return bytes(data)
        data += part
    return None
