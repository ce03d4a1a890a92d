"""What a generated kernel's body says of the thread-local state."""

from __future__ import annotations

from ptexplore.catalogue.bodies import read_body


def test_a_tracing_state_that_is_taken_away_stays_away_behind_its_if() -> None:
    """As gen_trace_type.py writes it: the redispatch stands behind the `if` that clears the state."""
    body = read_body(
        "if (jit::tracer::isTracing()) { node = f(); jit::tracer::setTracingState(nullptr); } "
        "auto result = at::_ops::blend::redispatch(ks & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, "
        "c10::DispatchKey::Tracer), self); if (state) { jit::tracer::setTracingState(std::move(state)); }"
    )
    assert body.guard == "jit::tracer::setTracingState(nullptr)"
