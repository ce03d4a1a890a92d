"""Finds the definitions that a written name can mean, by its qualifiers and its place: one, or a choice of several."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from ptexplore.lazy import uncollected
from ptexplore.store.index import site as index_site
from ptexplore.store.index.reader import IndexStore
from ptexplore.store.index.site import SiteDefinition, SiteUse

MOST = 6  # definitions that a reader can still choose from
BY_NAME = 3  # the same, if only the name speaks for them
_RECENT = 8  # files whose uses are kept in memory
_KEPT = 2000  # answers for one name that are kept in memory
CLASSES = frozenset({"class", "struct", "union"})
_TYPES = CLASSES | {"enum", "typedef", "concept"}
_LIKE_TYPES = _TYPES | {"enumerator", "member"}  # a class often has an enumerator of the same name
_CALLED = CLASSES | {"function", "macro", "variable", "typedef", "concept"}
_KINDS = {
    "call": _CALLED, "address": frozenset({"function", "variable"}), "inherit": _TYPES, "type": _TYPES,
    "override": frozenset({"function"}), "macro": frozenset({"macro"}),
    "import": frozenset({"function", "class", "variable"}),
}  # fmt: skip
_SCOPES = frozenset({"namespace", "class", "struct", "union", "function"})
_ARGUMENTS = re.compile(r"<[^<>]*>")
PYTHON = (".py", ".pyi")
_HEADERS = (".h", ".hpp", ".cuh", ".inl", ".inc")
# PyTorch's additions to std are few, and no index of ours has the standard library: most uses of std::log do not mean
# PyTorch's.
_FOREIGN = "std::"
_OWN_FILE = ("", "self.", "cls.")  # before these, a Python name is first looked for in its own file
NESTED = re.compile(r"<[^<>()]*>|\([^()<>]*\)|\{[^{}]*\}")

# These expressions begin with letters or with something rare, and not with a boundary (\b): a megabyte of text takes 15
# ms. For the same reason an expression for the start of a line matches the end of the line before it. The second one
# reads a text backwards, since a comma or a bracket is rarer than a blank: "int a," becomes ",a tni".
_AUTO = re.compile(r"auto(?<=\bauto)\s*(?:const\b)?\s*[&*]{0,2}\s*(\w+)\s*=")
_DECLARED_BACKWARDS = re.compile(r"[,)]\s*(\w+)[&*]{0,2}\s+(?=[\w>&*])")
_BEHIND = re.compile(r"\s*[,)=]")
_BEFORE_AUTO = re.compile(r"\bauto\s*(?:const\b)?\s*[&*]{0,2}\s*$")
_BEFORE_DECLARED = re.compile(r"[\w>&*]\s+[&*]{0,2}$")
_PARAMETERS = re.compile(r"def(?<=\bdef)\s+\w+\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)|lambda(?<=\blambda)\s+([^:()]*):")
_PARAMETER = re.compile(r"(?:^|,)\s*\*{0,2}(\w+)")
_BOUND = re.compile(r"\n[ \t]+(?:for\s+)?(\w+)(?:\s*,\s*\w+)*\s*(?::[^=\n()]+)?(?:=(?!=)|\bin\b)")
_NAMED_AS = re.compile(r"as(?<=\bas)\s+(\w+)\s*:")

# Folders whose headers hardly any file outside includes: for one device, for one processor, for tests.
_ALONE = frozenset({"mps", "metal", "vulkan", "glsl", "hip", "vsx", "zarch", "sve", "test", "tests"})


Look = Literal["type", "macro", ""]


class LinkTarget(NamedTuple):
    """A definition that a link can go to: its path, the number of its tree, and the index's record of it."""

    path: str
    tree: int
    definition: SiteDefinition


class Meaning(NamedTuple):
    """The definitions that a use can mean. `sure` if the index leaves only one; else `places` are a choice."""

    places: tuple[LinkTarget, ...]
    sure: bool


class _Looks(dict[str, Look]):
    """How names look. Each is worked out once: millions of words are asked for."""

    def __init__(self, names: DefinitionsByName, *, python: bool) -> None:
        super().__init__()
        self._names, self._python = names, python

    def __missing__(self, name: str) -> Look:
        look: Look = ""
        if name[:1].isupper() or name.endswith("_t"):  # else a variable often has this name, too
            kinds = {
                place.definition.kind
                for place in self._names.places(name)
                if place.path.endswith(PYTHON) == self._python and not _is_constructor(place.definition)
            }
            look = "macro" if kinds == {"macro"} else "type" if kinds & _TYPES and kinds <= _LIKE_TYPES else ""
        self[name] = look
        return look


class _Group(NamedTuple):
    """All definitions with one name that can be used in one way, sorted by container.

    `free` are those outside of classes, `members` those inside.
    """

    places: list[LinkTarget]
    inside: dict[str, list[LinkTarget]]
    free: list[LinkTarget]
    ends: dict[str, list[str]]  # the containers by their last part
    fitting: dict[str, list[LinkTarget]]  # by the qualifier that is written before the name
    members: Meaning | None
    has_members: bool
    only_macros: bool
    own: frozenset[str]  # in C++ the files with a definition that only they see; in Python all files with a definition


class DefinitionsByName:
    """The definitions in several trees, by name. A file is read only from the first tree that has its path.

    Rows are read when they are asked for. `preload` reads all of them at once, for thousands of pages.
    """

    def __init__(self, stores: Sequence[IndexStore]) -> None:
        self._stores = stores
        self._files: list[dict[int, str]] = []
        self.owner: dict[str, tuple[int, int]] = {}  # path -> number of its tree, number of the file there
        for number, store in enumerate(stores):
            own = {file: path for file, path in index_site.files(store).items() if path not in self.owner}
            self._files.append(own)
            self.owner.update({path: (number, file) for file, path in own.items()})
        self._classes: dict[str, bool] = {}
        self._tails: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(self.owner):
            self._tails[path.rsplit("/", 1)[-1]].append(path)
        self._by_name: dict[str, list[LinkTarget]] = {}
        self._by_file: dict[str, list[SiteDefinition]] = {}
        self._groups: dict[tuple[str, str, bool], _Group | None] = {}
        self._known: dict[tuple[str, bool], dict[tuple[object, ...], Meaning | None]] = {}
        self._looks = (_Looks(self, python=False), _Looks(self, python=True))
        self._whole = False
        self._uses: dict[str, list[SiteUse]] = {}  # of the files read last: a page of the site asks twice

    def preload(self) -> None:
        """Read every definition, once."""
        if self._whole:
            return
        by_file: defaultdict[str, list[SiteDefinition]] = defaultdict(list)
        by_name: defaultdict[str, list[LinkTarget]] = defaultdict(list)
        with uncollected():  # half a million objects
            for number, store in enumerate(self._stores):
                files = self._files[number]
                for definition in index_site.definitions(store):
                    path = files.get(definition.file)
                    if path is not None:
                        by_file[path].append(definition)
                        if definition.kind != "namespace":
                            by_name[definition.name].append(LinkTarget(path, number, definition))
        self._by_name, self._by_file, self._whole = dict(by_name), dict(by_file), True
        self._classes = {name: True for store in self._stores for name in index_site.classes(store)}

    def reopened(self, stores: Sequence[IndexStore]) -> DefinitionsByName:
        """Use these open indexes from now on. A forked worker needs its own connections."""
        self._stores = stores
        return self

    def places(self, name: str) -> list[LinkTarget]:
        """Returns every definition with that name, ordered by tree, file and line."""
        if name not in self._by_name and not self._whole:
            self._by_name[name] = [
                LinkTarget(self._files[number][definition.file], number, definition)
                for number, store in enumerate(self._stores)
                for definition in index_site.named(store, name)
                if definition.file in self._files[number] and definition.kind != "namespace"
            ]
        return self._by_name.get(name, [])

    @property
    def kept(self) -> int:
        """How many definitions were read by name so far. All of them are kept in memory."""
        return sum(map(len, self._by_name.values()))

    def looks(self, *, python: bool) -> Mapping[str, Look]:
        """Returns how names look, for colours and never for claims: in some file, a variable may have the name.

        A name looks like a macro if only macros have it. It looks like a type if only types, enumerators and members
        have it.
        """
        return self._looks[python]

    def defined(self, path: str) -> list[SiteDefinition]:
        """Returns every symbol of a file."""
        if path not in self._by_file and not self._whole and path in self.owner:
            number, file = self.owner[path]
            self._by_file[path] = index_site.of_file(self._stores[number], file)
        return self._by_file.get(path, [])

    def uses(self, path: str, named: Container[str] | None = None) -> list[SiteUse]:
        """Returns every use in a file; with `named`, only the uses of these names. Only a whole answer is kept."""
        if path not in self.owner:
            return []
        number, file = self.owner[path]
        if named is not None:
            return index_site.uses(self._stores[number], file, named)
        if path not in self._uses:
            self._uses[path] = index_site.uses(self._stores[number], file)
            if len(self._uses) > _RECENT:
                del self._uses[next(iter(self._uses))]
        return self._uses[path]

    def is_class(self, qualified: str) -> bool:
        """Whether a class, struct or union in any of the trees has that qualified name."""
        if qualified not in self._classes:
            if self._whole:
                return False
            self._classes[qualified] = any(CLASSES & store.kinds_of(qualified) for store in self._stores)
        return self._classes[qualified]

    def meant(self, use: SiteUse, path: str, scope: str) -> Meaning | None:
        """Returns the definitions that `use` in `path` can mean inside `scope` ("at::native").

        Returns None if no definition here has that name, or if too many have it.
        """
        if use.kind == "include":
            return self.included(use.text, path)
        python = path.endswith(PYTHON)
        group = self._group(use.name, use.kind, python)
        if group is None:
            return None
        if python:
            in_file = use.text[: -len(use.name)] in _OWN_FILE and path in group.own
            key: tuple[object, ...] = (use.kind, use.text, path if in_file else "")
        elif use.target is None and ("." in use.text or "->" in use.text) and "operator" not in use.text:
            return group.members
        else:
            written = written_before(use)
            # The place matters in two ways: its folders may be for one device or for tests, and a file sees its own
            # definitions.
            where = path if path in group.own else alone_in(path)
            key = (use.kind, written, use.target, where, "" if written or group.only_macros else scope)
        known = self._known.setdefault((use.name, python), {})
        if key not in known:
            if len(known) > _KEPT:
                known.clear()
            places, sure = _in_python(group.places, use, path) if python else self._in_cpp(group, use, path, scope)
            known[key] = _choice(places, sure=sure)
        return known[key]

    def included(self, text: str, path: str) -> Meaning | None:
        """Returns the file that an #include names, or None if it is not in these trees."""
        files = [file for file in self._tails.get(text.rsplit("/", 1)[-1], ()) if f"/{file}".endswith(f"/{text}")]
        beside = f"{path.rpartition('/')[0]}/{text}"
        files = [beside] if beside in files else [file for file in files if file.removesuffix(text) in _INCLUDE_FOLDERS]
        if not files or len(files) > MOST:
            return None
        blank = SiteDefinition(0, text, "", "file", 0, 0, 0, False, False, False, "")
        return Meaning(tuple(LinkTarget(file, 0, blank) for file in files), len(files) == 1)

    def _group(self, name: str, kind: str, python: bool) -> _Group | None:
        key = (name, kind, python)
        if key not in self._groups:
            kinds = _KINDS.get(kind, _CALLED)
            named = [place for place in self.places(name) if place.definition.kind in kinds]
            places = linkable([place for place in named if place.path.endswith(PYTHON) == python])
            self._groups[key] = self._grouped(places, python=python) if places else None
        return self._groups[key]

    def _grouped(self, places: list[LinkTarget], *, python: bool) -> _Group:
        inside: defaultdict[str, list[LinkTarget]] = defaultdict(list)
        for place in places:
            inside[place.definition.container].append(place)
        ends: defaultdict[str, list[str]] = defaultdict(list)
        members: list[LinkTarget] = []
        free: list[LinkTarget] = []
        for container, contained in inside.items():
            ends[_last(container)].append(container)
            (members if self.is_class(container[:-2]) else free).extend(contained)
        # the type of the object is not known: only members can be meant, and only their name speaks for them
        only_macros = all(place.definition.kind == "macro" for place in places)
        own = frozenset(place.path for place in places if python or not seen_from("", (place,)))
        return _Group(
            places, dict(inside), free, dict(ends), {}, _choice(members, sure=False), bool(members), only_macros, own
        )

    def _in_cpp(self, group: _Group, use: SiteUse, path: str, scope: str) -> tuple[list[LinkTarget], bool]:
        if use.target is not None:
            exact = use.target.partition("(")[0]
            return [place for place in group.places if place.definition.qualified == exact], True
        if group.only_macros:
            return group.places, not any(of_another_kind(place.path, path) for place in group.places)
        written = written_before(use)
        if written:
            if written not in group.fitting:
                ends = group.ends.get(_last(written), ())
                group.fitting[written] = [place for end in ends if agree(written, end) for place in group.inside[end]]
            return seen_from(path, group.fitting[written]), True
        return self._unwritten(group, use, path, scope)

    def _unwritten(self, group: _Group, use: SiteUse, path: str, scope: str) -> tuple[list[LinkTarget], bool]:
        """Look up a name without qualifiers, from the inside out.

        The result is not sure if a class is in between, since its bases may have a member of that name. It is not sure
        either for a name that is only passed on, since that may be an argument of a macro.
        """
        inner, in_class = scope, False
        while True:
            places = seen_from(path, group.inside.get(f"{inner}::" if inner else "", ()))
            if places:
                other = any(of_another_kind(place.path, path) for place in places)
                return places, not (in_class and group.has_members) and use.kind != "address" and not other
            if not inner:
                break
            in_class = in_class or self.is_class(inner)
            inner = inner.rpartition("::")[0]
        # brought in by `using`, or found through its arguments: only the name speaks for it
        return seen_from(path, group.free), False


def _choice(places: list[LinkTarget], *, sure: bool) -> Meaning | None:
    """Keep each place once, and places in tests only if there is nothing else.

    Returns None if there are too many to choose from.
    """
    kept = [place for place in places if not place.definition.test] or places
    chosen = {(place.path, place.definition.line): place for place in kept}.values()
    return Meaning(tuple(chosen), sure and len(chosen) == 1) if 0 < len(chosen) <= (MOST if sure else BY_NAME) else None


def _in_python(places: list[LinkTarget], use: SiteUse, path: str) -> tuple[list[LinkTarget], bool]:
    """Look up a Python name: an import by its full name, others at the top of the same file, members by name."""
    if use.kind == "import":
        return [place for place in places if place.definition.qualified == use.text], True
    before = use.text[: -len(use.name)]
    own = [place for place in places if place.path == path]
    if not before:
        top = [place for place in own if _top(place)]
        return (top, True) if top else ([place for place in places if _top(place)], False)
    if before in _OWN_FILE:
        members = [place for place in own if not _top(place)]
        return members or [place for place in places if not _top(place)], False
    named = [place for place in places if f".{place.definition.container}".endswith(f".{before}")]
    return named or places, bool(named) and before.count(".") > 1


def _top(place: LinkTarget) -> bool:
    """Whether a Python definition is at the top of its module: its container is the module."""
    module = place.path.rsplit(".", 1)[0].replace("/", ".").removesuffix(".__init__")
    return place.definition.container[:-1] == module or place.definition.container == ""


def written_before(use: SiteUse) -> str:
    """Returns the qualifier before a name, without template arguments: "native::"; "" if there is none."""
    if use.text == use.name:
        return ""
    before = use.text[: use.text.rfind(use.name)]
    while (shorter := _ARGUMENTS.sub("", before)) != before:
        before = shorter
    return before.removeprefix("::")


def _last(container: str) -> str:
    """Returns the last part of "at::native::": "native"."""
    return container[:-2].rpartition("::")[2]


def agree(written: str, container: str) -> bool:
    """Whether one is the end of the other; only whole parts count."""
    return bool(container) and (f"::{container}".endswith(f"::{written}") or written.endswith(f"::{container}"))


# The folders where PyTorch's build looks for headers.
_INCLUDE_FOLDERS = frozenset({
    "", "aten/src/", "build/aten/src/", "torch/csrc/api/include/", "torch/csrc/api/src/", "torch/csrc/", "torch/",
    "torch/include/",
})  # fmt: skip


def _is_constructor(definition: SiteDefinition) -> bool:
    return definition.kind == "function" and f"::{definition.container}".endswith(f"::{definition.name}::")


# --- excluded meanings ---


@cache
def alone_in(path: str) -> frozenset[str]:
    """Returns those folders around a file whose headers hardly any file outside includes."""
    return _ALONE.intersection(path.split("/")[:-1])


def of_another_kind(target: str, path: str) -> bool:
    """Whether a name in `path`, without a qualifier, hardly means a definition in `target`."""
    return hardly_meant(alone_in(target), path)


def hardly_meant(folders: frozenset[str], path: str) -> bool:
    """Whether a name in `path` hardly means a definition inside these `folders` (from `alone_in`)."""
    return bool(folders) and not folders <= alone_in(path)


@lru_cache(maxsize=1)  # a page asks for its own file, and then its uses ask again
def local_names(text: str, *, python: bool) -> frozenset[str]:
    """Returns the names that the functions of a text seem to declare.

    A local name hides other things with the same name.
    """
    if python:
        return frozenset(_python_locals(text))
    return frozenset([*_AUTO.findall(text), *(name[::-1] for name in _DECLARED_BACKWARDS.findall(text[::-1]))])


def is_local_name(text: str, name: str) -> bool:
    """Whether a C++ name is one of the `local_names` of a text. For a single name this is much faster."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        begin, at = at, text.find(name, end)
        behind = _BEHIND.match(text, end)
        if behind is None:
            continue
        before = text[max(0, begin - 80) : begin]
        if (_BEFORE_AUTO if behind[0].endswith("=") else _BEFORE_DECLARED).search(before):
            return True
    return False


def _python_locals(text: str) -> set[str]:
    """Returns the names that the functions of a Python file bind: parameters, and assignments inside of them."""
    names = {*_BOUND.findall(text), *_NAMED_AS.findall(text)}
    for of_function, of_lambda in _PARAMETERS.findall(text):
        names.update(_PARAMETER.findall(of_function or of_lambda))
    return names


def linkable(places: list[LinkTarget]) -> list[LinkTarget]:
    """Returns the definitions if there are any, with the overloads that are only declared; else the declarations."""
    places = [place for place in places if not place.definition.container.startswith(_FOREIGN)]
    defined = [place for place in places if not place.definition.declared]
    if all(place.definition.static for place in defined):
        return places
    return [*defined, *_bodiless(places, defined)]


def _bodiless(places: Sequence[LinkTarget], defined: Sequence[LinkTarget]) -> list[LinkTarget]:
    """Returns the overloads without a body, such as pure virtual ones, beside the one definition that has a body.

    Which of them a use means is not known.
    """
    declared = [
        place
        for place in places
        if place.definition.declared and place.definition.kind == "function" and place.definition.container
    ]
    if not declared:
        return []
    asked = {place.definition.container for place in declared}
    times = Counter(place.definition.container for place in defined)
    with_body = {
        place.definition.container: parameters(place.definition.signature)
        for place in defined
        if place.definition.container in asked
        and times[place.definition.container] == 1
        and place.definition.kind == "function"
    }
    return [
        place
        for place in declared
        if (count := with_body.get(place.definition.container)) is not None
        and parameters(place.definition.signature) not in (None, count)
    ]


def by_qualified(places: Sequence[LinkTarget]) -> dict[str, list[LinkTarget]]:
    """Group things with one name by their qualified name."""
    by_name: defaultdict[str, list[LinkTarget]] = defaultdict(list)
    for place in places:
        by_name[place.definition.qualified].append(place)
    return dict(by_name)


def count_definitions(places: Sequence[LinkTarget], only: str = "") -> int:
    """Count the definitions of a qualified name: overloads (also those only declared), and the arms of an `#if`.

    The name of a use does not say which of them it means. `only` is the file that the definition asked about is visible
    in, if it is visible in no other. Then definitions that only other files see do not count.
    """
    if only and len(places) > 1:
        places = [each for each in places if each.path == only or not is_own(each.path, static=each.definition.static)]
    if len(places) < 2:
        return len(places)
    defined = [place for place in places if not place.definition.declared]
    defined = [place for place in defined if not place.path.endswith(".pyi")] or defined  # a .pyi repeats them
    declared = _bodiless(places, defined) if defined else places
    return len(defined) + len({parameters(place.definition.signature) for place in declared})


def parameters(signature: str) -> int | None:
    """Returns the number of parameters in a signature, or None if the signature is not complete."""
    first, last = signature.find("("), signature.rfind(")")
    if first < 0 or last < first:
        return None
    inside = signature[first + 1 : last].strip()
    while (shorter := NESTED.sub("", inside)) != inside:
        inside = shorter
    return 0 if inside in ("", "void") else inside.count(",") + 1


def is_own(path: str, *, static: bool) -> bool:
    """Whether only its own file sees a definition."""
    return static and not path.endswith(_HEADERS)


def seen_from(path: str, places: Sequence[LinkTarget]) -> list[LinkTarget]:
    """Drop the things that only another file sees, such as declarations in a file that is no header."""
    return [
        place
        for place in places
        if not (place.definition.static or place.definition.declared)
        or place.path == path
        or place.path.endswith(_HEADERS)
    ]


def scopes_by_line(symbols: Sequence[SiteDefinition], lines: int) -> list[str]:
    """Returns the qualified name of the innermost scope around each line."""
    scopes = [""] * lines
    around = [s for s in symbols if s.kind in _SCOPES and not s.declared and s.end_line > s.begin]
    for symbol in sorted(around, key=lambda symbol: (symbol.begin, -symbol.end_line)):
        end = min(symbol.end_line + 1, lines)
        scopes[symbol.begin : end] = [symbol.qualified] * max(0, end - symbol.begin)
    return scopes
