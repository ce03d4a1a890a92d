"""The weights of hops (`model/run.py::Weighed`), with everything inside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ptexplore.model.nesting import folded
from ptexplore.model.run import NO_WEIGHTS, WEIGHTS, Carried, WeightTable, added
from ptexplore.model.trace import Hop, walk
from ptexplore.view.trace.columns import FORMATTERS
from ptexplore.view.words.weights import ENGLISH


def weights_with_inside(hops: Iterable[Hop]) -> Mapping[int, Carried]:
    """Returns the weights by the id of the hop. The hops inside count."""
    made: dict[int, Carried] = {}

    def note(hop: Hop, inside: tuple[Carried, ...]) -> Carried:
        made[hop.id] = added((hop.weights, *inside)) if hop.weights or any(inside) else NO_WEIGHTS
        return made[hop.id]

    folded(hops, note)
    return made


def weights_shown(hops: Iterable[Hop], table: WeightTable) -> Mapping[int, Carried]:
    """Returns the weights for a table of hops, by the id of the hop. The hops inside count. Empty without weights."""
    shown = {name for name, weight in WEIGHTS.items() if table in weight.tables and weight.recorder is not None}
    outermost = tuple(hops)
    if all(hop.weights is None or shown.isdisjoint(hop.weights) for hop in walk(outermost)):
        return {}
    return {
        number: {name: weights[name] for name in WEIGHTS if name in shown and name in weights}
        for number, weights in weights_with_inside(outermost).items()
    }


def figures(weights: Carried) -> Mapping[str, str]:
    """Formats the weights of a hop, by the headings of their columns."""
    return {ENGLISH[name].heading: FORMATTERS[WEIGHTS[name].unit](value) for name, value in weights.items() if value}
