"""Python's calls among the machine's: a Python function holds what ran between its two events, which leave no trace."""

from __future__ import annotations

from ptexplore.capture.native.python_frames import C_CALL, CALL, RETURN, PythonNames, place_python
from ptexplore.capture.native.stepped_call import PROFILE, PYTHON, SteppedCall
from ptexplore.capture.native.symbols import FunctionAddress

F, G, H = 1, 2, 3  # code objects
COST = 100  # instructions of one event


class Log:
    """A tree of calls, written in the order in which they are made."""

    def __init__(self) -> None:
        self.root = SteppedCall(FunctionAddress("", "none", 0, ""), (0, 0, 0), 1 << 60, 0)
        self.open = [self.root]
        self.now = 0

    def enter(self, name: str, library: str = "libtorch_python.so", start: int = 9) -> None:
        self.now += 1
        call = SteppedCall(FunctionAddress(library, "function", start, name), (0, 0, 0), 0, self.now)
        self.open[-1].calls.append(call)
        self.open.append(call)

    def leave(self) -> None:
        self.now += 1
        self.open.pop().end = self.now

    def call(self, name: str, start: int = 9) -> None:
        self.enter(name, start=start)
        self.leave()

    def event(self, what: int, subject: int) -> None:
        """An event, with the wrapper that the interpreter puts around the profile function."""
        telling = SteppedCall(FunctionAddress("", PROFILE, 5, ""), (0, 0, 0), 0, self.now + 1, self.now + COST - 1)
        telling.event = (what, subject) if what >= 0 else None
        place = FunctionAddress("libpython3.11.so.1.0", "function", 8, "call_trace")
        wrapper = SteppedCall(place, (0, 0, 0), 0, self.now)
        wrapper.end = self.now = self.now + COST
        wrapper.calls.append(telling)
        self.open[-1].calls.append(wrapper)

    def placed(self, **names: object) -> str:
        """The tree after Python's functions have been put into it."""
        while self.open:
            self.leave()
        place_python(self.root, PythonNames(5, 6, **names))  # type: ignore[arg-type]
        return shape(self.root.calls)


def shape(calls: list[SteppedCall]) -> str:
    shown = []
    for call in calls:
        name = f"py{call.place.start}" if call.place.kind == PYTHON else call.place.mangled
        name = f"{name}={call.builtin}" if call.builtin else name
        shown.append(f"{name}({shape(call.calls)})" if call.calls else name)
    return " ".join(shown)


def test_one_loop_of_the_interpreter_runs_functions_that_call_each_other() -> None:
    log = Log()
    log.enter("Eval", "libpython3.11.so.1.0")
    log.event(CALL, F)
    log.call("a")
    log.event(CALL, G)
    log.call("b")
    log.event(RETURN, G)
    log.call("c")
    log.event(RETURN, F)
    log.call("d")
    assert log.placed() == "Eval(py1(a py2(b) c) d)"


def test_python_below_a_c_function_stands_inside_it() -> None:
    """`Function.apply` in Python calls THPFunction_apply, which calls `forward`, which calls a slot."""
    log = Log()
    log.enter("Eval", "libpython3.11.so.1.0")
    log.event(CALL, F)
    log.enter("THPFunction_apply")
    log.enter("Eval", "libpython3.11.so.1.0")
    log.event(CALL, G)
    log.call("THPVariable_mul")
    log.event(RETURN, G)
    log.leave()
    log.call("unpack")
    log.leave()
    log.event(RETURN, F)
    assert log.placed() == "Eval(py1(THPFunction_apply(Eval(py2(THPVariable_mul)) unpack)))"


def test_the_events_own_instructions_are_not_counted() -> None:
    with_events, without = Log(), Log()
    for log in (with_events, without):
        log.enter("Eval", "libpython3.11.so.1.0")
        if log is with_events:
            log.event(CALL, F)
        log.enter("mul")
        if log is with_events:
            log.event(CALL, G)
        log.call("inner")
        if log is with_events:
            log.event(RETURN, G)
        log.leave()
        if log is with_events:
            log.event(-1, 0)
            log.event(RETURN, F)
        log.placed()
    calls = [[(c.place.mangled, c.begin, c.end, c.own) for _, c in log.root.walk() if c.place.kind != PYTHON]
            for log in (with_events, without)]  # fmt: skip
    assert calls[0] == calls[1]


def test_a_generator_is_left_and_entered_again() -> None:
    log = Log()
    log.enter("Eval", "libpython3.11.so.1.0")
    log.event(CALL, F)
    for name in ("a", "b"):
        log.enter("Send", "libpython3.11.so.1.0")
        log.event(CALL, G)
        log.call(name)
        log.event(RETURN, G)
        log.leave()
    log.event(RETURN, F)
    assert log.placed() == "Eval(py1(Send(py2(a)) Send(py2(b))))"


def test_a_function_that_an_exception_ends_holds_nothing_more() -> None:
    """Python tells the end of each function that an exception leaves; one that it did not tell ends with its loop."""
    log = Log()
    log.enter("Eval", "libpython3.11.so.1.0")
    log.event(CALL, F)
    log.event(CALL, G)
    log.event(CALL, H)
    log.event(RETURN, H)
    log.event(RETURN, G)
    log.call("after")
    assert log.placed() == "Eval(py1(py2(py3) after))"


def test_recursion_ends_the_innermost() -> None:
    log = Log()
    log.enter("Eval", "libpython3.11.so.1.0")
    log.event(CALL, F)
    log.event(CALL, F)
    log.call("a")
    log.event(RETURN, F)
    log.call("b")
    log.event(RETURN, F)
    assert log.placed() == "Eval(py1(py1(a) b))"


def test_a_builtin_names_the_function_of_c_that_python_calls_next() -> None:
    log = Log()
    log.enter("Eval", "libpython3.11.so.1.0")
    log.event(CALL, F)
    log.event(C_CALL, 70)
    log.enter("vectorcall", "libpython3.11.so.1.0")
    log.call("THPVariable_add", start=700)
    log.leave()
    log.event(-1, 0)
    log.call("THPVariable_add", start=700)
    assert log.placed(builtins={70: ("add", 700)}) == ("Eval(py1(vectorcall(THPVariable_add=add) THPVariable_add))"), (
        "the second is a slot: nobody named it"
    )


def test_after_the_last_event_nobody_knows_where_python_is() -> None:
    """The traced code took the profile function away: that F returned was not told."""
    log = Log()
    log.enter("Eval", "libpython3.11.so.1.0")
    log.event(CALL, F)
    log.call("a")
    log.event(C_CALL, 70)
    log.call("b")
    assert log.placed(lost=True) == "Eval(py1(a) b)"


def test_an_end_whose_beginning_was_not_seen_ends_nothing() -> None:
    log = Log()
    log.enter("Eval", "libpython3.11.so.1.0")
    log.event(CALL, F)
    log.call("a")
    log.event(RETURN, G)
    log.call("b")
    assert log.placed() == "Eval(py1(a b))"
