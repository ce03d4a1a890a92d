"""What torch's usual errors come of: a code each, which `view/words/causes.py` puts in words.

What recognises a message stands in `facts/messages.py`.
"""

from __future__ import annotations

from ptexplore.facts.messages import MESSAGES
from ptexplore.model.observed import FailedGetter, UnusedInput
from ptexplore.model.trace import Cause


def cause_of_unused(seen: UnusedInput) -> Cause:
    """Why a tensor is not in the graph of the outputs, by what it is."""
    given: dict[str, str | tuple[str, ...]] = {
        "tensor": seen.tensor, "input": f"{seen.index} of {seen.count}" if seen.count > 1 else "", "node": seen.node,
        "leaves": seen.leaves, "further": str(seen.further or ""),
    }  # fmt: skip
    return Cause(code=f"unused-{seen.situation}", arguments=given)


def cause_of_getter(seen: FailedGetter) -> Cause:
    """Why an attribute that a class has was not found."""
    given = {"owner": seen.owner, "name": seen.name, "function": seen.function}
    return Cause(code="getter-raised", arguments=given)


def cause_of(message: str, exception: str = "") -> Cause | None:
    """The cause that an error's class and message tell; None for what no rule knows. A traceback holds both."""
    text = f"{exception}: {message}"
    return next((Cause(code=rule.cause) for rule in MESSAGES if rule.pattern.search(text)), None)
