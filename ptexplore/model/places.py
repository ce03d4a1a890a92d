"""Places in source: runtimes, trees, checkouts, files, and references to a line with their precision."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ptexplore.model.deferred import Deferred

if TYPE_CHECKING:
    from ptexplore.model import place_reasons as place_reasons  # noqa: PLC0414  (for modules that make places)
else:  # a search makes many places and few reasons, so it should not wait for this import
    place_reasons = Deferred("ptexplore.model.place_reasons")

EXPRESSION = "<expression>"  # the file name of the traced expression, which has one line
TreeRelation = Literal["runtime", "matches", "consistent", "version-skew"]
Layer = Literal["checkout", "generated", "wheel", "atlas"]
Precision = Literal["registered", "located", "consistent", "version-skew", "ambiguous", "unknown"]


@dataclass(frozen=True, slots=True)
class Runtime:
    """An installed torch, described without importing it.

    `build` is "source" if torch runs from the source tree that it was built in: the build folder has the generated
    C++. It is "source" too if torchgen lacks its packaged inputs. Else `build` is "wheel". `key` names everything that
    is cached for this runtime. It is a hash of version, git_version, the packaged inputs and the installation's list of
    files.
    """

    python: str
    python_version: str
    torch_dir: str
    version: str
    git_version: str
    build: Literal["wheel", "source"]
    torchgen_dir: str | None
    packaged_dir: str | None
    accelerators: tuple[str, ...]  # the ones that torch/version.py says torch was built with: "cuda", "hip", "xpu"
    key: str
    inputs_key: str  # hash of only git_version and packaged inputs, which the generated C++ depends on


@dataclass(frozen=True, slots=True)
class FileText:
    """One file of a tree: its canonical path, the layer that has it, its location on disk, and its text.

    `shift` is the number of lines that `file` has before the first line of `text`. Newer wheels wrap installed headers
    in an `#if`; our line numbers are always those of the file in PyTorch's repository.
    """

    path: str
    layer: Layer
    file: str
    text: str
    shift: int = 0


@dataclass(frozen=True, slots=True)
class TreeInfo:
    """A source tree as ptexplore shows it: the runtime tree, or a checkout with its relation to the running torch."""

    name: str  # `runtime`, or the checkout's name
    version: str  # the PyTorch version that the tree declares
    layers: tuple[Layer, ...]  # the sources of its text
    commit: str | None = None  # the commit in PyTorch's repository, if known
    relation: TreeRelation = "runtime"  # how it relates to torch

    @property
    def label(self) -> str:
        """The tree's name and version, without repetition: "v2.6.0", "mine 2.6.0", "runtime 2.13.0"."""
        release = re.match(r"[0-9.]*", self.version)
        known = self.version != "unknown" and release is not None and release[0] not in self.name
        return f"{self.name} {self.version}" if known else self.name


@dataclass(frozen=True, slots=True)
class Checkout:
    """A fetched source tree. `root` is the folder at which canonical paths start.

    `commit` is known only for git; `sha256` is the hash of an archive. `release` ("2.6.0") is set if the source is
    known to be that release: the commit is the release's commit and nothing is modified, or the archive's hash is in
    the shipped table. `version` is the version that the tree declares (version.txt). `project` is "pytorch", or the
    name of an extension whose source lies beside PyTorch's.
    """

    name: str
    kind: Literal["git", "archive", "folder"]
    root: str
    origin: str  # the origin that you gave to fetch
    project: str = "pytorch"
    ref: str | None = None
    commit: str | None = None
    modified: bool = False
    sha256: str | None = None
    release: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class SourceRef:
    """A place in source with its precision. `line` starts at 1; it is None if unknown.

    `reason` says why the precision is not better. It is always set for "unknown" and "ambiguous".
    """

    path: str | None  # the canonical path; null if unknown
    line: int | None  # the first line, from 1; null if unknown
    layer: Layer | None  # the source of the file's text
    precision: Precision  # how well the line is known ([precision.md](precision.md))
    end_line: int | None = None  # the last line
    tree: str = "runtime"  # the name of the tree, as in `trees`
    url: str | None = None  # a permalink, if the text certainly belongs to a commit of PyTorch's repository
    reason: place_reasons.AnyPlaceReason | None = None  # why not more precise; always set if unknown or ambiguous
    candidates: tuple[SourceRef, ...] = ()  # for `ambiguous`: the possible places
    outside: str = ""  # for a line outside of torch: the file as Python names it
