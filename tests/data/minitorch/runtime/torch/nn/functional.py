"""The functional interface of minitorch."""

import functools


def described(function, text):
    return function


blend = described(torch._C._nn.blend, "blends two tensors")
mirror = described(torch._C._nn.mirror, "mirrors one")
mirror = described(torch._C._nn.mirror_again, "mirrors one again")


@functools.wraps(blend)
@functools.lru_cache(
    maxsize=1
)
def folded(input):
    return input


async def awaited(input):
    return input
