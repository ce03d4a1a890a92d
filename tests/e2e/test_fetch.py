"""`ptexplore fetch` as a user has it: what comes is what was asked for, and the list, the pin and the choice hold."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests import searched_source
from tests.browser.conftest import bare
from tests.harness import REPOSITORY, TARGET, THOROUGH, Cli, torch_version
from tests.upstream import FILES, copy_of_source, git, make_upstream, snapshot, write_tree

pytestmark = pytest.mark.e2e

FAILED, USAGE, MISSING = 1, 2, 3
RELEASE = "2236df1770800ffea5697b11b0bb0d910b2e59e1"


@pytest.fixture(scope="session")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """URL and commit of a small remote, with a tag of its own and one that a release has."""
    folder = write_tree(tmp_path_factory.mktemp("upstream"))
    return f"file://{folder}", make_upstream(folder, "v2.99.0", "v2.6.0")


def listed(cli: Cli) -> dict[str, dict]:
    return {row["name"]: row for row in cli("fetch", "--list", "--json").data["checkouts"]}


def tree_of(row: dict) -> dict[str, str]:
    root = Path(row["root"])
    files = [path for path in root.rglob("*") if path.is_file() and ".git" not in path.relative_to(root).parts]
    return {path.relative_to(root).as_posix(): path.read_bytes().decode() for path in files}


def test_a_tag_comes_sparse_shallow_and_byte_for_byte(fetching: Cli, upstream: tuple[str, str]) -> None:
    url, commit = upstream
    result = fetching("fetch", "--from", url, "--ref", "v2.99.0")
    assert result.code == 0, result
    assert "v2.99.0" in result.out
    row = listed(fetching)["v2.99.0"]
    expected = {"kind": "git", "commit": commit, "ref": "v2.99.0", "modified": False, "release": None, "in_use": True}
    assert {key: row[key] for key in expected} == expected
    assert row["version"] == "2.99.0a0"
    wanted = {name: text for name, text in FILES.items() if not name.startswith(("test/", "caffe2/other"))}
    assert tree_of(row) == wanted, "the folders alone, and no filter, line end or encoding changed a byte"
    root = Path(row["root"])
    assert git(root, "rev-list", "--count", "HEAD") == "1"
    unwanted = git(root, "rev-list", "--objects", "--missing=print", "HEAD")
    assert "\n?" in unwanted, "blobs of the other folders did not come"


def test_a_commit_by_its_id(fetching: Cli, upstream: tuple[str, str]) -> None:
    url, commit = upstream
    result = fetching("fetch", "--from", url, "--ref", commit)
    assert result.code == 0, result
    row = listed(fetching)[commit[:12]]
    assert row["commit"] == row["ref"] == commit
    again = fetching("fetch", "--from", url, "--ref", commit)
    assert "already fetched" in again.out, again


def test_a_branch_is_named_with_its_commit(fetching: Cli, upstream: tuple[str, str]) -> None:
    url, commit = upstream
    assert fetching("fetch", "--from", url, "--ref", "main").code == 0
    assert listed(fetching)[f"main-{commit[:12]}"]["commit"] == commit


def test_a_releases_tag_on_another_commit_is_not_that_release(fetching: Cli, upstream: tuple[str, str]) -> None:
    url, commit = upstream
    result = fetching("fetch", "--from", url, "--ref", "v2.6.0")
    assert result.code == 0, result
    assert "so this may not be release 2.6.0" in " ".join(result.out.split()), "a note is folded"
    assert RELEASE[:12] in result.out
    (row,) = listed(fetching).values()
    assert row["release"] is None
    assert row["commit"] == commit
    assert row["name"] == f"v2.6.0-{commit[:12]}", "the release's own name is not given away"


def test_the_installed_torchs_commit_is_asked_for_first_then_its_tag(fetching: Cli, tmp_path: Path) -> None:
    version = torch_version().partition("+")[0]
    folder = write_tree(tmp_path / "upstream")
    commit = make_upstream(folder, f"v{version}")
    python = ("--python", TARGET) if TARGET else ()
    result = fetching("fetch", "--from", f"file://{folder}", *python)
    assert result.code == 0, result
    asked = [line.split()[-1] for line in result.err.splitlines() if "asking" in line]
    assert len(asked[0]) == 12
    assert asked[1] == f"v{version}"
    assert "a version skew" in result.out
    assert [row["commit"] for row in listed(fetching).values()] == [commit]


def test_a_part_of_the_real_tree(fetching: Cli, source_tree: Path, tmp_path: Path) -> None:
    parts = ("aten/src/ATen/core", "c10", "torch/csrc/autograd", "version.txt", "tools/autograd", "CMakeLists.txt")
    folder = copy_of_source(source_tree, tmp_path / "upstream", *parts)
    make_upstream(folder, "v2.6.0")
    assert fetching("fetch", "--from", f"file://{folder}", "--ref", "v2.6.0").code == 0
    (row,) = listed(fetching).values()
    assert row["version"] == "2.6.0a0"
    for file in ("c10/core/TensorImpl.cpp", "torch/csrc/autograd/engine.cpp", "tools/autograd/derivatives.yaml"):
        assert (Path(row["root"]) / file).read_bytes() == (source_tree / file).read_bytes()


@pytest.mark.skipif(not THOROUGH, reason="scripts/test --matched runs it, or PTEXPLORE_TEST_THOROUGH=1")
@pytest.mark.slow
@pytest.mark.matched
def test_the_whole_tree(fetching: Cli, source_tree: Path, tmp_path: Path) -> None:
    parts = [entry.name for entry in source_tree.iterdir() if entry.name != "third_party"]
    folder = copy_of_source(source_tree, tmp_path / "upstream", *parts)
    make_upstream(folder, "v2.6.0")
    result = fetching("fetch", "--from", f"file://{folder}", "--ref", "v2.6.0")
    assert result.code == 0, result
    (row,) = listed(fetching).values()
    root = Path(row["root"])
    assert not (root / "test").exists()
    for part in ("aten", "c10", "torch", "torchgen", "tools", "functorch"):
        for file in (source_tree / part).rglob("*"):
            if file.is_file() and not file.is_symlink():
                assert (root / file.relative_to(source_tree)).read_bytes() == file.read_bytes()


# --- archives and folders -----------------------------------------------------------------------


def pack(folder: Path, kind: str, target: Path, top: str = "small-1.0") -> Path:
    file = target / f"small-1.0.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in FILES.items():
                archive.writestr(f"{top}/{name}", text)
    else:
        with tarfile.open(file, f"w:{kind.rpartition('.')[2]}") as tar:
            tar.add(folder, top)
    return file


@pytest.mark.parametrize("kind", ["tar.xz", "tar.gz", "zip"])
def test_an_archive(fetching: Cli, tmp_path: Path, kind: str) -> None:
    file = pack(write_tree(tmp_path / "tree"), kind, tmp_path)
    result = fetching("fetch", "--from", str(file))
    assert result.code == 0, result
    row = listed(fetching)["small-1.0"]
    assert row["kind"] == "archive"
    assert row["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (row["release"], row["commit"], row["version"]) == (None, None, "2.99.0a0")
    assert tree_of(row) == FILES
    assert "already fetched" in fetching("fetch", "--from", str(file)).out
    (Path(row["root"]) / "version.txt").unlink()
    assert "already fetched" not in fetching("fetch", "--from", str(file)).out, "a damaged one is made anew"
    assert tree_of(listed(fetching)["small-1.0"]) == FILES


@pytest.mark.skipif(not THOROUGH, reason="scripts/test --matched runs it, or PTEXPLORE_TEST_THOROUGH=1")
@pytest.mark.slow
def test_the_releases_own_archive_is_known(fetching: Cli, source_tree: Path) -> None:
    archives = list(source_tree.parent.glob("pytorch_2.6.0*.orig.tar.xz"))
    if not archives:
        pytest.skip("scripts/get-source left no archive beside the tree")
    result = fetching("fetch", "--from", str(archives[0]))
    assert result.code == 0, result
    row = listed(fetching)["v2.6.0"]
    assert row["release"] == "2.6.0"
    assert row["commit"] is None, "an archive has none of its own"


def test_a_folder_is_used_in_place_and_not_touched(fetching: Cli, tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "mine")
    (folder / "link.h").symlink_to("/etc/passwd")
    before = snapshot(folder, fetching.cwd)
    result = fetching("fetch", "--from", str(folder))
    assert result.code == 0, result
    row = listed(fetching)["mine"]
    assert (row["kind"], row["root"], row["in_place"], row["commit"]) == ("folder", str(folder), True, None)
    removed = fetching("fetch", "--remove", "mine")
    assert "is unchanged" in removed.out
    assert listed(fetching) == {}
    assert snapshot(folder, fetching.cwd) == before


@pytest.mark.parametrize(
    ("change", "modified"),
    [
        (None, False),
        ("aten/src/ATen/native/Blend.cpp", True),
        ("c10/core/new.h", True),
        ("README.md", False),
        ("torch/version.py", False),
    ],
)
def test_a_git_folder_says_its_commit_and_whether_it_is_modified(
    fetching: Cli, tmp_path: Path, change: str | None, modified: bool
) -> None:
    folder = write_tree(tmp_path / "mine")
    commit = make_upstream(folder, "v2.99.0")
    if change:
        write_tree(folder, {change: "int changed();\n"})
    before = snapshot(folder)
    result = fetching("fetch", "--from", str(folder))
    assert result.code == 0, result
    row = listed(fetching)["mine"]
    assert (row["kind"], row["commit"], row["modified"]) == ("git", commit, modified)
    assert snapshot(folder) == before


def test_an_extensions_own_source(fetching: Cli, upstream: tuple[str, str], tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "backend", {"csrc/kernel.cpp": "int kernel();\n", "tests/deep/x.py": "x = 1\n"})
    assert fetching("fetch", "--from", upstream[0], "--ref", "v2.99.0").code == 0
    result = fetching("fetch", "--name", "my_backend", "--from", str(folder))
    assert result.code == 0, result
    rows = listed(fetching)
    assert rows["my_backend"]["project"] == "my_backend"
    assert rows["v2.99.0"]["in_use"], "it lies beside PyTorch's source and does not replace it"
    fetching("fetch", "--use", "my_backend").three_parts(USAGE)
    make_upstream(folder)
    again = fetching("fetch", "--name", "my_backend", "--from", f"file://{folder}")
    assert again.code == 0, again
    row = listed(fetching)["my_backend"]
    assert row["kind"] == "git"
    assert sorted(tree_of(row)) == ["csrc/kernel.cpp", "tests/deep/x.py"]
    fetching("fetch", "--name", "v2.99.0", "--from", str(folder)).three_parts(USAGE)


# --- which is in use ----------------------------------------------------------------------------


def test_use_and_remove(fetching: Cli, upstream: tuple[str, str], tmp_path: Path) -> None:
    url, commit = upstream
    assert "nothing was fetched" in fetching("fetch", "--list").out
    assert fetching("fetch", "--from", url, "--ref", "v2.99.0").code == 0
    assert fetching("fetch", "--from", url, "--ref", commit).code == 0
    assert fetching("fetch", "--list", "--json").data["current"] == "v2.99.0" or commit[:12] in listed(fetching)
    mine = write_tree(tmp_path / "mine")
    assert fetching("fetch", "--from", str(mine)).code == 0
    assert fetching("fetch", "--list", "--json").data["current"] == "mine", "the last one, where none fits"
    assert fetching("fetch", "--use", "v2.99.0").code == 0
    assert fetching("fetch", "--list", "--json").data["current"] == "v2.99.0"
    root = Path(listed(fetching)["v2.99.0"]["root"])
    assert fetching("fetch", "--remove", "v2.99.0").code == 0
    assert not root.exists()
    assert fetching("fetch", "--list", "--json").data["current"] == "mine"
    shutil.rmtree(mine)
    document = fetching("fetch", "--list", "--json").data
    assert document["current"] != "mine"
    assert not {row["name"]: row["there"] for row in document["checkouts"]}["mine"]
    fetching("fetch", "--use", "nothing-like-it").three_parts(MISSING)
    fetching("fetch", "--remove", "../cwd").three_parts(MISSING)


def test_a_pinned_ref_is_fetched_and_preferred(fetching: Cli, upstream: tuple[str, str], tmp_path: Path) -> None:
    url, commit = upstream
    below = fetching.cwd / "deep" / "er"
    below.mkdir(parents=True)
    pin = fetching.cwd / "ptexplore.toml"
    pin.write_text('ref = "v2.99.0"\nnotes = ["notes"]\n[site]\ntitle = "Group"\n', encoding="utf-8")
    before = fetching("fetch", "--list", "--json", cwd=below).data
    assert before["current"] is None
    assert "not fetched: ptexplore fetch" in before["note"]
    result = fetching("fetch", "--from", url, cwd=below)
    assert result.code == 0, result
    assert f"{pin}pinsv2.99.0" in "".join(result.out.split()), "a note is folded, a long path too"
    assert fetching("fetch", "--from", str(write_tree(tmp_path / "mine"))).code == 0
    assert fetching("fetch", "--list", "--json", cwd=below).data["current"] == "v2.99.0"
    assert fetching("fetch", "--list", "--json", cwd=tmp_path).data["current"] == "mine"
    other = fetching("fetch", "--from", url, "--ref", commit, cwd=below)
    assert "pinsv2.99.0" in "".join(other.out.split()), "an explicit ref is obeyed, and the pin named"


def test_a_pinned_archive(fetching: Cli, tmp_path: Path) -> None:
    file = pack(write_tree(tmp_path / "tree"), "tar.gz", tmp_path)
    sha = hashlib.sha256(file.read_bytes()).hexdigest()
    table = f'[project]\nname = "x"\n[tool.ptexplore]\narchive-sha256 = "{sha}"\n'
    (fetching.cwd / "pyproject.toml").write_text(table, encoding="utf-8")
    assert sha in fetching("fetch").three_parts(MISSING).err
    assert fetching("fetch", "--from", str(file)).code == 0
    document = fetching("fetch", "--list", "--json").data
    assert (document["current"], document["reason"]) == ("small-1.0", "pinned by the project file")
    other = pack(write_tree(tmp_path / "other", {**FILES, "README.md": "another"}), "tar.gz", fetching.cwd)
    assert sha in fetching("fetch", "--from", str(other)).three_parts(FAILED).err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('reff = "v2.6.0"', "reff"),
        ("ref = 26", "ref"),
        ('ref = "--upload-pack=x"', "ref"),
        ('archive-sha256 = "abc"', "archive-sha256"),
        ('ref = "v1"\narchive-sha256 = "' + "a" * 64 + '"', "archive-sha256"),
        ('notes = "notes"', "notes"),
        ('notes = ["../elsewhere"]', "notes"),
        ('notes = ["/etc"]', "notes"),
        ("[site]\ncolour = 3", "site.colour"),
        ("[site]\ntitle = 3", "site.title"),
        ("ref = [", "ptexplore.toml"),
        ("\0", "ptexplore.toml"),
    ],
)
def test_a_wrong_project_file(fetching: Cli, text: str, says: str) -> None:
    file = fetching.cwd / "ptexplore.toml"
    file.write_text(text, encoding="utf-8")
    for arguments in (("--list",), ("--ref", "v2.6.0")):
        err = fetching("fetch", *arguments).three_parts(USAGE).err
        assert says in err
        assert str(file) in err


def test_the_list_as_text_and_json_agree(fetching: Cli, upstream: tuple[str, str]) -> None:
    assert fetching("fetch", "--from", upstream[0], "--ref", "v2.99.0").code == 0
    text = fetching("fetch", "--list").out
    document = json.loads(fetching("fetch", "--list", "--json").out)
    assert document["format"] == 1
    for row in document["checkouts"]:
        assert row["name"] in text
        assert row["root"] in text


def from_mirror(cli: Cli, mirror: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what this command starts fetch from a mirror, where nothing else is said."""
    monkeypatch.setenv("PTEXPLORE_REMOTE", mirror)  # what a fixture runs in this process
    own = type(cli).environment
    monkeypatch.setattr(type(cli), "environment", lambda self: own(self) | {"PTEXPLORE_REMOTE": mirror})


def test_a_site_and_a_tour_fetch_first_where_no_source_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--fetch` to its end, in a Python without torch: what is pinned, from the mirror that the variable names."""
    folder = searched_source.write(tmp_path / "upstream")
    commit = make_upstream(folder, "v2.99.0")
    notes = str(REPOSITORY / "tests/data/tours")
    reading = bare(tmp_path / "tour")
    from_mirror(reading, f"file://{folder}", monkeypatch)
    (reading.cwd / "ptexplore.toml").write_text('ref = "v2.99.0"\n', encoding="utf-8")
    without = reading("tour", "blending", "entry", "--all", "--notes", notes)
    assert without.code == 3
    told = reading("tour", "blending", "entry", "--all", "--notes", notes, "--fetch")
    assert told.code == 0, told
    assert [row["commit"] for row in listed(reading).values()] == [commit]
    assert "lost" not in told.out
    again = reading("tour", "blending", "entry", "--all", "--notes", notes, "--fetch")
    assert (again.code, again.out) == (0, told.out)
    writing = replace(reading, cache=reading.cache.with_name("cache of a site"))
    made = writing("html", "out", "--notes", notes, "--fetch", "--check")
    assert made.code == 0, made
    assert [row["commit"] for row in listed(writing).values()] == [commit]
    assert "which is not here" not in made.out
    page = (reading.cwd / "out/tours/blending/entry.html").read_text(encoding="utf-8")
    assert 'class="stop lost"' not in page


def test_what_names_a_mirror_must_be_a_url(fetching: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from_mirror(fetching, "ext::sh -c id", monkeypatch)
    refused = fetching("fetch", "--ref", "v2.99.0")
    assert refused.code == USAGE
    assert "ext" in refused.err
