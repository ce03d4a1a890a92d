"""What chose the code that computes: the answers of the functions in facts/choosers.py, beside the rows of a trace.

An answer is a value that a function returned in the stepped run. Of a function that was inlined, no answer is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping

from msgspec import structs

from ptexplore.facts.choosers import BY_FUNCTION, BY_PART, FAST_SETUPS, Alternative, Check, Chooser
from ptexplore.model import details as says
from ptexplore.model.details import Detail
from ptexplore.model.reasons import CalledBefore
from ptexplore.model.trace import Hop, walk

Details = tuple[Detail, ...]
LEAST_OF_ROW = 0.1  # of a row's instructions: an algorithm with a smaller part does not do its work
LEAST = 500  # instructions of an algorithm


def choices(hops: Iterable[Hop], has_row: Callable[[int], bool], kernels: Container[int] = ()) -> dict[int, Details]:
    """Returns the details about choices by hop id: of the chooser's own hop, or of the nearest hop around it.

    `has_row` says whether a hop may have a row. `kernels` are hops whose rows also tell of what runs in their loops.
    """
    details: dict[int, Details] = {}
    algorithms: dict[int, Counter[str]] = {}  # by hop id: the instructions of each algorithm
    counted: dict[int, int] = {}
    pending: list[tuple[Hop, str, int | None, int | None, tuple[str, ...]]] = [
        (hop, "", None, None, ()) for hop in hops
    ]
    while pending:
        hop, asker, around, kernel, instead = pending.pop()
        caller = around
        if hop.kind == "op":
            instead = next((why.operators for why in hop.why if isinstance(why, CalledBefore)), ())
        kernel = hop.id if hop.id in kernels else None if hop.kind == "op" else kernel
        if hop.kind == "native" and hop.name in BY_PART:  # its own calls are part of its work
            at = around if kernel is None else kernel
            if at is not None:
                algorithms.setdefault(at, Counter())[BY_PART[hop.name]] += hop.instructions or 0
            continue
        counted[hop.id] = hop.instructions or 0
        chooser = chooser_of(hop)
        if chooser is not None:
            at = hop.id if chooser.on == "itself" else around
            decides = not any(asker == name for name, _source in chooser.asked_for_more)
            answer = _detail(chooser, hop) if decides else None
            if isinstance(answer, says.Chooses) and instead:
                answer = structs.replace(answer, instead=instead)
            if at is not None and answer is not None and answer not in details.get(at, ()):
                details[at] = (*details.get(at, ()), answer)
        elif has_row(hop.id):
            around = hop.id
        if hop.python is not None and hop.python.variables:
            details |= _of_python(hop, details, caller)
        pending += [(child, hop.name, around, kernel, instead) for child in reversed(hop.children)]
    for at, ran in algorithms.items():  # views sort their few dimensions, too
        names = [name for name, count in ran.items() if count >= max(LEAST_OF_ROW * counted[at], LEAST)]
        details[at] = (*details.get(at, ()), *(says.ByAlgorithm(name=name) for name in names))
    return details


def _of_python(hop: Hop, known: Mapping[int, Details], caller: int | None) -> dict[int, Details]:
    """Returns what the variables of a Python function say that chooses code: about itself, or about its caller."""
    for detail in of_module(hop):
        return {hop.id: (*known.get(hop.id, ()), detail)}
    made = () if caller is None else tuple(of_optimizer(hop))
    return {caller: (*known.get(caller, ()), *made)} if caller is not None and made else {}


def of_module(hop: Hop) -> Iterator[Detail]:
    """Yields why a module's forward did not take its fast path, if the hop is a forward that noted the reason."""
    variables = hop.python.variables if hop.python is not None else {}
    why = variables.get("why_not_fast_path") or variables.get("why_not_sparsity_fast_path")
    if why:
        yield says.NoFastPath(why=" ".join(why.split()).removesuffix("."))


def of_optimizer(hop: Hop) -> Iterator[Detail]:
    """Yields which implementation an optimizer takes by default, if the hop is the function that decides it."""
    variables = hop.python.variables if hop.python is not None else {}
    kind = next((kind for kind in ("fused", "foreach") if variables.get(kind) == str(True)), None)
    if kind is not None:
        yield says.ByDefault(kind=kind)
    elif variables.get("differentiable") == str(True):
        yield says.Differentiable()
    elif "fused" in variables:
        yield says.OneByOne(devices=variables.get("foreach_supported_devices", ""))


def chooser_of(hop: Hop) -> Chooser | None:
    """Returns the chooser that a hop is a call of, or None."""
    return BY_FUNCTION.get(hop.name) if hop.kind == "native" and hop.native is not None else None


def _detail(chooser: Chooser, hop: Hop) -> Detail | None:
    """Returns what a call of a chooser says; None if nothing is known."""
    returned = hop.native.returned if hop.native is not None else None
    if chooser.answers is FAST_SETUPS:
        if returned is None:
            return None
        layout = FAST_SETUPS.name(returned)
        return says.FastSetup(layout=layout.lower()) if returned else says.NoFastSetup()
    if chooser.answers is None:
        return _answer(chooser, hop, returned)
    chosen = chooser.answers.name(returned) if returned is not None else ""
    refused = tuple(_refused(chooser, hop))
    if not chosen and not refused:
        return says.ChoosesUnseen() if chooser.on == "itself" else None
    return says.Chooses(chosen=chosen, refused=refused)


def _answer(chooser: Chooser, hop: Hop, returned: bool | int | None) -> Detail | None:
    """Returns what a chooser with the answers yes and no says."""
    if returned is None:
        return None
    check = hop.name.rpartition("::")[2]
    detail = chooser.yes if returned else chooser.no
    if isinstance(detail, says.Takes | says.NotTaken):
        detail = structs.replace(detail, check=check)
    if returned or not isinstance(detail, says.NotTaken):
        return detail
    refused = next(_first_refusals(chooser.alternatives, _answers_in(hop)), None)
    means = refused[1].refused if refused is not None else detail.means
    return structs.replace(detail, means=means)


def _refused(chooser: Chooser, hop: Hop) -> Iterator[Detail]:
    """Yields the code that was not taken: first what has a meaning, then the checks of all other code."""
    more: list[str] = []
    for alternative, check in _first_refusals(chooser.alternatives, _answers_in(hop)):
        name = check.function.rpartition("::")[2]
        if check.refused is not None:
            yield says.CheckRefused(name=alternative.name, check=name, means=check.refused)
        else:
            more.append(name)
    if more:
        yield says.AlsoRefused(checks=tuple(more))


def _first_refusals(
    alternatives: Iterable[Alternative], answers: Mapping[str, bool]
) -> Iterator[tuple[Alternative, Check]]:
    """Yields for each alternative its first check that answered no, if one did."""
    for alternative in alternatives:
        check = next((check for check in alternative.checks if answers.get(check.function) is False), None)
        if check is not None:
            yield alternative, check


def _answers_in(hop: Hop) -> dict[str, bool]:
    """Returns the answers of the checks inside a call of a chooser, by function; the last answer counts."""
    answered = (part for part in walk(hop.children) if part.native is not None and part.native.returned is not None)
    return {part.name: bool(part.native.returned) for part in answered if part.native is not None}
