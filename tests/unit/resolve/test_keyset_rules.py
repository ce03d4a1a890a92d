"""What c10/core/DispatchKeySet.h says of sets, on sets small enough to work out by hand; no torch is needed."""

from __future__ import annotations

import pytest

from ptexplore.resolve.keyset import KeySets
from tests.unit.resolve.making import BACKEND, CPU_TENSOR, FUNCTIONALITY, KEYS, bits


@pytest.mark.parametrize(
    "names, expected",
    [
        # Functionality decides first: autograd is above the backends' own keys.
        (("CPU", "AutogradCPU", "ADInplaceOrView"), ["AutogradCPU", "ADInplaceOrView", "CPU"]),
        # Every functionality that is per backend pairs with every backend of the set, the highest backend bit first.
        (("CPU", "CUDA", "AutogradCPU"), ["AutogradCUDA", "AutogradCPU", "CUDA", "CPU"]),
        # Conjugate is no backend's.
        (("Conjugate", "CPU"), ["Conjugate", "CPU"]),
    ],
)
def test_names_from_the_highest(names: tuple[str, ...], expected: list[str]) -> None:
    assert KEYS.names(bits(*names)) == expected
    assert KEYS.highest(bits(*names)) == expected[0]
    assert KEYS.show(bits(*names)) == ", ".join(expected)


def test_a_backend_without_a_functionality_is_no_key() -> None:
    assert KEYS.names(1 << BACKEND["CPU"]) == []
    assert KEYS.highest(1 << BACKEND["CPU"]) is None


def test_a_pair_that_torchs_parser_does_not_know_is_named_as_the_enum_names_it() -> None:
    autograd = 1 << FUNCTIONALITY["AutogradFunctionality"]
    assert "AutogradHIP" not in KEYS.keys
    assert KEYS.highest(autograd | 1 << BACKEND["HIP"]) == "AutogradHIP"


def test_a_functionality_alone_is_named_in_a_thread_local_set_only() -> None:
    """TLS sets hold AutogradFunctionality for any backend; a tensor's set pairs it with its own."""
    autograd = 1 << FUNCTIONALITY["AutogradFunctionality"]
    assert KEYS.show(autograd) == ""
    assert KEYS.show_local(autograd | bits("ADInplaceOrView")) == "AutogradFunctionality, ADInplaceOrView"
    assert KEYS.show_local(bits("AutogradCPU")) == "AutogradCPU", "a set that names a backend is shown as it is"


def test_a_key_is_taken_out_without_its_backend() -> None:
    """DispatchKeySet::remove keeps the backend bits: CPU's kernel is still to come."""
    left = KEYS.without(bits(*CPU_TENSOR), "AutogradCPU")
    assert KEYS.names(left) == ["AutocastCPU", "ADInplaceOrView", "CPU"]
    assert KEYS.without(left, "no such key") == left


@pytest.mark.parametrize(
    "key, left",
    [
        ("AutogradOther", ["ADInplaceOrView", "CPU"]),  # c10::after_autograd_keyset
        ("ADInplaceOrView", ["CPU"]),  # c10::after_ADInplaceOrView_keyset
        ("CPU", []),
        ("no such key", []),
    ],
)
def test_what_is_after_a_key(key: str, left: list[str]) -> None:
    assert KEYS.names(bits(*CPU_TENSOR) & KEYS.after(key)) == left


def test_unknown_names_add_nothing() -> None:
    assert bits("CPU", "no such key") == bits("CPU")
    assert KEYS.functionality("no such key") == 0
    assert KEYS.functionality("SparseCPU") == 1 << FUNCTIONALITY["Sparse"]


def test_an_alias_key_is_in_no_set() -> None:
    """torch writes "Autograd" with no bits: it stands for many runtime keys, and is none."""
    from ptexplore.model.operators import DispatchKey

    with_alias = KeySets({**KEYS.keys, "Autograd": DispatchKey("Autograd", 0, 0)}, KEYS.backends)
    assert with_alias.names(bits(*CPU_TENSOR)) == KEYS.names(bits(*CPU_TENSOR))
