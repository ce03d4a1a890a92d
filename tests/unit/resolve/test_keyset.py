"""KeySets against torch's own DispatchKeySet, on random sets."""

import random

import pytest

from ptexplore.model.operators import DispatchKey
from ptexplore.resolve.keyset import KeySets

torch = pytest.importorskip("torch")


def runtime_keys() -> dict[str, DispatchKey]:
    found = {}
    for line in torch._C._dispatch_dump_table("aten::matmul").splitlines():
        name = line.partition(":")[0]
        try:
            key = torch._C._dispatch_key_parse(name)
        except RuntimeError:
            continue  # torch's parser does not know every runtime key; KeySets completes the table
        after = 0 if key == torch._C.DispatchKey.Undefined else torch._C._dispatch_keyset_full_after(key).raw_repr()
        found[name] = DispatchKey(name, torch._C.DispatchKeySet(key).raw_repr(), after)
    return found


@pytest.fixture(scope="module")
def keys() -> KeySets:
    return KeySets(runtime_keys(), torch._C._dispatch_num_backends())


def random_sets(names: list[str], count: int):
    chooser = random.Random(7)
    for _ in range(count):
        union = torch._C.DispatchKeySet.from_raw_repr(0)
        for name in chooser.sample(names, chooser.randint(1, 6)):
            union = union | torch._C.DispatchKeySet(torch._C._dispatch_key_parse(name))
        yield union


def test_names_are_those_torch_prints(keys: KeySets) -> None:
    for union in random_sets([n for n in keys.keys if n != "Undefined"], 3000):
        printed = repr(union).removeprefix("DispatchKeySet(").removesuffix(")")
        assert sorted(printed.split(", ")) == sorted(keys.names(union.raw_repr()))


def test_highest_is_torchs_own(keys: KeySets) -> None:
    compared = 0
    for union in random_sets([n for n in keys.keys if n != "Undefined"], 3000):
        try:
            expected = union.highestPriorityTypeId().name
        except Exception:
            continue
        if expected == "???":  # not among the enum members that Python knows
            continue
        compared += 1
        assert keys.highest(union.raw_repr()) == expected
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
