"""What every page of a site shares: its settings, where its pages are, the trees it shows, its notes by file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ptexplore.source.permalink import page_on
from ptexplore.view.site.urls import between, operator_names, safe

if TYPE_CHECKING:
    from ptexplore.model.places import TreeInfo
    from ptexplore.view.site.scope import Scope
    from ptexplore.view.trees import IndexedTree

NAV = (("Home", "index.html"), ("Tours", "tours/index.html"), ("Concepts", "concepts.html"),
       ("Source", "src/index.html"), ("Operators", "ops/index.html"), ("Traces", "traces/index.html"))  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What was asked for. `base` ends in a slash, where it is given; `repo` is the URL before a path, without one."""

    title: str
    scope: Scope
    base: str = ""
    repo: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A stop beside a line of a file: its page, its title, how it begins."""

    stop: str
    title: str
    tour: str
    line: int
    url: str
    text: str


@dataclass
class Site:
    """One site. `sources` are the URLs of published files by path, `owner` the number of the tree each is from.

    `operators` are the URLs of published cards by name, `at` those whose generated function begins at a line of a file.
    """

    settings: Settings
    trees: Sequence[IndexedTree]
    sources: Mapping[str, str]
    owner: Mapping[str, int]
    operators: Mapping[str, str] = field(default_factory=dict)
    at: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    notes: Mapping[str, Sequence[Note]] = field(default_factory=dict)
    stops: Mapping[str, str] = field(default_factory=dict)  # "tour#stop" -> URL

    @property
    def id(self) -> str:
        """The same for every page of a site, and for the site when it is built again."""
        return hashlib.sha256(self.settings.title.encode("utf-8", "replace")).hexdigest()[:12]

    @property
    def title(self) -> str:
        return self.settings.title

    @property
    def base(self) -> str:
        return self.settings.base

    @property
    def nav(self) -> tuple[tuple[str, str], ...]:
        return NAV

    @property
    def of(self) -> str:
        """What the site is of, in words."""
        return ", ".join(dict.fromkeys(shown(one.tree.info) for one in self.trees))

    def place(self, here: str, path: str, line: int | None) -> str | None:
        """The way from the page `here` to a line of a file; None where the file is not on the site."""
        url = self.sources.get(path)
        return None if url is None else between(here, url) + (f"#L{line}" if line else "")

    def permalink(self, path: str, line: int | None = None) -> str | None:
        """Where the file can be read elsewhere, at the very text of this site; None where nobody can say."""
        number = self.owner.get(path, 0)
        if not self.settings.repo or self.trees[number].checkout is None:
            return None
        return page_on(self.settings.repo, path, line)

    def skewed(self, one: int, other: int) -> bool:
        """Whether two trees are of different versions."""
        return one != other and any(self.trees[n].tree.info.relation == "version-skew" for n in (one, other))


def shown(info: TreeInfo) -> str:
    """A tree in words: "pytorch-v2.6.0", "torch 2.6.0 as installed"."""
    return f"torch {info.version} as installed" if info.relation == "runtime" else info.label


def operator_url(name: str) -> str:
    """The page of an operator's card."""
    namespace, rest = operator_names(name)
    return f"ops/{safe(namespace or 'none')}/{safe(rest)}.html"


def stop_url(name: str) -> str:
    """The page of a stop "tour#stop", or of a tour."""
    tour, _, stop = name.partition("#")
    return f"tours/{tour}/{stop}.html" if stop else f"tours/{tour}.html"
