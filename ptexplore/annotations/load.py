"""Reads all notes, layer by layer. A later layer's tour replaces an earlier one with the same id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ptexplore.annotations.blocks import bounded
from ptexplore.annotations.files import names_in, read_bytes
from ptexplore.annotations.format import LARGEST, LARGEST_FOLDER, Kind, Origin, is_note, parse
from ptexplore.annotations.layers import Layer
from ptexplore.annotations.lock import LOCK, LockEntry, read_lock
from ptexplore.annotations.records import Problem, Stop, Tour, Where, unread

NOT_NOTES = ("readme.md", "concepts.md")
_MOST = 2000  # files of one folder


@dataclass
class NoteLibrary:
    """All loaded notes: tours and notes by id (a later layer's replaces an earlier one's), locks, problems."""

    layers: tuple[Layer, ...]
    tours: dict[str, Tour] = field(default_factory=dict)
    entries: dict[str, LockEntry] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    layer_of: dict[str, Layer] = field(default_factory=dict)

    def stops(self) -> Iterator[tuple[Tour, Stop]]:
        """Yields every stop with its tour: tours before notes, sorted by id."""
        for tour in sorted(self.tours.values(), key=lambda tour: (tour.kind == "note", tour.id)):
            for stop in tour.stops:
                yield tour, stop

    def stop(self, name: str) -> tuple[Tour, Stop] | None:
        """Returns the stop called "tour#stop" with its tour, or None."""
        tour_id, _, stop_id = name.partition("#")
        tour = self.tours.get(tour_id)
        return next(((tour, stop) for stop in tour.stops if stop.id == stop_id), None) if tour is not None else None


@bounded()
def load(folders: Sequence[Layer]) -> NoteLibrary:
    """Reads every file of every layer. An error in one becomes a problem of the library, and the rest loads."""
    library = NoteLibrary(tuple(folders))
    for layer in folders:
        own: dict[str, Tour] = {}
        entries, trouble = read_lock(layer.root / LOCK, f"{layer.shown}/{LOCK}")
        library.problems += trouble
        room = LARGEST_FOLDER
        for kind, file in _files(library, layer):
            data = _bytes(library, layer, file)
            room -= len(data or b"")
            if room < 0:
                text = f"more than {LARGEST_FOLDER:,} bytes of notes: the other files are left out"
                library.problems.append(Problem(Where(layer.shown, 1), text))
                break
            tour = _read(library, layer, kind, file, data) if data is not None else None
            if tour is None:
                continue
            if tour.id in own:
                text = f"{own[tour.id].where.file} already has the id {tour.id!r}"
                library.problems.append(Problem(tour.where, text))
            else:
                own[tour.id] = tour
        for name in own:
            library.entries = {k: v for k, v in library.entries.items() if k.partition("#")[0] != name}
            library.layer_of[name] = layer
        library.entries |= {key: entry for key, entry in entries.items() if key.partition("#")[0] in own}
        library.tours |= own
    library.problems += _dangling(library)
    return library


def _files(library: NoteLibrary, layer: Layer) -> list[tuple[Kind, Path]]:
    """Returns a layer's files by name: notes at its top and under notes/, tours under tours/."""
    folders: tuple[tuple[Kind, Path], ...] = (
        ("tour", layer.root / "tours"), ("note", layer.root), ("note", layer.root / "notes"),
    )  # fmt: skip
    files = [(kind, folder / name) for kind, folder in folders for name in _names(library, layer, folder)]
    if len(files) > _MOST:
        library.problems.append(
            Problem(Where(layer.shown, 1), f"more than {_MOST} files: the other files are left out")
        )
    return files[:_MOST]


def _names(library: NoteLibrary, layer: Layer, folder: Path) -> list[str]:
    try:
        names = names_in(folder, layer.root)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        shown = "/".join((layer.shown, *folder.relative_to(layer.root).parts))
        library.problems.append(unread(shown, error))
        return []
    return [name for name in names if name.lower().endswith(".md") and name.lower() not in NOT_NOTES and name[0] != "."]


def _shown(layer: Layer, file: Path) -> str:
    return f"{layer.shown}/{file.relative_to(layer.root).as_posix()}"


def _bytes(library: NoteLibrary, layer: Layer, file: Path) -> bytes | None:
    try:
        return read_bytes(file, LARGEST)
    except OSError as error:
        library.problems.append(unread(_shown(layer, file), error))
        return None


def _read(library: NoteLibrary, layer: Layer, kind: Kind, file: Path, data: bytes) -> Tour | None:
    if layer.quiet and not is_note(data):
        return None
    tour, problems = parse(data, kind, Origin(_shown(layer, file), str(file.parent), layer.shipped))
    library.problems += problems
    return tour


def _dangling(library: NoteLibrary) -> Iterator[Problem]:
    """Yields links to stops and tours that do not exist."""
    for tour in library.tours.values():
        for name in tour.prerequisites:
            if name not in library.tours:
                yield Problem(tour.where, f"the prerequisite {name!r} does not exist")
        for stop in tour.stops:
            for see in stop.anchor.see:
                if see.kind == "stop" and library.stop(see.text) is None:
                    yield Problem(see.where, f"the stop {see.text!r} under `see` does not exist")
