"""The pages that list others: folders, operators by namespace; and the page about the site."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ptexplore import __version__
from ptexplore.render.html.pages import render
from ptexplore.view.site.site import Site, folder_url, operator_names, safe, shown
from ptexplore.view.trace.explain import PRECISION_MEANS, STATUS_MEANS

if TYPE_CHECKING:
    from ptexplore.render.html.output import Output

_LICENCE = 200_000  # characters


def folders(site: Site, out: Output) -> None:
    """A page a folder, and the one of all."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    inside: defaultdict[str, set[str]] = defaultdict(set)
    count: Counter[str] = Counter()
    for path in sorted(site.sources):
        *parts, _name = path.split("/")
        way = ["/".join(parts[:n]) for n in range(len(parts) + 1)]
        files[way[-1]].append(path)
        count.update(way)
        for parent, folder in pairwise(way):
            inside[parent].add(folder)
    for folder in sorted({"", *files, *inside}):
        parts = folder.split("/") if folder else []
        parents = [("source", folder_url(""))] if folder else []
        parents += [(part, folder_url("/".join(parts[:n]))) for n, part in enumerate(parts[:-1], 1)]
        page = render(
            site, "folder.html", folder_url(folder), kind="folder", id=folder, folders=parents,
            title=parts[-1] if parts else "Source",
            inside=[(each.rsplit("/", 1)[-1], folder_url(each), f"{count[each]:,}") for each in sorted(inside[folder])],
            files=[(path.rsplit("/", 1)[-1], site.sources[path]) for path in files[folder]],
        )  # fmt: skip
        out.write(folder_url(folder), page)


def operators(site: Site, out: Output, *, runtime: bool) -> None:
    """The namespaces, and the operators of each by family."""
    spaces: defaultdict[str, defaultdict[str, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for name, url in sorted(site.operators.items()):
        namespace, rest = operator_names(name)
        spaces[namespace][rest.partition(".")[0]].append((rest, url))
    urls = {space: f"ops/{safe(space or 'none')}.html" for space in sorted(spaces)}
    listed = [(space, url, f"{sum(map(len, spaces[space].values())):,} operators") for space, url in urls.items()]
    lists = [("ops/index.html", "ops", "", "Operators")]
    for url, kind, space, title in [*lists, *((url, "namespace", space, f"{space}::") for space, url in urls.items())]:
        families = sorted(spaces[space].items()) if kind == "namespace" else []
        page = render(
            site, "ops.html", url, kind=kind, id=space, title=title, runtime=runtime, families=families,
            namespaces=listed if kind == "ops" else [],
        )  # fmt: skip
        out.write(url, page)


def about(site: Site, out: Output, problems: Sequence[str]) -> None:
    """The versions, commit, precision and licence of the text."""
    licence = next((file.text for each in site.trees if (file := each.tree.read("LICENSE")) is not None), "")
    page = render(
        site, "about.html", "about.html", kind="about", id="", title="About", version=__version__, shown=shown,
        files=Counter(site.owner[path] for path in site.sources), problems=problems,
        precision=list(PRECISION_MEANS.items()), status=list(STATUS_MEANS.items()), licence=licence[:_LICENCE],
    )  # fmt: skip
    out.write("about.html", page)
