"""What a trace is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

SEED = 0


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """One expression or script, and all that decides how it runs. `timeout` is in seconds, for each run.

    `native` asks for the native pass, `native_op` ("add.Tensor#2") for one operator call to be stepped in it.
    """

    expression: str | None = None
    script: str | None = None
    variables: tuple[tuple[str, str], ...] = ()
    setup: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    grad: bool = False
    backward: bool = False
    once: bool = False
    timeout: float = 60.0
    seed: int = field(default=SEED)
    cwd: str = "/"
    native: bool = False
    native_op: str | None = None
