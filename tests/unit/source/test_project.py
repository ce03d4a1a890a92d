"""The project's file is found upwards, and what is wrong in it is named by file and key."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.render.terminal.console import address_of
from ptexplore.source.fetch.project_file import EDITORS, find_project
from tests.faults import keeps_back


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert find_project(deep) is None or not find_project(deep).file.is_relative_to(tmp_path)  # type: ignore[union-attr]
    (tmp_path / "ptexplore.toml").write_text('ref = "v2.6.0"\n', encoding="utf-8")
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\nname = "x"\n', encoding="utf-8")
    found = find_project(deep)
    assert found is not None
    assert (found.file, found.ref, found.pin) == (tmp_path / "ptexplore.toml", "v2.6.0", "v2.6.0")
    (tmp_path / "a" / "pyproject.toml").write_text('[tool.ptexplore]\nref = "main"\n', encoding="utf-8")
    assert find_project(deep).ref == "main"  # type: ignore[union-attr]
    (tmp_path / "a" / "ptexplore.toml").write_text("", encoding="utf-8")
    assert find_project(deep).pin is None, "beside each other, ptexplore.toml counts"  # type: ignore[union-attr]


def test_everything_in_it(tmp_path: Path) -> None:
    sha = "AB" * 32
    text = (
        f'archive-sha256 = "{sha}"\nnotes = ["notes", "more/notes"]\n[site]\ntitle = "T"\nurl = "https://x.invalid"\n'
    )
    (tmp_path / "ptexplore.toml").write_text(text, encoding="utf-8")
    found = find_project(tmp_path)
    assert found is not None
    assert found.archive_sha256 == sha.lower()
    assert found.notes == (tmp_path / "notes", tmp_path / "more/notes")
    assert found.site == {"title": "T", "url": "https://x.invalid"}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[tool.ptexplore]\nrefs = 1\n", "tool.ptexplore.refs"),
        ('[tool]\nptexplore = "x"\n', "tool.ptexplore"),
        ("[tool.ptexplore]\nnotes = [1]\n", "tool.ptexplore.notes"),
        ("[tool.ptexplore.site]\ntitle = []\n", "tool.ptexplore.site.title"),
        ('[tool.ptexplore]\nref = "a b"\n', "tool.ptexplore.ref"),
    ],
)
def test_wrong_keys_are_named(tmp_path: Path, text: str, key: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    with pytest.raises(PtexploreError) as wrong:
        find_project(tmp_path)
    assert wrong.value.exit_code == USAGE
    assert key in wrong.value.message
    assert str(tmp_path / "pyproject.toml") in wrong.value.why


def test_a_damaged_pyproject_is_other_tools_business(tmp_path: Path) -> None:
    (tmp_path / "ptexplore.toml").mkdir()
    (tmp_path / "pyproject.toml").write_text("[", encoding="utf-8")
    found = find_project(tmp_path)
    assert found is None or not found.file.is_relative_to(tmp_path)


@pytest.mark.parametrize("name", ["ptexplore.toml", "pyproject.toml"])
def test_a_file_that_a_bad_disk_keeps_back_may_be_the_one_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).write_text('[tool.ptexplore]\nref = "main"\n', encoding="utf-8")
    keeps_back(monkeypatch, tmp_path / name)
    with pytest.raises(PtexploreError, match=f"{name} cannot be read") as caught:
        find_project(tmp_path)
    assert "Input/output error" in caught.value.why


@pytest.mark.parametrize("editor", EDITORS)
def test_an_editor_is_one_that_is_known(tmp_path: Path, editor: str) -> None:
    (tmp_path / "ptexplore.toml").write_text(f'editor = "{editor}"\n', encoding="utf-8")
    found = find_project(tmp_path)
    assert found is not None
    assert found.editor == editor
    address = address_of("/x/you/a b&line=9#x?.cpp", 7, editor)
    assert "/x/you/a%20b%26line%3D9%23x%3F.cpp" in address, "a file's name is no part of the address"


@pytest.mark.parametrize(
    "editor",
    [
        "https://x.invalid/{path}",
        "javascript://{path}",
        "vscode://file",
        "not an address {path}",
        "smb://evil.example/{path}",
        "sftp://evil.example/{path}",
        "ssh://-oProxyCommand=id/{path}",
        "file://evil.example/{path}",
        "vscode://vscode.git/clone?url=https://evil.example/{path}",
        "vscode://file{path}:{line}?windowId=_blank",
        "VSCODE://file{path}:{line}",
        "vscode://file{path}:{line}\\n",
        "ms-msdt://{path}",
        "",
    ],
)
def test_another_address_is_refused(tmp_path: Path, editor: str) -> None:
    """The file may have come with a checkout: each place in the terminal would be a link to there."""
    (tmp_path / "ptexplore.toml").write_text(f'editor = "{editor}"\n', encoding="utf-8")
    with pytest.raises(PtexploreError) as wrong:
        find_project(tmp_path)
    assert "editor" in wrong.value.message


@pytest.mark.parametrize("name", ["ptexplore.toml", "pyproject.toml"])
@pytest.mark.parametrize("text", ["a" + ".a" * 20_000 + " = 1\n", "[a" + ".a" * 501 + "]\n", "# long\n" * 10_000])
def test_what_costs_much_to_read_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    """Its reader took the square of a key's dots: 1.6 GB for 40 KB."""
    read: list[str] = []
    monkeypatch.setattr("tomllib.loads" if sys.version_info >= (3, 11) else "tomli.loads", read.append)
    (tmp_path / name).write_text(text, encoding="utf-8")
    if name == "pyproject.toml":
        assert find_project(tmp_path) is None or not find_project(tmp_path).file.is_relative_to(tmp_path)  # type: ignore[union-attr]
    else:
        with pytest.raises(PtexploreError, match="cannot be read") as caught:
            find_project(tmp_path)
        assert caught.value.exit_code == USAGE
    assert not read


def test_folders_of_notes_are_few_and_each_counts_once(tmp_path: Path) -> None:
    """Every command reads them: 48 kB that name one folder 12,000 times kept it for minutes."""
    (tmp_path / "n").mkdir()
    (tmp_path / "same").symlink_to("n")
    file = tmp_path / "ptexplore.toml"
    file.write_text('notes = ["n", "n/", "./n", "same", "other"]\n')
    project = find_project(tmp_path)
    assert project is not None
    assert project.notes == (tmp_path / "n", tmp_path / "other")
    file.write_text(f"notes = {['n'] * 21}\n")
    with pytest.raises(PtexploreError, match="notes cannot be used") as refused:
        find_project(tmp_path)
    assert "it names 21 folders, but the limit is 20" in refused.value.why


def test_a_folder_of_notes_is_below_the_file(tmp_path: Path) -> None:
    """Neither as it is written, nor where its links lead."""
    group, other = tmp_path / "group", tmp_path / "other"
    for folder in (group / "n", other):
        folder.mkdir(parents=True)
    (group / "away").symlink_to(other)
    (group / "circle").symlink_to("circle")
    for name in ("away", "away/deeper", "circle", f"{group}/n", "n/../n", "../group/n", "~/n"):
        (group / "ptexplore.toml").write_text(f'notes = ["{name}"]\n', encoding="utf-8")
        with pytest.raises(PtexploreError) as wrong:
            find_project(group)
        assert "notes" in wrong.value.message, name
