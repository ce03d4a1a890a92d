"""Places claims on frames: the hop of each frame, the predictions that were right, and the places of the rest.

The frames become a tree of branches. Claims without a frame are put around branches. At the end the branches become
claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile

from ptexplore.cpp.library_names import SYSTEMS
from ptexplore.model.nesting import Unrolling, each, outermost, unrolled
from ptexplore.model.observed import UNSEEN, PythonCode
from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import (
    ArgumentSets,
    CalledElsewhere,
    CompiledIn,
    EntryOfTable,
    ForEach,
    FreshTensor,
    GivenSet,
    IsWhatRan,
    KeyNotKnown,
    NotProfiled,
    NotReadTensor,
    OtherKernel,
    OtherKeys,
    OtherSet,
    RanInCaller,
    RanPython,
    RanUnnamed,
    Reason,
    ThereTwice,
    within,
)
from ptexplore.model.trace import CallNotTaken, Dispatch, Hop, walk
from ptexplore.resolve.claims import NOT_YET, Claim, Context
from ptexplore.resolve.dispatch import operator_calls as operators
from ptexplore.resolve.dispatch.kernel_bodies import NAMELESS, registration_of
from ptexplore.resolve.dispatch.kernel_hops import kernel_claim
from ptexplore.resolve.native.call_tree import NativeFrame, SteppedPart, kernel_below
from ptexplore.resolve.native.chain import CALLS, ChainStep, given_frame, given_lambda, python_frame, steps
from ptexplore.resolve.native.seen import UNNAMED, Seen, applied, class_of_node
from ptexplore.resolve.places.precision import of_yours
from ptexplore.resolve.python_places import function_place

PREDICTED = ("impl", "stub", "native")
BETWEEN = ("python", "binding", "native")  # may be between an operator's kernel and the next key
ASSUMED = {FreshTensor(), NotReadTensor()}  # reasons of sets that were assumed
DEEPEST = 15_000  # levels; a saved trace can be read back to a depth of 20,000


# --- the tree of branches ---


@dataclass(slots=True, eq=False)
class Branch:
    """A future hop. Without a claim it is only a frame; without a frame the claim has left none."""

    parent: Branch | None
    frame: NativeFrame | None = None
    claim: Claim | None = None
    depth: int = 0
    children: list[Branch] = field(default_factory=list)
    done: Claim | None = None


@dataclass(frozen=True)
class Growth:
    """The branches of one part. `root` stands for nothing; `of` has the branches of frames that got one."""

    root: Branch
    of: dict[NativeFrame, Branch]
    cut: bool  # calls were left out because they were nested too deeply to show


def grow(part: SteppedPart, python: Set[NativeFrame] = frozenset()) -> Growth:
    """Returns a branch for every frame, except for interpreter frames that only wrap others: their calls move up.

    The calls of Python functions that are not in `python` also move up.
    """
    opens = _holding_open(part, python)
    root = Branch(None)
    of: dict[NativeFrame, Branch] = {}
    inside: dict[int, Branch | None] = {}
    cut = False
    for frame in part.frames:
        parent = inside[frame.parent.number] if frame.parent is not None else root
        if parent is None or parent.depth >= DEEPEST:
            inside[frame.number], cut = None, True
        elif (frame.function.is_interpreter and opens[frame.number]) or _is_folded(frame, python):
            inside[frame.number] = parent
        else:
            branch = Branch(parent, frame, depth=parent.depth + 1)
            parent.children.append(branch)
            inside[frame.number] = of[frame] = branch
    return Growth(root, of, cut)


def _is_folded(frame: NativeFrame, python: Set[NativeFrame]) -> bool:
    return frame.function.code is not None and frame not in python


def _holding_open(part: SteppedPart, python: Set[NativeFrame]) -> list[bool]:
    """Returns, by frame, whether it has an inner call to a function with source or a Python function with a branch."""
    holding = [False] * len(part.frames)
    for frame in reversed(part.frames):
        if frame.parent is not None and (holding[frame.number] or not frame.function.closed or frame in python):
            holding[frame.parent.number] = True
    return holding


def wrap(branches: Sequence[Branch], claim: Claim) -> Branch:
    """Put a claim around neighbouring branches, in their parent."""
    parent = branches[0].parent
    assert parent is not None
    made = Branch(parent, claim=claim, depth=branches[0].depth, children=list(branches))
    first = parent.children.index(branches[0])
    parent.children[first : first + len(branches)] = [made]
    for branch in branches:
        branch.parent = made
    return made


def fill(branch: Branch, claim: Claim) -> Branch:
    """Put a claim inside a branch, around all its children."""
    made = Branch(branch, claim=claim, depth=branch.depth + 1, children=branch.children)
    for child in made.children:
        child.parent = made
    branch.children = [made]
    return made


def span(inside: Branch, anchors: Sequence[Branch]) -> list[Branch] | None:
    """Returns the neighbours from the first anchor to the last, in the innermost branch that contains all anchors.

    Returns None if an anchor is not inside `inside`.
    """
    paths = [_path(inside, anchor) for anchor in anchors]
    if any(len(path) < 2 for path in paths):
        return None
    levels = zip(*(path[:-1] for path in paths), strict=False)
    around: list[Branch] = [level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels)]
    held = around[-1].children
    places = [held.index(path[len(around)]) for path in paths]
    return held[min(places) : max(places) + 1]


def _path(inside: Branch, branch: Branch) -> list[Branch]:
    """Returns the branches from `inside` down to a branch; empty if the branch is not inside."""
    path = [branch]
    while path[-1] is not inside and path[-1].parent is not None:
        path.append(path[-1].parent)
    return path[::-1] if path[-1] is inside else []


def entered(held: list[Branch], inside: Branch) -> list[Branch]:
    """Returns neighbours for a Python function: functions that call them without the interpreter move inside, too."""
    while held[0].parent is not None and held[0].parent is not inside and not _by_interpreter(held[0]):
        held = [held[0].parent]
    return held


def calling(held: list[Branch], inside: Branch) -> list[Branch]:
    """Returns neighbours for a builtin. If they contain Python functions only, returns the functions that called these.

    A builtin is not a Python function. Python called it inside `inside`, so the functions in between belong to it.
    """
    if any(branch.frame is None or branch.frame.function.code is None for branch in held):
        return held
    while (outer := held[0].parent) is not None and outer is not inside and outer.claim is None:
        held = [outer]
    return held


def _by_interpreter(branch: Branch) -> bool:
    """Whether the interpreter is between a branch's frame and the frame around it."""
    first: Branch | None = branch
    while first is not None and first.frame is None:
        first = first.children[0] if first.children else None
    outer = branch.parent
    while outer is not None and outer.frame is None:
        outer = outer.parent
    if outer is None:
        return True
    frame = first.frame.parent if first is not None and first.frame is not None else None
    while frame is not None and frame is not outer.frame and not frame.function.is_interpreter:
        frame = frame.parent
    return frame is not None and frame is not outer.frame


def insert(parent: Branch, claim: Claim, after: Branch | None) -> Branch:
    """Returns a new branch for a claim without frames: after `after` if that is beside it, else first."""
    made = Branch(parent, claim=claim, depth=parent.depth + 1)
    after = _child_holding(parent, after) if after is not None else None
    at = parent.children.index(after) + 1 if after is not None else 0
    parent.children.insert(at, made)
    return made


def later(parent: Branch, first: Branch | None, second: Branch) -> Branch:
    """Returns which of two branches below a parent comes later, with everything around it below the parent.

    If the order is not known, returns the second. A branch without a frame has the place of its claim, although later
    calls may be in a frame before it.
    """
    if first is None:
        return second
    places = [next((n for n, child in enumerate(parent.children) if child is held), -1)
              for held in (_child_holding(parent, first), _child_holding(parent, second))]  # fmt: skip
    return first if places[0] > places[1] >= 0 else second


def _child_holding(parent: Branch, branch: Branch) -> Branch | None:
    """Returns the child of a parent that is the branch or contains it; None if the branch is not below the parent."""
    held: Branch | None = branch
    while held is not None and held.parent is not parent:
        held = held.parent
    return held


def finish(root: Branch, native: Callable[[NativeFrame, tuple[Claim, ...]], Claim]) -> tuple[Claim, ...]:
    """Returns the claims of all branches below the root. Not recursive, since stacks can be deep."""
    pending = [(root, False)]
    while pending:
        branch, ready = pending.pop()
        if not ready:
            pending.append((branch, True))
            pending += [(child, False) for child in branch.children]
        elif branch is not root:
            children = tuple(child.done for child in branch.children if child.done)
            if branch.claim is not None:
                branch.done = replace(branch.claim, children=children)
            elif branch.frame is not None:
                branch.done = native(branch.frame, children)
    return tuple(child.done for child in root.children if child.done)


# --- claims on branches ---

Pair = tuple[Claim, Claim]  # the claims of a key and of its kernel
UNPREDICTED = Claim(Hop(0, "key", "", "observed", NOT_YET))  # the step around this one was not predicted


def without_predicted(claims: Iterable[Claim]) -> Iterator[Claim]:
    """Yields the claims without predictions from a kernel's text. Observed claims inside stay."""
    return outermost(claims, lambda claim: claim.hop.kind not in PREDICTED or claim.event is not UNSEEN)


@dataclass(slots=True, eq=False)
class Draft:
    """A claim that is being placed. `branch` is its place, once that is known."""

    claim: Claim
    branch: Branch | None = None
    children: list[Draft] = field(default_factory=list)


def _is_in_extension(frame: NativeFrame) -> bool:
    """Whether a C++ function of an extension is around a frame, with no Python in between."""
    around = frame.parent
    while around is not None and around.function.code is None:
        if around.function.closed and not around.function.library.startswith(SYSTEMS):
            return True
        around = around.parent
    return False


def _is_autograds(key: str) -> bool:
    """Whether AutoDispatchBelowADInplaceOrView excludes a key (ATen/core/LegacyTypeDispatch.h)."""
    return key.startswith("Autograd") or key == "ADInplaceOrView"


@dataclass
class Conclusions:
    """The join of one stepped part. `matched` has the frames of claims, by the claim's identity.

    `elsewhere` has operators without overload that an earlier run called inside calls which the stepped run did not
    make.
    """

    context: Context
    seen: Seen
    growth: Growth
    matched: dict[int, NativeFrame]
    elsewhere: frozenset[str] = frozenset()
    findings: list[tuple[str, Reason, Branch | None]] = field(default_factory=list)  # arguments for `Context.tell`
    _taken: set[NativeFrame] = field(default_factory=set)

    def join(self, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
        """Returns one tree of these claims and all frames."""
        self._taken |= set(self.matched.values())
        drafts = unrolled(each(self._draft(claim, None) for claim in claims))
        after: Branch | None = None
        for draft in (*drafts, *self._unprofiled(self._missed(claims))):
            after = later(self.growth.root, after, unrolled(self._insert(draft, self.growth.root, after)))
        for frame, branch in self.growth.of.items():
            carried = self.seen.carried(frame) if branch.claim is None else None
            if carried is not None:
                fill(branch, carried)
        return finish(self.growth.root, self.seen.plain)

    def _draft(self, claim: Claim, region: NativeFrame | None) -> Unrolling[Draft]:
        """Returns the draft for a claim and all claims below it.

        `region` is the frame in which the claim must have run, if it is known.
        """
        frame = self.matched.get(claim.identity)
        if frame is not None and claim.hop.kind == "op":
            return (yield from self._call(claim, frame))
        if frame is None and region is not None and claim.hop.kind in PREDICTED and claim.event is UNSEEN:
            frame = self._inside(region, claim.hop.name) if claim.hop.kind != "stub" else None
            if frame is None:
                return (yield from self._inlined(claim, region))
        if frame is None:
            within = None if claim.hop.kind in ("op", "node") else region
            claim = self._without_idle(claim, within)
            return Draft(claim, None, list((yield each(self._draft(child, within) for child in claim.children))))
        claim = self._without_idle(claim, frame)
        seen = self.seen.entered(claim) if frame.function.code is not None else self.seen.observed(claim, frame)
        draft = self._place(seen, frame)
        draft.children = list((yield each(self._draft(child, frame) for child in claim.children)))
        return draft

    def _place(self, claim: Claim, frame: NativeFrame) -> Draft:
        """Gives a frame's branch to a claim."""
        branch = self.growth.of[frame]
        branch.claim = claim
        self._taken.add(frame)
        return Draft(claim, branch)

    def _inside(self, region: NativeFrame, name: str) -> NativeFrame | None:
        frame = self.seen.inside(region, name, self._taken)
        return frame if frame in self.growth.of else None

    def _inlined(self, claim: Claim, region: NativeFrame) -> Unrolling[Draft]:
        """Returns the draft of a predicted function without a frame. It was inlined if one of its callees ran."""
        claim = self._without_idle(claim, region)
        draft = Draft(claim, None, list((yield each(self._draft(child, region) for child in claim.children))))
        if any(_anchors(child) for child in draft.children):
            if claim.hop.kind == "stub":  # a stub has one kernel: kernels for other machines did not run
                draft.children = [child for child in draft.children if _anchors(child)]
            draft.claim = claim.but(
                replace(claim.hop, status="inlined", evidence=self.seen.evidence(claim)), RanInCaller()
            )
        return draft

    def _without_idle(self, claim: Claim, region: NativeFrame | None) -> Claim:
        """Returns a claim without the predicted calls that did not happen in `region`, in which the claim ran.

        Removed are stubs that were not asked for a kernel, and functions without a frame, of which nothing ran: nothing
        proves that they were inlined. If not everything in the region was seen, all of them stay.
        """
        predicted = [child for child in claim.children if child.hop.kind in ("stub", "impl") and child.event is UNSEEN]
        if region is None or not predicted or not self.seen.is_whole(region):
            return claim
        called = self.seen.stubs_called(region)
        idle = {child.identity: child for child in predicted if not self._ran(child, region, called)}
        stubs = [(child.hop.name, child.hop.stub) for child in idle.values() if child.hop.kind == "stub"]
        not_taken = tuple(CallNotTaken(n, ref.called_at, ref.condition, ref.through) for n, ref in stubs if ref)
        left = tuple(child for child in claim.children if child.identity not in idle)
        return replace(claim, hop=replace(claim.hop, not_taken=not_taken), children=left) if idle else claim

    def _ran(self, claim: Claim, region: NativeFrame, called: frozenset[str] | None) -> bool:
        """Whether a predicted function or stub, or one of its callees, ran in a region. True if not known."""
        for inner in claim.walk():
            if inner.hop.kind == "stub" and (called is None or inner.hop.name in called):
                return True
            if inner.hop.kind != "stub" and self.seen.inside(region, inner.hop.name, frozenset()) is not None:
                return True
        return False

    def _missed(self, claims: tuple[Claim, ...]) -> Counter[str]:
        """Returns how often the profiler recorded operators and nodes in this thread that have no known frame."""
        calls = (claim for claim in walk(claims) if claim.hop.kind == claim.event.type and claim.event.thread == 0)
        missed = [claim for claim in calls if claim.hop.kind in ("op", "node") and claim.identity not in self.matched]
        return Counter(class_of_node(c) if c.hop.kind == "node" else c.hop.op or c.hop.name for c in missed)

    def _unprofiled(self, missed: Counter[str]) -> list[Draft]:
        """Returns drafts for operator calls and nodes without an event of the profiler.

        `missed` counts calls that the profiler recorded without a known frame. Such a call may be the same one, so it
        is not added again.
        """
        known = set(self.matched.values())
        drafts = []
        twice: dict[str, None] = {}
        for frame in self.growth.of:
            name = self.seen.operator_of(frame) if frame not in known else None
            node = applied(frame) if frame not in known else None
            if node is not None and node != UNNAMED and not missed[node]:
                hop = Hop(0, "node", frame.function.name.qualified, "observed", NOT_YET, phase=self.seen.phase)
                why = NotProfiled(frame.function.shown)
                drafts.append(self._place(self.seen.observed(Claim(hop).but(hop, why), frame), frame))
            elif name is not None and missed[name] > 0:
                missed[name] -= 1
                twice[name] = None
            elif name is not None:
                hop = Hop(0, "op", name, "observed", NOT_YET, phase=self.seen.phase)
                unseen = operators.known(self.context, Claim(hop), name, self._unseen(frame, name))
                drafts.append(unrolled(self._call(unseen, frame)))
        if twice:
            self.findings.append(("cut", ThereTwice(tuple(twice)), None))
        return drafts

    def _unseen(self, frame: NativeFrame, operator: str) -> Reason:
        """Returns why a call without an event is a call of this operator."""
        kernel = kernel_below(frame) if frame.function.landmark.kind == "boxed-call" else None
        is_elsewhere = operator.partition(".")[0] in self.elsewhere
        return (CalledElsewhere if is_elsewhere else NotProfiled)(frame.function.shown, str(kernel or ""))

    # --- operator calls ---

    def _without_keys(self, claims: Iterable[Claim]) -> tuple[Claim, ...]:
        """Returns claims without the further keys of an operator call, which have their own places in its chain."""
        return unrolled(self._beside_keys(claims))[0]

    def _beside_keys(self, claims: Iterable[Claim]) -> Unrolling[tuple[tuple[Claim, ...], bool]]:
        """Returns the claims without keys, and whether one of these keys had a kernel."""
        kept: list[Claim] = []
        had_keys = False
        for claim in claims:
            if claim.hop.kind == "key":
                had_keys = had_keys or bool(claim.children)
                continue
            inside, has_keys = (yield self._beside_keys(claim.children)) if claim.hop.kind in BETWEEN else ((), False)
            if not has_keys:
                kept.append(claim)
                continue
            had_keys = True
            kept.append(replace(claim, children=inside))
        return tuple(kept), had_keys

    def _call(self, claim: Claim, frame: NativeFrame) -> Unrolling[Draft]:
        """Returns an operator call with the keys and kernels that it really used."""
        operator = self.seen.operator_of(frame) if claim.hop.op is None else None
        if operator is not None:
            boxed = kernel_below(frame) if frame.function.landmark.kind == "boxed-call" else None
            claim = operators.known(self.context, claim, operator, IsWhatRan(str(boxed or frame.function.shown)))
        walked = steps(frame, self.context.keys) if claim.hop.op is not None else []
        draft = self._place(self.seen.observed(_answered(claim) if walked else claim, frame), frame)
        if not walked:
            draft.children = list((yield each(self._draft(child, frame) for child in claim.children)))
            return draft
        expected = list(_chain(claim))
        if not self.seen.part.calls.cut:
            self._compare(draft, frame, expected, list(walk(walked)))
        left = list(expected)
        before = {key.identity: earlier.identity for (earlier, _), (key, _) in pairwise(expected)}
        steps_taken = yield each(self._step(claim, step, expected, left, before, None) for step in walked)
        rest = [*self._without_keys(claim.children)]
        rest += [c for _, kernel in left for c in without_predicted(self._without_keys(kernel.children))]
        draft.children = [*steps_taken, *(yield each(self._draft(child, frame) for child in rest))]
        return draft

    def _compare(self, draft: Draft, frame: NativeFrame, expected: list[Pair], walked: list[ChainStep]) -> None:
        keys, ran = [key.hop.name for key, _ in expected], [step.key for step in walked]
        if ran[: len(keys)] != keys:  # a shorter prediction ended because the next key was not known
            skipped = keys[: max(len(keys) - len(ran), 0)]
            if ran and [*skipped, *ran] == keys and all(map(_is_autograds, skipped)) and _is_in_extension(frame):
                return  # a guard in the extension's C++ excludes them, as in torch's variable_factories.h
            other = OtherKeys(draft.claim.hop.name, tuple(keys), tuple(ran))
            self.findings.append(("prediction-differs", other, draft.branch))

    def _step(
        self,
        call: Claim,
        step: ChainStep,
        expected: list[Pair],
        left: list[Pair],
        before: Mapping[int, int],
        around: Claim | None,
    ) -> Unrolling[Draft]:
        """Returns the key hop around a boundary's frame, with its kernel inside.

        Removes a confirmed prediction from `left`. `before` has, by the identity of a predicted key, the identity of
        the key predicted before it. `around` is the prediction of the step that made this dispatch. If these differ,
        the predicted reason does not apply to this key.
        """
        op = (self.seen.operator_named(step.entry) if step.entry else None) or call.hop.op or ""
        at = next((n for n, (key, _) in enumerate(expected) if key.hop.name == step.key), None)
        predicted = expected[at] if at is not None and op == call.hop.op else None
        if at is not None and predicted is not None:
            del expected[: at + 1]
            left.remove(predicted)
        key, kernel = predicted or self._fresh(call, op, step)
        kernel = self._without_idle(_answered(kernel), step.frame)
        if predicted is not None and before.get(key.identity) != (around.identity if around is not None else None):
            key, _ = self._fresh(call, op, step)
        key = self._key(key, step)
        draft = Draft(key, wrap([self.growth.of[step.frame]], key))
        inside = self._kernel(kernel, step)
        region = step.kernel_frame or step.frame
        held = yield each(self._draft(child, region) for child in self._without_keys(inside.claim.children))
        sender = predicted[0] if predicted is not None else UNPREDICTED
        further = yield each(self._step(call, inner, expected, left, before, sender) for inner in step.children)
        inside.children = [*held, *further]
        draft.children = [inside]
        return draft

    def _fresh(self, call: Claim, op: str, step: ChainStep) -> Pair:
        """Returns key and kernel of a step that was not predicted, from the table's entry for the key."""
        context, hop = self.context, call.hop
        call = replace(call, hop=replace(hop, op=op))
        entry = context.effective(op, step.key)
        key = Hop(0, "key", step.key, "observed", NOT_YET, hop.phase, hop.thread, op, step.key, evidence=hop.evidence)
        if entry is None:
            return Claim(key), Claim(replace(key, kind="kernel", name=NAMELESS), is_unnamed=True)
        registration = registration_of(context.store, op, step.key, entry)
        key = replace(
            key,
            source=context.lookup.entry(entry, step.key, registration),
            dispatch=Dispatch("", "", entry.reason, ()),
            why=(EntryOfTable(step.key, context.as_in_table(entry)),),
        )
        return Claim(key), kernel_claim(context, call, registration, entry, step.key, "derived")

    def _key(self, key: Claim, step: ChainStep) -> Claim:
        raw, shown = hex(step.set), step.frame.function.shown
        predicted, reasons = key.hop.dispatch or Dispatch("", "", "", ()), key.hop.why
        if predicted.assumed and predicted.raw != raw:
            predicted = without_assumed(predicted)
            reasons = tuple(reason for reason in reasons if not ASSUMED & set(within(reason)))
        dispatch = replace(predicted, set=self.context.keys.show(step.set), raw=raw, observed_raw=raw)
        why = GivenSet(shown, raw, step.register, step.key)
        evidence = self.seen.evidence(key)
        hop = replace(key.hop, status="observed", dispatch=dispatch, why=reasons, evidence=evidence)
        return key.but(hop, why)

    def _kernel(self, kernel: Claim, step: ChainStep) -> Draft:
        """Returns the kernel's hop: at its own frame, or inside the boundary into which it was inlined."""
        if step.kernel is None and step.kernel_frame is None:
            step.kernel_frame = self._inside(step.frame, kernel.hop.name)
        if step.kernel is None and step.kernel_frame is None and kernel.is_unnamed:
            python = python_frame(step)
            if python is not None and python.function.code is not None:
                return self._of_python(kernel, step, python.function.code)
            step.kernel_frame = given_frame(step)
            step.kernel = given_lambda(step)
        named = step.kernel or (step.kernel_frame.function.name if step.kernel_frame is not None else None)
        if named is not None and named.plain != kernel.hop.name:
            written = step.kernel_frame.function.written if step.kernel_frame is not None else None
            source = of_yours(*written) if written is not None else self.seen.sites.named(named)
            kernel = self._renamed(kernel, named.qualified, source, step)
        if step.kernel_frame is not None and step.kernel_frame in self.growth.of:
            return self._place(self.seen.observed(kernel, step.kernel_frame), step.kernel_frame)
        shown = step.frame.function.shown
        hop = replace(kernel.hop, status="inlined", evidence=self.seen.evidence(kernel))
        why: Reason = CompiledIn(shown)
        if step.kernel is None:
            hop = replace(hop, status="derived")
            why = RanUnnamed(shown, step.key)
        kernel = kernel.but(hop, why)
        return Draft(kernel, fill(self.growth.of[step.frame], kernel))

    def _of_python(self, kernel: Claim, step: ChainStep, code: PythonCode) -> Draft:
        """Returns a kernel that Python registered. Its function ran, and has a row of its own if it is shown at all."""
        place = function_place(self.context, code.file, code.line, code.name)
        source = place if place.path is not None else of_yours(code.file, code.line)
        hop = replace(kernel.hop, name=code.name, source=source, status="observed", evidence=self.seen.evidence(kernel))
        kernel = kernel.but(hop, RanPython(step.frame.function.shown, code.name))
        return Draft(kernel, fill(self.growth.of[step.frame], kernel))

    def _renamed(self, kernel: Claim, name: str, source: SourceRef, step: ChainStep) -> Claim:
        """Returns the kernel that ran instead of the predicted one, with its name and source.

        Adds a finding if the prediction was certain.
        """
        was, hop = kernel.hop.source, kernel.hop
        if was.tree == "runtime" and was.precision in ("located", "registered"):
            other = OtherKernel(hop.op or "", step.key, hop.name, name)
            self.findings.append(("prediction-differs", other, self.growth.of.get(step.frame)))
        kept = was if source.precision == "unknown" and was.precision == "unknown" else source
        others = tuple(without_predicted(kernel.children))
        return replace(kernel, hop=replace(hop, name=name, source=kept, not_taken=()), children=others)

    # --- claims without a frame ---

    def _around(self, claim: Claim, held: list[Branch]) -> Branch:
        """Returns a claim around neighbours. If the claim was inlined into their frame, it is put inside that frame.

        The frame's type shows this: it names the claim's function.
        """
        frame = held[0].frame if len(held) == 1 and held[0].claim is None else None
        if frame is None or self.seen.wrapped(frame) != claim.hop.name.rpartition("::")[2]:
            return wrap(held, claim)
        why = CompiledIn(frame.function.shown)
        hop = replace(claim.hop, status="inlined", evidence=self.seen.evidence(claim))
        return fill(held[0], claim.but(hop, why))

    def _insert(self, draft: Draft, parent: Branch, after: Branch | None) -> Unrolling[Branch]:
        """Returns the place of a draft and of all drafts below it: around its content, else beside its neighbours."""
        if draft.branch is None:
            anchors = _anchors(draft)
            held = span(parent, anchors) if anchors else self._wrapper(draft, parent)
            # A builtin, like a binding, is not a Python function: the interpreter calls its content.
            is_builtin = draft.claim.hop.kind == "binding" or draft.claim.event is UNSEEN
            if held and draft.claim.hop.kind in ("binding", "python"):
                held = calling(held, parent) if is_builtin else held
                held = entered(held, parent) if is_builtin or not self.seen.part.calls.ordered else held
            draft.branch = self._around(draft.claim, held) if held else insert(parent, draft.claim, after)
        last: Branch | None = None
        for child in draft.children:
            last = later(draft.branch, last, (yield self._insert(child, draft.branch, last)))
        return draft.branch

    def _wrapper(self, draft: Draft, parent: Branch) -> list[Branch] | None:
        """Returns the first free frame near a binding's place whose type names the binding.

        The frame must not have called an operator. This is how a comparison that returns NotImplemented looks: nothing
        that the binding called has an event.
        """
        name = draft.claim.hop.name.rpartition("::")[2]
        if draft.claim.hop.kind != "binding" or draft.children:
            return None
        for branch in parent.children:
            is_free = branch.frame is not None and branch.claim is None and not any(c.claim for c in branch.children)
            if branch.frame is None or not is_free or self.seen.wrapped(branch.frame) != name:
                continue
            if not any(frame.function.landmark.kind in CALLS for frame in branch.frame.descendants()):
                return [branch]
        return None


def _anchors(draft: Draft) -> list[Branch]:
    """Returns the nearest branches that a draft must contain."""
    if draft.branch is not None:
        return [draft.branch]
    placed = outermost(draft.children, lambda inner: inner.branch is not None)
    return [inner.branch for inner in placed if inner.branch is not None]


def without_assumed(dispatch: Dispatch) -> Dispatch:
    """Returns the lookup without the assumed argument sets: a different set was observed."""
    read = {name: keys for name, keys in (dispatch.arguments or {}).items() if name not in dispatch.assumed}
    why: Reason = OtherSet()
    reason = dispatch.unread_why
    if dispatch.unread and reason is not None:
        of_each = reason.reasons if isinstance(reason, ForEach) else (ArgumentSets(dispatch.unread, reason),)
        why = ForEach((*of_each, ArgumentSets(dispatch.assumed, OtherSet())))
    return replace(dispatch, arguments=read, unread=(*dispatch.unread, *dispatch.assumed), assumed=(), unread_why=why)


def _answered(claim: Claim) -> Claim:
    """Returns the claim without the reasons for an unknown key: the key was observed."""
    left = tuple(reason for reason in claim.hop.why if not isinstance(reason, KeyNotKnown))
    return replace(claim, hop=replace(claim.hop, why=left))


def _chain(claim: Claim) -> Iterator[Pair]:
    """Yields the predicted keys of an operator call with their kernels, in order, including keys below Python code."""
    pending: list[Claim | Pair] = list(reversed(claim.children))
    while pending:
        part = pending.pop()
        if isinstance(part, tuple):
            yield part
            pending += reversed(part[1].children)
        elif part.hop.kind == "key":
            pending += [(part, kernel) for kernel in reversed(part.children)]
        elif part.hop.kind in BETWEEN:
            pending += reversed(part.children)
