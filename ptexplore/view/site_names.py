"""Which definitions a written name can mean: those its qualifiers and its place allow; a choice where they leave one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ptexplore.store import index_site
from ptexplore.store.index_site import Definition, Use

if TYPE_CHECKING:
    from ptexplore.store.index_store import IndexStore

MOST = 6  # definitions that are still a choice
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


class Place(NamedTuple):
    """One definition that can be linked to: its path, whether in the first tree, and what the index says of it."""

    path: str
    tree: int
    what: Definition


class Meant(NamedTuple):
    """What a use can mean. `sure` where the index leaves one; else a choice among `places`."""

    places: tuple[Place, ...]
    sure: bool


class Names:
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
        self._by_name: dict[str, list[Place]] = {}
        self._by_file: dict[str, list[Definition]] = {}
        self._known: dict[tuple[object, ...], Meant | None] = {}
        self._whole = False

    def preload(self) -> None:
        """Read every definition."""
        by_file: defaultdict[str, list[Definition]] = defaultdict(list)
        by_name: defaultdict[str, list[Place]] = defaultdict(list)
        for number, store in enumerate(self._stores):
            files = self._files[number]
            for one in index_site.definitions(store):
                path = files.get(one.file)
                if path is not None:
                    by_file[path].append(one)
                    if one.kind != "namespace":
                        by_name[one.name].append(Place(path, number, one))
        self._by_name, self._by_file, self._whole = dict(by_name), dict(by_file), True

    def reopened(self, stores: Sequence[IndexStore]) -> Names:
        """The same with connections of its own: for a worker that was forked."""
        self._stores = stores
        return self

    def places(self, name: str) -> list[Place]:
        """Everything of that name, by tree, file and line."""
        if name not in self._by_name and not self._whole:
            found = [(n, one) for n, store in enumerate(self._stores) for one in index_site.named(store, name)]
            self._by_name[name] = [
                Place(self._files[n][one.file], n, one)
                for n, one in found
                if one.file in self._files[n] and one.kind != "namespace"
            ]
        return self._by_name.get(name, [])

    def defined(self, path: str) -> list[Definition]:
        """Every symbol of a file."""
        if path not in self._by_file and not self._whole and path in self.owner:
            number, file = self.owner[path]
            self._by_file[path] = index_site.of_file(self._stores[number], file)
        return self._by_file.get(path, [])

    def uses(self, path: str) -> list[Use]:
        """Every use in a file."""
        if path not in self.owner:
            return []
        number, file = self.owner[path]
        return index_site.uses(self._stores[number], file)

    def meant(self, use: Use, path: str, scope: str) -> Meant | None:
        """What `use` in `path` means inside `scope` ("at::native"); None where nothing here has that name."""
        key = (use.name, use.kind, use.text, use.target, scope, path)
        if key not in self._known:
            if len(self._known) > 100_000:
                self._known.clear()
            self._known[key] = self._meant(use, path, scope)
        return self._known[key]

    def included(self, text: str, path: str) -> Meant | None:
        """The file that an #include names; None where it is not one of these trees'."""
        found = [one for one in self._tails.get(text.rsplit("/", 1)[-1], ()) if one.endswith(f"/{text}") or one == text]
        beside = f"{path.rpartition('/')[0]}/{text}"
        found = [beside] if beside in found else [one for one in found if _is_root(one[: -len(text)])]
        if not found or len(found) > MOST:
            return None
        blank = Definition(0, text, "", "file", 0, 0, 0, False, False, False, "")
        return Meant(tuple(Place(one, 0, blank) for one in found), len(found) == 1)

    def _meant(self, use: Use, path: str, scope: str) -> Meant | None:
        if use.kind == "include":
            return self.included(use.text, path)
        python = path.endswith(_PYTHON)
        wanted = _KINDS.get(use.kind, _CALLED)
        found = [
            place
            for place in self.places(use.name)
            if place.what.kind in wanted
            and place.path.endswith(_PYTHON) == python
            and (not place.what.static or place.path == path or _is_header(place.path))
        ]
        found = [place for place in found if not place.what.declared] or found
        if not found:
            return None
        chosen, sure = _in_python(found, use, path) if python else self._in_cpp(found, use, scope)
        chosen = _once(chosen)
        if not chosen or len(chosen) > MOST:
            return None
        return Meant(tuple(chosen), sure and len(chosen) == 1)

    def _in_cpp(self, found: list[Place], use: Use, scope: str) -> tuple[list[Place], bool]:
        if use.target is not None:
            exact = use.target.partition("(")[0]
            return [one for one in found if one.what.qualified == exact], True
        if use.kind == "macro" or all(one.what.kind == "macro" for one in found):
            return found, True
        text = use.text
        if ("." in text or "->" in text) and "operator" not in text:
            # nobody knows the object's type: what is no member cannot be meant, of members the name alone speaks
            return [one for one in found if one.what.container[:-2] in self._classes], False
        written = _written(text, use.name)
        if written:
            return [one for one in found if _agree(written, one.what.container)], True
        return self._unwritten(found, use, scope)

    def _unwritten(self, found: list[Place], use: Use, scope: str) -> tuple[list[Place], bool]:
        """A name without qualifiers: looked for from the inside out.

        Not sure where a class stands in between, since its bases may have one, too; nor of a name that is only handed
        on, which may be a macro's argument.
        """
        inner, in_class = scope, False
        members = any(one.what.container[:-2] in self._classes for one in found)
        while True:
            container = f"{inner}::" if inner else ""
            here = [one for one in found if one.what.container == container]
            if here:
                return here, not (in_class and members) and use.kind != "address"
            if not inner:
                break
            in_class = in_class or inner in self._classes
            inner = inner.rpartition("::")[0]
        # brought in by a using, or found through its arguments: by its name alone
        return [one for one in found if one.what.container[:-2] not in self._classes], False


def _in_python(found: list[Place], use: Use, path: str) -> tuple[list[Place], bool]:
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


def _top(place: Place) -> bool:
    """Whether a Python definition stands at its module's top: its container is the module."""
    module = place.path.rsplit(".", 1)[0].replace("/", ".").removesuffix(".__init__")
    return place.what.container[:-1] == module or place.what.container == ""


def _once(found: list[Place]) -> list[Place]:
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


def _agree(written: str, container: str) -> bool:
    """Whether one is the end of the other, whole parts compared."""
    if not container:
        return False
    return container == written or container.endswith(f"::{written}") or written.endswith(f"::{container}")


def _is_header(path: str) -> bool:
    return path.endswith((".h", ".hpp", ".cuh", ".inl", ".inc"))


_ROOTS = frozenset({
    "", "aten/src/", "build/aten/src/", "torch/csrc/api/include/", "torch/csrc/", "torch/", "torch/include/", "torch/csrc/api/src/",
})  # fmt: skip


def _is_root(folder: str) -> bool:
    """Whether a folder is one that PyTorch's build looks into for headers."""
    return folder in _ROOTS
