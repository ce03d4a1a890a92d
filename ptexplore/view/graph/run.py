"""What backward did, as rows: each node in the order in which the engine ran it, with its gradients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ptexplore.model.autograd_graph import GradientSeen, GraphRun, LocatedGraph, NodeRun
from ptexplore.model.places import SourceRef
from ptexplore.view.trace.amounts import seconds
from ptexplore.view.words import graph as says

MOST_RUN_ROWS = 80  # rows of a screen
MOST_WITH_FORMULAS = 12  # rows; if there are more, formulas are left out


@dataclass(frozen=True, slots=True)
class RunRow:
    """A node that ran: its number in the order, the thread if it is not the first one, the time, and the gradients."""

    number: str
    thread: str
    took: str
    name: str
    gradients: str
    formulas: tuple[str, ...] = ()
    place: SourceRef | None = None


@dataclass(frozen=True, slots=True)
class RunView:
    """The rows of a backward, and the facts above and below them."""

    facts: tuple[str, ...]
    rows: tuple[RunRow, ...]
    left_out: tuple[str, ...]
    has_threads: bool


def run_view(located: LocatedGraph, only: str | None, *, full: bool) -> RunView:
    """Returns what backward did, as rows; only rows that contain the text `only`."""
    session = located.session
    if session.ran is None:
        why = says.NO_RUN[session.no_run] if session.no_run is not None else says.NO_RUN["failed"]
        return RunView((why,), (), (), has_threads=False)
    page = _Run(located, session.ran)
    rows = [row for row in page.rows() if only is None or only.lower() in f"{row.name} {row.gradients}".lower()]
    most = len(rows) if full or only is not None else MOST_RUN_ROWS
    left_out = (says.MORE.format(rows=len(rows) - most),) if len(rows) > most else ()
    has_threads = any(node.thread for node in session.ran.ran)
    return RunView(tuple(page.facts()), tuple(rows[:most]), left_out, has_threads)


class _Run:
    def __init__(self, located: LocatedGraph, ran: GraphRun) -> None:
        self._located, self._run = located, ran
        self._nodes = located.session.graph.nodes
        self._sums = self._summed()

    def _summed(self) -> Counter[tuple[int, int]]:
        """Returns how many defined gradients were given to each input of each node."""
        sums = Counter(
            (result.node, result.output)
            for result in self._located.session.graph.results
            if result.node is not None
        )  # fmt: skip
        for ran in self._run.ran:
            edges = self._nodes[ran.node].edges
            for edge, sent in zip(edges, ran.sent, strict=False):
                if edge.node is not None and sent is not None:
                    sums[edge.node, edge.input] += 1
        return sums

    def facts(self) -> Iterator[str]:
        """Yields the facts above the rows."""
        yield says.RAN.format(nodes=says.many(says.NODES, len(self._run.ran)))
        if self._run.error:
            broken = [says.short_node(self._nodes[number].name) for number in self._run.unfinished]
            place = says.RAISED_IN.format(nodes=says.listed(broken, 3)) if broken else ""
            yield says.RUN_RAISED.format(error=self._run.error, message=self._run.message, place=place)
        missing = len(self._nodes) - len({ran.node for ran in self._run.ran})
        if missing:
            yield says.NOT_RUN.format(nodes=says.many(says.NODES, missing))

    def rows(self) -> Iterator[RunRow]:
        """Yields the rows in the order in which the nodes began."""
        few = len(self._run.ran) <= MOST_WITH_FORMULAS
        for number, ran in enumerate(self._run.ran, 1):
            yield self._row(number, ran, with_formulas=few)

    def _row(self, number: int, ran: NodeRun, *, with_formulas: bool) -> RunRow:
        node, source = self._nodes[ran.node], self._located.sources[ran.node]
        is_done = ran.node not in self._run.unfinished
        received = self._received(ran)
        name = says.short_node(node.name)
        formulas: tuple[str, ...] = ()
        if node.leaf is not None:
            name = " = ".join(node.leaf.names) or name
            text = self._accumulated(ran, received)
        elif not is_done:
            text = says.DID_NOT_END.format(received=received)
        else:
            text = says.RECEIVED_AND_SENT.format(received=received, sent=self._sent(ran))
        if with_formulas and source.derivative is not None and node.leaf is None:
            used = [f for f in source.derivative.formulas if f.mode == "backward"]
            formulas = tuple(says.FORMULA.format(inputs=f.inputs, text=" ".join(f.text.split())) for f in used)
        place = source.derivative.source if source.derivative is not None else source.apply
        is_known = place.path is not None or bool(place.candidates)
        return RunRow(
            number=str(number),
            thread=str(ran.thread),
            took=seconds(ran.took) if is_done else "",
            name=name,
            gradients=text,
            formulas=formulas,
            place=place if is_known and node.leaf is None else None,
        )

    def _received(self, ran: NodeRun) -> str:
        defined = [(n, gradient) for n, gradient in enumerate(ran.received) if gradient is not None]
        if not defined:
            return says.UNDEFINED
        shown = []
        for number, gradient in defined:
            count = self._sums[ran.node, number]
            text = _gradient(gradient)
            text = says.SUM_OF.format(gradient=text, count=count) if count > 1 else text
            shown.append(says.OUTPUT.format(number=number, gradient=text) if len(ran.received) > 1 else text)
        return ", ".join(shown)

    def _accumulated(self, ran: NodeRun, received: str) -> str:
        if not any(ran.received):
            return says.GRAD_STAYS
        form = says.GRAD_ADDED if ran.node in self._run.had_grad else says.GRAD_SET
        return form.format(received=received)

    def _sent(self, ran: NodeRun) -> str:
        edges = self._nodes[ran.node].edges
        inputs = self._located.sources[ran.node].inputs
        shown = []
        for number, (edge, sent) in enumerate(zip(edges, ran.sent, strict=False)):
            if edge.node is None and not edge.unread:
                continue
            name = inputs[number] if number < len(inputs) else str(number)
            text = _gradient(sent) if sent is not None else says.UNDEFINED
            shown.append(f"{name} {text}" if len(edges) > 1 else text)
        return ", ".join(shown) or says.NOTHING


def _gradient(gradient: GradientSeen) -> str:
    text = says.sizes_text(gradient.sizes, gradient.dtype)
    return text if gradient.layout == "strided" else f"{gradient.layout} {text}"
