"""The pictures in docs/ are what the screens show; scripts/pictures makes them anew."""

from __future__ import annotations

import pytest

from tests.pictures import ROOT, SMALL, picture, small_library, texts


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return small_library(tmp_path_factory.mktemp("pictures"))


@pytest.mark.words
@pytest.mark.parametrize("name", SMALL)
def test_a_picture_is_what_the_screen_shows(name, library, tmp_path, monkeypatch):
    monkeypatch.setenv("PTEXPLORE_DATA", str(tmp_path))
    monkeypatch.delenv("NO_COLOR", raising=False)
    kept = (ROOT / "docs" / f"{name}.svg").read_text(encoding="utf-8")
    assert texts(picture(library, SMALL[name])) == texts(kept), "scripts/pictures makes docs/ anew: look at them"
    assert len(texts(kept)) > 20
