"""The checkouts as a document, and what is known of each in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ptexplore.model.places import Checkout
from ptexplore.source.fetch.checkouts import CheckoutChoice, is_in_place, is_there

FORMAT = 1
REASONS = {
    "used": "chosen by fetch --use",
    "pinned": "pinned by the project's file",
    "fits": "fits the installed torch",
    "only": "the only one",
    "last": "fetched last; none fits the installed torch",
    "none": "",
}


def listing_document(checkouts: Sequence[Checkout], choice: CheckoutChoice) -> dict[str, Any]:
    """Every checkout with its record's fields, whether it is in use, used in place, and still there."""
    current = choice.checkout.name if choice.checkout else None
    rows = [
        {
            **dataclasses.asdict(checkout),
            "in_use": checkout.name == current,
            "in_place": is_in_place(checkout),
            "there": is_there(checkout),
            "is": describe(checkout),
        }
        for checkout in checkouts
    ]
    reason = REASONS[choice.reason] or None
    return {"format": FORMAT, "current": current, "reason": reason, "note": choice.note or None, "checkouts": rows}


def describe(checkout: Checkout) -> str:
    """In words what it is known to be; nothing that is not known."""
    if checkout.release is not None:
        known = f"release {checkout.release}"
    elif checkout.project != "pytorch":
        known = f"source of {checkout.project}"
    else:
        known = f"says it is {checkout.version}" if checkout.version else "of unknown version"
    commit = f", commit {checkout.commit[:12]}" if checkout.commit else ""
    return f"{known}{commit}{', modified' if checkout.modified else ''}"
