"""The uses of names as the site keeps them: JSON files (shards), which assets/uses.js reads.

`uses/table.js` calls `ptx.usesTable({"shards": K, ...})` with the number of shards and the words of `ptexplore refs`.
`uses/N.js` calls `ptx.uses(N, TEXT)`. TEXT is packed (render/html/packed.py) and holds `{"f": FILES, "s": TEXTS,
"n": {NAME: ENTRY}}`; entries name files and texts by their number. NAME is the last part of a qualified name. An entry
is a list:

- files: `[file, [[line, kind, spelling, function around it, text of the line], ...]]`, best first;
- how many lines and files are not listed;
- how many lines have the name, also in files that are not on the site;
- definitions, a list for each (below);
- the spellings that a semantic reader resolved;
- `[file, [line, spelling, line, spelling, ...]]` for files that are not on the site, and how many are not listed.

A definition, in the order of `ShardOfUses._row`:

- qualified name, kind (a letter, as in shards.py), file, line;
- spellings with this possible meaning (null: all);
- callers, how many more, callees, how many more, bases;
- three of `[list, how many more]`: derived classes, functions that override it, functions that it overrides;
- the lines that use it, counted as `ptexplore refs` counts, also in files that are not on the site;
- the spellings that can mean nothing else (null: unknown), and the number of lines with these;
- 1 if only the file of the definition sees it;
- how many definitions have the same qualified name;
- how many lines are of functions of other classes that override it or may, and of how many not all bases are known;
- 1 if nothing else has the name;
- the number of lines with the name that are not uses, and cannot mean another definition.

A spelling is the number of a way to write the name: "native::mix", through an object, with two arguments. Kinds of
uses:

- c call, a address or argument, o override, i inheritance, m macro, y YAML, p import;
- r registration, whose text is the registered name.

A caller is `[name, file, line, line of the call, sure]`. A callee or base is
`[name, file, line, line of the call, sure, definitions]`; its file is -1 if there are several definitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ptexplore.lookup.use_index import CalledPlace, CallingPlace, DefinitionRow, NameEntry
from ptexplore.safe_text import clean, safe_json
from ptexplore.view.site.site import source_url

SHARD = 150  # about how many names go into one shard
_RELATED = 40  # at most so many classes or functions of each relation are listed
_WORDS = {"function": "f", "class": "c", "struct": "c", "union": "c", "macro": "m", "typedef": "t", "concept": "t",
          "variable": "v", "member": "v", "enum": "e", "enumerator": "e"}  # fmt: skip


def shard_of(name: str, shards: int) -> int:
    """Returns the number of the shard that has a name. assets/uses.js computes the same number."""
    number = 0
    for letter in name:
        number = (number * 31 + ord(letter)) & 0xFFFFFFFF
    return number % shards


@cache
def _is_plain(path: str, url: str | None) -> bool:
    return url == source_url(path)


class ShardOfUses:
    """The entries of many names as JSON. Each path and each text is kept once; entries refer to it by its number."""

    def __init__(self, pages: Mapping[str, str]) -> None:
        self._pages = pages
        self._files: dict[str, int] = {}
        self._texts: dict[str, int] = {}
        self._names: dict[str, object] = {}

    def add(self, entry: NameEntry) -> None:
        """Adds the entry of one name."""
        files = [
            [
                self._file(path),
                [[line, kind, spelled, self._text(inside), text] for line, kind, spelled, inside, text in uses],
            ]
            for path, uses in entry.files
        ]
        rows = [self._row(row) for row in entry.definitions]
        outside = [[self._file(path), [each for line in lines for each in line]] for path, lines in entry.outside]
        self._names[entry.name] = [
            files, entry.more, entry.used, rows, entry.resolved, outside, entry.outside_more
        ]  # fmt: skip

    def _row(self, row: DefinitionRow) -> list[object]:
        related = (row.derived, row.overridden_by, row.overrides)
        return [
            self._text(row.qualified), _WORDS.get(row.kind, "v"), self._file(row.at[0]), row.at[1], row.fitting,
            [self._caller(caller) for caller in row.callers], row.more_callers,
            [self._called(called) for called in row.callees], row.more_callees,
            [self._called(base) for base in row.bases],
            *([[self._caller(each) for each in some[:_RELATED]], max(0, len(some) - _RELATED)] for some in related),
            row.used, row.certain, row.sure, int(row.is_own), row.same, row.overridden, row.may_override,
            int(row.is_sole), row.aside,
        ]  # fmt: skip

    def _caller(self, caller: CallingPlace) -> list[object]:
        return [self._text(caller.name), self._file(caller.at[0]), caller.at[1], caller.line, int(caller.sure)]

    def _called(self, called: CalledPlace) -> list[object]:
        file, line = (self._file(called.at[0]), called.at[1]) if called.at is not None else (-1, 0)
        return [self._text(called.name), file, line, called.line, int(called.sure), called.choices]

    def _file(self, path: str) -> int:
        return self._files.setdefault(path, len(self._files))

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def json(self) -> str:
        """Returns the shard as JSON.

        A file is its path if its URL follows from the path. Otherwise a file is the path with its URL; the URL is null
        if the file has no page on the site.
        """
        files = [path if _is_plain(path, url := self._pages.get(path)) else [path, url] for path in self._files]
        document = {"f": files, "s": [clean(text) for text in self._texts], "n": self._names}
        return safe_json(document)
