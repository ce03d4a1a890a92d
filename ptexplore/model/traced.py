"""The kinds of things that can be traced, and how their traces differ.

Code that shows a trace asks these records for the difference, and does not look at how the trace is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

TracedName = Literal["expression", "script", "block"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """One kind of thing that can be traced."""

    name: TracedName
    each_call: bool  # every call is a hop, in order; else one hop stands for all calls of the same route
    in_files: bool  # your code is in files, so an error has a line in your code
    asked_again: bool  # it runs a second time only if you ask for it, because it may change things outside


TRACED: Mapping[TracedName, Traced] = {
    traced.name: traced
    for traced in (
        Traced(name="expression", each_call=True, in_files=False, asked_again=False),
        Traced(name="script", each_call=False, in_files=True, asked_again=True),
        Traced(name="block", each_call=False, in_files=True, asked_again=True),
    )
}
