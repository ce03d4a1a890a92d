"""The kinds of hops, in a module of their own: notes name these kinds, and are read without any trace."""

from typing import Literal

HopKind = Literal["python", "binding", "op", "key", "kernel", "impl", "stub", "native", "node", "launch", "closed"]
