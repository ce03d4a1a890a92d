"""The report of `doctor`: the runtime, its layers and caches, counts of confirmed registrations, and missing parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ptexplore.locations import cache_root, catalogue_file, generated_dir, index_file
from ptexplore.model.operators import Count, Registration
from ptexplore.model.places import Checkout, Runtime, TreeInfo
from ptexplore.resolve.places.relation import Relation
from ptexplore.source.runtime.generated import build_folder_of
from ptexplore.source.tree import SourceTree
from ptexplore.store.catalogue.reader import Store
from ptexplore.view.words.places import place_sentence

LISTED = 400  # unconfirmed registrations listed; more of them would show nothing new


@dataclass(frozen=True, slots=True)
class Cache:
    """A cached file or folder: its path and its size in bytes (0 if it is missing)."""

    name: str
    path: str
    size: int


@dataclass(frozen=True, slots=True)
class CheckoutHealth:
    """One checkout with its tree, and its relation to the torch at hand with the figures behind it."""

    tree: TreeInfo
    checkout: Checkout
    relation: Relation


@dataclass(frozen=True, slots=True)
class Health:
    """The report. It is `sound` if every registration in generated C++ is confirmed.

    `built_in` is the source tree that torch was built in and runs from, or None. `compared`: whether a checkout could
    be compared with the registrations in hand-written C++.
    """

    runtime: Runtime
    trees: tuple[TreeInfo, ...]
    registrations: dict[str, Count]
    operators: int
    reasons: tuple[tuple[str, int], ...]
    unconfirmed: tuple[Registration, ...]
    caches: tuple[Cache, ...]
    checkouts: tuple[CheckoutHealth, ...]
    advice: tuple[str, ...]
    built_in: str | None = None
    compared: bool = False

    @property
    def in_cpp(self) -> Count:
        """The counts of records that point into C++, generated and hand-written: confirmed, and total."""
        generated, handwritten = (self.registrations.get(n, Count(0, 0)) for n in ("generated", "handwritten"))
        return Count(generated.confirmed + handwritten.confirmed, generated.total + handwritten.total)

    @property
    def sound(self) -> bool:
        generated = self.registrations.get("generated", Count(0, 0))
        return generated.confirmed == generated.total and generated.total > 0


def health(
    runtime: Runtime, tree: SourceTree, store: Store, checkouts: Sequence[CheckoutHealth] = (), note: str = ""
) -> Health:
    """Collects the report without building or changing anything. `note` is a remark from the choice of a checkout."""
    counts = store.counts()
    generated = counts.get("generated", Count(0, 0))
    pytorch = (c for c in checkouts if c.checkout.project == "pytorch")
    compared = next((c for c in pytorch if c.relation.word != "version-skew"), None)
    if compared is not None:
        counts["handwritten"] = compared.relation.records
    advice = [note] if note else []
    if generated.confirmed != generated.total:
        missing = generated.total - generated.confirmed
        advice.append(f"{missing} registrations in generated C++ are not confirmed: ptexplore doctor --unconfirmed")
    if runtime.build == "source" and runtime.packaged_dir is None:
        advice.append("torchgen has no packaged inputs, so operators have no line of native_functions.yaml")
    return Health(
        runtime=runtime,
        trees=(tree.info, *(checkout.tree for checkout in checkouts)),
        registrations=counts,
        operators=len(store.all_names()),
        reasons=tuple(_reasons(store, compared)),
        unconfirmed=tuple(_unconfirmed(store, compared)),
        caches=tuple(_caches(runtime, checkouts)),
        checkouts=tuple(checkouts),
        advice=tuple(advice),
        built_in=str(folder) if (folder := build_folder_of(runtime.torch_dir)) is not None else None,
        compared=compared is not None,
    )


def _reasons(store: Store, compared: CheckoutHealth | None) -> list[tuple[str, int]]:
    """Returns the reasons why records are not confirmed, most frequent first.

    The compared checkout decides for hand-written C++.
    """
    counts = dict(store.unconfirmed_reasons())
    if compared is not None:
        records = _unconfirmed(store, compared, 1 << 30)
        counts = Counter(record.why_not for record in records if record.why_not is not None)
    sentences = [(place_sentence(reason), count) for reason, count in counts.items()]
    return sorted(sentences, key=lambda item: (-item[1], item[0]))


def _unconfirmed(store: Store, compared: CheckoutHealth | None, limit: int = LISTED) -> list[Registration]:
    if compared is None:
        return store.unconfirmed(limit)
    records = [record for origin in ("generated", "python", "nofile") for record in store.unconfirmed(limit, origin)]
    missed = {(record.op, record.key, record.path, record.line): record.why for record in compared.relation.missed}
    for record in store.unconfirmed(1 << 30, "handwritten") if missed else ():
        why = missed.get((record.op, record.key, record.path, record.macro_line))
        records += [replace(record, why_not=why)] if why is not None else []
    return records[:limit]


def _caches(runtime: Runtime, checkouts: Sequence[CheckoutHealth]) -> Iterator[Cache]:
    yield Cache("cache", str(cache_root()), 0)
    of_torchgen = "generated C++" if runtime.build == "wheel" else "torchgen's model"
    files = {of_torchgen: generated_dir(runtime.inputs_key), "catalogue": catalogue_file(runtime.key)}
    files |= {f"index of {c.checkout.name}": index_file(f"checkout-{c.checkout.name}") for c in checkouts}
    yield from (Cache(name, str(file), _size(file)) for name, file in files.items())


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    return path.stat().st_size if path.exists() else 0
