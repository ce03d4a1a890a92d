"""Surveys a torch: one probe imports torch and its OpInfo database once, then runs each operator."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import IO, Any, Literal

from ptexplore.capture.failures import failure
from ptexplore.capture.not_captured import NotCaptured
from ptexplore.capture.probing import TraceRequest, converse, request_of
from ptexplore.capture.trace import gather
from ptexplore.errors import MISSING, PtexploreError
from ptexplore.model.actions import ShowOutput
from ptexplore.model.messages import NoSamples, ProbeMessage, SampleInside, SurveyAsked
from ptexplore.model.places import Runtime
from ptexplore.model.reasons import AnyReason, FailedSo, NoOperatorsNamed, Said, Together, reason_of
from ptexplore.model.trace import Session

PLAIN = "plain"
Way = Literal["vmap", "jit.trace", "Function"]  # further ways to run a sample, beside the plain run
WAYS: tuple[Way, ...] = ("vmap", "jit.trace", "Function")
NEEDED = ("expecttest", "numpy")  # packages that torch.testing._internal imports and torch does not install


@dataclass
class SurveyedFacts:
    """The stored facts of one operator's run beside its session. `why` is the reason why there is no session.

    `digests` are hashes of the result by pass; the untraced run's is under "plain". One is None if a result has no
    plain bytes. `inside` are runs of the same sample under vmap, jit.trace or an autograd Function; `way` names it.
    """

    op: str
    way: Way | None = None
    has_sample: bool = True
    sample: int | None = None
    dtype: str | None = None
    expression: str | None = None
    digests: dict[str, str | None] = field(default_factory=dict)
    why: AnyReason | None = None
    seconds: float = 0.0
    inside: tuple[SurveyedFacts, ...] = ()


@dataclass
class Surveyed(SurveyedFacts):
    """One operator's run. `session` is None if there was nothing to trace, or if it failed."""

    inside: tuple[Surveyed, ...] = ()
    session: Session | None = None

    @property
    def facts(self) -> SurveyedFacts:
        """The same facts without sessions."""
        alone, *inside = (SurveyedFacts(**_own(run)) for run in (self, *self.inside))
        return replace(alone, inside=tuple(inside))


def run_of_facts(facts: SurveyedFacts) -> Surveyed:
    """Returns a run with these facts, and its inner runs, without sessions."""
    alone, *inside = (Surveyed(**_own(run)) for run in (facts, *facts.inside))
    return replace(alone, inside=tuple(inside))


def _own(run: SurveyedFacts) -> dict[str, Any]:
    """Returns a run's own facts by name, without its inner runs."""
    return {known.name: getattr(run, known.name) for known in fields(SurveyedFacts) if known.name != "inside"}


class Surveyor:
    """Surveys operators one by one. If a probe dies or hangs, that operator is lost and the probe is replaced."""

    def __init__(
        self, runtime: Runtime, request: TraceRequest, digests: Mapping[str, str], ways: Sequence[Way] = ()
    ) -> None:
        self.runtime = runtime
        self.request = replace(request, expression=None)
        self.ways = ways
        self._digests = dict(digests)
        self._given: IO[bytes] = io.BytesIO()
        self._messages: Iterator[ProbeMessage] = iter(())
        self._running = False

    def operators(self) -> list[str]:
        """Returns the names of all operators that OpInfo knows. Starts a probe if none runs.

        Raises PtexploreError (missing) if the Python of this torch lacks a package that OpInfo needs.
        """
        asked = request_of(self.request, "survey", self.runtime, self._digests)
        self._given, self._messages = converse(self.runtime, asked, self.request.timeout)
        for message in self._messages:
            if message["type"] == "operators":
                self._running = True
                return list(message["names"])
            if message["type"] == "no-samples":
                raise _no_samples(self.runtime, message)
        raise NotCaptured(NoOperatorsNamed(), Together(()), ShowOutput())

    def survey(self, op: str) -> Surveyed:
        """Runs one operator's smallest sample untraced and with every pass, then inside each of the requested `ways`.

        A failure is recorded, not raised. Raises PtexploreError only if no probe can be started.
        """
        alone = self._run(Surveyed(op))
        if alone.session is not None:
            inside = (Surveyed(op, way, sample=alone.sample, dtype=alone.dtype) for way in self.ways)
            alone.inside = tuple(self._run(surveyed) for surveyed in inside)
        return alone

    def _run(self, surveyed: Surveyed) -> Surveyed:
        """Runs a sample once. The outcome is in `surveyed`."""
        if not self._running:
            self.operators()
        began = time.monotonic()
        messages = self._asked(surveyed)
        try:
            self._gather(messages, surveyed)
        except PtexploreError as error:
            surveyed.why = Said(error.one_line)
            if isinstance(error, NotCaptured):
                surveyed.why = FailedSo(error.reason, error.because)
        with contextlib.suppress(PtexploreError):  # reported already
            for _ in messages:
                pass
        surveyed.seconds = time.monotonic() - began
        return surveyed

    def _gather(self, messages: Iterator[ProbeMessage], surveyed: Surveyed) -> None:
        for message in messages:
            if message["type"] == "plain":
                surveyed.sample, surveyed.dtype = message["sample"], message["dtype"]
                surveyed.expression, surveyed.digests[PLAIN] = message["expression"], message["fingerprint"]
                request = replace(self.request, expression=surveyed.expression)
                if surveyed.way is not None:
                    request = replace(request, setup=tuple(message["setup"]), grad=message["grad"])
                surveyed.session = gather(messages, request, self.runtime)
                return
            if message["type"] == "no-sample":
                surveyed.has_sample, surveyed.why = False, reason_of(message["told"])
            elif message["type"] == "refused" or message["type"] == "raised" or message["type"] == "died":
                raise failure(message, replace(self.request, expression=f"the sample of {surveyed.op}"))

    def _asked(self, surveyed: Surveyed) -> Iterator[ProbeMessage]:
        """Yields the probe's messages for one run. A probe that does not finish the run is closed."""
        asked: SurveyAsked = {"op": surveyed.op, "inside": _inside_of(surveyed)}
        self._running = False
        try:
            with contextlib.suppress(BrokenPipeError):  # its channel reports that
                self._given.write(json.dumps(asked).encode() + b"\n")
            for message in self._messages:
                if message["type"] == "done":
                    self._running = True
                    return
                if message["type"] == "pass":
                    surveyed.digests[message["recorder"]] = message["result"].get("fingerprint")
                yield message
        finally:
            if not self._running:
                self.close()

    def close(self) -> None:
        """Ends the probe, whatever it does."""
        self._running = False
        self._given.close()
        if isinstance(self._messages, Generator):
            self._messages.close()


def _inside_of(surveyed: Surveyed) -> SampleInside | None:
    """Returns the sample and the way to run it. None for a plain run."""
    if surveyed.way is None:
        return None
    assert surveyed.sample is not None, "the sample has run alone before"
    assert surveyed.dtype is not None, "the sample has run alone before"
    return {"way": surveyed.way, "sample": surveyed.sample, "dtype": surveyed.dtype}


def _no_samples(runtime: Runtime, message: NoSamples) -> PtexploreError:
    module = message["module"] or "expecttest"
    why = f"they need the package {module}, which {runtime.python} does not have: {message['message']}"
    packages = dict.fromkeys((*NEEDED, module.partition(".")[0]))
    hint = f"{shlex.quote(runtime.python)} -m pip install {shlex.join(packages)}"
    return PtexploreError("PyTorch's OpInfo samples cannot be imported", why, hint, MISSING)
