"""Record what oneDNN and MKL print about their own calls, in one run with their verbose output on.

The output says which primitive ran, in which implementation and for which problem. The calls are kept in order, by
phase. The run is a pass of its own: the expression's own output is dropped in it, and other passes have no such output.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any, Final

import torch

from . import autograd, passes
from . import torch_api as api
from .events import Phase
from .observations import seen

if TYPE_CHECKING:
    from .messages import LibraryCallData, RunRequestData, RunToldData

RECORDER: Final = "libraries"
MOST = 10_000  # maximum number of calls that are kept
UNBUFFERED = 2  # _IONBF of glibc
BYTES = 16 * 1024 * 1024  # maximum number of bytes of output that are read
# onednn_verbose,v1,primitive,exec,cpu,KIND,IMPLEMENTATION,PROPAGATION,MEMORY,ATTRIBUTES,AUXILIARY,PROBLEM,MILLISECONDS
_ONEDNN = re.compile(r"onednn_verbose,(?:v\d+,)?(?:primitive,)?exec,cpu,(\w+),([^,]+),.*,([^,]*),([\d.]+(?:e-?\d+)?)")
# MKL_VERBOSE SGEMM(N,N,3,3,3,0x7ff…,…) 5.01us CNR:…
_MKL = re.compile(r"MKL_VERBOSE (\w+)\((.*)\) ([\d.]+)([num]?s) .*")
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_ADDRESS = re.compile(r"0x[0-9a-f]+|\(nil\)")
# BLAS functions that step through a vector, without the letter of the type (netlib.org/blas, level 1 and 2). In these,
# a -1 after an address is a step. In LAPACK, it is the size of a workspace: the call only asks how large it must be.
_STEPS = (
    "rotg rotmg rot rotm swap scal copy axpy axpby dot dotu dotc sdot nrm2 asum amax amin gemv gbmv symv sbmv spmv hemv"
    " hbmv hpmv trmv tbmv tpmv trsv tbsv tpsv ger geru gerc syr spr her hpr syr2 spr2 her2 hpr2"
)
_BLAS = re.compile(rf"I?[SDCZ]{{1,2}}(?:{_STEPS.upper().replace(' ', '|')})(?:I|_\w+)?")


def run(request: RunRequestData) -> RunToldData:
    """Run the pass here. Returns one observation, "libraries". Raises Refused or Raised, as every pass does."""
    torch.set_num_threads(1)  # as in the native pass, since the implementation may depend on it
    before = None
    if not passes.steps_first(request):
        before = _evaluate(request, lambda _, function, *given: function(*given))
    calls: list[LibraryCallData] = []

    def listen(phase: Phase, function: Callable[..., Any], *given: Any) -> Any:
        with tempfile.TemporaryFile() as file:
            with _aside(file.fileno()), api.library_output():
                value = function(*given)
            calls.extend(calls_in(file, phase))
        return value

    _evaluate(request, listen, before)
    return {"observations": [seen(RECORDER, "libraries", {"calls": calls[:MOST], "cut": len(calls) > MOST})]}


def calls_in(file: IO[bytes], phase: Phase) -> list[LibraryCallData]:
    """Returns the calls of one phase that a file of output reports, in order."""
    file.seek(0)
    text = file.read(BYTES).decode(errors="replace")
    return [call for line in text.splitlines() if (call := read(line, phase)) is not None]


def read(line: str, phase: Phase) -> LibraryCallData | None:
    """Returns the call that a line reports, without addresses; None for any other line."""
    onednn, mkl = _ONEDNN.fullmatch(line), _MKL.fullmatch(line)
    if onednn is not None:
        kind, implementation, problem, milliseconds = onednn.groups()
        return {
            "phase": phase,
            "library": "oneDNN",
            "what": kind,
            "implementation": implementation,
            "problem": problem,
            "took": round(float(milliseconds) * _NANOSECONDS["ms"]),
        }
    if mkl is None:
        return None
    words = [word.strip() for word in re.split(r", ?0x", mkl[2], maxsplit=1)[0].split(",")]
    call: LibraryCallData = {
        "phase": phase,
        "library": "MKL",
        "what": mkl[1],
        "implementation": None,
        "problem": ",".join(word for word in words if "0x" not in word),
        "took": round(float(mkl[3]) * _NANOSECONDS[mkl[4]]),
    }
    if _is_query(mkl[1], mkl[2]):
        call["query"] = True
    return call


def _is_query(function: str, given: str) -> bool:
    """Returns whether a call only asks LAPACK how large a workspace must be.

    In that case the size given after the workspace's address is -1. The last argument is INFO, the result.
    """
    words = [word.strip() for word in given.split(",")]
    is_asked = any(_ADDRESS.fullmatch(work) and size == "-1" for work, size in pairwise(words[:-1]))
    return is_asked and _BLAS.fullmatch(function) is None


def _evaluate(request: RunRequestData, perform: Callable[..., Any], before: passes.Pass | None = None) -> passes.Pass:
    """Evaluate the expression as every pass does, and return the pass."""
    running = passes.prepared(RECORDER, request, before)
    with passes.stage("context"), ExitStack() as stack:
        passes.enter_contexts(stack, running)
        passes.phases(running, autograd.run_backward, perform)
    return running


@contextmanager
def _aside(descriptor: int) -> Iterator[None]:
    """Send what C code prints to `descriptor`, and drop what Python's print writes."""
    sys.stdout.flush()
    flush()
    kept = os.dup(1)
    os.dup2(descriptor, 1)
    try:
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            yield
    finally:
        flush()
        os.dup2(kept, 1)
        os.close(kept)


def flush() -> None:
    """Flush the C library's own streams."""
    ctypes.CDLL(None).fflush(None)


def write_at_once() -> None:
    """Make the C library's standard output unbuffered: nothing is lost if the process ends by a system call."""
    library = ctypes.CDLL(None)
    library.setvbuf(ctypes.c_void_p.in_dll(library, "stdout"), None, UNBUFFERED, ctypes.c_size_t(0))
