"""The paths of caches, databases and sessions on this user's machine. Nothing is created here."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

import platformdirs


def cache_root() -> Path:
    """The cache folder: PTEXPLORE_CACHE if it is set, else the platform's cache folder."""
    override = os.environ.get("PTEXPLORE_CACHE")
    return _absolute(override) if override else Path(platformdirs.user_cache_dir("ptexplore"))


def data_root() -> Path:
    """The folder for data that cannot be made again: PTEXPLORE_DATA if it is set, else the platform's data folder."""
    override = os.environ.get("PTEXPLORE_DATA")
    return _absolute(override) if override else Path(platformdirs.user_data_dir("ptexplore"))


def config_root() -> Path:
    """The folder for your decisions: PTEXPLORE_CONFIG if it is set, else the platform's folder for settings.

    It is not in the cache, because a cache may be shared, or unpacked from somebody else's archive.
    """
    override = os.environ.get("PTEXPLORE_CONFIG")
    return _absolute(override) if override else Path(platformdirs.user_config_dir("ptexplore"))


@cache
def _absolute(folder: str) -> Path:
    """Returns the absolute path of the folder, relative to the current folder when the name was first read.

    Otherwise a child in another folder would take the name for another place: generated C++ once went into the package
    that way. If the current folder is gone, the name stays as it is and leads nowhere.
    """
    try:
        return Path(os.path.abspath(folder))
    except OSError:
        return Path(folder)


def progress_file() -> Path:
    """The file with the stops that this reader has read, by tour."""
    return data_root() / "progress.json"


def recent_file() -> Path:
    """The file with the place where this reader was last in `browse`."""
    return data_root() / "recent.json"


def marks_file(key: str) -> Path:
    """The file with the places of a set of notes in one tree, so that no search has to place them again."""
    return cache_root() / "notes" / f"{key}.json"


def generated_dir(inputs_key: str) -> Path:
    """The folder of the generated C++ of one set of packaged inputs (`Runtime.inputs_key`)."""
    return cache_root() / "generated" / inputs_key


def catalogue_file(runtime_key: str) -> Path:
    """The SQLite catalogue of one installed torch (`Runtime.key`)."""
    return cache_root() / "catalogue" / f"{runtime_key}.sqlite"


def compiler_cache_dir(version: str) -> Path:
    """The folder of the files that torch.compile writes during `ptexplore compile`, for one version of torch."""
    return cache_root() / "compiler" / version


def checkouts_dir() -> Path:
    """The folder of everything that `fetch` brought: one folder for each name."""
    return cache_root() / "checkouts"


def index_file(tree: str) -> Path:
    """The SQLite index of one tree: "checkout-NAME", or "runtime-KEY" for an installed torch."""
    return cache_root() / "index" / f"{tree}.sqlite"


def read_ahead_file(inputs_key: str) -> Path:
    """The file with rows of generated files that are read before their index is built.

    Environments with the same inputs of the generators share it.
    """
    return cache_root() / "index" / f"generated-{inputs_key}.read-ahead"


def symbols_dir() -> Path:
    """The folder of the function tables of libraries that were stepped through: one file for each build id."""
    return cache_root() / "symbols"


def constants_file(runtime_key: str) -> Path:
    """The constant texts of one installed torch (`Runtime.key`), which error messages are looked up in."""
    return cache_root() / "constants" / f"{runtime_key}.msgpack"


def decompositions_file(runtime_key: str) -> Path:
    """The decomposition tables of one installed torch (`Runtime.key`), and Inductor's lowerings."""
    return cache_root() / "decompositions" / f"{runtime_key}.msgpack"


def kept_traces_dir() -> Path:
    """The newest traces, for `ptexplore trace --last`."""
    return cache_root() / "traces"


def example_trace_file(key: str) -> Path:
    """The trace on the home page of sites that are made with one torch and one source."""
    return cache_root() / "example" / f"{key}.trace.gz"


def site_file(root: str) -> Path:
    """The file that remembers the site in the folder with this real path.

    It decides which files in that folder may be deleted. So it is not in the cache, which may come from somebody else.
    """
    return data_root() / "sites" / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}.json"


def lock_file(target: Path) -> Path:
    """The lock that lets only one process at a time build `target`."""
    return target.with_name(target.name + ".lock")


def trust_file() -> Path:
    """The file with the hashes of other people's code that the user allowed to run."""
    return config_root() / "trusted.json"


def survey_dir(runtime_key: str, phase: str) -> Path:
    """The folder of the saved survey of one installed torch (`Runtime.key`), "forward" or "forward and backward"."""
    return cache_root() / "survey" / f"{runtime_key}-{phase.replace(' ', '-')}"
