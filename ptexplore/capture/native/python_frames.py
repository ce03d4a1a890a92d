"""Python's own calls among the machine's: the profile function's calls leave the tree, Python's functions come into it.

While it is stepped, Python calls the probe's profile function where a Python function begins and ends, and before each
builtin. These calls stand in the log like any other: they tell between which of the machine's calls a Python function
began and ended. They are no part of what you asked for. They are taken out, with all that the interpreter does around
each alone, and instructions are counted as if they had not been there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ptexplore.capture.native.stepped_call import PROFILE, PYTHON, SteppedCall
from ptexplore.capture.native.symbols import FunctionAddress
from ptexplore.model.messages import PythonLog

CALL, RETURN, C_CALL = 0, 3, 4  # what happened (cpython/pystate.h: PyTrace_CALL and those after it)


@dataclass(frozen=True)
class PythonNames:
    """How a log's addresses are read: the profile function and the stub that it calls, and what was called.

    `builtins` are names with the address of their C function. `lost`: the events end before the log does.
    """

    hook: int = 0
    mark: int = 0
    builtins: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    lost: bool = False


def names_of(log: PythonLog | None) -> PythonNames:
    """The names that the probe sent with a log; no address where it had no profile function."""
    return PythonNames(log.hook, log.mark, log.builtins, log.lost) if log is not None else PythonNames()


def place_python(root: SteppedCall, names: PythonNames) -> None:
    """Put Python's functions into the tree, in the place of the profile function's calls."""
    events = _events(root)
    if any(events.values()):
        _Placing(names, events, sum(call.place.kind == PROFILE for _, call in root.walk())).run(root)


def _events(root: SteppedCall) -> dict[int, SteppedCall | None]:
    """By the `id()` of each call that only tells the profile function one thing, the call of that function.

    None of a call that holds several of them, or a function of torch's.
    """
    told: dict[int, SteppedCall | None] = {}
    for call in reversed([call for _, call in root.walk()]):
        inside = [told[id(inner)] for inner in call.calls if id(inner) in told]
        if call.place.kind == PROFILE:
            told[id(call)] = call
        elif inside or call.place.library.startswith("libtorch"):
            told[id(call)] = inside[0] if len(inside) == 1 and not call.place.library.startswith("libtorch") else None
    return told


@dataclass
class _Running:
    """A call whose inner calls are being placed, and the Python functions that it runs, innermost last."""

    call: SteppedCall
    rest: Iterator[SteppedCall]
    python: list[SteppedCall] = field(default_factory=list)


@dataclass
class _Placing:
    """The walk through the tree: `taken` are the instructions taken out so far, `left` the events still to come."""

    names: PythonNames
    events: Mapping[int, SteppedCall | None]
    left: int
    taken: int = 0
    builtin: tuple[str, int] = ("", 0)  # the one that Python calls next

    def run(self, root: SteppedCall) -> None:
        """Place all of it; not recursive, since stacks can be deep."""
        pending = [_running(root)]
        while pending:
            around = pending[-1]
            call = next(around.rest, None)
            if call is None:
                around.call.end -= self.taken
                _finish(around, 0, around.call.end)
                pending.pop()
                continue
            told = self.events.get(id(call))
            if told is not None:
                self._happened(around, told.event, call.begin - self.taken)
                self.taken += call.inclusive
                continue
            call.begin -= self.taken
            if self.names.lost and not self.left:  # nobody saw what Python returned from meanwhile
                _finish(around, 0, call.begin)
            if call.place.start == self.builtin[1]:
                call.builtin, self.builtin = self.builtin[0], ("", 0)
            (around.python or [around.call])[-1].calls.append(call)
            pending.append(_running(call))

    def _happened(self, around: _Running, event: tuple[int, int] | None, now: int) -> None:
        """One thing that Python told: a function of its own begins or ends, or it calls a builtin."""
        self.left -= 1
        self.builtin = ("", 0)
        what, subject = event or (-1, 0)
        if what == CALL:
            place = FunctionAddress("", PYTHON, subject, "")
            begun = SteppedCall(place, (0, 0, 0), around.call.stack, now)
            (around.python or [around.call])[-1].calls.append(begun)
            around.python.append(begun)
        elif what == RETURN:
            running = [n for n, call in enumerate(around.python) if call.place.start == subject]
            if running:
                _finish(around, running[-1], now)
        elif what == C_CALL:
            self.builtin = self.names.builtins.get(subject, ("", 0))


def _running(call: SteppedCall) -> _Running:
    inner, call.calls = call.calls, []
    return _Running(call, iter(inner))


def _finish(running: _Running, first: int, now: int) -> None:
    """The Python functions of a call end, from one on."""
    for call in running.python[first:]:
        call.end = now
    del running.python[first:]
