"""Inserts Python functions into the tree of machine calls, and removes the calls of the profile function.

During stepping, Python calls the probe's profile function at the beginning and the end of each Python function, and
before each builtin. These calls are in the log like all others, and show between which machine calls a Python function
began and ended. They are not part of the user's code. So they are removed, with everything that the interpreter does
only for them, and their instructions are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ptexplore.capture.native.stepped_call import PROFILE, PYTHON, SteppedCall
from ptexplore.capture.native.symbols import FunctionAddress
from ptexplore.model.messages import PythonLog

CALL, RETURN, C_CALL = 0, 3, 4  # kinds of events (cpython/pystate.h: PyTrace_CALL and those after it)


@dataclass(frozen=True)
class PythonNames:
    """How to read the addresses of a log: the profile function, the stub that it calls, and the builtins.

    `builtins` are names with the address of their C function. `lost`: the events end before the log does.
    """

    hook: int = 0
    mark: int = 0
    builtins: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    lost: bool = False


def names_of(log: PythonLog | None) -> PythonNames:
    """Returns the names that the probe sent with a log. Addresses are 0 if it had no profile function."""
    return PythonNames(log.hook, log.mark, log.builtins, log.lost) if log is not None else PythonNames()


def place_python(root: SteppedCall, names: PythonNames) -> None:
    """Puts Python functions into the tree, in place of the profile function's calls."""
    events = _events(root)
    if any(events.values()):
        _Placing(names, events, sum(call.place.kind == PROFILE for _, call in root.walk())).run(root)


def _events(root: SteppedCall) -> dict[int, SteppedCall | None]:
    """Returns the calls that exist only to report to the profile function:

    `id()` of a call -> the profile function's call.

    The value is None if a call contains several reports, or if it is a function of torch.
    """
    events: dict[int, SteppedCall | None] = {}
    for call in reversed([call for _, call in root.walk()]):
        inside = [events[id(inner)] for inner in call.calls if id(inner) in events]
        if call.place.kind == PROFILE:
            events[id(call)] = call
        elif inside or call.place.library.startswith("libtorch"):
            events[id(call)] = inside[0] if len(inside) == 1 and not call.place.library.startswith("libtorch") else None
    return events


@dataclass
class _Running:
    """A call whose inner calls are being placed, and the Python functions running in it, innermost last."""

    call: SteppedCall
    rest: Iterator[SteppedCall]
    python: list[SteppedCall] = field(default_factory=list)


@dataclass
class _Placing:
    """The walk through the tree.

    `taken` is the number of instructions removed so far, `left` the number of later events.
    """

    names: PythonNames
    events: Mapping[int, SteppedCall | None]
    left: int
    taken: int = 0
    builtin: tuple[str, int] = ("", 0)  # the builtin that Python calls next

    def run(self, root: SteppedCall) -> None:
        """Places everything. It is not recursive, since stacks can be deep."""
        pending = [_running(root)]
        while pending:
            around = pending[-1]
            call = next(around.rest, None)
            if call is None:
                around.call.end -= self.taken
                _finish(around, 0, around.call.end)
                pending.pop()
                continue
            reporting = self.events.get(id(call))
            if reporting is not None:
                self._happened(around, reporting.event, call.begin - self.taken)
                self.taken += call.inclusive
                continue
            call.begin -= self.taken
            if self.names.lost and not self.left:  # events were lost, so the end of these functions is unknown
                _finish(around, 0, call.begin)
            if call.place.start == self.builtin[1]:
                call.builtin, self.builtin = self.builtin[0], ("", 0)
            (around.python or [around.call])[-1].calls.append(call)
            pending.append(_running(call))

    def _happened(self, around: _Running, event: tuple[int, int] | None, now: int) -> None:
        """Handles one event: a Python function begins or ends, or Python calls a builtin."""
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
    """Ends the Python functions of a call, from number `first` on."""
    for call in running.python[first:]:
        call.end = now
    del running.python[first:]
