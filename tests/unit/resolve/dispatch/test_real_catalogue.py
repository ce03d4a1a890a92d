"""The reasoning on the catalogue of a real torch: key chains that PyTorch's own sources state.

The tables are the binary's. What is expected is written by hand, from native_functions.yaml and torchgen's rules. An
operator with a derivative redispatches below autograd. Views and in-place operators pass ADInplaceOrView. A composite
operator runs under autograd's own key. A factory begins with BackendSelect.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ptexplore.resolve.claims import Context
from ptexplore.resolve.dispatch import operator_calls
from ptexplore.resolve.dispatch.kernel_bodies import FALLBACK, registration_of
from ptexplore.resolve.dispatch.reasoning import reason
from ptexplore.resolve.keyset import KeySets
from ptexplore.resolve.merge import build
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.stubs import Stubs
from ptexplore.store.catalogue.reader import Store
from tests.unit.resolve.making import DEFAULT_INCLUDE, Small, call, event, op, session, tensor, walk

CPU_TENSOR = ("CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU")


@pytest.fixture(scope="module")
def store(warm_cache: Path) -> Iterator[Store]:
    """The catalogue of the torch that is tested with."""
    (path,) = (warm_cache / "catalogue").glob("*.sqlite")
    opened = Store.open(path)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def keys(store: Store) -> KeySets:
    return KeySets(store.keys(), int(store.meta("num_backends") or 0))


TWO = [tensor(7), tensor(7)]


@pytest.mark.parametrize(
    "name, overload, inputs, expected",
    [
        ("aten::add", "Tensor", [*TWO, 1], ["AutogradCPU", "CPU"]),
        ("aten::mul", "Tensor", TWO, ["AutogradCPU", "CPU"]),
        ("aten::add_", "Tensor", [*TWO, 1], ["AutogradCPU", "ADInplaceOrView", "CPU"]),  # it counts the version up
        ("aten::view", "", [tensor(7), None], ["AutogradCPU", "ADInplaceOrView", "CPU"]),
        ("aten::t", "", [tensor(7)], ["AutogradCPU", "ADInplaceOrView", "CPU"]),
        ("aten::matmul", "", TWO, ["AutogradCPU"]),  # CompositeImplicitAutograd; its autocast kernel is off
        ("aten::reshape", "", [tensor(7), None], ["AutogradCPU"]),
        ("aten::empty", "memory_format", [None] * 6, ["BackendSelect", "CPU"]),
        ("aten::sum", "", [tensor(7), None], ["AutogradCPU", "CPU"]),
    ],
)
def test_the_keys_of_a_real_operator(
    small: Small, store: Store, keys: KeySets, name: str, overload: str, inputs: list[object], expected: list[str]
) -> None:
    ran = op(name, overload=overload, inputs=inputs)
    autocast = [key for key in keys.keys if key.startswith("Autocast")]  # off, as a thread starts
    given = call(1, tls_include={"raw": keys.raw(DEFAULT_INCLUDE)}, tls_exclude={"raw": keys.raw(autocast)})
    given["arguments"] = [{"name": "self", "impl": 7, "raw": keys.raw(CPU_TENSOR)}]
    seen = session([ran], dispatch=[event("call", ran, call=1)], calls=[given])
    lookup = Lookup(small.tree, store)
    context = Context(seen, store, small.tree, keys, lookup, Stubs(lookup))
    claims = reason(context, operator_calls.name(context, build(context, ())))
    found = [one for one in walk(claims) if one.hop.kind == "key"]
    assert [one.hop.name for one in found] == expected
    assert {one.hop.status for one in found[:1]} == {"derived"}, "all it follows from was read"


def test_a_registration_is_at_the_line_of_the_entry_that_it_made(store: Store) -> None:
    """For every key of some common operators: the record that is named says the same file and line as the table."""
    compared = 0
    for name in ("aten::add.Tensor", "aten::mm", "aten::view", "aten::sum.dim_IntList", "aten::copy_"):
        for made in store.table(name):
            for key in made.keys:
                record = registration_of(store, name, key, made)
                if record is None:
                    continue
                assert (record.path, record.macro_line) == (made.path, made.line)
                assert not record.inactive
                assert FALLBACK not in made.reason
                compared += 1
    assert compared > 100
