"""What ships with ptexplore: one start, concepts in the order of the tours, pages for the folders that matter."""

from __future__ import annotations

from itertools import pairwise

import pytest
import yaml

from ptexplore.annotations.concepts import STAGES, LearningPath, load_path
from ptexplore.annotations.folders import load_folders
from ptexplore.annotations.layers import layers
from ptexplore.annotations.load import NoteLibrary, load
from ptexplore.annotations.progress import ReadingProgress
from ptexplore.view.notes.folder import MAP, SHORT_NAMES
from ptexplore.view.notes.tour import in_order, path_view
from tests.harness import REPOSITORY

NEEDED = (
    "", "aten", "aten/src/ATen", "aten/src/ATen/core", "aten/src/ATen/native", "aten/src/ATen/native/cpu", "c10",
    "c10/core", "torch", "torch/csrc", "torch/csrc/autograd", "torch/csrc/jit", "torch/csrc/dynamo", "torchgen",
    "tools/autograd",
)  # fmt: skip


@pytest.fixture(scope="module")
def library() -> NoteLibrary:
    return load([layer for layer in layers((), REPOSITORY / "tests") if layer.shipped])


@pytest.fixture(scope="module")
def path(library: NoteLibrary) -> LearningPath:
    return load_path(library)


def test_home_the_path_and_the_site_begin_at_one_place(library: NoteLibrary, path: LearningPath) -> None:
    tours = in_order(library)
    assert [tour.id for tour in tours] == [
        "start", "storage", "binding", "dispatcher", "autograd", "codegen", "map", "modules", "serialization",
        "dataloader", "memory", "extensions",
    ]  # fmt: skip
    assert path_view(library, path, ReadingProgress()).following == tours[0].name_of(tours[0].stops[0])


def test_concepts_of_a_stage_come_in_the_order_of_the_tours(library: NoteLibrary, path: LearningPath) -> None:
    places = [tour.name_of(stop) for tour in in_order(library) for stop in tour.stops]
    for stage in STAGES:
        first = [places.index(concept.stops[0]) for concept in path.of(stage)]
        assert all(before <= after for before, after in pairwise(first)), stage


def test_the_basic_stage_leads_to_no_end_of_a_tour(library: NoteLibrary, path: LearningPath) -> None:
    """What stands there needs what comes before it."""
    for concept in path.of("basic-use"):
        tour, stop = library.stop(concept.stops[0]) or pytest.fail(concept.stops[0])
        assert [known.id for known in tour.stops].index(stop.id) < 13, concept.id


def test_the_folders_that_matter_have_pages(library: NoteLibrary) -> None:
    pages = load_folders(library.layers)
    assert pages.problems == []
    assert {*NEEDED, *MAP, *SHORT_NAMES.values()} <= set(pages.pages)
    assert len(pages.pages) >= 60
    for folder, page in pages.pages.items():
        assert page.start, folder
        assert page.summary, folder


def test_notes_read_the_same_by_libyaml_and_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = load(layers(()))
    assert yaml.__with_libyaml__, "else both are one loader"
    monkeypatch.setattr(yaml, "CSafeLoader", yaml.SafeLoader)
    assert load(layers(())) == quick
