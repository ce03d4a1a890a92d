"""Lines that hold a query as it is typed: files by the index's words, then the lines themselves from the tree."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ptexplore.view.trees import IndexedTree, Spot, one_tree_a_file, spot

FILES = 400  # most files of one tree that are read for one query
LONGEST = 400  # characters of a line that are shown
_WORD = re.compile(r"\w+")


def matching_lines(trees: Sequence[IndexedTree], query: str, limit: int) -> tuple[list[tuple[Spot, str]], bool]:
    """The first `limit` lines that hold `query`, and whether there are (or may be) more.

    The query is literal; runs of blanks are one blank. Case counts when the query has a capital letter. Its first word
    must begin where a word of the text begins: files are found by whole words, the last one as a beginning.
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
            if any(one.store.file(path) is not None for one in earlier):
                continue
            for number, line in enumerate(indexed.tree.lines(path), 1):
                if words[0] in line.lower() and wanted in " ".join((line.lower() if fold else line).split()):
                    if len(found) == limit:
                        return found, True
                    found.append((spot(indexed, path, number), shortened(line, words[0])))
    return found, more


def shortened(line: str, word: str) -> str:
    """A line without its indentation; of an endless one what is around `word`."""
    line = line.strip()
    if len(line) <= LONGEST:
        return line
    at = max(0, line.lower().find(word.lower()) - LONGEST // 4)
    return ("… " if at else "") + line[at : at + LONGEST] + (" …" if at + LONGEST < len(line) else "")
