"""Lay claims over frames: which hop each frame is, what of the prediction came true, where the rest belongs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ptexplore.model.places import SourceRef
from ptexplore.model.trace import Dispatch, Finding, Hop
from ptexplore.resolve.claims import NOT_YET, Claim, Context
from ptexplore.resolve.dispatch import operator_calls as operators
from ptexplore.resolve.dispatch.kernel_bodies import registration_of
from ptexplore.resolve.dispatch.kernels import kernel_claim
from ptexplore.resolve.native.call_tree import NativeFrame
from ptexplore.resolve.native.chain import ChainStep, steps
from ptexplore.resolve.native.growth import Branch, Growth, entered, fill, finish, insert, span, wrap
from ptexplore.resolve.native.seen import Seen

PREDICTED = ("impl", "stub", "native")
INLINED = "it left no frame of its own, and what it calls ran: the compiler put it into its caller"

Pair = tuple[Claim, Claim]  # a key's hop and its kernel's


@dataclass(slots=True, eq=False)
class Draft:
    """A claim on its way into the tree; `branch` is where it is, once that is known."""

    claim: Claim
    branch: Branch | None = None
    children: list[Draft] = field(default_factory=list)


@dataclass
class Conclusions:
    """The join of one stepped part: `matched` are the frames of claims by the claim's `id()`."""

    context: Context
    seen: Seen
    growth: Growth
    matched: dict[int, NativeFrame]
    findings: list[tuple[Finding, Branch | None]] = field(default_factory=list)
    _taken: set[NativeFrame] = field(default_factory=set)

    def join(self, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
        """The one tree of these claims and all frames."""
        self._taken |= set(self.matched.values())
        drafts = [self._draft(claim, None) for claim in claims]
        drafts += self._unprofiled()
        after: Branch | None = None
        for draft in drafts:
            after = self._insert(draft, self.growth.root, after) or after
        for frame, branch in self.growth.of.items():
            carried = self.seen.carried(frame) if branch.claim is None else None
            if carried is not None:
                fill(branch, carried)
        return finish(self.growth.root, self.seen.plain)

    def _draft(self, claim: Claim, region: NativeFrame | None) -> Draft:
        """What a claim and all below it come to; `region` is the frame that it must have run in, where one is known."""
        frame = self.matched.get(id(claim))
        if frame is not None and claim.hop.kind == "op":
            return self._call(claim, frame)
        if frame is None and region is not None and claim.hop.kind in PREDICTED and claim.event is None:
            frame = self._inside(region, claim.hop.name) if claim.hop.kind != "stub" else None
            if frame is None:
                return self._inlined(claim, region)
        if frame is None:
            within = None if claim.hop.kind in ("op", "node") else region
            return Draft(claim, None, [self._draft(child, within) for child in claim.children])
        draft = self._place(self.seen.observed(claim, frame), frame)
        draft.children = [self._draft(child, frame) for child in claim.children]
        return draft

    def _place(self, claim: Claim, frame: NativeFrame) -> Draft:
        """A claim takes over its frame's branch."""
        branch = self.growth.of[frame]
        branch.claim = claim
        self._taken.add(frame)
        return Draft(claim, branch)

    def _inside(self, region: NativeFrame, name: str) -> NativeFrame | None:
        frame = self.seen.inside(region, name, self._taken)
        return frame if frame in self.growth.of else None

    def _inlined(self, claim: Claim, region: NativeFrame) -> Draft:
        """What a body's text says it calls, without a frame: inlined where what it calls in turn did run."""
        draft = Draft(claim, None, [self._draft(child, region) for child in claim.children])
        if any(_anchors(child) for child in draft.children):
            draft.claim = claim.but(status="inlined", evidence=self.seen.evidence(claim), why=(INLINED,))
        return draft

    def _unprofiled(self) -> list[Draft]:
        """Operator calls that the profiler recorded no event for."""
        known = set(self.matched.values())
        found = []
        for frame in self.growth.of:
            name = self.seen.operator_of(frame) if frame not in known else None
            if name is not None:
                hop = Hop(0, "op", name, "observed", NOT_YET, phase=self.seen.phase)
                why = f"{frame.function.shown} ran; the profiler recorded no event for it"
                found.append(self._call(operators.known(self.context, Claim(hop), name, why), frame))
        return found

    # --- operator calls ---

    def _call(self, claim: Claim, frame: NativeFrame) -> Draft:
        """An operator call with the keys and kernels that it really went through."""
        told = self.seen.operator_of(frame) if claim.hop.op is None else None
        if told is not None:
            claim = operators.known(self.context, claim, told, f"{frame.function.shown} is what ran")
        draft = self._place(self.seen.observed(claim, frame), frame)
        walked = steps(frame, self.context.keys) if claim.hop.op is not None else []
        if not walked:
            draft.children = [self._draft(child, frame) for child in claim.children]
            return draft
        expected, rest = _chain(claim)
        if not self.seen.part.cut:
            self._compare(draft, expected, [step for top in walked for step in top.walk()])
        left = list(expected)
        draft.children = [self._step(claim, step, expected, left) for step in walked]
        rest += [child for _, kernel in left for child in kernel.children if child.hop.kind not in (*PREDICTED, "key")]
        draft.children += [self._draft(child, frame) for child in rest]
        return draft

    def _compare(self, draft: Draft, expected: list[Pair], walked: list[ChainStep]) -> None:
        keys, ran = [key.hop.name for key, _ in expected], [step.key for step in walked]
        if ran[: len(keys)] != keys:  # where it ended early, it did not know how the call goes on
            name = draft.claim.hop.name
            text = f"{name}: predicted were the keys {', '.join(keys)}; those that ran are {', '.join(ran)}"
            self.findings.append((Finding("prediction-differs", text), draft.branch))

    def _step(self, call: Claim, step: ChainStep, expected: list[Pair], left: list[Pair]) -> Draft:
        """The key hop around a boundary's frame, with its kernel inside; a prediction that came true is not `left`."""
        op = (self.seen.operator_named(step.entry) if step.entry else None) or call.hop.op or ""
        at = next((n for n, (key, _) in enumerate(expected) if key.hop.name == step.key), None)
        predicted = expected[at] if at is not None and op == call.hop.op else None
        if at is not None and predicted is not None:
            del expected[: at + 1]
            left.remove(predicted)
        key, kernel = predicted or self._fresh(call, op, step)
        key = self._key(key, step)
        draft = Draft(key, wrap([self.growth.of[step.frame]], key))
        inside = self._kernel(kernel, step)
        region = step.kernel_frame or step.frame
        below = [child for child in inside.claim.children if child.hop.kind != "key"]
        inside.children = [self._draft(child, region) for child in below]
        inside.children += [self._step(call, one, expected, left) for one in step.inner]
        draft.children = [inside]
        return draft

    def _fresh(self, call: Claim, op: str, step: ChainStep) -> Pair:
        """The key and kernel of a step that nobody predicted, from the table's entry for the key that was there."""
        context, hop = self.context, call.hop
        call = replace(call, hop=replace(hop, op=op))
        entry = context.effective(op, step.key)
        key = Hop(0, "key", step.key, "observed", NOT_YET, hop.phase, hop.thread, op, step.key, evidence=hop.evidence)
        if entry is None:
            return Claim(key), Claim(replace(key, kind="kernel", name="a kernel of no known name"))
        registration = registration_of(context.store, op, step.key, entry)
        key = replace(
            key,
            source=context.lookup.entry(entry, step.key, registration),
            dispatch=Dispatch("", "", entry.reason, ()),
            why=(f"the table's entry for {step.key}: {entry.raw.strip()}",),
        )
        return Claim(key), kernel_claim(context, call, registration, entry, step.key, "derived")

    def _key(self, key: Claim, step: ChainStep) -> Claim:
        raw, shown = hex(step.set), step.frame.function.shown
        predicted = key.hop.dispatch or Dispatch("", "", "", ())
        dispatch = replace(predicted, set=self.context.keys.show(step.set), raw=raw, observed_raw=raw)
        why = f"{shown} was given the set {raw} ({step.register}): {step.key} is its highest key"
        return key.but(status="observed", dispatch=dispatch, evidence=self.seen.evidence(key), why=(why,))

    def _kernel(self, kernel: Claim, step: ChainStep) -> Draft:
        """The kernel's hop: at its own frame, or inside the boundary's that it was compiled into."""
        if step.kernel is None and step.kernel_frame is None:
            step.kernel_frame = self._inside(step.frame, kernel.hop.name)
        named = step.kernel or (step.kernel_frame.function.name if step.kernel_frame is not None else None)
        if named is not None and named.plain != kernel.hop.name:
            kernel = self._renamed(kernel, named.qualified, self.seen.source_of(named), step)
        if step.kernel_frame is not None and step.kernel_frame in self.growth.of:
            return self._place(self.seen.observed(kernel, step.kernel_frame), step.kernel_frame)
        shown = step.frame.function.shown
        if step.kernel is None:
            why = f"{shown} ran it, and does not name it: the table's entry for {step.key} does"
            kernel = kernel.but(status="derived", evidence=self.seen.evidence(kernel), why=(why,))
        else:
            why = f"the type of {shown} names it, and it has no frame: it was compiled into that one"
            kernel = kernel.but(status="inlined", evidence=self.seen.evidence(kernel), why=(why,))
        return Draft(kernel, fill(self.growth.of[step.frame], kernel))

    def _renamed(self, kernel: Claim, name: str, source: SourceRef, step: ChainStep) -> Claim:
        """The kernel that ran where another was predicted: its own name and source; a finding where that is certain."""
        was, hop = kernel.hop.source, kernel.hop
        if was.tree == "runtime" and was.precision in ("located", "registered"):
            text = f"{hop.op}: for {step.key} {hop.name} was predicted; {name} ran"
            self.findings.append((Finding("prediction-differs", text), self.growth.of.get(step.frame)))
        kept = was if source.precision == "unknown" and was.precision == "unknown" else source
        others = tuple(child for child in kernel.children if child.hop.kind not in PREDICTED)
        return replace(kernel.but(name=name, source=kept), children=others)

    # --- what left no frame ---

    def _insert(self, draft: Draft, parent: Branch, after: Branch | None) -> Branch | None:
        """Find a place for a draft and all below it: around what it holds, else beside its neighbours."""
        if draft.branch is None:
            anchors = [one for child in draft.children for one in _anchors(child)]
            held = span(parent, anchors) if anchors else None
            held = entered(held, parent) if held and draft.claim.hop.kind == "python" else held
            draft.branch = wrap(held, draft.claim) if held else insert(parent, draft.claim, after)
        last: Branch | None = None
        for child in draft.children:
            last = self._insert(child, draft.branch, last) or last
        return draft.branch


def _anchors(draft: Draft) -> list[Branch]:
    """The branches, nearest to a draft, that it must hold."""
    if draft.branch is not None:
        return [draft.branch]
    return [one for child in draft.children for one in _anchors(child)]


def _chain(claim: Claim) -> tuple[list[Pair], list[Claim]]:
    """The predicted (key, kernel) pairs of an operator call, in order, and what else it holds itself."""
    pairs: list[Pair] = []
    rest = [child for child in claim.children if child.hop.kind != "key"]
    key = next((child for child in claim.children if child.hop.kind == "key"), None)
    while key is not None:
        kernel = next((child for child in key.children if child.hop.kind == "kernel"), None)
        if kernel is None:
            break
        pairs.append((key, kernel))
        key = next((child for child in kernel.children if child.hop.kind == "key"), None)
    return pairs, rest
