"""Combines torchgen's model and the dispatcher's schemas: operators and derivatives with their lines in YAML files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import json

from ptexplore.model.dispatcher import DumpedOperator
from ptexplore.model.operators import Derivative, Operator
from ptexplore.model.torchgen import ModelOperator, TorchgenModel
from ptexplore.source.runtime.generated import MODEL
from ptexplore.source.tree import SourceTree

NATIVE = "aten/src/ATen/native/native_functions.yaml"
DERIVATIVES = "tools/autograd/derivatives.yaml"

_ALIAS = re.compile(r"\w+(?:\[\d*\])?(\([a-z|!*> -]+\))(?:\[\d*\])?\??\s*(\w+)?")


@dataclass
class Model:
    """torchgen's model of the inputs of this torch. Empty if there is none (a source build)."""

    torchgen: TorchgenModel
    yaml_lines: list[str] = field(repr=False)

    @staticmethod
    def of(tree: SourceTree) -> Model:
        """Returns the model that was made together with the generated C++ of `tree`."""
        text = tree.aid(MODEL)
        return Model(json.decode(text, type=TorchgenModel) if text else TorchgenModel(), tree.lines(NATIVE))

    @cached_property
    def by_name(self) -> dict[str, ModelOperator]:
        """torchgen's operators by full name."""
        return {operator.name: operator for operator in self.torchgen.operators}

    @cached_property
    def shared_kernels(self) -> frozenset[str]:
        """Kernels that several operators name. These may be overloads, which have the same name."""
        users: dict[str, set[str]] = {}
        for operator in self.by_name.values():
            for namespace, kernel, _ in operator.kernels.values():
                users.setdefault(f"{namespace}::{kernel}", set()).add(operator.name)
        return frozenset(kernel for kernel, names in users.items() if len(names) > 1)

    def operator(self, raw: DumpedOperator, entry_points: Mapping[str, Mapping[str, tuple[str, int]]]) -> Operator:
        """Returns one operator of the catalogue message, with facts from torchgen and the generated entry points."""
        schema = raw.schema or ""
        known = self.by_name.get(raw.name)
        if known is None:
            return Operator(raw.name, schema, aliases(schema), raw.tags)
        tags = tuple(dict.fromkeys([*raw.tags, *known.tags]))
        places = entry_points.get(known.cpp_name, {})
        call, redispatch = places.get("call"), places.get("redispatch")
        return Operator(
            name=raw.name,
            schema=schema,
            aliases=aliases(schema),
            tags=tags,
            variants=known.variants,
            structured="structured" if known.structured else known.delegate,
            autogen=known.generated,
            yaml_path=NATIVE,
            yaml_line=known.line,
            yaml_end=self.entry_end(known.line),
            cpp_name=known.cpp_name,
            call_path=call[0] if call else None,
            call_line=call[1] if call else None,
            redispatch_line=redispatch[1] if redispatch else None,
            core="core" in tags,
        )

    def entry_end(self, line: int) -> int:
        """Returns the last line of the native_functions.yaml entry that begins on `line`."""
        end = line
        for number in range(line + 1, len(self.yaml_lines) + 1):
            text = self.yaml_lines[number - 1]
            if text.startswith("- "):
                break
            if text.startswith(" ") and text.strip() and not text.lstrip().startswith("#"):
                end = number
        return end

    def derivatives(self, nodes: Mapping[str, tuple[str, int, int]]) -> Iterator[Derivative]:
        """Yields every operator's derivatives. `nodes` are the places of the generated `apply` functions."""
        for op, rows in self.torchgen.derivatives.items():
            for row in rows:
                entry = self.torchgen.entries[row.source_schema]
                path, line, end = nodes.get(row.node or "", (None, None, None))
                yield Derivative(
                    op=op,
                    path=DERIVATIVES,
                    line=entry.line,
                    end_line=entry.end,
                    source_op=row.source_op,
                    formulas=entry.dispatch.get(row.dispatch, ()),
                    node=row.node,
                    apply_path=path,
                    apply_line=line,
                    apply_end=end,
                    matched=row.matched,
                    dispatch=row.dispatch,
                )


def aliases(schema: str) -> tuple[str, ...]:
    """Returns the alias annotations of a schema: "self: (a!)", and "-> (a!)" for returns."""
    arguments, _, returns = schema.rpartition(") -> ")
    marks = [f"{name}: {mark}" for mark, name in _ALIAS.findall(arguments.partition("(")[2]) if name]
    return tuple(marks + [f"-> {mark}" for mark, _ in _ALIAS.findall(returns)])
