"""What a name in an editor means: candidates of lookup/, for the text of a tree or a Python file of yours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from ptexplore.lookup.calls import CallReader
from ptexplore.lookup.definitions import find_definitions, find_nearby, seen_from_there
from ptexplore.lookup.link_targets import LinkTarget
from ptexplore.lookup.python_operators import PythonOperators, full_name, is_own_definition
from ptexplore.lookup.targets import candidates
from ptexplore.lookup.trees import Candidate, IndexedTree, symbol_candidate
from ptexplore.lookup.yaml_names import YamlNames
from ptexplore.model.remarks import AnswerRemark, OnlyLastPart
from ptexplore.model.symbols import Symbol
from ptexplore.source.canonical import language_of
from ptexplore.surfaces.editor_files import EditorFile, EditorFiles
from ptexplore.surfaces.editor_places import AskedPlace
from ptexplore.surfaces.editor_text import column, editor_lines
from ptexplore.view.source_file import NAME

RUNTIME = "runtime"  # the tree of the installed torch

CHOICES = 12  # definitions that a reader can choose from; of more, none is shown

_READ = 20_000  # definitions in memory; of more, reading begins anew

_LARGEST = 4 << 20  # bytes of a Python file of yours
_HEADERS = (".h", ".hpp", ".cuh", ".inc", ".def")
_VALUES = frozenset({"variable", "enumerator", "member"})
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

    def named(self, asked: AskedPlace) -> tuple[str, Named] | None:
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
            written, meant = order.yaml.meant(0, opened.path, line, character)
            word = _word(text, written, character)
            return Named(written, *word, tuple(meant)) if written and word is not None else None
        word = _word(text, "", character)
        if word is None:
            return None
        opened.source.parse()
        if opened.source.is_keyword(line, word[0]):
            return None
        own = opened.source.defined_at(line, word[0])
        is_qualifier = text.startswith("::", word[1])  # the first Tensor in Tensor::Tensor is the class
        if own is not None and not is_qualifier and _is_declarator(text, word, own):
            return Named(own.qualified, *word, tuple(self._own(order, own)), None, own)
        source = opened.source
        name = source.name(line, word[0]) if is_qualifier else source.meant(line, word[0])
        if name is None or (is_qualifier and name.rpartition("::")[2] != text[slice(*word)]):
            return None  # a namespace, which a thousand places open
        if own is not None and name == own.qualified:
            name = text[slice(*word)]  # another use of the name on the line of its declarator
        is_member = text[: word[0]].rstrip().endswith(("->", ").", "]."))
        return Named(name, *word, *self._meant(order, opened, name, line, is_member=is_member))

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
        self, order: OrderedTrees, opened: EditorFile, name: str, line: int, *, is_member: bool
    ) -> tuple[tuple[Candidate, ...], AnswerRemark | None]:
        """Returns the things that a name on a line means. `is_member`: it is read from the result of an expression."""
        at = (opened.tree, opened.path, line)
        if language_of(opened.path) == "python":
            return tuple(self._in_python(order, opened, name, line)), None
        near = find_nearby(order.trees, order.calls.names, name, *at) if not is_member else None
        if near is not None:
            return tuple(near[0]), near[1]
        last = name.rpartition("::")[2].rpartition(".")[2]
        seen = self._seen(order, last, *at)
        if seen:
            return tuple(seen), None
        if is_member or ("." in name and "/" not in name and not name.endswith(_HEADERS)):
            return (), None  # a member of an object whose class is not known
        named, remark = find_definitions(order.trees, order.calls.names, name, *at, order.calls.uses)
        if isinstance(remark, OnlyLastPart):
            return (), remark  # most of these are something else
        if "::" not in name and "/" not in name:
            named = list(self._likely(order, opened, name, line, named))
        return (tuple(named), remark) if len(named) <= CHOICES else ((), remark)

    def _seen(self, order: OrderedTrees, last: str, tree: str, path: str, line: int) -> list[Candidate]:
        places = seen_from_there(order.trees, order.calls.uses, last, tree, path, line)
        return [each for place in places if (each := self._at(order, place)) is not None]

    def _likely(
        self, order: OrderedTrees, opened: EditorFile, name: str, line: int, named: Sequence[Candidate]
    ) -> Iterator[Candidate]:
        """Yields the candidates for a plain name of C++ that more than the name speaks for.

        A function must be used on the line, as far as the index has uses; a member must belong to a class around the
        line. A type that the file names itself is another one.
        """
        uses = order.calls.names.uses(opened.path)
        is_used = any(use.name == name and line in use.lines for use in uses)
        around = order.trees[0].store.enclosing(opened.path, line)
        scope = around.qualified if around is not None else ""
        is_given = order.calls.uses.of_file(opened.path, opened.source.text).gives(name)
        values = {each.name for each in named if each.kind in _VALUES}
        for each in named:
            container = each.name.rpartition("::")[0]
            if each.kind == "member":
                fits = bool(container) and f"{scope}::".startswith(f"{container}::")
            elif each.kind in _VALUES:
                fits = len(values) == 1 and len(named) == 1
            elif each.kind == "function":
                fits = is_used
            else:
                fits = not is_given or each.spot.ref.path == opened.path
            if fits:
                yield each

    def _in_python(self, order: OrderedTrees, opened: EditorFile, name: str, line: int) -> Iterator[Candidate]:
        """Yields what a Python name means: as the imports of its text say, else as the index links it."""
        text, tree = opened.source.text, opened.tree
        full = full_name(text, name, opened.path)
        if full is not None:
            operators = PythonOperators(self._files.catalogue, order.yaml).meant(full)
            yield from operators or candidates(order.trees, None, full)
            return
        seen = self._seen(order, name.rpartition(".")[2], tree, opened.path, line)
        if seen or not is_own_definition(text, name, opened.path):
            yield from seen
            return
        for symbol in opened.source.outline:
            module = opened.path.rpartition(".")[0].replace("/", ".").removesuffix(".__init__")
            if symbol.qualified == f"{module}.{name}" and symbol.role == "definition":
                yield symbol_candidate(order.trees, [(0, symbol)])

    def _at(self, order: OrderedTrees, place: LinkTarget) -> Candidate | None:
        named = order.trees[place.tree].store.symbols_named(place.definition.name)
        at = (place.path, place.definition.line)
        symbol = next((each for each in named if (each.path, each.line) == at), None)
        return symbol_candidate(order.trees, [(place.tree, symbol)]) if symbol is not None else None

    def _yours(self, asked: AskedPlace) -> tuple[str, Named] | None:
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


def _is_declarator(text: str, word: tuple[int, int], own: Symbol) -> bool:
    """Whether a word is the declared name itself, if its line has the name several times: Capture(const Capture&)."""
    name = text[slice(*word)]
    first, *others = (match.start() for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text))
    if not others:
        return True
    return text[word[1] :].lstrip().startswith("(") if own.kind == "function" else word[0] == first


def _word(text: str, name: str, character: int) -> tuple[int, int] | None:
    """Returns the columns of the word at a column, or of a name that contains the column."""
    pattern = re.compile(re.escape(name)) if name else NAME
    return next((w.span() for w in pattern.finditer(text) if w.start() <= character <= w.end()), None)
