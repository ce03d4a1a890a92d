"""Which definitions a written name can mean: those its qualifiers and its place allow, as a choice where several."""

from __future__ import annotations

import gc
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from ptexplore.store.index import site as index_site
from ptexplore.store.index.reader import IndexStore
from ptexplore.store.index.site import SiteDefinition, SiteUse

MOST = 6  # definitions that are still a choice
BY_NAME = 3  # of those that only the name speaks for
_KEPT = 2000  # answers that are kept of one name
_CLASSES = frozenset({"class", "struct", "union"})
_TYPES = _CLASSES | {"enum", "typedef", "concept"}
_CALLED = _CLASSES | {"function", "macro", "variable", "typedef", "concept"}
_KINDS = {
    "call": _CALLED, "address": frozenset({"function", "variable"}), "inherit": _TYPES, "type": _TYPES,
    "override": frozenset({"function"}), "macro": frozenset({"macro"}),
    "import": frozenset({"function", "class", "variable"}),
}  # fmt: skip
_ARGUMENTS = re.compile(r"<[^<>]*>")
_PYTHON = (".py", ".pyi")
# What PyTorch puts there stands beside the library's own, which no index of ours has: most uses of std::log are not it.
_FOREIGN = "std::"
_NESTED = re.compile(r"<[^<>()]*>|\([^()<>]*\)|\{[^{}]*\}")

_PARAMETERS = re.compile(r"\b(?:def\s+\w+\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)|lambda\s+([^:()]*):)")
_PARAMETER = re.compile(r"(?:^|,)\s*\*{0,2}(\w+)")
_BOUND = re.compile(
    r"^[ \t]+(?:for\s+)?(\w+)(?:\s*,\s*\w+)*\s*(?::[^=\n()]+)?(?:=(?!=)|\bin\b)|\bas\s+(\w+)\s*:", re.MULTILINE
)

# Folders whose headers hardly anything else includes: of one device, of one processor, of tests.
_ALONE = frozenset({"mps", "metal", "vulkan", "glsl", "hip", "vsx", "zarch", "sve", "test", "tests"})


class LinkTarget(NamedTuple):
    """One definition that can be linked to: its path, whether in the first tree, and what the index says of it."""

    path: str
    tree: int
    what: SiteDefinition


class Meaning(NamedTuple):
    """What a use can mean. `sure` where the index leaves one; else a choice among `places`."""

    places: tuple[LinkTarget, ...]
    sure: bool


class _Group(NamedTuple):
    """What bears one name and can be used in one way: all, by container, outside of classes, as a member."""

    places: list[LinkTarget]
    inside: dict[str, list[LinkTarget]]
    free: list[LinkTarget]
    ends: dict[str, list[str]]  # the containers by their last part
    fitting: dict[str, list[LinkTarget]]  # by what is written before the name
    members: Meaning | None
    has_members: bool
    only_macros: bool


class DefinitionsByName:
    """The definitions of several trees by name. A path that an earlier tree has is not looked at in a later one.

    What is asked for is read when it is asked for; `preload` reads everything at once, for thousands of pages.
    """

    def __init__(self, stores: Sequence[IndexStore]) -> None:
        self._stores = stores
        self._files: list[dict[int, str]] = []
        self.owner: dict[str, tuple[int, int]] = {}  # path -> its tree, its number there
        for number, store in enumerate(stores):
            own = {file: path for file, path in index_site.files(store).items() if path not in self.owner}
            self._files.append(own)
            self.owner.update({path: (number, file) for file, path in own.items()})
        self._classes = {name for store in stores for name in index_site.classes(store)}
        self._tails: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(self.owner):
            self._tails[path.rsplit("/", 1)[-1]].append(path)
        self._by_name: dict[str, list[LinkTarget]] = {}
        self._by_file: dict[str, list[SiteDefinition]] = {}
        self._groups: dict[tuple[str, str, bool], _Group | None] = {}
        self._known: dict[tuple[str, bool], dict[tuple[object, ...], Meaning | None]] = {}
        self._whole = False

    def preload(self) -> None:
        """Read every definition, once."""
        collects = gc.isenabled()
        gc.disable()  # half a million records that all stay: looking for circles takes twice as long as reading
        try:
            if not self._whole:
                self._read()
        finally:
            if collects:
                gc.enable()

    def _read(self) -> None:
        by_file: defaultdict[str, list[SiteDefinition]] = defaultdict(list)
        by_name: defaultdict[str, list[LinkTarget]] = defaultdict(list)
        for number, store in enumerate(self._stores):
            files = self._files[number]
            for one in index_site.definitions(store):
                path = files.get(one.file)
                if path is not None:
                    by_file[path].append(one)
                    if one.kind != "namespace":
                        by_name[one.name].append(LinkTarget(path, number, one))
        self._by_name, self._by_file, self._whole = dict(by_name), dict(by_file), True

    def reopened(self, stores: Sequence[IndexStore]) -> DefinitionsByName:
        """The same with connections of its own: for a worker that was forked."""
        self._stores = stores
        return self

    def places(self, name: str) -> list[LinkTarget]:
        """Everything of that name, by tree, file and line."""
        if name not in self._by_name and not self._whole:
            found = [(n, one) for n, store in enumerate(self._stores) for one in index_site.named(store, name)]
            self._by_name[name] = [
                LinkTarget(self._files[n][one.file], n, one)
                for n, one in found
                if one.file in self._files[n] and one.kind != "namespace"
            ]
        return self._by_name.get(name, [])

    def defined(self, path: str) -> list[SiteDefinition]:
        """Every symbol of a file."""
        if path not in self._by_file and not self._whole and path in self.owner:
            number, file = self.owner[path]
            self._by_file[path] = index_site.of_file(self._stores[number], file)
        return self._by_file.get(path, [])

    def uses(self, path: str) -> list[SiteUse]:
        """Every use in a file."""
        if path not in self.owner:
            return []
        number, file = self.owner[path]
        return index_site.uses(self._stores[number], file)

    def meant(self, use: SiteUse, path: str, scope: str) -> Meaning | None:
        """What `use` in `path` means inside `scope` ("at::native"); None where nothing here has that name."""
        if use.kind == "include":
            return self.included(use.text, path)
        python = path.endswith(_PYTHON)
        group = self._group(use.name, use.kind, python)
        if group is None:
            return None
        text = use.text
        if python:
            key: tuple[object, ...] = (use.kind, text, path)
        elif use.target is None and ("." in text or "->" in text) and "operator" not in text:
            return group.members
        else:
            written = _written(text, use.name) if text != use.name else ""
            key = (use.kind, written, use.target, path, "" if written or group.only_macros else scope)
        known = self._known.setdefault((use.name, python), {})
        if key not in known:
            if len(known) > _KEPT:
                known.clear()
            chosen, sure = _in_python(group.places, use, path) if python else self._in_cpp(group, use, path, scope)
            known[key] = _choice(chosen, sure=sure)
        return known[key]

    def included(self, text: str, path: str) -> Meaning | None:
        """The file that an #include names; None where it is not one of these trees'."""
        found = [one for one in self._tails.get(text.rsplit("/", 1)[-1], ()) if one.endswith(f"/{text}") or one == text]
        beside = f"{path.rpartition('/')[0]}/{text}"
        found = [beside] if beside in found else [one for one in found if _is_root(one[: -len(text)])]
        if not found or len(found) > MOST:
            return None
        blank = SiteDefinition(0, text, "", "file", 0, 0, 0, False, False, False, "")
        return Meaning(tuple(LinkTarget(one, 0, blank) for one in found), len(found) == 1)

    def _group(self, name: str, kind: str, python: bool) -> _Group | None:
        key = (name, kind, python)
        if key not in self._groups:
            wanted = _KINDS.get(kind, _CALLED)
            found = [one for one in self.places(name) if one.what.kind in wanted]
            found = [one for one in found if one.path.endswith(_PYTHON) == python]
            found = linkable(found)
            self._groups[key] = self._grouped(found) if found else None
        return self._groups[key]

    def _grouped(self, found: list[LinkTarget]) -> _Group:
        inside: defaultdict[str, list[LinkTarget]] = defaultdict(list)
        for one in found:
            inside[one.what.container].append(one)
        members = [one for container in inside if container[:-2] in self._classes for one in inside[container]]
        free = [one for container in inside if container[:-2] not in self._classes for one in inside[container]]
        # nobody knows the object's type: what is no member cannot be meant, of members the name alone speaks
        ends: defaultdict[str, list[str]] = defaultdict(list)
        for container in inside:
            ends[_last(container)].append(container)
        return _Group(found, dict(inside), free, dict(ends), {}, _choice(members, sure=False), bool(members),
                      all(one.what.kind == "macro" for one in found))  # fmt: skip

    def _in_cpp(self, group: _Group, use: SiteUse, path: str, scope: str) -> tuple[list[LinkTarget], bool]:
        if use.target is not None:
            exact = use.target.partition("(")[0]
            return [one for one in group.places if one.what.qualified == exact], True
        if group.only_macros:
            return group.places, not any(of_another_kind(one.path, path) for one in group.places)
        written = _written(use.text, use.name) if use.text != use.name else ""
        if written:
            if written not in group.fitting:
                ends = group.ends.get(_last(written), ())
                group.fitting[written] = [one for end in ends if _agree(written, end) for one in group.inside[end]]
            return seen_from(path, group.fitting[written]), True
        return self._unwritten(group, use, path, scope)

    def _unwritten(self, group: _Group, use: SiteUse, path: str, scope: str) -> tuple[list[LinkTarget], bool]:
        """A name without qualifiers: looked for from the inside out.

        Not sure where a class stands in between, since its bases may have one, too; nor of a name that is only handed
        on, which may be a macro's argument.
        """
        inner, in_class = scope, False
        while True:
            here = seen_from(path, group.inside.get(f"{inner}::" if inner else "", ()))
            if here:
                other = any(of_another_kind(one.path, path) for one in here)
                return here, not (in_class and group.has_members) and use.kind != "address" and not other
            if not inner:
                break
            in_class = in_class or inner in self._classes
            inner = inner.rpartition("::")[0]
        # brought in by a using, or found through its arguments: by its name alone
        return seen_from(path, group.free), False


def _choice(found: list[LinkTarget], *, sure: bool) -> Meaning | None:
    chosen = _once(found)
    return Meaning(tuple(chosen), sure and len(chosen) == 1) if 0 < len(chosen) <= (MOST if sure else BY_NAME) else None


def _in_python(found: list[LinkTarget], use: SiteUse, path: str) -> tuple[list[LinkTarget], bool]:
    """In Python: what an import names, what the same file has at its top; members by their name alone."""
    before = use.text[: -len(use.name)]
    if use.kind == "import":
        return [one for one in found if one.what.qualified == use.text], True
    if not before:
        here = [one for one in found if one.path == path and _top(one)]
        return (here, True) if here else ([one for one in found if _top(one)], False)
    if before in ("self.", "cls."):
        here = [one for one in found if one.path == path and not _top(one)]
        return here or [one for one in found if not _top(one)], False
    named = [one for one in found if one.what.container == before or one.what.container.endswith(f".{before}")]
    return named or found, bool(named) and before.count(".") > 1


def _top(place: LinkTarget) -> bool:
    """Whether a Python definition stands at its module's top: its container is the module."""
    module = place.path.rsplit(".", 1)[0].replace("/", ".").removesuffix(".__init__")
    return place.what.container[:-1] == module or place.what.container == ""


def _once(found: list[LinkTarget]) -> list[LinkTarget]:
    """Each place once; tests only where there is nothing else."""
    kept = {(one.path, one.what.line): one for one in found if not one.what.test}
    return list(kept.values()) or list({(one.path, one.what.line): one for one in found}.values())


def _written(text: str, name: str) -> str:
    """What stands before the name without template arguments: "native::"; "" where it is not qualified."""
    at = text.rfind(name)
    before = text[:at]
    while (shorter := _ARGUMENTS.sub("", before)) != before:
        before = shorter
    return before.removeprefix("::")


def _last(container: str) -> str:
    """The last part of "at::native::"."""
    return container[:-2].rpartition("::")[2]


def _agree(written: str, container: str) -> bool:
    """Whether one is the end of the other, whole parts compared."""
    if not container:
        return False
    return container == written or container.endswith(f"::{written}") or written.endswith(f"::{container}")


_ROOTS = frozenset({
    "", "aten/src/", "build/aten/src/", "torch/csrc/api/include/", "torch/csrc/api/src/", "torch/csrc/", "torch/",
    "torch/include/",
})  # fmt: skip


def _is_root(folder: str) -> bool:
    """Whether a folder is one that PyTorch's build looks into for headers."""
    return folder in _ROOTS


# --- what a name cannot mean ---


def of_another_kind(target: str, path: str) -> bool:
    """Whether a name written in `path` hardly means what stands in `target`, where no qualifier says that it does."""
    return bool(_ALONE.intersection(target.split("/")[:-1]).difference(path.split("/")))


def python_locals(text: str) -> set[str]:
    """The names that functions of a Python file bind themselves: parameters, and what is assigned further in."""
    found = {a or b for a, b in _BOUND.findall(text)}
    for one, other in _PARAMETERS.findall(text):
        found.update(_PARAMETER.findall(one or other))
    return found


def linkable(found: list[LinkTarget]) -> list[LinkTarget]:
    """Definitions alone where there are any, with the overloads that are only declared."""
    found = [one for one in found if not one.what.container.startswith(_FOREIGN)]
    defined = [one for one in found if not one.what.declared]
    if all(one.what.static for one in defined):
        return found
    return [*defined, *_bodiless(found, defined)]


def _bodiless(found: Sequence[LinkTarget], defined: Sequence[LinkTarget]) -> list[LinkTarget]:
    """Overloads without a body, as pure virtual ones are, beside the one that has one: which is meant is not known."""
    alone: dict[str, LinkTarget | None] = {}
    for one in defined:
        alone[one.what.container] = None if one.what.container in alone else one
    return [
        one
        for one in found
        if one.what.declared and one.what.kind == "function" and one.what.container
        and (other := alone.get(one.what.container)) is not None and other.what.kind == "function"
        and _apart(parameters(one.what.signature), parameters(other.what.signature))
    ]  # fmt: skip


def _apart(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one != other


def parameters(signature: str) -> int | None:
    """How many parameters a signature has; None where it is not whole."""
    first, last = signature.find("("), signature.rfind(")")
    if first < 0 or last < first:
        return None
    inside = signature[first + 1 : last].strip()
    while (shorter := _NESTED.sub("", inside)) != inside:
        inside = shorter
    return 0 if inside in ("", "void") else inside.count(",") + 1


def seen_from(path: str, found: Sequence[LinkTarget]) -> list[LinkTarget]:
    """Without what only its own file sees, as what a file that is no header declares for itself."""
    return [
        one for one in found if not (one.what.static or one.what.declared) or one.path == path or _is_header(one.path)
    ]


def _is_header(path: str) -> bool:
    return path.endswith((".h", ".hpp", ".cuh", ".inl", ".inc"))
