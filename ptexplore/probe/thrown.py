"""Where C++ threw what the user's code raises: the error's text with C++'s stack, from a run of its own.

Torch's C++ keeps the line that throws with each error, and the functions that are left. It writes both into the error's
text where TORCH_SHOW_CPP_STACKTRACES is set when torch is imported (torch/csrc/Module.cpp). So that is asked of a
process of its own: elsewhere the text would be another one than your program sees. Torch keeps no
line with errors of other classes: who raised those is noted there (raises.py).
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
STACK_LIMIT = 200_000  # characters kept of a message with C++'s stack


def run(request: RunRequestData) -> RunToldData:
    """The pass in this process: an observation "thrown" with the text, none where nothing was raised.

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
    raised = log.told(running.raised.error) if log is not None else None
    if raised is not None:
        data["raised"] = raised
    return {"observations": [seen(RECORDER, "thrown", data)]}
