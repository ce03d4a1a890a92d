"""Write the pages of source files, those alone whose text, links or notes are not what they were."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from ptexplore.render.html import pack, source_page, work
from ptexplore.render.html.output import Output, Row, digest
from ptexplore.view.site.site import safe_path
from ptexplore.view.site.source_page import source_data, template_of
from ptexplore.view.trees import changed

if TYPE_CHECKING:
    from ptexplore.source.progress import Progress
    from ptexplore.store.index.reader import IndexStore
    from ptexplore.view.site.link_targets import DefinitionsByName
    from ptexplore.view.site.site import Site

_FEW = 40  # pages: fewer look up the names they need, more read all at first
_BATCH = 24


@dataclass
class Sources:
    """Writes the pages of one site's files."""

    site: Site
    names: DefinitionsByName
    out: Output
    reopen: Callable[[], list[IndexStore]]  # indexes with connections of this process's own
    base: str  # a hash of everything that all pages depend on
    _own: bool = False

    def write(self, jobs: int, progress: Progress) -> int:
        """Write what is not fresh. Gives how many pages that were."""
        shas = [dict(_files(tree.store)) for tree in self.site.trees]
        tasks = []
        for path, url in self.site.sources.items():
            key = self._key(path, shas[self.site.owner[path]].get(path, ""))
            if not (self.out.fresh(url, key) and self.out.fresh(self._symbols_url(url), key)):
                tasks.append((path, key))
        if len(tasks) > _FEW:
            progress.step("reading every definition")
            self.names.preload()
            gc.collect()
            gc.freeze()  # millions of records that stay: no collector need look at them again, nor copy them
        for done, rows in work.run(tasks, self._make, jobs, _BATCH):
            progress.step(f"writing {len(tasks):,} pages of source", done / len(tasks))
            self.out.take(rows)
        return len(tasks)

    def _key(self, path: str, sha: str) -> str:
        notes = [astuple(note) for note in self.site.notes.get(path, ())]
        return digest(self.base, path, sha, notes, sorted(self.site.at.get(path, {}).items()))

    @staticmethod
    def _symbols_url(url: str) -> str:
        return f"{url.removesuffix('.html')}.js"

    def _make(self, tasks: Sequence[tuple[str, str]]) -> list[Row]:
        import multiprocessing

        if not self._own and multiprocessing.parent_process() is not None:
            self.names.reopened(self.reopen())  # a connection does not survive a fork
            self._own = True
        rows: list[Row] = []
        for path, key in tasks:
            rows += self._page(path, key)
        return rows

    def _page(self, path: str, key: str) -> list[Row]:
        from markupsafe import Markup

        from ptexplore.render.html.pages import render

        site, url = self.site, self.site.sources[path]
        indexed = site.trees[site.owner[path]]
        found = indexed.tree.read(path)
        text = found.text if found is not None else ""
        language = language_of(path)
        data = source_data(self.names, path, text)
        facts = source_page.facts(site, path, text)
        if found is None:
            facts.append("its text is not there any more")
        elif changed(indexed, path):  # the index is of another text: what it says of lines is not so
            data.words, data.includes, data.entries, data.defined = {}, {}, [], []
            facts.append("changed after it was indexed, so no name is linked: ptexplore index")
        folder, _, name = path.rpartition("/")
        parts = folder.split("/") if folder else []
        generated = template_of(text) is not None or path.startswith("build/")
        code = source_page.code(site, data, text, language, url)
        entries = source_page.entries(site, data, url)
        packed = pack.lines_and_list(code, entries) if generated and len(code) + len(entries) > pack.PAGE else ""
        page = render(
            site, "source.html", url, kind="source", id=path, title=name, name=name,
            generated=generated,
            folders=[(part, f"src/{safe_path('/'.join(parts[: n + 1]))}/index.html") for n, part in enumerate(parts)],
            facts=facts, count=text.count("\n") + (not text.endswith("\n")), link=site.permalink(path),
            code="" if packed else Markup(code), packed=packed, listed=bool(entries),
            margin=Markup(source_page.margin(site.notes.get(path, ()), url)),
            entries="" if packed else Markup(entries),
        )  # fmt: skip
        symbols = self._symbols_url(url)
        self.out.write(url, page, key, len(text.encode("utf-8", "replace")))
        self.out.write(symbols, source_page.symbols(data, text), key)
        indexed.tree.forget()
        return [self.out.row(one) for one in (url, symbols)]


def _files(store: IndexStore) -> list[tuple[str, str]]:
    return [(path, known.sha) for path, known in store.known().items()]


def language_of(path: str) -> str:
    """What a file is written in, for its colours."""
    suffix = path.rpartition(".")[2].lower()
    return {"py": "python", "pyi": "python", "yaml": "yaml", "yml": "yaml"}.get(suffix, "cpp")
