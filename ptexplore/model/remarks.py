"""What must be said beside an answer about names: codes with arguments. Their words stand in `view/words/remarks.py`.

They are plain records, and not the ones of `reasons.py`: no file holds them, and a search does not wait for msgspec.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AnswerRemark:
    """What must be said beside an answer."""


# --- uses of a name ---


@dataclass(frozen=True, slots=True)
class MeanOther(AnswerRemark):
    """Lines with the name are not counted: they mean something else, or (`untold`) may."""

    otherwise: int
    untold: int = 0
    spellings: tuple[tuple[str, int], ...] = ()  # what is written on them, and how often: the first few
    all_spellings: int = 0


@dataclass(frozen=True, slots=True)
class FoundByName(AnswerRemark):
    """Uses are found by a name that so many definitions bear."""

    definitions: int = 1


@dataclass(frozen=True, slots=True)
class TypesNotIndexed(AnswerRemark):
    """Where a class is only named as a type is not indexed."""

    name: str


@dataclass(frozen=True, slots=True)
class ValuesNotIndexed(AnswerRemark):
    """Where a variable is read or written is not indexed."""

    name: str


@dataclass(frozen=True, slots=True)
class CopiesNotSearched(AnswerRemark):
    """A tree's own copies of files that another tree has are not looked at."""

    name: str
    tree: str  # the name with its version


@dataclass(frozen=True, slots=True)
class FilesChanged(AnswerRemark):
    """Files were changed after they were indexed."""

    count: int
    files: tuple[str, ...]  # the first few


# --- callers ---


@dataclass(frozen=True, slots=True)
class NoCallIndexed(AnswerRemark):
    """No call of the function's name is indexed."""

    quoted: str  # the name, for a shell


@dataclass(frozen=True, slots=True)
class CallsMayMeanOther(AnswerRemark):
    """The name at some calls may mean something else."""


@dataclass(frozen=True, slots=True)
class FollowedElsewhere(AnswerRemark):
    """The callers of some functions are shown below another row."""


@dataclass(frozen=True, slots=True)
class NoRoomToFollow(AnswerRemark):
    """The callers of some functions are not looked for: there are too many."""


@dataclass(frozen=True, slots=True)
class LastLevel(AnswerRemark):
    """The callers of some functions are not looked for: it is the last level."""


@dataclass(frozen=True, slots=True)
class OverridesOther(AnswerRemark):
    """A function overrides another one, through which it is called too."""

    name: str
    base: str
    quoted: str  # the base's name, for a shell


@dataclass(frozen=True, slots=True)
class IsRegistered(AnswerRemark):
    """A function is registered: what calls it through that does not name it."""

    name: str
    quoted: str  # for a shell
    registered: tuple[str, ...]  # the first few names
    more: int = 0


# --- searches ---


@dataclass(frozen=True, slots=True)
class SomeWords(AnswerRemark):
    """No note has all words of the query."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WordsDropped(AnswerRemark):
    """Words of the query were left out in notes."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OnlyInCpp(AnswerRemark):
    """Nothing of Python is called so, but something of C++ is."""

    query: str


@dataclass(frozen=True, slots=True)
class LinesOfText(AnswerRemark):
    """How lines of text were searched."""

    any_case: bool
    inside_words: bool


@dataclass(frozen=True, slots=True)
class DeclarationsFolded(AnswerRemark):
    """Declarations and constructors are not listed."""

    count: int


# --- the definition of a name in a text ---


@dataclass(frozen=True, slots=True)
class OnlyLastPart(AnswerRemark):
    """Nothing is called so, but by its last part."""

    name: str
    last: str


@dataclass(frozen=True, slots=True)
class OfOtherLanguage(AnswerRemark):
    """What is called so is of another language."""

    last: str


@dataclass(frozen=True, slots=True)
class NotDefined(AnswerRemark):
    """No tree defines it."""

    name: str


@dataclass(frozen=True, slots=True)
class IsDefinedHere(AnswerRemark):
    """The line is its definition."""

    last: str


@dataclass(frozen=True, slots=True)
class OfCppLibrary(AnswerRemark):
    """It is the C++ library's."""

    name: str


@dataclass(frozen=True, slots=True)
class SeenFromHere(AnswerRemark):
    """Of several that have the name it is the one that is seen from the line."""

    count: int
    name: str


@dataclass(frozen=True, slots=True)
class MayBeSeveral(AnswerRemark):
    """Several things are called so, and nothing says which is meant."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class ByNameAlone(AnswerRemark):
    """It was found by its last part, and has another name around that."""

    name: str


@dataclass(frozen=True, slots=True)
class LocalName(AnswerRemark):
    """A line around declares the name."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class DeclaredByMacro(AnswerRemark):
    """The macro around the line declares the name."""

    name: str
    macro: str


@dataclass(frozen=True, slots=True)
class LocalOfClass(AnswerRemark):
    """A line around declares what the member is of."""

    owner: str
    kind: str
    line: int


# --- why a place that a search found is no better known ---


@dataclass(frozen=True, slots=True)
class DefinedInTree(AnswerRemark):
    """A tree defines it several times."""

    count: int


@dataclass(frozen=True, slots=True)
class NoFileNamed(AnswerRemark):
    """The binary's record of an operator names no file."""


@dataclass(frozen=True, slots=True)
class AnchorIs(AnswerRemark):
    """The anchor of a stop has no place here."""

    outcome: str  # "" where it was not placed
