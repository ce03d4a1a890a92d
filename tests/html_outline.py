"""A page of a site as text that is read in review: landmarks, headings, links with their targets, numbered lines."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = frozenset({"meta", "link", "input", "br", "hr", "img", "source", "wbr"})
_INLINE = frozenset(
    {
        "a",
        "b",
        "i",
        "s",
        "u",
        "code",
        "span",
        "em",
        "strong",
        "button",
        "label",
        "small",
        "input",
        "kbd",
        "var",
        "samp",
        "q",
    }
)
_SILENT = frozenset({"html", "head", "meta"})
_NAMED = (
    "id",
    "class",
    "aria-label",
    "aria-current",
    "role",
    "rel",
    "start",
    "hidden",
    "content",
    "src",
    "type",
    "title",
)


def outline(page: str) -> str:
    """The page, an element that holds others a line, indented as they are nested; text and what stands in it inline."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return "\n".join(reader.end()) + "\n"


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.text = ""
        self.open: list[tuple[str, str]] = []  # elements that hold others, and what is written where they end
        self.inside: list[tuple[str, str]] = []  # the same of what stands in text
        self.number = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in _INLINE:
            begin, end = _marked(tag, given)
            self.text += begin
            if tag not in _VOID:
                self.inside.append((tag, end))
            return
        self._flush()
        if tag == "ol" and "c" in given.get("class", "").split():
            self.number = int(given.get("start") or 1) - 1
        if tag == "li" and self.open and self.open[-1][0] == "li":
            self.open.pop()  # the end of a line is not written
        label = _label(tag, given)
        if tag == "li" and self._is_code():
            self.number += 1
            label = f"{self.number}{label.removeprefix('li')}|"
        if tag not in _SILENT or given.get("http-equiv"):
            self.lines.append("  " * len(self.open) + label)
        if tag not in _VOID:
            self.open.append((tag, label))

    def handle_endtag(self, tag: str) -> None:
        if self.inside and self.inside[-1][0] == tag:
            self.text += self.inside.pop()[1]
        elif any(one == tag for one, _label in self.open):
            self._flush()
            while self.open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        self.text += data

    def end(self) -> list[str]:
        self._flush()
        return self.lines

    def _is_code(self) -> bool:
        return bool(self.open) and self.open[-1][1].startswith("ol.c")

    def _flush(self) -> None:
        """Text is written behind the element that it is the first in, else on a line of its own."""
        in_code = self.open and self.open[-1][1].endswith("|")
        text = self.text.rstrip("\n") if in_code else " ".join(self.text.split())
        self.text = ""
        if not text:
            return
        if self.open and self.lines[-1] == "  " * (len(self.open) - 1) + self.open[-1][1]:
            self.lines[-1] += f" {text}"
        else:
            self.lines.append("  " * len(self.open) + text)


def _label(tag: str, given: dict[str, str]) -> str:
    """`nav.stops[aria-label=Site]`."""
    own = f"#{given['id']}" if "id" in given else ""
    named = own + "".join(f".{one}" for one in given.get("class", "").split())
    more = [name for name in (*_NAMED[2:], *sorted(given)) if name in given]
    shown = dict.fromkeys(name for name in more if name in _NAMED[2:] or name.startswith(("data-", "href")))
    return tag + named + "".join(f"[{name}={given[name]}]" if given[name] else f"[{name}]" for name in shown)


def _marked(tag: str, given: dict[str, str]) -> tuple[str, str]:
    """What stands before and after an inline element's text: a link as in Markdown, its class behind its target."""
    if tag == "a":
        rest = {name: value for name, value in given.items() if name != "href"}
        behind = _label("", rest)
        return "[", f"]({given.get('href', '')}{' ' if behind else ''}{behind})"
    label = _label(tag, given)
    return f"<{label}>", f"</{tag}>"
