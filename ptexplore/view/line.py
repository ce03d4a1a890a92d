"""Lines of styled spans: the text of a trace, a card or a place. The renderer decides the colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ptexplore.model.places import SourceRef
from ptexplore.view.why_there import why_there

if TYPE_CHECKING:
    from collections.abc import Sequence

LineStyle = Literal["place", "reason", "note", "warning", "name", "heading", "text", "strong", "dim"]
Tone = Literal["", "strong", "dim", "good", "fair", "doubt", "bad", "other", "link"]

# The tone of each style; each renderer has a colour for each tone.
_TONES: dict[str, Tone] = {
    "name": "strong", "heading": "strong", "strong": "strong", "title": "strong",
    "dim": "dim", "reason": "dim", "note": "dim", "label": "dim", "kind": "dim", "hop": "dim", "count": "dim",
    "inside": "dim", "below": "dim", "warning": "doubt", "link": "link",
    "registered": "good", "located": "good", "consistent": "fair", "version-skew": "doubt", "ambiguous": "doubt",
    "unknown": "doubt",
    "index 0": "fair", "index 1": "good", "index 2": "other", "index 3": "doubt",
    "observed": "good", "derived": "fair", "predicted": "doubt", "inlined": "other", "cut": "bad",
}  # fmt: skip
_CERTAIN = frozenset(("registered", "located"))  # styles of words beside a place that is certain


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line.

    `style` says what it is: a precision, a status, "reason", …; `ref` is the place that it names.
    """

    text: str
    style: str = ""
    ref: SourceRef | None = None

    @property
    def tone(self) -> Tone:
        """The tone of its style."""
        return _TONES.get(self.style, "")


@dataclass(frozen=True, slots=True)
class Line:
    """One line: a text, or a place in source with `text` as its label.

    `also` is a second place in the same file, with its own label. `after` is put at the end. `operator` and `stop` are
    the line's target if the target is not a place. `says_precision` is false if a line before says it for this place.
    """

    style: LineStyle
    text: str = ""
    ref: SourceRef | None = None
    also: Line | None = None
    indent: int = 0
    after: str = ""
    operator: str | None = None
    stop: str | None = None
    says_precision: bool = True

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans of the line, without its indent."""
        if self.ref is None:
            spans = [Span(self.text, "link" if self.operator or self.stop else self.style)]
        else:
            spans = [*place_spans(self.ref, self.text)]
            if not self.says_precision:
                spans = [span for span in spans if span.style in ("label", "place")]
        if self.also is not None and self.also.ref is not None:
            _path, *further = place_spans(self.also.ref)
            line = Span(f":{self.also.ref.line}", "place", self.also.ref)
            label = [Span(f"{self.also.text} ", "label")] if self.also.text else []
            spans += [Span("  "), *label, line, *further]
        if self.after:
            spans.append(Span(f"{'  ' if self.ref is None else ' '}{self.after}", "dim"))
        return tuple(spans)

    @property
    def leads(self) -> bool:
        """Whether it has a target: a place, several possible places, an operator or a stop."""
        known = self.ref is not None and (self.ref.path is not None or bool(self.ref.candidates))
        return known or self.operator is not None or self.stop is not None


def after_name(kind: str, detail: str) -> str:
    """Returns what follows a name: a signature, a schema, ….

    The operator's name at the start of a schema is removed.
    """
    if kind == "operator" and "(" in detail:
        detail = detail[detail.find("(") :]
    return f"  {detail}" if detail and not detail.startswith("(") else detail


def without_certainty(spans: Sequence[Span]) -> list[Span]:
    """Returns the spans without the words for places that are certain: a screen says which places are not."""
    return [span for span in spans if span.style not in _CERTAIN]


def place_spans(ref: SourceRef, label: str = "") -> tuple[Span, ...]:
    """Returns the spans of a place: label, path and line, precision, and the reason if the place is not known."""
    spans = [Span(f"{label} ", "label")] if label else []
    if ref.path is not None:
        spans += [Span(f"{ref.path}:{ref.line}" if ref.line else ref.path, "place", ref), Span("  ")]
    spans.append(Span(ref.precision, ref.precision))
    if ref.reason is not None:
        spans.append(Span(f" ({why_there(ref.reason)})", "reason"))
    return tuple(spans)
