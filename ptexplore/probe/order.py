"""The order in which calls were made, in packed form, with a hash of all names."""

from __future__ import annotations

import hashlib
import struct
import zlib


class Order:
    """The numbers of rows, in the order of their calls. `numbers` belong to the profile that is folded now."""

    __slots__ = ("_packed", "_packer", "count", "numbers")

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._packed: list[bytes] = []
        self._packer = zlib.compressobj(6)
        self.count = 0  # how many numbers are packed

    def pack(self) -> None:
        """Pack the numbers of the last profile. The last step is one assignment: an exception leaves the old state."""
        packer = self._packer.copy()
        packed = packer.compress(struct.pack(f"<{len(self.numbers)}I", *self.numbers))
        self._packer, self._packed, self.count, self.numbers = (
            packer, [*self._packed, packed] if packed else self._packed, self.count + len(self.numbers), []
        )  # fmt: skip

    def data(self) -> bytes:
        """Returns the whole order, packed. It may be called again."""
        return b"".join(self._packed) + self._packer.copy().flush()


class MetNames:
    """The names of operators and nodes, in the order in which they were folded: a hash of all, and their number.

    `latest` has the names of the profile that is folded now.
    """

    __slots__ = ("_digest", "count", "latest")

    def __init__(self) -> None:
        self._digest = hashlib.sha1(usedforsecurity=False)
        self.count = 0
        self.latest: list[str] = []

    def add_latest(self) -> None:
        """Add the names of a folded profile to the hash."""
        self._digest.update("".join(self.latest).encode(errors="replace"))
        self.count, self.latest = self.count + len(self.latest), []

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()
