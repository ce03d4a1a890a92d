"""Writes the pages of source files, and beside each a compact file with its definitions: ten thousand pages.

Only files whose text, links or notes have changed are written. Text that a machine wrote is packed: raw deflate in
base64, which a browser unpacks by itself. Generated C++ shrinks to a tenth of its size. A page says so if scripts are
off, or if the browser cannot unpack it.

The markup of a page:

- Each line is an `<li>`, 100 lines are an `<ol class=c>`. Only lines that define something or have a stop have an `id`
  ("L120"); assets/site.js finds every other line by its number.
- In a line: `<i>` comment, `<s>` string, `<b>` keyword, `<u>` preprocessor word, decorator or macro, `<var>` type,
  `<samp>` number, `<bdi>` member.
- Also in a line: `<em>` a name that is called or declared, `<q>` an arrow that no row may break.
- `<a href=#r7>` leads to an entry of the list at the end of the page, `<a href=#L120>` to a definition in the same
  file. `<a href=#u120>` leads from a definition to its uses, `<a class=o>` from a generated function to its operator.
- A link or an entry of the list with `class=q` is a choice; an entry with `class=k` leads to another version.
- `li.n` has a stop in the margin. `li.f` is an indented line whose first word is too long for a phone.
- A packed page has `#code[data-packed]` and `<template id="packed">`: lines and list, parted by a form feed.

`PATH.js` calls `ptx.file(PATH, ROWS)`. A row is `[line, qualified name, kind, signature, comment, last line]`; the last
line is left out if it is the first one. ROWS that are long are packed. The outline, `#s=NAME` and the cards use them.
"""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from ptexplore.annotations.marks import Mark
from ptexplore.lookup.doc_comment import doc_of
from ptexplore.lookup.link_targets import Look, Meaning
from ptexplore.lookup.trees import changed
from ptexplore.lookup.use_meaning import UseReader
from ptexplore.render.html.output import Output, Row, SiteWork, digest
from ptexplore.render.html.packed import lines_and_list, pack
from ptexplore.render.html.pages import render
from ptexplore.render.html.source_markup import begins_long, class_of, escaped, marked_lines
from ptexplore.safe_text import safe_json
from ptexplore.source.canonical import is_made, language_of, yaml_of
from ptexplore.store.index.reader import IndexStore
from ptexplore.store.index.site import SiteDefinition
from ptexplore.view.notes.prose import plain_text
from ptexplore.view.site.site import Site, between, folder_url, shown, stop_url
from ptexplore.view.site.source_page import SIGNATURE, SourceData, source_data, template_of

if TYPE_CHECKING:
    from ptexplore.lookup.use_index import UsesOfFile
    from ptexplore.model.places import FileText
    from ptexplore.render.html.use_shards import UsesWriter

CHUNK = 100  # lines of one list: a browser lays out only the lists that are visible
LETTERS = {"function": "f", "class": "c", "struct": "c", "union": "c", "macro": "m", "typedef": "t", "concept": "t",
           "variable": "v", "member": "v", "enum": "e", "enumerator": "e"}  # fmt: skip
PAGE = 30_000  # characters of lines and list; the page of a generated file with more is packed
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z`(\"])")  # between two sentences
PROSE = 240  # characters of a stop's text that are shown beside the code
DATA = 1_000  # characters of rows; a file of definitions with more is packed
_WITHOUT_USES = frozenset({"member", "enumerator"})  # the index has no uses of these
_FEW = 40  # pages: for fewer, the needed names are looked up; for more, all names are read first
_BATCH = 24
_SHOWN = 3  # lines of one file that an entry names


class FileMade(NamedTuple):
    """The result for one file: the manifest rows of the pages written, and the file's uses if they were asked for."""

    rows: list[Row]
    uses: UsesOfFile | None


@dataclass
class Sources:
    """The writer of the pages of one site's files."""

    site: Site
    reader: UseReader
    out: Output
    reopen: Callable[[], list[IndexStore]]  # opens the indexes with connections of this process
    base: str  # a hash of everything that all pages depend on
    uses: UsesWriter | None = None  # gathers the uses in each file while its text is at hand, if they are not known
    _own: bool = False

    def work(self) -> SiteWork[tuple[str, str], list[FileMade]]:
        """Returns the pages that have changed, as work; with all other files, if their uses must be gathered."""
        files = [tree.store.known() for tree in self.site.trees]
        keys: dict[str, str] = {} if self.uses is None else dict.fromkeys(self.reader.names.owner, "")
        for path, url in self.site.sources.items():
            known = files[self.site.owner[path]].get(path)
            key = self._key(path, known.sha if known is not None else "")
            if not (self.out.fresh(url, key) and self.out.fresh(_symbols_url(url), key)):
                keys[path] = key
        if len(keys) > _FEW:
            self.reader.names.preload()
        return SiteWork(list(keys.items()), self._make, self._take, _BATCH)

    def _take(self, made: list[FileMade]) -> None:
        for file in made:
            self.out.take(file.rows)
            if file.uses is not None and self.uses is not None:
                self.uses.take(file.uses)

    def _key(self, path: str, sha: str) -> str:
        notes = [astuple(note) for note in self.site.notes.get(path, ())]
        return digest(self.base, path, sha, notes, sorted(self.site.at.get(path, {}).items()))

    def _make(self, tasks: Sequence[tuple[str, str]]) -> list[FileMade]:
        if not self._own and multiprocessing.parent_process() is not None:
            self.reader.names.reopened(self.reopen())  # a connection does not survive a fork
            self._own = True
        return [self._file(path, key) for path, key in tasks]

    def _file(self, path: str, key: str) -> FileMade:
        indexed = self.site.trees[self.reader.names.owner[path][0]]

        def text_as_indexed() -> str | None:
            file = indexed.tree.read(path)
            return file.text if file is not None and not changed(indexed, path) else None

        uses = self.uses.of_file(path, text_as_indexed) if self.uses is not None else None
        rows = self._page(path, key, indexed.tree.read(path), stale=changed(indexed, path)) if key else []
        indexed.tree.forget()
        return FileMade(rows, uses)

    def _page(self, path: str, key: str, file: FileText | None, *, stale: bool) -> list[Row]:
        site, url = self.site, self.site.sources[path]
        text = file.text if file is not None else ""
        data = source_data(self.reader, path, text)
        facts = _facts(site, path, text)
        # The key names the text that was indexed. The next build does not keep a page that shows another text.
        if file is None:
            facts.append("its text is no longer there")
            key = ""
        elif stale:  # the index is of another text: its lines are wrong here
            data = SourceData(path)
            facts.append("the file changed after it was indexed, so names have no links: ptexplore index")
            key = ""
        folder, _, name = path.rpartition("/")
        parts = folder.split("/") if folder else []
        generated = template_of(text) is not None or is_made(path)
        looks = self.reader.names.looks(python=path.endswith((".py", ".pyi")))
        code, entries = _code(site, data, text, url, looks), _entries(site, data, url)
        packed = lines_and_list(code, entries) if generated and len(code) + len(entries) > PAGE else ""
        page = render(
            site, "source.html", url, kind="source", id=path, title=name, name=name, generated=generated,
            folders=[(part, folder_url("/".join(parts[: n + 1]))) for n, part in enumerate(parts)],
            facts=facts, count=text.count("\n") + (not text.endswith("\n")), link=site.permalink(path),
            code="" if packed else Markup(code), packed=packed, listed=bool(entries),
            margin=Markup(_margin(site.notes.get(path, ()), url)),
            stops=[(note.line, note.title) for note in _by_line(site.notes.get(path, ()))],
            entries="" if packed else Markup(entries),
        )  # fmt: skip
        return [
            self.out.write(url, page, key, len(text.encode("utf-8", "replace"))),
            self.out.write(_symbols_url(url), _symbols(data, text), key),
        ]


def _symbols_url(url: str) -> str:
    return f"{url.removesuffix('.html')}.js"


def _facts(site: Site, path: str, text: str) -> list[str]:
    """Returns facts about a file for its reader: which tree it is from, and how it was generated."""
    number = site.owner.get(path, 0)
    facts = [shown(site.trees[number].tree.info)]
    others = [shown(indexed.tree.info) for n, indexed in enumerate(site.trees) if site.skewed(number, n)]
    if others:
        facts.append(f"another version than {', '.join(others)}: lines may differ")
    template = template_of(text)
    if template is not None:
        by = f" by {template[0]}" if template[0] else ""
        made_of = f" and {', '.join(yaml)}" if (yaml := yaml_of(path)) else ""
        facts.append(f"generated{by} from the template {template[1]}{made_of}")
    elif is_made(path):
        facts.append("made by the build; the file names no template")
    return facts


# --- the parts of a page ---


def _code(site: Site, data: SourceData, text: str, url: str, looks: Mapping[str, Look]) -> str:
    """Returns the numbered lines of a file with their links, in lists of `CHUNK` lines."""
    lines = marked_lines(language_of(data.path), text, data.words, data.includes, _named(data), looks)
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    long = {n for n, line in enumerate(text.split("\n"), 1) if begins_long(line)}
    with_note = {note.line for note in site.notes.get(data.path, ())}
    named = with_note | {symbol.line for symbol in data.defined}
    marks = {
        line: f"{f' id=L{line}' * (line in named)}{class_of(*['n'] * (line in with_note), *['f'] * (line in long))}"
        for line in named | long
    }
    for line, operator in site.at.get(data.path, {}).items():
        card = site.operators.get(operator)
        if card is not None and 0 < line <= len(lines):
            lines[line - 1] += f"<a class=o href={between(url, card)}>{escaped(operator.removeprefix('aten::'))}</a>"
    out = []
    for first in range(1, len(lines) + 1, CHUNK):
        out.append("<ol class=c>" if first == 1 else f"<ol class=c start={first}>")
        out += [f"<li{marks.get(n, '')}>{line}\n" for n, line in enumerate(lines[first - 1 : first - 1 + CHUNK], first)]
        out.append("</ol>\n")
    return "".join(out)


def _named(data: SourceData) -> dict[int, set[str]]:
    """Returns the names that link to their uses, by the line that defines or declares them."""
    named: dict[int, set[str]] = {}
    for symbol in data.defined:
        if symbol.kind not in _WITHOUT_USES and symbol.name.isidentifier():
            named.setdefault(symbol.line, set()).add(symbol.name)
    return named


def _entries(site: Site, data: SourceData, url: str) -> str:
    """Returns the list at the page's end: every name that is defined elsewhere, or several times, with its places."""
    return "".join(
        entry(site, data.path, number, name, meant, url) for number, (name, meant) in enumerate(data.entries, 1)
    )


def entry(site: Site, path: str, number: int, name: str, meant: Meaning, url: str) -> str:
    """Returns an entry of the list on the page `url`, about a name in the file `path`."""
    own = site.owner.get(path, 0)
    skewed = any(site.skewed(own, site.owner.get(place.path, place.tree)) for place in meant.places)
    kinds = [letter for letter, applies in (("q", not meant.sure), ("k", skewed)) if applies]
    shape = f' class="{" ".join(kinds)}"' if len(kinds) > 1 else f" class={kinds[0]}" if kinds else ""
    by_file: dict[str, list[int]] = {}
    for place in meant.places:
        by_file.setdefault(place.path, []).append(place.definition.line)
    files = [(file, sorted(lines)) for file, lines in sorted(by_file.items())]
    (file, lines), *others = files
    if not others and file.endswith(name) and not lines[0]:  # a file whose name is already the full text
        return f"<li id=r{number}{shape}>{_file(site, url, file, lines, name)}\n"
    places = " ".join(_file(site, url, *places) for places in files)
    return f"<li id=r{number}{shape}><code>{escaped(name)}</code> {places}\n"


def _file(site: Site, url: str, path: str, lines: Sequence[int], name: str = "") -> str:
    first = lines[0] or None
    listed = ", ".join(map(str, lines[:_SHOWN])) + (", …" if len(lines) > _SHOWN else "")
    numbers = f":{listed}" if first else ""
    text = f"{escaped(name or path.rsplit('/', 1)[-1])}{numbers}"
    where = site.place(url, path, first)
    if where is not None:
        return f"<a href={where}>{text}</a>"
    outside = site.permalink(path, first)
    if outside is not None:
        return f'<a class=x href="{escaped(outside)}">{text}</a>'
    return f"<span>{escaped(path)}{numbers}</span>"


def _margin(notes: Sequence[Mark], url: str) -> str:
    """Returns the notes beside the code, ordered by line."""
    return "".join(
        f'<article class="note" id="note-{note.stop.replace("#", "--")}" data-line="{note.line}">'
        f'<a class="at" href="#L{note.line}">line {note.line}</a>'
        f'<h2><a href="{between(url, stop_url(note.stop))}">{escaped(note.title)}</a></h2>'
        f"<p>{escaped(_beginning(note.text))}</p></article>\n"
        for note in _by_line(notes)
    )


def _by_line(notes: Sequence[Mark]) -> list[Mark]:
    return sorted(notes, key=lambda note: (note.line, note.stop))


def _beginning(prose: str) -> str:
    """Returns the first sentence of a stop's text, without markup; its first words if the sentence is long."""
    plain = _SENTENCE.split(plain_text(prose), maxsplit=1)[0]
    return plain if len(plain) <= PROSE else f"{plain[: PROSE - 1].rsplit(' ', 1)[0]}…"


def _symbols(data: SourceData, text: str) -> str:
    """Returns the script with the definitions of a file, for the outline, deep links and cards."""
    lines = text.split("\n")
    python = data.path.endswith((".py", ".pyi"))
    first_of_line: dict[tuple[int, str], SiteDefinition] = {}
    for symbol in data.defined:
        first_of_line.setdefault((symbol.line, symbol.qualified), symbol)
    rows = [
        [symbol.line, symbol.qualified, LETTERS.get(symbol.kind, "v"), symbol.signature[:SIGNATURE],
         doc_of(lines, symbol, python=python) if symbol.kind != "enumerator" else "",
         *([symbol.end_line] if symbol.end_line > symbol.line else [])]
        for symbol in first_of_line.values()
    ]  # fmt: skip
    listed = ",\n".join(safe_json(row) for row in rows)
    given = f"[{listed}]" if len(listed) <= DATA else f'"{pack(f"[{listed}]")}"'
    return f"ptx.file({safe_json(data.path)},{given})\n"
