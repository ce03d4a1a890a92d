"""How the passes over one expression compare."""

from __future__ import annotations

from ptexplore.capture.trace import compare
from ptexplore.model.messages import ReadObservation
from ptexplore.model.observed import Event
from ptexplore.model.reasons import CountsDiffer, RecorderChanged
from ptexplore.model.recorders import OPS_AGAIN


def test_when_other_threads_run_tells_nothing_but_how_often_does() -> None:
    """The order of two threads' events is none of what ran: of those only the counts are compared."""

    def a_pass(*names: tuple[str, int]) -> list[ReadObservation]:
        return [
            ReadObservation("ops", "event", Event(0, None, "op", thread, "forward", name)) for name, thread in names
        ]

    first = a_pass(("mul", 0), ("ones_like", 1), ("SumBackward0", 1))
    assert compare({"ops": first, "dispatch": a_pass(("SumBackward0", 1), ("mul", 0), ("ones_like", 1))}) == []
    [(kind, data)] = compare({"ops": first, "frames": a_pass(("mul", 0), ("ones_like", 1)), OPS_AGAIN: first})
    changed = RecorderChanged(reference="ops")
    assert kind == "perturbed"
    assert data.told == CountsDiffer(changed, "SumBackward0", 1, 0, "ops", "frames")
    [(kind, data)] = compare({"ops": first, "frames": a_pass(("add", 0), ("ones_like", 1), ("SumBackward0", 1))})
    assert (kind, data.operators) == ("nondeterministic", ("mul", "add"))
