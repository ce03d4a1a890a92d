"""The atlas: names, paths and lines of one pinned PyTorch release, shipped with ptexplore; no source text.

So a bare install already knows where hand-written functions, stubs and registrations stand in that
release. It answers with the records of the source index and by the index's own names, so that what
resolves against an index resolves against an atlas. Whether a line holds for the torch that runs is not decided
here: `commit` and `release` say what the lines are of. `scripts/make-atlas` makes the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ptexplore.errors import MISSING, PtexploreError
from ptexplore.source import atlas_rows
from ptexplore.source.atlas_file import Damaged, PackedFile, pack
from ptexplore.source.atlas_rows import DIALECT, SYMBOLS, Encoder, key, last_part
from ptexplore.symbols import Dialect, Symbol

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "atlas.bin"
SITE = "https://github.com/pytorch/pytorch/blob"


class Atlas:
    """An open atlas. Every method raises PtexploreError (MISSING) when the file turns out to be damaged.

    Records carry what an atlas keeps: a Symbol's `signature` and a Dialect's `text` are "", its C++ type None.
    """

    def __init__(self, path: Path, file: PackedFile) -> None:
        self.path = path
        self._file = file

    @staticmethod
    def open(path: Path = SHIPPED) -> Atlas:
        """The shipped atlas, or the one in `path`; raises PtexploreError (MISSING) where it is not there or damaged."""
        try:
            return Atlas(path, PackedFile(path.read_bytes()))
        except OSError as error:
            raise _broken(path, f"it cannot be read ({error.strerror or error})") from error
        except Damaged as error:
            raise _broken(path, str(error)) from error

    @property
    def release(self) -> str:
        """The release that it is of: "2.6.0"."""
        return self._fact("release")

    @property
    def commit(self) -> str:
        """The commit of that release: what `torch.version.git_version` says where this atlas fits exactly."""
        return self._fact("commit")

    @property
    def counts(self) -> dict[str, int]:
        """How many rows of each kind it holds."""
        return dict(self._file.meta.get("counts", {}))

    def definitions(self, qualified: str) -> list[Symbol]:
        """Every definition of this exact qualified name ("at::native::mul_kernel"), by path and line."""
        return self._symbols([key(qualified)])

    def symbols_named(self, name: str) -> list[Symbol]:
        """Every definition whose name's last part is `name`."""
        with self._whole():
            return self._symbols(list(self._file.section("symbols").starting(f"{name}\t")))

    def symbols_ending(self, suffix: str) -> list[Symbol]:
        """Every definition whose qualified name is `suffix` or ends with "::" and it."""
        rows = self.symbols_named(last_part(suffix))
        return [row for row in rows if row.qualified == suffix or row.qualified.endswith(f"::{suffix}")]

    def names(self, prefix: str, limit: int) -> list[str]:
        """At most `limit` last parts of names that begin with `prefix`, in order."""
        with self._whole():
            lasts = (one.partition("\t")[0] for one in self._file.section("symbols").starting(prefix))
            return list(islice((last for last, _ in groupby(lasts)), limit))

    def outline(self, path: str) -> list[Symbol]:
        """The definitions of one file with the namespaces around them, by line."""
        return [atlas_rows.symbol(path, row) for row in self._get("outline", path) or []]

    def dialect(self, name: str, kinds: Sequence[str] | None = None) -> list[Dialect]:
        """Rows of PyTorch's dialect by name: a stub's declaration, definition, registrations; an operator's lines."""
        rows = self._pointed("dialect-names", name)
        return [row for row in rows if kinds is None or row.kind in kinds]

    def dialect_targeting(self, target_last: str) -> list[Dialect]:
        """Rows whose target's last part is this name: who registers or binds `add_kernel`."""
        return self._pointed("dialect-targets", target_last)

    def dialect_in(self, path: str, line: int | None = None) -> list[Dialect]:
        """Rows of a file; with `line`, those of the macro there: the row itself, or of the block that begins there."""
        rows = [atlas_rows.dialect(path, row) for row in self._get("dialect", path) or []]
        return [row for row in rows if line is None or line in (row.line, row.block)]

    def lines(self, path: str) -> int | None:
        """How many lines `path` has in that release; None where the atlas knows no such file."""
        return self._files.get(path)

    def permalink(self, path: str, line: int | None = None) -> str:
        """The page that shows this place of the release, for people: nothing here ever opens it."""
        return f"{SITE}/{self.commit}/{quote(path)}" + (f"#L{line}" if line else "")

    def everything(self) -> tuple[list[Symbol], list[Dialect]]:
        """All rows, file by file."""
        files = self._paths
        return [s for path in files for s in self.outline(path)], [d for path in files for d in self.dialect_in(path)]

    def _symbols(self, keys: Iterable[str]) -> list[Symbol]:
        places = (place for one in keys for place in self._places("symbols", one))
        with self._whole():
            return [atlas_rows.symbol(path, self._get("outline", path)[row]) for path, row in places]

    def _pointed(self, section: str, name: str) -> list[Dialect]:
        places = self._places(section, name)
        with self._whole():
            return [atlas_rows.dialect(path, self._get("dialect", path)[row]) for path, row in places]

    def _places(self, section: str, name: str) -> list[tuple[str, int]]:
        """(path, number of the row in that file) of everything filed under a name."""
        flat = self._get(section, name) or []
        with self._whole():
            return [(self._paths[path], row) for path, row in zip(flat[::2], flat[1::2], strict=True)]

    def _fact(self, name: str) -> str:
        return str(self._file.meta.get(name, ""))

    def _get(self, section: str, key: str) -> Any:
        with self._whole():
            return self._file.section(section).get(key)

    @cached_property
    def _files(self) -> dict[str, int]:
        """Every path and its number of lines, in order."""
        with self._whole():
            return dict(self._file.tables()["files"])

    @cached_property
    def _paths(self) -> list[str]:
        return list(self._files)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Damage that shows while reading becomes the error that users see."""
        try:
            yield
        except (Damaged, KeyError, TypeError, ValueError, IndexError) as error:
            raise _broken(self.path, str(error)) from error


def _broken(path: Path, why: str) -> PtexploreError:
    hint = "pip install --force-reinstall --no-deps ptexplore"
    return PtexploreError(f"the atlas {path.name} cannot be used", why, hint, MISSING)


def kept(symbols: Iterable[Symbol], dialect: Iterable[Dialect]) -> tuple[list[Symbol], list[Dialect]]:
    """What an atlas keeps of an index, in the order of its file: named definitions, and rows but those of YAML."""
    definitions = {row for row in symbols if row.role == "definition" and row.kind in SYMBOLS and row.name}
    rows = {row for row in dialect if row.kind in DIALECT}
    return (
        sorted(definitions, key=lambda row: (row.path, row.line, repr(row))),
        sorted(rows, key=lambda row: (row.path, row.line, repr(row))),
    )


def write(
    release: str, commit: str, files: dict[str, int], symbols: Iterable[Symbol], dialect: Iterable[Dialect]
) -> bytes:
    """The bytes of an atlas; the same rows in any order give the same bytes.

    files: every path and its number of lines. What an atlas does not keep is left out (see `kept`).
    """
    definitions, rows = kept(symbols, dialect)
    encoder = Encoder(files)
    sections: dict[str, dict[str, Any]] = {**encoder.symbols(definitions), **encoder.dialect(rows)}
    counts: dict[str, int] = {"files": len(files), "symbols": len(definitions)}
    for kind in DIALECT:
        counts[kind] = sum(row.kind == kind for row in rows)
    return pack({"release": release, "commit": commit, "counts": counts}, {"files": sorted(files.items())}, sections)
