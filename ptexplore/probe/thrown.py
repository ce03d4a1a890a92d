"""Where C++ threw the error of the user's code: the error's text with the C++ stack, from a run of its own.

With each error, torch's C++ keeps the line that throws and the functions that the error left. It writes both into the
text of the error if TORCH_SHOW_CPP_STACKTRACES is set when torch is imported (torch/csrc/Module.cpp). So a process of
its own sets this variable: anywhere else it would change the text that your program sees. Torch keeps no line for
errors of other classes. For these, the run notes which function raised (raises.py).
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from . import autograd, passes
from .expression import text_of
from .observations import seen
from .raises import RaiseLog
from .throws import NoNotes

if TYPE_CHECKING:
    from .messages import RunRequestData, RunToldData, SentThrowData

RECORDER: Final = "thrown"
STACK_LIMIT = 200_000  # characters kept of a message with the C++ stack


def run(request: RunRequestData) -> RunToldData:
    """Run the pass in this process: an observation "thrown" with the text, or no observation if nothing was raised.

    Raises Refused or Raised as every pass does.
    """
    running = passes.prepared(RECORDER, request)
    try:
        log = RaiseLog()
    except NoNotes:
        log = None
    with passes.stage("context"), ExitStack() as stack:
        passes.enter_contexts(stack, running)
        if log is not None:
            stack.callback(log.off)
            log.on()
        passes.phases(running, autograd.run_backward, lambda _, function, *given: function(*given))
    if running.raised is None:
        return {"observations": []}
    data: SentThrowData = {"text": text_of(running.raised.error)[:STACK_LIMIT]}
    raised = log.data_of(running.raised.error) if log is not None else None
    if raised is not None:
        data["raised"] = raised
    return {"observations": [seen(RECORDER, "thrown", data)]}
