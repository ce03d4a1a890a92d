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
    SeenFromHere,
    SomeWords,
    TypesNotIndexed,
    ValuesNotIndexed,
    WordsDropped,
)
from ptexplore.view.words.templates import filled
from ptexplore.view.words.uses import otherwise_in_words

_NOT_INDEXED = "where it is only named as a type is not indexed"
_NOT_READ = "where it is read or written is not indexed"
_FIND_TEXT = ": ptexplore find --text {}"
_NAME_MATCHED = "name-matched: found by name, not by types{}; which overload a use is of is not told"
_RESOLVE = " (ptexplore index --semantic PATH resolves them)"
SEVERAL = "; {} definitions are called so"
# As the site shows them.
NOT_INDEXED = _NOT_INDEXED + _FIND_TEXT
NOT_READ = _NOT_READ + _FIND_TEXT
NAME_MATCHED = _NAME_MATCHED + _RESOLVE


# For records of a search. These words are imported without those of `reasons.py`.
ENGLISH: Mapping[type[AnswerRemark], str] = {
    CopiesNotSearched: "lines of {tree}'s own copies of these files are not looked at",
    FilesChanged: "{count} of these files were changed after they were indexed, so lines may be off ({files})",
    NoCallIndexed: "no call of that name is indexed; it may be registered: ptexplore refs {quoted}",
    CallsMayMeanOther: (
        "?: the name at the call may also mean something else, so what stands below may not lead to it"
    ),
    FollowedElsewhere: "(elsewhere): its callers are below another row of it",
    NoRoomToFollow: "…: not followed, for want of room: --limit N shows N callers of each",
    LastLevel: "↑: not followed, the last level: --depth N",
    OverridesOther: "{name} overrides {base}: a call of that may run it (refs --callers {quoted})",
    IsRegistered: (
        "{name} is registered ({registered}[ and {more} more]): what calls it through that is no call of its name "
        "(ptexplore refs {quoted})"
    ),
    SomeWords: "no note has all the words {words}: these have some of them",
    WordsDropped: "left out in notes: {words}",
    OnlyInCpp: "nothing of Python is called {query} here: what C++ calls so is listed",
    LinesOfText: (
        "lines of text: those that hold the query as it stands, "
        "{any_case#in small or capital letters|capitals as typed}{inside_words#; it may begin or end inside a word|}"
    ),
    OnlyLastPart: "nothing is called {name}; these are called {last}",
    OfOtherLanguage: (
        "{last}: its definition is not known; what is called so is of another language (ctrl+p lists it)"
    ),
    NotDefined: "{name}: no definition in these trees (a local name, or what no header here says)",
    IsDefinedHere: "this is where {last} is defined; r lists its uses",
    OfCppLibrary: "{name} is the C++ library's: it is not in these trees",
    SeenFromHere: "seen from here, of {count} places that have the name",
    MayBeSeveral: "{name} may be {count} things: Enter lists them",
    ByNameAlone: "found by its name alone",
    LocalName: "{name} is a local name here, it seems",
    DeclaredByMacro: "{name} is declared by the macro around this line",
    LocalOfClass: "{owner} is a {kind}, it seems",
    DefinedInTree: "{count} definitions of it in this tree",
    NoFileNamed: "the binary names no file for it",
    AnchorIs: "its anchor is {outcome}{outcome#|not placed} here",
    DeclarationsFolded: "{count} declarations and constructors of these are not listed: --declarations",
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
        told = otherwise_in_words(remark.otherwise, remark.untold)
        return f"{told}{f' ({some}{more})' if some else ''}"
    behind = (NAMED.get(type(remark), "") if named else "") + (TYPED.get(type(remark), "") if typed else "")
    return filled(ENGLISH[type(remark)] + behind, remark, str)
