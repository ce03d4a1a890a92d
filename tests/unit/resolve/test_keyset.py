"""KeySets against torch's own DispatchKeySet, on random sets."""

import random

import pytest

from ptexplore.model.operators import DispatchKey
from ptexplore.resolve.keyset import KeySets

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def keys() -> KeySets:
    from ptexplore.probe import torch_api

    found = {name: DispatchKey(name, raw, after) for name, (raw, after) in torch_api.keys().items()}
    return KeySets(found, torch_api.backend_count())


def random_sets(keys: KeySets, count: int):
    chooser = random.Random(7)
    for _ in range(count):
        names = chooser.sample(sorted(keys.keys), chooser.randint(1, 6))
        yield torch._C.DispatchKeySet.from_raw_repr(keys.raw(names))


def test_names_are_those_torch_prints(keys: KeySets) -> None:
    for union in random_sets(keys, 3000):
        printed = repr(union).removeprefix("DispatchKeySet(").removesuffix(")")
        assert sorted(printed.split(", ") if printed else []) == sorted(keys.names(union.raw_repr()))


def test_every_bit_that_torch_names_has_that_name(keys: KeySets) -> None:
    """With a backend, so that the per-backend functionalities are printed, too."""
    cpu = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU).raw_repr() & ((1 << keys.backends) - 1)
    for bit in range(keys.backends, 62):
        printed = repr(torch._C.DispatchKeySet.from_raw_repr(1 << bit | cpu))
        assert f"DispatchKeySet({', '.join(keys.names(1 << bit | cpu))})" == printed


def test_the_thread_excludes_what_torch_prints(keys: KeySets) -> None:
    """All autocast keys are excluded when a process starts: one of them (XLA's) is none of torch's parser's names."""
    excluded = torch._C._dispatch_tls_local_exclude_set()
    assert "AutocastXLA" in keys.show_local(excluded.raw_repr())
    printed = repr(excluded).removeprefix("DispatchKeySet(").removesuffix(")").split(", ")
    assert keys.show_local(excluded.raw_repr()).split(", ") == printed[::-1]


def test_a_bit_without_a_name_is_shown_as_its_number(keys: KeySets) -> None:
    assert keys.names(1 << 62) == ["bit 62"]
    assert keys.show_local(1 << 62) == "bit 62"
    assert keys.highest(1 << 62) == "bit 62"


def test_highest_is_torchs_own(keys: KeySets) -> None:
    compared = 0
    for union in random_sets(keys, 3000):
        try:
            expected = union.highestPriorityTypeId().name
        except Exception:
            continue
        # Not among the enum members that Python knows, or a per-backend functionality without a backend.
        if expected == "???" or expected.startswith("StartOf"):
            continue
        compared += 1
        assert (keys.highest(union.raw_repr()) or "Undefined") == expected
    assert compared > 1000


def test_empty_set_has_no_highest(keys: KeySets) -> None:
    assert keys.highest(0) is None
    assert keys.names(0) == []


def test_without_keeps_backend_bits(keys: KeySets) -> None:
    both = keys.raw(("AutogradCPU", "CPU"))
    assert keys.highest(both) == "AutogradCPU"
    assert keys.highest(keys.without(both, "AutogradCPU")) == "CPU"


def test_after_autograd_leaves_the_backend(keys: KeySets) -> None:
    ks = keys.raw(("AutogradCPU", "ADInplaceOrView", "CPU", "AutocastCPU"))
    assert keys.names(ks & keys.after("AutogradOther")) == ["ADInplaceOrView", "CPU"]


def test_what_is_taken_out_of_a_set_leaves_its_backends(keys: KeySets) -> None:
    """functorch excludes sets that have every backend's bit; torch's own difference keeps those."""
    sets = list(random_sets(keys, 200))
    for one, other in zip(sets, reversed(sets), strict=True):
        assert keys.difference(one.raw_repr(), other.raw_repr()) == (one - other).raw_repr()
