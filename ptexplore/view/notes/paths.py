"""Three ways into PyTorch's source, by what the reader wants to do: which tours, stops and folders, in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from ptexplore.annotations.load import NoteLibrary

Kind = Literal["tour", "stop", "folder"]


@dataclass(frozen=True, slots=True)
class ReadingPath:
    """A way for readers with one aim. `steps` are tours ("storage"), stops ("storage#view") and folders ("c10/")."""

    title: str
    aim: str
    steps: tuple[str, ...]


# Chosen by hand from the shipped tours and pages. A step that a reader's notes or source lack is left out.
PATHS = (
    ReadingPath(
        "Understand PyTorch",
        "Follow a call from Python to its kernel, and backward through autograd.",
        ("storage", "dispatcher", "autograd"),
    ),
    ReadingPath(
        "Write a kernel",
        "Declare an operator, register it for a key, walk its strides, and give it a derivative.",
        (
            "dispatcher#yaml-entry", "dispatcher#torch-library", "dispatcher#torch-library-impl",
            "storage#sizes-and-strides", "storage#contiguous", "aten/src/ATen/native/", "aten/src/ATen/native/cpu/",
            "autograd#derivatives-entry", "autograd#custom-function",
        ),
    ),
    ReadingPath(
        "Write a backend or a compiler",
        "Find where calls can be intercepted: keys, fallbacks, Python, functorch, the threads of the engine.",
        (
            "dispatcher#dispatch-key", "dispatcher#tensor-key-set", "dispatcher#dispatch-table", "dispatcher#boxing",
            "dispatcher#backend-fallback", "dispatcher#python-key", "dispatcher#functorch-layers",
            "autograd#device-threads", "c10/core/",
        ),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PathStep:
    """A step with its title. `target` is what `step` in a path names, for a link."""

    kind: Kind
    target: str
    title: str


def steps_of(path: ReadingPath, library: NoteLibrary, folder_title: Callable[[str], str]) -> Iterator[PathStep]:
    """Yields the steps of a path that these notes have.

    `folder_title` returns the title of a folder's page, or "" to leave the folder out.
    """
    stops = {tour.name_of(stop): stop.title for tour, stop in library.stops()}
    for step in path.steps:
        if step.endswith("/"):
            title = folder_title(step.rstrip("/"))
            if title:
                yield PathStep("folder", step.rstrip("/"), title)
        elif step in stops:
            yield PathStep("stop", step, stops[step])
        elif step in library.tours and library.tours[step].stops:
            yield PathStep("tour", step, library.tours[step].title)
