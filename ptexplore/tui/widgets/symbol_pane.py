"""The symbol under the cursor: head, uses, the operators that it implements, stops, and the hops where it ran."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content

from ptexplore.lookup.link_targets import is_own
from ptexplore.safe_text import clean
from ptexplore.tui.asking import Leads, Links
from ptexplore.tui.facts import Answer, FactsReader, Pointed
from ptexplore.tui.messages import Filled, OpenHop, OpenUses, message_for, open_stop
from ptexplore.tui.widgets.colours import content, hung
from ptexplore.view.line import without_certainty
from ptexplore.view.opening import Opening, open_line
from ptexplore.view.search.symbol_lines import (
    callee_lines,
    caller_lines,
    closing_remark,
    head_lines,
    hop_lines,
    is_structured,
    is_sure,
    operator_lines,
    seen_in,
    uses_in_words,
)
from ptexplore.view.words.remarks import remark_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.message import Message
    from textual.timer import Timer

    from ptexplore.lookup.symbol_facts import SymbolFacts
    from ptexplore.model.places import SourceRef
    from ptexplore.model.trace import Trace
    from ptexplore.tui.library import Library
    from ptexplore.tui.open_file import OpenFile
    from ptexplore.tui.places import Place
    from ptexplore.view.line import Line

_STAYS = 0.15  # seconds that the cursor must rest before a lookup
_SLOW = 0.3  # seconds after which the old facts disappear, even if there are no new ones yet
READING = "being read …"


class SymbolPane(Links):
    """The facts about the symbol under the cursor. `trace` is the last trace, if there is one."""

    DEFAULT_CSS = """
    SymbolPane, SymbolPane:focus { max-height: 55%; text-overflow: fold; margin-bottom: 1; }
    SymbolPane.-alone, SymbolPane.-alone:focus { max-height: 100%; height: 1fr; margin-bottom: 0; }
    """

    def __init__(self, library: Library) -> None:
        super().__init__(id="symbol")
        self._library = library
        self._reader: FactsReader | None = None
        self._waits: Timer | None = None
        self._at: tuple[OpenFile, Place] | None = None
        self._since = 0.0
        self._asked: Pointed | None = None
        self._answer: Answer | None = None
        self._shown: Pointed | None = None  # the thing that the answer is about; None while there is no answer
        self._blank = False  # the old facts are gone, and there are no new ones yet
        self.trace: Trace | None = None
        self.noted: frozenset[str] = frozenset()  # stops that are already shown beside it

    def follow(self, file: OpenFile, place: Place) -> None:
        """Follow the cursor to a place of a file. If it rests there, the thing under it is looked up."""
        self._at = file, place
        self._since = time.monotonic()
        shown = self._shown.place if self._shown is not None else None
        if not self._blank and (shown is None or (shown.tree, shown.path) != (place.tree, place.path)):
            self._asked = None
            self._wipe()
        if self._waits is None:  # a timer that exists is used again: a new one for every key would cost time
            self._waits = self.set_timer(_STAYS, self._rested)

    def _rested(self) -> None:
        """Look up the thing under the cursor. If the cursor has just moved, wait a little longer."""
        self._waits = None
        left = self._since + _STAYS - time.monotonic()
        if left > 0:
            self._waits = self.set_timer(left, self._rested)
        elif self._at is not None:
            self._ask(*self._at)

    def forget(self) -> None:
        """Show nothing: a folder's page has no cursor."""
        self._at = self._asked = self._answer = self._shown = None
        self._blank = False
        self.fill([])
        self.post_message(Filled())

    def show_again(self) -> None:
        """Show the facts again, because there is a new trace: the symbol may have run in it."""
        if self._answer is not None:
            self._show(self._answer, self._answer)

    def on_unmount(self) -> None:
        """Stop lookups for a pane that is gone."""
        if self._reader is not None:
            self._reader.close()

    def _ask(self, file: OpenFile, place: Place) -> None:
        name = file.meant(place.line, place.column)
        own = next((symbol for symbol in file.outline if (symbol.line, symbol.qualified) == (place.line, name)), None)
        pointed = Pointed(place, name, own or file.around(place.line), own is not None)
        before = self._asked
        if before is not None and (before.name, before.around, before.own) == (name, pointed.around, pointed.own):
            return  # on another line of the same function
        self._asked = pointed
        self._reader = self._reader or FactsReader(self._library)
        app = self.app
        self._reader.ask(pointed, lambda *answer: app.call_later(self._hear, *answer))
        self.set_timer(_SLOW, partial(self._waited, pointed))

    def _waited(self, pointed: Pointed) -> None:
        """Remove the old facts if the new facts take long, so that nobody takes the old facts for them."""
        if pointed == self._asked and pointed != self._shown and not self._blank:
            self._wipe(pointed.name or "")

    def _wipe(self, name: str = "") -> None:
        """Show that nothing is known yet about the thing under the cursor."""
        self._answer = self._shown = None
        self._blank = True
        parts = [(f"{clean(name)}\n", "bold"), (READING, "dim")] if name else [(READING, "dim")]
        self.fill([Leads(Content.assemble(*parts))])
        self.post_message(Filled())

    def _hear(self, pointed: Pointed, answer: Answer) -> None:
        before = self._answer
        if pointed == self._asked and self.is_attached:
            self._shown, self._blank = pointed, False
            if answer != before:
                self._answer = answer
                self._show(answer, before)

    # --- in lines ---

    def _show(self, answer: Answer, before: Answer | None) -> None:
        # The reason why the name itself is not shown, and then the symbol that is.
        reason = answer.failed or remark_in_words(answer.remark)
        remark = [] if answer.meant or not reason else [
            Leads(Content.styled(clean(reason), "$text-warning")), _heading("around the cursor")
        ]  # fmt: skip
        lines = self._yield_lines(answer.facts, answer) if answer.facts is not None else ()
        at, top = self.highlighted, self.scroll_offset.y
        self.fill([*remark, *lines])
        same = before is not None and before.facts is answer.facts  # the reader may already be in the first part
        self.highlighted = at if same else None
        # At once if the head is shown: otherwise the pane may have scrolled to the cursor's line.
        self.scroll_to(y=top if same else 0, animate=False, immediate=not same, force=not same)
        self.post_message(Filled())

    def _yield_lines(self, facts: SymbolFacts, answer: Answer) -> Iterator[Leads]:
        for line in head_lines(facts):
            yield self._line(line)
        if answer.meant and answer.remark is not None:  # the name means the symbol that is shown
            yield Leads(Content.styled(clean(remark_in_words(answer.remark, named=False)), "dim"))
        own = facts.symbol.path if is_own(facts.symbol.path, static=facts.symbol.static) else ""
        uses = OpenUses(facts.symbol.qualified, own) if facts.lines else None
        yield Leads(Content.assemble("\n", (uses_in_words(facts), "$text-accent" if uses is not None else "dim")), uses)
        operators = list(operator_lines(facts))
        if operators:
            torch = f" in the installed {self._library.torch}" if facts.operators and self._library.torch else ""
            yield _heading("serves", torch)
            yield from map(self._line, operators)
        marks = [mark for mark in facts.marks if mark.stop not in self.noted]
        if marks:
            yield _heading("to read")
            for mark in marks:
                text = Content.assemble((clean(mark.title), "$text-accent"), (f"  {clean(mark.stop)}", "dim"))
                yield Leads(text, open_stop(mark.stop))
        yield from self._hops(facts)
        yield from self._calls(answer)
        if otherwise := closing_remark(facts):
            yield Leads(Content.styled(f"\n{otherwise}", "dim"))

    def _calls(self, answer: Answer) -> Iterator[Leads]:
        """Yields the callers and the callees. The heading says if they were found by name."""
        calls = answer.calls
        if calls is None:
            if not answer.complete:
                yield Leads(Content.styled("\nreading the callers …", "dim"))
            return
        for called, title, nodes, lines, more in (
            (True, "called by", calls.callers, caller_lines(calls), calls.more_callers),
            (False, "calls", calls.callees, callee_lines(calls), calls.more_callees),
        ):
            some = list(lines)
            if some:
                maybe = "" if is_sure(nodes) else "  ? may be a different one"
                deeper = len({line.indent for line, _ref in some}) > 1
                further = f"  below each: {'its callers' if called else 'its calls'}" if deeper else ""
                yield _heading(title, f"{further}{maybe}")
                yield from (self._line(line, self._to(ref)) for line, ref in some)
            if called and more and not is_structured(calls.symbol):  # the numbers are above, where uses are counted
                text = "and others" if some else "\ncalls with this name: it is not known whether they mean it"
                yield Leads(
                    Content.styled(f"{text}; r lists every use", "$text-accent"), OpenUses(calls.symbol.qualified)
                )
            elif more and some:
                yield Leads(Content.styled(f"and {more:,} more {'name' if more == 1 else 'names'}", "dim"))

    def _to(self, ref: SourceRef) -> Message | None:
        return message_for(Opening(ref=ref))

    def _hops(self, facts: SymbolFacts) -> Iterator[Leads]:
        trace = self.trace
        hops = seen_in(trace, facts) if trace is not None else []
        if trace is not None and hops:
            yield _heading("ran in", f" {trace.expression}")
            for line, number in hop_lines(hops):
                yield self._line(line, OpenHop(number))

    def _line(self, line: Line, message: Message | None = None) -> Leads:
        leads = message or (message_for(open_line(line, self._library.trees)) if line.leads else None)
        text = Content.assemble(" " * line.indent, content(without_certainty(line.spans)))
        if line.style == "name":
            text = text.stylize("bold $text-accent")
        elif message is not None:
            text = text.stylize("$text-accent")
        return Leads(hung(text, self.size.width - 1, line.indent + 2), leads)

    def on_resize(self) -> None:
        """Fit the lines to the new width."""
        self.show_again()


def _heading(text: str, after: str = "") -> Leads:
    return Leads(Content.assemble("\n", (text, "bold"), (clean(after), "dim")))
