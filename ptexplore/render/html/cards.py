"""Write the pages of operators' cards, those alone whose card or notes are not what they were."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ptexplore.render.html import work
from ptexplore.render.html.output import Output, Row, digest
from ptexplore.render.html.pages import render
from ptexplore.render.html.places import places
from ptexplore.resolve.places.stubs import Stubs
from ptexplore.view.card import COMMON, Card, KeyRow, card
from ptexplore.view.notes.noted import holds, operators_of
from ptexplore.view.site.site import between, operator_names

if TYPE_CHECKING:
    from ptexplore.annotations.marks import Mark
    from ptexplore.model.places import SourceRef
    from ptexplore.resolve.places.lookup import Lookup
    from ptexplore.source.progress import Progress
    from ptexplore.view.notes.noted import Noted
    from ptexplore.view.site.site import Site

_BATCH = 40
_KEYS = 4  # keys of a row that are named
Observed = dict[str, list[tuple[str, str, int]]]  # an operator -> traces: expression, URL, how many times


@dataclass
class Cards:
    """Writes the operators' pages of one site."""

    site: Site
    out: Output
    lookup: Callable[[], Lookup]  # opened anew in each process
    base: str
    noted: Noted
    observed: Observed
    _lookup: Lookup | None = None
    _called: Stubs | None = None

    def __post_init__(self) -> None:
        self._about: defaultdict[str, list[Mark]] = defaultdict(list)
        self._in: defaultdict[tuple[str, str], list[Mark]] = defaultdict(list)
        for tree, found in self.noted.items():
            for mark in found:
                self._in[tree, mark.path].append(mark)
                for name in operators_of(mark):
                    self._about[name].append(mark)

    def write(self, jobs: int, progress: Progress) -> int:
        """Write what is not fresh. Gives how many pages that were."""
        tasks = []
        for name, url in sorted(self.site.operators.items()):
            known = self.out.before.get(url)
            stops = self._stops(name, known[2] if known is not None and len(known) > 2 else [])
            if not self.out.fresh(url, self._key(name, stops)):
                tasks.append(name)
        for done, rows in work.run(tasks, self._make, jobs, _BATCH):
            progress.step(f"writing {len(tasks):,} operators", done / len(tasks))
            self.out.take(rows)
        return len(tasks)

    def _key(self, name: str, stops: Sequence[Mark]) -> str:
        return digest(self.base, name, [(one.stop, one.title) for one in stops], self.observed.get(name, []))

    def _stops(self, name: str, refs: Sequence[Sequence[Any]]) -> list[Mark]:
        """The stops about an operator, or about what its common keys run: `refs` are tree, path and line of those."""
        found = list(self._about.get(name.removeprefix("aten::"), ()))
        for tree, path, line in refs:
            found += [mark for mark in self._in.get((tree, path), ()) if holds(mark, path, line)]
        return list({mark.stop: mark for mark in found}.values())

    def _make(self, tasks: Sequence[str]) -> list[Row]:
        if self._lookup is None:
            self._lookup = self.lookup()
            self._called = Stubs(self._lookup)
        rows = []
        for name in tasks:
            url = self.site.operators[name]
            found = card(self._lookup, name, self._called)
            places = [(ref.tree, ref.path, ref.line) for ref in _refs(found) if ref.path is not None and ref.line]
            refs = [list(one) for one in dict.fromkeys(places)]
            stops = self._stops(name, refs)
            self.out.write(url, self._page(found, stops, url), self._key(name, stops), refs)
            rows.append(self.out.row(url))
        return rows

    def _page(self, found: Card, stops: Sequence[Mark], url: str) -> str:
        site, operator = self.site, found.operator
        common = [row for row in found.keys if any(key in COMMON for key in row.keys)] or list(found.keys)
        others = [row for row in found.keys if row not in common]
        facts = [one for one in (_structured(operator.structured), *operator.variants, *operator.tags) if one]
        siblings = [(operator_names(name)[1], self._to(url, name)) for name in found.siblings]
        return render(
            site, "op.html", url, kind="op", id=operator.name, title=operator.name, op=operator, card=found,
            rows=[_shown(row) for row in common], others=others, facts=facts, place=places(site, url),
            siblings=siblings,
            notes=[(one.stop, one.title, self._stop(url, one.stop)) for one in stops if one.stop in site.stops],
            traces=[(text, between(url, where), times) for text, where, times in self.observed.get(operator.name, [])],
        )  # fmt: skip

    def _stop(self, here: str, name: str) -> str:
        return between(here, self.site.stops[name])

    def _to(self, here: str, name: str) -> str | None:
        url = self.site.operators.get(name)
        return between(here, url) if url is not None else None


def _structured(given: str | None) -> str:
    """As the entry in YAML says it: the operator that has the kernel, where this one has none of its own."""
    return given or "" if not given or given == "structured" else f"structured_delegate: {given}"


def _shown(row: KeyRow) -> dict[str, Any]:
    keys = list(row.keys)
    if len(keys) > _KEYS:
        keys = [key for key in keys if key in COMMON] or keys[:2]
    return {"one": row, "names": keys, "more": len(row.keys) - len(keys)}


def _refs(found: Card) -> Iterator[SourceRef]:
    """The places that a card's common keys run, as view/notes/noted.py reads them."""
    for row in found.keys:
        if any(key in COMMON for key in row.keys):
            yield row.body
            for target in row.targets:
                yield target.source
                for one in target.stubs:
                    yield one.stub.source
                    yield from (kernel.source for kernel in one.stub.kernels)
            for one in row.stubs:
                yield one.stub.source
                yield from (kernel.source for kernel in one.stub.kernels)
    for ref in (found.node, found.entry):
        if ref is not None:
            yield ref
