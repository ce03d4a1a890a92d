"""The readable tree of native frames: a Trail's hops with the rules applied, and how many frames that left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ptexplore.model import Hop, SourceRef
from ptexplore.view.native_names import plain
from ptexplore.view.native_rules import Action, rule_for, rule_for_operator

_NOWHERE = SourceRef(None, None, None, "unknown", reason="no frame")


def governed(hop: Hop) -> bool:
    """Whether the rules decide about a hop: every frame that ran and is no operator, kernel, node or Python function."""
    return hop.kind in ("native", "closed") and hop.status == "observed"


def action(hop: Hop) -> Action:
    """What is done with a hop."""
    if not governed(hop):
        rule = rule_for_operator(hop.op or "") if hop.kind == "op" and hop.status == "observed" else None
        return rule.action if rule is not None else "show"
    rule = rule_for(plain(hop.detail.get("symbol") or hop.name), str(hop.detail.get("library", "")))
    if rule is not None:
        return rule.action
    return "fold" if hop.kind == "closed" else "show"


@dataclass(slots=True)
class _Node:
    """A hop on its way through the rules; `strict` inside of what is folded or hidden, where landmarks alone stay."""

    hop: Hop
    above: _Node | None
    strict: bool
    action: Action = "show"
    shown: list[Hop] = field(default_factory=list)  # of what it called, the last first

    def stands(self) -> list[Hop]:
        """The hops that stand for this one among its caller's, the last first."""
        left_out = governed(self.hop) and (self.strict or self.action in ("hoist", "hide"))
        if left_out or (self.action == "through" and self.shown):
            return self.shown
        return [replace(self.hop, children=tuple(reversed(self.shown)))]


def condense(hops: Iterable[Hop]) -> tuple[Hop, ...]:
    """The hops without what the rules leave out; not recursive, since stacks can be deep."""
    root = _Node(Hop(0, "native", "", "observed", _NOWHERE), None, strict=False)
    order: list[_Node] = []
    pending = [_Node(hop, root, strict=False) for hop in reversed(tuple(hops))]
    while pending:
        node = pending.pop()
        node.action = action(node.hop)
        order.append(node)
        if node.action == "close":
            continue
        strict = governed(node.hop) and (node.strict or node.action in ("fold", "hide"))
        pending += [_Node(child, node, strict) for child in reversed(node.hop.children)]
    for node in reversed(order):
        assert node.above is not None
        node.above.shown += node.stands()
    return tuple(reversed(root.shown))


def frames(hops: Iterable[Hop]) -> int:
    """How many frames were seen to run, in these hops and below."""
    return sum(hop.instructions is not None for hop in walk(hops))


def walk(hops: Iterable[Hop]) -> Iterator[Hop]:
    """Every hop, callers first."""
    pending = list(hops)[::-1]
    while pending:
        hop = pending.pop()
        yield hop
        pending += reversed(hop.children)
