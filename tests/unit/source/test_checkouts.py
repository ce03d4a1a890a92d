"""Which checkout is in use, and what the registry makes visible."""

from __future__ import annotations

import dataclasses
import errno
import os
from pathlib import Path

import pytest

from ptexplore import locations
from ptexplore.errors import PtexploreError
from ptexplore.model.places import Checkout, Runtime
from ptexplore.source.fetch import checkouts, releases
from ptexplore.source.fetch import install as placing
from ptexplore.source.fetch.install import recheck
from tests.upstream import git, make_upstream, write_tree

KNOWN = releases.by_tag("v2.6.0")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def runtime(version: str, git_version: str) -> Runtime:
    return Runtime("python", "3.11", "/torch", version, git_version, "wheel", None, None, (), "k", "i")


def put(name: str, **fields: object) -> Checkout:
    """A registered checkout with a tree of its own."""
    with checkouts.locked(), placing.fresh() as aside:
        write_tree(aside / checkouts.TREE)
        made = Checkout(name, "git", "", "somewhere", **fields)  # type: ignore[arg-type]
        return placing.placed(aside, made)


def test_the_release_table() -> None:
    assert KNOWN is not None
    assert KNOWN.commit == "2236df1770800ffea5697b11b0bb0d910b2e59e1"
    for release in releases.releases():
        assert len(release.commit) == 40
        assert release.tag == f"v{release.version}"
        assert releases.by_commit(release.commit) == release
        for _, sha in release.archives:
            assert len(sha) == 64
            assert releases.by_archive(sha) == release
    assert releases.by_archive(None) is releases.by_commit(None) is releases.by_tag(None) is None


def test_a_link_into_another_cache_is_no_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put("mine")
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "given"))
    (tmp_path / "given/checkouts").mkdir(parents=True)
    (tmp_path / "given/checkouts/x").symlink_to(tmp_path / "cache/checkouts/mine")
    assert checkouts.checkouts() == []
    for change in (checkouts.remove, checkouts.use):
        with pytest.raises(PtexploreError, match="no checkout is called x"):
            change("x")
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "cache"))
    assert [checkout.name for checkout in checkouts.checkouts()] == ["mine"]


def test_the_one_that_fits_is_taken() -> None:
    a, b = "a" * 40, "b" * 40
    assert checkouts.choose(runtime("9.0", a)).reason == "none"
    put("one", commit=a)
    assert checkouts.choose(runtime("9.0", b)).reason == "only"
    put("two", commit=b)
    assert checkouts.current(runtime("9.0", a)).name == "one"  # type: ignore[union-attr]
    assert checkouts.current(runtime("9.0", b)).name == "two"  # type: ignore[union-attr]
    last = checkouts.choose(runtime("9.0", "c" * 40))
    assert (last.checkout and last.checkout.name, last.reason) == ("two", "last")


def test_modified_or_merely_named_alike_does_not_fit() -> None:
    assert KNOWN is not None
    mine = runtime("2.6.0+cpu", KNOWN.commit)
    good = Checkout("x", "git", "/", "o", commit=KNOWN.commit)
    assert checkouts.fits(good, mine)
    assert not checkouts.fits(dataclasses.replace(good, modified=True), mine)
    assert not checkouts.fits(Checkout("x", "folder", "/", "o", version="2.6.0a0"), mine)
    assert not checkouts.fits(Checkout("x", "git", "/", "o", ref="v2.6.0", commit="a" * 40), mine)
    assert checkouts.fits(Checkout("x", "archive", "/", "o", sha256="s", release="2.6.0"), mine)
    assert not checkouts.fits(Checkout("x", "archive", "/", "o", release="2.6.0"), runtime("2.6.0", "a" * 40))
    assert not checkouts.fits(good, None)


def test_use_then_pin_then_fit(tmp_path: Path) -> None:
    a, b, c = "a" * 40, "b" * 40, "c" * 40
    for name, commit in {"one": a, "two": b, "three": c}.items():
        put(name, commit=commit, ref=f"v9.{len(name)}")
    mine = runtime("9.0", a)
    assert checkouts.choose(mine).reason == "fits"
    (tmp_path / "here/ptexplore.toml").write_text(f'ref = "{b}"\n', encoding="utf-8")
    pinned = checkouts.choose(mine)
    assert (pinned.checkout and pinned.checkout.name, pinned.reason) == ("two", "pinned")
    checkouts.use("three")
    used = checkouts.choose(mine)
    assert (used.checkout and used.checkout.name, used.reason) == ("three", "used")
    assert b in used.note, "the pin that is not followed is named"
    checkouts.remove("three")
    assert checkouts.choose(mine).reason == "pinned", "the choice goes with the checkout"
    checkouts.remove("two")
    missing = checkouts.choose(mine)
    assert missing.checkout is None
    assert "ptexplore fetch" in missing.note


def test_an_extension_is_never_the_one_in_use() -> None:
    put("backend", project="backend")
    assert checkouts.current(runtime("9.0", "a" * 40)) is None
    assert [found.name for found in checkouts.extensions()] == ["backend"]


def test_what_has_no_record_is_not_there(tmp_path: Path) -> None:
    put("one", commit="a" * 40)
    folder = tmp_path / "cache/checkouts"
    for name in ("half", ".fetching-git-x", "-x", "a b"):
        write_tree(folder / name / "tree")
    (folder / "file").write_text("x", encoding="utf-8")
    assert [found.name for found in checkouts.checkouts()] == ["one"]
    for name in ("half", ".fetching-git-x", "../here", "", "-x", "file"):
        with pytest.raises(PtexploreError):
            checkouts.load(name)


def test_a_cache_that_was_moved_still_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put("one", commit="a" * 40)
    (tmp_path / "cache").rename(tmp_path / "moved")
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "moved"))
    (found,) = checkouts.checkouts()
    assert Path(found.root).is_relative_to(tmp_path / "moved")
    assert not checkouts.is_in_place(found)


def test_replacing_a_checkout_drops_its_index(tmp_path: Path) -> None:
    put("one", commit="a" * 40)
    index = tmp_path / "cache/index/checkout-one.sqlite"
    index.parent.mkdir()
    index.write_text("of the old text", encoding="utf-8")
    put("one", commit="b" * 40)
    assert not index.exists()
    index.write_text("of the new text", encoding="utf-8")
    checkouts.remove("one")
    assert not index.exists()


def test_a_checkout_stays_until_another_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the disk fails between the two renames, or the process is killed there."""
    put("one", commit="a" * 40)
    real, folder = Path.rename, locations.checkouts_dir() / "one"

    def failing(source: Path, target: Path) -> Path:
        if target == folder and source.name == f"{checkouts.ASIDE}new":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(target))
        return real(source, target)

    with monkeypatch.context() as broken, pytest.raises(OSError, match="Input/output error"):
        broken.setattr(Path, "rename", failing)
        put("one", commit="b" * 40)
    assert checkouts.load("one").commit == "a" * 40
    folder.rename(folder.with_name(f"{checkouts.REPLACED}one"))  # all that a kill lets come about
    with checkouts.locked():
        placing.sweep()
    assert checkouts.load("one").commit == "a" * 40
    put("one", commit="b" * 40)
    assert checkouts.load("one").commit == "b" * 40
    assert not list(folder.parent.glob(f"{checkouts.ASIDE}*"))


def test_a_folder_in_place_is_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_tree(tmp_path / "mine")
    commit = make_upstream(folder)
    with checkouts.locked(), placing.fresh() as aside:
        first = placing.placed(aside, placing.described(Checkout("mine", "folder", str(folder), str(folder))))
    assert (first.kind, first.commit, first.modified) == ("git", commit, False)
    assert recheck(first)[0] == first
    monkeypatch.setattr(placing, "described", lambda _: pytest.fail("nothing changed: no file is read"))
    assert recheck(first)[0] == first
    monkeypatch.undo()
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "cache"))
    write_tree(folder, {"c10/core/Blend.h": "changed\n"})
    assert recheck(first)[0].modified
    assert checkouts.read("mine").modified  # type: ignore[union-attr]
    git(folder, "commit", "--quiet", "--all", "--message=changed")
    assert recheck(first)[0].commit == git(folder, "rev-parse", "HEAD") != commit
    assert not recheck(first)[0].modified
    (folder / "c10/core/Blend.h").unlink()
    assert recheck(first)[0].modified, "a file that is gone is a change"
    write_tree(folder, {"c10/core/Blend.h": "changed\r\n"})
    assert not recheck(first)[0].modified, "line ends alone are none: every line is the same"
