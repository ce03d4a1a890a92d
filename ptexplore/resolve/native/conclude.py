"""Lay claims over frames: which hop each frame is, what of the prediction came true, where the rest belongs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from ptexplore.model import Finding, Hop, Operator, SourceRef
from ptexplore.resolve import operators
from ptexplore.resolve.claims import NOT_YET, Claim, Context
from ptexplore.resolve.kernels import kernel_claim, registration_of
from ptexplore.resolve.native.chain import CALLS, Step, steps
from ptexplore.resolve.native.growth import Branch, Growth, fill, finish, grow, insert, span, wrap
from ptexplore.resolve.native.sites import Sites
from ptexplore.resolve.native.tree import Frame, Part

BETTER = ("unknown", "ambiguous", "version-skew", "consistent", "located", "registered")
PREDICTED = ("impl", "stub", "native")
INLINED = "it left no frame of its own, and what it calls ran: the compiler put it into its caller"


@dataclass(slots=True, eq=False)
class Draft:
    """A claim on its way into the tree; `branch` is where it is, once that is known."""

    claim: Claim
    branch: Branch | None = None
    children: list[Draft] = field(default_factory=list)


class Conclusions:
    """The join of one stepped part."""

    def __init__(self, context: Context, sites: Sites, part: Part, phase: Literal["forward", "backward"]) -> None:
        self.context, self.sites, self.part, self.phase = context, sites, part, phase
        self.growth: Growth = grow(part)
        self.sources: list[SourceRef] = [self._source(frame) for frame in part.frames]
        self.findings: list[tuple[Finding, Branch | None]] = []
        self._used: set[Frame] = set()

    # --- what frames are ---

    def operator_named(self, cpp_name: str) -> str | None:
        """The operator of a C++ name: "add_Tensor" -> "aten::add.Tensor"."""
        found = self._operator(cpp_name)
        return found.name if found is not None else None

    def _operator(self, cpp_name: str) -> Operator | None:
        if cpp_name not in self._operators:
            bases = [cpp_name, *(cpp_name[:at] for at, char in enumerate(cpp_name) if char == "_" and at)]
            bases += [base + "_" for base in bases]
            named = [one for base in dict.fromkeys(bases) for one in self.context.store.operators_named(base)]
            self._operators[cpp_name] = next((one for one in named if one.cpp_name == cpp_name), None)
        return self._operators[cpp_name]

    @cached_property
    def _operators(self) -> dict[str, Operator | None]:
        return {}

    def _source(self, frame: Frame) -> SourceRef:
        seen = frame.function.landmark
        operator = self._operator(seen.name) if seen.kind in ("entry", "redispatch") else None
        found = self.sites.of(frame)
        if operator is None:
            return found
        line = operator.call_line if seen.kind == "entry" else operator.redispatch_line
        return self.sites.entry(operator, line) or found

    @cached_property
    def _owners(self) -> list[int]:
        """By frame the number of the operator call or node around it, -1 where there is none."""
        owners: list[int] = []
        for frame in self.part.frames:
            above = frame.parent
            is_call = above is not None and above.function.landmark.kind in (*CALLS, "node")
            owners.append(-1 if above is None else above.number if is_call else owners[above.number])
        return owners

    @cached_property
    def _by_name(self) -> dict[str, list[Frame]]:
        found: dict[str, list[Frame]] = {}
        for frame in self.part.frames:
            if not frame.function.closed:
                found.setdefault(frame.function.name.plain, []).append(frame)
        return found

    def _inside(self, region: Frame, name: str) -> Frame | None:
        """The first frame of that name in a region that no operator called inside it owns, and nothing claims yet."""
        owner = region.number if region.function.landmark.kind in (*CALLS, "node") else self._owners[region.number]
        for frame in self._by_name.get(name, []):
            mine = self._owners[frame.number] == owner and frame.number != region.number
            if mine and region.holds(frame) and frame not in self._used and frame in self.growth.of:
                return frame
        return None

    # --- the join ---

    def join(self, claims: tuple[Claim, ...], matched: dict[int, Frame]) -> tuple[Claim, ...]:
        """The one tree of these claims and all frames."""
        self.matched = {key: frame for key, frame in matched.items() if frame in self.growth.of}
        self._used |= set(self.matched.values())
        drafts = [self._draft(claim, None) for claim in claims]
        drafts += self._unprofiled()
        after: Branch | None = None
        for draft in drafts:
            after = self._insert(draft, self.growth.root, after) or after
        self._carriers()
        return finish(self.growth.root, self._native)

    def _draft(self, claim: Claim, region: Frame | None) -> Draft:
        frame = self.matched.get(id(claim))
        if frame is None and region is not None and claim.hop.kind in PREDICTED and not claim.event:
            return self._predicted(claim, region)
        if frame is None:
            return Draft(claim, None, [self._draft(child, region) for child in claim.children])
        if claim.hop.kind == "op":
            return self._call(claim, frame)
        draft = self._place(self._seen(claim, frame), frame)
        draft.children = [self._draft(child, frame) for child in claim.children]
        return draft

    def _place(self, claim: Claim, frame: Frame) -> Draft:
        """A claim takes over its frame's branch."""
        branch = self.growth.of[frame]
        branch.claim = claim
        self._used.add(frame)
        return Draft(claim, branch)

    def _predicted(self, claim: Claim, region: Frame) -> Draft:
        """What a body's text says it calls: observed where that ran below it, inlined where only what it calls did."""
        frame = self._inside(region, claim.hop.name) if claim.hop.kind != "stub" else None
        if frame is None:
            draft = Draft(claim, None, [self._draft(child, region) for child in claim.children])
            if any(_held(child) for child in draft.children):
                draft.claim = claim.but(status="inlined", evidence=self._evidence(claim), why=(INLINED,))
            return draft
        draft = self._place(self._seen(claim, frame), frame)
        draft.children = [self._draft(child, frame) for child in claim.children]
        return draft

    def _evidence(self, claim: Claim) -> tuple[int, ...]:
        return tuple(dict.fromkeys((*claim.hop.evidence, self.part.observation)))

    def _seen(self, claim: Claim, frame: Frame) -> Claim:
        """The claim as observed: what the frame tells is added, a better source taken."""
        hop, source = claim.hop, claim.hop.source
        here = self.sources[frame.number]
        if BETTER.index(source.precision) < BETTER.index("located") and _is_better(here, source):
            source = here
        detail = {**hop.detail, **_detail(frame)}
        return claim.but(
            status="observed",
            source=source,
            detail=detail,
            instructions=frame.instructions,
            evidence=self._evidence(claim),
        )

    def _unprofiled(self) -> list[Draft]:
        """Operator calls that the profiler recorded no event for."""
        known = set(self.matched.values())
        found = []
        for frame in self.part.frames:
            seen = frame.function.landmark
            name = self.operator_named(seen.name) if seen.kind == "entry" and frame not in known else None
            if name is not None and frame in self.growth.of:
                hop = Hop(0, "op", name, "observed", NOT_YET, phase=self.phase)
                why = f"{frame.function.shown} ran; the profiler recorded no event for it"
                found.append(self._call(operators.known(self.context, Claim(hop), name, why), frame))
        return found

    # --- operator calls ---

    def _call(self, claim: Claim, frame: Frame) -> Draft:
        """An operator call with the keys and kernels that it really went through."""
        told = self.operator_named(frame.function.landmark.name) if claim.hop.op is None else None
        if told is not None:
            claim = operators.known(self.context, claim, told, f"{frame.function.shown} is what ran")
        draft = self._place(self._seen(claim, frame), frame)
        walked = steps(frame, self.context.keys)
        if not walked or claim.hop.op is None:
            draft.children = [self._draft(child, frame) for child in claim.children]
            return draft
        expected, rest = _chain(claim)
        self._compare(draft, expected, [step for top in walked for step in top.walk()])
        draft.children = [self._step(claim, step, expected) for step in walked]
        draft.children += [self._draft(child, frame) for child in rest]
        return draft

    def _compare(self, draft: Draft, expected: list[tuple[Claim, Claim]], seen: list[Step]) -> None:
        keys, ran = [key.hop.name for key, _ in expected], [step.key for step in seen]
        if expected and keys != ran:
            hop = draft.claim.hop
            text = f"{hop.name}: predicted were the keys {', '.join(keys)}; those that ran are {', '.join(ran)}"
            self.findings.append((Finding("prediction-differs", text), draft.branch))

    def _step(self, call: Claim, step: Step, expected: list[tuple[Claim, Claim]]) -> Draft:
        """The key hop around a boundary's frame, with its kernel inside."""
        op = self.operator_named(step.entry) if step.entry else None
        op = op or call.hop.op or ""
        at = next((n for n, (key, _) in enumerate(expected) if key.hop.name == step.key), None)
        predicted = expected[at] if at is not None and op == call.hop.op else None
        if at is not None:
            del expected[: at + 1]
        key, kernel = predicted or self._fresh(call, op, step)
        key = self._key(key, step)
        draft = Draft(key, wrap([self.growth.of[step.frame]], key))
        inside = self._kernel(kernel, step)
        region = step.kernel_frame or step.frame
        inside.children = [self._draft(child, region) for child in kernel.children if child.hop.kind != "key"]
        inside.children += [self._step(call, one, expected) for one in step.inner]
        draft.children = [inside]
        return draft

    def _fresh(self, call: Claim, op: str, step: Step) -> tuple[Claim, Claim]:
        """The key and kernel of a step that nobody predicted, from the table's entry for the key that was there."""
        context, hop = self.context, call.hop
        call = replace(call, hop=replace(hop, op=op))
        entry = context.effective(op, step.key)
        key = Hop(0, "key", step.key, "observed", NOT_YET, hop.phase, hop.thread, op, step.key, evidence=hop.evidence)
        if entry is None:
            kernel = replace(key, kind="kernel", name="a kernel of no known name")
            return Claim(key), Claim(kernel)
        registration = registration_of(context.store, op, step.key, entry)
        key = replace(
            key,
            source=context.lookup.entry(entry, step.key, registration),
            dispatch={"entry": entry.reason, "skipped": []},
            why=(f"the table's entry for {step.key}: {entry.raw.strip()}",),
        )
        return Claim(key), kernel_claim(context, call, registration, entry, step.key, "derived")

    def _key(self, key: Claim, step: Step) -> Claim:
        show, shown = self.context.keys.show, step.frame.function.shown
        dispatch: dict[str, Any] = {
            **(key.hop.dispatch or {}),
            "set": show(step.set),
            "raw": hex(step.set),
            "observed_raw": hex(step.set),
        }
        why = f"{shown} was given the set {hex(step.set)} ({step.register}): {step.key} is its highest key"
        return key.but(status="observed", dispatch=dispatch, evidence=self._evidence(key), why=(why,))

    def _kernel(self, kernel: Claim, step: Step) -> Draft:
        """The kernel's hop: at its own frame, or inside the boundary's that it was compiled into."""
        named = step.kernel or (step.kernel_frame.function.name if step.kernel_frame is not None else None)
        if named is not None and named.plain != kernel.hop.name:
            kernel = self._renamed(kernel, named.qualified, self.sites.named(named), step)
        if step.kernel_frame is not None and step.kernel_frame in self.growth.of:
            return self._place(self._seen(kernel, step.kernel_frame), step.kernel_frame)
        boundary = self.growth.of[step.frame]
        if step.kernel is None:
            why = f"{step.frame.function.shown} ran it, and does not name it: the table's entry for {step.key} does"
            kernel = kernel.but(status="derived", evidence=self._evidence(kernel), why=(why,))
        else:
            why = f"the type of {step.frame.function.shown} names it, and it has no frame: it was compiled into that one"
            kernel = kernel.but(status="inlined", evidence=self._evidence(kernel), why=(why,))
        return Draft(kernel, fill(boundary, kernel))

    def _renamed(self, kernel: Claim, name: str, source: SourceRef, step: Step) -> Claim:
        """The kernel that ran is another than the one predicted: its own name and source; a finding where it matters."""
        was, hop = kernel.hop.source, kernel.hop
        if was.tree == "runtime" and was.precision in ("located", "registered"):
            text = f"{hop.op}: for {step.key} {hop.name} was predicted; {name} ran"
            self.findings.append((Finding("prediction-differs", text), self.growth.of.get(step.frame)))
        kept = was if source.precision == "unknown" and was.precision == "unknown" else source
        kept_children = tuple(child for child in kernel.children if child.hop.kind not in PREDICTED)
        return replace(kernel.but(name=name, source=kept), children=kept_children)

    # --- what left no frame ---

    def _insert(self, draft: Draft, parent: Branch, after: Branch | None) -> Branch | None:
        """Find a place for a draft and all below it: around what it holds, else beside its neighbours."""
        if draft.branch is None:
            anchors = [one for child in draft.children for one in _anchors(child)]
            held = span(parent, anchors) if anchors else None
            draft.branch = wrap(held, draft.claim) if held else insert(parent, draft.claim, after)
        last: Branch | None = None
        for child in draft.children:
            last = self._insert(child, draft.branch, last) or last
        return draft.branch

    def _carriers(self) -> None:
        """A function_ref's callback runs the call operator of the class that its type names."""
        for frame, branch in self.growth.of.items():
            seen = frame.function.landmark
            if seen.kind != "carrier" or seen.kernel is None or branch.claim is not None:
                continue
            name = f"{seen.kernel.qualified}::operator()"
            if any(child.function.name.qualified == name for child in frame.children):
                continue
            hop = Hop(
                0, "native", name, "inlined", self.sites.called(seen.kernel), self.phase,
                evidence=(self.part.observation,), detail={"symbol": f"{seen.kernel.text}::operator()"},
                why=(f"the type of {frame.function.shown} names it, and it has no frame: compiled into that one",),
            )  # fmt: skip
            fill(branch, Claim(hop))

    def _native(self, frame: Frame) -> Claim:
        """The hop of a frame that nothing else is known of."""
        function = frame.function
        return Claim(
            Hop(
                0,
                "closed" if function.closed else "native",
                function.shown,
                "observed",
                self.sources[frame.number],
                self.phase,
                detail=_detail(frame),
                evidence=(self.part.observation,),
                instructions=frame.instructions,
            )
        )


def _detail(frame: Frame) -> dict[str, Any]:
    function = frame.function
    detail: dict[str, Any] = {
        "symbol": function.demangled,
        "mangled": function.mangled,
        "library": function.library,
        "self": frame.own,
    }
    return detail | {"tail": True} if frame.tail else detail


def _is_better(one: SourceRef, than: SourceRef) -> bool:
    return BETTER.index(one.precision) > BETTER.index(than.precision)


def _held(draft: Draft) -> bool:
    return draft.branch is not None or any(_held(child) for child in draft.children)


def _anchors(draft: Draft) -> list[Branch]:
    """The branches, nearest to a draft, that it must hold."""
    if draft.branch is not None:
        return [draft.branch]
    return [one for child in draft.children for one in _anchors(child)]


def _chain(claim: Claim) -> tuple[list[tuple[Claim, Claim]], list[Claim]]:
    """The predicted (key, kernel) pairs of an operator call, in order, and what else it holds itself."""
    pairs: list[tuple[Claim, Claim]] = []
    rest: list[Claim] = [child for child in claim.children if child.hop.kind != "key"]
    key = next((child for child in claim.children if child.hop.kind == "key"), None)
    while key is not None:
        kernel = next((child for child in key.children if child.hop.kind == "kernel"), None)
        if kernel is None:
            break
        pairs.append((key, kernel))
        key = next((child for child in kernel.children if child.hop.kind == "key"), None)
    return pairs, rest
