"""The one error type a user may see: what failed, why, and the next command to type."""

from __future__ import annotations

FAILED = 1
USAGE = 2
MISSING = 3  # something needed is missing, stale or mismatched


class PtexploreError(Exception):
    """An error in three parts; the exit code rides on it to the one boundary in cli/app.py.

    message: what failed. why: the reason, may be empty. hint: what to type next, may be empty.

    >>> import ptexplore
    >>> try:
    ...     ptexplore.trace(len)
    ... except ptexplore.PtexploreError as error:
    ...     print(error.message)
    expression is a callable, not a text
    """

    def __init__(self, message: str, why: str = "", hint: str = "", exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.why = why
        self.hint = hint
        self.exit_code = exit_code
