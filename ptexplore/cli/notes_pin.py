"""`ptexplore notes pin`: write down where every anchor is on its baseline, after a look at what changes."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ptexplore.cli.notes import add_folders, add_tree, library_of, tree_of
from ptexplore.errors import FAILED, MISSING, PtexploreError
from ptexplore.writing import write_whole

if TYPE_CHECKING:
    from ptexplore.annotations.anchors import Resolver
    from ptexplore.annotations.load import Layer, Library
    from ptexplore.annotations.lock import Entry


def register(actions: Any) -> None:
    """Add the action to the parser."""
    parser: argparse.ArgumentParser = actions.add_parser(
        "pin",
        help="write anchors.lock: where each anchor is on its baseline",
        description="Show how anchors.lock would change, ask, and write it. Only what is on the baseline's own tree "
        "(`baseline:` in the front matter) is pinned.",
    )
    parser.add_argument("only", nargs="*", metavar="TOUR[#STOP]", help="only these")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    add_folders(parser)
    add_tree(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """0 where every lock is up to date now; 1 where something was not written or could not be pinned."""
    from ptexplore.annotations.anchors import Resolver
    from ptexplore.annotations.load import is_installed
    from ptexplore.render.plain import clean

    library = library_of(options)
    here = tree_of(options)
    resolver = Resolver(here.tree, here.store)
    open_ = False
    baselines: dict[str, int] = {}
    for problem in library.problems:
        print(clean(f"{problem.where}: {problem.text}"), file=sys.stderr)
    for layer in library.layers:
        if is_installed(layer):
            continue  # what came in a package is as it was checked there
        open_ = _layer(library, layer, resolver, options, baselines) or open_
    for baseline, count in baselines.items():
        what = (
            f"{count} stops are written on {baseline}, and the tree is {here.tree.info.name} {here.tree.info.version}"
        )
        print(f"not pinned: {what}", file=sys.stderr)
    if baselines and not open_:
        why = f"the tree in use is {here.tree.info.version}"
        hint = f"ptexplore fetch --ref {next(iter(baselines))}"
        raise PtexploreError(f"nothing is pinned of {', '.join(baselines)}", why, hint, MISSING)
    return FAILED if open_ or baselines else 0


def _layer(
    library: Library, layer: Layer, resolver: Resolver, options: argparse.Namespace, baselines: dict[str, int]
) -> bool:
    """Pin one folder's stops; True where its lock is not as it should be."""
    from ptexplore.annotations.lock import LOCK, lock_text, read_lock
    from ptexplore.render.plain import clean

    file = layer.root / LOCK
    before, _ = read_lock(file, layer.shown)
    after, refused = _entries(library, layer, resolver, set(options.only), baselines)
    kept = {key: entry for key, entry in before.items() if key not in after and _still(library, layer, key)}
    text = lock_text([*kept.values(), *after.values()])
    old = lock_text(before.values()) if file.exists() else ""
    for why in refused:
        print(f"cannot be pinned: {clean(why)}", file=sys.stderr)
    if text == old or not (after or before):
        return bool(refused)
    import difflib

    shown = f"{layer.shown}/{LOCK}"
    for line in difflib.unified_diff(old.splitlines(), text.splitlines(), shown, shown, lineterm="", n=0):
        print(clean(line))
    if not (options.yes or _agreed(shown)):
        print(f"{shown} is left as it is (--yes writes it)", file=sys.stderr)
        return True
    write_whole(file, text)
    print(f"{shown}: {len(kept) + len(after)} anchors")
    return bool(refused)


def _still(library: Library, layer: Layer, name: str) -> bool:
    return library.stop(name) is not None and library.layer_of.get(name.partition("#")[0]) == layer


def _entries(
    library: Library, layer: Layer, resolver: Resolver, only: set[str], baselines: dict[str, int]
) -> tuple[dict[str, Entry], list[str]]:
    """New entries of a layer's stops, and those that could have none."""
    from ptexplore.annotations.anchors import is_baseline

    found, refused = {}, []
    for tour, stop in library.stops():
        name = tour.name_of(stop)
        if library.layer_of[tour.id] != layer or (only and not only & {name, tour.id}):
            continue
        if not is_baseline(resolver.tree.info, tour.baseline):
            baselines[tour.baseline] = baselines.get(tour.baseline, 0) + 1
            continue
        resolved = resolver.resolve(name, stop.anchor)  # without the old entry: as the anchor is written now
        if resolved.placed and resolved.path == stop.anchor.path:
            found[name] = resolver.pin(resolved, tour.baseline)
        else:
            refused.append(f"{stop.anchor.where}: {name} is {resolved.outcome}: {resolved.why}")
    return found, refused


def _agreed(shown: str) -> bool:
    if not sys.stdin.isatty():
        return False
    print(f"write {shown}? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
