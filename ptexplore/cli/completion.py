"""Completion of arguments: names of symbols, operators, files, trees and tours, from existing indexes.

Nothing is built for it. typer's scripts for bash, zsh and fish call it; `answer` repairs names with colons, which bash
splits.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

VARIABLE = "_PTEXPLORE_COMPLETE"  # set by the shell's script; its value is the kind of request
_MOST = 200  # candidates
# typer's script for zsh evaluates the answer. Names and titles come from others, so those that a shell may expand are
# left out.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffd\\$`'\"]")
Candidates = list[tuple[str, str]]


def complete_name(incomplete: str) -> Candidates:
    """Returns symbols, operators and files that begin with the typed text."""
    return _names(("name", "op", "file"), incomplete) if incomplete else []


def complete_symbol(incomplete: str) -> Candidates:
    """Returns symbols and operators that begin with the typed text."""
    return _names(("name", "op"), incomplete) if incomplete else []


def complete_operator(incomplete: str) -> Candidates:
    """Returns operators that begin with the typed text."""
    return _names(("op",), incomplete)


def complete_tree(incomplete: str) -> Candidates:
    """Returns the fetched checkouts, and `runtime`."""
    return [*complete_checkout(incomplete), *_plain(["runtime"], incomplete)]


def complete_checkout(incomplete: str) -> Candidates:
    """Returns the fetched checkouts."""
    from ptexplore.source.fetch.checkouts import checkouts

    return _plain([checkout.name for checkout in checkouts()], incomplete)


def complete_kind(incomplete: str) -> Candidates:
    """Returns the kinds for `find` and `show`."""
    from typing import get_args

    from ptexplore.model.symbols import SymbolKind

    return _plain(["symbol", "operator", "folder", "file", "note", "text", *get_args(SymbolKind)], incomplete)


def complete_use(incomplete: str) -> Candidates:
    """Returns the groups of uses that `refs` shows."""
    from ptexplore.lookup.refs import GROUPS

    return _plain(GROUPS, incomplete)


def complete_tour(incomplete: str) -> Candidates:
    """Returns ids of tours and notes."""
    return _tours((), incomplete)


def complete_exercise(incomplete: str) -> Candidates:
    """Returns ids of exercises."""
    from ptexplore.workspace.completions import exercises

    return [(name, title) for name, title in exercises() if name.startswith(incomplete) and not _UNSAFE.search(name)]


def complete_stop(ctx: Any, incomplete: str) -> Candidates:
    """Returns ids of the stops of the tour given before."""
    return _tours((ctx.params.get("name") or "",), incomplete)


def _plain(words: Sequence[str], incomplete: str) -> Candidates:
    return [(word, "") for word in words if word.startswith(incomplete) and not _UNSAFE.search(word)]


def _tours(before: Sequence[str], incomplete: str) -> Candidates:
    from ptexplore.workspace.completions import tours

    # rich may read titles as markup, so brackets are removed.
    return [(name, re.sub(r"[\[\]]", "", _UNSAFE.sub("", title))) for name, title in tours(before, incomplete)]


def _names(sorts: Sequence[str], incomplete: str) -> Candidates:
    from ptexplore.workspace.completions import names

    safe = (name for name in names(sorts, incomplete, _MOST) if not _UNSAFE.search(name))
    return [(name, "") for name in dict.fromkeys(islice(safe, _MOST))]


def typed_words() -> list[str]:
    """Returns the words behind `ptexplore` on the line that the shell completes."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    return line.split()[1:]


def answer(complete: Callable[[], object]) -> int:
    """Prints the output of `complete`, typer's answer to the shell; for bash, in the form that bash needs.

    It never prints anything else and never fails, since completion may run at every key press.
    """
    shell = os.environ.get(VARIABLE, "")
    word, printed, status = "", io.StringIO(), 0
    try:
        word = join_words() if shell == "complete_bash" else ""
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            complete()
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1  # for fish, it says whether there are candidates
    except Exception:  # noqa: BLE001
        return 1
    # typer writes a ' as '' in single quotes; zsh would show no candidate then.
    text = printed.getvalue().replace("''", r"'\''") if shell == "complete_zsh" else printed.getvalue()
    sys.stdout.write(
        "".join(f"{line}\n" for line in _for_bash(text, word)) if word or shell == "complete_bash" else text
    )
    return status


def join_words() -> str:
    """Joins, in COMP_WORDS, the words that bash split at colons and equal signs.

    Returns the word at the cursor as typed.
    """
    words, current = os.environ.get("COMP_WORDS", "").split("\n"), int(os.environ.get("COMP_CWORD") or 0)
    joined: list[str] = []
    was_break = False
    for number, word in enumerate(words[: current + 1]):
        is_break = word != "" and not word.strip(":=")
        if number > 1 and joined and (is_break or was_break):
            joined[-1] += word
        else:
            joined.append(word)
        was_break = is_break
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(joined), str(len(joined) - 1)
    return joined[-1]


def _for_bash(text: str, word: str) -> Iterator[str]:
    """Yields candidates without the text before the last colon or equal sign, quoted if the word is not."""
    is_quoted = word[:1] in ("'", '"')
    kept = 0 if is_quoted else max(word.rfind(":"), word.rfind("=")) + 1
    for line in filter(None, text.splitlines()):
        yield line if is_quoted else re.sub(r"([^\w@%+=:,./-])", r"\\\1", line[len(_plain_text(word[:kept])) :])


def _plain_text(word: str) -> str:
    """Removes the shell's quoting from a word."""
    try:
        return "".join(shlex.split(word))
    except ValueError:
        return word
