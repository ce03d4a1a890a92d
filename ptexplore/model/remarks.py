"""Remarks on answers about names: codes with arguments. The words are in `view/words/remarks.py`.

They are plain dataclasses, unlike the codes in `reasons.py`: no file stores them, and a search need not import msgspec.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AnswerRemark:
    """A remark on an answer."""


# --- uses of a name ---


@dataclass(frozen=True, slots=True)
class MeanOther(AnswerRemark):
    """Lines with the name are not counted because they mean something else, or may (`unknown`)."""

    otherwise: int
    unknown: int = 0
    spellings: tuple[tuple[str, int], ...] = ()  # the spellings on these lines and their counts: the first few
    all_spellings: int = 0


@dataclass(frozen=True, slots=True)
class FoundByName(AnswerRemark):
    """Uses were found by name; `definitions` have this name."""

    definitions: int = 1


@dataclass(frozen=True, slots=True)
class TypesNotIndexed(AnswerRemark):
    """The index does not have lines that only name the class as a type."""

    name: str


@dataclass(frozen=True, slots=True)
class ValuesNotIndexed(AnswerRemark):
    """The index does not have lines that read or write the variable."""

    name: str


@dataclass(frozen=True, slots=True)
class CopiesNotSearched(AnswerRemark):
    """The tree's copies of files that another tree also has were not searched."""

    name: str
    tree: str  # the name with its version


@dataclass(frozen=True, slots=True)
class FilesChanged(AnswerRemark):
    """Files changed after they were indexed."""

    count: int
    files: tuple[str, ...]  # the first few


# --- callers ---


@dataclass(frozen=True, slots=True)
class NoCallIndexed(AnswerRemark):
    """The index has no call of this name."""

    quoted: str  # the name, quoted for a shell


@dataclass(frozen=True, slots=True)
class CallsMayMeanOther(AnswerRemark):
    """The name at some calls may mean something else."""


@dataclass(frozen=True, slots=True)
class FollowedElsewhere(AnswerRemark):
    """The callers of some functions are shown below another row."""


@dataclass(frozen=True, slots=True)
class NoRoomToFollow(AnswerRemark):
    """The callers of some functions were not searched: there are too many."""


@dataclass(frozen=True, slots=True)
class LastLevel(AnswerRemark):
    """The callers of some functions were not searched: it is the last level."""


@dataclass(frozen=True, slots=True)
class OverridesOther(AnswerRemark):
    """The function overrides another function; calls of the other function may run it."""

    name: str
    base: str
    quoted: str  # the base's name, quoted for a shell


@dataclass(frozen=True, slots=True)
class IsRegistered(AnswerRemark):
    """A function is registered, so it is also called without its name."""

    name: str
    quoted: str  # quoted for a shell
    registered: tuple[str, ...]  # the first few names
    more: int = 0


# --- searches ---


@dataclass(frozen=True, slots=True)
class Respelled(AnswerRemark):
    """No name has a word of the query, so a nearly equal word was searched for."""

    word: str
    spelling: str


@dataclass(frozen=True, slots=True)
class SomeWords(AnswerRemark):
    """No note contains all words of the query."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WordsDropped(AnswerRemark):
    """Words of the query were ignored in the search of notes."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OnlyInCpp(AnswerRemark):
    """No Python name matches, but a C++ name does."""

    query: str


@dataclass(frozen=True, slots=True)
class LinesOfText(AnswerRemark):
    """How the lines of text were searched."""

    any_case: bool
    inside_words: bool


@dataclass(frozen=True, slots=True)
class DeclarationsFolded(AnswerRemark):
    """Declarations and constructors that are not listed."""

    count: int


# --- the definition of a name in a text ---


@dataclass(frozen=True, slots=True)
class OnlyLastPart(AnswerRemark):
    """Nothing has the full name, but something has its last part."""

    name: str
    last: str


@dataclass(frozen=True, slots=True)
class OfOtherLanguage(AnswerRemark):
    """The definitions with this name are in another language."""

    last: str


@dataclass(frozen=True, slots=True)
class NotDefined(AnswerRemark):
    """No tree defines the name."""

    name: str


@dataclass(frozen=True, slots=True)
class IsDefinedHere(AnswerRemark):
    """This line is the definition."""

    last: str


@dataclass(frozen=True, slots=True)
class OfCppLibrary(AnswerRemark):
    """The name belongs to the C++ library."""

    name: str


@dataclass(frozen=True, slots=True)
class SeenFromHere(AnswerRemark):
    """Of several definitions with the name, this one is visible from the line."""

    count: int
    name: str


@dataclass(frozen=True, slots=True)
class MayBeSeveral(AnswerRemark):
    """The name may mean several things."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class ByNameAlone(AnswerRemark):
    """Found by its last part only; the qualified name differs."""

    name: str


@dataclass(frozen=True, slots=True)
class LocalName(AnswerRemark):
    """A line around it declares the name."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class DeclaredByMacro(AnswerRemark):
    """The macro around the line declares the name."""

    name: str
    macro: str


@dataclass(frozen=True, slots=True)
class LocalOfClass(AnswerRemark):
    """A line around it declares the owner of the member."""

    owner: str
    kind: str
    line: int


# --- why a place in a search is not better known ---


@dataclass(frozen=True, slots=True)
class DefinedInTree(AnswerRemark):
    """The tree defines it several times."""

    count: int


@dataclass(frozen=True, slots=True)
class NoFileNamed(AnswerRemark):
    """The binary's record of an operator names no file."""


@dataclass(frozen=True, slots=True)
class AnchorIs(AnswerRemark):
    """The anchor of a stop has no place here."""

    outcome: str  # "" if it was not placed
