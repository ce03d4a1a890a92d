"""A site's folder: names that cannot meet, and nothing planted there that decides what is deleted or written over."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest

from ptexplore.errors import PtexploreError
from ptexplore.render.html.output import ASIDE, MANIFEST, Output, digest, open_output
from ptexplore.render.html.svg import redrawn
from ptexplore.safe_text import safe_json
from ptexplore.view.site.site import apart, folder_url, namespace_url, operator_url, picture_url, source_url, stop_url
from tests.harness import hashes


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PTEXPLORE_CACHE", "PTEXPLORE_DATA"):
        monkeypatch.setenv(name, str(tmp_path_factory.mktemp("own")))


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


# Some begin as ptexplore's own files do.
NAMES = {
    "sub/mine.txt": "mine!",
    "sub/mine.html": PAGE,
    "mine.js": "ptx.mine(1)",
    "mine.svg": '<svg data-by="ptexplore" >',
    "mine.png": "mine!",
    "assets/mine.css": "see docs/html.md for how I made this",
    "src/a/index.html": PAGE,
}


def plant(root: Path, names: Mapping[str, str]) -> None:
    """A list of pages that says that these files are ptexplore's, with their very hashes."""
    root.mkdir(parents=True, exist_ok=True)
    for name, text in names.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    pages = {name: ["k", len(text), hashlib.sha256(text.encode()).hexdigest()] for name, text in names.items()}
    (root / MANIFEST).write_text(json.dumps({"format": 1, "pages": pages}))


def test_a_planted_list_of_pages_deletes_nothing(tmp_path: Path) -> None:
    plant(tmp_path, NAMES)
    before = hashes(tmp_path)
    with (
        pytest.raises(PtexploreError, match="a site that is not known to be yours") as caught,
        open_output(tmp_path, [], force=False),
    ):
        pass
    assert "--force" in caught.value.hint
    assert hashes(tmp_path) == before
    with open_output(tmp_path, [], force=True) as out:
        out.begin()
        out.write("b.html", PAGE)
        assert out.finish() == 0
    assert {name: (tmp_path / name).read_text() for name in NAMES} == NAMES


def test_what_is_planted_in_the_folder_of_half_pages_decides_nothing(tmp_path: Path) -> None:
    (tmp_path / ASIDE).mkdir()
    (tmp_path / ASIDE / "precious.txt").write_text("mine!")
    (tmp_path / ASIDE / ".ptx-0123abcd").write_text("half a page of a build that was killed")
    with open_output(tmp_path, [], force=False) as out:
        out.begin()
        out.write("b.html", PAGE)
        out.finish()
    (tmp_path / ASIDE / "1.new").write_text(f"{digest()} {hashlib.sha256(b'mine!').hexdigest()} journaled.html\n")
    (tmp_path / "journaled.html").write_text("mine!")
    with open_output(tmp_path, [], force=False) as out:
        out.begin()
        out.write("b.html", PAGE)
        assert out.finish() == 0
    assert (tmp_path / "journaled.html").read_text() == "mine!"
    assert [file.name for file in (tmp_path / ASIDE).iterdir()] == ["precious.txt"]


def test_a_link_in_place_of_the_folder_of_half_pages_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/1.new").write_text("mine!")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / ASIDE).symlink_to(tmp_path / "mine")
    with open_output(tmp_path / "site", [], force=False) as out, pytest.raises(PtexploreError, match="cannot be"):
        out.begin()
    assert (tmp_path / "mine/1.new").read_text() == "mine!"
    assert (tmp_path / "site" / ASIDE).is_symlink()


@pytest.mark.parametrize("name", [*NAMES, ".nojekyll"])
def test_what_is_in_the_way_of_a_page_is_not_written_over(tmp_path: Path, name: str) -> None:
    with open_output(tmp_path, [], force=False) as out:
        out.begin()
        out.write("b.html", PAGE)
        out.finish()
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine!")
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


def test_a_build_that_is_killed_is_known_to_the_next(tmp_path: Path) -> None:
    """Neither the pages that it wrote anew nor those that it wrote over stay, and no list of pages names them."""
    for text in ("old", "new"):
        out = Output(tmp_path)
        out.begin()
        for url in ("a.html", "b.html"):
            out.write(url, f"{PAGE}{text}")
        if text == "old":
            out.finish()
        else:
            out.write("c.html", PAGE)
            out.let_go()  # and no `finish`
    with open_output(tmp_path, [], force=False) as next_one:
        next_one.begin()
        next_one.write("d.html", PAGE)
        assert next_one.finish() == 3
    assert sorted(file.name for file in tmp_path.iterdir()) == ["d.html", MANIFEST]


def test_no_escape_in_a_script_stands_for_what_is_not_safe(tmp_path: Path) -> None:
    """A browser reads each: the name of a file was there with ESC and BEL."""
    name = "a\x1b]0;b\x07\u202e\udcff\r\b c\\u001b\td"
    written = f"ptx.rows({json.dumps(name)})"
    with open_output(tmp_path, [], force=False) as out:
        out.begin()
        out.write("search/0.js", written)
    read = json.loads((tmp_path / "search/0.js").read_text()[9:-1])
    assert read == json.loads(safe_json(name)) == "a\ufffd]0;b\ufffd\ufffd\ufffd\ufffd\ufffd c\\u001b\td"


def test_a_list_of_pages_that_came_from_another_folder_is_not_believed(tmp_path: Path) -> None:
    with open_output(tmp_path / "site", [], force=False) as out:
        out.begin()
        out.write("index.html", PAGE)
        out.finish()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / MANIFEST).write_bytes((tmp_path / "site" / MANIFEST).read_bytes())
    (tmp_path / "other/index.html").write_text("mine!")
    with (
        pytest.raises(PtexploreError, match="a site that is not known to be yours"),
        open_output(tmp_path / "other", [], force=False),
    ):
        pass
    assert (tmp_path / "other/index.html").read_text() == "mine!"


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


def test_what_somebody_else_planted_with_a_list_that_fits_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script of the same length, whose list says that it is of what this build would write."""
    monkeypatch.setenv("PTEXPLORE_DATA", str(tmp_path / "theirs"))
    key = digest("of the same source")
    prepared = tmp_path / "prepared"
    with open_output(prepared, [], force=False) as out:
        out.begin()
        out.write("search/0.js", "ptx.evil( 1)", key)
        out.finish()
    monkeypatch.setenv("PTEXPLORE_DATA", str(tmp_path / "mine"))
    with pytest.raises(PtexploreError, match="not known to be yours"), open_output(prepared, [], force=False):
        pass
    for known in (False, True):  # as the second build shows, what is one's own is not read again
        with open_output(prepared, [], force=not known) as out:
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
    with open_output(tmp_path, [], force=False) as first:
        first.begin()
        first.finish()
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
    with open_output(tmp_path / "site", [], force=False) as out:
        out.begin()
        out.write("a.html", PAGE)
        out.finish()
    (tmp_path / "site/a.html").unlink()
    (tmp_path / "site/a.html").symlink_to(outside)
    with open_output(tmp_path / "site", [], force=False) as out:
        out.begin()
        with pytest.raises(PtexploreError, match="in the way"):
            out.write("a.html", f"{PAGE} changed")
        out.finish()
    assert outside.read_text() == PAGE
    assert (tmp_path / "site/a.html").is_symlink()


def test_a_site_that_cannot_be_recorded_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").write_text("a file where the folder of data should be")
    monkeypatch.setenv("PTEXPLORE_DATA", str(tmp_path / "data"))
    with open_output(tmp_path / "site", [], force=False) as out:
        out.begin()
        out.write("index.html", PAGE)
        out.finish()
        assert "--force" in out.unrecorded
    monkeypatch.setenv("PTEXPLORE_DATA", str(tmp_path / "other"))
    with (
        pytest.raises(PtexploreError, match="not known to be yours") as caught,
        open_output(tmp_path / "site", [], force=False),
    ):
        pass
    assert "PTEXPLORE_DATA" in caught.value.why
    with open_output(tmp_path / "site", [], force=True) as out:
        out.begin()
        out.write("index.html", PAGE)
        out.finish()
        assert not out.unrecorded
    with open_output(tmp_path / "site", [], force=False) as out:
        assert out.is_known
