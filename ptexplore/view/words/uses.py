"""The words for the uses of a name: how many there are, and remarks about them. All surfaces share them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.lookup.refs import RefsView, UseGroup
    from ptexplore.lookup.symbol_facts import SymbolFacts


def used_on(lines: int) -> str:
    """Returns how often a name is used: "used on 245 lines"."""
    return f"used on {lines:,} line{'s' if lines != 1 else ''}"


# How many lines can only mean the asked definition, and how many may mean something else: for one line, all, some.
#
# "@" is replaced by the asked definition, or by "one of the N definitions" with that name.
CERTAINTY = {
    "this": "this definition",
    "these": "one of the {} definitions with that name",
    "sure one": "it means @",
    "sure all": "all of them mean @",
    "may one": "it may mean another definition with that name",
    "may all": "each may mean another definition with that name",
    "both": "{} mean @, {} may mean another definition with that name",
}


def certainty_in_words(lines: int, certain: int | None, definitions: int = 1) -> str:
    """Returns how many of the lines certainly mean the definition; "" if that is not known.

    No line distinguishes overloads, or the arms of an `#if`. Lines then certainly mean one of these.
    """
    if certain is None or not lines:
        return ""
    possible = lines - certain
    sentence = CERTAINTY[f"{'may' if possible else 'sure'} {'one' if lines == 1 else 'all'}"]
    if possible and certain:
        sentence = CERTAINTY["both"].format(f"{certain:,}", f"{possible:,}")
    meant = CERTAINTY["these"].format(f"{definitions:,}") if definitions > 1 else CERTAINTY["this"]
    return sentence.replace("@", meant)


# The words for lines with the name that are not counted.
OTHERWISE = {
    "one": "1 more line with the name means something else",
    "many": "{} more lines with the name mean something else",
    "why": ", by the text before the name, the number of arguments, or the file",
    "untold one": "1 more line has the name and is not counted: the text before the name, the number of arguments or"
    " the file does not fit. No other definition of that name is indexed",
    "untold many": "{} more lines have the name and are not counted: the text before the name, the number of arguments"
    " or the file does not fit. No other definition of that name is indexed",
}


def otherwise_in_words(otherwise: int, unknown: int = 0) -> str:
    """Returns a sentence about lines with the name that are not counted: they mean something else, or may do so."""
    if unknown:
        return OTHERWISE["untold one" if unknown == 1 else "untold many"].format(f"{unknown:,}")
    return f"{OTHERWISE['one' if otherwise == 1 else 'many'].format(f'{otherwise:,}')}{OTHERWISE['why']}"


# The words for functions of derived classes that override this one.
OVERRIDDEN = {
    "one": "overridden by 1 function of derived classes",
    "many": "overridden by {} functions of derived classes",
    "may": ", and maybe by {} more, whose bases are not all known",
    "only one": "maybe overridden by 1 function of another class, whose bases are not all known",
    "only many": "maybe overridden by {} functions of other classes, whose bases are not all known",
}


def overridden_in_words(view: RefsView | SymbolFacts) -> str:
    """Returns how many functions of derived classes override it; "" if none does."""
    if not view.overridden:
        return ""
    sure = view.overridden - view.may_override
    if not sure:
        return OVERRIDDEN["only one" if view.overridden == 1 else "only many"].format(f"{view.overridden:,}")
    words = OVERRIDDEN["one" if sure == 1 else "many"].format(f"{sure:,}")
    return words + (OVERRIDDEN["may"].format(f"{view.may_override:,}") if view.may_override else "")


# The sorts of uses: the singular and the plural.
SORTS = {
    "calls": ("call", "calls"),
    "addresses": ("address", "addresses"),
    "overrides": ("override", "overrides"),
    "inherits": ("inherit", "inherits"),
    "types": ("type", "types"),
    "registrations": ("registration", "registrations"),
    "stubs": ("stub", "stubs"),
    "bindings": ("binding", "bindings"),
    "YAML": ("YAML", "YAML"),
    "imports": ("import", "imports"),
    "macros": ("macro", "macros"),
    "tests": ("tests", "tests"),
}
WITHIN = {"YAML": "in YAML", "tests": "in tests"}  # for uses that are named by their place
MAY_MEAN_OTHER = "{} that may mean something else"


def group_in_words(group: UseGroup, view: RefsView) -> str:
    """Returns the heading of a group: "calls", or "calls that may mean something else" if only some are certain."""
    several = SORTS[group.name][1]
    return several if view.certain is None or group.certain else MAY_MEAN_OTHER.format(several)


def counted(count: int, sort: str) -> str:
    """Returns a count of uses in words: "1 call", "3 in tests"."""
    return f"{count:,} {WITHIN[sort] if sort in WITHIN else SORTS[sort][count != 1]}"
