"""torchgen's model and the dispatcher's schemas -> operators and derivatives, with their lines in the YAML files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ptexplore.model.operators import Derivative, Formula, Operator
from ptexplore.source.runtime.generated import MODEL
from ptexplore.source.tree import SourceTree

NATIVE = "aten/src/ATen/native/native_functions.yaml"
DERIVATIVES = "tools/autograd/derivatives.yaml"

_ALIAS = re.compile(r"\w+(?:\[\d*\])?(\([a-z|!*> -]+\))(?:\[\d*\])?\??\s*(\w+)?")


@dataclass
class Model:
    """torchgen's model of the target's own inputs; empty where there is none (a source build)."""

    data: dict[str, Any]
    yaml_lines: list[str] = field(repr=False)

    @staticmethod
    def of(tree: SourceTree) -> Model:
        """The model made along with the generated C++ of `tree`."""
        text = tree.aid(MODEL)
        return Model(json.loads(text) if text else {}, tree.lines(NATIVE))

    @cached_property
    def by_name(self) -> dict[str, dict[str, Any]]:
        """torchgen's operators by full name."""
        return {operator["name"]: operator for operator in self.data.get("operators", ())}

    @cached_property
    def shared_kernels(self) -> frozenset[str]:
        """Kernels that several operators name: overloads, perhaps, which a name alone does not tell apart."""
        users: dict[str, set[str]] = {}
        for operator in self.by_name.values():
            for namespace, kernel, _ in operator["kernels"].values():
                users.setdefault(f"{namespace}::{kernel}", set()).add(operator["name"])
        return frozenset(kernel for kernel, names in users.items() if len(names) > 1)

    def operator(self, raw: Mapping[str, Any], entry_points: Mapping[str, Mapping[str, tuple[str, int]]]) -> Operator:
        """One operator of the catalogue message, with what torchgen and the generated entry points add."""
        schema = str(raw.get("schema") or "")
        known = self.by_name.get(raw["name"])
        if known is None:
            return Operator(raw["name"], schema, aliases(schema), tuple(raw.get("tags") or ()))
        tags = tuple(dict.fromkeys([*(raw.get("tags") or ()), *known["tags"]]))
        places = entry_points.get(known["cpp_name"], {})
        call, redispatch = places.get("call"), places.get("redispatch")
        return Operator(
            name=raw["name"],
            schema=schema,
            aliases=aliases(schema),
            tags=tags,
            variants=tuple(known["variants"]),
            structured="structured" if known["structured"] else known["delegate"],
            autogen=known["generated"],
            yaml_path=NATIVE,
            yaml_line=known["line"],
            yaml_end=self.entry_end(known["line"]),
            cpp_name=known["cpp_name"],
            call_path=call[0] if call else None,
            call_line=call[1] if call else None,
            redispatch_line=redispatch[1] if redispatch else None,
            core="core" in tags,
        )

    def entry_end(self, line: int) -> int:
        """The last line of the native_functions.yaml entry that begins on `line`."""
        end = line
        for number in range(line + 1, len(self.yaml_lines) + 1):
            text = self.yaml_lines[number - 1]
            if text.startswith("- "):
                break
            if text.startswith(" ") and text.strip() and not text.lstrip().startswith("#"):
                end = number
        return end

    def derivatives(self, nodes: Mapping[str, tuple[str, int, int]]) -> Iterator[Derivative]:
        """Every operator's derivatives; `nodes` are the places of the generated applies."""
        entries = self.data.get("entries", {})
        for op, rows in self.data.get("derivatives", {}).items():
            for row in rows:
                entry = entries[row["source_schema"]]
                formulas = entry["dispatch"].get(row["dispatch"], [])
                path, line, end = nodes.get(row["node"] or "", (None, None, None))
                yield Derivative(
                    op=op,
                    path=DERIVATIVES,
                    line=entry["line"],
                    end_line=entry["end"],
                    source_op=row["source_op"],
                    formulas=tuple(Formula(f["inputs"], f["line"], f["text"], tuple(f["calls"])) for f in formulas),
                    node=row["node"],
                    apply_path=path,
                    apply_line=line,
                    apply_end=end,
                    matched=row["matched"],
                    dispatch=row["dispatch"],
                )


def aliases(schema: str) -> tuple[str, ...]:
    """The alias annotations of a schema, "self: (a!)"; of returns, "-> (a!)"."""
    arguments, _, returns = schema.rpartition(") -> ")
    marks = [f"{name}: {mark}" for mark, name in _ALIAS.findall(arguments.partition("(")[2]) if name]
    return tuple(marks + [f"-> {mark}" for mark, _ in _ALIAS.findall(returns)])
