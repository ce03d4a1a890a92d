"""A checkout in words, and the reason why it is used."""

from __future__ import annotations

from ptexplore.model.places import Checkout

REASONS = {
    "used": "chosen by fetch --use",
    "pinned": "pinned by the project file",
    "built": "the installed torch was built in it",
    "fits": "fits the installed torch",
    "only": "the only one",
    "last": "fetched last; none fits the installed torch",
    "none": "",
}


def describe(checkout: Checkout) -> str:
    """Describes a checkout in words: release or version, commit, and whether it was modified."""
    if checkout.release is not None:
        known = f"release {checkout.release}"
    elif checkout.project != "pytorch":
        known = f"source of {checkout.project}"
    else:
        known = f"says that it is {checkout.version}" if checkout.version else "of unknown version"
    commit = f", commit {checkout.commit[:12]}" if checkout.commit else ""
    return f"{known}{commit}{', modified' if checkout.modified else ''}"
