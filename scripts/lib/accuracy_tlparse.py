"""What tlparse reads in torch's own log of a run, beside what `ptexplore compile` says about the same program.

Compared are numbers (graphs, graph breaks, recompilations, guards) and texts: the line and kind of each break, and
each reason of a recompilation.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib.accuracy_compile import AGAIN, BREAKS, SURROUNDINGS, program

PROGRAMS = 60
_AT = re.compile(r"^Graph break in user code at (.*):(\d+)$", re.MULTILINE)
_DOING = r"(?:Encountered graph break when attempting to [^\n]*\n\n)?"
_KIND = re.compile(rf"^Graph Break Reason: {_DOING}([^\n]+)", re.MULTILINE)
# A reason without the line of code that torch puts behind it.
_REASON = re.compile(r"^(\d+/\d+: .*?)(?:\s{2,}# .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Account:
    """What is said about one run. Breaks have their line and kind, reasons of recompilations their version and text."""

    graphs: int
    guards: int
    breaks: Counter[tuple[int, str]]
    reasons: Counter[str]


def tlparse() -> str | None:
    """Returns the command, if it is installed."""
    return shutil.which("tlparse", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")


def programs() -> list[str]:
    """Returns the texts of programs, each with a planted recompilation and a planted break in the same surrounding."""
    made = []
    for number in range(PROGRAMS):
        surrounding = SURROUNDINGS[number % len(SURROUNDINGS)]
        plants = AGAIN[number % len(AGAIN)], BREAKS[number * 3 % len(BREAKS)]
        made.append(program(plants, (surrounding,))[0])
    return made


def account_of_tlparse(script: Path, folder: Path, python: str) -> Account:
    """Runs a program alone, and returns what tlparse reads in its log."""
    traced, out = folder / "trace", folder / "out"
    environment = {**os.environ, "TORCH_TRACE": str(traced), "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}
    subprocess.run([python, str(script)], env=environment, check=True, capture_output=True)
    (log,) = traced.iterdir()
    subprocess.run([str(tlparse()), str(log), "-o", str(out), "--no-browser"], check=True, capture_output=True)
    artifacts: dict[str, list[str]] = {}
    for file in out.glob("*/*"):
        artifacts.setdefault(re.sub(r"_\d+$", "", file.stem), []).append(file.read_text(encoding="utf-8"))
    lines = (json.loads(line) for line in (out / "raw.jsonl").read_text(encoding="utf-8").splitlines())
    metrics = [line["compilation_metrics"] for line in lines if line.get("compilation_metrics")]
    reasons = [reason for text in artifacts.get("recompile_reasons", ()) for reason in _reasons(text)]
    return Account(
        graphs=len(artifacts.get("dynamo_output_graph", ())),
        guards=sum(each["guard_count"] or 0 for each in metrics),
        breaks=Counter(_broken(text) for text in artifacts.get("dynamo_graph_break_reason", ())),
        reasons=Counter(reasons),
    )


def _broken(text: str) -> tuple[int, str]:
    at, kind = _AT.search(text), _KIND.search(text)
    return (int(at[2]) if at else 0), (kind[1].strip() if kind else "")


def _reasons(text: str) -> list[str]:
    """Returns the reasons in an artifact: one on each line, a stack below some of them, or a list in JSON."""
    try:
        lines = json.loads(text)
    except ValueError:
        lines = [text]
    return [reason[1].strip() for line in lines for reason in _REASON.finditer(line)]


def account_of_ptexplore(script: Path, python: str | None) -> Account:
    """Returns what `ptexplore compile` says about a program."""
    command = [sys.executable, "-m", "ptexplore", "compile", "--script", str(script), "--json"]
    ended = subprocess.run(
        [*command, *(("--python", python) if python else ())], capture_output=True, text=True, check=False
    )
    document: dict[str, Any] = json.loads(ended.stdout[ended.stdout.index('{"') :])
    breaks: Counter[tuple[int, str]] = Counter()
    for function in document["functions"]:
        for broken in function["breaks"]:
            at = broken["at"]["line"] if broken["at"] is not None else 0
            breaks[at, broken["reason"]["kind"]] += broken["times"]
    checks = [check for again in document["recompilations"] for check in again["checks"]]
    reasons = Counter(f"{check['version']}: {check['text']}" for check in checks)
    return Account(document["graphs"], document["guard_count"], breaks, reasons)


def differences(python: str | None) -> list[tuple[str, int, int, list[str]]]:
    """Returns for each thing that is compared: in how many programs it is equal, of how many, and where it differs."""
    equal, wrong = Counter[str](), dict[str, list[str]]()
    texts = programs()
    kinds = ("graphs", "guards", "breaks", "reasons")
    for number, text in enumerate(texts):
        with tempfile.TemporaryDirectory() as held:
            script = Path(held, "planted.py")
            script.write_text(text, encoding="utf-8")
            theirs = account_of_tlparse(script, Path(held), python or sys.executable)
            ours = account_of_ptexplore(script, python)
        for kind in kinds:
            mine, read = getattr(ours, kind), getattr(theirs, kind)
            equal[kind] += mine == read
            if mine != read:
                wrong.setdefault(kind, []).append(f"program {number}: ptexplore {mine}, tlparse {read}")
    return [(kind, equal[kind], len(texts), wrong.get(kind, [])) for kind in kinds]
