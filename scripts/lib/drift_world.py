"""What scripts/drift measures on: the baseline's tree and others of other versions, each with its index."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ptexplore.annotations.anchors import Resolver
from ptexplore.errors import MISSING, PtexploreError
from ptexplore.index.build import build
from ptexplore.index.reading_plan import IndexInput
from ptexplore.locations import index_file
from ptexplore.model.places import Checkout
from ptexplore.source.listing import files_of
from ptexplore.source.progress import Progress
from ptexplore.source.tree import checkout_tree
from ptexplore.store.index.reader import IndexStore
from ptexplore.workspace.opening import opened, refresh
from ptexplore.workspace.workspace import Workspace

BASELINE = "2.6.0"
FAR = "1.13.1"


@dataclass(frozen=True)
class World:
    """One tree to place anchors on; `release` names it in tables."""

    release: str
    what: str
    resolver: Resolver


def source_tree(release: str) -> Path:
    """The folder that scripts/get-source gives. Raises PtexploreError where it cannot."""
    script = Path(__file__).resolve().parent.parent / "get-source"
    said = subprocess.run((sys.executable, str(script), release), capture_output=True, text=True, check=False)
    if said.returncode:
        why = said.stderr.strip().splitlines()[-1] if said.stderr.strip() else "scripts/get-source failed"
        raise PtexploreError(f"there is no source tree of {release}", why, f"--tree {release}=DIR", MISSING)
    return Path(said.stdout.strip().splitlines()[-1])


def of_folder(release: str, folder: Path, progress: Progress, jobs: int) -> World:
    """A source tree in a folder, indexed; the index is kept for the next run."""
    root = str(folder.resolve())
    checkout = Checkout(f"v{release}", "folder", root, root, version=release)
    target = index_file(f"drift-{release}")
    build(IndexInput(checkout.name, root, files_of(checkout)), target, jobs=jobs, progress=progress)
    resolver = Resolver(checkout_tree(checkout), IndexStore.open(target))
    return World(release, f"source tree of {release}", resolver)


def of_runtime(python: str | None, progress: Progress, jobs: int) -> World:
    """The installed torch's own text: generated C++, headers, Python and YAML, no hand-written C++."""
    torch = Workspace(python).torch
    refresh(torch.runtime, torch.runtime, progress, jobs)
    release = re.match(r"[0-9.]*", torch.runtime.version)
    resolver = Resolver(torch.tree, opened(torch.runtime))
    return World(release[0] if release else torch.runtime.version, f"wheel of {torch.runtime.version}", resolver)
