"""Writes the statistics of line_profiler (the files `.lprof`): a pickled object of its class LineStats.

The pickle is written by its opcodes, since line_profiler need not be installed. The class has the name that versions
4.0 and 5.1 know. An object has two attributes: `timings`, the lines of each function, and `unit`, in seconds.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable

from ptexplore.safe_text import clean
from ptexplore.view.trace.function_lines import FunctionLines

_CLASS = b"line_profiler._line_profiler\nLineStats\n"
_PROTOCOL = 2
_HEAD = 2  # bytes: the opcode and the number of the protocol
_UNIT = 1e-9  # times are nanoseconds


def line_stats(functions: Iterable[FunctionLines]) -> bytes:
    """Returns the file: for each function its lines, each with number, hits and time.

    line_profiler divides by the hits, so no line has 0.
    """
    timings: dict[tuple[str, int, str], list[tuple[int, int, int]]] = {}
    for function in functions:
        key = (clean(function.file), function.first, clean(function.name))
        timings.setdefault(key, []).extend((line.line, max(line.calls, 1), line.time) for line in function.lines)
    state = pickle.dumps({"timings": timings, "unit": _UNIT}, _PROTOCOL)[_HEAD : -len(pickle.STOP)]
    made = pickle.GLOBAL + _CLASS + pickle.EMPTY_TUPLE + pickle.NEWOBJ
    return pickle.PROTO + bytes([_PROTOCOL]) + made + state + pickle.BUILD + pickle.STOP
