"""Decides what one use of a name can mean, from the place of the use and its number of arguments.

`refs`, `browse` and the site separate certain uses from possible ones with this module, so that their numbers agree. A
use is certain if C++'s own lookup, as far as the text shows it, leaves only one qualified name. A call through an
object belongs to the object's class, if the function around the call declares the object; else it stays possible.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from ptexplore.cpp.brackets import Brackets, closing_of, split
from ptexplore.cpp.text import COMMENT_OR_STRING, Text, words
from ptexplore.lazy import remembered
from ptexplore.lookup.link_targets import (
    CLASSES,
    MOST,
    NESTED,
    PYTHON,
    DefinitionsByName,
    LinkTarget,
    Meaning,
    agree,
    alone_in,
    by_qualified,
    count_definitions,
    hardly_meant,
    is_local_name,
    local_names,
    scopes_by_line,
    written_before,
)
from ptexplore.source.canonical import is_test_file
from ptexplore.store.index.site import SiteDefinition, SiteUse

MANY = 99  # stands for any number of arguments
_ANY = (0, MANY)
_BRACKETS = frozenset("<>([{")
_NOTHING = re.compile(r"\(\s*(?:void\s*)?\)")
_SPAN = 4000  # letters of a call that are read
_FEW = re.compile(r"\(\s*(?:(?P<some>[a-z_]\w*(?:\.\w+)*(?:\s*,\s*[a-z_]\w*(?:\.\w+)*)*)\s*)?\)")
_SIGN = re.compile(r"""[()\[\]{},"'#]|//|/\*""")
_LITERAL_OR_BRACKET = re.compile(rf"{COMMENT_OR_STRING.pattern}|[()\[\]{{}}]", re.DOTALL)
_MACRO_ALONE = re.compile(r"[A-Z][A-Z0-9_]+\s*(?:\(.*\))?", re.DOTALL)
_CALLABLE = frozenset({*CLASSES, "function", "macro", "variable", "typedef", "concept", "member"})
_TYPES = frozenset({*CLASSES, "enum", "typedef", "concept"})
_LEVELS = 12  # of bases above a class
# The standard library has functions with these names. A call without a qualifier finds them through its arguments.
_OF_STD = words(
    """abs accumulate acos acosh advance all_of any_of arg asin asinh atan atan2 atanh back_inserter begin bind cbegin
    ceil cend copy copysign cos cosh count data distance empty end equal erf erfc exchange exp exp2 expm1 fabs fill find
    floor fmax fmin fmod for_each forward frexp front get get_if getline hash holds_alternative hypot imag invoke
    isfinite isinf isnan ldexp lerp lgamma log log10 log1p log2 make_pair make_shared make_tuple make_unique max min
    minmax modf move next none_of norm polar pow prev proj real ref reduce remainder remove reverse rint round search
    sin sinh size sort sqrt swap tan tanh tgamma tie to_string transform trunc unique visit"""
)

_OBJECT = re.compile(r"(?P<object>[A-Za-z_]\w*)(?P<by>\.|->)[A-Za-z_]\w*")  # the text of a use through a variable
# Expressions for declarations. `_DECLARED`: the class, `*` and `&`, and the name. `_ANOTHER`: further names of the same
# declaration. `_MADE`: the call that makes a variable. `_UNREAD` and `_TAKEN_APART`: declarations whose class is not
# read (a template's, `auto`, captures of a lambda, structured bindings).
_DECLARED = re.compile(
    r"(?:;|\{|\}|\(|,|const(?<=\bconst)\b)\s*(?:(?:static|constexpr|thread_local|const)\s+)*"
    r"(?P<kind>(?:\w+::)*[A-Za-z_]\w*)(?P<sign>[\s&*]+)(?P<name>[A-Za-z_]\w*)\b(?=\s*(?:[;=({,)]|:(?!:)))"
)
_ANOTHER = re.compile(r"\s*,(?P<sign>[\s&*]*)(?P<name>[A-Za-z_]\w*)\b(?=\s*[;,])")
_MADE = re.compile(
    r"auto(?<=\bauto)(?:\s+|\s*&&\s*)(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<kind>(?:\w+::)*[A-Za-z_]\w*)\s*(?=[({])"
)
_UNREAD = tuple(
    re.compile(rf"{before}(?P<name>[A-Za-z_]\w*){after}")
    for before, after in (
        (r">[\s&*]+", r"\b(?=\s*[;=({,):])"),
        (r"auto(?<=\bauto)[\s&*]+", r"\b(?=\s*[;=({,):])"),
        (r"[\[,]\s*&?", r"\s*=(?!=)"),
    )
)
_TAKEN_APART = re.compile(r"auto(?<=\bauto)[\s&]*\[(?P<names>[^\[\]]*)\]\s*[=:]")
_GIVEN_NAME = (
    re.compile(r"typename(?<=\btypename)\s+(?:\.\.\.\s*)?(\w+)\s*[,>=]"),
    re.compile(r"class(?<=\bclass)\s+(?:\.\.\.\s*)?(\w+)\s*[,>=]"),
    re.compile(r"using(?<=\busing)\s+(\w+)\s*="),
)
_USING_NAME = re.compile(r"using(?<=\busing)\s+(?:::)?((?:\w+::)+)(\w+)\s*;")
_USING_NAMESPACE = re.compile(r"using(?<=\busing)\s+namespace\s+(?:::)?((?:\w+::)*\w+)\s*;")
_BY_CALL = "()"  # the sign of a variable that is made by something like a call: of a class or of a function
Declared = Mapping[str, list[tuple[int, str, str]]]  # by name: the line, the class as it is written, the sign
_STATEMENTS = frozenset(
    {"return", "delete", "else", "throw", "case", "goto", "co_return", "co_yield", "new", "typename", "auto"}
)

Arguments = tuple[int, int]  # the fewest and the most


class Reading(NamedTuple):
    """What a line of source says about a use of a name on it.

    `sole` is the only name that the use can mean, or None if that is not known. `given` is the number of its arguments.
    """

    sole: str | None = None
    given: Arguments | None = None


PLAIN = Reading()


# --- arguments ---


def arguments_given(line: str, following: Callable[[], str], name: str) -> Arguments | None:
    """Returns the fewest and the most arguments that the calls of `name` on a line pass, or None if unreadable.

    `following` gives the lines after it. Several calls on one line are taken together.
    """
    low, high = MANY, -1
    for given in _calls_on(line, name):
        number = _counted(f"{given}\n{following()}"[:_SPAN].lstrip()) if isinstance(given, str) else given
        if number is None:
            return None
        low, high = min(low, number[0]), max(high, number[1])
    return (low, high) if high >= 0 else None


@lru_cache(maxsize=65536)  # half of the lines with calls on a site were already read
def _calls_on(line: str, name: str) -> list[Arguments | str | None]:
    """Returns the arguments of each call of `name` on a line.

    If the call goes on below the line, this is the text of the call instead.
    """
    calls: list[Arguments | str | None] = []
    at = line.find(name) if name.isidentifier() else -1
    while at >= 0:
        end = at + len(name)
        before, after = line[at - 1 : at], line[end : end + 1]
        at = line.find(name, end)
        if before == "_" or before.isalnum() or after == "_" or after.isalnum():
            continue  # part of another name
        rest = line[end:].lstrip()
        few = _FEW.match(rest)
        if few is not None:
            number = few["some"].count(",") + 1 if few["some"] else 0
            calls.append((number, number))
        elif rest[:1] == "(" and (pieces := _pieces(rest)) is not None:
            calls.append(_number(rest[1 : pieces[-1][1]], [rest[start:stop].strip() for start, stop in pieces]))
        elif rest[:1] in ("(", "<") or not rest:
            calls.append(rest)
    return calls


def _counted(text: str) -> Arguments | None:
    """Returns the number of arguments in the brackets that a text begins with; template arguments may come first."""
    if text[:1] == "<":
        close = closing_of(text, 0)
        text = text[close + 1 :].lstrip() if close > 0 else ""
    if text[:1] != "(":
        return None
    pieces = _pieces(text)
    if pieces is not None:
        return _number(text[1 : pieces[-1][1]], [text[start:stop].strip() for start, stop in pieces])
    end = _end_of_call(text)
    if end < 0:
        return None
    bare = Text("", text[:end]).bare
    brackets = Brackets(bare)
    close = brackets.closing(0)
    if close < 0 or re.search(r"^\s*#", bare[:close], re.MULTILINE):
        return None
    return _number(bare[1:close], [text[start:stop] for start, stop in brackets.arguments(1, close)])


def _signs(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yields each match in the brackets that a text begins with, and its depth; 0 for the bracket that closes them."""
    depth = 0
    for match in pattern.finditer(text):
        depth += (match[0] in "([{") - (match[0] in ")]}")
        yield depth, match
        if not depth:
            return


def _pieces(text: str) -> list[tuple[int, int]] | None:
    """Returns where the arguments are in the brackets that a text begins with.

    Returns None if the brackets do not close, or hold a literal, a comment or a directive.
    """
    begin = 1
    pieces: list[tuple[int, int]] = []
    for depth, match in _signs(_SIGN, text):
        if not depth:
            return [*pieces, (begin, match.start())]
        if match[0] not in "()[]{},":
            return None
        if match[0] == "," and depth == 1:
            pieces.append((begin, match.start()))
            begin = match.end()
    return None


def _end_of_call(text: str) -> int:
    """Returns the offset after the bracket that closes the first one, or -1.

    Literals and comments are skipped. The text after the call is not read.
    """
    return next((match.end() for depth, match in _signs(_LITERAL_OR_BRACKET, text) if not depth), -1)


def _number(inside: str, pieces: Sequence[str]) -> Arguments | None:
    """Returns how many arguments these pieces are. A comma in angle brackets may or may not separate two."""
    if len(pieces) == 1 and not pieces[0]:
        return 0, 0
    if any(piece.endswith("...") or _MACRO_ALONE.fullmatch(piece) for piece in pieces):
        return None  # a parameter pack, or a macro that may hold several
    return min(len(split(inside)), len(pieces)) if "<" in inside else len(pieces), len(pieces)


@lru_cache(maxsize=65536)
def arguments_taken(signature: str, kind: str) -> Arguments:
    """Returns how many arguments a definition takes; any number if its signature does not say."""
    if kind != "function" or not signature.startswith("(") or "#" in signature:
        return _ANY
    listed = _plain_list(signature)
    if listed is None:
        return _ANY
    parameters = listed.split(",")
    if _NOTHING.match(signature):
        return 0, 0
    low = high = 0
    for parameter in parameters:
        if _MACRO_ALONE.fullmatch(parameter.strip()):
            return _ANY
        if "..." in parameter:
            return low, MANY
        high += 1
        low += "=" not in parameter
    return low, high


def _plain_list(signature: str) -> str | None:
    """Returns a parameter list without the text in inner brackets, or None if brackets are left."""
    inside = signature[1:]
    while (shorter := NESTED.sub("", inside)) != inside:
        inside = shorter
    close = inside.find(")")
    listed = inside[:close]
    return listed if close >= 0 and not _BRACKETS.intersection(listed) else None


def _meet(taken: Arguments, given: Arguments | None) -> bool:
    return given is None or (given[0] <= taken[1] and taken[0] <= given[1])


class Bearers:
    """All C++ things with one last name, by qualified name.

    `taken` are the numbers of arguments that each takes. `types` are the types among them, `members` the members of
    classes. `all` has the names of Python things too.
    """

    def __init__(self, names: DefinitionsByName, name: str) -> None:
        self._name = name
        self.taken: dict[str, list[Arguments]] = {}
        self.types: set[str] = set()
        self.all: set[str] = set()
        self.places: dict[str, list[tuple[str, SiteDefinition]]] = {}
        known: dict[str, str] = {}  # by container: most names belong to many things in a few containers
        for path, _tree, definition in names.places(name):
            kind, container = definition.kind, definition.container
            if container not in known:
                self.all.add(definition.qualified)
                known[container] = bearer(definition)
            if path.endswith(PYTHON) or (kind not in _CALLABLE and kind not in _TYPES):
                continue
            qualified = known[container]
            if qualified not in self.taken:
                self.taken[qualified], self.places[qualified] = [], []
            taken = arguments_taken(definition.signature, kind)
            if taken not in self.taken[qualified]:
                self.taken[qualified].append(taken)
            self.places[qualified].append((path, definition))
            if kind in _TYPES:
                self.types.add(qualified)
        self._bearing = set(known.values())
        self.members = {qualified for qualified in self.taken if names.is_class(qualified.rpartition("::")[0])}
        self._excluding: dict[Arguments, Arguments | None] = {}
        self._fitting: dict[tuple[str, bool, Arguments | None], str | None] = {}
        self._ends: defaultdict[str, list[str]] = defaultdict(list)
        for qualified in self.taken:
            self._ends[_last_part(qualified[: -len(name)])].append(qualified)
        self.any_number = all(each == _ANY for taken in self.taken.values() for each in taken)

    @property
    def are_types(self) -> bool:
        """Whether only types, and constructors of classes, have the name in C++."""
        return all(
            definition.kind in _TYPES or definition.qualified != qualified
            for qualified, places in self.places.items()
            for _path, definition in places
        )

    def others(self, qualified: str) -> bool:
        """Whether something else has the name, in Python or in C++."""
        return bool(self.all - {qualified})

    def are_all(self, meant: Collection[str]) -> bool:
        """Whether nothing else than these names (`without_constructor`) has it, in Python or in C++."""
        return self._bearing.issubset(meant)

    @remembered
    def alone_in(self, qualified: str) -> frozenset[frozenset[str]]:
        """Returns `alone_in` for each place of a qualified name: of its definitions, or else of its declarations."""
        places = self.places[qualified]
        defined = [place for place, definition in places if not definition.declared]
        return frozenset(map(alone_in, defined or [place for place, _definition in places]))

    def takes(self, qualified: str, given: Arguments | None) -> bool:
        """Whether something with that qualified name takes so many arguments. An unknown signature takes any number."""
        return given is None or any(_meet(taken, given) for taken in self.taken.get(qualified, (_ANY,)))

    @remembered
    def free_taking(self, given: Arguments | None) -> frozenset[str]:
        """Returns the qualified names outside of classes that take so many arguments."""
        return frozenset(q for q in self.taken if q not in self.members and self.takes(q, given))

    def excluding(self, given: Arguments | None) -> Arguments | None:
        """Returns the number of arguments if it excludes something with this name, else None."""
        if given is not None and given not in self._excluding:
            every = all(_meet(each, given) for taken in self.taken.values() for each in taken)
            self._excluding[given] = None if every else given
        return self._excluding[given] if given is not None else None

    def only(self, written: str, given: Arguments | None, *, types: bool) -> str | None:
        """Returns the only qualified name that a name after `written` ("native::") can mean, or None."""
        key = (written, types, given)
        if key not in self._fitting:
            end = -len(self._name)
            # If both are qualified, the last parts of their qualifiers are the same.
            wanted: Iterable[str] = self._ends.get(_last_part(written), ()) if written else self.taken
            wanted = (q for q in wanted if not types or q in self.types)
            fitting = {q for q in wanted if (not written or agree(written, q[:end])) and self.takes(q, given)}
            self._fitting[key] = fitting.pop() if len(fitting) == 1 else None
        return self._fitting[key]


def _last_part(before: str) -> str:
    """Returns the last part of "at::native::": "native"."""
    return before[:-2].rpartition("::")[2]


def bearer(definition: SiteDefinition) -> str:
    """Returns the qualified name that the uses of a definition mean."""
    return without_constructor(definition.qualified)


def without_constructor(qualified: str) -> str:
    """Returns the C++ name that uses of a qualified name mean: for a constructor this is its class."""
    container, _, name = qualified.rpartition("::")
    return container if container.rpartition("::")[2] == name else qualified


# --- the one meaning ---


class Bases(NamedTuple):
    """The classes that a class names as its bases, as far as they are known.

    `is_whole` says that all bases are known with their members. It is False for a template, because its members
    depend on its arguments. `may_be_more` says that an unknown base may be a class of these trees. A class of the
    standard library is never one, and never inherits from one.
    """

    known: tuple[str, ...] = ()
    is_whole: bool = True
    may_be_more: bool = False


# The namespaces whose names another one has by `using namespace` (c10/macros/Macros.h,
# torch/csrc/api/include/torch/types.h).
_USED = {"at": ("c10",), "caffe2": ("c10",), "torch": ("at", "c10")}
_UNKNOWN = Bases(is_whole=False, may_be_more=True)
# Names of the standard library, without the templates that stand for one of their arguments.
_STANDS_FOR_ITSELF = re.compile(r"^(?:::)?std::(?!\w*(?:conditional|enable_if|type_identity|common_type)\b)(?!\w+_t\b)")


class UseReader:
    """A reader of the meanings of uses in files. It keeps its results; use it in one thread."""

    def __init__(self, names: DefinitionsByName) -> None:
        self.names = names
        self._bearers: dict[str, Bearers] = {}
        self._named: dict[str, dict[str, list[LinkTarget]]] = {}
        self._bases: dict[str, Bases] = {}
        self._above: dict[str, tuple[Sequence[str], bool]] = {}
        self._inherits: dict[str, dict[tuple[str, int], list[SiteUse]]] = {}
        self._file: FileReader | None = None  # the last file that was asked for

    def bearers(self, name: str) -> Bearers:
        """Returns all C++ things with that last name."""
        if name not in self._bearers:
            self._bearers[name] = Bearers(self.names, name)
        return self._bearers[name]

    def definitions(self, name: str, qualified: Collection[str], only: str = "") -> int:
        """Returns how many definitions these qualified names have; constructors count as their class.

        `name` is their last part. `only` is the file that the definition asked about is visible in, if it is visible in
        no other.
        """
        kept = {each for each in qualified if (bearer := without_constructor(each)) == each or bearer not in qualified}
        return sum(self._defined(name, each, only) for each in kept)

    @remembered  # a name may have a thousand definitions, and each of them asks
    def _defined(self, name: str, qualified: str, only: str) -> int:
        if name not in self._named:
            self._named[name] = by_qualified(self.names.places(name))
        return count_definitions(self._named[name].get(qualified, ()), only)

    @remembered
    def meaning(self, name: str, qualified: str) -> Meaning | None:
        """Returns the definitions of a qualified name, or None if there are too many to choose from."""
        known = self.bearers(name).places.get(qualified, ())
        places = [LinkTarget(path, self.names.owner[path][0], definition) for path, definition in known]
        places = [place for place in places if not place.definition.declared] or places
        return Meaning(tuple(places), len(places) == 1) if 0 < len(places) <= MOST else None

    def of_file(self, path: str, text: str | None) -> FileReader:
        """Returns a reader of the uses in one file. Without the text, only the facts of the index are known."""
        if self._file is None or not self._file.is_of(path, text):
            self._file = FileReader(self, path, text)  # a page of the site asks for its links, then for its uses
        return self._file

    def sole_row(self, target: str, name: str) -> str | None:
        """Returns the only qualified name that a row's target can mean, or None.

        A target is "at::native::add_kernel" or "add_kernel".
        """
        return self.bearers(name).only(target[: -len(name)].removeprefix("::"), None, types=False)

    def member(self, qualified: str, name: str) -> str | None:
        """Returns the qualified name of a member of a class or its bases, or None if it is not known."""
        return self._in_class(qualified, name, self.bearers(name)) or None

    def derives(self, qualified: str, bases: Collection[str]) -> bool | None:
        """Whether a class has one of these among its bases, at any depth. None if a base of it is unknown."""
        above, whole = self.above(qualified)
        return True if any(base in above for base in bases) else False if whole else None

    def above(self, qualified: str) -> tuple[Sequence[str], bool]:
        """Returns the known bases of a class at any depth, nearest first, and whether these are all.

        Only bases in these trees count.
        """
        if qualified not in self._above:
            above: dict[str, None] = {}
            pending, is_whole = [qualified], True
            for each in pending:  # the list grows while it is read
                bases = self.bases_of(each)
                is_whole = is_whole and not bases.may_be_more
                further = [base for base in bases.known if base not in above and base != qualified]
                above.update(dict.fromkeys(further))
                pending += further
            self._above[qualified] = (tuple(above), is_whole)
        return self._above[qualified]

    def in_scope(self, use: SiteUse, path: str, scope: str, given: Arguments | None) -> str | None:
        """Returns the only qualified name that a C++ use can mean inside a scope, or None if there may be another."""
        bearers = self.bearers(use.name)
        through_object = ("." in use.text or "->" in use.text) and "operator" not in use.text
        own = through_object and use.text == f"this->{use.name}"
        if use.kind not in ("call", "inherit", "type", "macro") or (through_object and not own):
            return None
        written = written_before(use) if not through_object else ""
        if written:
            return bearers.only(written, given, types=use.kind in ("inherit", "type"))
        return self._looked_up(use, path, scope, given, bearers, members_only=own)

    def _looked_up(
        self, use: SiteUse, path: str, scope: str, given: Arguments | None, bearers: Bearers, *, members_only: bool
    ) -> str | None:
        """Look up a name from the inside out, as C++ does. A class is searched together with its bases."""
        inner, types = scope, use.kind in ("inherit", "type")
        while inner:
            if self.names.is_class(inner):
                meant = self._in_class(inner, use.name, bearers)
                if meant == "":
                    return None  # an unknown base may have it
                if meant is not None:
                    return meant if bearers.takes(meant, given) else None
            elif not members_only and (meant := self._in_namespace(f"{inner}::{use.name}", path, bearers, types=types)):
                return self._free(meant, use, path, given, bearers, types=types)
            inner = inner.rpartition("::")[0]
        if members_only or not self._in_namespace(use.name, path, bearers, types=types):
            return None
        return self._free(use.name, use, path, given, bearers, types=types)

    def _in_namespace(self, qualified: str, path: str, bearers: Bearers, *, types: bool) -> str | None:
        places = bearers.places.get(qualified, ())
        if not places or (types and qualified not in bearers.types):
            return None
        seen = any(
            not definition.static or place == path or not place.endswith((".cpp", ".cu", ".cc", ".c", ".mm"))
            for place, definition in places
        )
        return qualified if seen else None

    def _free(
        self, meant: str, use: SiteUse, path: str, given: Arguments | None, bearers: Bearers, *, types: bool
    ) -> str | None:
        """Returns `meant` if it is certain.

        A function outside of classes is certain if no other one can be found through the types of the arguments.
        """
        if any(hardly_meant(folders, path) for folders in bearers.alone_in(meant)):
            return None
        if types:
            return meant
        if use.name in _OF_STD or not bearers.free_taking(given) <= {meant}:
            return None
        return meant if bearers.takes(meant, given) else None

    def _in_class(self, qualified: str, name: str, bearers: Bearers, level: int = 0) -> str | None:
        """Returns the member of a class or its bases; None if none of them has it, "" if that is not known."""
        member = f"{qualified}::{name}"
        if member in bearers.taken:
            return member
        bases = self.bases_of(qualified) if level < _LEVELS else _UNKNOWN
        if not bases.is_whole:
            return ""
        meant = {self._in_class(base, name, bearers, level + 1) for base in bases.known} - {None}
        if not meant:
            return None
        return meant.pop() if len(meant) == 1 else ""

    def bases_of(self, qualified: str) -> Bases:
        """Returns the classes that a class names as its bases."""
        if qualified not in self._bases:
            self._bases[qualified] = _UNKNOWN  # a class that inherits from itself is not followed
            self._bases[qualified] = self._read_bases(qualified)
        return self._bases[qualified]

    def _read_bases(self, qualified: str) -> Bases:
        defined = [
            place
            for place in self.names.places(qualified.rpartition("::")[2])
            if place.definition.qualified == qualified
            and place.definition.kind in CLASSES
            and not place.definition.declared
        ]
        if not defined:
            return _UNKNOWN
        known: dict[str, None] = {}
        is_whole, may_be_more = True, False
        for place in defined:
            for use in self._inherited(place.path).get((qualified, place.definition.begin), ()):
                base = self._base(use, place)
                is_whole = is_whole and base is not None and "<" not in use.text
                if base is not None:
                    known[base] = None
                elif not _STANDS_FOR_ITSELF.match(use.text):
                    may_be_more = True
        return Bases(tuple(known), is_whole, may_be_more)

    def _base(self, use: SiteUse, place: LinkTarget) -> str | None:
        """Returns the class that a base's name means, or None. In a template, the name may be a parameter."""
        definition = place.definition
        scope = definition.container.rstrip(":")
        return self.class_named(use, place.path, scope, elsewhere=not definition.template)

    def class_named(self, use: SiteUse, path: str, scope: str, *, elsewhere: bool) -> str | None:
        """Returns the class that a name means inside a scope, or None.

        C++'s lookup decides. With `elsewhere`, a using directive may also bring the class: one between PyTorch's own
        namespaces, or any directive if only one class has the name.
        """
        meant = self.in_scope(use, path, scope, None)
        if meant is None and elsewhere:
            bearers = self.bearers(use.name)
            written = written_before(use)
            around = f"{written or scope}::".split("::")[0]
            brought = [f"{outer}::{use.name}" for outer in _USED.get(around, ()) if written in ("", f"{around}::")]
            meant = next((each for each in brought if each in bearers.types), None)
            if meant is None and not written:
                meant = bearers.only("", None, types=True)
            if meant is not None and not any(_is_shared(each, path) for _at, each in bearers.places[meant]):
                meant = None
        return meant if meant is not None and self.names.is_class(meant) else None

    def _inherited(self, path: str) -> dict[tuple[str, int], list[SiteUse]]:
        """Returns the bases that each class of a file names, by the class's qualified name and first line."""
        if path not in self._inherits:
            by_class: defaultdict[tuple[str, int], list[SiteUse]] = defaultdict(list)
            uses = [use for use in self.names.uses(path) if use.kind == "inherit"]
            classes = [each for each in self.names.defined(path) if each.kind in CLASSES and not each.declared]
            classes.sort(key=lambda each: (each.begin, -each.end_line))
            begins = [each.begin for each in classes]
            for use in uses:
                for line in use.lines:
                    at = bisect_right(begins, line) - 1
                    while at >= 0 and classes[at].end_line < line:  # the innermost class begins last
                        at -= 1
                    if at >= 0:
                        by_class[classes[at].qualified, classes[at].begin].append(use)
            self._inherits[path] = dict(by_class)
        return self._inherits[path]


class FileReader:
    """A reader of the uses in one file."""

    def __init__(self, reader: UseReader, path: str, text: str | None) -> None:
        self._reader = reader
        self._path = path
        self._python = path.endswith(PYTHON)
        self._text = text
        self._lines: list[str] | None = None
        self._scopes: list[str] | None = None
        self._functions: list[tuple[int, int]] | None = None  # by line: begin and end of the innermost one
        self._declared: dict[int, tuple[Declared, Mapping[str, list[int]]]] = {}  # by the first line of a function
        self._types: dict[str, Set[str] | None] = {}
        self._used: list[str] | None = None
        self._names: tuple[Set[str], Mapping[str, Sequence[str]]] | None = None
        self._local: Set[str] | None = None
        self._hidden: dict[str, bool] = {}

    def is_of(self, path: str, text: str | None) -> bool:
        """Whether this reader is for that file with that text."""
        return (path, text) == (self._path, self._text)

    def members_meant(self, use: SiteUse, lines: Sequence[int]) -> Iterator[tuple[Meaning, list[int]]]:
        """Yields the members that a call through a variable means, with the lines where it means them.

        The function around a line declares the variable and so gives its class. Overloads of a member are a choice.
        Uses of another form, and lines where the class is not known, are left out.
        """
        if use.kind != "call" or self._python or not _OBJECT.fullmatch(use.text):
            return
        for reading, meant_lines in self.read_lines(use._replace(lines=[*lines])).items():
            meant = self._reader.meaning(use.name, reading.sole) if reading.sole is not None else None
            if meant is not None:
                yield meant, meant_lines

    def read(self, use: SiteUse, line: int) -> Reading:
        """Returns what a line of source says about a use of a name on it."""
        return next(iter(self.read_lines(use._replace(lines=[line]))))

    def read_lines(self, use: SiteUse) -> dict[Reading, list[int]]:
        """Group the lines of a use by what each line says of it. The lines stay in order."""
        if use.target is not None or use.kind == "override":
            return {PLAIN: sorted(use.lines)}
        if self._python:
            return {self._read_python(use): sorted(use.lines)}
        excluding = None
        if use.kind == "call" and self._text is not None:
            bearers = self._reader.bearers(use.name)
            excluding = bearers.excluding if not bearers.any_number else None
        in_place = use.text == use.name or use.text.startswith("this->")
        of_member = not in_place and bool(self._reader.bearers(use.name).members)
        known: dict[tuple[str, Arguments | None], list[int]] = {}
        by_reading: dict[Reading, list[int]] = {}
        for line in sorted(use.lines):
            given = excluding(self._given(use.name, line)) if excluding is not None else None
            scope = self._scope(line) if in_place else self._class_of_object(use, line) if of_member else ""
            lines = known.get((scope, given))
            if lines is None:
                reading = self._in_scope(use, scope, given)
                lines = known[scope, given] = by_reading.setdefault(reading, [])
            lines.append(line)
        return by_reading

    def _in_scope(self, use: SiteUse, scope: str, given: Arguments | None) -> Reading:
        """Returns the reading of a use inside a scope, with so many arguments."""
        if _OBJECT.fullmatch(use.text) and not use.text.startswith("this->"):
            sole = self._reader.member(scope, use.name) if scope else None
            takes = sole is not None and self._reader.bearers(use.name).takes(sole, given)
            return Reading(sole if takes else None, given) if takes or given else PLAIN
        if use.kind == "inherit":  # a base is looked up in the scope around the class
            scope = scope.rpartition("::")[0]
        sole = self._reader.in_scope(use, self._path, scope, given)
        if sole is not None and use.text == use.name and self._is_hidden(use.name):
            sole = None
        return Reading(sole, given) if sole or given else PLAIN

    def _class_of_object(self, use: SiteUse, line: int) -> str:
        """Returns the class of the object that a use goes through, if a line above declares it; else "".

        The object must be a variable or parameter of the function around the line. It must have only one type there: a
        class by name, as an object or a pointer to fit the use. `auto` is read only if a class's name makes the object
        (`auto x = Foo(1);`). Templates are not read.
        """
        written = _OBJECT.fullmatch(use.text) if use.kind == "call" and not self._python else None
        if written is None or self._text is None:
            return ""
        declared, unread = self._declared_around(line)
        if any(at <= line for at in unread.get(written["object"], ())):
            return ""
        of_name = [(kind, sign) for at, kind, sign in declared.get(written["object"], ()) if at <= line]
        types = {(kind, "*" in sign, sign == _BY_CALL) for kind, sign in of_name if kind not in _STATEMENTS}
        if len({(kind, is_pointer) for kind, is_pointer, _called in types}) != 1:
            return ""
        kind, is_pointer, _called = next(iter(types))
        if is_pointer is not (written["by"] == "->"):
            return ""
        last = kind.rpartition("::")[2]
        if any(called for _kind, _pointer, called in types) and not self._reader.bearers(last).are_types:
            return ""  # a function may have this name and return anything
        return self._class_named(kind, last, line)

    def _class_named(self, kind: str, last: str, line: int) -> str:
        """Returns the class that a declaration on a line names; "" if it may be another one, or no class."""
        known = self._names_of_types(last) if last == kind else frozenset[str]()
        if known is None:  # a template's parameter, or an alias
            return ""
        if known:
            return next(iter(known)) if len(known) == 1 else ""
        use = SiteUse(last, "type", kind, None, [line])
        return self._reader.class_named(use, self._path, self._scope(line), elsewhere=True) or ""

    def _names_of_types(self, name: str) -> Set[str] | None:
        """Returns the classes that a name may mean through using declarations and directives of the file.

        Empty if they do not mention it. None if the name is a template's parameter in this file, or an alias of a type.
        """
        if name not in self._types:
            self._types[name] = None
            given, brought = self._given_names()
            if name not in given:
                written = {f"{each}{name}" for each in brought.get(name, ())}
                written |= {f"{each}::{name}" for each in self._used_namespaces()}
                types = self._reader.bearers(name).types
                self._types[name] = {
                    each for each in types if any(f"::{each}".endswith(f"::{ending}") for ending in written)
                }
        return self._types[name]

    def gives(self, name: str) -> bool:
        """Whether the file itself gives this name to a type: a parameter of a template, or an alias."""
        return name in self._given_names()[0]

    def _given_names(self) -> tuple[Set[str], Mapping[str, Sequence[str]]]:
        """Returns the names that the file itself gives to types, and the names that using declarations bring.

        The first are parameters of templates and aliases. The second have the scopes that each name is brought from
        (`using c10::Scalar;`). All names are read at once: a generated file has a thousand classes, and reading it
        again for each would take as many passes.
        """
        if self._names is None:
            text = self._text or ""
            given = {name for pattern in _GIVEN_NAME for name in pattern.findall(text)}
            brought = defaultdict[str, list[str]](list)
            for scope, name in _USING_NAME.findall(text):
                brought[name].append(scope)
            self._names = given, brought
        return self._names

    def _used_namespaces(self) -> list[str]:
        """Returns the namespaces that the file uses as a whole: `using namespace c10;`."""
        if self._used is None:
            self._used = _USING_NAMESPACE.findall(self._text or "")
        return self._used

    def _declared_around(self, line: int) -> tuple[Declared, Mapping[str, list[int]]]:
        """Returns the declarations in the innermost function around a line, and those whose class is not read.

        The latter are `auto` and templates. Both are grouped by the declared name, with the line of each. The text of a
        function is read only once.
        """
        if self._functions is None:
            functions = [s for s in self._reader.names.defined(self._path) if s.kind == "function" and not s.declared]
            self._functions = [(0, 0)] * (max((s.end_line for s in functions), default=0) + 1)
            for function in sorted(functions, key=lambda s: (s.begin, s.end_line)):  # the innermost begins last
                count = function.end_line + 1 - function.begin
                self._functions[function.begin : function.end_line + 1] = [(function.begin, function.end_line)] * count
        begin, end = self._functions[line] if line < len(self._functions) else (0, 0)
        if not begin:
            return {}, {}
        if begin not in self._declared:
            self._declared[begin] = self._read_declared(begin, end)
        return self._declared[begin]

    def _read_declared(self, begin: int, end: int) -> tuple[Declared, Mapping[str, list[int]]]:
        text = "\n".join(self._text_lines()[begin - 1 : end])
        # The bracket stands for the start of the text: a declaration may follow it, as it may follow a bracket.
        text = "(" + COMMENT_OR_STRING.sub(_blank, text)
        declared, unread = defaultdict[str, list[tuple[int, str, str]]](list), defaultdict[str, list[int]](list)
        line_at = _LineAt(text, begin)
        for declaration in _DECLARED.finditer(text):
            kind = declaration["kind"]
            declared[declaration["name"]].append((line_at(declaration.end()), kind, declaration["sign"]))
            before = declaration.start() - declaration[0].startswith("const")
            if text[before] in (";", "{", "}"):  # not a parameter
                for name, sign, at in _declared_with(text, declaration.end()):
                    declared[name].append((line_at(at), kind, sign))
        made = {each.start("name"): each for each in _MADE.finditer(text) if _is_whole(text, each.end())}
        for each in made.values():
            declared[each["name"]].append((line_at(each.end()), each["kind"], _BY_CALL))
        for each in chain.from_iterable(pattern.finditer(text) for pattern in _UNREAD):
            if each.start("name") not in made:
                unread[each["name"]].append(line_at(each.end()))
        for each in _TAKEN_APART.finditer(text):
            for name in each["names"].split(","):
                unread[name.strip()].append(line_at(each.end()))
        return declared, unread

    def _text_lines(self) -> list[str]:
        if self._lines is None:
            self._lines = (self._text or "").split("\n")
        return self._lines

    def _read_python(self, use: SiteUse) -> Reading:
        before = use.text[: -len(use.name)]
        if before.count(".") > 1 and any(p.definition.container == before for p in self._reader.names.places(use.name)):
            return Reading(use.text)  # written with its full name
        meant = self._reader.names.meant(use, self._path, "")
        if meant is None or not meant.sure:
            return PLAIN
        if use.text == use.name and self._is_hidden(use.name):
            return PLAIN
        return Reading(meant.places[0].definition.qualified)

    def _given(self, name: str, line: int) -> Arguments | None:
        lines = self._text_lines()
        if not 0 < line <= len(lines):
            return None
        return arguments_given(lines[line - 1], lambda: "\n".join(lines[line : line + 40]), name)

    def _scope(self, line: int) -> str:
        if self._scopes is None:
            symbols = self._reader.names.defined(self._path)
            self._scopes = scopes_by_line(symbols, max((s.end_line for s in symbols), default=0) + 2)
        return self._scopes[line] if line < len(self._scopes) else ""

    def local_names(self) -> Set[str]:
        """Returns the names that functions of the file declare; empty without the text."""
        if self._local is None:
            self._local = local_names(self._text or "", python=self._python)
        return self._local

    def _is_hidden(self, name: str) -> bool:
        """Whether a local name of the file may hide things of that name elsewhere."""
        if self._text is None:
            return True
        if self._python or self._local is not None:
            return name in self.local_names()
        if name not in self._hidden:  # for a single C++ name this is much faster
            self._hidden[name] = is_local_name(self._text, name)
        return self._hidden[name]


def _is_shared(definition: SiteDefinition, path: str) -> bool:
    """Whether another file can see a definition. Only tests see the definitions of tests."""
    return (not definition.test or is_test_file(path)) and not definition.static


class _LineAt:
    """Gives the line of an offset in a text whose first line is `begin`. Fast for offsets that rise."""

    def __init__(self, text: str, begin: int) -> None:
        self._text, self._begin = text, begin
        self._offset, self._line = 0, begin

    def __call__(self, offset: int) -> int:
        if offset + 1 < self._offset:
            self._offset, self._line = 0, self._begin
        self._line += self._text.count("\n", self._offset, offset + 1)
        self._offset = offset + 1
        return self._line


def _blank(match: re.Match[str]) -> str:
    """Returns a blank instead of a comment or a literal, with its line ends."""
    return " " + "\n" * match[0].count("\n")


def _declared_with(text: str, at: int) -> Iterator[tuple[str, str, int]]:
    """Yields the further names that a declaration declares, each with its sign and its end."""
    while (another := _ANOTHER.match(text, at)) is not None:
        at = another.end()
        yield another["name"], another["sign"], at


def _is_whole(text: str, at: int) -> bool:
    """Whether a statement ends after the brackets that open at an offset: nothing is called on the result."""
    close = closing_of(text, at)
    return close > 0 and text[close + 1 : close + 80].lstrip()[:1] == ";"


def may_mean(bearers: Bearers | None, meant: Collection[str], reading: Reading) -> bool:
    """Whether a use with that reading can mean one of these names (`without_constructor`)."""
    if reading.sole is not None:
        return reading.sole in meant
    if bearers is None or reading.given is None:
        return bool(meant) or bearers is None
    return any(bearers.takes(name, reading.given) for name in meant)
