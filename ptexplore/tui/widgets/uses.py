"""The uses of a name: a list below the source, grouped by sort. You can look at them without leaving the source.

The list can also be the callers of a function, their callers and so on.
"""

from __future__ import annotations

import textwrap
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets.option_list import Option

from ptexplore.lookup.callers import CallersView, callers
from ptexplore.lookup.refs import NameUse, RefsView, refs
from ptexplore.safe_text import clean
from ptexplore.tui.asking import Choices
from ptexplore.tui.jobs import hand_over
from ptexplore.tui.messages import OpenPlace, Tell
from ptexplore.tui.places import Place
from ptexplore.view.search.caller_tree import caller_rows
from ptexplore.view.words.remarks import remark_in_words
from ptexplore.view.words.uses import certainty_in_words, group_in_words, used_on

if TYPE_CHECKING:
    from ptexplore.errors import PtexploreError
    from ptexplore.lookup.trees import Spot
    from ptexplore.tui.library import Library

_MOST = 300  # uses of one group that are listed


class Uses(Choices):
    """The uses of one name. Enter goes to a use; c shows callers of callers, or the uses again; Escape closes it."""

    DEFAULT_CSS = """
    Uses, Uses:focus { display: none; height: 40%; min-height: 14; border: none; border-top: solid $accent; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "callers", "Callers"),
        Binding("escape", "app.away", "Close"),
    ]

    def __init__(self, library: Library) -> None:
        super().__init__(id="uses")
        self._library = library
        self._uses: dict[str, tuple[Spot, str]] = {}  # where a row leads to, and the name on that line
        self._asked = ("", "")
        self._lists_callers = False

    def ask(self, name: str, only: str = "") -> None:
        """List the uses of a name as soon as they are found; with `only`, of that file."""
        self._asked, self._lists_callers = (name, only), False
        self._begin(f"uses of {name} …")
        search = partial(hand_over, self.app, partial(self._search, name, only), self._list, self._failed)
        self.run_worker(search, thread=True, exclusive=True)

    def action_callers(self) -> None:
        """List the callers of the function, their callers and so on. The second time, the uses again."""
        name, only = self._asked
        if self._lists_callers:
            self.ask(name, only)
            return
        self._lists_callers = True
        self._begin(f"callers of {name} …")
        search = partial(hand_over, self.app, partial(self._search_callers, name), self._list_callers, self._failed)
        self.run_worker(search, thread=True, exclusive=True)

    def _begin(self, title: str) -> None:
        self._uses.clear()
        self.border_title = Content(clean(title))
        self.display = True
        self.fill([Option("searching …", disabled=True)])

    def _search(self, name: str, only: str) -> RefsView:
        return refs(self._library.reopened_trees(), name, _MOST, only=only)

    def _search_callers(self, name: str) -> CallersView:
        return callers(self._library.reopened_trees(), name)

    def _failed(self, error: PtexploreError) -> None:
        self._show([Option(Content(clean(error.one_line)), disabled=True)])

    def _show(self, options: list[Option]) -> None:
        self.fill(options)
        self.focus()

    def _list(self, view: RefsView) -> None:
        self.border_title = Content(clean(f"{view.asked}: {used_on(view.lines)}"))
        # Remarks on all uses come first: nobody reads to the end of a list to learn this.
        apart = certainty_in_words(view.lines, view.certain, view.definitions)
        sentences = [apart[:1].upper() + apart[1:]] if apart else []
        room = max(20, self.size.width - 4)
        first = [line for text in sentences for line in textwrap.wrap(clean(text), room)]
        options = [Option(Content.styled(line, "$text-warning"), disabled=True) for line in first]
        for group in view.groups:
            more = f", {len(group.uses)} in this list" if group.total > len(group.uses) else ""
            heading = f"{group_in_words(group, view)}: {group.total}{more}"
            options.append(Option(Content.styled(clean(heading), "bold"), disabled=True))
            options += [self._option(_row(use), use.spot, use.written.rpartition("::")[2]) for use in group.uses]
        if not self._uses:
            options.append(Option("no use was found in these trees", disabled=True))
        remarks = [remark_in_words(remark, typed=False) for remark in view.remarks]
        lines = [line for text in remarks for line in textwrap.wrap(clean(text), room)]
        options += [Option(Content.styled(line, "dim")) for line in lines]  # enabled: the cursor can reach the end
        self._show(options)

    def _list_callers(self, view: CallersView) -> None:
        self.border_title = Content(clean(f"{view.asked}: its callers, and their callers"))
        options: list[Option] = []
        for function in view.functions:
            name = function.name.rpartition("::")[2]
            options.append(Option(Content.styled(clean(function.name), "bold"), disabled=True))
            called = [name]  # the function that the row calls, by level
            for row in caller_rows(function):
                indent = "  " * row.level
                if row.spot is None:
                    options.append(Option(Content.styled(clean(f"{indent}{row.text}"), "dim"), disabled=True))
                    continue
                place = f"{(row.spot.ref.path or '').rpartition('/')[2]}:{row.spot.ref.line}"
                text = Content.assemble(indent, clean(row.text), (clean(f"  {place} {row.after}"), "dim"))
                options.append(self._option(text, row.spot, called[row.level - 1]))
                called[row.level :] = [row.name.rpartition("::")[2]]
            if not function.callers:
                options.append(Option(Content.styled("  no call is indexed", "dim"), disabled=True))
        room = max(20, self.size.width - 4)
        remarks = [remark_in_words(remark, typed=False) for remark in view.remarks]
        lines = [line for text in remarks for line in textwrap.wrap(clean(text), room)]
        self._show([*options, *(Option(Content.styled(line, "dim")) for line in lines)])

    def _option(self, text: Content, spot: Spot, name: str) -> Option:
        """Returns a row that leads to a place; the cursor goes to `name` there."""
        number = f"use-{len(self._uses)}"
        self._uses[number] = spot, name
        return Option(text, id=number)

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        """Go to the use, with the cursor at the name."""
        use = self._uses.get(event.option_id or "")
        if use is None:
            self.post_message(Tell("this line is a remark and opens nothing"))
            return
        spot, name = use
        if spot.ref.path is None:
            return
        place = Place(spot.tree.name, spot.ref.path, spot.ref.line or 1)
        self.post_message(OpenPlace(self._library.at_name(place, name)))


def _row(use: NameUse) -> Content:
    """Returns the file and the caller in short form, then the line; the folder comes after these."""
    ref = use.spot.ref
    folder, _, name = (ref.path or "").rpartition("/")
    inside = f"  in {'::'.join(use.inside.split('::')[-2:])}" if use.inside else ""
    how = f"  [{use.how}]" if use.how != "name-matched" else ""
    return Content.assemble(
        (clean(f"{name}:{ref.line}"), "bold"), clean(inside), (clean(f"{how}  {folder}  {use.spot.tree.name}"), "dim"),
        "\n", clean(f"  {use.text}"),
    )  # fmt: skip
