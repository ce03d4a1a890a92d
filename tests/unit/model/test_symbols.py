"""The table of the dialect's kinds: whole, and in the order that stored files rely on."""

from typing import get_args

from ptexplore.lookup.refs import GROUPS
from ptexplore.model.symbols import DIALECT_KINDS, DialectKind
from ptexplore.source.atlas import DIALECT


def test_every_kind_has_one_entry_and_a_group_that_refs_shows() -> None:
    assert tuple(DIALECT_KINDS) == get_args(DialectKind)
    for kind, traits in DIALECT_KINDS.items():
        assert traits.group in GROUPS, kind
        assert traits.like is None or traits.like in DIALECT_KINDS, kind
        assert traits.tag is None or traits.cpp_name or traits.operator, kind


def test_a_shipped_atlas_reads_its_rows_by_these_numbers() -> None:
    """The atlas files in the package hold kinds as numbers: an order that changes makes them say something else."""
    assert DIALECT[:11] == (
        "library", "def", "impl", "stub-declare", "stub-define", "stub-register", "structured-impl", "structured-meta",
        "method", "pybind", "flag",
    )  # fmt: skip
