"""A plugin of pytest: every sentence of the catalogues is nonsense. What passes nevertheless reads no sentence.

`scripts/nonsense` loads it. Commands that a test starts as processes of their own keep the true sentences.
"""

from __future__ import annotations

import re
from itertools import count
from typing import cast

from msgspec import Struct

from ptexplore.view.words import causes, details, places, reasons, remarks
from ptexplore.view.words.actions import AS_COMMANDS, IN_PYTHON
from ptexplore.view.words.templates import names


def pytest_configure() -> None:
    """Replace the sentences. Each keeps its arguments: what is shown of them is no wording.

    What has no words of its own, as a sentence of an older file, stays.
    """
    catalogues = (
        reasons.ENGLISH,
        places.ENGLISH,
        remarks.ENGLISH,
        remarks.NAMED,
        remarks.TYPED,
        details.ENGLISH,
        AS_COMMANDS,
        IN_PYTHON,
    )
    numbers = count()
    for catalogue in (cast("dict[type[Struct], str]", given) for given in catalogues):
        for code, template in list(catalogue.items()):
            number = next(numbers)
            if re.search(r"\w", re.sub(r"\{[^{}]*\}", "", template)):
                catalogue[code] = f"nonsense {number}" + "".join(f" {{{name}}}" for name in sorted(names(template)))
    for number, code in enumerate(causes.ENGLISH):
        causes.ENGLISH[code] = causes.Explained(f"nonsense {number}", f"nonsense {number}")
