"""The kinds of a trace's hops, apart from its records: notes name them, and are read where no trace is."""

from typing import Literal

HopKind = Literal["python", "binding", "op", "key", "kernel", "impl", "stub", "native", "node", "launch", "closed"]
