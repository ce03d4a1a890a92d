"""Run an expression or a script once, and keep what torch.compile records about its decisions."""

from __future__ import annotations

import ast
import atexit
import linecache
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from . import autograd, isolate, last_words, passes, unpatched
from . import torch_api as api
from .compiler_log import LogReader
from .expression import is_program, read
from .frames import EXPRESSION
from .observations import answered, seen
from .raising import Raised
from .recorders import COMPILER
from .whose import GIVEN

if TYPE_CHECKING:
    from .messages import RunRequestData, RunToldData


def run(request: RunRequestData) -> RunToldData:
    """Run the code once, without any recorder, and return the compiler's log. If it is interrupted, the log so far.

    Raises Refused for names that cannot be bound, Raised if the code before it raises.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    is_script = is_program(request)
    if not is_script:
        _give_lines(request)
    running, log = passes.prepared(COMPILER, request), LogReader()
    if request.get("wraps"):
        running.evaluate = _compiled(request, running.names.values)

    def dying(error: BaseException) -> bytes:
        unpatched.put_back()
        running.raised = Raised(running.stage, error)
        return isolate.encoded(answered(COMPILER, _message(running, log)))

    limit = sys.getrecursionlimit()
    atexit._clear()  # functions registered before belong to the probe
    with passes.stage("context"), ExitStack() as stack:
        passes.enter_contexts(stack, running)
        with log.reading():
            try:
                with last_words.spoken(dying):
                    if is_script:
                        running.attempt("script", running.evaluate)
                        passes.wait_for_threads(running)
                    else:
                        passes.phases(running, autograd.run_backward, lambda _, function, *given: function(*given))
            finally:
                unpatched.put_back()
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # from here on the answer is on its way
    sys.setrecursionlimit(limit)
    message = _message(running, log)
    with suppress(BaseException):
        atexit._run_exitfuncs()  # as Python does at its end: the compiler's worker processes end, too
    return message


def _give_lines(request: RunRequestData) -> None:
    """Make the lines of typed code known, which are in no file."""
    texts = {f"{GIVEN} {number}>": code for number, code in enumerate(request["setup"], 1)}
    texts[EXPRESSION] = (request.get("expression") or "").strip()
    for file, text in texts.items():
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


def _compiled(request: RunRequestData, names: dict[str, Any]) -> Callable[[], Any]:
    """Return the expression as a function that torch.compile compiles."""
    tree = read(request)
    assert tree is not None
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    whole = ast.Expression(ast.copy_location(ast.Lambda(args=nothing, body=tree.body), tree.body))
    function = eval(compile(ast.fix_missing_locations(whole), EXPRESSION, "eval"), names)
    return api.compiled(function)


def _message(running: passes.Pass, log: LogReader) -> RunToldData:
    observations = [] if running.raised is None else [seen(COMPILER, "raised", running.raised.data())]
    return {
        "sequence": "0",
        "imported": 0,
        "raised": running.raised is not None,
        "bound": running.names.bound,
        "observations": observations,
        "compiler": log.data(),
    }
