"""A reason why something was not recorded or stepped, as the probe sends it: a code with arguments, as plain JSON data.

The parent reads the codes by ptexplore/model/reasons.py. The parent also has the words.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Said: TypeAlias = dict[str, Any]


def reason(code: str, **arguments: Any) -> Said:
    """Return a reason with its arguments."""
    return {"code": code, **arguments}
