"""From a session to its Trail: the list of passes, in order, and nothing else."""

from __future__ import annotations

from ptexplore.index.dump import parse_table
from ptexplore.model import Session, TableEntry, Trail
from ptexplore.resolve import autograd, calls, dispatching, findings, merge, operators, places
from ptexplore.resolve.claims import Claim, Context, Pass, number
from ptexplore.resolve.keyset import KeySets
from ptexplore.resolve.lookup import Lookup
from ptexplore.resolve.native import join
from ptexplore.resolve.stubs import Stubs
from ptexplore.source.canonical import Folders, recorded_path

PASSES: tuple[Pass, ...] = (
    merge.build,
    calls.attach,
    operators.name,
    places.bindings,
    places.frames,
    dispatching.reason,
    autograd.link,
    findings.report,
    join.join,
)


def resolve(session: Session, lookup: Lookup) -> Trail:
    """Conclude what ran from what was seen. Pure: reads catalogue, trees and indexes, runs nothing, needs no torch."""
    store, tree = lookup.store, lookup.tree
    keys = KeySets(store.keys(), int(store.meta("num_backends") or 0))
    context = Context(session, store, tree, keys, lookup, Stubs(lookup), changed=_changed(session))
    claims: tuple[Claim, ...] = ()
    for step in PASSES:
        claims = step(context, claims)
    return Trail(
        expression=session.expression,
        bound={b["name"]: str(b["description"]) for b in session.bound},
        torch=session.torch,
        trees=lookup.infos,
        captured=session.captured,
        result=session.result,
        findings=tuple(dict.fromkeys(context.findings)),
        hops=number(claims),
    )


def _changed(session: Session) -> dict[str, list[TableEntry]]:
    """Tables of operators whose registrations the traced process changed, as it had them."""
    where = Folders(str(session.torch.get("torch_dir", "")))
    return {
        o.data["op"]: parse_table(o.data["op"], o.data["table"], lambda file: recorded_path(file, where))
        for o in session.observations
        if o.kind == "table"
    }
