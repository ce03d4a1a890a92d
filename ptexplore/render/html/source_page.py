"""The page of a source file, and the file of what is defined in it: compact, since there are ten thousand of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ptexplore.render.html.pack import DATA, pack
from ptexplore.render.html.words import Marker, escaped
from ptexplore.view.site.site import between
from ptexplore.view.site.source_page import SIGNATURE, doc_of, template_of

if TYPE_CHECKING:
    from ptexplore.store.index.site import SiteDefinition
    from ptexplore.view.site.link_targets import LinkTarget, Meaning
    from ptexplore.view.site.site import Note, Site
    from ptexplore.view.site.source_page import SourceData

CHUNK = 100  # lines of one list: a browser lays out only those that are seen
LETTERS = {"function": "f", "class": "c", "struct": "c", "union": "c", "macro": "m", "typedef": "t", "concept": "t",
           "variable": "v", "member": "v", "enum": "e", "enumerator": "e"}  # fmt: skip
_SHOWN = 3  # lines of one file that an entry names


def code(site: Site, data: SourceData, text: str, language: str, here: str) -> str:
    """The numbered lines of a file with their links, in lists of `CHUNK`."""
    lines = Marker(language).lines(text, data.words, data.includes)
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    marks = {one.line: f" id=L{one.line}" for one in data.defined}
    for note in site.notes.get(data.path, ()):
        marks[note.line] = f" id=L{note.line} class=n"
    for line, operator in site.at.get(data.path, {}).items():
        url = site.operators.get(operator)
        if url is not None and 0 < line <= len(lines):
            lines[line - 1] += f"<a class=o href={between(here, url)}>{escaped(operator.removeprefix('aten::'))}</a>"
    out = []
    for first in range(0, len(lines), CHUNK):
        part = lines[first : first + CHUNK]
        out.append("<ol class=c>" if not first else f"<ol class=c start={first + 1}>")
        out.extend(
            f"<li{marks[n]}>{line}\n" if n in marks else f"<li>{line}\n" for n, line in enumerate(part, first + 1)
        )
        out.append("</ol>\n")
    return "".join(out)


def entries(site: Site, data: SourceData, here: str) -> str:
    """The list at the page's end: every name that is defined elsewhere, or several times, with its places."""
    return "".join(entry(site, data.path, number, *one, here) for number, one in enumerate(data.entries, 1))


def entry(site: Site, path: str, number: int, name: str, meant: Meaning, here: str) -> str:
    """One of them, about a name in the file `path`, on the page `here`."""
    own = site.owner.get(path, 0)
    skewed = any(site.skewed(own, site.owner.get(place.path, place.tree)) for place in meant.places)
    kinds = "".join((" q" if not meant.sure else "", " k" if skewed else "")).strip()
    shape = f' class="{kinds}"' if " " in kinds else f" class={kinds}" if kinds else ""
    found = _by_file(meant.places)
    if len(found) == 1 and found[0][0].endswith(name) and not found[0][1][0]:  # a file, whose name says it all
        return f"<li id=r{number}{shape}>{_file(site, here, *found[0], name)}\n"
    places = " ".join(_file(site, here, file, lines) for file, lines in found)
    return f"<li id=r{number}{shape}><code>{escaped(name)}</code> {places}\n"


def _by_file(places: Iterable[LinkTarget]) -> list[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for one in places:
        found.setdefault(one.path, []).append(one.definition.line)
    return [(path, sorted(lines)) for path, lines in sorted(found.items())]


def _file(site: Site, here: str, path: str, lines: Sequence[int], name: str = "") -> str:
    name = escaped(name or path.rsplit("/", 1)[-1])
    first = lines[0] or None
    numbers = ", ".join(map(str, lines[:_SHOWN])) + (", …" if len(lines) > _SHOWN else "") if first else ""
    text = f"{name}:{numbers}" if numbers else name
    where = site.place(here, path, first)
    if where is not None:
        return f"<a href={where}>{text}</a>"
    outside = site.permalink(path, first)
    if outside is not None:
        return f'<a class=x href="{escaped(outside)}">{text}</a>'
    return f"<span>{escaped(path)}:{numbers}</span>" if numbers else f"<span>{escaped(path)}</span>"


def margin(notes: Sequence[Note], here: str) -> str:
    """The notes beside the code, by line."""
    return "".join(
        f'<article class="note" id="note-{one.stop.replace("#", "--")}" data-line="{one.line}">'
        f'<a class="at" href="#L{one.line}">line {one.line}</a>'
        f'<h2><a href="{between(here, one.url)}">{escaped(one.title)}</a></h2><p>{escaped(one.text)}</p></article>\n'
        for one in sorted(notes, key=lambda one: (one.line, one.stop))
    )


def symbols(data: SourceData, text: str) -> str:
    """The script that tells what is defined in a file, for the outline, deep links and cards."""
    lines = text.split("\n")
    python = data.path.endswith((".py", ".pyi"))
    rows = [
        [one.line, one.qualified, LETTERS.get(one.kind, "v"), one.signature[:SIGNATURE],
         doc_of(lines, one, python=python) if one.kind != "enumerator" else ""]
        for one in _first_of_line(data.defined)
    ]  # fmt: skip
    listed = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    given = f"[{listed}]" if len(listed) <= DATA else f'"{pack(f"[{listed}]")}"'
    return f"ptx.file({json.dumps(data.path, ensure_ascii=False)},{given})\n"


def _first_of_line(found: Sequence[SiteDefinition]) -> Iterator[SiteDefinition]:
    seen: set[tuple[int, str]] = set()
    for one in found:
        if (one.line, one.qualified) not in seen:
            seen.add((one.line, one.qualified))
            yield one


def facts(site: Site, path: str, text: str) -> list[str]:
    """What a reader must know of a file: whose it is, how it came to be."""
    from ptexplore.view.site.site import shown

    number = site.owner.get(path, 0)
    info = site.trees[number].tree.info
    found = [shown(info)]
    others = [shown(one.tree.info) for n, one in enumerate(site.trees) if site.skewed(number, n)]
    if others:
        found.append(f"of another version than {', '.join(others)}")
    made = template_of(text)
    if made is not None:
        by = f" by {made[0]}" if made[0] else ""
        found.append(f"generated{by} from the template {made[1]} and native_functions.yaml, derivatives.yaml")
    elif path.startswith("build/") or "/autograd/generated/" in path:
        found.append("generated by torchgen; it names no template")
    return found
