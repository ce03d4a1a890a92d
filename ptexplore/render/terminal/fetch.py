"""Prints what `fetch` brought or removed, the list of checkouts, and the one in use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ptexplore.render.terminal.console import folded, make_console
from ptexplore.safe_text import clean
from ptexplore.source.fetch.checkouts import CheckoutChoice, fits, is_in_place, is_there
from ptexplore.view.checkouts import REASONS, describe

if TYPE_CHECKING:
    from ptexplore.model.places import Checkout, Runtime
    from ptexplore.source.fetch.install import FetchOutcome


def print_listing(checkouts: Sequence[Checkout], choice: CheckoutChoice) -> None:
    """Print every checkout with its folder, and a star at the one in use; then its name and the reason."""
    width = max((len(checkout.name) for checkout in checkouts), default=0)
    for checkout in checkouts:
        in_use = choice.checkout is not None and checkout.name == choice.checkout.name
        mark = "*" if in_use else "+" if checkout.project != "pytorch" else " "
        place = "in place" if is_in_place(checkout) else checkout.kind
        gone = "" if is_there(checkout) else "  (its folder is missing)"
        print(clean(f"{mark} {checkout.name:{width}}  {place:8}  {describe(checkout)}{gone}"))
        print(clean(f"  {'':{width}}  {checkout.root}"))
    if checkouts:
        print_choice(choice)
    else:
        print("nothing was fetched yet; next: ptexplore fetch")
        _print_notes(choice.note)


def print_outcome(outcome: FetchOutcome, choice: CheckoutChoice, runtime: Runtime | None) -> None:
    """Print the new checkout: its origin, its folder, notes on it, and the checkout that is now in use."""
    checkout = outcome.checkout
    print(clean(f"{checkout.name}: {describe(checkout)}{'' if outcome.new else ' (already fetched)'}"))
    print(clean(f"  from  {checkout.origin}"))
    print(clean(f"  in    {checkout.root}"))
    _print_notes(*outcome.notes)
    if checkout.project != "pytorch":
        print(clean(f"  read  beside PyTorch's own source, as {checkout.project}"))
        return
    if runtime is not None and not fits(checkout, runtime):
        _print_notes(f"the installed torch is {runtime.version}; it is not known whether this is its source")
    print_choice(choice)


def print_removed(checkout: Checkout) -> None:
    """Print what was removed, and what stays."""
    stays = f"; its folder {checkout.root} is unchanged" if is_in_place(checkout) else ""
    print(clean(f"removed {checkout.name}{stays}"))


def print_choice(choice: CheckoutChoice) -> None:
    """Print the checkout in use, and the reason."""
    name = f"{choice.checkout.name} ({REASONS[choice.reason]})" if choice.checkout else "none"
    print(clean(f"in use: {name}"))
    _print_notes(choice.note)


def _print_notes(*notes: str) -> None:
    for note in filter(None, notes):
        folded(make_console(), Text(f"  note  {clean(note)}"), "", " " * 8)
