"""Sentences that go with an answer about names."""

from __future__ import annotations

from collections.abc import Mapping

from ptexplore.model.remarks import (
    AnchorIs,
    AnswerRemark,
    ByNameAlone,
    CallsMayMeanOther,
    CopiesNotSearched,
    DeclarationsFolded,
    DeclaredByMacro,
    DefinedInTree,
    FilesChanged,
    FollowedElsewhere,
    FoundByName,
    IsDefinedHere,
    IsRegistered,
    LastLevel,
    LinesOfText,
    LocalName,
    LocalOfClass,
    MayBeSeveral,
    MeanOther,
    NoCallIndexed,
    NoFileNamed,
    NoRoomToFollow,
    NotDefined,
    OfCppLibrary,
    OfOtherLanguage,
    OnlyInCpp,
    OnlyLastPart,
    OverridesOther,
    Respelled,
    SeenFromHere,
    SomeWords,
    TypesNotIndexed,
    ValuesNotIndexed,
    WordsDropped,
)
from ptexplore.view.words.templates import filled
from ptexplore.view.words.uses import otherwise_in_words

_NOT_INDEXED = "lines that only name it as a type are not indexed"
_NOT_READ = "lines that read or write it are not indexed"
_FIND_TEXT = ": ptexplore find --text {}"
_NAME_MATCHED = "uses are found by name, not by types{}; overloads are not distinguished"
_RESOLVE = " (ptexplore index --semantic PATH resolves them)"
SEVERAL = "; {} definitions have this name"
# As the site shows them.
NOT_INDEXED = _NOT_INDEXED + _FIND_TEXT
NOT_READ = _NOT_READ + _FIND_TEXT
NAME_MATCHED = _NAME_MATCHED + _RESOLVE


# For records of a search. These words are imported without those of `reasons.py`.
ENGLISH: Mapping[type[AnswerRemark], str] = {
    CopiesNotSearched: "lines in {tree}'s own copies of these files were not searched",
    FilesChanged: "{count} of these files changed after they were indexed, so lines may be off ({files})",
    NoCallIndexed: "no call of that name is indexed; it may be registered: ptexplore refs {quoted}",
    CallsMayMeanOther: "?: the name at the call may also mean something else, so the rows below may not lead to it",
    FollowedElsewhere: "(elsewhere): its callers are listed below another row",
    NoRoomToFollow: "…: not followed, since there are too many: --limit N shows N callers of each",
    LastLevel: "↑: not followed, the last level: --depth N",
    OverridesOther: "{name} overrides {base}: a call of {base} may run it (refs --callers {quoted})",
    IsRegistered: (
        "{name} is registered ({registered}[ and {more} more]): code that calls it through the registration does not "
        "name it (ptexplore refs {quoted})"
    ),
    Respelled: "no name has {word}: searched for {spelling}",
    SomeWords: "no note has all the words {words}: the notes below have some of them",
    WordsDropped: "left out in notes: {words}",
    OnlyInCpp: "no Python name here is {query}: the C++ names are listed",
    LinesOfText: (
        "lines of text that contain the query literally, {any_case#in small or capital letters|capitals as "
        "typed}{inside_words#; it may begin or end inside a word|}"
    ),
    OnlyLastPart: "nothing has the name {name}; the results have the name {last}",
    OfOtherLanguage: (
        "{last}: its definition is not known; definitions with this name are in another language (ctrl+p lists them)"
    ),
    NotDefined: "{name}: no definition in these trees (a local name, or a name that no header here declares)",
    IsDefinedHere: "this is where {last} is defined; r lists its uses",
    OfCppLibrary: "{name} belongs to the C++ library: it is not in these trees",
    SeenFromHere: "visible from here, of {count} places with that name",
    MayBeSeveral: "{name} may be {count} things: Enter lists them",
    ByNameAlone: "found only by its name",
    LocalName: "{name} seems to be a local name here",
    DeclaredByMacro: "{name} is declared by the macro around this line",
    LocalOfClass: "{owner} seems to be a {kind}",
    DefinedInTree: "{count} definitions of it in this tree",
    NoFileNamed: "the binary names no file for it",
    AnchorIs: "its anchor is {outcome}{outcome#|not placed} here",
    DeclarationsFolded: "{count} declarations and constructors are not listed: --declarations",
}


# The end of a sentence, with the names that it is about. Left out if these are shown anyway.
NAMED: Mapping[type[AnswerRemark], str] = {
    SeenFromHere: ": {name}",
    ByNameAlone: ": {name}",
    LocalName: ": line {line} declares it",
    DeclaredByMacro: ": {macro}",
    LocalOfClass: ": line {line} declares it",
}
# The end of a sentence, with a command that helps. Left out if the reader cannot type commands.
TYPED: Mapping[type[AnswerRemark], str] = {
    CopiesNotSearched: ": --tree {name}",
    FilesChanged: ": ptexplore index",
}


def remark_in_words(remark: AnswerRemark | None, *, named: bool = True, typed: bool = True) -> str:
    """Returns the remark as a sentence; "" if there is none.

    Without `named`, the sentence leaves out the names that it is about. Without `typed`, it leaves out the command that
    helps.
    """
    if remark is None:
        return ""
    if isinstance(remark, FoundByName):
        several = SEVERAL.format(remark.definitions) if remark.definitions > 1 else ""
        return _NAME_MATCHED.format(several) + (_RESOLVE if typed else "")
    if isinstance(remark, TypesNotIndexed | ValuesNotIndexed):
        missing = _NOT_INDEXED if isinstance(remark, TypesNotIndexed) else _NOT_READ
        return missing + (_FIND_TEXT.format(remark.name) if typed else "")
    if isinstance(remark, MeanOther):
        some = ", ".join(f"{text} ×{count}" for text, count in remark.spellings)
        more = f", … ({remark.all_spellings} spellings)" if remark.all_spellings > len(remark.spellings) else ""
        words = otherwise_in_words(remark.otherwise, remark.unknown)
        return f"{words}{f' ({some}{more})' if some else ''}"
    behind = (NAMED.get(type(remark), "") if named else "") + (TYPED.get(type(remark), "") if typed else "")
    return filled(ENGLISH[type(remark)] + behind, remark, str)
