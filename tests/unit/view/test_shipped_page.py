"""What can be read about a folder or a tour without any index: the prose that comes with ptexplore."""

from __future__ import annotations

import pytest

from ptexplore.annotations.folders import load_folders
from ptexplore.annotations.layers import layers
from ptexplore.annotations.load import load
from ptexplore.view.notes.folder import SHORT_NAMES, page_of_folder, shipped_page

LAYERS = layers(())


@pytest.mark.parametrize("name", [*SHORT_NAMES, "aten/src/ATen/native", "torch/optim/"])
def test_a_folder_has_its_page(name: str) -> None:
    page = shipped_page(name, load_folders(LAYERS), load(LAYERS))
    assert page.title.startswith(SHORT_NAMES.get(name, name.rstrip("/")))
    assert page == page_of_folder(name, load_folders(LAYERS))
    assert len(page.parts[0].text) > 100
    assert {"Folders", "Start here"} & {part.heading for part in page.parts}


def test_a_tour_has_its_stops() -> None:
    page = shipped_page("dispatcher#yaml-entry", load_folders(LAYERS), load(LAYERS))
    tour = load(LAYERS).tours["dispatcher"]
    assert page.title == tour.title
    assert page.parts[0].text == tour.summary
    assert all(stop.title in part.heading for stop, part in zip(tour.stops, page.stops, strict=True))
    assert [part.text for part in page.stops] == [stop.prose for stop in tour.stops]


def test_a_named_stop_comes_first() -> None:
    tour = load(LAYERS).tours["dispatcher"]
    page = shipped_page(f"dispatcher#{tour.stops[4].id}", load_folders(LAYERS), load(LAYERS))
    assert page.stops[0].text == tour.stops[4].prose
    assert len(page.stops) == len(tour.stops) - 4


@pytest.mark.parametrize("target", [None, "", "at::native::add_kernel", "nowhere/at/all", "."])
def test_anything_else_has_the_map(target: str | None) -> None:
    page = shipped_page(target, load_folders(LAYERS), load(LAYERS))
    assert "aten/src/ATen/native" in page.parts[0].text
    assert {"storage", "dispatcher", "autograd"} <= set(page.parts[1].text.split("`"))


def test_a_symbol_is_not_a_folder() -> None:
    assert page_of_folder("at::native::add_kernel", load_folders(LAYERS)) is None


def test_without_pages_the_reason_is_shown() -> None:
    page = shipped_page("aten", None, None, problem="notes: it is a file")
    assert [part.text for part in page.parts] == ["notes: it is a file"]
