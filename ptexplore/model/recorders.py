"""The recorders: their observations, their requirements, and the loss for a trace if one fails.

Each recorder is a row of `RECORDERS`. `capture/trace.py` reads a recorder's messages according to this row,
docs/json.md lists the rows, and `probe/recorders.py` has the function of each recorder that runs in a child of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ptexplore.model.options import TracedSource
from ptexplore.model.reasons import CallsMissing, FramesMissing, Reason

OPS, FRAMES, DISPATCH, TOGETHER, OPS_AGAIN = "ops", "frames", "dispatch", "once", "again"
NATIVE, LIBRARIES, WRITES, THROWN, FREED = "native", "libraries", "writes", "thrown", "freed"
PROGRAM, TWICE, COMPILER, LADDER = "program", "twice", "compiler", "ladder"
GRAPH, GRAPH_LINES, GRAPH_RUN, GRAPH_MEMORY = "graph", "graph-lines", "graph-run", "graph-memory"
PROBE, COMPARE, PROCESSES = "probe", "compare", "processes"

# pass: a run of the expression; the operators of all passes are compared. further run: a run of the same code after the
# passes. script: the one recorded run of a script. command: a run for a command of its own, outside of traces. parent:
# no run, the parent process finds it out.
RunBy = Literal["pass", "further run", "script", "command", "parent"]
# What a recorder needs besides torch.profiler and Python's hooks.
Need = Literal["a stepper", "a stepped run", "an error", "a process of its own", "a recorded script"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecorderSpec:
    """One recorder: a pass, a further run, or something that the parent finds out."""

    name: str
    about: str  # what it sees, in a few words
    runs: RunBy  # who runs it
    of: tuple[TracedSource, ...] = ("expression",)  # what it records
    tells: tuple[str, ...]  # the kinds of its observations: rows of `model/observed.py::KINDS`
    remarks: tuple[str, ...] = ()  # further kinds, whose data is a `Remark`
    fails_alone: bool = False  # if it fails, the trace lacks only what this recorder records
    needs: tuple[Need, ...] = ()
    options: tuple[str, ...] = ()  # the fields of `TraceOptions` that ask for it; without any, it always runs
    missing: Reason | None = None  # what a trace lacks without it

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of all its observations."""
        return *self.tells, *self.remarks


# The kinds of observations that any pass of an expression may send.
_OF_A_PASS = ("event", "launches", "raised", "output")
_CUT = ("cut",)

RECORDERS: Mapping[str, RecorderSpec] = {
    spec.name: spec
    for spec in (
        RecorderSpec(
            name=OPS,
            about="the operators and the nodes of backward that torch's profiler records",
            runs="pass",
            of=("expression", "script"),
            tells=(*_OF_A_PASS, "graph", "kept", "uncounted", "idle", "table"),
            remarks=_CUT,
        ),
        RecorderSpec(
            name=FRAMES,
            about="functions of Python, and torch's builtins that Python calls",
            runs="pass",
            of=("expression", "script"),
            tells=_OF_A_PASS,
            remarks=_CUT,
            missing=FramesMissing(),
        ),
        RecorderSpec(
            name=DISPATCH,
            about="each call of the expression, with the key sets of its tensors",
            runs="pass",
            tells=(*_OF_A_PASS, "call", "held"),
            remarks=_CUT,
            missing=CallsMissing(),
        ),
        RecorderSpec(
            name=TOGETHER,
            about="these three in one run",
            runs="pass",
            tells=("raised", "output"),
        ),
        RecorderSpec(
            name=OPS_AGAIN,
            about="the operators once more, if passes differ",
            runs="pass",
            tells=(),
        ),
        RecorderSpec(
            name=NATIVE,
            about="the functions of C++ that ran, instruction by instruction",
            runs="further run",
            of=("expression", "script"),
            tells=("calls", "result", "times", "unreadable", "libraries"),
            remarks=_CUT,
            fails_alone=True,
            needs=("a stepper",),
            options=("native", "native_op", "native_most", "first"),
        ),
        RecorderSpec(
            name=LIBRARIES,
            about="what oneDNN and MKL say of their own calls",
            runs="further run",
            of=("expression", "script"),
            tells=("libraries",),
            fails_alone=True,
            needs=("a stepped run",),
            options=("native", "native_op", "first"),
        ),
        RecorderSpec(
            name=THROWN,
            about="where C++ threw an error",
            runs="further run",
            of=("expression", "script"),
            tells=("thrown",),
            remarks=("stopped",),
            fails_alone=True,
            needs=("an error", "a process of its own"),
        ),
        RecorderSpec(
            name=WRITES,
            about="who wrote to a tensor that a node had saved",
            runs="further run",
            of=("expression", "script"),
            tells=("saved",),
            remarks=("unwatched",),
            fails_alone=True,
            needs=("an error",),
            options=("again",),
        ),
        RecorderSpec(
            name=FREED,
            about="which backward had freed a node",
            runs="further run",
            of=("expression", "script"),
            tells=("freed",),
            fails_alone=True,
            needs=("an error", "a process of its own"),
        ),
        RecorderSpec(
            name=PROGRAM,
            about="a whole script, or a block of your own process, folded as it runs",
            runs="script",
            of=("script",),
            tells=("launches", "idle", "raised", "output"),
            remarks=("cut", "stopped"),
        ),
        RecorderSpec(
            name=TWICE,
            about="a script's second run, under torch's profiler only",
            runs="further run",
            of=("script",),
            tells=("twice",),
            fails_alone=True,
            needs=("a recorded script",),
            options=("twice",),
        ),
        RecorderSpec(
            name=GRAPH,
            about="for `ptexplore graph`: the autograd graph behind the result",
            runs="command",
            tells=(),
        ),
        RecorderSpec(
            name=GRAPH_LINES,
            about="for `ptexplore graph`: the code that made each node",
            runs="command",
            tells=(),
            fails_alone=True,
        ),
        RecorderSpec(
            name=GRAPH_RUN,
            about="for `ptexplore graph --run`: what each node does in backward",
            runs="command",
            tells=(),
            fails_alone=True,
        ),
        RecorderSpec(
            name=GRAPH_MEMORY,
            about="for `ptexplore graph --memory` and `--leak`: memory over the steps of the code",
            runs="command",
            tells=(),
            fails_alone=True,
        ),
        RecorderSpec(
            name=COMPILER,
            about="for `ptexplore compile`: what torch.compile records about its decisions",
            runs="command",
            of=("expression", "script"),
            tells=("raised", "output"),
        ),
        RecorderSpec(
            name=LADDER,
            about="for `ptexplore lower`: the graphs that torch makes of the code",
            runs="command",
            of=("expression", "script"),
            tells=(),
        ),
        RecorderSpec(
            name=PROBE,
            about="the probe itself: what it draws at random, and why it ended early",
            runs="parent",
            of=("expression", "script"),
            tells=(),
            remarks=("varies", "stopped"),
        ),
        RecorderSpec(
            name=COMPARE,
            about="where passes called other operators",
            runs="parent",
            tells=("nondeterministic", "perturbed"),
        ),
        RecorderSpec(
            name=PROCESSES,
            about="the processes that your code left running",
            runs="parent",
            of=("expression", "script"),
            tells=("left-running",),
        ),
    )
}
