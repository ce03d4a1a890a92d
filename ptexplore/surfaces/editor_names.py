"""What a name in an editor means: candidates of lookup/, for the text of a tree or a Python file of yours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from ptexplore.lookup.calls import CallReader
from ptexplore.lookup.definitions import find_definitions, find_nearby, seen_from_there
from ptexplore.lookup.link_targets import LinkTarget
from ptexplore.lookup.python_operators import PythonOperators, full_name
from ptexplore.lookup.trees import Candidate, IndexedTree, symbol_candidate
from ptexplore.lookup.yaml_names import YamlNames
from ptexplore.model.remarks import AnswerRemark, OnlyLastPart
from ptexplore.model.symbols import Symbol
from ptexplore.source.canonical import language_of
from ptexplore.surfaces.editor_files import EditorFile, EditorFiles
from ptexplore.surfaces.editor_places import Asked
from ptexplore.surfaces.editor_text import column, editor_lines
from ptexplore.view.source_file import NAME

RUNTIME = "runtime"  # the tree of the installed torch
CHOICES = 12  # definitions that a reader can choose from; of more, none is shown
_READ = 20_000  # definitions that a reader of uses keeps, with everything that it knows about them
_LARGEST = 4 << 20  # bytes of a Python file of yours
_HEADERS = (".h", ".hpp", ".cuh", ".inc", ".def")
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


class Named(Struct, frozen=True):
    """What a name at a place means. `begin` and `end` are the columns of the name's word, in characters.

    `own`: the place is the name's own definition or declaration.
    """

    name: str
    begin: int
    end: int
    candidates: tuple[Candidate, ...] = ()
    remark: AnswerRemark | None = None
    own: Symbol | None = None


class OrderedTrees:
    """The trees in one order, with readers of their names: the tree that a question comes from is first."""

    def __init__(self, trees: Sequence[IndexedTree]) -> None:
        self.trees = list(trees)
        self.calls = CallReader(self.trees)
        self.yaml = YamlNames(self.trees)


class EditorNames:
    """The meanings of names. Use it in one thread."""

    def __init__(self, files: EditorFiles) -> None:
        self._files = files
        self._orders: dict[str, OrderedTrees] = {}

    def refresh(self) -> None:
        """Makes ready for a question: a replaced index is opened anew, and readers that keep too much are dropped."""
        if self._files.refresh():
            self._orders.clear()
        self._files.forget()
        for name, order in list(self._orders.items()):
            if order.calls.names.kept > _READ:
                del self._orders[name]

    def order(self, tree: str) -> OrderedTrees:
        """Returns the trees with this tree first."""
        if tree not in self._orders:
            ordered = sorted(self._files.trees, key=lambda indexed: indexed.tree.info.name != tree)
            self._orders[tree] = OrderedTrees(ordered)
        return self._orders[tree]

    def named(self, asked: Asked) -> tuple[str, Named] | None:
        """Returns what the name at a place means, with the tree of the place. None if there is no answer.

        A Python file of yours is in no tree: its names of torch mean operators of the installed torch.
        """
        at = self._files.at(asked)
        if at is not None:
            named = self._named(*at)
            return (at[0].tree, named) if named is not None else None
        if self._files.file(asked.file) is None:
            return self._yours(asked)
        return None

    def _named(self, opened: EditorFile, line: int, character: int) -> Named | None:
        text = opened.text(line)
        order = self.order(opened.tree)
        if order.yaml.is_read(opened.path):
            name, meant = order.yaml.meant(0, opened.path, line, character)
            word = _word(text, name, character)
            return Named(name, *word, tuple(meant)) if name and word is not None else None
        word = _word(text, "", character)
        if word is None:
            return None
        opened.source.parse()
        if opened.source.is_keyword(line, word[0]):
            return None
        name_meant = opened.source.meant(line, word[0])
        if name_meant is None:
            return None
        own = opened.source.defined_at(line, word[0])
        if own is not None:
            return Named(own.qualified, *word, tuple(self._own(order, own)), None, own)
        return Named(name_meant, *word, *self._meant(order, opened, name_meant, line))

    def _own(self, order: OrderedTrees, own: Symbol) -> Iterator[Candidate]:
        """Yields the definitions of a name at its own place: itself, or for a declaration its definitions."""
        if own.role == "definition":
            yield symbol_candidate(order.trees, [(0, own)])
            return
        defined = order.trees[0].store.definitions(own.qualified)
        alike = [symbol for symbol in defined if symbol.parameters == own.parameters] or defined
        for symbol in alike[:CHOICES] or [own]:
            yield symbol_candidate(order.trees, [(0, symbol)])

    def _meant(
        self, order: OrderedTrees, opened: EditorFile, name: str, line: int
    ) -> tuple[tuple[Candidate, ...], AnswerRemark | None]:
        if language_of(opened.path) == "python":
            full = full_name(opened.source.text, name, opened.path)
            operators = PythonOperators(self._files.catalogue, order.yaml).meant(full) if full is not None else []
            if operators:
                return tuple(operators), None
        at = (opened.tree, opened.path, line)
        near = find_nearby(order.trees, order.calls.names, name, *at)
        if near is not None:
            return tuple(near[0]), near[1]
        last = name.rpartition("::")[2].rpartition(".")[2]
        seen = [self._at(order, place) for place in seen_from_there(order.trees, order.calls.uses, last, *at)]
        if seen:
            return tuple(each for each in seen if each is not None), None
        if language_of(opened.path) == "cpp" and "." in name and "/" not in name and not name.endswith(_HEADERS):
            return (), None  # a member of an object whose class is not known
        named, remark = find_definitions(order.trees, order.calls.names, name, *at, order.calls.uses)
        if isinstance(remark, OnlyLastPart) or len(named) > CHOICES:
            return (), remark  # only the last part speaks for these: most are something else
        return tuple(named), remark

    def _at(self, order: OrderedTrees, place: LinkTarget) -> Candidate | None:
        named = order.trees[place.tree].store.symbols_named(place.definition.name)
        at = (place.path, place.definition.line)
        symbol = next((each for each in named if (each.path, each.line) == at), None)
        return symbol_candidate(order.trees, [(place.tree, symbol)]) if symbol is not None else None

    def _yours(self, asked: Asked) -> tuple[str, Named] | None:
        """Returns the operators that a name of torch in a Python file of yours means."""
        text = self._own_text(asked.file)
        lines = editor_lines(text) if text is not None else []
        if text is None or asked.line >= len(lines) or self._files.tree(RUNTIME) is None:
            return None
        line = lines[asked.line]
        character = column(line, asked.character, self._files.encoding)
        dotted = next((d for d in _DOTTED.finditer(line) if d.start() <= character <= d.end()), None)
        word = _word(line, "", character)
        if dotted is None or word is None or line[: dotted.start()].endswith("."):
            return None
        full = full_name(text, line[dotted.start() : word[1]])
        order = self.order(RUNTIME)
        operators = PythonOperators(self._files.catalogue, order.yaml).meant(full) if full is not None else []
        return (RUNTIME, Named(line[dotted.start() : word[1]], *word, tuple(operators))) if operators else None

    def _own_text(self, file: str) -> str | None:
        """Returns the text of a Python file that no tree has: the editor's, else the one on disk."""
        if not file.endswith(".py"):
            return None
        text = self._files.buffers(file)
        if text is not None:
            return text
        try:
            path = Path(file)
            is_small = path.is_file() and path.stat().st_size <= _LARGEST
            return path.read_text(encoding="utf-8", errors="replace") if is_small else None
        except OSError:
            return None


def _word(text: str, name: str, character: int) -> tuple[int, int] | None:
    """Returns the columns of the word at a column, or of a name that contains the column."""
    pattern = re.compile(re.escape(name)) if name else NAME
    return next((w.span() for w in pattern.finditer(text) if w.start() <= character <= w.end()), None)
