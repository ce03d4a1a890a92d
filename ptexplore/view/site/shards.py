"""The search rows of the site, split by their first letters into shards of at most a hundred kilobytes.

assets/search.js reads these files:

- `search/table.js` calls `ptx.table(TABLES, WORDS, TOPICS)`. TABLES has a table for each family of shards: names, words
  inside names, headings and traces. A table maps the beginning of a word, in lower case, to the number of a shard. The
  longest beginning of a typed word that is in the table decides. WORDS are the words by which a query is read; `find`
  uses the same. TOPICS is the number of topic files.
- `search/N.js` calls `ptx.shard(N, {"u": URLS, "c": CONTEXTS, "r": ROWS, "more": true})`. URLS and CONTEXTS are sorted.
  The first character of each text says how many characters it shares with the text before it: "0" none, "1" one, up to
  "z" for 74. ROWS is one text with a line for each row, best first. Tabs part the fields: name; kind and code; number
  of the URL; fragment without "#" (120 means #L120); number of the context. "more" says that longer beginnings have
  shards with further rows.
- Kinds of symbols: f function, c class, struct or union, m macro, t typedef or concept, v variable or member, e enum or
  enumerator.
- Other kinds: o operator, p file, d folder, g tour, n stop or note, k concept, h heading, x trace.
- A code begins with a digit: 1 for a member, a declaration or a test, plus twice the distance of the file (0 to 3) from
  the files that most readers mean. A hexadecimal digit follows, the width in bits of the number of uses. A method or an
  enumerator has "m" at the end.
- `search/topics-N.js` calls `ptx.topics(ROWS)`: kind, number, names, title, summary; the stems of title and names, of
  the subjects and of the text, each parted by blanks; URL. A search looks through all of these rows.
- `search/docs.js` calls `ptx.docs(TEXTS)`: the beginning of the documentation by the name of an operator of ATen.
"""

from __future__ import annotations

import os.path
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from ptexplore.annotations.topics import Topic
from ptexplore.lookup.query_words import QUERY_WORDS
from ptexplore.safe_text import safe_json
from ptexplore.store.index.search import word_starts

LARGEST = 100_000  # bytes of a shard
_FULL = LARGEST * 9 // 10  # less than LARGEST, since the size of a row is an estimate
_TOP = 60_000  # bytes for the best rows if longer prefixes have shards of their own
_SHARED = 74  # the most shared letters; their count is written as a letter up to "z"
_DEEPEST = 24  # characters of the longest prefix


class SearchRow(NamedTuple):
    """One search result. `kind` is a letter (see above), `url` starts at the root, `context` says where it is.

    `code` orders rows that match equally well. `place` orders the rows of a shard, in case not all fit.
    """

    name: str
    kind: str
    url: str
    fragment: str = ""
    context: str = ""
    code: str = "00"
    place: tuple[int, ...] = ()


_Entry = tuple[str, SearchRow, int]  # the typed text, the row that it finds, and the row's size in bytes (estimated)


def begins(row: SearchRow) -> set[str]:
    """Returns the texts that find a row, in lower case: its name; if it is no symbol, also each of its words.

    A class is also found by its initials: DKS finds DispatchKeySet.
    """
    low = row.name.casefold()
    words = {low, low.lstrip("_")}
    if row.kind == "c":
        words.add("".join(low[at] for at in word_starts(row.name)) if row.name.isascii() else "")
    if row.kind not in "fcmtve":
        words.update(re.findall(r"\w+", low), re.split(r"[\W_]+", low))
    return {word[:_DEEPEST] for word in words if len(word) > 1}


def best_first(rows: Iterable[SearchRow]) -> list[SearchRow]:
    """Returns the rows in the order in which shards hold them."""
    return sorted(rows, key=_rank)


class Shards:
    """The shards of search rows, which must be in the order of `best_first`.

    `table` gives the shard's number for a prefix; `files` gives the shard's text for a number.
    """

    def __init__(self, rows: Sequence[SearchRow], first: int, words: Callable[[SearchRow], set[str]] = begins) -> None:
        self.table: dict[str, int] = {}
        self.files: dict[int, str] = {}
        self._next = first
        by_begin: defaultdict[str, list[_Entry]] = defaultdict(list)
        for row in rows:
            size = _size(row)
            for word in sorted([word[:_DEEPEST] for word in words(row)]):
                by_begin[word[:2]].append((word, row, size))
        self._gather(by_begin)

    def _gather(self, by_begin: dict[str, list[_Entry]]) -> None:
        """Puts small neighbours into one shard: one file for every two letters would be many thousands of files."""
        group: list[tuple[str, list[_Entry]]] = []
        size = 0
        for begin, entries in sorted(by_begin.items()):
            own = sum([size for _word, _row, size in entries])
            if own > _FULL:
                self._split(begin, entries)
                continue
            if size + own > _FULL:
                self._close(group)
                group, size = [], 0
            group.append((begin, entries))
            size += own
        self._close(group)

    def _close(self, group: list[tuple[str, list[_Entry]]]) -> None:
        if group:
            rows = [row for _begin, entries in group for _word, row, _size in entries]
            self._add([begin for begin, _entries in group], rows, more=False)

    def _split(self, begin: str, entries: list[_Entry]) -> None:
        if sum([size for _word, _row, size in entries]) <= _FULL:
            self._add([begin], [row for _word, row, _size in entries], more=False)
            return
        entries = sorted(entries, key=lambda entry: entry[0] != begin)  # exact names come first
        sizes = accumulate(size for _word, _row, size in entries)
        top = [entry[1] for entry, size in zip(entries, sizes, strict=True) if size <= _TOP]
        self._add([begin], top, more=True)
        longer: defaultdict[str, list[_Entry]] = defaultdict(list)
        for number, entry in enumerate(entries):
            if entry[0] == begin and number >= len(top) and entry[1].kind in "fcmtve" and " " not in begin:
                entry = (crowded(begin, entry[1]), *entry[1:])  # noqa: PLW2901 -- else no letters would lead to it
            if len(entry[0]) > len(begin):
                longer[entry[0][: len(begin) + 1]].append(entry)
        for next_begin in sorted(longer):
            self._split(next_begin, longer[next_begin])

    def _add(self, begin: list[str], rows: Sequence[SearchRow], *, more: bool) -> None:
        number = self._next
        self._next += 1
        self.table.update(dict.fromkeys(begin, number))
        self.files[number] = shard(number, list(dict.fromkeys(rows)), more=more)


def crowded(name: str, row: SearchRow) -> str:
    """Returns the text that finds a row whose name too many rows have: the name and the last part of its context."""
    return f"{name} {re.split(r'::|[./]', row.context)[-1].casefold()}"[: 2 * _DEEPEST]


def shard(number: int, rows: Sequence[SearchRow], *, more: bool) -> str:
    """Returns the script of one shard."""
    urls = {url: number for number, url in enumerate(sorted({row.url for row in rows}))}
    plain = {context: _plain(context) for context in {row.context for row in rows}}
    contexts = {text: number for number, text in enumerate(sorted(set(plain.values())))}
    lines = [
        f"{_plain(name)}\t{kind}{code}\t{urls[url]}\t{fragment}\t{contexts[plain[context]]}"
        for name, kind, url, fragment, context, code, _place in rows
    ]
    document = {"u": _packed(urls), "c": _packed(contexts), "r": "\n".join(lines)} | ({"more": True} if more else {})
    return f"ptx.shard({number},{safe_json(document)})\n"


def _packed(texts: Iterable[str]) -> list[str]:
    """Packs sorted texts: each as the number of letters shared with the text before it, and the rest.

    The number is one character, counted from "0" on.
    """
    packed, before = [], ""
    for text in texts:
        shared = len(os.path.commonprefix((text[:_SHARED], before)))  # noqa: RUF071 -- letters are what counts
        packed.append(chr(48 + shared) + text[shared:])
        before = text
    return packed


def table(tables: Iterable[Mapping[str, int]], topics: int) -> str:
    """Returns the script that says which shard has which prefix: one table for each family, in their order.

    It also has the words that queries are read by, and the number of topic files.
    """
    packed = [dict(sorted(numbers.items())) for numbers in tables]
    return f"ptx.table({safe_json([packed, QUERY_WORDS, topics])[1:-1]})\n"


class TopicRow(NamedTuple):
    """A tour, stop, concept or folder with its page. `kind` is a letter, `url` starts at the root."""

    kind: str
    topic: Topic
    url: str
    fragment: str = ""


def topic_files(rows: Sequence[TopicRow]) -> list[str]:
    """Returns the scripts of all topics. They are kept together, since a search reads all of them."""
    files: list[str] = []
    held: list[str] = []
    for number, (kind, topic, url, fragment) in enumerate(rows):
        href = f"{url}#{fragment}" if fragment else url
        fields = [
            kind,
            number,
            list(topic.names),
            topic.title,
            topic.summary,
            topic.titled,
            topic.about,
            topic.words,
            href,
        ]
        text = safe_json(fields)
        if held and sum(map(len, held)) + len(text) > _FULL:
            files.append(f"ptx.topics([{','.join(held)}])\n")
            held = []
        held.append(text)
    return [*files, f"ptx.topics([{','.join(held)}])\n"] if held else files


_LONGEST_DOC = 90  # letters of an operator's description


def docs_file(docs: Mapping[str, str]) -> str:
    """Returns the script with the descriptions of ATen's operators, by name without overload."""
    cut = {
        name: text if len(text) <= _LONGEST_DOC else f"{text[: _LONGEST_DOC - 1].rsplit(' ', 1)[0]}…"
        for name, text in sorted(docs.items())
    }
    return f"ptx.docs({safe_json(cut)})\n"


def _plain(text: str) -> str:
    return " ".join(text.split())


def _size(row: SearchRow) -> int:
    """Estimates the bytes of a row. URLs and contexts are shared by many rows, so a third of their length counts."""
    name = len(row.name) if row.name.isascii() else len(row.name.encode("utf-8", "replace"))
    return name + len(row.fragment) + 14 + (len(row.url) + len(row.context)) // 3


def _rank(row: SearchRow) -> tuple[object, ...]:
    context = row.context  # few of the thousands of generated rows have a short context
    return (row.place, len(row.name), row.name, len(context), context, row.url, row.fragment)


NAMES_OF_A_WORD = 40  # names found by one inner word: without a limit, the search would be as large as the source
_SHORTEST = 3  # letters of an inner word
_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=_)(?=[A-Za-z0-9])")
_FIRST_WORD = re.compile(r"[A-Z]*[a-z0-9]*")


class Inside:
    """For rows given best first: the rest of each name from an inner word on, as long as that word has room."""

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()

    def __call__(self, row: SearchRow) -> set[str]:
        """Returns a symbol's name from each inner word on, in lower case.

        Other rows give none: their words are found anyway.
        """
        beginnings: set[str] = set()
        if row.kind not in "fcmtve":
            return beginnings
        for match in _STARTS.finditer(row.name.lstrip("_")):
            rest = row.name.lstrip("_")[match.start() :]
            first = _FIRST_WORD.match(rest)
            word = first[0].lower() if first else ""
            if len(word) < _SHORTEST or self._times[word] >= NAMES_OF_A_WORD:
                continue
            self._times[word] += 1
            beginnings.add(rest.lower())
        return beginnings
