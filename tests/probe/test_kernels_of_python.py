"""What a kernel that Python registered is called, and where its code is: beneath its decorators and partials."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial, wraps

from ptexplore.probe.catalogue import beneath, place_of, qualname_of


def kernel(x: int, *, scale: int = 1) -> int:
    return x * scale


def decorated(function: Callable[..., int]) -> Callable[..., int]:
    @wraps(function)
    def inner(*arguments: int) -> int:
        return function(*arguments)

    return inner


def test_a_partial_is_the_function_that_it_calls() -> None:
    """As torch._prims makes its meta functions."""
    for callable_ in (partial(kernel, scale=2), decorated(partial(partial(kernel, scale=2), 1))):
        found = beneath(callable_)
        place = place_of(callable_)
        assert found is kernel
        assert place is not None
        assert (qualname_of(found), place[0]) == ("kernel", __file__)


def test_what_wraps_a_function_without_code_has_its_own_name() -> None:
    """As torch._refs makes `view_copy` of aten's view, which is a builtin: `wraps` gives it that one's name."""
    found = beneath(decorated(max))
    assert found.__qualname__ == "max"
    assert qualname_of(found).endswith("inner")
    assert place_of(found) is not None


def test_what_has_no_code_is_named_by_its_class_and_has_no_place() -> None:
    class Kernel:
        def __call__(self) -> None: ...

    assert qualname_of(beneath(Kernel())).endswith("Kernel object")
    assert place_of(Kernel()) is None
    assert place_of(functools.reduce) is None


def test_decorators_that_name_one_another_in_a_circle_end() -> None:
    one, other = decorated(kernel), decorated(kernel)
    one.__wrapped__, other.__wrapped__ = other, one  # type: ignore[attr-defined]
    assert beneath(one) in (one, other)
