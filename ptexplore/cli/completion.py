"""What completes an argument: names of symbols, operators, files, trees and tours, from what is indexed already.

Nothing is built for it. typer's scripts for bash, zsh and fish ask; `answer` mends what bash does to names with colons.
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

VARIABLE = "_PTEXPLORE_COMPLETE"  # set by the shell's script, with what it asks
_MOST = 200  # candidates
# typer's script for zsh evaluates what it gets. Names and titles come from others: what a shell may expand is left out.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffd\\$`'\"]")
Candidates = list[tuple[str, str]]


def complete_name(incomplete: str) -> Candidates:
    """Symbols, operators and files that begin with what was typed."""
    return _names(("name", "op", "file"), incomplete) if incomplete else []


def complete_symbol(incomplete: str) -> Candidates:
    """Symbols and operators that begin with what was typed."""
    return _names(("name", "op"), incomplete) if incomplete else []


def complete_operator(incomplete: str) -> Candidates:
    """Operators that begin with what was typed."""
    return _names(("op",), incomplete)


def complete_tree(incomplete: str) -> Candidates:
    """The checkouts that were fetched, and `runtime`."""
    return [*complete_checkout(incomplete), *_plain(["runtime"], incomplete)]


def complete_checkout(incomplete: str) -> Candidates:
    """The checkouts that were fetched."""
    from ptexplore.source.fetch.checkouts import checkouts

    return _plain([checkout.name for checkout in checkouts()], incomplete)


def complete_kind(incomplete: str) -> Candidates:
    """Kinds of what `find` and `show` find."""
    from typing import get_args

    from ptexplore.model.symbols import SymbolKind

    return _plain(["symbol", "operator", "folder", "file", "note", "text", *get_args(SymbolKind)], incomplete)


def complete_use(incomplete: str) -> Candidates:
    """Groups of uses that `refs` shows."""
    from ptexplore.lookup.refs import GROUPS

    return _plain(GROUPS, incomplete)


def complete_tour(incomplete: str) -> Candidates:
    """Ids of tours and notes."""
    return _tours((), incomplete)


def complete_stop(ctx: Any, incomplete: str) -> Candidates:
    """Ids of the stops of the tour that was given before."""
    return _tours((ctx.params.get("name") or "",), incomplete)


def _plain(words: Sequence[str], incomplete: str) -> Candidates:
    return [(word, "") for word in words if word.startswith(incomplete) and not _UNSAFE.search(word)]


def _tours(before: Sequence[str], incomplete: str) -> Candidates:
    from ptexplore.workspace.completions import tours

    # The titles are read as markup where rich shows them: brackets go.
    return [(name, re.sub(r"[\[\]]", "", _UNSAFE.sub("", title))) for name, title in tours(before, incomplete)]


def _names(sorts: Sequence[str], incomplete: str) -> Candidates:
    from ptexplore.workspace.completions import names

    safe = (name for name in names(sorts, incomplete, _MOST) if not _UNSAFE.search(name))
    return [(name, "") for name in dict.fromkeys(islice(safe, _MOST))]


def typed_words() -> list[str]:
    """The words behind `ptexplore` on the line that the shell asks about."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    return line.split()[1:]


def answer(complete: Callable[[], object]) -> int:
    """Print what `complete`, typer's answer to the shell, prints; for bash, as bash needs it.

    Never says anything else and never fails: completion is asked at every key.
    """
    shell = os.environ.get(VARIABLE, "")
    word, printed, status = "", io.StringIO(), 0
    try:
        word = join_words() if shell == "complete_bash" else ""
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            complete()
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1  # fish asks by it whether there is anything
    except Exception:  # noqa: BLE001
        return 1
    # Of a doubled ' in its own quotes, which is how typer writes one, zsh shows nothing.
    text = printed.getvalue().replace("''", r"'\''") if shell == "complete_zsh" else printed.getvalue()
    sys.stdout.write(
        "".join(f"{line}\n" for line in _for_bash(text, word)) if word or shell == "complete_bash" else text
    )
    return status


def join_words() -> str:
    """Join, in COMP_WORDS, what bash parted at colons and equal signs; the word at the cursor as it was typed."""
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
    """Candidates without what stands before the last colon or equal sign, quoted where the word is not."""
    is_quoted = word[:1] in ("'", '"')
    kept = 0 if is_quoted else max(word.rfind(":"), word.rfind("=")) + 1
    for line in filter(None, text.splitlines()):
        yield line if is_quoted else re.sub(r"([^\w@%+=:,./-])", r"\\\1", line[len(_plain_text(word[:kept])) :])


def _plain_text(word: str) -> str:
    """A word without the shell's quoting."""
    try:
        return "".join(shlex.split(word))
    except ValueError:
        return word
