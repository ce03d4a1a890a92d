"""torchgen's model of the operators of one torch. `probe/torchgen_child.py` writes it beside the generated C++.

`scripts/probe-messages` makes the types of the written data from these records.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ptexplore.model.operators import Formula


class ModelOperator(Struct, frozen=True):
    """An operator of native_functions.yaml, or an operator that torchgen makes from one."""

    name: str  # with its namespace and overload
    schema: str  # as torchgen prints it
    root: str  # its name without namespace and overload, which is also the name of its headers
    line: int  # of its entry in native_functions.yaml, or of the entry that it is made from
    variants: tuple[str, ...]  # `function`, `method`
    structured: bool  # whether its entry says so
    delegate: str | None  # the structured operator that it delegates to
    generated: bool  # whether torchgen makes it
    tags: tuple[str, ...]
    cpp_name: str  # its unique name in C++
    kernels: Mapping[str, tuple[str, str, bool]]  # by dispatch key: namespace, function, whether it is structured


class YamlEntry(Struct, frozen=True):
    """An entry of derivatives.yaml."""

    line: int  # its first line
    end: int  # its last line
    dispatch: Mapping[str, tuple[Formula, ...]]  # its formulas, by dispatch key


class MatchedEntry(Struct, frozen=True):
    """The entry of derivatives.yaml that gives the derivative of an operator, for one dispatch key."""

    dispatch: str  # the key
    source_op: str  # the operator of the entry
    source_schema: str  # the entry's schema, which names the entry
    node: str | None  # the class of the node
    matched: str  # how torchgen matched the entry


class TorchgenModel(Struct, frozen=True):
    """The whole model; empty if there is none (a source build)."""

    format: int = 1
    operators: tuple[ModelOperator, ...] = ()
    structured: Mapping[str, str] = {}  # by operator of a structured group: its meta class
    derivatives: Mapping[str, tuple[MatchedEntry, ...]] = {}  # by operator
    entries: Mapping[str, YamlEntry] = {}  # by schema
