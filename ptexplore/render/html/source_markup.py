"""Marks up source text as lines of HTML in one pass: words get their kind, names are linked, everything is escaped.

The screen of `browse` asks view/tokens for a few lines. A site marks eighty million characters, and parsing each file
would take longer than everything else together. So a scanner reads everything that needs no grammar: a word before a
parenthesis is called or declared, and the index knows the names of types and macros. A test compares the result with
view/tokens.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from ptexplore.lookup.link_targets import Look
from ptexplore.safe_text import UNSAFE
from ptexplore.view.site.source_page import Link
from ptexplore.view.tokens import CPP_WORDS, PYTHON_WORDS

_LONG = 5_000  # characters of a line
_PHONE = 36  # characters of a line that fit on a phone
_FIRST_WORD = re.compile(r"\s+\S+")
LESS, AND = "\x01", "\x02"  # stand for < and & while a text is marked; the text has no other such characters
# A carriage return stays: a Windows file is shown as it is.
_TO_SAFE = {code: "\ufffd" for code in UNSAFE if code != ord("\r")} | {ord("<"): LESS, ord("&"): AND}
_CPP_MORE = "const_cast dynamic_cast false nullptr reinterpret_cast static_cast this true typeid"
_CPP_WORDS = frozenset([*CPP_WORDS.split(), *_CPP_MORE.split()])
# The primitive types of view/tokens.py, and types that no index of ours has or that have small letters.
_PRIMITIVE = """Args T atomic auto bool char char16_t char32_t char8_t double float int int16_t int32_t int64_t int8_t
    intptr_t intrusive_ptr lock_guard long mutex optional ostream ptrdiff_t shared_ptr short signed size_t ssize_t
    string string_view stringstream uint16_t uint32_t uint64_t uint8_t uintptr_t unique_lock unique_ptr unordered_map
    unordered_set unsigned variable_list vector void wchar_t"""
_CPP_TYPES = frozenset(_PRIMITIVE.split())
_WORDS = {"cpp": _CPP_WORDS, "python": frozenset([*PYTHON_WORDS.split(), "None", "True", "False"])}
# Each alternative begins with a letter or a small set of characters, so that a mismatch is known at once.
_CPP = re.compile(
    r"[A-Za-z_](?P<w>\w*)"
    r"|/(?P<i>/(?:[^\n\\]|\\[^\n]?|\\\n)*|\*.*?(?:\*/|\Z))"
    r"|[\"'](?P<s>(?<=\")(?:[^\"\\\n]|\\.)*\"?|(?<=')(?:[^'\\\n]|\\.)+'?)"
    r"|^[ \t]*\#(?P<x>[ \t]*include\b[ \t]*(?:\x01[^\n>]*>|\"[^\"\n]*\"))"
    r"|^[ \t]*\#(?P<u>[ \t]*\w+)"
    r"|\d(?P<d>(?:'?[\w.])*)",
    re.DOTALL | re.MULTILINE,
)
_RAW = re.compile(r'"([^()\\\s]{0,16})\(.*?(?:\)\1"|\Z)', re.DOTALL)
_JOINS = frozenset(" \t.>:")  # characters between a qualifier and the word, or at the end of a qualifier
_OBJECTS = frozenset(["", ".", ">"])  # characters before a member; "" is the start of the text
_RAWS = frozenset({"R", "LR", "uR", "UR", "u8R"})
_PYTHON = re.compile(
    r"(?P<s>(?:\b[rRbBuUfF]{1,2})?(?:\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?))"
    r"|(?P<w>[A-Za-z_]\w*)|(?P<i>\#[^\n]*)|(?P<u>^[ \t]*@[\w.]+)|(?P<d>\d[\w.]*)",
    re.DOTALL | re.MULTILINE,
)
_YAML = re.compile(
    r"(?P<i>(?:^|(?<=\s))\#[^\n]*)|(?P<u>^[ ]*(?:-[ ]+)*[A-Za-z_][\w., -]*(?=:(?:\s|$)))"
    r"|(?P<s>\"(?:[^\"\\\n]|\\.)*\")",
    re.MULTILINE,
)


_PATTERNS = {"cpp": _CPP, "python": _PYTHON, "yaml": _YAML}


_BREAKS = re.compile(r"(?<=::)|(?<=_)(?=[A-Za-z])|(?<=[a-z0-9])(?=[A-Z])")


def breaking(name: str) -> str:
    """Returns a name as HTML that a narrow column breaks after `::` and `_`, and before a capital letter."""
    return "<wbr>".join(map(escaped, _BREAKS.split(name)))


def escaped(text: str) -> str:
    """Escape text for an element or an attribute in double quotes; drop control characters and direction overrides."""
    if text.isascii() and text.isidentifier():
        return text  # most names
    return text.translate(_TO_SAFE).replace(AND, "&amp;").replace(LESS, "&lt;").replace('"', "&quot;")


def marked_lines(
    language: str,
    text: str,
    words: Mapping[int, Mapping[str, Sequence[Link]]],
    includes: Mapping[int, Link],
    defined: Mapping[int, Collection[str]] | None = None,
    looks: Mapping[str, Look] | None = None,
) -> list[str]:
    """Returns the lines of a file as HTML, with the links of words and of includes by line.

    `defined` are the names that each line defines; they link to their uses. `looks` has the look of every word. Arrows
    (`->`) in long lines become elements, so that a phone does not break a line inside one.
    """
    pattern = _PATTERNS.get(language)
    long = [n for n, line in enumerate(text.split("\n")) if len(line) > _PHONE and "->" in line]
    text = text.translate(_TO_SAFE)
    if pattern is not None:
        scan = _Scan(
            text, words, includes, _WORDS.get(language, frozenset()), defined or {}, _PLAIN if looks is None else looks
        )
        position: int | None = 0
        while position is not None:
            position = scan.run(pattern, position)
        text = scan.rest()
    lines = text.replace(AND, "&amp;").replace(LESS, "&lt;").split("\n")
    for n in long:
        lines[n] = lines[n].replace("->", "<q>-></q>")
    return lines


def begins_long(line: str) -> bool:
    """Whether the first row of an indented line would be empty on a phone, because its first word is too long."""
    if len(line) <= _PHONE:
        return False
    first = _FIRST_WORD.match(line)
    return first is not None and len(first[0]) > _PHONE


def class_of(*kinds: str) -> str:
    """Returns the class attribute of a line: " class=n", ' class="n f"'; "" if it has no kind."""
    return f' class="{" ".join(kinds)}"' if len(kinds) > 1 else f" class={kinds[0]}" if kinds else ""


class _Plain(dict[str, Look]):
    def __missing__(self, name: str) -> Look:
        return ""


_PLAIN = _Plain()


class _Scan:
    """One text while it is marked. `out` is the marked text up to `done`."""

    def __init__(
        self,
        text: str,
        words: Mapping[int, Mapping[str, Sequence[Link]]],
        includes: Mapping[int, Link],
        keywords: frozenset[str],
        defined: Mapping[int, Collection[str]],
        looks: Mapping[str, Look],
    ) -> None:
        self.text, self.words, self.includes, self.keywords = text, words, includes, keywords
        self.named = {word for line_words in words.values() for word in line_words}
        self.looks = looks
        self.numbers = max(map(len, text.split("\n"))) <= _LONG  # a table on one line is no text to read
        self.defined = {line: set(names) for line, names in defined.items()}
        self.named.update(name for names in defined.values() for name in names)
        self.plain: set[str] = set()  # words whose kind only their neighbours could show: most words
        self.out: list[str] = []
        self.done = self._counted = 0
        self._line = 1

    def run(self, pattern: re.Pattern[str], at: int) -> int | None:
        """Mark the text from `at` on. Returns where to continue after a raw string, or None at the end."""
        keywords, named, plain, text, out = self.keywords, self.named, self.plain, self.text, self.out
        types = _CPP_TYPES if keywords is _CPP_WORDS else frozenset()
        raws = _RAWS if keywords is _CPP_WORDS else frozenset()
        for match in pattern.finditer(text, at):
            kind = match.lastgroup
            if kind == "w":
                word = match[0]
                if word in named and self._link(word, match):
                    continue
                if word in raws and (raw := _RAW.match(text, match.end())):
                    self._put(match.end(), raw.end(), _wrapped(raw[0], "s"))
                    return raw.end()
                start, end = match.span()
                if word in plain and text[end : end + 1] != "(" and text[start - 1 : start] not in _OBJECTS:
                    continue
                tag = "b" if word in keywords else self._tag(word, types, start, end)
                if tag:
                    out.append(f"{text[self.done : start]}<{tag}>{word}</{tag}>")
                    self.done = end
                elif word[-1] != "_" and not self.looks[word]:
                    plain.add(word)
            elif kind == "x":
                self._put(*match.span(), _include(match[0], self.includes.get(self._line_at(match.start()))))
            elif kind == "d":
                if self.numbers:
                    self._put(*match.span(), f"<samp>{match[0]}</samp>")
            else:
                self._put(*match.span(), _wrapped(match[0], kind or "i"))
        return None

    def _tag(self, word: str, types: frozenset[str], start: int, end: int) -> str:
        """Returns the element for a word that is neither a link nor a keyword; "" for a plain word."""
        look, text = self.looks[word], self.text
        if look == "macro":
            return "u"
        if word in types:
            return "var"
        if text[end : end + 1] == "(":
            return "em"
        if look == "type" and not text.startswith("::", end):
            return "var"
        may_be_member = word[-1] == "_" or text[start - 1 : start] in _OBJECTS  # few are: this is asked before the rest
        return "bdi" if may_be_member and self._is_member(word, start, end) else ""

    def rest(self) -> str:
        """Returns the whole text, marked."""
        self.out.append(self.text[self.done :])
        return "".join(self.out)

    def _link(self, word: str, match: re.Match[str]) -> bool:
        """Put the link of a word, and return whether there is one. A definition's own name comes first."""
        start, end = match.span()
        line = self._line_at(start)
        names = self.defined.get(line)
        if names and word in names and not self.text.startswith("::", end):
            names.discard(word)
            self._put(start, end, f"<a href=#u{line}>{word}</a>")
            return True
        links = self.words.get(line, {}).get(word)
        link = _fitting(links, self.text, start) if links else None
        if link is None:
            return False
        look = self.looks[word]
        made = _anchor(link, word)
        tag = "var" if look == "type" else "u" if look == "macro" else ""
        tag = tag or ("bdi" if self._is_member(word, start, end) else "")
        self._put(start, end, f"<{tag}>{made}</{tag}>" if tag else made)
        return True

    def _is_member(self, word: str, start: int, end: int) -> bool:
        """Whether a word looks like a member that is not called: after an object, or named like the members here."""
        text, before = self.text, self.text[start - 1 : start]
        if (word[-1] != "_" and before not in _OBJECTS) or text.startswith("(", end):
            return False
        if before == ".":
            other = text[start - 2 : start - 1]
            return other.isalnum() or other in "_)]"
        if self.keywords is not _CPP_WORDS:
            return False
        return text.startswith("->", start - 2) if before == ">" else word[-1] == "_" and word[0].islower()

    def _line_at(self, start: int) -> int:
        self._line += self.text.count("\n", self._counted, start)
        self._counted = start
        return self._line

    def _put(self, start: int, end: int, marked: str) -> None:
        self.out.append(f"{self.text[self.done : start]}{marked}")
        self.done = end


def _wrapped(token: str, tag: str) -> str:
    if "\n" in token:
        token = token.replace("\n", f"</{tag}>\n<{tag}>")
    lead = token[: len(token) - len(token.lstrip(" \t-"))] if tag == "u" else ""
    return f"{lead}<{tag}>{token[len(lead) :]}</{tag}>"


def _anchor(link: Link, word: str) -> str:
    if link.line:
        return f"<a href=#L{link.line}>{word}</a>"
    return f"<a href=#r{link.entry}>{word}</a>" if link.sure else f"<a href=#r{link.entry} class=q>{word}</a>"


def _include(token: str, link: Link | None) -> str:
    at = min(n for n in (token.find(LESS), token.find('"')) if n >= 0)
    name = f"<s>{token[at:]}</s>" if link is None else f"{token[at]}{_anchor(link, token[at + 1 : -1])}{token[-1]}"
    word = token[:at].rstrip()
    return f"<u>{word}</u>{token[len(word) : at]}{name}"


def _fitting(links: Sequence[Link], text: str, start: int) -> Link | None:
    """Returns the link whose qualifiers are before the word; None if all links are for differently written uses."""
    if len(links) == 1 and not links[0].before and text[start - 1 : start] not in _JOINS:
        return links[0]  # the usual case: a single word, after a bracket or at the start of a line
    left = text[max(start - 80, 0) : start].rsplit("\n", 1)[-1].rstrip(" \t")
    packed = "".join(left.split())
    best = None
    for link in links:
        if not link.before:
            if best is None and not left.endswith((".", "->", "::")):
                best = link
            continue
        tail = link.before[-12:].replace("<", LESS).replace("&", AND)
        if (packed.endswith(tail) or not packed) and (best is None or len(link.before) > len(best.before)):
            best = link
    return best
