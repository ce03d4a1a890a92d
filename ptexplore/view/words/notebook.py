"""The sentences beside a trace in a notebook: where the code ran, and why a variable was not copied."""

from __future__ import annotations

from collections.abc import Sequence

# By reason why a variable cannot be copied: the sentence about it.
NOT_COPIED = {
    "defined-here": "is defined in this notebook, or holds something that is",
    "has-graph": "is a result with an autograd graph",
    "has-hooks": "has hooks",
    "no-copy": "cannot be copied",
    "too-large": "is larger than 1 GiB together with the others",
}


def ran_on_copies(names: Sequence[str]) -> str:
    """Returns where an expression with these variables ran: in a process of its own."""
    if not names:
        return "ran in a process of its own"
    return f"ran in a process of its own, on copies of {', '.join(names)}"


def ran_in_kernel(not_copied: Sequence[tuple[str, str]]) -> str:
    """Returns where code ran, and why not on copies."""
    because = why_in_kernel(not_copied)
    return f"ran in the kernel, recorded: {because}" if because else "ran in the kernel, recorded"


def why_in_kernel(not_copied: Sequence[tuple[str, str]]) -> str:
    """Returns why code runs in the kernel; "" if it was asked for."""
    return "; ".join(f"{name} {NOT_COPIED[why]}" for name, why in not_copied)
