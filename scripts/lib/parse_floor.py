"""The floor of indexing C++: tree-sitter's parse of every file and one query over its trees, in two processes.

    python parse_floor.py NAMES QUERY

NAMES lists the files, one a line; QUERY is a query file. Prints how many captures there were.
"""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

PROCESSES = 2
HEAP = 50  # files that a process is given at a time


def main() -> None:
    """Read the files that the command line names."""
    names, query = Path(sys.argv[1]).read_text(encoding="utf-8").split("\n"), sys.argv[2]
    files = sorted(filter(None, names), key=lambda name: -Path(name).stat().st_size)
    heaps = [files[start::HEAP] for start in range(HEAP)]  # each with its share of the big ones
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, context, begin, (query,)) as pool:
        print(sum(pool.map(read, heaps)))


def begin(query: str) -> None:
    """Make the parser and the query of this process."""
    import tree_sitter
    import tree_sitter_cpp

    global PARSER, QUERY
    language = tree_sitter.Language(tree_sitter_cpp.language())
    PARSER, QUERY = tree_sitter.Parser(language), tree_sitter.Query(language, Path(query).read_text(encoding="utf-8"))


def read(files: list[str]) -> int:
    """The captures in some files."""
    from tree_sitter import QueryCursor

    count = 0
    for file in files:
        tree = PARSER.parse(Path(file).read_bytes())
        count += sum(map(len, QueryCursor(QUERY).captures(tree.root_node).values()))
    return count


if __name__ == "__main__":
    main()
