"""Which arms of `#if … #else … #endif` can stand side by side in one parse, and which need a parse of their own."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptexplore.cpp.text import Text

Span = tuple[int, int]
_MOST = 3  # parses of one file


@dataclass(slots=True)
class _Group:
    """One `#if` with all its arms: (condition, start, end)."""

    arms: list[tuple[str, int, int]] = field(default_factory=list)


def hidden_spans(text: Text) -> list[list[Span]]:
    """For every parse that the file needs: the spans to blank in it. Arms that are whole by themselves stay in all.

    `#if 0` is blanked everywhere. An arm that opens what it does not close, or ends in the middle of a declaration,
    excludes its alternatives; equal conditions choose equally throughout one parse.
    """
    groups = _groups(text)
    always: list[Span] = []
    open_: list[tuple[_Group, list[bool]]] = []
    for group in groups:
        always += [(start, end) for condition, start, end in group.arms if condition in ("0", "false", "!(1)")]
        whole = [_whole(text.bare[start:end]) for _, start, end in group.arms]
        if not all(whole):
            open_.append((group, whole))
    wanted = max((len(group.arms) for group, _ in open_), default=1)
    single = all(len(group.arms) == 1 for group, _ in open_)
    return [always + _chosen(open_, parse) for parse in range(1 if single else min(wanted, _MOST))]


def _chosen(groups: list[tuple[_Group, list[bool]]], parse: int) -> list[Span]:
    """The arms to hide in one parse."""
    truth: dict[str, bool] = {}
    hidden: list[Span] = []
    for group, _ in groups:
        condition, positive = _normal(group.arms[0][0])
        known = truth.get(condition)
        if len(group.arms) == 1:
            if known is not None and known != positive:
                hidden.append(group.arms[0][1:])
            continue
        keep = min(parse, len(group.arms) - 1)
        if known is not None:
            keep = 0 if known == positive else max(keep, 1)
        else:
            truth[condition] = (keep == 0) == positive
        hidden += [arm[1:] for at, arm in enumerate(group.arms) if at != keep]
    return hidden


def _groups(text: Text) -> list[_Group]:
    """Every `#if`, in the order of their beginnings."""
    found: list[_Group] = []
    stack: list[_Group] = []
    for directive in text.directives:
        word = directive.word
        if word in ("if", "ifdef", "ifndef"):
            stack.append(_Group([(directive.condition, directive.end, len(text.bare))]))
            found.append(stack[-1])
        elif word in ("elif", "else", "endif") and stack:
            arms = stack[-1].arms
            arms[-1] = (*arms[-1][:2], directive.start)
            if word == "endif":
                stack.pop()
            else:
                arms.append((directive.condition if word == "elif" else "", directive.end, len(text.bare)))
    return found


def _whole(arm: str) -> bool:
    """Whether an arm closes what it opens and ends where a declaration or statement may end."""
    if "{" in arm or "}" in arm:
        opening, closing = arm.find("{"), arm.find("}")
        if arm.count("{") != arm.count("}") or closing < opening:
            return False
    if arm.count("(") != arm.count(")"):
        return False
    last = _last_line(arm)
    return not last or last[-1] in ";},:"


def _last_line(arm: str) -> str:
    """The end of the last line that is no directive."""
    for line in reversed(arm.splitlines()):
        stripped = line.strip()
        if stripped and not stripped.startswith("#") and not stripped.endswith("\\"):
            return stripped
    return ""


def _normal(condition: str) -> tuple[str, bool]:
    """A condition without its negation, and whether it had none."""
    plain = condition.replace(" ", "")
    positive = True
    while plain.startswith("!"):
        plain, positive = plain[1:], not positive
        if plain.startswith("(") and plain.endswith(")"):
            plain = plain[1:-1]
    return plain, positive
