"""How plain the text of this repository is: habits that make a reader read twice, counted in each part of it.

A count is a smoke detector. It says where to look, and a text without any of these may still be dark.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

LEAST = 8  # words: a shorter sentence is not asked for its share of pronouns
LONG = 30  # words: a longer sentence is counted
SHARE = 1 / 3  # of a sentence's words that are pronouns: with that share and more it is counted
# Pronouns, relatives, and what stands for a noun. What they mean stands somewhere else.
_PRONOUNS = """
    i you he she it we they me him her us them my your his its our their mine yours hers ours theirs
    this that these those which who whom whose what where when why how whatever whoever whichever wherever
    one ones none nothing something anything everything nobody somebody anybody everybody
    some any all each every both either neither other others another such same there here so
"""
PRONOUNS = frozenset(_PRONOUNS.split())
# By habit what it looks like. None of these is an error by itself; many of them are a manner.
HABITS = {
    "told": re.compile(r"\b(?:is|are|was|be|been) (?:not |never |only )?told\b|\btells of\b", re.IGNORECASE),
    "what … is": re.compile(r"\bwhat (?:[\w'’-]+ ){0,5}(?:is|are|was|were)\b", re.IGNORECASE),
    "no more": re.compile(r"\b(?:no|any) more\b(?! than)(?=[.,;:)]|$)", re.IGNORECASE),
    "of X's": re.compile(r"\bof (?:torch|PyTorch|Python|C\+\+|C|yours|ours|theirs|hers|another|others?)['’]s?\b"),
    "None where": re.compile(r"\bnone where\b", re.IGNORECASE),
    "that of": re.compile(r"\b(?:that|those) of\b", re.IGNORECASE),
}
PRONOUN_HEAVY, TOO_LONG = f"{SHARE:.0%} pronouns", f"over {LONG} words"
COUNTED = (PRONOUN_HEAVY, TOO_LONG, *HABITS)

_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.)\s?)|\|")
_END = re.compile(r"(?<=[.!?])\s+")


@dataclass
class Found:
    """What a part of the repository has: how many sentences of eight words and more, and which of each habit."""

    sentences: int = 0
    by_habit: dict[str, list[str]] = field(default_factory=lambda: {habit: [] for habit in COUNTED})

    @property
    def counts(self) -> dict[str, int]:
        """How many sentences have each habit."""
        return {habit: len(found) for habit, found in self.by_habit.items()}


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text in Markdown; a heading, a row of a list and a cell of a table are one each."""
    text = _LINK.sub(r"\1", _CODE.sub("X", _FENCE.sub("\n\n", text)))
    for paragraph in _PARAGRAPH.split(text):
        yield from filter(None, _END.split(" ".join(paragraph.split())))


def habits_of(sentence: str) -> Iterator[str]:
    """The habits that a sentence has."""
    words = _WORD.findall(sentence)
    pronouns = sum(word.lower() in PRONOUNS for word in words)
    if len(words) >= LEAST and pronouns >= SHARE * len(words):
        yield PRONOUN_HEAVY
    if len(words) > LONG:
        yield TOO_LONG
    yield from (habit for habit, looks in HABITS.items() if looks.search(sentence))


def found_in(texts: Iterable[str]) -> Found:
    """What these texts have."""
    found = Found()
    for text in texts:
        for sentence in sentences(text):
            found.sentences += len(_WORD.findall(sentence)) >= LEAST
            for habit in habits_of(sentence):
                found.by_habit[habit].append(sentence)
    return found


def texts_of_code(source: str) -> Iterator[str]:
    """The docstrings and comments of a module of Python; comments on lines that follow each other are one text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield ast.get_docstring(node) or ""
    block: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != last + 1:
                yield "\n".join(block)
                block = []
            block.append(token.string.lstrip("#! "))
            last = token.start[0]
    yield "\n".join(block)


def messages_of(source: str) -> Iterator[str]:
    """The texts of a module that people read on the screen: whatever has two blanks and is no docstring."""
    tree = ast.parse(source)
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body
        if isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents
        if is_text and node.value.count(" ") > 1:
            yield re.sub(r"\{[^}]*\}", "X", node.value)


def parts(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Each part of the repository with its texts: the rooms' docstrings and comments, messages, and each document."""
    package = root / "ptexplore"
    for room in sorted(folder for folder in package.iterdir() if (folder / "__init__.py").is_file()):
        files = [file for file in sorted(room.rglob("*.py")) if not file.is_relative_to(package / "view" / "words")]
        yield f"ptexplore/{room.name}", [text for file in files for text in texts_of_code(file.read_text("utf-8"))]
    words = sorted((package / "view" / "words").glob("*.py"))
    yield "messages", [text for file in (*words, package / "model" / "options.py") for text in messages_of(_read(file))]
    notes = root / "annotations"
    yield "annotations/folders", [_read(file) for file in sorted((notes / "folders").glob("*.md"))]
    documents = (
        *root.glob("*.md"),
        *notes.glob("*.md"),
        *(notes / "tours").glob("*.md"),
        *(root / "docs").glob("*.md"),
    )
    for file in sorted(documents):
        yield str(file.relative_to(root)), [_read(file)]


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


# --- ceilings ---


def ceilings(file: Path) -> dict[str, dict[str, int]]:
    """How many sentences of each part may have each habit; a part without a row may have none."""
    known: dict[str, dict[str, int]] = json.loads(_read(file))
    return known


def above(counts: dict[str, dict[str, int]], most: dict[str, dict[str, int]]) -> list[tuple[str, str, int, int]]:
    """Where there are more than may be: the part, the habit, how many, and the ceiling."""
    return [
        (part, habit, count, ceiling)
        for part, by_habit in counts.items()
        for habit, count in by_habit.items()
        if count > (ceiling := most.get(part, {}).get(habit, 0))
    ]


def lowered(counts: dict[str, dict[str, int]], most: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """The ceilings of parts that are there, none higher than before; zeros have no row."""
    kept = {
        part: {habit: min(count, most.get(part, {}).get(habit, 0)) for habit, count in by_habit.items()}
        for part, by_habit in counts.items()
    }
    return {part: row for part, by_habit in kept.items() if (row := {h: n for h, n in by_habit.items() if n})}


def total(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    """The sum of some parts' counts."""
    summed: Counter[str] = Counter()
    for by_habit in counts:
        summed.update(by_habit)
    return {habit: summed[habit] for habit in COUNTED}
