"""Computes how anchors.lock would change: the place of every anchor on its baseline, folder by folder."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from ptexplore.annotations.anchors import Resolver, is_baseline
from ptexplore.annotations.files import read_bytes
from ptexplore.annotations.layers import Layer, is_installed
from ptexplore.annotations.load import NoteLibrary
from ptexplore.annotations.lock import LOCK, LockEntry, lock_text, read_lock
from ptexplore.errors import FAILED, USAGE, PtexploreError
from ptexplore.lookup.trees import IndexedTree
from ptexplore.model.places import TreeInfo


@dataclass(frozen=True)
class LockChange:
    """The lock of one folder of notes: its present text (`old`), its new text, and the number of anchors.

    `refused` says for each stop that cannot be pinned why not.
    """

    file: Path
    shown: str
    old: str
    text: str
    anchors: int
    refused: tuple[str, ...]

    @property
    def changes(self) -> bool:
        """Whether there is something to write. A folder without anchors needs no file."""
        return self.text != self.old


@dataclass(frozen=True)
class PinPlan:
    """The changes that pinning would make on one tree. `elsewhere` counts stops written on other baselines."""

    tree: TreeInfo
    locks: tuple[LockChange, ...]
    elsewhere: Mapping[str, int]


def plan_pins(library: NoteLibrary, indexed: IndexedTree, only: Collection[str] = ()) -> PinPlan:
    """Computes how the lock of each folder would change. `only` names tours or stops. Nothing is written."""
    resolver = Resolver(indexed.tree, indexed.store)
    elsewhere: Counter[str] = Counter()
    # Notes in an installed package stay as they were checked there.
    layers = [layer for layer in library.layers if not is_installed(layer)]
    locks = [_lock(library, layer, resolver, set(only), elsewhere) for layer in layers]
    return PinPlan(indexed.tree.info, tuple(locks), elsewhere)


def _lock(
    library: NoteLibrary, layer: Layer, resolver: Resolver, only: set[str], elsewhere: Counter[str]
) -> LockChange:
    file = layer.root / LOCK
    shown = f"{layer.shown}/{LOCK}"
    if os.path.lexists(file) and (file.is_symlink() or not file.is_file()):
        why = (
            "it is a link, and ptexplore does not write through it" if file.is_symlink() else "it is not a regular file"
        )
        raise PtexploreError(f"{shown} cannot be written", why, f"rm {shlex.quote(str(file))}", USAGE)
    try:
        read_bytes(file, 1)
    except FileNotFoundError:
        pass
    except OSError as error:  # else the file would count as missing, and be overwritten
        raise PtexploreError(f"{shown} cannot be read", error.strerror or str(error), "", FAILED) from error
    before, _problems = read_lock(file, layer.shown)
    after, refused = _entries(library, layer, resolver, only, elsewhere)
    own = {tour.name_of(stop) for tour, stop in library.stops() if library.layer_of[tour.id] == layer}
    unchanged = [before[name] for name in before if name in own and name not in after]
    entries = [*unchanged, *after.values()]
    old = lock_text(before.values()) if file.exists() else ""
    text = lock_text(entries) if before or after else old
    return LockChange(file, shown, old, text, len(entries), tuple(refused))


def _entries(
    library: NoteLibrary, layer: Layer, resolver: Resolver, only: set[str], elsewhere: Counter[str]
) -> tuple[dict[str, LockEntry], list[str]]:
    """Returns new entries for a folder's stops, and reasons for stops without one."""
    entries, refused = {}, []
    for tour, stop in library.stops():
        name = tour.name_of(stop)
        if library.layer_of[tour.id] != layer or (only and not only & {name, tour.id}):
            continue
        if not is_baseline(resolver.tree.info, tour.baseline):
            elsewhere[tour.baseline] += 1
            continue
        resolved = resolver.resolve(name, stop.anchor)  # without the old entry, so that the present anchor counts
        if resolved.placed and resolved.path == stop.anchor.path:
            entries[name] = resolver.pin(resolved, tour.baseline)
        else:
            refused.append(f"{stop.anchor.where}: {name} is {resolved.outcome}: {resolved.why}")
    return entries, refused
