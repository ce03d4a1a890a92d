"""The rules of the CUDA allocator give the blocks that the allocator of torch 2.6.0 gave (scripts/cached-blocks)."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")

from ptexplore.probe.cached_blocks import by_cuda, by_rules  # noqa: E402
from ptexplore.probe.judges import cache_case  # noqa: E402

MIB = 1 << 20
RECORDED = [  # steps, and the places that torch 2.6.0+cu124 gave
    (
        [["alloc", "a", 1], ["alloc", "b", 1000], ["alloc", "c", 3 * MIB]],
        [[0, 0, 512], [0, 512, 1024], [1, 0, 3 * MIB]],
    ),
    (  # large blocks are split only if more than 1 MiB remains
        [["alloc", "a", 20 * MIB], ["free", "a"], ["alloc", "b", 19 * MIB], ["free", "b"], ["alloc", "c", 18 * MIB]],
        [[0, 0, 20 * MIB], [0, 0, 20 * MIB], [0, 0, 18 * MIB]],
    ),
    (  # neighbours join when they are free
        [["alloc", "a", 5 * MIB], ["alloc", "b", 5 * MIB], ["free", "a"], ["free", "b"], ["alloc", "c", 9 * MIB]],
        [[0, 0, 5 * MIB], [0, 5 * MIB, 5 * MIB], [0, 0, 9 * MIB]],
    ),
]


@pytest.mark.parametrize(("steps", "places"), RECORDED)
def test_the_rules_give_what_the_allocator_gave(steps: list[list[str | int]], places: list[list[int]]) -> None:
    assert by_rules(steps)[0] == places


def test_equal_blocks_of_two_segments_are_a_tie() -> None:
    steps: list[list[str | int]] = [["alloc", "a", 20 * MIB], ["alloc", "b", 20 * MIB], ["free", "a"], ["free", "b"]]
    assert not by_rules(steps)[1]
    assert by_rules([*steps, ["alloc", "c", 20 * MIB]])[1]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_allocator_of_this_machine_gives_the_same() -> None:
    draw = random.Random(46)
    for _ in range(100):
        steps = cache_case(draw)["steps"]
        assert by_rules(steps)[0] == by_cuda(steps), steps
