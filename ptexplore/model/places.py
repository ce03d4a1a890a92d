"""Where text is and what is known of it: runtimes, trees, checkouts, files, references to source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ptexplore.model.deferred import Deferred

if TYPE_CHECKING:
    from ptexplore.model import place_reasons as place_reasons  # noqa: PLC0414  (for all who make a place)
else:  # a search makes many places and seldom a reason: it does not wait for them
    place_reasons = Deferred("ptexplore.model.place_reasons")

Layer = Literal["checkout", "generated", "wheel", "atlas"]
Precision = Literal["registered", "located", "consistent", "version-skew", "ambiguous", "unknown"]


@dataclass(frozen=True, slots=True)
class Runtime:
    """One installed torch, described without importing it.

    `build` is "wheel" when torchgen ships its packaged inputs, "source" otherwise.
    `key` names everything cached for this runtime: a hash over version, git_version,
    the packaged inputs and the installation's own file list.
    """

    python: str
    python_version: str
    torch_dir: str
    version: str
    git_version: str
    build: Literal["wheel", "source"]
    torchgen_dir: str | None
    packaged_dir: str | None
    accelerators: tuple[str, ...]  # of "cuda", "hip", "xpu": what torch/version.py says it was built with
    key: str
    inputs_key: str  # hash of git_version and the packaged inputs alone: what the generated C++ depends on


@dataclass(frozen=True, slots=True)
class FileText:
    """One file of a tree: canonical path, the layer it came from, where it lies, and its text.

    `shift` is how many lines `file` has above the text's first: newer wheels wrap installed headers in
    an `#if`, and a line of ours is always that of the repository's own file.
    """

    path: str
    layer: Layer
    file: str
    text: str
    shift: int = 0


@dataclass(frozen=True, slots=True)
class TreeInfo:
    """A tree as shown to the user: the runtime tree, or a checkout and how it relates to the running torch."""

    name: str  # `runtime`, or the checkout's name
    version: str  # of PyTorch, as the tree says
    layers: tuple[Layer, ...]  # what gives its text
    commit: str | None = None  # of PyTorch's repository, where it is known
    relation: Literal["runtime", "matches", "consistent", "version-skew"] = "runtime"  # to the torch that ran

    @property
    def label(self) -> str:
        """The tree's name with its version, once: "v2.6.0", "mine 2.6.0", "runtime 2.13.0"."""
        release = re.match(r"[0-9.]*", self.version)
        known = self.version != "unknown" and release is not None and release[0] not in self.name
        return f"{self.name} {self.version}" if known else self.name


@dataclass(frozen=True, slots=True)
class Checkout:
    """One fetched source tree. `root` is the folder that canonical paths start at.

    `commit` is known for git alone; `sha256` is the archive's. `release` is the release ("2.6.0") whose source this is
    known to be: the commit is the release's and nothing is modified, or the archive's hash is in the shipped table.
    `version` is what the tree says of itself (version.txt). `project` is "pytorch", else the name of an extension's own
    source that lies beside PyTorch's.
    """

    name: str
    kind: Literal["git", "archive", "folder"]
    root: str
    origin: str  # what it was fetched from, as given
    project: str = "pytorch"
    ref: str | None = None
    commit: str | None = None
    modified: bool = False
    sha256: str | None = None
    release: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class SourceRef:
    """A place in source with its precision; `line` is 1-based, None where unknown.

    `reason` says why the precision is what it is (always set for "unknown" and "ambiguous").
    """

    path: str | None  # the canonical path; null where unknown
    line: int | None  # the first line, from 1; null where unknown
    layer: Layer | None  # what gives the file's text
    precision: Precision  # how the line is known ([precision.md](precision.md))
    end_line: int | None = None  # the last line
    tree: str = "runtime"  # the tree's name, as in `trees`
    url: str | None = None  # a permalink, where the text is certainly that of a commit of PyTorch's repository
    reason: place_reasons.AnyPlaceReason | None = None  # why it is no better; always there for `unknown`, `ambiguous`
    candidates: tuple[SourceRef, ...] = ()  # for `ambiguous`
    outside: str = ""  # of a line outside of torch, the file that Python names for it
