"""Tours as files for VS Code's extension CodeTour.

A tour is exported by patterns, which work on any checkout, and by the lines of one revision.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ptexplore.annotations.anchors import ResolvedAnchor, Resolver, is_baseline
from ptexplore.annotations.load import NoteLibrary
from ptexplore.annotations.records import Lab, Stop, Tour
from ptexplore.lookup.trees import IndexedTree
from ptexplore.view.notes.check import MEANING
from ptexplore.view.notes.labs import lab_code

SCHEMA = "https://aka.ms/codetour-schema"
_SPECIAL = re.compile(r"[.*+?^${}()|\[\]\\/]")
_MOST = 12  # lines of one pattern
# VS Code trusts the Markdown in CodeTour's descriptions. A line that begins with >> is a shell command to run, and a
# link may be a command of the editor. For JavaScript a line also begins after these characters.
_SHELL = re.compile(r"((?:^|[\r\u2028\u2029])\s*)>>", re.MULTILINE)
_ENTITY = re.compile(r"&(?=#?\w+;)")  # may spell the scheme of a link
_SCHEME = re.compile(r"\b(command|vscode|vscode-insiders|file|javascript|data)\\?:(?=[^\s:])", re.IGNORECASE)
_LINK = re.compile(r"\[([^\]]*)\]\(#([a-z0-9-]+)\)")


@dataclass(frozen=True, slots=True)
class Exported:
    """One file to write, and the stops in it that have no place of their own, each with the reason."""

    name: str
    document: dict[str, Any]
    placeless: tuple[tuple[str, str], ...]


def codetour_files(library: NoteLibrary, indexed: IndexedTree, tours: Sequence[Tour]) -> list[Exported]:
    """Returns each tour by patterns; also by lines, if the source at hand is exactly one revision."""
    files = []
    resolver = Resolver(indexed.tree, indexed.store)
    for tour in tours:
        named = [(tour.name_of(stop), stop.anchor) for stop in tour.stops]
        placed = [resolver.resolve(name, anchor, library.entries.get(name)) for name, anchor in named]
        files.append(portable(tour, placed, indexed.tree.lines, primary=tour is tours[0]))
        ref = _ref(indexed, tour)
        files += [pinned(tour, placed, ref)] if ref is not None else []
    return files


def _ref(indexed: IndexedTree, tour: Tour) -> str | None:
    """Returns git's name for the source at hand: its commit or the release's tag. None if it is no exact revision."""
    checkout = indexed.checkout
    if checkout is None or checkout.modified:
        return None
    if is_baseline(indexed.tree.info, tour.baseline):
        return tour.baseline
    return f"v{checkout.release}" if checkout.release else checkout.commit


def portable(
    tour: Tour, anchors: Sequence[ResolvedAnchor], lines: Callable[[str], Sequence[str]], *, primary: bool
) -> Exported:
    """Returns the tour with patterns: it finds its lines as long as their text stays.

    `lines` gives the lines of a path.
    """

    def place(anchor: ResolvedAnchor) -> dict[str, Any] | None:
        expression = pattern(lines(anchor.path), anchor.line)
        return {"pattern": expression} if expression is not None else None

    return _exported(tour, anchors, place, name=tour.id, title=tour.title, primary=primary)


def pinned(tour: Tour, anchors: Sequence[ResolvedAnchor], ref: str) -> Exported:
    """Returns the tour with line numbers of one revision of the source."""
    name = f"{tour.id}-{re.sub(r'[^A-Za-z0-9._-]', '-', ref)}"
    made = _exported(tour, anchors, lambda anchor: {"line": anchor.line}, name=name, title=f"{tour.title} ({ref})")
    return replace(made, document=made.document | {"ref": ref})


def _exported(
    tour: Tour,
    anchors: Sequence[ResolvedAnchor],
    place: Callable[[ResolvedAnchor], dict[str, Any] | None],
    *,
    name: str,
    title: str,
    primary: bool = False,
) -> Exported:
    """Returns the tour as a file of that name. `place` returns where the stop of a placed anchor is."""
    steps: list[dict[str, Any]] = []
    placeless: list[tuple[str, str]] = []
    for stop, anchor in zip(tour.stops, anchors, strict=True):
        at = place(anchor) if anchor.placed else None
        if at is not None:
            steps.append({"file": anchor.path, **at, **_words(tour, stop)})
            continue
        why = "no pattern matches only its line" if anchor.placed else anchor.why or MEANING[anchor.outcome]
        placeless.append((anchor.stop, why))
        steps.append(_placeless(tour, stop, why))
    return Exported(f"{name}.tour", _document(tour, title, steps, primary=primary), tuple(placeless))


def pattern(lines: Sequence[str], line: int) -> str | None:
    """Returns a regular expression whose first match in these lines begins at `line` (1-based); None if none does.

    The expression is the text of the line without indentation, followed by as many lines as are needed to make the
    match the first one.
    """
    plain = [text.strip() for text in lines]
    if not 1 <= line <= len(plain) or not plain[line - 1]:
        return None
    for count in range(1, _MOST + 1):
        wanted = plain[line - 1 : line - 1 + count]
        if len(wanted) < count:
            return None
        first = next(at for at in range(len(plain)) if plain[at : at + count] == wanted)
        if first == line - 1:
            gap = r"[^\S\n]*"
            between = rf"{gap}\n{gap}"
            escaped = [_SPECIAL.sub(r"\\\g<0>", line) for line in wanted]
            return f"^{gap}{between.join(escaped)}{gap}$"
    return None


def _document(tour: Tour, title: str, steps: list[dict[str, Any]], *, primary: bool) -> dict[str, Any]:
    origin = f"Written on {tour.baseline}; exported by ptexplore from the tour `{tour.id}`."
    first = {"title": tour.title, "description": "\n\n".join(filter(None, (tour.intro, origin)))}
    document: dict[str, Any] = {"$schema": SCHEMA, "title": _safe(title)}
    if tour.summary:
        document["description"] = _safe(tour.summary)
    if primary:
        document["isPrimary"] = True
    return document | {"steps": [_safe_step(step) for step in (first, *steps)]}


def _safe_step(step: dict[str, Any]) -> dict[str, Any]:
    """Makes the text of a step safe. This must be the last change to it."""
    return {key: _safe(value) if key in ("title", "description") else value for key, value in step.items()}


def _words(tour: Tour, stop: Stop) -> dict[str, str]:
    parts = [part.text if part.lab is None else _lab(part.lab) for part in stop.parts]
    ids = [each.id for each in tour.stops]

    def to_step(match: re.Match[str]) -> str:
        # Step 1 is the introduction, so stop n is step n + 1. A link to no stop is left as it is: without the link, the
        # text on both sides could become a picture or HTML.
        return f"[{match[1]}][#{ids.index(match[2]) + 2}]" if match[2] in ids else match[0]

    return {"title": stop.title, "description": _LINK.sub(to_step, "\n\n".join(parts))}


def _placeless(tour: Tour, stop: Stop, why: str) -> dict[str, str]:
    words = _words(tour, stop)
    place = f"{_code(stop.anchor.symbol or '')} in {_code(stop.anchor.path)}"
    plain = re.sub(r"([\\`*_\[\]<>])", r"\\\1", why)
    return words | {"description": f"*Not placed in this source: {place} ({plain}).*\n\n{words['description']}"}


def _code(text: str) -> str:
    """Formats a name as code, whatever it contains."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    between = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{between}{' '.join(text.split())}{between}{fence}"


def _lab(lab: Lab) -> str:
    """Returns the lab as code to read. CodeTour would offer to run a line that begins with >>."""
    code = "\n".join(f"    {line}" for line in lab_code(lab))
    return f"Lab `{lab.id}`:\n\n{code}"


def _safe(text: str) -> str:
    """Changes everything in a text that CodeTour or VS Code would offer to run."""
    return _SHELL.sub(r"\1> >", _SCHEME.sub(r"\1%3A", _ENTITY.sub("&amp;", text)))
