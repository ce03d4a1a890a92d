"""The topics of notes for a search: tours, stops, notes, concepts, folders. They are cached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from ptexplore.annotations.kept import Tell, keep, kept, notes_key
from ptexplore.annotations.plain_words import distinct_stems, stems

if TYPE_CHECKING:
    from ptexplore.annotations.concepts import LearningPath
    from ptexplore.annotations.folders import FolderPages
    from ptexplore.annotations.layers import Layer
    from ptexplore.annotations.load import NoteLibrary

FORMAT = 2
TopicKind = Literal["tour", "stop", "note", "concept", "folder"]


@dataclass(frozen=True)
class Topic:
    """One topic that people wrote about.

    `names` are its names, the full name first: ("dispatcher#boxing", "boxing"); the name of a folder is its path.
    `stemmed` are the names and the title as stems, and `titled` has all of these stems. `about` has the stems of other
    descriptions (its tour, its summary), `words` those of its text. In these three, each stem occurs once, separated by
    blanks. `stops` are the stops that show it; the first one is opened.
    """

    kind: TopicKind
    names: tuple[str, ...]
    title: str
    summary: str = ""
    stemmed: tuple[str, ...] = ()
    titled: str = ""
    about: str = ""
    words: str = ""
    stops: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.names[0]


def _topic(
    kind: TopicKind, names: tuple[str, ...], title: str, *, about: str = "", text: str = "", stops: tuple[str, ...] = ()
) -> Topic:
    own = [name for name in names if "#" not in name]  # the tour in a stop's name only describes the stop
    stemmed = tuple(" ".join(stems(text)) for text in (*names, title))
    summary = about if kind in ("tour", "note", "folder") else ""
    titled = distinct_stems([*own, title])
    return Topic(kind, names, title, summary, stemmed, titled, distinct_stems([about]), distinct_stems([text]), stops)


def topics(library: NoteLibrary, path: LearningPath, pages: FolderPages) -> list[Topic]:
    """Returns all topics: in the order of the tours, then concepts, then folders."""
    return [*_stops(library), *_concepts(library, path), *_folders(pages)]


def _stops(library: NoteLibrary) -> Iterator[Topic]:
    for tour in sorted(library.tours.values(), key=lambda tour: (tour.kind == "note", tour.id)):
        first = tuple(tour.name_of(stop) for stop in tour.stops[:1])
        if not first:
            continue
        if tour.kind == "tour" or len(tour.stops) > 1:
            kind: TopicKind = "tour" if tour.kind == "tour" else "note"
            yield _topic(kind, (tour.id,), tour.title, about=tour.summary, text=tour.intro, stops=first)
        for stop in tour.stops:
            name = tour.name_of(stop)
            names = (name, stop.id) if tour.kind == "tour" or len(tour.stops) > 1 else (name, stop.id, tour.id)
            about = f"{tour.id} {tour.title} {stop.anchor.symbol}"
            yield _topic("stop", names, stop.title, about=about, text=stop.prose, stops=(name,))


def _concepts(library: NoteLibrary, path: LearningPath) -> Iterator[Topic]:
    for concept in path.concepts.values():
        known = tuple(name for name in concept.stops if library.stop(name) is not None)
        if known:
            yield _topic("concept", (concept.id,), concept.title, text=concept.question, stops=known)


def _folders(pages: FolderPages) -> Iterator[Topic]:
    for folder, page in sorted(pages.pages.items()):
        if folder:
            yield _topic("folder", (folder,), page.title, about=page.summary, text=page.intro)


def kept_topics(layers: Sequence[Layer], tell: Tell) -> list[Topic]:
    """Returns the topics of these folders of notes: from the cache, while none of their files changed.

    `tell` is called for each file that could not be read. Raises PtexploreError if a folder of notes does not exist.
    """
    name = f"topics-{notes_key(layers, str(FORMAT))}"
    known = kept(name, "topics", _of_row)
    if known is not None:
        return known
    from ptexplore.annotations.concepts import load_path
    from ptexplore.annotations.folders import load_folders
    from ptexplore.annotations.load import load

    library, pages = load(layers), load_folders(layers)
    path = load_path(library)
    made = topics(library, path, pages)
    problems = (*library.problems, *path.problems, *pages.problems)
    keep(name, "topics", [asdict(topic) for topic in made], problems, tell)
    return made


def _of_row(row: dict[str, Any]) -> Topic:
    return Topic(**row | {key: tuple(row[key]) for key in ("names", "stemmed", "stops")})
