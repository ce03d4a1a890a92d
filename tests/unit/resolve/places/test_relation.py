"""How a checkout relates to a runtime: by commit and archive hash where known, else by the files that both have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from ptexplore.model.places import Checkout
from ptexplore.resolve.places.relation import compare_files, is_runtimes, known
from ptexplore.source.fetch.releases import releases
from ptexplore.source.permalink import public_commit
from ptexplore.store.index.reader import IndexStore
from tests.unit.conftest import Mini

ONE = "1" * 40
PLAIN = Checkout("tree", "git", "/nowhere", "somewhere", commit="0" * 40)
RELEASE = releases()[0]
NONE = cast("IndexStore", None)  # only the tree that torch was built in is asked when its files changed


@pytest.mark.parametrize(
    "checkout, word",
    [
        (PLAIN, "matches"),
        (replace(PLAIN, modified=True), None),
        (replace(PLAIN, commit=ONE), "version-skew"),
        (replace(PLAIN, commit=ONE, modified=True), "version-skew"),
        (replace(PLAIN, kind="archive", commit=None, release=RELEASE.version, sha256="x"), "version-skew"),
        (replace(PLAIN, kind="archive", commit=None, sha256="x"), None),
        (replace(PLAIN, kind="folder", commit=None), None),
        (replace(PLAIN, project="other"), None),
    ],
)
def test_what_commits_and_hashes_decide(mini: Mini, checkout: Checkout, word: str | None) -> None:
    assert known(checkout, mini.runtime, NONE) == word


def test_an_archive_of_the_running_release_matches(mini: Mini) -> None:
    runtime = replace(mini.runtime, git_version=RELEASE.commit)
    assert known(replace(PLAIN, kind="archive", commit=None, release=RELEASE.version), runtime, NONE) == "matches"


def test_a_runtime_that_names_no_commit_is_never_matched(mini: Mini) -> None:
    assert known(PLAIN, replace(mini.runtime, git_version="unknown"), NONE) is None


def test_permalinks_only_where_the_text_is_that_commit_s() -> None:
    assert public_commit(PLAIN) == "0" * 40
    assert public_commit(replace(PLAIN, modified=True)) is None
    assert public_commit(replace(PLAIN, commit=None, kind="folder")) is None
    assert public_commit(replace(PLAIN, project="other")) is None
    assert public_commit(replace(PLAIN, commit=None, release=RELEASE.version)) == RELEASE.commit


def test_files_that_both_have_are_compared_byte_for_byte(mini: Mini, tmp_path: Path) -> None:
    """An installed header is compared without the lines that newer wheels wrap it in."""
    checkout = replace(PLAIN, root=str(tmp_path / "checkout"), commit=None)
    manual, yaml = "torch/csrc/autograd/FunctionsManual.h", "aten/src/ATen/native/native_functions.yaml"
    source = "aten/src/ATen/native/Blend.cpp"
    for path in (manual, yaml, source, "c10/only_here.h"):
        found = mini.tree.read(path)
        file = Path(checkout.root) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(found.text if found else "x", encoding="utf-8")
    paths = [manual, yaml, source, "c10/only_here.h"]
    assert compare_files(paths, checkout, mini.runtime) == (2, ())
    assert is_runtimes(yaml, checkout, mini.runtime)
    assert not is_runtimes(source, checkout, mini.runtime)
    (Path(checkout.root) / yaml).write_text("- func: other\n", encoding="utf-8")
    assert compare_files(paths, checkout, mini.runtime) == (1, (yaml,))
    assert not is_runtimes(yaml, checkout, mini.runtime)
