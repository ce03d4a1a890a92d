"""Compare the operators that the passes saw: a difference is either the expression's own or a recorder's doing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

AGAIN = "again"  # the ops pass run a second time, which the probe does only where passes differ


def compare(passes: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Observations (kind and data) of passes that saw other operators than the first pass did.

    "nondeterministic" where the first pass itself differs when run again, "perturbed" where only a recorder's does.
    `passes` are the probe's messages by recorder, the first pass first.
    """
    names = {recorder: operators(message["observations"]) for recorder, message in passes.items()}
    reference = next(iter(names), None)
    if reference is None:
        return []
    kind = "perturbed" if names.get(AGAIN) == names[reference] else "nondeterministic"
    return [
        (kind, _difference(kind, reference, recorder, names[reference], seen))
        for recorder, seen in names.items()
        if seen != names[reference]
    ]


def operators(observations: list[dict[str, Any]]) -> list[str]:
    """The operators and autograd nodes of one pass, in order."""
    events = (o["data"] for o in observations if o["kind"] == "event")
    return [str(e["name"]) for e in events if e["type"] in ("op", "node")]


def _difference(kind: str, reference: str, recorder: str, first: list[str], second: list[str]) -> dict[str, Any]:
    pairs = zip(first, second, strict=False)
    position = next((n for n, (one, two) in enumerate(pairs) if one != two), min(len(first), len(second)))
    one, two = (names[position] if position < len(names) else None for names in (first, second))
    what = "two runs called different operators" if kind == "nondeterministic" else "the recorder changed what ran"
    seen = f"{one or 'the end'} in the {reference} pass, {two or 'the end'} in {recorder}"
    text = f"{what}: number {position + 1} was {seen}"
    return {"passes": [reference, recorder], "position": position, "operators": [one, two], "text": text}
