"""Record how Python and C++ take turns, without ptexplore: a program for the Python whose torch is looked at.

For each expression it prints, as JSON, every call of a Python function (by sys.settrace) with what called it: Python
frames, between them the functions of C++ that glibc's `backtrace` finds on the stack and binutils' nm names;
and every operator that torch's own TorchDispatchMode is told of, with the Python frames around it.
"""

from __future__ import annotations

import bisect
import ctypes
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FrameType
from typing import Any

DEEPEST = 2000  # native frames
EVALUATOR = "_PyEval_EvalFrameDefault"
WARM_UPS = 3
WRAPPERS = ("torch/_compile.py", "torch/_dynamo/eval_frame.py")  # what torch puts around a mode's own function
LIBRARIES = ("libtorch", "libc10", "libpython", "python3")


class Recorder:
    """What ran: a row for each call of a Python function, and one for each operator."""

    def __init__(self) -> None:
        self.calls: list[tuple[FrameType, CodeType, list[FrameType], tuple[int, ...]]] = []
        self.cold: list[tuple[FrameType, CodeType, list[FrameType], tuple[int, ...]]] = []  # of the first run
        self.operators: list[tuple[str, list[CodeType]]] = []
        self._backtrace = ctypes.CDLL(None).backtrace
        self._buffer = (ctypes.c_void_p * DEEPEST)()

    def trace(self, frame: FrameType, event: str, _: object) -> None:
        """The trace function: the stack at each call, outermost first."""
        if event == "call":
            count = self._backtrace(self._buffer, DEEPEST)
            self.calls.append((frame, frame.f_code, stack(frame), tuple(self._buffer[:count][::-1])))

    def run(self, made: Callable[[], Callable[[], Any]]) -> None:
        """Call fresh functions again and again: cold and warm with the trace function, then with the mode."""
        from torch.utils._python_dispatch import TorchDispatchMode

        recorder = self

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                codes = [frame.f_code for frame in stack(sys._getframe(1))]
                while codes and codes[-1].co_filename.endswith(WRAPPERS):
                    del codes[-1]
                recorder.operators.append((func.name(), codes))
                return func(*args, **(kwargs or {}))

        self._traced(made())
        self.cold, self.calls = self.calls, []
        for _ in range(WARM_UPS):
            made()()
        self._traced(made())
        function = made()
        with Mode():
            function()

    def _traced(self, function: Callable[[], Any]) -> None:
        sys.settrace(self.trace)
        try:
            function()
        finally:
            sys.settrace(None)


def stack(frame: FrameType | None) -> list[FrameType]:
    """A frame and those that called it, outermost first, without the recorder's own."""
    frames = []
    while frame is not None:
        if frame.f_code.co_filename != __file__:
            frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


def named(addresses: set[int]) -> dict[int, str]:
    """The functions at return addresses in torch's and Python's libraries, mangled, as `nm` names them."""
    names: dict[int, str] = {}
    with open("/proc/self/maps") as maps:
        for line in maps:
            fields = line.split(None, 5)
            path = fields[5].strip() if len(fields) == 6 else ""
            library = path.rpartition("/")[2]
            if "x" in fields[1] and library.startswith(LIBRARIES):
                low, high = (int(end, 16) for end in fields[0].split("-"))
                for address in addresses:
                    if low <= address - 1 < high:
                        name = function_at(path, address - 1 - low + int(fields[2], 16))
                        if name.startswith(EVALUATOR) or library.startswith(("libtorch", "libc10")):
                            names[address] = re.sub(r"\.(cold|isra|constprop|part|lto_priv).*", "", name)
    return names


TABLES: dict[str, tuple[list[int], list[str], list[tuple[int, int, int]]]] = {}


def function_at(path: str, offset: int) -> str:
    """The function at an offset into a file: the symbol that begins last before it."""
    if path not in TABLES:
        symbols = []
        for option in ("-n", "-Dn"):
            given = subprocess.run(["nm", option, "--defined-only", path], capture_output=True, text=True, check=False)
            symbols += [line.split() for line in given.stdout.splitlines() if re.search(r" [tTwWi] ", line)]
            if symbols:
                break
        loads = re.findall(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", output_of("readelf", "-lW", path))
        segments = [(int(start, 16), int(address, 16), int(size, 16)) for start, address, size in loads]
        TABLES[path] = [int(symbol[0], 16) for symbol in symbols], [symbol[2] for symbol in symbols], segments
    starts, texts, segments = TABLES[path]
    for start, address, size in segments:
        if start <= offset < start + size:
            offset += address - start
            break
    at = bisect.bisect_right(starts, offset) - 1
    return texts[at] if at >= 0 else ""


def output_of(*command: str) -> str:
    """What a program prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def key(code: CodeType, root: str) -> str | None:
    """A Python function of torch or of what was given, by file and name; None for others."""
    file = code.co_filename
    if file.startswith(root):
        return f"{file[len(root) :]} {code.co_name}"
    return f"{file} {code.co_name}" if file.startswith("<--setup") else None


def as_data(recorder: Recorder, root: str) -> dict[str, Any]:
    """The rows as plain data: each call's chain, Python functions by their keys and C++ functions between them."""
    names = named({address for *_, addresses in (*recorder.calls, *recorder.cold) for address in addresses})
    cold, calls = (list(_calls(rows, names, root)) for rows in (recorder.cold, recorder.calls))
    operators = [
        {"op": op, "chain": [shown for code in codes if (shown := key(code, root)) is not None]}
        for op, codes in recorder.operators
    ]
    return {"calls": calls, "cold": cold, "operators": operators}


def _calls(rows: list[Any], names: dict[int, str], root: str) -> Iterator[dict[str, Any]]:
    evaluators: dict[int, int] = {}  # by frame: how many of the interpreter's loops were open when it was called
    for frame, code, frames, addresses in rows:
        native = [names[address] for address in addresses if address in names]
        loops = [n for n, name in enumerate(native) if name.startswith(EVALUATOR)][:-1]  # the last runs `trace`
        evaluators[id(frame)] = len(loops)
        shown = key(code, root)
        if shown is not None:
            yield {"key": shown, "chain": list(chain(frames, evaluators, native, loops, root))}


def chain(
    frames: list[FrameType], evaluators: dict[int, int], native: list[str], loops: list[int], root: str
) -> Iterator[list[str]]:
    """What is on the stack at a call, outermost first: ["python", key] and ["c++", mangled name].

    The C++ functions between two Python frames stand between the loops of the interpreter that run these frames; where
    one loop runs both, there is none.
    """
    before = None
    for frame in frames:
        now = evaluators.get(id(frame))
        if now is not None and before is not None and now > before:
            for name in native[loops[before - 1] : loops[now - 1]]:
                if not name.startswith(EVALUATOR):
                    yield ["c++", name]
        before = now if now is not None else before
        shown = key(frame.f_code, root)
        if shown is not None:
            yield ["python", shown]


def made(setup: str, expression: str) -> Callable[[], Any]:
    """The expression as a function, after its setup, with names of its own."""
    import torch

    names = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "__name__": "__ptexplore__"}
    exec(compile(setup, "<--setup 1>", "exec"), names)
    code = compile(expression, "<expression>", "eval")
    return lambda: eval(code, names)


def main() -> None:
    """Read [[setup, expression], …] and print what each did, a line an expression."""
    import torch

    torch.set_num_threads(1)
    addresses = [ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value or 0]
    with open("/proc/self/maps") as maps:  # the tables are read once, for all forks
        paths = {line.split()[-1] for line in maps if "/libtorch_" in line or "/libc10." in line}
    for path in paths:
        function_at(path, 0)
    named(set(addresses))
    root = os.path.dirname(os.path.dirname(os.path.abspath(str(torch.__file__)))) + os.sep
    for setup, expression in json.load(sys.stdin):
        make = partial(made, setup, expression)
        print(_answer(make, root, warm=True) or _answer(make, root, warm=False) or "null", flush=True)


def _answer(make: Callable[[], Callable[[], Any]], root: str, *, warm: bool) -> str:
    """What a fork of this process records. With `warm` nothing, if the first call does not import modules.

    A first call that does is passed over: ptexplore shows a later one.
    """
    reader, writer = os.pipe()
    if os.fork() == 0:
        before = 0
        if warm:
            function, before = make(), len(sys.modules)
            function()
        if not warm or len(sys.modules) > before:
            recorder = Recorder()
            recorder.run(make)
            with open(writer, "w", encoding="utf-8") as out:
                out.write(json.dumps(as_data(recorder, root)))
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as answer:
        given = answer.read()
    os.wait()
    return given


if __name__ == "__main__":
    main()
