"""Refines a checkout's index with libclang: chooses units, parses them on all cores, and replaces references."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ptexplore.cpp.text import Text
from ptexplore.errors import BROKEN, USAGE, PtexploreError
from ptexplore.index.semantic.arguments import HEADERS, SOURCES, Headers
from ptexplore.index.semantic.clang import Diagnostic, load
from ptexplore.index.semantic.pool import Limits, TaskOutcome, run
from ptexplore.index.semantic.references import FileUses, ResolvedUse, UnitResult, Work, work
from ptexplore.locations import lock_file
from ptexplore.model.symbols import IndexedFile, Ref, ref_lines
from ptexplore.source.canonical import is_test_file
from ptexplore.source.progress import Progress, Silent
from ptexplore.store.index.reader import IndexStore
from ptexplore.store.index.writer import IndexWriter
from ptexplore.writing import locked, open_below

_WAIT = 1800.0  # seconds to wait for another process that changes the index
LIMITS = Limits(seconds=300, processor=150)  # c10d's init.cpp, a slow file, takes 48 s and 1.5 GB


@dataclass(frozen=True, slots=True)
class UnitReport:
    """The diagnostics of one parsed unit. `failed` is the reason why there are none."""

    path: str
    errors: int
    warnings: int
    messages: tuple[Diagnostic, ...]
    failed: str | None


@dataclass(slots=True)
class Refined:
    """The result of a run.

    `units` begin with the worst; `resolved` and `kept` count references in the refined `files`.
    """

    units: list[UnitReport] = field(default_factory=list)
    files: int = 0
    resolved: int = 0
    kept: int = 0
    before: int = 0
    not_read: tuple[str, ...] = ()
    changed: list[str] = field(default_factory=list)
    seconds: float = 0.0


def refine(
    target: Path, headers: Headers, named: Sequence[str], jobs: int, progress: Progress | None = None,
    limits: Limits = LIMITS,
) -> Refined:  # fmt: skip
    """Refines the index at `target` of the checkout at `headers.root`. `choose` explains `named`.

    The references of a header are merged from all units that include it. A header that no unit includes is parsed by
    itself. Raises PtexploreError if libclang is missing or a name is wrong.
    """
    load()
    started = time.monotonic()
    watcher = progress or Silent()
    with contextlib.closing(IndexStore.open(target)) as store:
        chosen = choose(store.files(), headers.root, named)
    done = Refined(not_read=chosen.others)
    resolved: dict[str, Resolved] = {}
    _parse("units", chosen.units, headers, chosen, jobs, limits, watcher, done, resolved)
    alone = [path for path in chosen.headers if path not in resolved]
    _parse("headers", alone, headers, chosen, jobs, limits, watcher, done, resolved)
    done.units.sort(key=lambda report: (report.failed is None, -report.errors, -report.warnings, report.path))
    _write(target, headers.root, resolved, done)
    done.seconds = time.monotonic() - started
    return done


def _parse(  # noqa: PLR0913 (the input, the limits and the places for results)
    kind: str, paths: Sequence[str], headers: Headers, chosen: Chosen, jobs: int, limits: Limits, watcher: Progress,
    done: Refined, resolved: dict[str, Resolved],
) -> None:  # fmt: skip
    tasks = [Work(headers, path, chosen.all) for path in paths]
    step = f"libclang: parsing {len(tasks):,} {kind}"
    with contextlib.closing(run(work, tasks, jobs, limits)) as outcomes:
        for number, outcome in enumerate(outcomes, 1):
            watcher.step(step, number / len(tasks))
            done.units.append(_report(outcome))
            if outcome.result is not None:
                _take(outcome.result, resolved)


def _report(outcome: TaskOutcome[Work, UnitResult]) -> UnitReport:
    result = outcome.result
    if result is None:
        return UnitReport(outcome.task.path, 0, 0, (), outcome.failed)
    return UnitReport(outcome.task.path, result.errors, result.warnings, result.messages, None)


def _take(result: UnitResult, resolved: dict[str, Resolved]) -> None:
    for path, uses in result.uses.items():
        file = resolved.setdefault(path, Resolved())
        file.add(uses, result.skipped.get(path, ()), erring=path in result.erring)


def _write(target: Path, root: str, resolved: dict[str, Resolved], done: Refined) -> None:
    """Replaces the references of every file that has not changed since it was indexed."""
    lock = lock_file(target)
    why = f"another process has held {lock} for half an hour"
    refusal = PtexploreError("the index is in use", why, "end that process, then: ptexplore index --semantic")
    try:
        with locked(lock, _WAIT, lambda: None, refusal):
            changes = dict(_merged(target, root, resolved, done))
            with IndexWriter(target, anew=False) as writer:
                for path, refs in changes.items():
                    writer.replace_refs(path, ref_lines(refs), "libclang")
                before = json.loads(writer.meta("semantic") or "{}")
                reports = {report.path: [report.errors, report.warnings, report.failed] for report in done.units}
                writer.put_meta({"semantic": json.dumps(before | reports)})
    except OSError as error:
        why = f"{error.filename or target}: {error.strerror or error}"
        raise PtexploreError("the index cannot be written", why, "free space there, then try again") from error


def _merged(target: Path, root: str, resolved: dict[str, Resolved], done: Refined) -> list[tuple[str, list[Ref]]]:
    changes = []
    with contextlib.closing(IndexStore.open(target)) as store:
        for path, uses in sorted(resolved.items()):
            known = store.file(path)
            try:
                with open_below(root, path) as file:
                    data = file.read()
            except OSError as error:
                if error.errno in BROKEN:
                    raise
                data = b""  # the file was deleted or replaced by a link
            if known is None or hashlib.sha256(data).hexdigest() != known.sha:
                done.changed.append(path)
                continue
            before = store.refs_in(path)
            refs = merge(path, data.decode("utf-8", "replace").replace("\r\n", "\n"), before, uses)
            done.files += 1
            done.before += len(before)
            done.resolved += sum(ref.extractor == "libclang" for ref in refs)
            done.kept += sum(ref.extractor != "libclang" for ref in refs)
            changes.append((path, refs))
    return changes


CORE = ("c10/core", "aten/src/ATen/core", "torch/csrc/autograd")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Canonical paths: units to parse, headers to read with them, and files that libclang cannot read here."""

    units: tuple[str, ...]
    headers: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def all(self) -> frozenset[str]:
        return frozenset((*self.units, *self.headers))


def choose(files: Iterable[IndexedFile], root: str, named: Sequence[str]) -> Chosen:
    """Returns the files below the paths in `named`: "core", canonical paths, or paths inside the checkout at `root`.

    "core", also the default, leaves tests out: they need headers that no wheel has. Raises PtexploreError(USAGE) if a
    name contains no C++.
    """
    known = sorted(file.path for file in files if file.language == "cpp")
    chosen: set[str] = set()
    for name in named or ("core",):
        if name == "core":
            chosen |= {path for path in known if _lies_in(path, CORE) and not is_test_file(path)}
            continue
        inside = {path for path in known if _lies_in(path, (_canonical(name, root),))}
        if not inside:
            why = "the checkout has no C or C++ file at or below that path"
            raise PtexploreError(f"{name} has nothing to parse", why, "ptexplore index --semantic core", USAGE)
        chosen |= inside
    by_kind: dict[str, list[str]] = {"units": [], "headers": [], "others": []}
    for path in sorted(chosen):
        suffix = PurePosixPath(path).suffix
        by_kind["units" if suffix in SOURCES else "headers" if suffix in HEADERS else "others"].append(path)
    return Chosen(tuple(by_kind["units"]), tuple(by_kind["headers"]), tuple(by_kind["others"]))


def _lies_in(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") or not folder for folder in folders)


def _canonical(name: str, root: str) -> str:
    real, top = os.path.realpath(name), os.path.realpath(root)
    if real == top or real.startswith(f"{top}/"):
        return "" if real == top else Path(real).relative_to(top).as_posix()
    return os.path.normpath(name)


_OPERATOR = re.compile(r"operator\s*(?=\W)")
_JUDGED = frozenset(
    ("call", "address", "inherit", "override", "type")
)  # kinds that libclang resolves wherever it parses


@dataclass(slots=True)
class Resolved(FileUses):
    """The merged uses of one file from all units.

    `skipped` are the lines that no unit parsed; None before the first unit.
    """

    skipped: set[int] | None = None
    erring: bool = False

    def add(self, uses: FileUses, skipped: Iterable[tuple[int, int]], *, erring: bool) -> None:
        """Merges the result of one more unit."""
        self.uses |= uses.uses
        self.open_lines |= uses.open_lines
        lines = {line for first, last in skipped for line in range(first, last + 1)}
        self.skipped = lines if self.skipped is None else self.skipped & lines
        self.erring |= erring


def merge(path: str, raw: str, matched: Iterable[Ref], resolved: Resolved) -> list[Ref]:
    """Returns the references of a file whose text is `raw`, sorted by line.

    A reference matched by name is replaced by the resolved use of that name on its line. It stays if libclang could not
    judge it. This is so on lines that the preprocessor skipped, in macro definitions, beside a call that depends on
    template parameters, and anywhere in a file with errors. If libclang judged it and found no use, it is removed.
    """
    text = Text(path, raw)
    before = list(matched)
    written = {(ref.line, ref.name): ref.text for ref in before}
    lines = text.code.split("\n")
    kept = [use for use in resolved.uses if _is_written(use, lines)]
    refs = [
        Ref(path, use.line, use.name, written.get((use.line, use.name), use.name), use.kind, use.target, "libclang")
        for use in kept
    ]
    done = {(use.line, use.name) for use in kept}
    unjudged = (resolved.skipped or set()) | resolved.open_lines | set(_in_macros(text))
    for ref in before:
        if (ref.line, ref.name) in done:
            continue
        if resolved.erring or ref.kind not in _JUDGED or ref.line in unjudged:
            refs.append(ref)
    return sorted(set(refs), key=lambda ref: (ref.line, ref.name, ref.kind, ref.target or ""))


def _is_written(use: ResolvedUse, lines: list[str]) -> bool:
    """Whether the name is written on the line. Uses inside a macro's body and implicit uses are not."""
    if use.kind == "include":
        return True
    if not 0 < use.line <= len(lines):
        return False
    line = lines[use.line - 1]
    sign = _OPERATOR.match(use.name)
    if sign:
        return use.name[sign.end() :].strip() in line
    return re.search(rf"(?<!\w){re.escape(use.name.lstrip('~'))}(?!\w)", line) is not None


def _in_macros(text: Text) -> Iterator[int]:
    """Yields the lines of macro definitions."""
    for directive in text.directives:
        if directive.word == "define":
            yield from range(text.line(directive.start), text.line(directive.end) + 1)
