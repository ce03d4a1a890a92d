"""Finds the lines of text that contain a query literally."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from ptexplore.lookup.trees import Candidate, IndexedTree, one_tree_a_file, spot

FILES = 400  # files of one tree that are read for one query, at most
LONGEST = 400  # characters of a line that are shown
WORD = re.compile(r"\w+")


def matching_lines(
    trees: Sequence[IndexedTree], query: str, limit: int, stopped: Callable[[], bool]
) -> tuple[list[Candidate], bool]:
    """Returns the first lines that contain `query`, at most `limit`, and whether there are (or may be) more.

    The query is literal; several blanks count as one. Case counts if the query has a capital letter. The index finds
    the files by the query's words. If the first word has three letters, the query may begin and end inside a word. As
    soon as `stopped` returns True, the lines found so far are returned.
    """
    words = [word.lower() for word in WORD.findall(query) if not word[0].isdecimal()]  # numbers are not indexed
    plain = " ".join(query.split())
    if not words:
        return [], False
    fold = plain == plain.lower()
    lines: list[Candidate] = []
    more = False
    for indexed, earlier in one_tree_a_file(trees):
        paths = indexed.store.files_with_words(words, FILES + 1)
        more = more or len(paths) > FILES
        for path in paths[:FILES]:
            if stopped():
                return lines, True
            if any(other.store.file(path) is not None for other in earlier):
                continue
            for number, line in _lines_with(indexed, path, plain, fold=fold):
                if len(lines) == limit:
                    return lines, True
                place = spot(indexed, path, number)
                lines.append(Candidate("line", f"{path}:{number}", shortened(line, words[0]), place))
    return lines, more


def _lines_with(indexed: IndexedTree, path: str, wanted: str, *, fold: bool) -> Iterator[tuple[int, str]]:
    """Yields number and text of each line of a file that contains `wanted`.

    A file without the first word is never split into lines.
    """
    file = indexed.tree.read(path)
    indexed.tree.forget()  # one query may read hundreds of files
    if file is None:
        return
    first = wanted.split(" ", 1)[0]
    text = file.text.lower() if fold else file.text
    at, number, begin = text.find(first), 1, 0
    while at != -1:
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end == -1 else end
        number += text.count("\n", begin, start)
        begin = start
        if wanted in " ".join(text[start:end].split()):
            yield number, file.text[start:end] if len(text) == len(file.text) else text[start:end]
        at = text.find(first, end)


def shortened(line: str, word: str) -> str:
    """Returns a line without its indentation. From a very long line, only the part around `word` is kept."""
    line = line.strip()
    if len(line) <= LONGEST:
        return line
    at = max(0, line.lower().find(word.lower()) - LONGEST // 4)
    return ("… " if at else "") + line[at : at + LONGEST] + (" …" if at + LONGEST < len(line) else "")
