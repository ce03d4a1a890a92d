"""The document of a pasted error."""

from __future__ import annotations

from msgspec import Struct

from ptexplore.model.places import SourceRef
from ptexplore.model.trace import CauseCase, EarlierError, MissingKernel, ModifiedTensor, RaisingCheck
from ptexplore.resolve.error_message import CppLine, ErrorMessage, PastedFrame, RankErrors
from ptexplore.resolve.message_words import MessageWords
from ptexplore.view.documents.parts import FORMAT
from ptexplore.view.error import heading
from ptexplore.view.words.causes import worded_cause


class ErrorDocument(Struct, frozen=True):
    """`explain-error --json`."""

    format: int  # 1
    message: str  # the error's first words
    known_operator: bool  # for a missing kernel: false if this torch has no operator of that name
    missing: MissingKernel | None  # if the dispatcher found no kernel
    modified: ModifiedTensor | None  # if a saved tensor was modified in place
    function: str  # the function that threw; empty if the message does not say
    source: SourceRef | None  # its place; null if the message does not say
    yours: PastedFrame | None  # your innermost function in the traceback; null if the traceback has none
    operators: tuple[str, ...]  # operators of this torch in the message, at most 4; empty if `missing` is not null
    lines: tuple[CppLine, ...]  # other lines of C++ in the message, at most 4
    innermost: PastedFrame | None  # the innermost function of all, if it is a package's, at the line in the message
    before: EarlierError | None  # the error that led to it, if `cause` is the cause of that one
    cause: str | None  # why the error is raised, in words; null if unknown
    remedy: str | None  # how to mend the error
    cases: tuple[CauseCase, ...]  # if the message has several causes: each cause
    check: RaisingCheck | None  # for a message without a cause: the check in torch's source that raises it
    words: MessageWords | None  # where the constant words of the message are; null for a message without long ones
    ranks: tuple[RankErrors, ...]  # if ranks of a distributed program wrote the text: their errors


def error_document(message: ErrorMessage) -> ErrorDocument:
    """Returns the document of an error's text."""
    cause = worded_cause(message.cause) if message.cause is not None else None
    return ErrorDocument(
        format=FORMAT,
        message=heading(message),
        known_operator=message.is_known,
        missing=message.missing,
        modified=message.modified,
        function=message.function,
        source=message.source,
        yours=message.yours,
        operators=message.operators,
        lines=message.lines,
        innermost=message.innermost,
        before=message.before,
        cause=cause.why if cause is not None else None,
        remedy=(cause.remedy or None) if cause is not None else None,
        cases=cause.cases if cause is not None else (),
        check=message.check,
        words=message.words,
        ranks=message.ranks,
    )
