"""A site's folder: names that cannot meet, and nothing planted there that decides what is deleted or written over."""

from __future__ import annotations

import json
import os
from itertools import product
from pathlib import Path

import pytest

from ptexplore.errors import PtexploreError
from ptexplore.render.html.output import ASIDE, MANIFEST, Output, digest, open_output
from ptexplore.render.html.svg import redrawn
from ptexplore.view.site.site import apart, folder_url, namespace_url, operator_url, picture_url, source_url, stop_url


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path_factory.mktemp("cache")))


PAGE = '<!doctype html>\n<html lang="en" data-root="" data-site="x">\n<p>a page'


def symbols_url(url: str) -> str:
    return f"{url.removesuffix('.html')}.js"


def test_no_two_names_meet_on_a_site() -> None:
    """Every path of three parts of names that look like the site's own, in a tree that can have them all."""
    names = (
        "Z.cpp",
        "Z.cpp.html",
        "Z.cpp.js",
        "index",
        "index.html",
        "INDEX",
        "index.js",
        "a",
        "a.html",
        "~69ndex",
        "Z~2Ehtml",
    )
    paths = ["/".join(parts) for n in (1, 2, 3) for parts in product(names, repeat=n)]
    sources = apart(paths, source_url)
    folders = {path.rpartition("/")[0] for path in paths}
    pages = [*sources.values(), *map(symbols_url, sources.values()), *map(folder_url, folders)]
    assert len({page.lower() for page in pages if not page.endswith("/index.html")}) == len(
        [page for page in pages if not page.endswith("/index.html")]
    )
    files = {page.lower() for page in pages}
    inside = {page.lower()[:at] for page in pages for at, letter in enumerate(page) if letter == "/"}
    assert not files & inside, "no file is where a folder is"
    assert not {url.lower() for url in sources.values()} & {folder_url(folder).lower() for folder in folders}


def test_names_that_are_usual_are_as_they_were() -> None:
    assert source_url("aten/src/ATen/native/BinaryOps.cpp") == "src/aten/src/ATen/native/BinaryOps.cpp.html"
    assert folder_url("torch/csrc") == "src/torch/csrc/index.html"
    assert stop_url("dispatcher#entry") == "tours/dispatcher/entry.html"
    assert stop_url("dispatcher") == "tours/dispatcher.html"
    assert operator_url("aten::add.Tensor") == "ops/aten/add.Tensor.html"
    assert namespace_url("aten") == "ops/aten.html"


def test_tours_operators_and_pictures_do_not_meet_the_lists_of_them() -> None:
    assert stop_url("index") == "tours/~69ndex.html"
    assert namespace_url("index") == "ops/~69ndex.html"
    for name in ("con", "nul", "com1"):
        for url in (stop_url(name), stop_url(f"{name}#{name}"), picture_url(name, f"{name}.svg"), namespace_url(name)):
            assert all(part.partition(".")[0] != name for part in url.split("/"))
    long = picture_url("a", f"{'x' * 300}.svg")
    assert long.endswith(".svg")
    assert all(len(part) < 150 for part in long.split("/"))
    pictures = [picture_url("a-b", "c.svg"), picture_url("a", "b-c.svg"), picture_url("a", "b/c.svg")]
    pictures += [picture_url("a", "b-c.png"), picture_url("a", "index.svg"), picture_url("a", "b.html.svg")]
    assert len(set(pictures)) == len(pictures)


def test_one_bad_name_costs_itself(tmp_path: Path) -> None:
    (tmp_path / "site/src/in-the-way.html").mkdir(parents=True)
    (tmp_path / "site/src/file").write_text("")
    with open_output(tmp_path / "site", [], force=True) as out:
        out.begin()
        rows = [
            out.write(url, PAGE) for url in ("src/in-the-way.html", "src/file/a.html", f"{'x' * 300}.html", "a.html")
        ]
        apart_ = Output(tmp_path / "site", force=True)
        apart_.take(rows)
        out.finish()
    assert set(out.lost) == {"src/in-the-way.html", "src/file/a.html", f"{'x' * 300}.html"} == set(apart_.lost)
    assert list(out.pages) == ["a.html"] == list(apart_.pages)
    assert all(out.lost.values())
    assert (tmp_path / "site/a.html").read_text() == PAGE
    assert "in-the-way" not in (tmp_path / "site" / MANIFEST).read_text()


# --- what is planted ---


def plant(root: Path, *names: str) -> None:
    """A list of pages that says that these files are ptexplore's."""
    root.mkdir(parents=True, exist_ok=True)
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("mine!")
    pages = {name: ["k", 5] for name in names}
    (root / MANIFEST).write_text(json.dumps({"format": 1, "pages": pages}))


NAMES = ("sub/mine.txt", "sub/mine.html", "mine.js", "mine.svg", "mine.png", "assets/mine.css", "src/a/index.html")


def test_a_planted_list_of_pages_deletes_nothing(tmp_path: Path) -> None:
    plant(tmp_path, *NAMES)
    (tmp_path / ASIDE).mkdir()
    (tmp_path / ASIDE / "1.new").write_text("journaled.html\nsub/other.html\n")
    (tmp_path / "journaled.html").write_text("mine!")
    with open_output(tmp_path, [], force=False) as out:
        out.begin()
        out.write("b.html", PAGE)
        assert out.finish() == 0
    assert all((tmp_path / name).read_text() == "mine!" for name in (*NAMES, "journaled.html"))


@pytest.mark.parametrize("name", [*NAMES, ".nojekyll"])
def test_a_planted_list_of_pages_has_nothing_written_over(tmp_path: Path, name: str) -> None:
    plant(tmp_path, name)
    with open_output(tmp_path, [], force=False) as out:
        out.begin()
        with pytest.raises(PtexploreError, match="in the way") as caught:
            out.write(name, PAGE)
    assert "--force" in caught.value.hint
    assert (tmp_path / name).read_text() == "mine!"
    with open_output(tmp_path, [], force=True) as out:
        out.begin()
        out.write(name, PAGE)
    assert (tmp_path / name).read_text() == PAGE


def test_what_an_earlier_build_wrote_goes_and_is_written_anew(tmp_path: Path) -> None:
    picture = redrawn(b'<svg xmlns="http://www.w3.org/2000/svg"><rect/></svg>')
    assert picture is not None
    written = {
        "src/a.html": PAGE,
        "src/a.js": "ptx.file(1)",
        "tours/a/p.svg": picture,
        "tours/a/p.png": b"\x89PNG",
        ".nojekyll": "",
    }
    with open_output(tmp_path, [], force=False) as out:
        out.begin()
        for url, content in written.items():
            out.write(url, content)
        out.finish()
    with open_output(tmp_path, [], force=False) as out:
        out.begin()
        for url, content in written.items():
            out.write(url, f"{content} " if isinstance(content, str) and content else content)
        out.finish()
    assert (tmp_path / "src/a.html").read_text() == f"{PAGE} "
    with open_output(tmp_path, [], force=False) as out:
        out.begin()
        out.write("b.html", PAGE)
        assert out.finish() == len(written)
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["b.html", MANIFEST]


def test_what_somebody_else_planted_with_a_list_that_fits_is_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script of the same length, whose list says that it is of what this build would write."""
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "theirs"))
    key = digest("of the same source")
    prepared = tmp_path / "prepared"
    with open_output(prepared, [], force=False) as out:
        out.begin()
        out.write("search/0.js", "ptx.words(1)", key)
        out.finish()
    (prepared / "search/0.js").write_text("ptx.evil( 1)")
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "mine"))
    for known in (False, True):  # as the second build shows, what is one's own is not read again
        with open_output(prepared, [], force=False) as out:
            assert out.fresh("search/0.js", key) is known
            out.begin()
            if not known:
                out.write("search/0.js", "ptx.words(1)", key)
            out.finish()
        assert (prepared / "search/0.js").read_text() == "ptx.words(1)"


def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    with open_output(tmp_path / "site", [], force=False) as out:
        out.begin()
        out.write("src/a.html", PAGE)
        out.write("src/deep/a.html", PAGE)
        (tmp_path / "site/src").rename(tmp_path / "site/moved")
        (tmp_path / "site/src").symlink_to(tmp_path / "victim")
        out.write("src/b.html", PAGE)
        assert list(out.lost) == ["src/b.html"]
        with pytest.raises(PtexploreError, match="cannot be written"):
            out.write("src/new/b.html", PAGE)
    assert not list((tmp_path / "victim").iterdir())


def test_what_was_changed_behind_the_list_is_written_over(tmp_path: Path) -> None:
    """By a pull request to a site that lies in git, say: of the same length, and the list is as it was."""
    key = digest("of the same source")
    for _ in range(2):
        with open_output(tmp_path / "site", [], force=False) as out:
            assert not out.fresh("uses/0.js", key)
            out.begin()
            out.write("uses/0.js", "ptx.words(1)", key)
            out.finish()
        with open_output(tmp_path / "site", [], force=False) as out:
            assert out.fresh("uses/0.js", key)
            out.begin()
            out.finish()
        assert (tmp_path / "site/uses/0.js").read_text() == "ptx.words(1)"
        (tmp_path / "site/uses/0.js").write_text("ptx.evil( 1)")


@pytest.mark.parametrize("name", [MANIFEST, "index.html", "assets/site.css"])
def test_a_fifo_keeps_nobody_waiting(tmp_path: Path, name: str) -> None:
    plant(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)

    def build() -> None:
        with open_output(tmp_path, [], force=False) as out:
            out.begin()
            out.write(name, PAGE)

    with pytest.raises(PtexploreError):
        build()


def test_a_link_to_nothing_makes_nothing(tmp_path: Path) -> None:
    (tmp_path / "site").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PtexploreError, match="link to nothing"), open_output(tmp_path / "site", [], force=True):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_link_is_never_followed_out_of_a_site(tmp_path: Path) -> None:
    outside = tmp_path / "outside.html"
    outside.write_text(PAGE)
    plant(tmp_path / "site")
    (tmp_path / "site/a.html").symlink_to(outside)
    pages = {"a.html": ["k", len(PAGE)]}
    (tmp_path / "site" / MANIFEST).write_text(json.dumps({"format": 1, "pages": pages}))
    with open_output(tmp_path / "site", [], force=False) as out:
        out.begin()
        with pytest.raises(PtexploreError, match="in the way"):
            out.write("a.html", f"{PAGE} changed")
        out.finish()
    assert outside.read_text() == PAGE
    assert (tmp_path / "site/a.html").is_symlink()
