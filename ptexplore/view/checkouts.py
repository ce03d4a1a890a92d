"""The checkouts as a document and as lines: what `fetch` says of what came, what there is, and what is in use."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ptexplore.model import Checkout, Runtime
from ptexplore.source.checkouts import Choice, fits, is_there
from ptexplore.source.placing import Outcome
from ptexplore.source.registry import is_in_place

FORMAT = 1
_REASONS = {
    "used": "chosen by fetch --use",
    "pinned": "pinned by the project's file",
    "fits": "fits the installed torch",
    "only": "the only one",
    "last": "fetched last; none fits the installed torch",
    "none": "",
}


def listing_document(checkouts: Sequence[Checkout], choice: Choice) -> dict[str, Any]:
    """Every checkout with its record's fields, whether it is in use, used in place, and still there."""
    rows = [
        {
            **dataclasses.asdict(found),
            "in_use": choice.checkout is not None and found.name == choice.checkout.name,
            "in_place": is_in_place(found),
            "there": is_there(found),
            "is": describe(found),
        }
        for found in checkouts
    ]
    current = choice.checkout.name if choice.checkout else None
    reason = _REASONS[choice.reason] or None
    return {"format": FORMAT, "current": current, "reason": reason, "note": choice.note or None, "checkouts": rows}


def listing_lines(document: dict[str, Any]) -> list[str]:
    """The list for a terminal: one checkout and its folder, the one in use marked by a star."""
    rows = document["checkouts"]
    lines = [] if rows else ["nothing was fetched yet; next: ptexplore fetch"]
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        mark = "*" if row["in_use"] else "+" if row["project"] != "pytorch" else " "
        place = "in place" if row["in_place"] else row["kind"]
        gone = "" if row["there"] else "  (its folder is gone)"
        lines += [f"{mark} {row['name']:{width}}  {place:8}  {row['is']}{gone}", f"  {'':{width}}  {row['root']}"]
    if document["current"]:
        lines.append(f"in use: {document['current']} ({document['reason']})")
    elif rows:
        lines.append("in use: none")
    return lines + ([f"  note  {document['note']}"] if document["note"] else [])


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


def outcome_lines(outcome: Outcome, choice: Choice, runtime: Runtime | None) -> list[str]:
    """What came, from where, where it lies, what to know of it, and which checkout is read now."""
    found = outcome.checkout
    lines = [f"{found.name}: {describe(found)}{'' if outcome.new else ' (was there already)'}"]
    lines += [f"  from  {found.origin}", f"  lies  {found.root}"]
    lines += [f"  note  {note}" for note in outcome.notes]
    if found.project != "pytorch":
        return [*lines, f"  read  beside PyTorch's own source, as {found.project}"]
    if runtime is not None and not fits(found, runtime):
        lines.append(f"  note  the installed torch is {runtime.version}; this is not known to be its source")
    return lines + choice_lines(choice)


def choice_lines(choice: Choice) -> list[str]:
    """Which checkout is in use, and why."""
    name = f"{choice.checkout.name} ({_REASONS[choice.reason]})" if choice.checkout else "none"
    return [f"in use: {name}"] + ([f"  note  {choice.note}"] if choice.note else [])


def removed_lines(gone: Checkout) -> list[str]:
    """What was removed, and what of it stays."""
    return [f"removed {gone.name}{f'; its folder {gone.root} stays as it is' if is_in_place(gone) else ''}"]
