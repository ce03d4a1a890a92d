"""Finds the operators with a kernel for a dispatch key, and those without: for somebody who brings a backend.

Read from the dispatch tables of the running torch, and from the `dispatch` lines of native_functions.yaml.
"""

from __future__ import annotations

import difflib
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.coverage import STATES, Has, KeyCoverage, OperatorAtKey, Side
from ptexplore.model.operators import Operator, TableEntry
from ptexplore.resolve.dispatch.kernel_bodies import kernel_body, registration_of
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.precision import in_runtime
from ptexplore.view.card import COMMON
from ptexplore.view.yaml_kernels import YamlKernels

OF_SIDE: Mapping[Side, frozenset[Has]] = {
    "has": frozenset({"own", "alias", "yaml"}),
    "missing": frozenset({"fallback", "fallthrough", "none"}),  # composite kernels need none for the key
}
_REASONS: Mapping[str, Has] = {  # the dispatcher's own words, OperatorEntry::computeDispatchTableEntryWithDebug
    "kernel": "own",
    "default backend kernel": "explicit",
    "math kernel": "implicit",
    "backend fallback": "fallback",
    "autograd kernel": "alias",
    "nested kernel": "alias",
    "batched kernel": "alias",
}
_ELSEWHERE = (*COMMON, "MPS", "XPU", "SparseCUDA", "SparseCsrCPU", "SparseCsrCUDA", "NestedTensorCPU")
_CLOSE = 3  # names to suggest


def key_coverage(lookup: Lookup, asked: str, side: Side, limit: int | None) -> KeyCoverage:
    """Returns the operators that have a kernel for a dispatch key, or those that have none; at most `limit`.

    Operators of ATen come first, of these the ones with a kernel for the CPU. Raises PtexploreError (usage) for a name
    that is no dispatch key.
    """
    store = lookup.store
    key = _key_called(lookup, asked, side)
    entries = store.entries_under(key)
    operators = {operator.name: operator for operator in store.operators()}
    yaml = YamlKernels(store, lookup.tree, operators.values())
    elsewhere = store.own_keys()
    named = {name: yaml.of(name) for name in operators}
    states = {name: _state(entries.get(name), in_yaml=key in named[name]) for name in operators}
    wanted = [name for name, has in states.items() if has in OF_SIDE[side]]
    own = {name: (*elsewhere.get(name, ()), *named[name]) for name in wanted}
    wanted.sort(key=lambda name: (not name.startswith("aten::"), "CPU" not in own[name], not own[name], name))
    rows = [
        _row(lookup, operators[name], states[name], key, entries.get(name), named[name], own[name])
        for name in wanted[:limit]
    ]
    counts = Counter(states.values())
    return KeyCoverage(key, side, {has: counts[has] for has in STATES}, tuple(rows), len(wanted), lookup.infos)


def _state(entry: TableEntry | None, *, in_yaml: bool) -> Has:
    """Returns which kernel an operator has for a key. A kernel in YAML counts more than a composite one."""
    has = "none" if entry is None else "fallthrough" if entry.fallthrough else _REASONS.get(entry.reason, "none")
    return "yaml" if in_yaml and has not in ("own", "alias") else has


def _row(
    lookup: Lookup,
    operator: Operator,
    has: Has,
    key: str,
    entry: TableEntry | None,
    in_yaml: Mapping[str, str],
    own: Sequence[str],
) -> OperatorAtKey:
    name = operator.name
    others = tuple(other for other in _ELSEWHERE if other in own and other != key)
    if has == "yaml":
        path, line = operator.yaml_path, operator.yaml_line
        place = in_runtime(lookup.tree, path, line) if path and line else None
        return OperatorAtKey(name, has, in_yaml[key], place, others)
    if entry is None or has == "fallthrough":
        return OperatorAtKey(name, has, "", None, others)
    if has == "fallback":
        place = in_runtime(lookup.tree, entry.path, entry.line) if entry.path and entry.line else None
        return OperatorAtKey(name, has, "", place, others)
    registration = registration_of(lookup.store, name, key, entry)
    body = kernel_body(lookup, registration, entry, key)
    return OperatorAtKey(name, has, body.name, body.source, others)


def _key_called(lookup: Lookup, asked: str, side: Side) -> str:
    """Returns the dispatch key with this name, ignoring case."""
    keys = lookup.store.keys()
    tables = lookup.store.table_keys()
    known = {name.lower(): name for name in tables}
    key = known.get(asked.lower())
    if key is not None:
        return key
    alias = next((name for name in keys if name.lower() == asked.lower()), None)
    if alias is not None:
        group = list(_group(alias, tables))
        why = f"{alias} stands for several keys{': ' + ', '.join(group[:4]) + ', …' if group else ''}"
        again = f"ptexplore op --{side} {group[0] if group else 'CPU'}"
        raise PtexploreError(f"{alias} has no dispatch table of its own", why, again, USAGE)
    close = [known[name] for name in difflib.get_close_matches(asked.lower(), known, _CLOSE, 0.5)]
    why = f"the closest are {', '.join(close)}" if close else f"the keys are {', '.join(tables[:6])}, …"
    again = f"ptexplore op --{side} {shlex.quote(close[0] if close else 'CPU')}"
    raise PtexploreError(f"there is no dispatch key {asked}", why, again, USAGE)


def _group(alias: str, tables: Sequence[str]) -> Iterator[str]:
    """Returns the keys of a table that begin with the name of the group: Sparse means SparseCPU, SparseCUDA, …."""
    return (name for name in tables if name.startswith(alias) and name != alias)
