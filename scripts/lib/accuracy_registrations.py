"""Figures 1, 4 and 5: the binary's registration records, macro-made kernels, stubs, native functions by key."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib.accuracy_binary import Known
from lib.accuracy_names import last, plain
from lib.accuracy_peer import Tags
from lib.accuracy_report import Figure

from ptexplore.cpp.text import Text
from ptexplore.index.dialect.confirm import confirm
from ptexplore.resolve.places.relation import record_of
from ptexplore.source.tree import SourceTree
from ptexplore.store.catalogue.reader import Store
from ptexplore.store.index.reader import IndexStore

Result = tuple[list[Figure], list[tuple[str, list[str]]]]
_SHOWN = 30


def registrations(catalogue: Store, index: IndexStore, tree: SourceTree) -> Result:
    """Every record of the binary that names a C++ file: the generated ones by the catalogue, the rest by the index."""
    counts = catalogue.counts()
    generated = counts["generated"]
    missed, total = [], 0
    by_path: dict[str, list[Any]] = defaultdict(list)
    for one in catalogue.unconfirmed(1 << 30, "handwritten"):
        total += 1
        by_path[one.path or ""].append(one)
    for path, here in sorted(by_path.items()):
        rows, found = index.dialect_in(path), tree.read(path)
        text = Text(path, found.text) if found else None
        for one in here:
            row, why = confirm(record_of(one), rows, text)
            if row is None:
                missed.append(f"{one.op} {one.key or 'schema'}, {path}:{one.macro_line}: {why}")
    hit = generated.confirmed + total - len(missed)
    figure = Figure(
        "registrations confirmed", hit, generated.total + total, 100.0,
        f"records of torch's own dispatch dump that name C++ ({generated.total:,} generated, {total:,} hand-written): "
        "the line holds the macro of that key, with the operator inside",
    )  # fmt: skip
    return [figure], [("Registrations not confirmed", missed)]


# --- the macros of ATen/native, found by a pattern of our own in the text without comments ---

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define\b(?:.*\\\n)*.*", re.MULTILINE)
_IMPL = re.compile(r"\bTORCH_IMPL_FUNC\s*\(\s*(\w+)\s*\)")
_STUB = re.compile(r"\bDEFINE_DISPATCH\s*\(\s*(\w+)\s*\)")
_REGISTER = re.compile(
    r"\b((?:ALSO_)?REGISTER_(?:\w+_)?DISPATCH|REGISTER_\w+_DISPATCH1)\s*\(\s*([\w:]+)\s*,\s*([^;]*?)\)\s*;?[ \t]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Written:
    """One macro's use as the pattern found it."""

    path: str
    line: int
    name: str
    kernel: str = ""


def _texts(files: Iterable[tuple[str, str]]) -> Iterator[tuple[Text, str]]:
    """Text and the same with comments, strings and macro definitions blanked, of C++ files below aten/."""
    for path, file in files:
        if path.startswith("aten/") and not path.endswith("DispatchStub.h"):
            raw = Path(file).read_text(encoding="utf-8", errors="replace")
            if "TORCH_IMPL_FUNC" in raw or "DISPATCH" in raw:
                text = Text(path, raw)
                yield text, _DEFINE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text.bare)


def macros(files: Iterable[tuple[str, str]], index: IndexStore, known: Known, tags: Tags | None) -> Result:
    """TORCH_IMPL_FUNC, DEFINE_DISPATCH, and each stub's kernels."""
    impls: list[Written] = []
    stubs: list[Written] = []
    pairs: list[Written] = []
    for text, bare in _texts(files):
        impls += [Written(text.path, text.line(m.start(1)), m[1]) for m in _IMPL.finditer(bare)]
        stubs += [Written(text.path, text.line(m.start(1)), m[1]) for m in _STUB.finditer(bare)]
        pairs += [Written(text.path, text.line(m.start()), last(m[2]), _kernel(m[3])) for m in _REGISTER.finditer(bare)]
    pairs = [one for one in pairs if one.kernel not in ("", "nullptr")]
    results = [_impls(impls, index, known, tags), _stubs(stubs, index, tags), _pairs(pairs, index, known)]
    return [figure for figure, _ in results], [(f"{figure.what}: missed", rows[:_SHOWN]) for figure, rows in results]


def _kernel(written: str) -> str:
    """The kernel of an invocation's arguments after the stub: the last one, without casts and `&`."""
    kernel = re.sub(r"^.*,(?![^<(]*[>)])", "", re.sub(r"\s+", "", written))
    return re.sub(r"static_cast<.*>\(", "", kernel).lstrip("&(").rstrip(")")


def _impls(written: list[Written], index: IndexStore, known: Known, tags: Tags | None) -> tuple[Figure, list[str]]:
    names = sorted({one.name for one in written})
    outside = len({one.name for one in written if not one.path.endswith(".mm")})
    rows = {name for name in names if index.dialect(name, ["structured-impl"])}
    hit = [name for name in names if name in rows and f"at::native::structured_{name}::impl" in known.defined]
    theirs = (
        sum(f"at::native::structured_{name}::impl" in tags.qualified or name in tags.names for name in names)
        if tags
        else 0
    )
    figure = Figure(
        "TORCH_IMPL_FUNC names", len(hit), len(names), 100.0,
        f"distinct names written in TORCH_IMPL_FUNC(…), {outside} of them outside Metal's files. Found: the index has "
        "a TORCH_IMPL_FUNC of that name and a definition of structured_…::impl",
        (theirs, len(names)) if tags else None,
    )  # fmt: skip
    return figure, sorted(set(names) - set(hit))


def _stubs(written: list[Written], index: IndexStore, tags: Tags | None) -> tuple[Figure, list[str]]:
    missed = []
    for one in written:
        rows = index.dialect(one.name, ["stub-define"])
        if not any((row.path, row.line) == (one.path, one.line) for row in rows):
            missed.append(f"{one.path}:{one.line} {one.name}")
    figure = Figure(
        "DEFINE_DISPATCH stubs", len(written) - len(missed), len(written), 100.0,
        "uses of DEFINE_DISPATCH (stub, path, line)",
        (sum(one.name in tags.names for one in written), len(written)) if tags else None,
    )  # fmt: skip
    return figure, missed


def _pairs(written: list[Written], index: IndexStore, known: Known) -> tuple[Figure, list[str]]:
    missed = []
    for one in written:
        kernel = last(one.kernel.partition("<")[0])
        rows = [row for row in index.dialect(one.name, ["stub-register"]) if row.path == one.path]
        fitting = [row for row in rows if row.target and last(row.target.partition("<")[0]) == kernel]
        here = any(found.path == one.path and found.role == "definition" for found in index.symbols_named(kernel))
        defined = here or f"at::native::{kernel}" in known.defined
        if not any(row.line == one.line for row in fitting) or not defined:
            missed.append(f"{one.path}:{one.line} {one.name} -> {one.kernel}: {_why(rows, fitting, defined)}")
    figure = Figure(
        "stub → kernel pairs", len(written) - len(missed), len(written), 99.0,
        "uses of REGISTER_…DISPATCH that name a kernel. Found: the index has the pair of stub and kernel at that line, "
        "and the kernel's definition in that file or in at::native",
    )  # fmt: skip
    return figure, missed


def _why(rows: list[Any], fitting: list[Any], defined: bool) -> str:
    if fitting:
        return "the kernel has no definition" if not defined else "the row has another line"
    return f"rows: {', '.join(f'{row.line} {row.target}' for row in rows) or 'none'}"


# --- native_functions.yaml ---


def native_functions(text: str, index: IndexStore, known: Known) -> Result:
    """Every (operator, dispatch key) that native_functions.yaml gives a kernel, with a definition in the indexes.

    The file is read by PyYAML, apart from the index's own reader. An entry without `dispatch` and without a delegate
    has one kernel of its own name (CompositeImplicitAutograd).
    """
    import yaml

    total, missed, outside = 0, [], defaultdict(list)
    for entry in yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        op = f"aten::{entry['func'].partition('(')[0]}"
        for key, kernel, structured in _kernels(entry):
            name = f"at::native::structured_{kernel}::impl" if structured else f"at::native::{kernel}"
            if kernel.count("::"):
                name = f"{kernel.rpartition('::')[0]}::structured_{last(kernel)}::impl" if structured else kernel
            row = any(one.context == key for one in index.dialect(op, ["yaml-dispatch"]))
            where = f"{op} {key}: {name}"
            if plain(name) in known.defined and (row or "dispatch" not in entry):
                total += 1
            elif key.endswith("XPU"):
                outside["kernels of XPU lie in a repository of their own (torch-xpu-ops)"].append(where)
            else:
                total += 1
                missed.append(where + ("" if plain(name) not in known.defined else " (no yaml-dispatch row)"))
    figure = Figure(
        "native functions by dispatch key", total - len(missed), total, 99.0,
        "(operator, dispatch key) pairs of native_functions.yaml with a kernel, resolved to a definition by qualified "
        "name" + "".join(f"; {len(found)} not counted: {why}" for why, found in outside.items()),
    )  # fmt: skip
    return [figure], [("Native functions without a definition", missed[: 2 * _SHOWN])]


def _kernels(entry: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """(key, kernel as written, whether structured) of one entry."""
    dispatch = entry.get("dispatch")
    structured = bool(entry.get("structured"))
    if dispatch is None:
        if not entry.get("structured_delegate") and not entry.get("manual_kernel_registration"):
            name = entry["func"].partition("(")[0].partition(".")[0]
            is_out = _OUT.search(entry["func"]) is not None
            yield "CompositeImplicitAutograd", f"{name}_out" if is_out else name, False
        return
    for keys, kernel in dispatch.items():
        for key in re.split(r"\s*,\s*", keys):
            own = structured and key in _STRUCTURED
            yield key, kernel, own


_OUT = re.compile(
    r"\*,.*Tensor(?:\[\])?\(\w!\).*->|\*,.*\(\w!\)\[\].*->"
)  # an argument that is written to, after the star
_STRUCTURED = frozenset(("CPU", "CUDA", "MPS", "XPU", "Meta", "MTIA", "HPU", "PrivateUse1", "VE"))
