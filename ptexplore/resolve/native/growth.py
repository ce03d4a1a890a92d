"""The tree that the frames grow into: branches that can be wrapped by what left no frame, and finished as claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ptexplore.resolve.claims import Claim
from ptexplore.resolve.native.call_tree import NativeFrame, SteppedPart

DEEPEST = 300  # levels; a saved trace is read back to 400


@dataclass(slots=True, eq=False)
class Branch:
    """A hop to be. Without a claim the frame speaks for itself; without a frame the claim has left none."""

    parent: Branch | None
    frame: NativeFrame | None = None
    claim: Claim | None = None
    depth: int = 0
    children: list[Branch] = field(default_factory=list)
    done: Claim | None = None


@dataclass(frozen=True)
class Growth:
    """The branches of one part: `root` stands for nothing; `of` has the branch of each frame that got one."""

    root: Branch
    of: dict[NativeFrame, Branch]
    cut: bool  # calls nested deeper than can be shown were left out


def grow(part: SteppedPart) -> Growth:
    """A branch for every frame, but for the interpreter's that only wrap: their calls move up to what they are in."""
    opens = _holding_open(part)
    root = Branch(None)
    of: dict[NativeFrame, Branch] = {}
    inside: dict[int, Branch | None] = {}
    cut = False
    for frame in part.frames:
        above = inside[frame.parent.number] if frame.parent is not None else root
        if above is None or above.depth >= DEEPEST:
            inside[frame.number], cut = None, True
        elif frame.function.is_interpreter and opens[frame.number]:
            inside[frame.number] = above
        else:
            branch = Branch(above, frame, depth=above.depth + 1)
            above.children.append(branch)
            inside[frame.number] = of[frame] = branch
    return Growth(root, of, cut)


def _holding_open(part: SteppedPart) -> list[bool]:
    """By frame whether a call inside it is of code whose source is open."""
    holding = [False] * len(part.frames)
    for frame in reversed(part.frames):
        if frame.parent is not None and (holding[frame.number] or not frame.function.closed):
            holding[frame.parent.number] = True
    return holding


def wrap(branches: Sequence[Branch], claim: Claim) -> Branch:
    """Put a claim around neighbours: what holds them then holds it instead."""
    parent = branches[0].parent
    assert parent is not None
    made = Branch(parent, claim=claim, depth=branches[0].depth, children=list(branches))
    first = parent.children.index(branches[0])
    parent.children[first : first + len(branches)] = [made]
    for branch in branches:
        branch.parent = made
    return made


def fill(branch: Branch, claim: Claim) -> Branch:
    """Put a claim inside a branch, around all that it holds."""
    made = Branch(branch, claim=claim, depth=branch.depth + 1, children=branch.children)
    for child in made.children:
        child.parent = made
    branch.children = [made]
    return made


def span(inside: Branch, anchors: Sequence[Branch]) -> list[Branch] | None:
    """The neighbours, in the innermost branch that holds all anchors, from the first's to the last's.

    None where an anchor is not inside `inside`.
    """
    paths = []
    for anchor in anchors:
        path = [anchor]
        while path[-1] is not inside:
            above = path[-1].parent
            if above is None:
                return None
            path.append(above)
        paths.append(path[::-1])
    level = 0
    while all(len(path) > level + 2 for path in paths) and len({id(path[level + 1]) for path in paths}) == 1:
        level += 1
    if any(len(path) <= level + 1 for path in paths):
        return None
    held = paths[0][level].children
    places = [held.index(path[level + 1]) for path in paths]
    return held[min(places) : max(places) + 1]


def entered(held: list[Branch], inside: Branch) -> list[Branch]:
    """Neighbours that Python code can be put around: what calls them without the interpreter is inside of it too."""
    while held[0].parent is not None and held[0].parent is not inside and not _by_interpreter(held[0]):
        held = [held[0].parent]
    return held


def _by_interpreter(branch: Branch) -> bool:
    """Whether the interpreter stands between a branch's frame and the one around it."""
    first: Branch | None = branch
    while first is not None and first.frame is None:
        first = first.children[0] if first.children else None
    above = branch.parent
    while above is not None and above.frame is None:
        above = above.parent
    frame = first.frame.parent if first is not None and first.frame is not None else None
    while frame is not None and above is not None and frame is not above.frame:
        if frame.function.is_interpreter:
            return True
        frame = frame.parent
    return above is None


def insert(parent: Branch, claim: Claim, after: Branch | None) -> Branch:
    """A branch of its own for a claim without frames, behind `after` where that is beside it, else first."""
    made = Branch(parent, claim=claim, depth=parent.depth + 1)
    while after is not None and after.parent is not parent:
        after = after.parent
    at = parent.children.index(after) + 1 if after is not None else 0
    parent.children.insert(at, made)
    return made


Native = Callable[[NativeFrame, tuple[Claim, ...]], Claim]


def finish(root: Branch, native: Native) -> tuple[Claim, ...]:
    """The claims of all branches below the root; not recursive, since stacks can be deep."""
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
