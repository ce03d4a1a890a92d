"""Why something was not recorded, or not stepped, as the probe says it: a code with its arguments, as plain JSON data.

The codes are those of ptexplore/model/reasons.py, which the parent reads them as. Their words are the parent's.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Said: TypeAlias = dict[str, Any]


def reason(code: str, **arguments: Any) -> Said:
    """A reason with its arguments."""
    return {"code": code, **arguments}
