"""What one use of a name can mean, beyond how it is spelled: the one name that its place leaves, and its arguments.

`refs`, `browse` and the site tell certain uses from possible ones by this module, so that their numbers agree. A use is
certain where C++'s own look-up, as far as it can be read in the text, leaves one qualified name. What is called through
an object is of its class, where the function around the call declares the object; else it stays possible.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
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

MANY = 99  # arguments: as many as anybody likes
_ANY = (0, MANY)
_BRACKETS = frozenset("<>([{")
_NOTHING = re.compile(r"\(\s*(?:void\s*)?\)")
_SPAN = 4000  # letters of a call that are looked at
_FEW = re.compile(r"\(\s*(?:(?P<some>[a-z_]\w*(?:\.\w+)*(?:\s*,\s*[a-z_]\w*(?:\.\w+)*)*)\s*)?\)")
_SIGN = re.compile(r"""[()\[\]{},"'#]|//|/\*""")
_LITERAL_OR_BRACKET = re.compile(rf"{COMMENT_OR_STRING.pattern}|[()\[\]{{}}]", re.DOTALL)
_MACRO_ALONE = re.compile(r"[A-Z][A-Z0-9_]+\s*(?:\(.*\))?", re.DOTALL)
_CALLABLE = frozenset({*CLASSES, "function", "macro", "variable", "typedef", "concept", "member"})
_TYPES = frozenset({*CLASSES, "enum", "typedef", "concept"})
_LEVELS = 12  # of bases above a class
# The standard library has functions of these names, which a call without a qualifier finds through its arguments.
_OF_STD = words(
    """abs accumulate acos acosh advance all_of any_of arg asin asinh atan atan2 atanh back_inserter begin bind cbegin
    ceil cend copy copysign cos cosh count data distance empty end equal erf erfc exchange exp exp2 expm1 fabs fill find
    floor fmax fmin fmod for_each forward frexp front get get_if getline hash holds_alternative hypot imag invoke
    isfinite isinf isnan ldexp lerp lgamma log log10 log1p log2 make_pair make_shared make_tuple make_unique max min
    minmax modf move next none_of norm polar pow prev proj real ref reduce remainder remove reverse rint round search
    sin sinh size sort sqrt swap tan tanh tgamma tie to_string transform trunc unique visit"""
)

_OBJECT = re.compile(
    r"(?P<object>[A-Za-z_]\w*)(?P<by>\.|->)[A-Za-z_]\w*"
)  # what a use through a variable is written as
# A declaration: the class, `*` and `&`, and the name; where several are declared at once, the others; what a variable
# is made by; and one whose class is not read (a template's, `auto`, what a lambda captures, what is taken apart).
_DECLARED = re.compile(
    r"(?:\A|(?<=[;{}(,])|\bconst\b)\s*(?:(?:static|constexpr|thread_local|const)\s+)*"
    r"(?P<kind>(?:\w+::)*[A-Za-z_]\w*)(?P<sign>[\s&*]+)(?P<name>[A-Za-z_]\w*)\b(?=\s*(?:[;=({,)]|:(?!:)))"
)
_ANOTHER = re.compile(r"\s*,(?P<sign>[\s&*]*)(?P<name>[A-Za-z_]\w*)\b(?=\s*[;,])")
_MADE = re.compile(r"\bauto(?:\s+|\s*&&\s*)(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<kind>(?:\w+::)*[A-Za-z_]\w*)\s*(?=[({])")
_UNREAD = re.compile(
    r"(?:>|\bauto)[\s&*]+(?P<name>[A-Za-z_]\w*)\b(?=\s*[;=({,):])|[\[,]\s*&?(?P<captured>[A-Za-z_]\w*)\s*=(?!=)"
)
_TAKEN_APART = re.compile(r"\bauto[\s&]*\[(?P<names>[^\[\]]*)\]\s*[=:]")
_GIVEN_NAME = re.compile(r"\b(?:typename|class)\s+(?:\.\.\.\s*)?(\w+)\s*[,>=]|\busing\s+(\w+)\s*=")
_USING_NAME = re.compile(r"\busing\s+(?:::)?((?:\w+::)+)(\w+)\s*;")
_USING_NAMESPACE = re.compile(r"\busing\s+namespace\s+(?:::)?((?:\w+::)*\w+)\s*;")
_BY_CALL = "()"  # the sign of a variable that is made by what looks like a call: a class's name, or a function's
Declared = Mapping[str, list[tuple[int, str, str]]]  # by name: the line, the class as it is written, the sign
_STATEMENTS = frozenset(
    {"return", "delete", "else", "throw", "case", "goto", "co_return", "co_yield", "new", "typename", "auto"}
)

Arguments = tuple[int, int]  # the fewest and the most


class Reading(NamedTuple):
    """What a line says of a use on it: what alone it can mean, None where that is not known; how many arguments."""

    sole: str | None = None
    given: Arguments | None = None


PLAIN = Reading()


# --- arguments ---


def arguments_given(line: str, following: Callable[[], str], name: str) -> Arguments | None:
    """How many arguments the calls of `name` on a line are given; None where that cannot be read.

    `following` gives the lines that follow. Several calls on one line are taken together.
    """
    low, high = MANY, -1
    for given in _calls_on(line, name):
        number = _counted(f"{given}\n{following()}"[:_SPAN].lstrip()) if isinstance(given, str) else given
        if number is None:
            return None
        low, high = min(low, number[0]), max(high, number[1])
    return (low, high) if high >= 0 else None


@lru_cache(maxsize=65536)  # of two lines with calls that a site has, one was read before
def _calls_on(line: str, name: str) -> list[Arguments | str | None]:
    """The arguments of each call of `name` on a line; a text, which goes on below, where the line does not tell."""
    calls: list[Arguments | str | None] = []
    at = line.find(name) if name.isidentifier() else -1
    while at >= 0:
        end = at + len(name)
        before, after = line[at - 1 : at], line[end : end + 1]
        at = line.find(name, end)
        if before == "_" or before.isalnum() or after == "_" or after.isalnum():
            continue  # a part of another name
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
    """How many arguments stand in the brackets that a text begins with, behind template arguments."""
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
    """Each match in the brackets that a text begins with, and in how many it is: in none the one that closes them."""
    depth = 0
    for match in pattern.finditer(text):
        depth += (match[0] in "([{") - (match[0] in ")]}")
        yield depth, match
        if not depth:
            return


def _pieces(text: str) -> list[tuple[int, int]] | None:
    """The arguments in the brackets that a text begins with; None where they do not close, or hold a literal, a comment
    or a directive.
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
    """Behind the bracket that closes the one that a text begins with; -1 where none does. Literals and comments are
    passed over, so that what stands behind the call need not be read.
    """
    return next((match.end() for depth, match in _signs(_LITERAL_OR_BRACKET, text) if not depth), -1)


def _number(inside: str, pieces: Sequence[str]) -> Arguments | None:
    """How many arguments these are; a comma in angle brackets may part two of them, or two arguments of a template."""
    if len(pieces) == 1 and not pieces[0]:
        return 0, 0
    if any(piece.endswith("...") or _MACRO_ALONE.fullmatch(piece) for piece in pieces):
        return None  # a pack, or a macro that may hold several
    return min(len(split(inside)), len(pieces)) if "<" in inside else len(pieces), len(pieces)


@lru_cache(maxsize=65536)
def arguments_taken(signature: str, kind: str) -> Arguments:
    """How many arguments a definition takes; any number where its signature does not say."""
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
    """What a parameter list says without what stands in brackets inside of it; None where more must be looked at."""
    inside = signature[1:]
    while (shorter := NESTED.sub("", inside)) != inside:
        inside = shorter
    close = inside.find(")")
    listed = inside[:close]
    return listed if close >= 0 and not _BRACKETS.intersection(listed) else None


def _meet(taken: Arguments, given: Arguments | None) -> bool:
    return given is None or (given[0] <= taken[1] and taken[0] <= given[1])


class Bearers:
    """What bears one last name in C++, by qualified name: how many arguments each takes, which are members."""

    def __init__(self, names: DefinitionsByName, name: str) -> None:
        self._name = name
        self.taken: dict[str, list[Arguments]] = {}
        self.types: set[str] = set()
        self.all: set[str] = set()
        self.places: dict[str, list[tuple[str, SiteDefinition]]] = {}
        known: dict[str, str] = {}  # of a container: most names are borne by many things in a few of them
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
        self._told: dict[Arguments, Arguments | None] = {}
        self._fitting: dict[tuple[str, bool, Arguments | None], str | None] = {}
        self._ends: defaultdict[str, list[str]] = defaultdict(list)
        for qualified in self.taken:
            self._ends[_last_part(qualified[: -len(name)])].append(qualified)
        self.any_number = all(each == _ANY for taken in self.taken.values() for each in taken)

    @property
    def are_types(self) -> bool:
        """Whether only classes, with their constructors, and other types bear the name in C++."""
        return all(
            definition.kind in _TYPES or definition.qualified != qualified
            for qualified, places in self.places.items()
            for _path, definition in places
        )

    def others(self, qualified: str) -> bool:
        """Whether something else bears the name, in Python or in C++."""
        return bool(self.all - {qualified})

    def are_all(self, meant: Collection[str]) -> bool:
        """Whether nothing but these names (`without_constructor`) bears it, in Python or in C++."""
        return self._bearing.issubset(meant)

    @remembered
    def alone_in(self, qualified: str) -> frozenset[frozenset[str]]:
        """Of what bears that qualified name, `alone_in` of each place: of the definitions, or of declarations alone."""
        places = self.places[qualified]
        defined = [place for place, definition in places if not definition.declared]
        return frozenset(map(alone_in, defined or [place for place, _definition in places]))

    def takes(self, qualified: str, given: Arguments | None) -> bool:
        """Whether something of that name takes so many arguments; what is not known takes any."""
        return given is None or any(_meet(taken, given) for taken in self.taken.get(qualified, (_ANY,)))

    @remembered
    def free_taking(self, given: Arguments | None) -> frozenset[str]:
        """What bears the name outside of classes and takes so many arguments, by qualified name."""
        return frozenset(q for q in self.taken if q not in self.members and self.takes(q, given))

    def told(self, given: Arguments | None) -> Arguments | None:
        """A number of arguments, if anything of the name would not take it."""
        if given is not None and given not in self._told:
            every = all(_meet(each, given) for taken in self.taken.values() for each in taken)
            self._told[given] = None if every else given
        return self._told[given] if given is not None else None

    def only(self, written: str, given: Arguments | None, *, types: bool) -> str | None:
        """The one qualified name that a name with `written` before it ("native::") can mean; None where several can."""
        key = (written, types, given)
        if key not in self._fitting:
            end = -len(self._name)
            # Where both are qualified the last part of what stands before the name is the same.
            wanted: Iterable[str] = self._ends.get(_last_part(written), ()) if written else self.taken
            wanted = (q for q in wanted if not types or q in self.types)
            fitting = {q for q in wanted if (not written or agree(written, q[:end])) and self.takes(q, given)}
            self._fitting[key] = fitting.pop() if len(fitting) == 1 else None
        return self._fitting[key]


def _last_part(before: str) -> str:
    """The last part of "at::native::"."""
    return before[:-2].rpartition("::")[2]


def bearer(definition: SiteDefinition) -> str:
    """The qualified name that the uses of a definition mean."""
    return without_constructor(definition.qualified)


def without_constructor(qualified: str) -> str:
    """The name that uses of a qualified name of C++ mean: a constructor is its class."""
    container, _, name = qualified.rpartition("::")
    return container if container.rpartition("::")[2] == name else qualified


# --- the one meaning ---


class Bases(NamedTuple):
    """The classes that a class names as its bases, as far as they are known.

    `is_whole`: all of them are, with their members; a template's members depend on its arguments. `may_be_more`: among
    those that are not known may be one of these trees; what the standard library has inherits from none of these.
    """

    known: tuple[str, ...] = ()
    is_whole: bool = True
    may_be_more: bool = False


# Whose names a namespace has by `using namespace` (c10/macros/Macros.h, torch/csrc/api/include/torch/types.h).
_USED = {"at": ("c10",), "caffe2": ("c10",), "torch": ("at", "c10")}
_UNKNOWN = Bases(is_whole=False, may_be_more=True)
# What is of the standard library, but for templates that stand for one of their arguments.
_STANDS_FOR_ITSELF = re.compile(r"^(?:::)?std::(?!\w*(?:conditional|enable_if|type_identity|common_type)\b)(?!\w+_t\b)")


class UseReader:
    """Reads what the uses in files can mean. It keeps what it worked out; for one thread."""

    def __init__(self, names: DefinitionsByName) -> None:
        self.names = names
        self._bearers: dict[str, Bearers] = {}
        self._named: dict[str, dict[str, list[LinkTarget]]] = {}
        self._bases: dict[str, Bases] = {}
        self._above: dict[str, tuple[Sequence[str], bool]] = {}
        self._inherits: dict[str, dict[tuple[str, int], list[SiteUse]]] = {}
        self._file: FileReader | None = None  # the one that was asked for last

    def bearers(self, name: str) -> Bearers:
        """What bears a last name in C++."""
        if name not in self._bearers:
            self._bearers[name] = Bearers(self.names, name)
        return self._bearers[name]

    def definitions(self, name: str, qualified: Collection[str], only: str = "") -> int:
        """How many definitions these qualified names of a last name have; a class's constructors are the class.

        `only` is the file that alone sees the one that is asked about, if one does.
        """
        kept = {each for each in qualified if (bearer := without_constructor(each)) == each or bearer not in qualified}
        return sum(self._defined(name, each, only) for each in kept)

    @remembered  # a name may have a thousand, each of which asks
    def _defined(self, name: str, qualified: str, only: str) -> int:
        if name not in self._named:
            self._named[name] = by_qualified(self.names.places(name))
        return count_definitions(self._named[name].get(qualified, ()), only)

    @remembered
    def meaning(self, name: str, qualified: str) -> Meaning | None:
        """The definitions of a qualified name; None where they are too many to choose among."""
        known = self.bearers(name).places.get(qualified, ())
        places = [LinkTarget(path, self.names.owner[path][0], definition) for path, definition in known]
        places = [place for place in places if not place.definition.declared] or places
        return Meaning(tuple(places), len(places) == 1) if 0 < len(places) <= MOST else None

    def of_file(self, path: str, text: str | None) -> FileReader:
        """Reads the uses in one file; without its text only what the index says of it is known."""
        if self._file is None or not self._file.is_of(path, text):
            self._file = FileReader(self, path, text)  # a page of the site asks for its links, and then for its uses
        return self._file

    def sole_row(self, target: str, name: str) -> str | None:
        """The one qualified name that a row's target can mean ("at::native::add_kernel", "add_kernel")."""
        return self.bearers(name).only(target[: -len(name)].removeprefix("::"), None, types=False)

    def member(self, qualified: str, name: str) -> str | None:
        """The qualified name of the member of that name in a class or its bases; None where that is not known."""
        return self._in_class(qualified, name, self.bearers(name)) or None

    def derives(self, qualified: str, bases: Collection[str]) -> bool | None:
        """Whether a class has one of these among its bases, at any depth; None where a base of it is not known."""
        above, whole = self.above(qualified)
        return True if any(base in above for base in bases) else False if whole else None

    def above(self, qualified: str) -> tuple[Sequence[str], bool]:
        """The classes that a class is known to have among its bases, at any depth, nearest first; whether these are all
        that are of these trees.
        """
        if qualified not in self._above:
            above: dict[str, None] = {}
            pending, is_whole = [qualified], True
            for each in pending:  # it grows
                bases = self.bases_of(each)
                is_whole = is_whole and not bases.may_be_more
                further = [base for base in bases.known if base not in above and base != qualified]
                above.update(dict.fromkeys(further))
                pending += further
            self._above[qualified] = (tuple(above), is_whole)
        return self._above[qualified]

    def in_scope(self, use: SiteUse, path: str, scope: str, given: Arguments | None) -> str | None:
        """The one qualified name that a use in C++ can mean inside a scope; None where it may be another."""
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
        """From the inside out, as C++ looks a name up; a class is looked through with its bases."""
        inner, types = scope, use.kind in ("inherit", "type")
        while inner:
            if self.names.is_class(inner):
                meant = self._in_class(inner, use.name, bearers)
                if meant == "":
                    return None  # a base that is not known may have it
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
        """A function outside of classes is certain where no other one could be meant through the arguments' types."""
        if any(hardly_meant(folders, path) for folders in bearers.alone_in(meant)):
            return None
        if types:
            return meant
        if use.name in _OF_STD or not bearers.free_taking(given) <= {meant}:
            return None
        return meant if bearers.takes(meant, given) else None

    def _in_class(self, qualified: str, name: str, bearers: Bearers, level: int = 0) -> str | None:
        """The member of that name in a class or its bases; None where none has it, "" where that is not known."""
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
        """The classes that a class names as its bases."""
        if qualified not in self._bases:
            self._bases[qualified] = _UNKNOWN  # what inherits from itself is not followed
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
        """The class that a class names as its base. In a template the name may be that of a parameter."""
        definition = place.definition
        scope = definition.container.rstrip(":")
        return self.class_named(use, place.path, scope, elsewhere=not definition.template)

    def class_named(self, use: SiteUse, path: str, scope: str, *, elsewhere: bool) -> str | None:
        """The class that a name means inside a scope: by C++'s look-up; with `elsewhere` also by a using directive:
        PyTorch's own between its namespaces, or whichever brings the only class that is called so.
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
        """What the classes of a file inherit from, by their qualified name and first line."""
        if path not in self._inherits:
            by_class: defaultdict[tuple[str, int], list[SiteUse]] = defaultdict(list)
            uses = [use for use in self.names.uses(path) if use.kind == "inherit"]
            classes = [each for each in self.names.defined(path) if each.kind in CLASSES and not each.declared]
            classes.sort(key=lambda each: (each.begin, -each.end_line))
            begins = [each.begin for each in classes]
            for use in uses:
                for line in use.lines:
                    at = bisect_right(begins, line) - 1
                    while at >= 0 and classes[at].end_line < line:  # the innermost one begins last
                        at -= 1
                    if at >= 0:
                        by_class[classes[at].qualified, classes[at].begin].append(use)
            self._inherits[path] = dict(by_class)
        return self._inherits[path]


class FileReader:
    """Reads the uses in one file."""

    def __init__(self, reader: UseReader, path: str, text: str | None) -> None:
        self._reader = reader
        self._path = path
        self._python = path.endswith(PYTHON)
        self._text = text
        self._lines: list[str] | None = None
        self._scopes: list[str] | None = None
        self._functions: list[tuple[int, int]] | None = None  # by line: where the innermost one begins and ends
        self._declared: dict[int, tuple[Declared, Mapping[str, list[int]]]] = {}  # by where a function begins
        self._types: dict[str, Set[str] | None] = {}
        self._used: list[str] | None = None
        self._names: tuple[Set[str], Mapping[str, Sequence[str]]] | None = None
        self._local: Set[str] | None = None
        self._hidden: dict[str, bool] = {}

    def is_of(self, path: str, text: str | None) -> bool:
        """Whether this reads the uses in that file with that text."""
        return (path, text) == (self._path, self._text)

    def members_meant(self, use: SiteUse, lines: Sequence[int]) -> Iterator[tuple[Meaning, list[int]]]:
        """The members that a call through a variable means, with the lines where it means them.

        The function around a line declares the variable, and so its class; overloads of a member are a choice. A use
        that is no such call, and a line where the class is not known, are left out.
        """
        if use.kind != "call" or self._python or not _OBJECT.fullmatch(use.text):
            return
        for reading, told in self.read_lines(use._replace(lines=[*lines])).items():
            meant = self._reader.meaning(use.name, reading.sole) if reading.sole is not None else None
            if meant is not None:
                yield meant, told

    def read(self, use: SiteUse, line: int) -> Reading:
        """What a line says of a use on it."""
        return next(iter(self.read_lines(use._replace(lines=[line]))))

    def read_lines(self, use: SiteUse) -> dict[Reading, list[int]]:
        """The lines of a use, in order, by what each says of it."""
        if use.target is not None or use.kind == "override":
            return {PLAIN: sorted(use.lines)}
        if self._python:
            return {self._read_python(use): sorted(use.lines)}
        told = None
        if use.kind == "call" and self._text is not None:
            bearers = self._reader.bearers(use.name)
            told = bearers.told if not bearers.any_number else None
        in_place = use.text == use.name or use.text.startswith("this->")
        known: dict[tuple[str, Arguments | None], list[int]] = {}
        by_reading: dict[Reading, list[int]] = {}
        for line in sorted(use.lines):
            given = told(self._given(use.name, line)) if told is not None else None
            scope = self._scope(line) if in_place else self._class_of_object(use, line)
            lines = known.get((scope, given))
            if lines is None:
                reading = self._in_scope(use, scope, given)
                lines = known[scope, given] = by_reading.setdefault(reading, [])
            lines.append(line)
        return by_reading

    def _in_scope(self, use: SiteUse, scope: str, given: Arguments | None) -> Reading:
        """What is said of a use inside a scope with so many arguments."""
        if _OBJECT.fullmatch(use.text) and not use.text.startswith("this->"):
            sole = self._reader.member(scope, use.name) if scope else None
            takes = sole is not None and self._reader.bearers(use.name).takes(sole, given)
            return Reading(sole if takes else None, given) if takes or given else PLAIN
        if use.kind == "inherit":  # a base is looked up where the class stands, not inside of it
            scope = scope.rpartition("::")[0]
        sole = self._reader.in_scope(use, self._path, scope, given)
        if sole is not None and use.text == use.name and self._is_hidden(use.name):
            sole = None
        return Reading(sole, given) if sole or given else PLAIN

    def _class_of_object(self, use: SiteUse, line: int) -> str:
        """The class of the object through which a use is written, where a line above declares it; "" where none does.

        A variable or parameter of the function around the line, which has one declaration of that name there: a class
        by its name, an object or a pointer as the use has it. Of `auto` only what a class's name makes is
        read (`auto x = Foo(1);`), of templates nothing.
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
            return ""  # a function may be called so, and give anything
        return self._class_named(kind, last, line)

    def _class_named(self, kind: str, last: str, line: int) -> str:
        """The class that a declaration on a line names; "" where that may be another one, or none."""
        known = self._names_of_types(last) if last == kind else frozenset[str]()
        if known is None:  # a parameter of a template, or another name of a class
            return ""
        if known:
            return next(iter(known)) if len(known) == 1 else ""
        use = SiteUse(last, "type", kind, None, [line])
        return self._reader.class_named(use, self._path, self._scope(line), elsewhere=True) or ""

    def _names_of_types(self, name: str) -> Set[str] | None:
        """The classes that using declarations and directives of the file may make a name mean, none where they say
        nothing; None where in this file the name is a template's parameter, or another name of a type.
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

    def _given_names(self) -> tuple[Set[str], Mapping[str, Sequence[str]]]:
        """The names that the file gives to types itself: parameters of templates, aliases; and by each name that a
        using declaration brings the scopes that it is brought from (`using c10::Scalar;`).

        Of all names at once: a generated file has a thousand classes, and as many lines as all of them together.
        """
        if self._names is None:
            text = self._text or ""
            given = {parameter or alias for parameter, alias in _GIVEN_NAME.findall(text)}
            brought = defaultdict[str, list[str]](list)
            for scope, name in _USING_NAME.findall(text):
                brought[name].append(scope)
            self._names = given, brought
        return self._names

    def _used_namespaces(self) -> list[str]:
        """What the file uses whole: `using namespace c10;`."""
        if self._used is None:
            self._used = _USING_NAMESPACE.findall(self._text or "")
        return self._used

    def _declared_around(self, line: int) -> tuple[Declared, Mapping[str, list[int]]]:
        """What the innermost function around a line declares; and its `auto` and templates, whose class is not read.

        By the name that is declared: the line of each. A function's text is read once.
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
        text = COMMENT_OR_STRING.sub(lambda declaration: " " + "\n" * declaration[0].count("\n"), text)
        ends = [place.start() for place in re.finditer("\n", text)]
        declared, unread = defaultdict[str, list[tuple[int, str, str]]](list), defaultdict[str, list[int]](list)

        def line_at(offset: int) -> int:
            return begin + bisect_right(ends, offset)

        for declaration in _DECLARED.finditer(text):
            kind = declaration["kind"]
            declared[declaration["name"]].append((line_at(declaration.end()), kind, declaration["sign"]))
            if text[declaration.start() - 1 : declaration.start()] in (
                ";",
                "{",
                "}",
            ):  # no parameter
                for name, sign, at in _declared_with(text, declaration.end()):
                    declared[name].append((line_at(at), kind, sign))
        made = {each.start("name"): each for each in _MADE.finditer(text) if _is_whole(text, each.end())}
        for each in made.values():
            declared[each["name"]].append((line_at(each.end()), each["kind"], _BY_CALL))
        for each in _UNREAD.finditer(text):
            if each["name"] is None or each.start("name") not in made:
                unread[each["name"] or each["captured"]].append(line_at(each.end()))
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
            return Reading(use.text)  # written whole
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
        """The names that functions of the file declare themselves; none without its text."""
        if self._local is None:
            self._local = local_names(self._text or "", python=self._python)
        return self._local

    def _is_hidden(self, name: str) -> bool:
        """Whether a local name of the file may hide what is called so elsewhere."""
        if self._text is None:
            return True
        if self._python or self._local is not None:
            return name in self.local_names()
        if name not in self._hidden:  # of one name of C++ it is known much sooner
            self._hidden[name] = is_local_name(self._text, name)
        return self._hidden[name]


def _is_shared(definition: SiteDefinition, path: str) -> bool:
    """Whether a definition may be seen from another file: no test's own, unless a test asks."""
    return (not definition.test or is_test_file(path)) and not definition.static


def _declared_with(text: str, at: int) -> Iterator[tuple[str, str, int]]:
    """The further names that a declaration declares behind the first one, each with its sign and its end."""
    while (another := _ANOTHER.match(text, at)) is not None:
        at = another.end()
        yield another["name"], another["sign"], at


def _is_whole(text: str, at: int) -> bool:
    """Whether a statement ends behind the brackets that open at an offset: nothing is asked of what they make."""
    close = closing_of(text, at)
    return close > 0 and text[close + 1 : close + 80].lstrip()[:1] == ";"


def may_mean(bearers: Bearers | None, meant: Collection[str], reading: Reading) -> bool:
    """Whether a use that was read so can mean something of these names (`without_constructor`)."""
    if reading.sole is not None:
        return reading.sole in meant
    if bearers is None or reading.given is None:
        return bool(meant) or bearers is None
    return any(bearers.takes(name, reading.given) for name in meant)
