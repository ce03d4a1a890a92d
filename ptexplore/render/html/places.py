"""Formats a place in source as HTML: a link if the site has that very text, and why it is uncertain if it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from markupsafe import Markup

from ptexplore.render.html.source_markup import breaking, escaped
from ptexplore.view.why_there import why_there
from ptexplore.view.words.legend import PRECISION_MEANS

if TYPE_CHECKING:
    from ptexplore.model.places import Precision, SourceRef, TreeInfo
    from ptexplore.view.compile_page import PagePlace
    from ptexplore.view.site.site import Site

SAID = {"version-skew": "other version", "unknown": "not known"}  # words beside a place, where others are clearer
Shown = Callable[..., Markup]
_MOST = 6  # candidates that are listed
_EXACT = frozenset(("registered", "located"))


def places(site: Site, page: str, trees: Mapping[str, TreeInfo] | None = None) -> Shown:
    """Returns a function that shows a reference on the page with this URL. `trees` are the trees of a saved trace.

    The function takes a reference and a label; if `short` is set, it shows the file without its folder.
    """

    def show(ref: SourceRef, label: str = "", *, short: bool = False) -> Markup:
        before = f"<span class=l>{escaped(label)}</span> " if label else ""
        why = why_there(ref.reason, on_page=True)
        known = certainty(ref.precision, why)
        known += Markup(f" <span class=w>({escaped(why)})</span>") if why and not short else ""
        if ref.candidates:
            listed = "; ".join(
                _where(site, page, candidate, trees, short=short) for candidate in ref.candidates[:_MOST]
            )
            more = f"; {len(ref.candidates) - _MOST} more" if len(ref.candidates) > _MOST else ""
            return Markup(f"{before}{known}: {listed}{more}")
        where = f"{_where(site, page, ref, trees, short=short)} " if ref.path is not None else ""
        return Markup(f"{before}{where}{known}".rstrip())

    return show


def torch_link(site: Site, page: str, place: PagePlace, version: str) -> str | None:
    """Returns the link of a place in torch's own Python, if the site has the text of this version of torch.

    A saved run names a file of torch without the folder above torch: "torch/_dynamo/guards.py".
    """
    owner = site.owner.get(place.file) if place.file.startswith("torch/") else None
    if owner is None:
        return None
    tree = site.trees[owner].tree.info
    is_same = tree.relation == "runtime" and tree.version == version
    return site.place(page, place.file, place.line) if is_same else None


def certainty(precision: Precision, why: str = "") -> Markup:
    """Returns the word for a place that is not exact, with its meaning on hover; nothing for an exact one."""
    if precision in _EXACT:
        return Markup()
    meaning = escaped("; ".join(filter(None, (PRECISION_MEANS[precision], why))))
    return Markup(f'<span class={precision} title="{meaning}">{SAID.get(precision, precision)}</span>')


def _where(site: Site, page: str, ref: SourceRef, trees: Mapping[str, TreeInfo] | None, *, short: bool = False) -> str:
    path = ref.path or ""
    folder, slash, name = path.rpartition("/")
    # A narrow page breaks a place before the name of the file, never inside a line number.
    file = (breaking if short else escaped)(f"{name}:{ref.line}" if ref.line else name)
    text = file if short else f"{escaped(folder + slash)}{'<wbr>' if folder else ''}{file}"
    whole = f' title="{escaped(path)}"' if short and folder else ""
    outside = ref.url  # made by us, also for a loaded trace (saved/trace.py)
    if _has_text(site, ref, trees):
        where = site.place(page, path, ref.line)
        if where is not None:
            return f"<a class=p href={where}{whole}>{text}</a>"
        outside = site.permalink(path, ref.line) or outside
    if outside:
        return f'<a class="p x" href="{escaped(outside)}"{whole}>{text}</a>'
    other = site.place(page, path, None)
    if other is not None:  # its lines are different, so the link is to the file
        version = site.trees[site.owner[path]].tree.info.label
        link = f"<a href={other}>the file of {escaped(version)}</a>"
        note = "" if short else f" <span class=w>(this site has {link})</span>"
        return f"<span class=p{whole}>{text}</span>{note}"
    return f"<span class=p{whole}>{text}</span>{'' if short else ' <span class=w>(not on this site)</span>'}"


def _has_text(site: Site, ref: SourceRef, trees: Mapping[str, TreeInfo] | None) -> bool:
    """Whether the site's text of a path is the text that the reference is about."""
    owner = site.owner.get(ref.path or "")
    infos = [indexed.tree.info for indexed in site.trees]
    if owner is None:
        return False
    if trees is None:
        same = [number for number, info in enumerate(infos) if info.name == ref.tree]
    else:
        about = trees.get(ref.tree)
        same = [number for number, info in enumerate(infos) if about is not None and _same(about, info)]
    return any(number == owner or not site.skewed(number, owner) for number in same)


def _same(tree: TreeInfo, other: TreeInfo) -> bool:
    """Whether two trees have the same text: the same commit, or else the same name and version."""
    if tree.commit and other.commit:
        return tree.commit == other.commit
    return (tree.name, tree.version) == (other.name, other.version)
