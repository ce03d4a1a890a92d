"""How a checkout relates to the running torch: it matches, is consistent, or is of another version; file by file too.

A checkout matches when it is unmodified and its commit is `torch.version.git_version`, or when it came from an archive
that the shipped table knows as that release. What nobody knows is compared: every header, YAML and Python file that the
wheel also holds, and every registration record that points into hand-written C++.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from ptexplore.cpp.text import Text
from ptexplore.errors import BROKEN
from ptexplore.index.dialect.confirm import confirm
from ptexplore.locations import index_file
from ptexplore.model.operators import Count, DumpRecord, Registration
from ptexplore.model.places import Checkout, Runtime
from ptexplore.source import canonical
from ptexplore.source.permalink import origin_commit
from ptexplore.source.tree import SourceTree, folders
from ptexplore.writing import kept_bytes, open_below, open_users_file, write_whole

if TYPE_CHECKING:
    from ptexplore.model.symbols import Dialect
    from ptexplore.store.catalogue.reader import Store
    from ptexplore.store.index.reader import IndexStore

Word = Literal["matches", "consistent", "version-skew"]
FORMAT = 1  # of what is kept
_COMPARED = (".h", ".hpp", ".cuh", ".inl", ".inc", ".py", ".pyi", ".yaml", ".yml")
_NAMED = 5  # of the files that differ, how many a reason names


@dataclass(frozen=True, slots=True)
class Decision:
    """How a checkout relates, and why in words."""

    word: Word
    why: str


@dataclass(frozen=True, slots=True)
class Missed:
    """A record of hand-written C++ that the checkout's text does not confirm."""

    op: str
    key: str | None
    path: str | None
    line: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A decision with the figures behind it: files that the wheel also holds, records confirmed."""

    decision: Decision
    same: int
    different: tuple[str, ...]
    records: Count
    missed: tuple[Missed, ...]


def known(checkout: Checkout, runtime: Runtime) -> Decision | None:
    """What commits and archive hashes decide by themselves; None where the files must be compared."""
    theirs, ours = origin_commit(checkout), runtime.git_version
    if checkout.project != "pytorch" or theirs is None or len(ours) < 40:
        return None
    release = f" ({checkout.release})" if checkout.release else ""
    running = f"torch {runtime.version} is of {ours[:8]}"
    if theirs != ours:
        return Decision("version-skew", f"{checkout.name} is of {theirs[:8]}{release}, {running}")
    if checkout.modified:
        return None
    how = f"an archive known as {checkout.release}" if checkout.kind == "archive" else f"at {theirs[:8]}, unmodified"
    return Decision("matches", f"{checkout.name} is {how}; {running}")


def decide(checkout: Checkout, runtime: Runtime, tree: SourceTree, store: Store, index: IndexStore) -> Decision:
    """How `checkout` relates to `runtime`; compares files and records only where nothing else decides."""
    return known(checkout, runtime) or relate(checkout, runtime, tree, store, index).decision


def relate(checkout: Checkout, runtime: Runtime, tree: SourceTree, store: Store, index: IndexStore) -> Relation:
    """The relation with its figures; `tree` is the checkout's. It is kept for as long as the index does not change."""
    file = index_file(f"checkout-{checkout.name}")
    kept = file.with_name(f"{file.name}.relation-{runtime.key}.json")
    status = index.path.stat()  # what changes whenever the index does
    state = [FORMAT, status.st_mtime_ns, status.st_size, checkout.commit, checkout.modified, checkout.release]
    relation = _kept(kept, state)
    if relation is None:
        relation = _compare(checkout, runtime, tree, store, index)
        with contextlib.suppress(OSError):  # if the cache cannot be written, it is worked out again next time
            write_whole(kept, json.dumps({"state": state, **asdict(relation)}))
    return relation


def _compare(checkout: Checkout, runtime: Runtime, tree: SourceTree, store: Store, index: IndexStore) -> Relation:
    same, different = compare_files((file.path for file in index.files()), checkout, runtime)
    records = store.unconfirmed(1 << 30, "handwritten")
    decision = known(checkout, runtime)
    missed: tuple[Missed, ...] = ()
    count = Count(0, len(records))
    # What another version's text happens to hold at a recorded line confirms nothing.
    skewed = different or (decision is not None and decision.word == "version-skew")
    if checkout.project == "pytorch" and not skewed:
        missed = tuple(_missed(records, tree, index))
        count = Count(len(records) - len(missed), len(records))
    return Relation(decision or _by_content(checkout, runtime, same, different, count), same, different, count, missed)


def _by_content(
    checkout: Checkout, runtime: Runtime, same: int, different: tuple[str, ...], records: Count
) -> Decision:
    name, version = checkout.name, runtime.version
    if checkout.project != "pytorch":
        return Decision("consistent", f"{name} is an extension's own source; no release of it is known")
    if not same and not different:
        return Decision("version-skew", f"{name} holds no file that torch {version} also has")
    if different:
        some = ", ".join(different[:_NAMED]) + (", …" if len(different) > _NAMED else "")
        count = f"{len(different)} of {same + len(different)}"
        return Decision("version-skew", f"{count} files that torch {version} also has differ: {some}")
    if records.confirmed != records.total:
        count = f"{records.total - records.confirmed} of {records.total}"
        return Decision("version-skew", f"{count} registration records of torch {version} miss in {name}")
    agreed = f"all {same} files that torch {version} also has are equal, and all {records.total} records hit"
    return Decision("consistent", f"nobody knows {name}, but {agreed}")


def compare_files(paths: Iterable[str], checkout: Checkout, runtime: Runtime) -> tuple[int, tuple[str, ...]]:
    """How many of the checkout's `paths` the wheel holds byte for byte, and those it holds differently."""
    where = folders(runtime)
    equal = {path: _equal(path, checkout.root, where) for path in paths if path.endswith(_COMPARED)}
    same = sum(is_equal is True for is_equal in equal.values())
    return same, tuple(path for path, is_equal in equal.items() if is_equal is False)


def is_runtimes(path: str, checkout: Checkout, runtime: Runtime) -> bool:
    """Whether this file of the checkout is byte for byte the one that the wheel holds."""
    return path.endswith(_COMPARED) and _equal(path, checkout.root, folders(runtime)) is True


def _equal(path: str, root: str, where: canonical.InstalledFolders) -> bool | None:
    """Whether the wheel's copy of `path` is that of the checkout at `root`; None where the wheel holds none."""
    for installed in canonical.installed_candidates(path, where):
        theirs = _bytes(partial(open_users_file, installed))
        if theirs is None or not _serves(path, installed, theirs):
            continue
        ours = _bytes(partial(open_below, root, path))
        if ours == theirs:
            return True
        text, shift = canonical.unwrap(theirs.decode("utf-8", "surrogateescape"))
        return bool(shift) and text.encode("utf-8", "surrogateescape") == ours
    return None


def _serves(path: str, installed: str, content: bytes) -> bool:
    """Whether an installed header is that of the repository, not one that CMake writes under a like name."""
    header = installed.partition("/torch/include/")[2]
    return not header or canonical.header_path(header, content[:600].decode("utf-8", "replace")) == path


def _bytes(opened: Callable[[], IO[bytes]]) -> bytes | None:
    try:
        with opened() as handle:
            return handle.read()
    except OSError as error:
        if error.errno in BROKEN:
            raise
        return None


def record_of(registration: Registration) -> DumpRecord:
    """The binary's record behind a registration, with the file's canonical path."""
    return DumpRecord(
        op=registration.op,
        key=registration.key,
        alias=registration.alias,
        inactive=registration.inactive,
        fallthrough=registration.fallthrough,
        file=registration.path,
        line=registration.macro_line,
        signature=registration.signature,
        raw="",
    )


def _missed(records: Iterable[Registration], tree: SourceTree, index: IndexStore) -> Iterator[Missed]:
    """The records that the text does not confirm, file by file: each file's rows are asked for once."""
    by_file: dict[str | None, list[Registration]] = {}
    for registration in records:
        by_file.setdefault(registration.path, []).append(registration)
    for path, registrations in by_file.items():
        rows = index.dialect_in(path) if path is not None else []
        by_block: dict[int | None, list[Dialect]] = {}
        for row in rows:
            by_block.setdefault(row.line if row.kind == "library" else row.block, []).append(row)
        text: Text | None = None
        for registration in registrations:
            record = record_of(registration)
            confirmed, why = confirm(record, by_block.get(record.line, []))
            if confirmed is None and rows and path is not None:
                text = text or Text(path, "\n".join(tree.lines(path)))
                confirmed, why = confirm(record, rows, text)
            if confirmed is None:
                yield _miss(registration, tree, why)


def _miss(registration: Registration, tree: SourceTree, why: str | None) -> Missed:
    if registration.path is None:
        why = "the binary names no file of PyTorch's for it"
    elif not tree.exists(registration.path):
        why = f"{registration.path} is not in {tree.info.name}"
    why = why or "its line does not hold it"
    return Missed(registration.op, registration.key, registration.path, registration.macro_line, why)


def _kept(file: Path, state: list[Any]) -> Relation | None:
    try:
        data = json.loads(kept_bytes(file) or b"")
        if data["state"] != state:
            return None
        return Relation(
            Decision(**data["decision"]),
            int(data["same"]),
            tuple(map(str, data["different"])),
            Count(**data["records"]),
            tuple(Missed(**missed) for missed in data["missed"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
