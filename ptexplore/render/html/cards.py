"""Writes the pages of operators' cards, but only those whose card or notes have changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ptexplore.annotations.about import MarksByTree, holds, operators_of
from ptexplore.annotations.marks import Mark
from ptexplore.render.html.output import Output, Row, SiteWork, digest
from ptexplore.render.html.pages import render
from ptexplore.render.html.places import places
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.stubs import Stubs
from ptexplore.source.python_docs import DocLine
from ptexplore.view.card import Card, card, core_line, documented, places_run
from ptexplore.view.card_table import card_tables, left_out, only_in_yaml
from ptexplore.view.site.operator_list import trace_to_type
from ptexplore.view.site.site import Site, operator_names

_BATCH = 40
Observed = dict[str, list[tuple[str, str, int]]]  # operator -> traces: expression, URL, number of calls


@dataclass
class Cards:
    """The writer of the operators' pages of one site."""

    site: Site
    out: Output
    lookup: Callable[[], Lookup]  # opened anew in each process
    base: str
    marks_by_tree: MarksByTree
    observed: Observed
    docs: Mapping[str, DocLine] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._about: defaultdict[str, list[Mark]] = defaultdict(list)
        self._in: defaultdict[tuple[str, str], list[Mark]] = defaultdict(list)
        for tree, marks in self.marks_by_tree.items():
            for mark in marks:
                self._in[tree, mark.path].append(mark)
                for name in operators_of(mark):
                    self._about[name].append(mark)

    def work(self) -> SiteWork[str, list[Row]]:
        """Returns the cards that have changed, as work."""
        tasks = []
        for name, url in sorted(self.site.operators.items()):
            known = self.out.before.get(url)
            stops = self._stops(name, known[2] if known is not None and len(known) > 2 else [])
            if not self.out.fresh(url, self._key(name, stops)):
                tasks.append(name)
        return SiteWork(tasks, self._make, self.out.take, _BATCH)

    def _key(self, name: str, stops: Sequence[Mark]) -> str:
        return digest(self.base, name, [(mark.stop, mark.title) for mark in stops], self.observed.get(name, []))

    def _stops(self, name: str, refs: Sequence[Sequence[Any]]) -> list[Mark]:
        """Returns the stops about an operator, or about the functions that its common keys run.

        `refs` are the tree, path and line of these functions.
        """
        marks = list(self._about.get(name.removeprefix("aten::"), ()))
        for tree, path, line in refs:
            marks += [mark for mark in self._in.get((tree, path), ()) if holds(mark, path, line)]
        return list({mark.stop: mark for mark in marks}.values())

    def _make(self, tasks: Sequence[str]) -> list[Row]:
        rows = []
        for name in tasks:
            url = self.site.operators[name]
            shown = card(self._stubs.lookup, name, self._stubs)
            run = ((ref.tree, ref.path, ref.line) for ref in places_run(shown) if ref.path is not None and ref.line)
            refs = [list(place) for place in dict.fromkeys(run)]
            stops = self._stops(name, refs)
            rows.append(self.out.write(url, self._page(shown, stops, url), self._key(name, stops), refs))
        return rows

    @cached_property
    def _stubs(self) -> Stubs:
        return Stubs(self.lookup())

    def _page(self, shown: Card, stops: Sequence[Mark], url: str) -> str:
        site, operator = self.site, shown.operator
        marks = [mark for mark in stops if mark.stop in site.stops]
        called = [name for names, _row, _ref in shown.bindings for name in names.split(", ")]
        # A line of its own says whether the operator is Core ATen.
        tags = [tag for tag in operator.tags if tag != "core" or shown.core is None]
        doc = documented(shown, self.docs, self._stubs.lookup.tree).doc
        return render(
            site, "op.html", url, kind="op", id=operator.name, title=operator.name, op=operator, card=shown,
            facts=[fact for fact in (_structured(operator.structured), *operator.variants, *tags) if fact],
            others=shown.others, place=places(site, url),
            siblings=[(operator_names(name)[1], site.operators.get(name)) for name in shown.siblings],
            notes=[(mark.stop, mark.title, site.stops[mark.stop]) for mark in marks],
            small=site.settings.scope != "all", tables=card_tables(shown), left=left_out(shown),
            in_yaml=only_in_yaml(shown), core=core_line(shown.core) if shown.core is not None else "",
            traces=self.observed.get(operator.name, []), doc=doc, command=trace_to_type(operator, called),
            doc_place=site.place(url, doc.path, doc.line) if doc is not None else None,
        )  # fmt: skip


def _structured(given: str | None) -> str:
    """Returns the word of the YAML entry: "structured", or the operator that has the kernel if this one has none."""
    return given or "" if not given or given == "structured" else f"structured_delegate: {given}"
