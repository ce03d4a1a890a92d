"""Turn what the recorders say of their own limits into findings: cuts, differences, new registrations."""

from __future__ import annotations

from ptexplore.model.trace import Finding
from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.observed import table_of

OTHER_RESULT = "the stepped run gave another result than the run before it (memory that was never written, a clock, …)"


def report(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Add a finding for each recorder's own report; claims pass through unchanged."""
    for observation in context.session.observations:
        if observation.kind == "cut":
            context.findings.append(
                Finding("cut", str(observation.data.get("text", "events beyond the cap are not shown")))
            )
        elif observation.kind in ("nondeterministic", "perturbed"):
            context.findings.append(Finding(observation.kind, str(observation.data.get("text", ""))))
        elif observation.kind == "result" and observation.data.get("equal") is False:
            context.findings.append(Finding("nondeterministic", OTHER_RESULT))
        elif observation.kind == "table":
            op = table_of(observation).op
            text = f"{op}: its registrations are not those of the catalogue (the traced code changed them)"
            context.findings.append(Finding("registrations-changed", text))
    return claims
