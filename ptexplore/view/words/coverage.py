"""The words for what operators have for a dispatch key."""

from __future__ import annotations

from collections.abc import Mapping

from ptexplore.model.coverage import Has, KeyCoverage, Side

# On a row: what a call at this key runs. "{}" is the name of the kernel.
ON_ROW: Mapping[Has, str] = {
    "own": "{}",
    "alias": "{}",
    "yaml": "{}, in YAML, not in this build",
    "explicit": "CompositeExplicitAutograd",
    "implicit": "CompositeImplicitAutograd",
    "fallback": "boxed fallback",
    "fallthrough": "falls through to the next key",
    "none": "no kernel: a call raises",
}
# In the counts.
COUNTED: Mapping[Has, str] = {
    "own": "own kernel",
    "alias": "kernel of an alias key",
    "yaml": "in YAML, not in this build",
    "explicit": "CompositeExplicitAutograd",
    "implicit": "CompositeImplicitAutograd",
    "fallback": "boxed fallback",
    "fallthrough": "falls through",
    "none": "no kernel",
}
_HEADINGS: Mapping[Side, str] = {
    "has": "{total:,} of {operators:,} operators have a kernel for {key}",
    "missing": "{total:,} of {operators:,} operators have no kernel for {key}, neither their own nor a composite one",
}


def title(coverage: KeyCoverage) -> str:
    """Returns the first line: how many operators are on this side."""
    return _HEADINGS[coverage.side].format(total=coverage.total, operators=coverage.operators, key=coverage.key)


def counted(coverage: KeyCoverage) -> str:
    """Returns how many operators have what: "own kernel 1,178 · CompositeExplicitAutograd 1,263 · no kernel 370"."""
    return " · ".join(f"{COUNTED[has]} {count:,}" for has, count in coverage.counts.items() if count)
