"""The blocks of the CUDA caching allocator: the real one where CUDA is, and the rules of 2.6.0 in Python elsewhere.

Source of the rules: `c10/cuda/CUDACachingAllocator.cpp`. They hold for one stream and default settings.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

SMALLEST = 512  # bytes of the smallest block; sizes are multiples of it
SMALL = 1 << 20  # the largest request of the small pool
SMALL_SEGMENT = 2 << 20
LARGE_SEGMENT = 20 << 20
LARGE = 10 << 20  # from here on a segment of its own
ROUNDED = 2 << 20  # the sizes of such segments are multiples of it

Step = list[str | int]  # ["alloc", name, bytes] or ["free", name]
Place = list[int]  # segment, offset in it, size of the block


@dataclass
class CachedBlock:
    """A part of a segment. `name` is the name of its allocation, None if the block is free."""

    offset: int
    size: int
    name: str | None = None


class BlockRules:
    """Segments of blocks, by the rules. `is_tied` says whether blocks of equal size in two segments were candidates."""

    def __init__(self) -> None:
        self.segments: list[list[CachedBlock]] = []
        self._is_small: list[bool] = []
        self.is_tied = False

    def alloc(self, name: str, asked: int) -> Place:
        """Returns the place of a new block."""
        size = -(-max(asked, 1) // SMALLEST) * SMALLEST
        is_small = size <= SMALL
        number = self._best_fit(size, is_small)
        if number is None:
            number = len(self.segments)
            length = SMALL_SEGMENT if is_small else LARGE_SEGMENT if size < LARGE else -(-size // ROUNDED) * ROUNDED
            self.segments.append([CachedBlock(0, length)])
            self._is_small.append(is_small)
        segment = self.segments[number]
        _, place = min(
            (block.size, at) for at, block in enumerate(segment) if block.name is None and block.size >= size
        )
        block = segment[place]
        rest = block.size - size
        if rest >= SMALLEST if is_small else rest > SMALL:
            segment.insert(place + 1, CachedBlock(block.offset + size, rest))
            block.size = size
        block.name = name
        return [number, block.offset, block.size]

    def _best_fit(self, size: int, is_small: bool) -> int | None:
        """Returns the segment with the smallest free block that is large enough."""
        fitting = [
            (block.size, number)
            for number, segment in enumerate(self.segments)
            for block in segment
            if self._is_small[number] == is_small and block.name is None and block.size >= size
        ]
        if not fitting:
            return None
        smallest = min(fitting)
        self.is_tied |= len({number for length, number in fitting if length == smallest[0]}) > 1
        return smallest[1]

    def free(self, name: str) -> None:
        """Frees a block, and joins it with free neighbours."""
        for segment in self.segments:
            for block in segment:
                if block.name == name:
                    block.name = None
            for place in range(len(segment) - 1, 0, -1):
                if segment[place].name is None and segment[place - 1].name is None:
                    segment[place - 1].size += segment.pop(place).size


def by_rules(steps: list[Step]) -> tuple[list[Place], bool]:
    """Returns the place of each allocation, and whether one was chosen among equals in different segments."""
    rules = BlockRules()
    places = []
    for kind, name, *asked in steps:
        if kind == "alloc":
            places.append(rules.alloc(str(name), int(asked[0])))
        else:
            rules.free(str(name))
    return places, rules.is_tied


def by_cuda(steps: list[Step]) -> list[Place]:
    """Returns the same from the allocator of the installed torch. Needs a CUDA device."""
    torch.cuda.empty_cache()
    pointers: dict[str, int] = {}
    segments: list[int] = []  # addresses, in the order in which they came
    places = []
    for kind, name, *asked in steps:
        if kind == "free":
            torch.cuda.caching_allocator_delete(pointers.pop(str(name)))
            continue
        address = torch.cuda.caching_allocator_alloc(int(asked[0]))
        pointers[str(name)] = address
        for segment in torch.cuda.memory_snapshot():
            start = segment["address"]
            if start <= address < start + segment["total_size"]:
                if start not in segments:
                    segments.append(start)
                offset = start
                for block in segment["blocks"]:
                    if offset == address:
                        places.append([segments.index(start), address - start, block["size"]])
                    offset += block["size"]
    for address in pointers.values():
        torch.cuda.caching_allocator_delete(address)
    return places


RULES_OF = "2.6.0"


def rules_of() -> str:
    """Returns the release whose rules `placed` uses here; "" if it asks the real allocator."""
    return "" if torch.cuda.is_available() else RULES_OF


def placed(steps: list[Step]) -> list[Place]:
    """Returns the place of each allocation: from the real allocator if this machine has CUDA, else by the rules."""
    return by_rules(steps)[0] if rules_of() else by_cuda(steps)
