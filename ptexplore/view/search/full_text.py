"""Lines that hold a query as it is typed: files by the index's words, then the lines themselves from the tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from ptexplore.view.trees import IndexedTree, Spot, one_tree_a_file, spot

FILES = 400  # most files of one tree that are read for one query
LONGEST = 400  # characters of a line that are shown
_WORD = re.compile(r"\w+")


def matching_lines(
    trees: Sequence[IndexedTree], query: str, limit: int, stopped: Callable[[], bool] = lambda: False
) -> tuple[list[tuple[Spot, str]], bool]:
    """The first `limit` lines that hold `query`, and whether there are (or may be) more.

    The query is literal; runs of blanks are one blank. Case counts when the query has a capital letter. Its first word
    must begin where a word of the text begins: files are found by whole words, the last one as a beginning. What was
    found so far is returned as soon as `stopped` says so.
    """
    words = [word for word in _WORD.findall(query) if not word[0].isdecimal()]  # numbers are not indexed
    wanted = " ".join(query.split())
    if not words or not wanted:
        return [], False
    words = [word.lower() for word in words]
    fold = wanted == wanted.lower()
    found: list[tuple[Spot, str]] = []
    more = False
    for indexed, earlier in one_tree_a_file(trees):
        paths = indexed.store.files_with_words(words, FILES + 1)
        more = more or len(paths) > FILES
        for path in paths[:FILES]:
            if stopped():
                return found, True
            if any(one.store.file(path) is not None for one in earlier):
                continue
            for number, line in _lines_with(indexed, path, wanted, fold=fold):
                if len(found) == limit:
                    return found, True
                found.append((spot(indexed, path, number), shortened(line, words[0])))
    return found, more


def _lines_with(indexed: IndexedTree, path: str, wanted: str, *, fold: bool) -> Iterator[tuple[int, str]]:
    """Numbers and lines of one file that hold `wanted`; a file without its first piece is not parted into lines."""
    file = indexed.tree.read(path)
    indexed.tree.forget()  # hundreds of files may be read for one query
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
    """A line without its indentation; of an endless one what is around `word`."""
    line = line.strip()
    if len(line) <= LONGEST:
        return line
    at = max(0, line.lower().find(word.lower()) - LONGEST // 4)
    return ("… " if at else "") + line[at : at + LONGEST] + (" …" if at + LONGEST < len(line) else "")
