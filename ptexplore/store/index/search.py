"""Finds names and paths for a query that a person types: exact match, prefix, camel humps, typing errors."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from heapq import nlargest, nsmallest
from itertools import accumulate, chain, islice
from typing import NamedTuple

from ptexplore.lazy import remembered
from ptexplore.model.symbols import Symbol
from ptexplore.source.canonical import folders_around
from ptexplore.store.index.opening import IndexConnection
from ptexplore.store.index.rows import SYMBOL, symbol, text_id

_LOWER = {letter: letter + 32 for letter in range(ord("A"), ord("Z") + 1)}


def lowered(text: str) -> str:
    """Converts the ASCII capitals to small letters. `str.lower` changes the length of some other letters.

    Offsets must be the same in both texts.
    """
    return text.translate(_LOWER)


class FragmentGroup(NamedTuple):
    """Fragments that mean the same word of a query, in small letters without "_", and the weight of the word."""

    fragments: Sequence[str]
    weight: int


_KEPT = 64  # fragments whose names are kept
_FEW_LINES = 10_000  # looking through so many names is faster than through the whole text
_BETWEEN = "\0"  # between two texts of containers; such a text may have line ends


class NumberedLines:
    """Searches texts by a part of a text. A mark separates the texts; the first text has the number 0."""

    def __init__(self, text: str, mark: str) -> None:
        self.text = text
        self._mark = mark
        lengths = accumulate(map(len, text.split(mark)[:-1]))
        self._ends = array("q", (length + line for line, length in enumerate(lengths)))  # the offsets of the marks
        self._kept: dict[str, Sequence[int]] = {}

    def holding(self, fragment: str) -> Sequence[int]:
        """Returns the numbers of the texts that contain `fragment`.

        The answers for the last fragments are kept: a palette asks for the same words after every letter, and the last
        word grows.
        """
        known = self._kept.get(fragment)
        if known is not None:
            return known
        shorter = self._kept.get(fragment[:-1])
        if self._mark in fragment:
            lines = []
        elif shorter is not None and len(shorter) < _FEW_LINES:
            lines = self.among(shorter, fragment)
        else:
            lines = self._through_all(fragment)
        if len(self._kept) >= _KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[fragment] = lines
        return lines

    def among(self, lines: Iterable[int], fragment: str) -> list[int]:
        """Returns the lines that contain `fragment`, in their order."""
        text, ends = self.text, self._ends
        return [line for line in lines if text.find(fragment, ends[line], ends[line + 1]) != -1]

    def _through_all(self, fragment: str) -> list[int]:
        text, ends, lines = self.text, self._ends, []
        at = text.find(fragment)
        while at != -1:
            line = bisect_right(ends, at) - 1
            lines.append(line)
            at = text.find(fragment, ends[line + 1])
        return lines


class LinesText:
    """Distinct names, sorted by code points, with a line end before and after each name."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lower(self) -> str:
        """The same text in small letters. Offsets are the same in both texts."""
        return lowered(self.text)

    @remembered
    def part(self, letter: str) -> tuple[int, int]:
        """Returns begin and end of the names that start with this letter.

        The names are sorted, so these names are neighbours. It begins at a line end and ends behind one.
        """
        first, last = self.text.find(f"\n{letter}"), self.text.rfind(f"\n{letter}")
        return (first, self.text.index("\n", last + 1) + 1) if first != -1 else (0, 0)

    def parts(self, letter: str) -> Iterator[tuple[int, int]]:
        """Yields `part` for a letter and for its capital, in the order of the names."""
        for spelling in sorted({letter, letter.lower(), letter.upper() if letter.isascii() else letter}):
            begin, end = self.part(spelling)
            if begin < end:
                yield begin, end

    def beginning(self, start: str) -> Iterator[str]:
        """Yields the names that start with `start`, ignoring case. `start` is in small letters."""
        wanted = re.compile(rf"\n{re.escape(start)}[^\n]*")
        for begin, end in self.parts(start[0]):
            for match in wanted.finditer(self.lower, begin, end):
                yield self.text[match.start() + 1 : match.end()]

    def has(self, name: str) -> bool:
        """Whether exactly this name is there."""
        return self.text.find(f"\n{name}\n", *self.part(name[0])) != -1

    def called(self, name: str) -> Iterator[str]:
        """Yields the names that are equal to `name`, ignoring case. `name` is in small letters."""
        for begin, end in self.parts(name[0]):
            at = self.lower.find(f"\n{name}\n", begin, end)
            while at != -1:
                yield self.text[at + 1 : at + 1 + len(name)]
                at = self.lower.find(f"\n{name}\n", at + 1, end)

    def holding(self, fragment: str) -> Iterator[str]:
        """Yields the names that contain `fragment`, ignoring case. `fragment` is in small letters."""
        at = self.lower.find(fragment)
        while at != -1:
            end = self.text.index("\n", at)
            yield self.text[self.text.rfind("\n", 0, at) + 1 : end]
            at = self.lower.find(fragment, end)

    def with_most(self, groups: Sequence[FragmentGroup], most: int) -> list[str]:
        """Returns at most `most` names with the most of the groups, by weight, ignoring case and "_".

        A name has a group if it contains one of the group's fragments. Names without a group are left out. Of names
        with the same weight, names with the first group come first.
        """
        weights = self.weights(groups)
        return [self._names[line] for line in nlargest(most, weights, key=weights.__getitem__)]

    def weights(self, groups: Sequence[FragmentGroup]) -> dict[int, int]:
        """Returns the sum of the weights of a name's groups, for each name with a group, by the number of the name."""
        weights: dict[int, int] = {}
        for group in groups:
            for line in dict.fromkeys(chain.from_iterable(map(self._squeezed.holding, group.fragments))):
                weights[line] = weights.get(line, 0) + group.weight
        return weights

    def has_text(self, text: str) -> bool:
        """Whether a name contains a text, ignoring case and "_"."""
        return text in self._squeezed.text

    @cached_property
    def _names(self) -> list[str]:
        return self.text.split("\n")[1:-1]

    @cached_property
    def _squeezed(self) -> NumberedLines:
        """The names in small letters without "_"."""
        return NumberedLines(self.lower.replace("_", ""), "\n")


class ContainersText:
    """Texts before the names of symbols ("at::native::"), with their ids. Other texts among them do no harm."""

    def __init__(self, rows: Sequence[tuple[int, str]]) -> None:
        self._ids = array("q", (number for number, _text in rows))
        texts = (lowered(text) for _number, text in rows)
        self._lines = NumberedLines(_BETWEEN + "".join(f"{text}{_BETWEEN}" for text in texts), _BETWEEN)

    def with_words(self, words: Sequence[str]) -> frozenset[int]:
        """Returns the ids of the texts that contain every word. The words are in small letters."""
        first, *others = words
        lines = self._lines.holding(first)
        for word in others:
            lines = self._lines.among(lines, word)
        return frozenset(self._ids[line] for line in lines)


class PathsText:
    """Paths, searched without regard to case."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._lower = {path: path.lower() for path in paths}

    @cached_property
    def folders(self) -> frozenset[str]:
        """All folders that contain one of these paths."""
        return folders_around(self._lower)

    def with_most(self, groups: Sequence[FragmentGroup], most: int) -> list[str]:
        """Returns at most `most` paths with the most of the groups, by weight, in the order of the paths."""
        weights = self._lines.weights(groups)
        return [self._paths[line] for line in nlargest(most, sorted(weights), key=weights.__getitem__)]

    def has_text(self, text: str) -> bool:
        """Whether a path contains a text, ignoring case and "_"."""
        return self._lines.has_text(text)

    @cached_property
    def _paths(self) -> list[str]:
        return list(self._lower)

    @cached_property
    def _lines(self) -> LinesText:
        return LinesText("\n" + "\n".join(self._lower) + "\n")

    def like(self, fragment: str, limit: int) -> list[str]:
        """Returns paths that contain `fragment`.

        Those that end with it come first, whole path components before others.
        """
        part = fragment.lower()

        def rank(path: str) -> tuple[bool, bool, bool, int, str]:
            low = self._lower[path]
            name = low.rsplit("/", 1)[-1]
            return (low != part and not low.endswith(f"/{part}"), part not in name, not name.startswith(part),
                    len(path), path)  # fmt: skip

        return nsmallest(limit, (path for path, low in self._lower.items() if part in low), key=rank)


EXACT, PREFIX, HUMPS, INSIDE, TYPO = 1000, 800, 600, 400, 200
_SEPARATOR = re.compile(r"::|\.")
_AT_ONCE = 32  # names in one query
_MANY_CONTAINERS = 500
_ASKED_AT_ONCE = 500  # Names in a query that reads no row of a table, only its index.
_MOST_KEPT = 1000  # names whose symbols are kept
_MOST_COUNTED = 8000  # Names whose uses are kept.
_MANY = 8  # the least number of symbols of one similar name: other names are similar, too
_START = re.compile(
    r"(?<![A-Za-z0-9\u0080-\uffff])[A-Za-z0-9\u0080-\uffff]|(?<=[a-z0-9])[A-Z]|(?<=[A-Z])[A-Z](?=[a-z])"
)


@lru_cache(maxsize=1 << 16)  # a palette asks about the same names after every key press
def word_starts(name: str) -> tuple[int, ...]:
    """Returns the offsets where words of a name begin:

    TensorIterator, add_kernel and Dispatcher.h have two words each.
    """
    return tuple(match.start() for match in _START.finditer(name))


_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
PART = 3  # least length of a fragment for a search inside words
_WORD = re.compile(r"\w+")
_LATEST = "\U0010ffff"


class _Inside(NamedTuple):
    """The containers of a qualified name: the words that each of them contains, and the ids of their texts."""

    words: tuple[str, ...]
    containers: frozenset[int]


class IndexSearch(IndexConnection):
    """Searches the names and paths of an open index."""

    @cached_property
    def _names(self) -> LinesText:
        """Every distinct name."""
        return LinesText(str(self.rows("SELECT names FROM names")[0][0]))

    def search(self, query: str, limit: int, *, slips: bool = True) -> list[tuple[Symbol, int]]:
        """Returns at most `limit` symbols with their scores, best first: exact name, prefix, camel humps, substring.

        With `slips`, names with typing errors are found too, if no name is equal to the query or begins with it. The
        containers of a qualified query must match too.
        """
        *outer, last = [part.strip() for part in _SEPARATOR.split(query.strip())]
        if not last or limit < 1 or any(mark in last for mark in "\n\0"):
            return []
        words = tuple(word.lower() for word in outer if word)
        inside = _Inside(words, self._containers.with_words(words)) if words else None
        if inside is not None and not inside.containers:
            return []  # nothing is in such a container
        scores: dict[Symbol, int] = {}
        # TI may mean TILE or TensorIterator: prefixes must not use up all places.
        shared = (limit + 1) // 2 if next(self._humps(last), None) is not None else limit
        for tier, names in self._ranked(last, max(200, 4 * limit), slips=slips):
            room = shared if tier == PREFIX else limit
            each = room if tier == EXACT else max(_MANY, room // _MANY)
            for place, candidate in self._best(names, inside, room - len(scores), each):
                if len(scores) < room:
                    scores.setdefault(candidate, tier - min(place, 99))
            if len(scores) >= limit:
                break
        return list(scores.items())

    def names_with_most(self, groups: Sequence[FragmentGroup], most: int) -> list[str]:
        """Returns at most `most` names with the most of the groups, by weight."""
        return self._names.with_most(groups, most)

    def has_text(self, text: str) -> bool:
        """Whether a name or a path contains a text, ignoring case and "_"."""
        return self._names.has_text(text) or self._paths.has_text(text)

    def paths_with_most(self, groups: Sequence[FragmentGroup], most: int) -> list[str]:
        """Returns at most `most` paths with the most of the groups, by weight."""
        return self._paths.with_most(groups, most)

    def called_one_of(self, names: Sequence[str], each: int) -> list[Symbol]:
        """Returns the symbols with these names, in their order; at most `each` of one name.

        The symbols of the last names are kept: a palette finds mostly the same names after every letter.
        """
        kept = self._kept_symbols
        missing = [name for name in dict.fromkeys(names) if (name, each) not in kept]
        if len(kept) > _MOST_KEPT:
            kept.clear()
            missing = list(dict.fromkeys(names))
        kept |= {(name, each): [] for name in missing}
        for place, hit in self._best(missing, None, each * len(missing), each):
            kept[missing[place], each].append(hit)
        return [hit for name in names for hit in kept[name, each]]

    @cached_property
    def _kept_symbols(self) -> dict[tuple[str, int], list[Symbol]]:
        return {}

    def _best(self, names: Sequence[str], inside: _Inside | None, limit: int, each: int) -> list[tuple[int, Symbol]]:
        """Returns at most `limit` symbols, best first, each with the rank of its name.

        At most `each` symbols of one name, all of them `inside` such containers. Some names are queried at a time: most
        are not needed, and a namespace has a row for each file.
        """
        ranks = {name: rank for rank, name in enumerate(names)}
        if inside is not None:
            names = self._named_inside(names, inside.containers)
        placed: list[tuple[int, int]] = []
        for first in range(0, len(names), _AT_ONCE):
            if len(placed) >= limit:
                break
            some = names[first : first + _AT_ONCE]
            ids = self._ids(some, inside, each)
            for name in some:
                placed += [(ranks[name], number) for number in ids.get(name, ())[: limit - len(placed)]]
        if not placed:
            return []
        listed = ", ".join(str(number) for _, number in placed)
        rows = self.rows(f"SELECT s.id, {SYMBOL[7:]} WHERE s.id IN ({listed})")
        by_id = {row[0]: symbol(row[1:]) for row in rows}
        return [(place, by_id[number]) for place, number in placed]

    def _named_inside(self, names: Sequence[str], containers: frozenset[int]) -> list[str]:
        """Returns the names that a symbol in one of the containers has. The order stays.

        One query about many names is faster than one about the symbols of each.
        """
        held: set[str] = set()
        for first in range(0, len(names), _ASKED_AT_ONCE):
            some = names[first : first + _ASKED_AT_ONCE]
            marks = ", ".join("?" * len(some))
            rows = self.rows(f"SELECT name, container FROM symbol WHERE name IN ({marks})", *some)
            held.update(name for name, container in rows if container in containers)
        return [name for name in names if name in held]

    def _ids(self, names: Sequence[str], inside: _Inside | None, each: int) -> dict[str, list[int]]:
        """Returns the ids of the first `each` symbols of each name, in their order."""
        where = ""
        wanted: tuple[str, ...] = ()
        if inside is not None and len(inside.containers) > _MANY_CONTAINERS:
            where, wanted = " AND instr(lower(c.text), ?)" * len(inside.words), inside.words
        elif inside is not None:
            # Few symbols have these names. The "+" stops SQLite from looking up each name in each container.
            where = f" AND +s.container IN ({', '.join(map(str, inside.containers))})"
        marks = ", ".join("?" * len(names))
        rows = self.rows(
            f"""SELECT name, id FROM (
                SELECT s.name, s.id, row_number() OVER (PARTITION BY s.name ORDER BY s.flags & 17,
                    s.kind IN (5, 8, 9, 10), area(f.path), length(c.text), f.path, s.line, s.id) AS place
                FROM symbol s LEFT JOIN text c ON c.id = s.container JOIN file f ON f.id = s.id >> 20
                WHERE s.name IN ({marks}){where}
            ) WHERE place <= ? ORDER BY name, place""",
            *names, *wanted, each,
        )  # fmt: skip
        ids: dict[str, list[int]] = {}
        for name, number in rows:
            ids.setdefault(name, []).append(number)
        return ids

    @cached_property
    def _containers(self) -> ContainersText:
        return ContainersText(self.rows("SELECT id, text FROM text"))

    def _ranked(self, last: str, most: int, *, slips: bool) -> Iterator[tuple[int, list[str]]]:
        """Yields groups of names that `last` may mean, best group first, with the group's score.

        No name comes twice.
        """
        seen: set[str] = set()
        begun = False
        tiers = ((EXACT, self._exact), (PREFIX, self._prefix), (HUMPS, self._humps), (INSIDE, self._inside),
                 (TYPO, self._typos))  # fmt: skip
        for score, tier in tiers:
            if score == TYPO and (begun or not slips):
                return  # a typing error is likely only if no name is equal to the query or begins with it
            new = [name for name in islice(tier(last), 20 * most) if name not in seen]
            if score != TYPO:  # typing errors are already sorted by their number
                new.sort(key=lambda name: (not name.startswith(last), len(name), name))
                head = new[:most]  # among short names, those with few words are closest
                new[:most] = sorted(head, key=lambda name: (not name.startswith(last), len(word_starts(name))))
            begun = begun or (score >= PREFIX and bool(new))
            seen.update(new)
            yield score, new[:most]

    def _exact(self, last: str) -> Iterator[str]:
        """Yields the name itself, then names that differ only in case."""
        if self._names.has(last):
            yield last
        yield from (name for name in self._names.called(last.lower()) if name != last)

    def _prefix(self, last: str) -> Iterator[str]:
        return self._names.beginning(last.lower())

    def _inside(self, last: str) -> Iterator[str]:
        return self._names.holding(last.lower()) if len(last) > 2 else iter(())

    def _humps(self, last: str) -> Iterator[str]:
        """Yields names by their word starts:

        TI and TensIt find TensorIterator, add_k finds add_kernel, AddStub add_stub.
        """
        humps = _HUMP.findall(last)
        if len(humps) == 1 and humps[0].isupper():
            humps = list(humps[0])
        if len(humps) < 2 or "".join(humps).lower() != last.replace("_", "").lower():
            return
        first, *rest = (hump.lower() for hump in humps)
        # A later word starts with a capital, or after an underscore or a digit. Between two words, any letters may be.
        later = "".join(rf"[^\n]*?(?:(?<=[_0-9]){re.escape(h)}|{re.escape(h[0].upper() + h[1:])})" for h in rest)
        start = f"[{re.escape(first[0].upper())}{re.escape(first[0])}]{re.escape(first[1:])}"
        wanted = re.compile(rf"\n_*{start}{later}[^\n]*")
        for letter in sorted({first[0].upper(), first[0], "_"}):
            for match in wanted.finditer(self._names.text, *self._names.part(letter)):
                yield match[0][1:]

    def _typos(self, last: str) -> Iterator[str]:
        """Yields names with at most two typing errors (one for short names).

        At least one piece of `last` is unchanged.
        """
        low = last.lower()
        if len(low) < 4:
            return
        most = 1 if len(low) < 7 else 2
        pieces = most + 1
        size = len(low) / pieces
        near: dict[str, int] = {}
        for number in range(pieces):
            piece = low[round(number * size) : round((number + 1) * size)]
            for name in self._names.holding(piece):
                if name not in near and abs(len(name) - len(low)) <= most:
                    near[name] = slips(low, name.lower(), most)
        yield from (name for name, count in sorted(near.items(), key=lambda item: item[1]) if count <= most)

    def uses(self, names: Iterable[str]) -> dict[str, int]:
        """Returns a rough count of each name's uses: one for each file, spelling and kind of use."""
        kept = self._kept_uses
        if len(kept) > _MOST_COUNTED:
            kept.clear()
        wanted = list(dict.fromkeys(names))
        missing = [name for name in wanted if name not in kept]
        for at in range(0, len(missing), 200):
            chosen = missing[at : at + 200]
            marks = ", ".join("?" * len(chosen))
            kept |= dict.fromkeys(chosen, 0)
            kept |= self.rows(f"SELECT name, count(*) FROM ref WHERE name IN ({marks}) GROUP BY name", *chosen)
        return {name: kept[name] for name in wanted if kept[name]}

    @cached_property
    def _kept_uses(self) -> dict[str, int]:
        """The counts of the last names: a palette finds mostly the same names after every letter."""
        return {}

    def every_use(self) -> dict[str, int]:
        """Returns the same estimate for every name."""
        return dict(self.rows("SELECT name, count(*) FROM ref GROUP BY name"))

    def names(self, prefix: str, limit: int) -> list[str]:
        """Returns names that begin with `prefix`, sorted. If `prefix` has a "::" or ".", the names are qualified."""
        cut = max((match.end() for match in _SEPARATOR.finditer(prefix)), default=0)
        container, last = prefix[:cut], prefix[cut:]
        query = "SELECT DISTINCT name FROM symbol WHERE name >= ? AND name < ?"
        values: list[object] = [last, last + _LATEST]
        if container:
            query += " AND container = ?"
            values.append(text_id(container))
        rows = self.rows(f"{query} ORDER BY name LIMIT ?", *values, limit)
        return [container + row[0] for row in rows]

    def files_with_words(self, words: Sequence[str], limit: int, *, whole: bool = False) -> list[str]:
        """Returns paths of files that contain every word, ignoring case; the last word may be incomplete.

        Without a word, the list is empty. After these come files in which the first word is the end of a word. A single
        word may be anywhere in a word. Both are searched only if the first word has at least PART letters, and not with
        `whole`.
        """
        parts = [part for word in words for part in _WORD.findall(word)]
        if not parts:
            return []
        # Each word is quoted, so that it cannot be an operator of FTS5's query language.
        quoted = [f'"{part}"' for part in parts]
        files = self._files("id IN (SELECT rowid FROM words WHERE words MATCH ?)", " AND ".join(quoted) + "*", limit)
        if whole or len(files) >= limit or len(parts[0]) < PART:
            return files
        self._open_vocabulary()
        inside = "instr(term, ?)" if len(parts) == 1 else "term LIKE '%' || ? ESCAPE '\\'"
        where = (
            f"id IN (SELECT doc FROM temp.word_files WHERE term IN (SELECT term FROM temp.word_list WHERE {inside}))"
        )
        if len(parts) == 1:
            wider = self._files(where, parts[0], limit)
        else:
            where += " AND id IN (SELECT rowid FROM words WHERE words MATCH ?)"
            wider = self._files(where, parts[0].replace("_", "\\_"), " AND ".join(quoted[1:]) + "*", limit)
        return list(dict.fromkeys([*files, *wider]))[:limit]

    def _files(self, where: str, *values: object) -> list[str]:
        return [path for (path,) in self.rows(f"SELECT path FROM file WHERE {where} ORDER BY path LIMIT ?", *values)]

    def _open_vocabulary(self) -> None:
        """Makes tables of the words of the full text (fts5vocab): every word, and every file of every word."""
        for table, kind in (("word_list", "row"), ("word_files", "instance")):
            self.rows(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table} USING fts5vocab(main, words, {kind})")

    def files_with_any_word(self, words: Sequence[str]) -> list[str]:
        """Returns paths of files that contain one of these words as a whole word, ignoring case."""
        paths: set[str] = set()
        for at in range(0, len(words), 100):
            match = " OR ".join(f'"{word}"' for word in words[at : at + 100] if _WORD.fullmatch(word))
            query = "SELECT path FROM file WHERE id IN (SELECT rowid FROM words WHERE words MATCH ?)"
            paths.update(row[0] for row in self.rows(query, match) if match)
        return sorted(paths)

    @cached_property
    def _paths(self) -> PathsText:
        return PathsText(path for (path,) in self.rows("SELECT path FROM file ORDER BY path"))

    def folders(self) -> frozenset[str]:
        """Returns every folder that contains a file, directly or in a subfolder."""
        return self._paths.folders

    def files_like(self, fragment: str, limit: int) -> list[str]:
        """Returns paths that contain `fragment`, ignoring case.

        Those that end with it come first, whole components first.
        """
        return self._paths.like(fragment, limit)


def slips(word: str, other: str, most: int) -> int:
    """Counts the letters to add, remove, change or swap to turn `word` into `other`. `most` + 1 stands for more."""
    if abs(len(word) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        older, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == wanted:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
