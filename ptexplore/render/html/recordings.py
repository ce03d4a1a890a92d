"""The recordings on a site that are no traces: runs of torch.compile and of lower, autograd graphs, tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from ptexplore.render.html.compiles import Compiles
from ptexplore.render.html.graphs import GraphPages
from ptexplore.render.html.lowers import Lowers
from ptexplore.render.html.output import Output
from ptexplore.render.html.tensors import TensorPages
from ptexplore.view.site.site import Site
from ptexplore.workspace.site_contents import SiteContents

Listed: TypeAlias = Mapping[str, Sequence[tuple[str, str, str]]]  # by heading: the title, URL and version of torch
NONE: Listed = MappingProxyType({})


class Recordings:
    """The writer of these recordings."""

    def __init__(self, site: Site, out: Output, contents: SiteContents) -> None:
        self._compiles = Compiles(site, out, contents.compiles)
        self._lowers = Lowers(site, out, contents.lowers)
        self._graphs = GraphPages(site, out, contents.graphs)
        self._tensors = TensorPages(site, out, contents.tensors)
        self.listed: Listed = {
            "torch.compile": self._compiles.listed(),
            "Lowering": self._lowers.listed(),
            "Autograd graphs": self._graphs.listed(),
            "Tensors in memory": self._tensors.listed(),
        }

    def write(self) -> None:
        """Write the page of each recording."""
        self._compiles.write()
        self._lowers.write()
        self._graphs.write()
        self._tensors.write()
