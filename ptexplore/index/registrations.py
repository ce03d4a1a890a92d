"""Dump records that point into one generated file -> registrations: verified, with body, redispatch and target."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from ptexplore.index.blocks import Block, blocks_of
from ptexplore.index.bodies import Body, read_body
from ptexplore.index.scan import Definition, ScannedFile
from ptexplore.index.verify import Verdict, verify
from ptexplore.model import DumpRecord, Registration

_FUNCTION = re.compile(r"TORCH_FN\(\s*([\w:]+)\s*\)?$")
_CAST = re.compile(r"static_cast<.*>\(\s*&?([\w:]+)\s*\)?$")
_BASE = re.compile(r"\bpublic\s+(at::(?:native|meta)::structured_\w+)")

HANDWRITTEN_BODY = "hand-written C++ is not in the wheel"
FACTORY = "a hand-written factory makes the kernel"


@dataclass(frozen=True, slots=True)
class Kernels:
    """What torchgen's model knows: (op, key) -> kernel's qualified name, and op -> its structured meta class."""

    native: dict[tuple[str, str], str]
    meta: dict[str, str]

    @staticmethod
    def of(model: dict[str, Any]) -> Kernels:
        """Read from torchgen's model as probe/torchgen_model.py writes it."""
        native = {
            (operator["name"], key): f"{namespace}::{kernel}"
            for operator in model.get("operators", ())
            for key, (namespace, kernel, is_structured) in operator["kernels"].items()
            if not is_structured
        }
        return Kernels(native, dict(model.get("structured", {})))


def registrations_of(file: ScannedFile, records: Iterable[DumpRecord], kernels: Kernels) -> list[Registration]:
    """One registration per record that names `file`, in order."""
    reader = _Reader(file, kernels)
    return [reader.read(record) for record in records]


def missing(record: DumpRecord, path: str) -> Registration:
    """The registration of a record whose file is not in the tree."""
    return _plain(record, path, Verdict(False, f"{path} was not regenerated"))


def _plain(record: DumpRecord, path: str, verdict: Verdict) -> Registration:
    return Registration(
        op=record.op,
        key=record.key,
        alias=record.alias,
        inactive=record.inactive,
        fallthrough=record.fallthrough,
        origin="generated",
        path=path,
        macro_line=record.line,
        op_line=verdict.entry.line if verdict.entry else None,
        confirmed=verdict.confirmed,
        why_not=verdict.why_not,
        signature=record.signature,
        callee=verdict.entry.callee if verdict.entry else None,
    )


class _Reader:
    """One generated file: its blocks, and the bodies already read."""

    def __init__(self, file: ScannedFile, kernels: Kernels) -> None:
        self.file = file
        self.kernels = kernels
        self.blocks = blocks_of(file)
        self.bodies: dict[int, Body] = {}

    def read(self, record: DumpRecord) -> Registration:
        verdict = verify(record, self.blocks)
        registration = _plain(record, self.file.path, verdict)
        if verdict.block is None or registration.callee is None:
            return registration
        return replace(registration, **self._wrapper(record, verdict.block, registration.callee))

    def _wrapper(self, record: DumpRecord, block: Block, callee: str) -> dict[str, Any]:
        """What `callee`, the text m.impl registers, says of the function that runs."""
        function = _FUNCTION.match(callee)
        if function is None:
            cast = _CAST.match(callee)
            return {"wrapper": cast[1], "body_why": HANDWRITTEN_BODY} if cast else {"body_why": FACTORY}
        name = function[1]
        found = lookup(self.file, block.definition, name, "function")
        if len(found) != 1:
            how_often = f"{name} is defined {len(found)} times in" if found else f"{name} is not defined in"
            return {"wrapper": name, "body_why": f"{how_often} {self.file.path}"}
        definition = found[0]
        body = self.bodies.get(definition.start)
        if body is None:
            body = self.bodies[definition.start] = read_body(self.file.body(definition))
        return {
            "wrapper": definition.qualified,
            "body_path": self.file.path,
            "body_line": definition.line,
            "body_end": definition.end,
            "redispatch": body.redispatch,
            "guard": body.guard,
            **self._target(record, definition, body),
        }

    def _target(self, record: DumpRecord, definition: Definition, body: Body) -> dict[str, Any]:
        """The hand-written function the body calls: what torchgen's model expects there, or the only one."""
        if body.structured is not None:
            return self._structured(record, definition, body)
        expected = self.kernels.native.get((record.op, record.key or ""))
        if expected in body.natives:
            return {"target": expected, "target_kind": "native"}
        if expected is None and len(body.natives) == 1:
            return {"target": body.natives[0], "target_kind": "native"}
        return {} if body.natives or expected else {"target_kind": "none"}

    def _structured(self, record: DumpRecord, definition: Definition, body: Body) -> dict[str, Any]:
        """`op.impl` is the base class's when that is at::native's; `op.meta` is the meta class's either way."""
        classes = lookup(self.file, definition, body.structured or "", "class")
        base = _BASE.search(classes[0].head) if len(classes) == 1 else None
        if base is None:
            return {}
        if "::meta::" in base[1]:
            return {"target_kind": "meta", "target_meta": f"{base[1]}::meta" if body.calls_meta else None}
        meta = self.kernels.meta.get(record.op)
        return {
            "target_kind": "structured",
            "target": f"{base[1]}::impl" if body.calls_impl else None,
            "target_meta": f"{meta}::meta" if meta and body.calls_meta else None,
        }


def lookup(file: ScannedFile, near: Definition, name: str, kind: Literal["function", "class"]) -> list[Definition]:
    """The definitions that `name`, written in the scope of `near`, can mean: those of the innermost scope that has any.

    Anonymous and inline namespaces are looked through, as the compiler does.
    """
    named = [one for one in file.by_name.get(name.rsplit("::", 1)[-1], []) if one.kind == kind]
    scope = [part for part in near.scope if part]
    for depth in range(len(scope), -1, -1):
        wanted = "::".join([*scope[:depth], name])
        found = [one for one in named if one.qualified == wanted]
        if found:
            return found
    return []
