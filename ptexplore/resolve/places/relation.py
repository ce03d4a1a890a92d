"""The relation of a checkout to the running torch: matches, consistent, or version-skew. Also for single files.

A checkout matches if torch was built in it and no C++ file changed since. An unmodified checkout matches if its commit
is `torch.version.git_version`. A checkout from an archive matches if the shipped table knows the archive as that
release. If torch was built in a checkout and C++ files changed since, the lines belong to another version. An unknown
checkout is compared with the wheel: every header, YAML and Python file that both have, and every registration record
that points to hand-written C++.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from ptexplore.cpp.text import Text
from ptexplore.errors import BROKEN
from ptexplore.index.dialect.confirm import confirm
from ptexplore.locations import index_file
from ptexplore.model.operators import Count, DumpRecord, Registration
from ptexplore.model.places import Checkout, Runtime, place_reasons
from ptexplore.source import canonical
from ptexplore.source.fetch.checkouts import is_built_in
from ptexplore.source.permalink import origin_commit
from ptexplore.source.tree import SourceTree, folders
from ptexplore.writing import kept_bytes, open_below, open_users_file, write_whole

if TYPE_CHECKING:
    from ptexplore.model.place_reasons import PlaceReason
    from ptexplore.model.symbols import Dialect
    from ptexplore.store.catalogue.reader import Store
    from ptexplore.store.index.reader import IndexStore

Word = Literal["matches", "consistent", "version-skew"]
FORMAT = 3  # the format of the cached relation
_COMPILED = (".cpp", ".cc", ".c", ".h", ".hpp", ".cuh", ".cu", ".inl", ".inc", ".mm", ".metal")
_COMPARED = (".h", ".hpp", ".cuh", ".inl", ".inc", ".py", ".pyi", ".yaml", ".yml")
_NAMED = 5  # limit on the differing files in a reason
_DIGITS = 8  # length of a displayed commit


@dataclass(frozen=True, slots=True)
class Missed:
    """A record about hand-written C++ that the text of the checkout does not confirm."""

    op: str
    key: str | None
    path: str | None
    line: int | None
    why: place_reasons.AnyKeptReason


@dataclass(frozen=True, slots=True)
class Relation:
    """The relation of a checkout, the reason, and the figures: files that the wheel also has, confirmed records."""

    word: Word
    why: place_reasons.AnyKeptReason
    same: int
    different: tuple[str, ...]
    records: Count
    missed: tuple[Missed, ...]


def changed_since_built(checkout: Checkout, runtime: Runtime, index: IndexStore) -> tuple[str, ...] | None:
    """Returns the files of C++ that changed after torch was built in this tree; None if it was not built in it.

    The newest library has the time of the build: an incremental build links only what changed.
    """
    if not is_built_in(runtime, checkout):
        return None
    libraries = [*Path(runtime.torch_dir, "lib").glob("libtorch*"), *Path(runtime.torch_dir).glob("_C*.so")]
    built = max((file.stat().st_mtime_ns for file in libraries), default=0)
    times = ((path, _changed_at(checkout, path, state.stamp)) for path, state in index.known().items())
    return tuple(path for path, time in times if path.endswith(_COMPILED) and time > built)


def _changed_at(checkout: Checkout, path: str, stamp: int) -> int:
    """Returns when a file changed, in nanoseconds. `stamp` is what the index knows: 0 if it cannot know."""
    try:
        return stamp or os.stat(os.path.join(checkout.root, path)).st_mtime_ns
    except OSError as error:
        if error.errno in BROKEN:
            raise
        return 0  # it is gone


def known(checkout: Checkout, runtime: Runtime, index: IndexStore) -> Word | None:
    """Returns the relation that the time of the build, commits and archive hashes determine.

    None if the files must be compared.
    """
    if changed_since_built(checkout, runtime, index) == ():
        return "matches"
    theirs, ours = origin_commit(checkout), runtime.git_version
    if checkout.project != "pytorch" or theirs is None or len(ours) < 40:
        return None
    if theirs != ours:
        return "version-skew"
    return None if checkout.modified else "matches"


def _why_known(checkout: Checkout, runtime: Runtime, word: Word, changed: tuple[str, ...] | None) -> PlaceReason:
    """Returns the reason for a relation that `known` determines. `changed`: see `changed_since_built`."""
    if changed == ():
        return place_reasons.BuiltThere(checkout.name, runtime.version)
    running = (runtime.version, runtime.git_version[:_DIGITS])
    commit = (origin_commit(checkout) or "")[:_DIGITS]
    if word == "version-skew":
        return place_reasons.OtherCommit(checkout.name, commit, *running, checkout.release or "")
    if checkout.kind == "archive":
        return place_reasons.SameArchive(checkout.name, str(checkout.release), *running)
    return place_reasons.SameCommit(checkout.name, commit, *running)


def decide(checkout: Checkout, runtime: Runtime, tree: SourceTree, store: Store, index: IndexStore) -> Word:
    """Returns the relation of `checkout` to `runtime`. Compares files and records only if nothing else decides."""
    return known(checkout, runtime, index) or relate(checkout, runtime, tree, store, index).word


def relate(checkout: Checkout, runtime: Runtime, tree: SourceTree, store: Store, index: IndexStore) -> Relation:
    """Returns the relation with its figures; `tree` is the tree of the checkout. Cached until the index changes."""
    file = index_file(f"checkout-{checkout.name}")
    kept = file.with_name(f"{file.name}.relation-{runtime.key}.json")
    status = index.path.stat()  # changes with every change of the index
    built = is_built_in(runtime, checkout)  # `runtime.key` changes when its libraries do
    state = [FORMAT, status.st_mtime_ns, status.st_size, checkout.commit, checkout.modified, checkout.release, built]
    relation = _kept(kept, state)
    if relation is None:
        relation = _compare(checkout, runtime, tree, store, index)
        with contextlib.suppress(OSError):  # without a cache, the comparison runs again next time
            write_whole(kept, str(_json().encode({"state": state, "relation": relation}), "utf-8"))
    return relation


def _compare(checkout: Checkout, runtime: Runtime, tree: SourceTree, store: Store, index: IndexStore) -> Relation:
    same, different = compare_files((file.path for file in index.files()), checkout, runtime)
    records = store.unconfirmed(1 << 30, "handwritten")
    word = known(checkout, runtime, index)
    changed = changed_since_built(checkout, runtime, index)
    missed: tuple[Missed, ...] = ()
    count = Count(0, len(records))
    # In another version, the text at a recorded line is there by chance and confirms nothing.
    skewed = different or word == "version-skew" or (word is None and changed)
    if checkout.project == "pytorch" and not skewed:
        missed = tuple(_missed(records, tree, index))
        count = Count(len(records) - len(missed), len(records))
    if word is None and changed:
        first = changed[:_NAMED]
        why = place_reasons.ChangedSinceBuilt(
            checkout.name, runtime.version, len(changed), first, len(first) < len(changed)
        )
        return Relation("version-skew", why, same, different, count, missed)
    if word is not None:
        return Relation(word, _why_known(checkout, runtime, word, changed), same, different, count, missed)
    return Relation(*_by_content(checkout, runtime, same, different, count), same, different, count, missed)


def _by_content(
    checkout: Checkout, runtime: Runtime, same: int, different: tuple[str, ...], records: Count
) -> tuple[Word, PlaceReason]:
    name, version = checkout.name, runtime.version
    if checkout.project != "pytorch":
        return "consistent", place_reasons.OfExtension(name)
    if not same and not different:
        return "version-skew", place_reasons.NothingInCommon(name, version)
    if different:
        count, compared = len(different), same + len(different)
        first = different[:_NAMED]
        return "version-skew", place_reasons.FilesDiffer(count, compared, version, first, len(first) < count)
    if records.confirmed != records.total:
        missing = records.total - records.confirmed
        return "version-skew", place_reasons.RecordsMiss(missing, records.total, version, name)
    return "consistent", place_reasons.AllAgrees(name, same, version, records.total)


def compare_files(paths: Iterable[str], checkout: Checkout, runtime: Runtime) -> tuple[int, tuple[str, ...]]:
    """Returns how many of the checkout's `paths` are byte-identical in the wheel, and the paths that differ."""
    where = folders(runtime)
    equal = {path: _equal(path, checkout.root, where) for path in paths if path.endswith(_COMPARED)}
    same = sum(is_equal is True for is_equal in equal.values())
    return same, tuple(path for path, is_equal in equal.items() if is_equal is False)


def is_runtimes(path: str, checkout: Checkout, runtime: Runtime) -> bool:
    """Whether this file of the checkout is byte-identical to the file in the wheel."""
    return path.endswith(_COMPARED) and _equal(path, checkout.root, folders(runtime)) is True


def _equal(path: str, root: str, where: canonical.InstalledFolders) -> bool | None:
    """Whether the wheel's copy of `path` equals the file in the checkout at `root`; None if the wheel has no copy."""
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
    """Whether an installed header is the repository's header, and not a file with a similar name from CMake."""
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
    """Returns the binary's record for a registration, with the canonical path of the file."""
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
    """Yields the records that the text does not confirm, file by file, so that each file's rows are read once."""
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
            if why is not None:
                yield _miss(registration, tree, why)


def _miss(registration: Registration, tree: SourceTree, why: PlaceReason) -> Missed:
    if registration.path is None:
        why = place_reasons.RecordWithoutFile(of_torch=True)
    elif not tree.exists(registration.path):
        why = place_reasons.NotInTree(registration.path, tree.info.name)
    return Missed(registration.op, registration.key, registration.path, registration.macro_line, why)


def _kept(file: Path, state: list[Any]) -> Relation | None:
    from msgspec import MsgspecError

    from ptexplore.model.codes import convert

    try:
        data = _json().decode(kept_bytes(file) or b"")
        return convert(data["relation"], Relation) if data["state"] == state else None
    except (OSError, MsgspecError, ValueError, KeyError, TypeError):
        return None


def _json() -> Any:
    """Returns msgspec.json. Imported here because most searches compare no files."""
    from msgspec import json

    return json
