"""Finds the definitions that a name means at its place in a source text, with a remark on how sure they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ptexplore.cpp.text import Text
from ptexplore.lookup.link_targets import CLASSES, DefinitionsByName, LinkTarget, agree
from ptexplore.lookup.targets import candidates
from ptexplore.lookup.trees import Candidate, IndexedTree, spot
from ptexplore.lookup.use_meaning import UseReader
from ptexplore.model.remarks import (
    AnswerRemark,
    ByNameAlone,
    DeclaredByMacro,
    IsDefinedHere,
    LocalName,
    LocalOfClass,
    NotDefined,
    OfCppLibrary,
    OfOtherLanguage,
    OnlyLastPart,
    SeenFromHere,
)
from ptexplore.source.canonical import language_of


def find_definitions(
    trees: Sequence[IndexedTree],
    names: DefinitionsByName,
    name: str,
    tree: str,
    path: str,
    line: int,
    reader: UseReader | None = None,
) -> tuple[list[Candidate], AnswerRemark | None]:
    """Returns the definitions elsewhere that a name on a line may mean, and a remark on them.

    Definitions in the same file come first, then those in the same tree. A qualified name is looked up as it is
    written, then by its last part, because the qualifier may be an alias and not a namespace. If several definitions
    have the name, and `names` is sure which one the line sees (as for links on the site), only that one is returned.
    If the use on the line can mean only one qualified name (as for `refs`), its overloads are returned.
    You can keep a `reader` of `names` and pass it again.
    """
    near = find_nearby(trees, names, name, tree, path, line)
    if near is not None:
        return near
    last = name.rpartition("::")[2].rpartition(".")[2]
    named = candidates(trees, None, name)
    remark: AnswerRemark | None = None
    if not named and last != name and "/" not in name:
        named = candidates(trees, None, last)
        remark = OnlyLastPart(name, last) if named else None
    # A definition in another language is another thing.
    language = language_of(path)
    same_language = [candidate for candidate in named if language_of(candidate.spot.ref.path or "") == language]
    if not same_language:
        if named:
            return [], OfOtherLanguage(last)
        return [], NotDefined(name)
    elsewhere = [candidate for candidate in same_language if not _is_at(candidate, tree, path, line)]
    if not elsewhere:
        return [], IsDefinedHere(last)
    if name.startswith("std::") and remark:
        return [], OfCppLibrary(name)
    if len(elsewhere) > 1:
        places = seen_from_there(trees, reader or UseReader(names), last, tree, path, line)
        at = {(trees[place.tree].tree.info.name, place.path, place.definition.line) for place in places}
        seen = [candidate for candidate in elsewhere if _place_of(candidate) in at]
        if seen:
            return seen, SeenFromHere(len(elsewhere), seen[0].name)
    if not remark and len(elsewhere) == 1 and elsewhere[0].name != name:
        remark = ByNameAlone(elsewhere[0].name)
    elsewhere.sort(key=lambda candidate: (candidate.spot.ref.path != path, candidate.spot.tree.name != tree))
    return elsewhere, remark


def seen_from_there(
    trees: Sequence[IndexedTree], reader: UseReader, last: str, tree: str, path: str, line: int
) -> tuple[LinkTarget, ...]:
    """Returns the one definition that a use of a name on a line means, or the overloads of its only name; else nothing.

    `last` is the last part of the name. Scopes are searched from the inside out. The class of an object decides about a
    member. If the line has uses with several meanings, there is no answer.
    """
    names = reader.names
    number = next((number for number, indexed in enumerate(trees) if indexed.tree.info.name == tree), None)
    if number is None or names.owner.get(path, (None, 0))[0] != number:
        return ()
    around = trees[number].store.enclosing(path, line)
    scope = around.qualified if around is not None else ""
    uses = [use for use in names.uses(path) if use.name == last and line in use.lines]
    meanings = [names.meant(use, path, scope) for use in uses]
    meant = {place for meaning in meanings if meaning is not None for place in meaning.places}
    if len(meant) == 1 and all(meaning is not None and meaning.sure for meaning in meanings):
        return tuple(meant)
    text = trees[number].tree.glance(path)
    file = reader.of_file(path, text.text if text is not None else None)
    soles = {file.read(use, line).sole for use in uses}
    sole = soles.pop() if len(soles) == 1 else None
    meaning = reader.meaning(last, sole) if sole is not None else None
    return meaning.places if meaning is not None else ()


def _place_of(candidate: Candidate) -> tuple[str, str | None, int | None]:
    symbol = candidate.symbol
    return (candidate.spot.tree.name, candidate.spot.ref.path, symbol.line if symbol is not None else None)


_SCOPES = ("function", "class", "struct", "union")
# Words that may come before a name without declaring it.
_NO_TYPE = (
    "return",
    "else",
    "case",
    "goto",
    "throw",
    "new",
    "delete",
    "co_return",
    "typename",
    "using",
    "in",
    "not",
    "this",
)


def find_nearby(
    trees: Sequence[IndexedTree], names: DefinitionsByName, name: str, tree: str, path: str, line: int
) -> tuple[list[Candidate], AnswerRemark] | None:
    """Look for a name in the lines around it: a local name, a member of one, or a name that a macro declares.

    Returns None for a name that these lines do not declare.
    """
    local = _local_line(trees, name, tree, path, line)
    if local is not None:
        number, at = local
        declared = Candidate("local name", name, "", spot(trees[number], path, at), first=at)
        return [declared], LocalName(name, at)
    given = _given_by_macro(trees, name, tree, path, line)
    if given is not None:
        return [given], DeclaredByMacro(name, given.name)
    return _member_of_local(trees, names, name, tree, path, line)


def _member_of_local(
    trees: Sequence[IndexedTree], names: DefinitionsByName, name: str, tree: str, path: str, line: int
) -> tuple[list[Candidate], AnswerRemark] | None:
    """Returns the member that "op.impl" means, where `op` is a local name of a known class.

    The text of the declaration decides. Returns None if it does not name one known class, or if several lines declare
    the local name with different types.
    """
    owner, _, last = name.rpartition(".")
    declared = list(_declared(trees, owner, tree, path, line)) if owner and last.isidentifier() else []
    if not declared:
        return None
    types = {each.type for each in declared}
    written, parted, kind = types.pop().rpartition("::") if len(types) == 1 else ("", "", "")
    classes = {
        place.definition.qualified
        for place in names.places(kind)
        if place.definition.kind in CLASSES and (not written or agree(written + parted, place.definition.container))
    }
    if len(classes) != 1:
        return None
    member = UseReader(names).member(classes.pop(), last)
    meant = [each for each in candidates(trees, None, member) if each.name == member] if member else []
    defined = [each for each in meant if not each.declared] or meant
    return (defined, LocalOfClass(owner, kind, declared[0].line)) if defined else None


def _local_line(trees: Sequence[IndexedTree], name: str, tree: str, path: str, line: int) -> tuple[int, int] | None:
    """Returns the line that seems to declare a plain C++ name around a place, with the number of its tree.

    It is the nearest line above whose block is still open at the place; else the first line.
    """
    declared = list(_declared(trees, name, tree, path, line))
    if not declared:
        return None
    number, first = declared[0][0], min(each.line for each in declared)
    lines = Text(path, "\n".join(trees[number].tree.lines(path)[first - 1 : line])).bare.split("\n")
    visible = []
    for each in declared:
        head, *others = lines[each.line - first :]
        if not others or _is_open("\n".join([head[each.end :], *others[:-1]])):
            visible.append(each.line)
    return number, max(visible, default=first)


def _is_open(code: str) -> bool:
    """Whether a name is still visible after this bare code, which begins behind its declaration.

    A name that is declared in round brackets belongs to the block behind them: parameters, the head of a loop.
    """
    braces = brackets = 0
    has_own_block = False
    for sign in re.findall(r"[{}();]", code):
        brackets += (sign == "(") - (sign == ")")
        braces += (sign == "{") - (sign == "}")
        if brackets < 0:
            has_own_block, brackets = True, 0
        if braces < 0 or (has_own_block and not braces and not brackets and sign in "};"):
            return False
    return True


class _Declared(NamedTuple):
    """A line that seems to declare a name: the number of its tree, the written type ("" of a type), the end column."""

    tree: int
    line: int
    type: str
    end: int


def _declared(trees: Sequence[IndexedTree], name: str, tree: str, path: str, line: int) -> Iterator[_Declared]:
    """Yields the lines that seem to declare a plain C++ name around a place.

    In the function around the place this is a parameter, a variable or a type. In the classes around it this is a type,
    which may be a parameter of their templates. For a type, the written type is "".

    Only the text decides: a type before the name, and the end of a declarator after it.
    """
    at = next((number for number, indexed in enumerate(trees) if indexed.tree.info.name == tree), None)
    if at is None or not name.isidentifier() or language_of(path) != "cpp":
        return
    indexed = trees[at]
    symbols = [each for each in indexed.store.outline(path) if each.role == "definition" and each.kind in _SCOPES]
    around = [each for each in symbols if each.begin <= line <= each.end_line]
    if any(each.name == name for each in around):
        return
    alias = re.compile(
        rf"\b(?:using\s+{name}\s*=|(?:typename|class)(?:\s*\.\.\.)?\s+{name}\b)|\btypedef\b.*\b{name}\s*;"
    )
    declaration = re.compile(
        rf"((?:\w+::)*\w+)(?:<[^;]*>|\[\])?(?:[&*]+\s*|\s+[&*]+|\s+& |\s+){re.escape(name)}\s*(?:[,;={{)(]|:(?!:)|\[|$)"
    )
    for scope in sorted(around, key=lambda each: each.end_line - each.begin):
        inner = [each for each in symbols if each not in around and scope.begin <= each.begin <= scope.end_line]
        for number in range(scope.begin, line + 1):
            text = (indexed.tree.line(path, number) or "").partition("//")[0]
            if scope.kind != "function" and any(each.begin <= number <= each.end_line for each in inner):
                continue  # a declaration inside a member is not visible outside of it
            if alias.search(text):
                yield _Declared(at, number, "", len(text))
            for match in declaration.finditer(text) if scope.kind == "function" else ():
                if match[1] not in _NO_TYPE and not match[1].isdigit():
                    yield _Declared(at, number, match[1], match.end() - 1)


_MACRO = re.compile(r"\b(_*[A-Z][A-Z0-9_]{3,})\s*(?=\()")
_NESTED = 3  # levels of macros that are followed to a macro that declares the name


def _given_by_macro(trees: Sequence[IndexedTree], name: str, tree: str, path: str, line: int) -> Candidate | None:
    """Returns the macro that declares a plain name and whose arguments a line is in (AT_DISPATCH_CASE: scalar_t)."""
    indexed = next((indexed for indexed in trees if indexed.tree.info.name == tree), None)
    if indexed is None or not name.isidentifier() or language_of(path) != "cpp":
        return None
    around = indexed.store.enclosing(path, line)
    if around is None or around.kind != "function":
        return None
    lines = indexed.tree.lines(path)[around.begin - 1 : around.end_line]
    text = Text(path, "\n".join(lines))
    row = lines[line - around.begin] if line - around.begin < len(lines) else ""
    at = sum(len(each) + 1 for each in lines[: line - around.begin]) + max(0, row.find(name))
    inside = [
        match[1] for match in _MACRO.finditer(text.bare, 0, at) if text.brackets.closing(match.end()) > at
    ]  # fmt: skip
    for macro in reversed(inside):
        if _declares(trees, macro, name, _NESTED):
            return next((each for each in candidates(trees, None, macro) if each.kind == "macro"), None)
    return None


def _declares(trees: Sequence[IndexedTree], macro: str, name: str, level: int) -> bool:
    """Whether the text of a macro, or of a macro that it uses, contains the name."""
    for indexed in trees:
        for symbol in indexed.store.symbols_named(macro):
            if symbol.kind != "macro":
                continue
            text = "\n".join(indexed.tree.lines(symbol.path)[symbol.begin - 1 : symbol.end_line])
            body = text[text.find(macro) + len(macro) :]
            if re.search(rf"\b{name}\b", body):
                return True
            if level and any(_declares(trees, inner, name, level - 1) for inner in set(_MACRO.findall(body)) - {macro}):
                return True
    return False


def _is_at(candidate: Candidate, tree: str, path: str, line: int) -> bool:
    ref = candidate.spot.ref
    return (candidate.spot.tree.name, ref.path, ref.line) == (tree, path, line)
