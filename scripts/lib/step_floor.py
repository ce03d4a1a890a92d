"""Run by the bench, in a process of its own: what a step by the trap flag costs, in turns with our own stepping.

Prints JSON: instructions that are stepped in a second of processor time by our handler ("ours"), which stops only where
code may not go straight on, by one that counts each and goes back as ours does ("floor"), and by one that only counts
and returns by the kernel ("kernel").
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from ptexplore.probe import machine_code, stepper

TURNS = 5


def counting(by_itself: bool) -> Callable[..., str]:
    """A handler that counts the instruction and returns."""

    def handler(state: int, tables: int, alone: bool = True) -> str:
        del tables
        count = f"movabs rax, {state}\ninc qword ptr [rax + {machine_code.COUNT}]\nmov rsi, rdx\n"
        return count + machine_code.returning(alone and by_itself)

    return handler


def made(handler: Callable[..., str]) -> stepper.Stepper:
    """A stepper with that handler."""
    real, machine_code.handler = machine_code.handler, handler
    try:
        return stepper.Stepper()
    finally:
        machine_code.handler = real


def main() -> None:
    """Step the same call by each in turns, in a fork: beside other threads ours would go by the trap flag too."""
    if os.fork():
        sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
    torch.set_num_threads(1)
    a, b = torch.randn(3, 3, requires_grad=True), torch.randn(3, 3)

    def call() -> Any:
        return torch.softmax(a @ b, dim=-1).sum()

    for _ in range(3):
        call()
    steppers = {"ours": made(machine_code.handler), "floor": made(counting(True)), "kernel": made(counting(False))}
    rates: dict[str, list[float]] = {name: [] for name in steppers}
    for _ in range(TURNS):
        for name, one in steppers.items():
            began = time.thread_time()
            _, steps = one.step(call)
            rates[name].append(steps.instructions / (time.thread_time() - began))
    print(json.dumps({name: statistics.median(found) for name, found in rates.items()}))


if __name__ == "__main__":
    main()
