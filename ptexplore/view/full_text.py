"""Lines that hold a query as it is typed: files by the index's words, then the lines themselves from the tree."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ptexplore.view.trees import IndexedTree, Spot, one_tree_a_file, spot

FILES = 400  # most files of one tree that are read for one query
_WORD = re.compile(r"\w+")


def matching_lines(trees: Sequence[IndexedTree], query: str, limit: int) -> tuple[list[tuple[Spot, str]], bool]:
    """The first `limit` lines that hold `query`, and whether there are (or may be) more.

    The query is literal; runs of blanks are one blank. Case counts when the query has a capital letter. Its first word
    must begin where a word of the text begins: files are found by whole words, the last one as a beginning.
    """
    words = _WORD.findall(query)
    wanted = " ".join(query.split())
    if not words or not wanted:
        return [], False
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
                if wanted in " ".join((line.lower() if fold else line).split()):
                    if len(found) == limit:
                        return found, True
                    found.append((spot(indexed, path, number), line.strip()))
    return found, more
