"""What a site is made of: names of the pages of traces, settings over the project's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptexplore.errors import PtexploreError
from ptexplore.workspace import site_contents
from ptexplore.workspace.site_contents import load_traces, site_settings
from ptexplore.workspace.workspace import Workspace


def test_every_trace_has_a_page_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a file system knows no difference between upper and lower case; index.html is the list."""
    monkeypatch.setattr(site_contents, "load_trace", lambda file: (file, None))
    files = ["a/sum.json", "b/sum.json.gz", "Sum", "index.json", "x/mul"]
    assert [(name, trace) for name, trace, _session in load_traces(files)] == [
        ("sum", "a/sum.json"), ("sum~2", "b/sum.json.gz"), ("Sum~3", "Sum"), ("index~", "index.json"), ("mul", "x/mul"),
    ]  # fmt: skip


def test_what_is_asked_for_stands_over_the_projects_file(here: Path) -> None:
    (here / "ptexplore.toml").write_text('[site]\ntitle = "Ours"\nurl = "https://example.org/site"\n')
    settings = site_settings("core", None, None, "https://example.org/v1/")
    expected = ("Ours", "https://example.org/site/", "https://example.org/v1")
    assert (settings.title, settings.base, settings.repo) == expected
    settings = site_settings("core", "Mine", "https://example.org/other/", None)
    assert (settings.title, settings.base, settings.repo) == ("Mine", "https://example.org/other/", "")


@pytest.mark.parametrize("url", ["javascript:alert(1)", "//evil.example/", "data:text/html,x", "ftp://example.org"])
def test_the_url_of_a_site_in_somebodys_project_file_is_one_of_the_web(here: Path, url: str) -> None:
    (here / "ptexplore.toml").write_text(f'[site]\nurl = "{url}"\n')
    with pytest.raises(PtexploreError, match="is not a URL"):
        site_settings("core", None, None, None)


@pytest.mark.parametrize(("tree", "first"), [(None, "torch"), ("runtime", "torch"), ("pytorch-v2.6.0", "main_tree")])
def test_the_installed_torchs_catalogue_is_there_before_a_checkout_is_opened(
    monkeypatch: pytest.MonkeyPatch, tree: str | None, first: str
) -> None:
    """How the two relate follows from it: without one the least is claimed, and stood on every page of a first site."""

    class Asked(Exception):
        pass

    def asks(name: str) -> property:
        def ask(_self: Workspace) -> None:
            raise Asked(name)

        return property(ask)

    monkeypatch.setattr(Workspace, "sources", lambda _self: (object(), []))
    for name in ("torch", "main_tree"):
        monkeypatch.setattr(Workspace, name, asks(name))
    with Workspace(tree=tree) as workspace, pytest.raises(Asked, match=f"^{first}$"):
        workspace.site_contents()
