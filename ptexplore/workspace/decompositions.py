"""Opens the decompositions of an installed torch: from the cache, or from a probe that imports Inductor."""

from __future__ import annotations

import contextlib

from msgspec import MsgspecError, msgpack

from ptexplore.locations import cache_root, decompositions_file
from ptexplore.model.decompositions import DECOMPOSITIONS_FORMAT, Decompositions
from ptexplore.model.places import Runtime
from ptexplore.source.tree import folders
from ptexplore.workspace.opening import InstalledTorch, Watch
from ptexplore.writing import keep_whole, kept_bytes

_WHY = "first question about decompositions with this torch: reading its tables and Inductor's lowerings"


def open_decompositions(torch: InstalledTorch, watch: Watch) -> Decompositions:
    """Returns the decomposition tables, lowerings and functions of an installed torch. The first time, it asks a probe.

    A torch that was built from source may change under the same key: a probe is asked each time. If a table could not
    be read, nothing is kept: a package that is installed later may make it readable. Raises PtexploreError if the probe
    fails.
    """
    runtime = torch.runtime
    known = _kept(runtime)
    if known is not None:
        return known
    from ptexplore.capture.decompositions import dump_decompositions
    from ptexplore.catalogue.python_names import located
    from ptexplore.view.words.errors import in_words

    with watch(_WHY) as progress, in_words():
        progress.step("importing torch.export and Inductor", 0.0)
        dumped = dump_decompositions(runtime)
        progress.step("importing torch.export and Inductor", 1.0)
    decompositions = located(dumped, folders(runtime), torch.tree)
    if not decompositions.unknown and runtime.build != "source":
        with contextlib.suppress(OSError):  # without a cache, the tables are read each time
            keep_whole(decompositions_file(runtime.key), msgpack.encode(decompositions), root=cache_root())
    return decompositions


def _kept(runtime: Runtime) -> Decompositions | None:
    if runtime.build == "source":
        return None
    kept = kept_bytes(decompositions_file(runtime.key))
    if kept is not None:
        with contextlib.suppress(MsgspecError, UnicodeDecodeError):
            decompositions = msgpack.decode(kept, type=Decompositions)
            if decompositions.format == DECOMPOSITIONS_FORMAT and _is_whole(decompositions):
                return decompositions
    return None


def _is_whole(decompositions: Decompositions) -> bool:
    """Whether every number belongs to a function: a damaged file must not give another operator's function."""
    numbers = [number for table in decompositions.tables.values() for number in table.values()]
    numbers += [lowering.function for lowering in decompositions.lowerings.values()]
    numbers += [*decompositions.users.values(), *decompositions.refs.values()]
    return all(number is None or 0 <= number < len(decompositions.functions) for number in numbers)
