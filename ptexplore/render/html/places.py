"""A place in source as HTML: a link where the site has that very text, how precise it is, and why where it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ptexplore.render.html.words import escaped

if TYPE_CHECKING:
    from markupsafe import Markup

    from ptexplore.model.places import SourceRef, TreeInfo
    from ptexplore.view.site.site import Site

Shown = Callable[..., "Markup"]
_MOST = 6  # candidates that are listed


def places(site: Site, here: str, trees: Mapping[str, TreeInfo] | None = None) -> Shown:
    """A function that shows a reference on the page `here`. `trees` are those that a saved trace was resolved in."""
    from markupsafe import Markup

    def show(ref: SourceRef, label: str = "") -> Markup:
        before = f"<span class=l>{escaped(label)}</span> " if label else ""
        return Markup(f"{before}{_place(site, here, ref, trees)}")

    return show


def _place(site: Site, here: str, ref: SourceRef, trees: Mapping[str, TreeInfo] | None) -> str:
    word = f"<span class={ref.precision}>{ref.precision}</span>"
    why = f" <span class=w>({escaped(ref.reason)})</span>" if ref.reason else ""
    if ref.candidates:
        listed = "; ".join(_where(site, here, one, trees) for one in ref.candidates[:_MOST])
        more = f"; {len(ref.candidates) - _MOST} more" if len(ref.candidates) > _MOST else ""
        return f"{word}{why}: {listed}{more}"
    if ref.path is None:
        return f"{word}{why}"
    return f"{_where(site, here, ref, trees)} {word}{why}"


def _where(site: Site, here: str, ref: SourceRef, trees: Mapping[str, TreeInfo] | None) -> str:
    path = ref.path or ""
    text = escaped(f"{path}:{ref.line}" if ref.line else path)
    if is_here(site, ref, trees):
        where = site.place(here, path, ref.line)
        if where is not None:
            return f"<a class=p href={where}>{text}</a>"
        outside = site.permalink(path, ref.line)
        if outside is not None:
            return f'<a class="p x" href="{escaped(outside)}">{text}</a>'
    if ref.url and ref.url.startswith("https://"):
        return f'<a class="p x" href="{escaped(ref.url)}">{text}</a>'
    return f"<span class=p>{text}</span>"


def is_here(site: Site, ref: SourceRef, trees: Mapping[str, TreeInfo] | None) -> bool:
    """Whether the text that the site has of a path is that which the reference is about."""
    number = site.owner.get(ref.path or "")
    if number is None:
        return False
    info = site.trees[number].tree.info
    if trees is None:
        return ref.tree == info.name or not _apart(site, number, ref.tree)
    about = trees.get(ref.tree)
    if about is None:
        return False
    return any(
        _same(about, one.tree.info) and (n == number or not site.skewed(n, number)) for n, one in enumerate(site.trees)
    )


def _apart(site: Site, number: int, tree: str) -> bool:
    other = next((n for n, one in enumerate(site.trees) if one.tree.info.name == tree), None)
    return other is None or site.skewed(number, other)


def _same(one: TreeInfo, other: TreeInfo) -> bool:
    """Whether two trees have the same text: a commit says it, else name and version."""
    if one.commit and other.commit:
        return one.commit == other.commit
    return (one.name, one.version) == (other.name, other.version)
