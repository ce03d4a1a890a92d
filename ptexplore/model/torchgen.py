"""torchgen's model of one torch's operators: what `probe/torchgen_child.py` writes beside the generated C++.

`scripts/probe-messages` makes the types of what is written from these records.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ptexplore.model.operators import Formula


class ModelOperator(Struct, frozen=True):
    """An operator of native_functions.yaml, or one that torchgen makes of one."""

    name: str  # with its namespace and overload
    schema: str  # as torchgen prints it
    root: str  # its name without namespace and overload: that of its headers
    line: int  # of its entry in native_functions.yaml; of one that is made, of the entry that it is made from
    variants: tuple[str, ...]  # `function`, `method`
    structured: bool  # whether its entry says so
    delegate: str | None  # the structured operator that it delegates to
    generated: bool  # whether torchgen makes it
    tags: tuple[str, ...]  # its tags
    cpp_name: str  # its name in C++, of which there is one
    kernels: Mapping[str, tuple[str, str, bool]]  # by dispatch key: namespace, function, whether it is structured


class YamlEntry(Struct, frozen=True):
    """An entry of derivatives.yaml."""

    line: int  # its first line
    end: int  # its last line
    dispatch: Mapping[str, tuple[Formula, ...]]  # its formulas, by dispatch key


class MatchedEntry(Struct, frozen=True):
    """The entry of derivatives.yaml that an operator has its derivative from, for one dispatch key."""

    dispatch: str  # the key
    source_op: str  # the operator that the entry is written for
    source_schema: str  # its schema, which names the entry
    node: str | None  # the class of the node
    matched: str  # how torchgen came to it


class TorchgenModel(Struct, frozen=True):
    """All of it; empty where there is none (a source build)."""

    format: int = 1
    operators: tuple[ModelOperator, ...] = ()
    structured: Mapping[str, str] = {}  # by operator of a structured group: its meta class
    derivatives: Mapping[str, tuple[MatchedEntry, ...]] = {}  # by operator
    entries: Mapping[str, YamlEntry] = {}  # by schema
