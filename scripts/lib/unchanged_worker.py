"""The half of scripts/unchanged that runs in the Python that has torch: OpInfo's samples under every recorder.

Its answer is JSON lines on stdout: of each operator and phase one with the digests, by recorder, a sample each. The
samples of an operator are made once, in a child of their own; each recorder then runs them all in a fork of that one,
so that all see the same memory.
"""

from __future__ import annotations

import ctypes
import gc
import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from raising_worker import forked, load_probe

STEPPED = "stepped"  # the native pass: each sample in a process of its own, where it is stepped as in a trace
M_PERTURB = -6  # of mallopt (glibc's malloc.h): memory is full of a byte when it is given out
FILLS = (0x5A, 0xFF)  # two such bytes, as mallopt takes them: what is given out is full of 0xA5, or of zeros
LIMIT = 300.0  # seconds for all samples of an operator under one recorder


def requests(op: Any, backward: bool, most: int) -> tuple[str, list[dict[str, Any]]]:
    """The dtype, and what a trace of each sample would be asked for; [] where there is no sample."""
    from _ptexplore_probe import survey  # type: ignore[import-not-found]

    asked = {"setup": [], "variables": [], "contexts": [], "grad": backward, "backward": backward, "script": None,
             "seed": 0, "once": False, "native": False, "timeout": LIMIT, "first": False}  # fmt: skip
    dtype = survey._dtype(op, backward)[0]
    if dtype is None:
        return "", []
    made = []
    for number, sample in enumerate(survey.samples(op, dtype, asked)):
        if number == most:
            break
        values = survey._Written()
        callee = survey.public_name(op) or values.name("f", op.op)
        given = [values.text(value) for value in (sample.input, *sample.args)]
        given += [f"{name}={values.text(value)}" for name, value in sample.kwargs.items()]
        expression = f"{callee}({', '.join(given)})"
        bound = (expression, values.values)
        fresh = partial(made_anew, partial(survey.written, op, number, dtype, asked))
        made.append({**asked, "expression": expression, "sample": lambda bound=bound: bound, "fresh": fresh})
    return str(dtype).removeprefix("torch."), made


def made_anew(make: Callable[[], Any]) -> Any:
    """A sample once more, for what evaluates it several times: random numbers go on as if it had not been made."""
    import numpy
    import torch

    states = torch.get_rng_state(), random.getstate(), numpy.random.get_state()
    try:
        return make()
    finally:
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        numpy.random.set_state(states[2])


def evaluated(request: dict[str, Any]) -> str | None:
    """The digest of a sample's result and of all that it leaves, with nothing looking on."""
    from _ptexplore_probe import survey

    return survey._evaluated(request)[1]  # type: ignore[no-any-return]


def recorded(recorder: str, request: dict[str, Any]) -> str | None:
    """The same under a recorder."""
    from _ptexplore_probe import native, passes

    if recorder == STEPPED:
        run = native.run({**request, "native": True, "sample": request["fresh"]})
        assert any(seen["kind"] == "steps" and seen["data"]["instructions"] for seen in run["observations"])
        return run["result"]["fingerprint"]  # type: ignore[no-any-return]
    running = passes.prepared(recorder, {**request, "once": recorder == "once"})
    described, _ = passes._observe(running)
    if running.raised is not None:
        raise running.raised.error
    return described["fingerprint"]  # type: ignore[no-any-return]


def digests(recorder: str, asked: list[dict[str, Any]]) -> Iterator[str | None]:
    """One digest a sample; of one that raises, what it raises."""
    from _ptexplore_probe.raising import Raised

    run = evaluated if recorder in ("plain", "program") else partial(recorded, recorder)
    for request in asked:
        try:
            yield run(request)
        except Raised as raised:
            yield f"raises {type(raised.error).__name__}: {raised.error}"[:200]
        except Exception as error:  # noqa: BLE001 -- whatever a sample raises
            yield f"raises {type(error).__name__}: {error}"[:200]


def answer(recorder: str, asked: list[dict[str, Any]], fill: int | None = None) -> bytes:
    """All digests of one recorder, as JSON; `fill` is for M_PERTURB."""
    if fill is not None:
        ctypes.CDLL(None).mallopt(M_PERTURB, fill)
    if recorder != "program":
        return json.dumps(list(digests(recorder, asked))).encode()
    import torch
    from _ptexplore_probe import autograd
    from _ptexplore_probe.recording import Recorder

    # The marker around backward is the passes' own. A slice that ended inside of it would leave it to write to memory
    # of the profiler that is gone.
    autograd.backward = autograd.run_backward
    recording = Recorder((__file__,))
    recording.start()
    try:
        torch.ones(1)  # what is recorded however few of the samples run
        results = list(digests(recorder, asked))
    finally:
        recording.stop()
    assert recording.operators, "something was recorded"
    return json.dumps(results).encode()


def compared(op: Any, backward: bool, most: int, recorders: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The digests of an operator's samples by recorder; of those that differ what further runs give."""
    from _ptexplore_probe.isolate import isolated

    dtype, asked = requests(op, backward, most)
    row = {"op": op.full_name, "phase": "backward" if backward else "forward", "dtype": dtype, "samples": len(asked)}

    def run(recorder: str, some: list[dict[str, Any]], fill: int | None = None) -> list[Any]:
        if recorder == STEPPED and len(some) > 1:
            return [run(recorder, [sample], fill)[0] for sample in some]
        outcome = isolated(lambda: answer(recorder, some, fill), sys.stdout.fileno(), LIMIT)
        if outcome.status or not outcome.answer:
            how = outcome.signal or f"status {outcome.exit_code}: {outcome.printed[-300:]}"
            return [f"dies by {how}"] * len(some)
        return list(json.loads(outcome.answer))

    gc.freeze()
    table = {recorder: run(recorder, asked) for recorder in ("plain", *recorders)} if asked else {}
    again = {}
    for number in [n for n in range(len(asked)) if len({given[n] for given in table.values()}) > 1]:
        other = [recorder for recorder in recorders if table[recorder][number] != table["plain"][number]]
        some = asked[: number + 1]
        again[number] = {
            "expression": asked[number]["expression"][:200],
            "plain": [run("plain", some)[-1] for _ in range(5)],
            **{recorder: [run(recorder, some)[-1] for _ in range(2)] for recorder in other},
            "filled": {name: [run(name, some, fill)[-1] for fill in FILLS] for name in ("plain", *other)},
        }
    yield {**row, "digests": table, "again": again}


def main() -> None:
    """`probe` is the file of the probe, `only` a regular expression of operators, `most` how many samples of each."""
    probe, only, most, phases, share, part, recorders = sys.argv[1:8]
    load_probe(probe)
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    for number, op in enumerate(op_db):
        if not re.search(only, op.full_name) or number % int(share) != int(part):
            continue
        for phase in phases.split(","):
            work: Callable[[], Iterator[dict[str, Any]]] = partial(
                compared, op, phase == "backward", int(most), tuple(recorders.split(","))
            )
            forked(work, f"{op.full_name} {phase}")


if __name__ == "__main__":
    main()
