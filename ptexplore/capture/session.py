"""Sessions as JSON documents and back; a saved one is data nobody vouches for."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model import FORMAT, Observation, Session

MAX_OBSERVATIONS = 2_000_000


def session_to_document(session: Session) -> dict[str, Any]:
    """A session as plain JSON data, without the folders of the machine it was made on."""
    return {
        "format": session.format,
        "expression": session.expression,
        "torch": {k: v for k, v in session.torch.items() if k != "torch_dir"},
        "bound": list(session.bound),
        "options": session.options,
        "captured": session.captured,
        "result": session.result,
        "observations": [asdict(o) for o in session.observations],
    }


def session_from_document(data: Any, name: str) -> Session:
    """Read a session back. Raises PtexploreError (usage) where it is not one of ours."""
    parts = {"expression": str, "torch": dict, "bound": list, "options": dict, "captured": dict, "result": dict}
    if not isinstance(data, dict) or not all(isinstance(data.get(k), t) for k, t in parts.items()):
        raise _refused(name, "a field of the session is missing or of the wrong kind")
    if not isinstance(data.get("format"), int) or data["format"] > FORMAT:
        raise _refused(name, f"the session is of format {str(data.get('format'))[:20]}, this ptexplore knows {FORMAT}")
    observations = data.get("observations")
    if not isinstance(observations, list) or len(observations) > MAX_OBSERVATIONS:
        raise _refused(name, "the session's observations are missing or too many")
    return Session(
        expression=data["expression"],
        torch=data["torch"],
        bound=tuple(data["bound"]),
        options=data["options"],
        captured=data["captured"],
        result=data["result"],
        observations=tuple(_observation(o, name) for o in observations),
    )


def _observation(data: Any, name: str) -> Observation:
    kinds = {"id": int, "recorder": str, "kind": str, "data": dict}
    if not isinstance(data, dict) or not all(isinstance(data.get(k), t) for k, t in kinds.items()):
        raise _refused(name, "an observation is not one of ours")
    return Observation(data["id"], data["recorder"], data["kind"], data["data"])


def _refused(name: str, why: str) -> PtexploreError:
    hint = 'ptexplore trace "torch.add(a, b)" --save FILE writes one'
    return PtexploreError(f"{name} is no saved trace", why, hint, USAGE)
