"""A plugin of pytest: every sentence of the catalogues is nonsense. What passes nevertheless reads no sentence.

`scripts/nonsense` loads it. Commands that a test starts as processes of their own keep the true sentences.
"""

from __future__ import annotations

import re
from itertools import count
from typing import Any, cast

from msgspec import Struct

from ptexplore.view.words import (
    causes,
    compiling,
    coverage,
    details,
    editor,
    ending,
    errors,
    glossary,
    graph,
    headings,
    ladder,
    legend,
    lowering,
    notebook,
    places,
    reasons,
    remarks,
    tensors,
    trace_remarks,
    uses,
    weights,
)
from ptexplore.view.words.actions import AS_COMMANDS, IN_PYTHON
from ptexplore.view.words.templates import names

CATALOGUES = (
    reasons.ENGLISH, places.ENGLISH, places.ON_PAGES, remarks.ENGLISH, remarks.NAMED, remarks.TYPED, details.ENGLISH,
    AS_COMMANDS, IN_PYTHON, trace_remarks.ENGLISH, ending.ENGLISH, tensors.ENGLISH, ladder.ENGLISH,
)  # fmt: skip
TABLES: tuple[Any, ...] = (
    uses.CERTAINTY, uses.OTHERWISE, uses.OVERRIDDEN, uses.WITHIN, headings.HEADINGS, errors.OPTIONS,
    legend.STATUS_MEANS, legend.PRECISION_MEANS, legend.RELATION_MEANS, legend.OF_PROGRAMS, legend.OF_EXPRESSIONS,
    legend.SHARES, legend.ORDERS, glossary.GLOSSARY, ending.LABELS, coverage.ON_ROW, coverage.COUNTED,
    coverage._HEADINGS,
    graph.SAVED, graph.HOOKS, graph.NO_LINES, graph.NO_RUN, graph.OWNERS, graph.LEFT_AS, graph.WHY, tensors.OBJECTIONS,
    ladder.RUNGS, ladder.TABLES, ladder.HEADINGS, editor.REMARKS,
    compiling.COUNTED, compiling.KINDS, compiling.PHASES, compiling._DIFFERENT, compiling._UNKNOWN_NOW,
    lowering.ABOUT, lowering.FAILURES, lowering.FLAGS, lowering.NOTES, lowering.UNCHECKED, lowering.CHANGES,
    lowering.NOT_CORE, notebook.NOT_COPIED, weights.OF_ONE,
)  # fmt: skip
PAIRS: tuple[Any, ...] = (
    uses.SORTS,
    legend.SIGNS,
    legend.OF_ROWS,
    graph.UNCOUNTED,
)  # the sentence, or the plural, is the second


def pytest_configure() -> None:
    """Replace the sentences. Each keeps its arguments: what is shown of them is no wording.

    What has no words of its own, as a sentence of an older file, stays.
    """
    numbers = count()
    for catalogue in (cast("dict[type[Struct], str]", given) for given in CATALOGUES):
        for code, template in list(catalogue.items()):
            number = next(numbers)
            if re.search(r"\w", re.sub(r"\{[^{}]*\}", "", template)):
                catalogue[code] = _template(number, template)
    for cause, (why, remedy, cases) in causes.ENGLISH.items():
        words = [_template(next(numbers), text) if text else "" for text in (why, remedy)]
        signs = ((_template(next(numbers), sign), _template(next(numbers), mended)) for sign, mended in cases)
        causes.ENGLISH[cause] = causes.Explained(words[0], words[1], tuple(signs))
    for weight, known in weights.ENGLISH.items():
        means = [_nonsense(next(numbers), told) for told in (known.in_program, known.in_expression)]
        weights.ENGLISH[weight] = weights.WeightWords(known.heading, *means)
    for table in TABLES:
        table.update({code: _nonsense(next(numbers), told) for code, told in table.items()})
    for table in PAIRS:
        table.update({code: (told[0], _nonsense(next(numbers), told[1])) for code, told in table.items()})


def _template(number: int, template: str) -> str:
    """A template with the same arguments."""
    return f"nonsense {number}" + "".join(f" {{{name}}}" for name in sorted(names(template)))


def _nonsense(number: int, told: str) -> str:
    """A sentence with the places of its arguments alone."""
    return f"nonsense {number}" + "".join(f" {place}" for place in re.findall(r"\{\}|@", told))
