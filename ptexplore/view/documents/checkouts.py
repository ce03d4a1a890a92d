"""The document of all checkouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, field

from ptexplore.model.places import Checkout
from ptexplore.source.fetch.checkouts import CheckoutChoice, is_in_place, is_there
from ptexplore.view.checkouts import REASONS, describe
from ptexplore.view.documents.parts import FORMAT


class CheckoutEntry(Struct, frozen=True):
    """One checkout."""

    name: str  # its name
    kind: Literal["git", "archive", "folder"]  # the sort of source
    root: str  # the folder that canonical paths start at
    origin: str  # the address or folder that it comes from
    project: str  # `pytorch`, or the extension's name
    ref: str | None  # the tag or branch
    commit: str | None  # of a git checkout
    modified: bool  # whether files differ from that commit
    sha256: str | None  # of an archive
    release: str | None  # the release, if the source certainly is this release
    version: str | None  # the version that its own text states
    in_use: bool  # whether it is the one in use
    in_place: bool  # whether the checkout is a folder of yours, used in place
    is_there: bool = field(name="there")  # false if such a folder no longer exists
    described: str = field(name="is")  # a description


class CheckoutsDocument(Struct, frozen=True):
    """`fetch --list --json`."""

    format: int  # 1
    current: str | None  # the name of the one in use
    reason: str | None  # why this one is in use
    note: str | None  # a remark about the choice
    checkouts: tuple[CheckoutEntry, ...]  # every checkout


def checkouts_document(checkouts: Sequence[Checkout], choice: CheckoutChoice) -> CheckoutsDocument:
    """Returns every checkout with its record, whether it is in use, used in place, and still there."""
    current = choice.checkout.name if choice.checkout else None
    return CheckoutsDocument(
        format=FORMAT,
        current=current,
        reason=REASONS[choice.reason] or None,
        note=choice.note or None,
        checkouts=tuple(_checkout_entry(checkout, current) for checkout in checkouts),
    )


def _checkout_entry(checkout: Checkout, current: str | None) -> CheckoutEntry:
    return CheckoutEntry(
        name=checkout.name,
        kind=checkout.kind,
        root=checkout.root,
        origin=checkout.origin,
        project=checkout.project,
        ref=checkout.ref,
        commit=checkout.commit,
        modified=checkout.modified,
        sha256=checkout.sha256,
        release=checkout.release,
        version=checkout.version,
        in_use=checkout.name == current,
        in_place=is_in_place(checkout),
        is_there=is_there(checkout),
        described=describe(checkout),
    )
