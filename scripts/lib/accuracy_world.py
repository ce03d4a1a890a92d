"""What scripts/accuracy measures on: the matched pair of a torch and its own source tree, both indexed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ptexplore.errors import MISSING, PtexploreError
from ptexplore.index.build import build
from ptexplore.index.reading_plan import IndexInput
from ptexplore.index.semantic.arguments import Headers, headers
from ptexplore.locations import cache_root, index_file
from ptexplore.model.places import Checkout, Runtime
from ptexplore.resolve.places.relation import compare_files
from ptexplore.source.listing import CPP, files_of
from ptexplore.source.progress import Progress
from ptexplore.source.tree import SourceTree, checkout_tree
from ptexplore.store.catalogue.reader import Store
from ptexplore.store.index.reader import IndexStore
from ptexplore.workspace.opening import opened, refresh
from ptexplore.workspace.workspace import Workspace

_VERSION = "2.6.0"  # the release whose own tree is at hand
_INSTALL = "scripts/test --matched -k nothing  (makes the environment), or --python PATH"


@dataclass(frozen=True)
class World:
    """A runtime with its catalogue and generated C++, its checkout, the index of each."""

    runtime: Runtime
    checkout: Checkout
    tree: SourceTree
    catalogue: Store
    source: IndexStore
    generated: IndexStore
    headers: Headers
    files: list[tuple[str, str]]  # the checkout's C++: canonical path, file
    generated_files: list[tuple[str, str]]
    same: int  # files that checkout and wheel share, all equal

    @property
    def libraries(self) -> Path:
        return Path(self.runtime.torch_dir) / "lib"


def default_python() -> str:
    """The environment that `scripts/test --matched` makes."""
    return str(cache_root() / "environments" / f"torch-{_VERSION}" / "bin" / "python")


def default_tree() -> str:
    """The tree that scripts/get-source gives; raises PtexploreError where it cannot."""
    script = Path(__file__).resolve().parent.parent / "get-source"
    said = subprocess.run((sys.executable, str(script)), capture_output=True, text=True, check=False)
    if said.returncode:
        raise PtexploreError("there is no source tree", said.stderr.strip().splitlines()[-1], "--tree DIR", MISSING)
    return said.stdout.strip().splitlines()[-1]


def prepare(python: str | None, tree: str | None, jobs: int, progress: Progress) -> World:
    """Index the tree anew, the installed torch where it is not up to date. Raises PtexploreError: not a pair."""
    python = python or default_python()
    if not Path(python).exists():
        raise PtexploreError(f"there is no {python}", "the matched torch is not installed", _INSTALL, MISSING)
    root = str(Path(tree or default_tree()).resolve())
    progress.step("reading the installed torch")
    torch = Workspace(python).torch
    version = (Path(root) / "version.txt").read_text(encoding="utf-8").strip()
    checkout = Checkout(f"v{_VERSION}", "folder", root, root, version=version)
    listed = files_of(checkout)
    same, different = compare_files((one.path for one in listed), checkout, torch.runtime)
    if different or not same:
        why = f"{len(different)} of {same + len(different)} files that both have differ: {', '.join(different[:3])}"
        raise PtexploreError(f"torch {torch.runtime.version} and {root} are no pair", why, "--python, --tree", MISSING)
    target = index_file("accuracy")
    target.unlink(missing_ok=True)  # what is measured is what today's extractors make
    build(IndexInput(checkout.name, root, listed), target, jobs=jobs, progress=progress)
    refresh(torch.runtime, torch.runtime, progress, jobs)
    generated = files_of(torch.runtime)
    layer = [(one.path, one.file) for one in generated if one.layer == "generated" and Path(one.path).suffix in CPP]
    top = torch.tree.aids.parent if torch.tree.aids is not None else None
    return World(
        torch.runtime, checkout, checkout_tree(checkout), torch.catalogue, IndexStore.open(target),
        opened(torch.runtime),
        headers(root, str(top) if top else None, torch.runtime.torch_dir, torch.runtime.python),
        [(one.path, one.file) for one in listed if Path(one.path).suffix in CPP], layer, same,
    )  # fmt: skip
