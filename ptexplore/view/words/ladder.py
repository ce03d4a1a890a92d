"""The words for an operator's ladder: whether it is Core ATen, and what happens to it on each rung."""

from __future__ import annotations

from collections.abc import Mapping

from ptexplore.model import ladder as says
from ptexplore.model.decompositions import DecompositionPart
from ptexplore.model.ladder import CoreAnswer, CoreReason, OperatorSet, RungName, RungState
from ptexplore.view.words.templates import Catalogue, filled

ENGLISH: Catalogue = {
    # --- whether an operator is Core ATen ---
    says.HasCoreTag: "yes, it has the tag core",
    says.CoreYetReplaced: (
        "yes, it has the tag core; but run_decompositions() replaces it[: {function}]{function#|, by its composite "
        "kernel}"
    ),
    says.IsPrim: "no, it is a prim ({namespace})",
    says.IsCustom: "no, it is not an operator of ATen but of {namespace}",
    says.IsHigherOrder: "no, it is a higher-order operator",
    says.Mutates: "no, it writes to {arguments: and }; functionalization replaces it first",
    says.IsComposite: "no, its CompositeImplicitAutograd kernel decomposes it[; while torch traces: {function}]",
    says.IsKeptComposite: "no, it lacks the tag core; run_decompositions() keeps it whole by default",
    says.InDefaultTable: "no, run_decompositions() replaces it: {function}{declines#, which may decline|}",
    says.DecomposedInTracing: "no, it is decomposed while torch traces: {function}",
    says.HasNoDecomposition: (
        "no, it lacks the tag core, and run_decompositions() does not replace it[ ({registered} is registered, but not "
        "in its table)]"
    ),
    says.HasNoTag: "no, it lacks the tag core",
    says.IsNoOperator: "this torch has no such operator",
    # --- what happens on a rung ---
    says.IsKept: "stays as it is",
    says.IsKeptWhole: "stays whole, by default, although it is composite",
    says.RunsKernel: "runs its own kernels",
    says.ReplacedByPython: "{function}{declines#, which may decline|}",
    says.ReplacedByRef: "{function}, for {names}",
    says.TracedInPython: "{function}, in place of a C++ kernel",
    says.ReplacedByComposite: "{kernel}, in C++[; other kernels for {keys}]",
    says.DecomposedBefore: "decomposed as in a plain call",
    says.AnswersShape: "becomes a number while torch traces; stays an operator if the size is a symbol",
    says.MadeFunctional: "functionalization replaces it first",
    says.IsLowered: "{function}{falls_back#; for some calls its kernel|}",
    says.IsCalledWhole: "calls its kernel (registered as a fallback)",
    says.IsNotLowered: "calls its kernel (no lowering)",
    says.IsUnknown: "this torch cannot say ({part}): {error}",
}

# The first column of the ladder: what decomposes the operator.
RUNGS: Mapping[RungName, str] = {
    "eager": "a plain call",
    "vmap": "torch.vmap",
    "forward-ad": "forward-mode AD",
    "export": "run_decompositions()",
    "prims": "TorchRefsMode (prims)",
    "refs": "… by Python name",
    "inductor": "torch.compile, traced",
    "lowering": "torch.compile, lowered",
    "meta": "fake and meta tensors",
}
NOT_REACHED = "if its decomposition declines: "  # before what a lowering does that the operator may never reach

# The tables, by the name of ptexplore, as torch calls them.
TABLES: Mapping[DecompositionPart, str] = {
    "registered": "torch._decomp",
    "export": "torch.export",
    "inductor": "Inductor",
    "forward-ad": "forward-mode AD",
    "lowerings": "Inductor's lowerings",
    "refs": "torch._refs",
}
HAS, HAS_NOT, READ_BY = "yes", "no", "; {} reads it"

HEADINGS: Mapping[OperatorSet, str] = {
    "core": "{total:,} operators are Core ATen: they have the tag core",
    "prims": "{total:,} prims",
}
LOWERED = "with Inductor: {lowered:,} are replaced or lowered; for {called:,} the kernel is called"
LISTED_UNKNOWN = "unknown"
LISTED_LOWERED, LISTED_REPLACED, LISTED_ELSE = "lowered by {}", "replaced by {}", "; where that declines, "
REPLACED_BY_EXPORT = "; run_decompositions() replaces it"
LATER = "; registered by Inductor's import"


def core_in_words(answer: CoreAnswer) -> str:
    """Returns whether an operator is Core ATen, and why: "yes, it has the tag core"."""
    return reason_in_words(answer.reason)


def reason_in_words(reason: CoreReason) -> str:
    """Returns why an operator is Core ATen or is not, beginning with "yes" or "no"."""
    return _filled(reason)


def state_in_words(state: RungState) -> str:
    """Returns what happens to an operator on a rung."""
    return _filled(state)


def _filled(code: CoreReason | RungState) -> str:
    return filled(ENGLISH[type(code)], code, str)
