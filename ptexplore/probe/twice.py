"""The second run of a script, with torch's profiler only: what it ran and left, to compare with the recorded run."""

from __future__ import annotations

import base64
import signal
import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

from . import clock, events, imports, passes, profiled
from . import torch_api as api
from .expression import text_of
from .raising import Raised
from .reasons import reason
from .values import random_states

if TYPE_CHECKING:
    from .messages import EffectsData, RunRequestData, RunToldData

RECORDER: Final = "twice"
MOST = 150_000  # operators: the profiler holds all of them at once, half a gigabyte
TOO_MANY = reason("many-operators")


def run(request: RunRequestData) -> RunToldData:
    """Run the script under torch's profiler, and return the message of this pass.

    `operators` in the request is the number of operators in the recorded run. Raises Refused for names that cannot be
    bound.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    running = passes.prepared(RECORDER, request)
    # No sizes: recording them keeps a gradient alive a little longer, and AccumulateGrad may then copy it.
    profile = api.profiler(shapes=False) if int(request["operators"]) <= MOST else None
    watch = clock.ClockWatch().start()
    with passes.stage("context"), ExitStack() as stack:
        passes.enter_contexts(stack, running)
        if profile is not None:
            with api.quiet_profiler():
                profile.__enter__()
            with api.marker(events.MAIN):
                pass
        with _seeding(running.names.seed_numpy):
            running.attempt("script", running.evaluate)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # from here on the answer is on its way
        if profile is not None:
            with api.quiet_profiler():
                profile.__exit__(None, None, None)
    second = effects(running.raised)
    if profile is None:
        second["uncompared"] = TOO_MANY
    elif watch.stop():
        second["uncompared"] = clock.SET
    else:
        second.update(_pack_operators(profile))
    return {"sequence": "0", "second": second, "observations": []}


@contextmanager
def _seeding(seed: Callable[[], None]) -> Iterator[None]:
    """Seed the imported modules after each import, as in the recorded run. Nothing of a compiler is recorded."""
    bootstrap = imports.BOOTSTRAP
    load = bootstrap._find_and_load

    def loaded(_: object) -> None:
        seed()
        api.compile_unrecorded()

    api.compile_unrecorded()
    bootstrap._find_and_load = imports.import_function(lambda: None, loaded, load)
    try:
        yield
    finally:
        bootstrap._find_and_load = load


def effects(raised: Raised | None) -> EffectsData:
    """Return what a run of the script leaves in its process: how it ended, and the state of random numbers."""
    ended = None
    if raised is not None:
        ended = f"{type(raised.error).__name__}: {text_of(raised.error)}".removesuffix(": ")
    return {"random": random_states(), "raised": ended}


def _pack_operators(profile: Any) -> EffectsData:
    """Return the names of operators and nodes in order, packed. Those of the main thread come first.

    If a device is in use, nodes run in threads of their own, at the same time as the main thread. Then `apart` is true,
    and also the nodes of the main thread are listed with the other threads.
    """
    roots = api.event_roots(profile)
    main = next((event.start_tid for event in roots if event.name == api.MARK + events.MAIN), None)
    is_apart = profile.use_device is not None or api.device_in_use() is not None
    parts: tuple[list[Any], list[Any]] = ([], [])
    for event in sorted(roots, key=lambda event: (event.start_tid != main, event.start_time_ns)):
        is_beside = event.start_tid != main or (is_apart and event.name.startswith(events.ENGINE))
        parts[is_beside].append(event)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 100_000))
    numbers: dict[str, int] = {}
    try:
        orders = [[numbers.setdefault(name, len(numbers)) for name in _names(part)] for part in parts]
    finally:
        sys.setrecursionlimit(limit)
    order = [number for names in orders for number in names]
    packed = base64.b64encode(zlib.compress(struct.pack(f"<{len(order)}I", *order))).decode()
    return {"names": list(numbers), "order": packed, "main": len(orders[0]), "apart": is_apart}


def _names(trees: Iterable[Any]) -> Iterator[str]:
    for event in trees:
        name = event.name
        call = profiled.read(event, name) if not name.startswith(api.MARK) else None
        if call is not None and call[2] not in profiled.RANGES:
            yield name
        yield from _names(event.children)
