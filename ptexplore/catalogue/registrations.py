"""Turns dump records that point into generated files into registrations: verified, with body, redispatch and target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ptexplore.catalogue.bodies import BodyFacts
from ptexplore.catalogue.facts import RegisteredFunction
from ptexplore.index.dialect.confirm import confirm
from ptexplore.model.operators import DumpRecord, Registration
from ptexplore.model.places import place_reasons
from ptexplore.model.symbols import Dialect

if TYPE_CHECKING:
    from ptexplore.model.codes import Reason
    from ptexplore.model.torchgen import TorchgenModel


@dataclass(frozen=True, slots=True)
class Kernels:
    """Facts from torchgen's model: (op, key) -> qualified name of the kernel, and op -> its structured meta class."""

    native: dict[tuple[str, str], str]
    meta: dict[str, str]

    @staticmethod
    def of(model: TorchgenModel) -> Kernels:
        """Reads torchgen's model as written by probe/torchgen_child.py."""
        native = {
            (operator.name, key): f"{namespace}::{kernel}"
            for operator in model.operators
            for key, (namespace, kernel, is_structured) in operator.kernels.items()
            if not is_structured
        }
        return Kernels(native, dict(model.structured))


def registrations_of(
    path: str,
    records: Iterable[DumpRecord],
    rows: Sequence[Dialect],
    functions: Mapping[int, RegisteredFunction],
    kernels: Kernels,
) -> list[Registration]:
    """Returns one registration for each record that names the file at `path`, in order.

    `rows` has the rows of its blocks.
    """
    libraries: dict[int, list[Dialect]] = defaultdict(list)
    entries: dict[tuple[int | None, str], list[Dialect]] = defaultdict(list)
    for row in rows:
        if row.kind == "library":
            libraries[row.line].append(row)
        else:
            entries[row.block, row.name].append(row)
    registrations = []
    for record in records:
        block = libraries.get(record.line or 0, [])
        own, why_not = confirm(record, [*block, *entries.get((record.line, record.op), ())])
        registration = _plain(record, path, own, why_not)
        if own is not None and own.kind == "impl":
            registration = replace(registration, **_function(record, path, functions[own.line], kernels))
        registrations.append(registration)
    return registrations


def missing(record: DumpRecord, path: str) -> Registration:
    """Returns the registration of a record whose file is not in the tree."""
    return _plain(record, path, None, place_reasons.NotRegenerated(path))


def _plain(record: DumpRecord, path: str, row: Dialect | None, why_not: Reason | None) -> Registration:
    return Registration(
        op=record.op,
        key=record.key,
        alias=record.alias,
        inactive=record.inactive,
        fallthrough=record.fallthrough,
        origin="generated",
        path=path,
        macro_line=record.line,
        op_line=row.line if row else None,
        confirmed=row is not None,
        why_not=why_not,
        signature=record.signature,
        callee=row.text if row is not None and row.kind == "impl" else None,
    )


def _function(record: DumpRecord, path: str, function: RegisteredFunction, kernels: Kernels) -> dict[str, Any]:
    """Returns the facts about the function that runs, as fields of a Registration."""
    if function.name is None:
        return {"body_why": "factory"}
    if function.count is None:
        return {"wrapper": function.name, "body_why": "handwritten"}
    if function.body is None:
        return {"wrapper": function.name, "body_why": "not-one"}
    return {
        "wrapper": function.name,
        "body_path": path,
        "body_line": function.line,
        "body_end": function.end_line,
        "redispatch": function.body.redispatch,
        "guard": function.body.guard,
        **_target(record, function.body, function.base, kernels),
    }


def _target(record: DumpRecord, body: BodyFacts, base: str | None, kernels: Kernels) -> dict[str, Any]:
    """Returns the hand-written function that the body calls: the one that torchgen's model expects, or the only one."""
    if body.structured is not None:
        return _structured(record, body, base, kernels)
    expected = kernels.native.get((record.op, record.key or ""))
    if expected in body.natives:
        return {"target": expected, "target_kind": "native"}
    if expected is None and len(body.natives) == 1:
        return {"target": body.natives[0], "target_kind": "native"}
    return {} if body.natives or expected else {"target_kind": "none"}


def _structured(record: DumpRecord, body: BodyFacts, base: str | None, kernels: Kernels) -> dict[str, Any]:
    """Returns the targets of a structured kernel:

    `op.impl` is of the base class in at::native, `op.meta` of the meta class.
    """
    if base is None:
        return {}
    if "::meta::" in base:
        return {"target_kind": "meta", "target_meta": f"{base}::meta" if body.calls_meta else None}
    meta = kernels.meta.get(record.op)
    return {
        "target_kind": "structured",
        "target": f"{base}::impl" if body.calls_impl else None,
        "target_meta": f"{meta}::meta" if meta and body.calls_meta else None,
    }
