"""What find, show and refs share: the trees that are searched, the running torch's catalogue, and common options."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ptexplore.cli.ready import Indexed, Ready
    from ptexplore.view.operators import Catalogue
    from ptexplore.view.trees import Spot


class Searched(NamedTuple):
    """The trees to search, first the one in use, and the installed torch's catalogue where there is one."""

    trees: list[Indexed]
    ready: Ready | None

    @property
    def catalogue(self) -> Catalogue | None:
        """The operators that the installed torch registered, with the tree of their places."""
        from ptexplore.view.operators import Catalogue

        number = next((n for n, one in enumerate(self.trees) if one.checkout is None), -1)
        return Catalogue(self.ready.store, self.ready.tree, number) if self.ready is not None else None

    def locate(self, spot: Spot) -> tuple[str, int] | None:
        """The file and the line there that `spot` is on this machine; None where it has no text here."""
        trees = [one.tree for one in self.trees] + ([self.catalogue.tree] if self.catalogue is not None else [])
        tree = next((one for one in trees if one.info.name == spot.tree.name), None)
        return tree.place_of(spot.ref.path, spot.ref.line or 1) if tree is not None and spot.ref.path else None


def add_options(parser: argparse.ArgumentParser, *, limit: int, what: str) -> None:
    """The options that every search has."""
    parser.add_argument("--limit", metavar="N", type=count, default=limit, help=f"{what} (default {limit}; 0: all)")
    parser.add_argument("--tree", metavar="NAME", help="only this tree: a checkout's name, or runtime")
    parser.add_argument("--json", action="store_true", help="as JSON (format 1)")
    parser.add_argument("--python", metavar="PATH", help="the torch of another Python")


def count(text: str) -> int:
    """A number of results; ValueError for what is none."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def search_in(options: argparse.Namespace) -> Searched:
    """The trees that the options name. Builds what is missing.

    Raises PtexploreError (USAGE) where --tree names none of them, and as `ready.indexes` does.
    """
    from ptexplore.cli.ready import indexes

    trees = indexes(options.python, options.tree)
    return Searched(trees, _ready(trees, options.python))


def _ready(trees: Sequence[Indexed], python: str | None) -> Ready | None:
    """The installed torch with its catalogue; None where it is not among the trees searched."""
    if all(one.checkout is not None for one in trees):
        return None
    from ptexplore.cli.ready import ready

    return ready(python)


def at_most(limit: int) -> int:
    """`--limit 0` means all."""
    return limit or 1 << 30
