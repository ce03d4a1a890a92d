"""The pages that list others: folders, operators by namespace, traces; and the page about the site."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptexplore import __version__
from ptexplore.render.html.pages import render
from ptexplore.view.site.site import operator_names, safe, safe_path, shown
from ptexplore.view.trace.explain import PRECISION_MEANS, STATUS_MEANS

if TYPE_CHECKING:
    from ptexplore.render.html.output import Output
    from ptexplore.view.site.site import Site

_LICENCE = 200_000  # characters


def folders(site: Site, out: Output) -> None:
    """A page a folder, and the one of all."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    inside: defaultdict[str, set[str]] = defaultdict(set)
    count: Counter[str] = Counter()
    files[""] = []
    for path in sorted(site.sources):
        folder = path.rpartition("/")[0]
        files[folder].append(path)
        while True:
            count[folder] += 1
            if not folder:
                break
            parent = folder.rpartition("/")[0]
            inside[parent].add(folder)
            folder = parent
    for folder in sorted({*files, *inside}):
        parts = folder.split("/") if folder else []
        way = [("source", "src/index.html")] if parts else []
        way += [(part, folder_url("/".join(parts[: n + 1]))) for n, part in enumerate(parts[:-1])]
        page = render(
            site, "folder.html", folder_url(folder), kind="folder", id=folder, title=parts[-1] if parts else "Source",
            folders=way,
            inside=[(one.rsplit("/", 1)[-1], folder_url(one), f"{count[one]:,}") for one in sorted(inside[folder])],
            files=[(path.rsplit("/", 1)[-1], site.sources[path]) for path in files[folder]],
        )  # fmt: skip
        out.write(folder_url(folder), page)


def folder_url(folder: str) -> str:
    """The page of a folder."""
    return f"src/{safe_path(folder)}/index.html" if folder else "src/index.html"


def operators(site: Site, out: Output, *, runtime: bool) -> None:
    """The namespaces, and the operators of each by family."""
    spaces: defaultdict[str, defaultdict[str, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for name, url in sorted(site.operators.items()):
        namespace, rest = operator_names(name)
        spaces[namespace][rest.partition(".")[0]].append((rest, url))
    listed = [
        (space, _space_url(space), f"{sum(map(len, spaces[space].values())):,} operators") for space in sorted(spaces)
    ]
    given = {"runtime": runtime, "namespaces": listed, "families": []}
    page = render(site, "ops.html", "ops/index.html", kind="ops", id="", title="Operators", **given)
    out.write("ops/index.html", page)
    for space, families in sorted(spaces.items()):
        given = {"runtime": runtime, "namespaces": [], "families": sorted(families.items())}
        page = render(site, "ops.html", _space_url(space), kind="namespace", id=space, title=f"{space}::", **given)
        out.write(_space_url(space), page)


def _space_url(namespace: str) -> str:
    return f"ops/{safe(namespace or 'none')}.html"


def about(site: Site, out: Output, problems: Sequence[str]) -> None:
    """The versions, commit, precision and licence of the text."""
    counted = Counter(site.owner[path] for path in site.sources)
    rows = []
    for number, one in enumerate(site.trees):
        info = one.tree.info
        rows.append(
            {"name": shown(info), "version": info.version, "commit": info.commit, "relation": info.relation,
             "modified": one.checkout is not None and one.checkout.modified, "layers": ", ".join(info.layers),
             "files": f"{counted[number]:,} files on this site"}
        )  # fmt: skip
    licence = next((found.text for one in site.trees if (found := one.tree.read("LICENSE")) is not None), "")
    page = render(
        site, "about.html", "about.html", kind="about", id="", title="About", trees=rows, version=__version__,
        problems=problems, precision=list(PRECISION_MEANS.items()), status=list(STATUS_MEANS.items()),
        licence=licence[:_LICENCE],
    )  # fmt: skip
    out.write("about.html", page)
