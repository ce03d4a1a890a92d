"""The causes of torch's common errors, as codes. `view/words/causes.py` has the words.

`facts/messages.py` has the patterns that recognise a message.
"""

from __future__ import annotations

from ptexplore.facts.messages import MESSAGES
from ptexplore.model.observed import FailedGetter, UnusedInput
from ptexplore.model.trace import Cause


def cause_of_unused(seen: UnusedInput) -> Cause:
    """Returns why a tensor is not in the graph of the outputs."""
    given: dict[str, str | tuple[str, ...]] = {
        "tensor": seen.tensor, "input": f"{seen.index} of {seen.count}" if seen.count > 1 else "", "node": seen.node,
        "leaves": seen.leaves, "further": str(seen.further or ""),
    }  # fmt: skip
    return Cause(code=f"unused-{seen.situation}", arguments=given)


def cause_of_getter(seen: FailedGetter) -> Cause:
    """Returns why an attribute that the class has was not found."""
    given = {"owner": seen.owner, "name": seen.name, "function": seen.function}
    return Cause(code="getter-raised", arguments=given)


def cause_of(message: str, exception: str = "") -> Cause | None:
    """Returns the cause of an error from its class and message, or None if no rule matches.

    `message` may also be a whole traceback, which contains the class.
    """
    text = f"{exception}: {message}"
    return next((Cause(code=rule.cause) for rule in MESSAGES if rule.pattern.search(text)), None)
