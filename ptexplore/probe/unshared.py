"""The memory that this process shares: with its forks until one of them writes, or with other processes.

`unshare` takes memory that a fork shared back at once, and not at the first write to each page.

After a fork, the first write to a page copies the page or takes it back. That costs a microsecond for each page, which
would seem to be the operator's time. Linux from 5.14 on has a call that does this for many pages. Without this call,
the pages are taken back as they are written.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import re
import sys
import weakref
from collections.abc import Iterator

POPULATE_WRITE = 23  # MADV_POPULATE_WRITE (asm-generic/mman-common.h)
NO_RESERVE = 0x4000  # MAP_NORESERVE of Linux: memory is only used once it is written to
MOST = 1 << 24  # pages of a mapping, 64 GB: a larger one is only reserved
LEAST = 8  # adjacent pages that are worth a call
ENTRY = 8  # bytes for a page in /proc/self/pagemap; the highest byte has the flags of the page
SEMAPHORES = "/dev/shm/sem."  # multiprocessing's locks: they hold no tensors
OWN = re.compile(rb"[\x80-\x9f]{%d,}" % LEAST)  # present, not swapped out, of no file and not shared


_ours: weakref.WeakValueDictionary[int, mmap.mmap] = weakref.WeakValueDictionary()


def shared_with_forks(size: int) -> mmap.mmap:
    """Return new memory that this process shares with its forks. Raises OSError or ValueError if there is none."""
    reserve = NO_RESERVE if sys.platform.startswith("linux") else 0
    memory = mmap.mmap(-1, size, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | reserve)
    _ours[ctypes.addressof(ctypes.c_char.from_buffer(memory))] = memory
    return memory


def shares_memory() -> bool:
    """Return whether this process shares writable memory that is not ours: a fork would write to it too."""
    with open("/proc/self/maps") as lines:
        mappings = [line.split(None, 5) for line in lines]
    return any(
        int(place.split("-")[0], 16) not in _ours and not "".join(name).startswith(SEMAPHORES)
        for place, allowed, _, _, _, *name in mappings
        if allowed.startswith("rw") and allowed.endswith("s")
    )


def unshare() -> None:
    """Take back every present page of this process's own memory. The content does not change."""
    advise = ctypes.CDLL(None).madvise
    with contextlib.suppress(OSError):
        for start, size in list(_own_pages()):
            advise(ctypes.c_void_p(start), ctypes.c_size_t(size), POPULATE_WRITE)


def _own_pages() -> Iterator[tuple[int, int]]:
    """Yield where present pages lie, and how many bytes they have."""
    with open("/proc/self/maps") as lines:
        mappings = [line.split(None, 2) for line in lines]
    with open("/proc/self/pagemap", "rb", 0) as pages:
        for place, allowed, _ in mappings:
            if allowed == "rw-p":
                start, end = (int(address, 16) for address in place.split("-"))
                count = min((end - start) // mmap.PAGESIZE, MOST)
                entries = os.pread(pages.fileno(), count * ENTRY, start // mmap.PAGESIZE * ENTRY)
                for run in OWN.finditer(entries[ENTRY - 1 :: ENTRY]):
                    yield start + run.start() * mmap.PAGESIZE, (run.end() - run.start()) * mmap.PAGESIZE
