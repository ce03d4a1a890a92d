"""The small tree, laid out and read once for all tests of resolve/."""

from __future__ import annotations

import shutil

import pytest

from ptexplore.index.build import build
from ptexplore.index.reading_plan import IndexInput
from ptexplore.model.places import Checkout
from ptexplore.source.listing import checkout_files
from ptexplore.source.tree import checkout_tree
from ptexplore.store.index.reader import IndexStore
from tests.unit.conftest import DATA, lay_out
from tests.unit.resolve.making import Small


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """minitorch with the generated files that dispatching needs, and a checkout with its hand-written C++."""
    folder = tmp_path_factory.mktemp("small")
    mini = lay_out(folder)
    for name, root in (("build", mini.generated), ("torch/csrc", mini.generated), ("torch/nn", mini.site)):
        shutil.copytree(DATA / "runtime" / name, root / name, dirs_exist_ok=True)
    checkout = Checkout("tree", "git", str(DATA / "checkout"), "a test", commit=mini.runtime.git_version)
    files = checkout_files(checkout)
    build(IndexInput("tree", "a test", files), folder / "index.sqlite", jobs=1)
    catalogues = folder / "catalogues"
    catalogues.mkdir()
    names = IndexStore.open(folder / "index.sqlite")
    return Small(mini, checkout, checkout_tree(checkout), names, catalogues)
