"""Tables of JSON keys, made from records: a key is a field, what it means is the comment on the field's line.

An option of a trace says itself what it is for.
"""

from __future__ import annotations

import ast
import inspect
import tokenize
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from io import StringIO
from textwrap import dedent
from types import ModuleType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import fields as fields_of

from ptexplore.model.codes import OneOf
from ptexplore.model.reasons import Reason
from ptexplore.view.documents import parts
from ptexplore.view.documents.callers import CallersDocument
from ptexplore.view.documents.card import CardDocument
from ptexplore.view.documents.checkouts import CheckoutsDocument
from ptexplore.view.documents.compiling import CompileDocument
from ptexplore.view.documents.coverage import CoverageDocument
from ptexplore.view.documents.error import ErrorDocument
from ptexplore.view.documents.exercises import ExerciseDocument, ExerciseListDocument, JudgedDocument
from ptexplore.view.documents.folder import FolderDocument
from ptexplore.view.documents.graph import GraphDocument
from ptexplore.view.documents.health import DoctorDocument
from ptexplore.view.documents.index import IndexDocument
from ptexplore.view.documents.ladder import OperatorListDocument
from ptexplore.view.documents.lowering import LowerDocument
from ptexplore.view.documents.notes import NotesCheckDocument, PathDocument, TourDocument, TourListDocument
from ptexplore.view.documents.search import FindDocument, RefsDocument
from ptexplore.view.documents.show import ShowDocument
from ptexplore.view.documents.survey import SurveyDocument
from ptexplore.view.documents.tensor import TensorDocument

BEGIN, END = "<!-- made by scripts/json-docs: {} -->", "<!-- until here -->"
PLAIN = {str: "text", int: "number", float: "number", bool: "true or false", NoneType: "null", Any: "anything"}


def with_tables(text: str) -> str:
    """The document with its tables as the records have them now. Raises ValueError where marks are missing.

    A mark begins each section that is made, and names it.
    """
    written, rest = "", text
    for name, made in sections().items():
        head, begin, tail = rest.partition(BEGIN.format(name))
        _old, end, rest = tail.partition(END)
        if not begin or not end:
            raise ValueError(f"the document lacks {BEGIN.format(name)} or {END}")
        written += f"{head}{begin}\n\n{made()}\n{end}"
    return written + rest


def sections() -> Mapping[str, Callable[[], str]]:
    """What makes each section, in the order in which they are in the document."""
    from ptexplore.model.trace import SavedTrace

    shared = _defined_in(parts)
    made: dict[str, Callable[[], str]] = {
        "trace": partial(tables, SavedTrace),
        "observations": observations,
        "parts": partial(tables, *shared),
    }
    described = (*records(SavedTrace), *shared)
    for name, top in documents().items():
        made[name] = partial(tables, *top, but=described)
        described = (*described, *records(*top))
    return made


def documents() -> Mapping[str, tuple[type, ...]]:
    """The records of the documents that commands print, by section."""
    return {
        "card": (CardDocument, CoverageDocument, OperatorListDocument),
        "compile": (CompileDocument,),
        "lower": (LowerDocument,),
        "graph": (GraphDocument,),
        "error": (ErrorDocument,),
        "health": (DoctorDocument,),
        "notes": (NotesCheckDocument,),
        "tours": (TourListDocument, TourDocument, PathDocument),
        "exercises": (ExerciseListDocument, ExerciseDocument, JudgedDocument),
        "search": (FindDocument, ShowDocument, FolderDocument, RefsDocument, CallersDocument),
        "index": (IndexDocument,),
        "checkouts": (CheckoutsDocument,),
        "survey": (SurveyDocument,),
        "tensor": (TensorDocument,),
    }


def _defined_in(module: ModuleType) -> tuple[type, ...]:
    return tuple(kind for kind in vars(module).values() if _is_record(kind) and kind.__module__ == module.__name__)


def observations() -> str:
    """The tables of recorders, and of what they tell."""
    from ptexplore.model.observed import KINDS

    kinds = "\n".join(["| kind | `data` |", "| --- | --- |", *(f"| `{k}` | {words(KINDS[k])} |" for k in KINDS), ""])
    return f"{recorders()}\n{kinds}\n{tables(*KINDS.values(), but=(Reason,))}"  # its table is among the Trace's


def recorders() -> str:
    """The table of recorders."""
    from ptexplore.model.options import asked_options
    from ptexplore.model.recorders import RECORDERS

    head = ("recorder", "what it sees", "kinds", "needs", "asked for by", "fails alone")
    rows = [
        (
            f"`{spec.name}`",
            spec.about,
            ", ".join(f"`{kind}`" for kind in spec.kinds),
            ", ".join(spec.needs),
            ", ".join(f"`{asked_options()[name].flag}`" for name in spec.options),
            "yes" if spec.fails_alone else "",
        )
        for spec in RECORDERS.values()
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def tables(*top: type, but: tuple[type, ...] = ()) -> str:
    """One table for each record that documents of the records `top` hold, as they are first named, `but` for some."""
    return "\n".join(_table(record) for record in records(*top) if record not in but)


def records(*top: type) -> list[type]:
    """The records `top`, and every record that their fields hold."""
    found: dict[type, None] = {}
    pending = list(top)
    while pending:
        record = pending.pop(0)
        if record not in found:
            found[record] = None
            pending += [held for hint in get_type_hints(record).values() for held in _held(hint)]
    return list(found)


def _held(hint: Any) -> Iterator[type]:
    if _is_reason(hint):
        yield Reason
        return
    if _is_record(hint):
        yield hint
    for part in get_args(hint):
        yield from _held(part)


def _is_reason(hint: Any) -> bool:
    return isinstance(hint, OneOf) or (isinstance(hint, type) and issubclass(hint, Reason))


def _is_record(hint: Any) -> bool:
    return isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, Struct))


def _table(record: type) -> str:
    from ptexplore.model.observed import Recorded

    if record is Reason:
        return _reasons()
    said, hints = {**_asked(record), **comments(record)}, get_type_hints(record)
    # An observation's id is beside its data.
    names = [name for name in hints if name != "observation" or not issubclass(record, Recorded)]
    missing = [name for name in names if name not in said]
    if missing:
        raise ValueError(f"{record.__name__}: no comment says what {', '.join(missing)} means")
    keys = {known.name: known.encode_name for known in fields_of(record)} if issubclass(record, Struct) else {}
    tag = record.__struct_config__ if issubclass(record, Struct) and record.__struct_config__.tag is not None else None
    rows = [f"| `{tag.tag_field}` | {words(type(tag.tag))} | {tag.tag} |"] if tag is not None else []
    rows += [f"| `{keys.get(name, name)}` | {words(hints[name])} | {said[name]} |" for name in names]
    about = (inspect.getdoc(record) or "").partition("\n\n")[0].replace("\n", " ")
    return "\n".join(
        [f"### {record.__name__}", "", about, "", "| key | value | what |", "| --- | --- | --- |", *rows, ""]
    )


def _reasons() -> str:
    """The tables of all codes, and of all verbs, which may be among their arguments."""
    from ptexplore.view.words import places
    from ptexplore.view.words.actions import AS_COMMANDS
    from ptexplore.view.words.reasons import ENGLISH

    about = (
        "The reason of a conclusion: a `code`, with the arguments that its `text` names in braces. A part in brackets "
        "is left out if an argument in it is empty. When a file is read, the text is made anew of code and arguments."
    )
    every_code = {**ENGLISH, **places.ENGLISH}
    texts = {kind.__struct_config__.tag: text.replace("|", "\\|") for kind, text in every_code.items()}
    rows = [f"| `{code}` | {text} |" for code, text in texts.items()]
    actions = (
        "What would help, among the arguments of a reason: a `verb`, with the arguments that its spelling for a "
        "command line names in braces."
    )
    spelled = [f"| `{kind.__struct_config__.tag}` | {text} |" for kind, text in AS_COMMANDS.items()]
    codes = ["### Reason", "", about, "", "| `code` | `text` |", "| --- | --- |", *rows, ""]
    return "\n".join([*codes, "### Action", "", actions, "", "| `verb` | spelled |", "| --- | --- |", *spelled, ""])


def _asked(record: type) -> Mapping[str, str]:
    """What the options among the fields of a record are for."""
    known = {field.name: field.metadata.get("asked") for field in fields(record)} if is_dataclass(record) else {}
    return {name: f"`{asked.flag}`: {asked.help}" for name, asked in known.items() if asked is not None}


def comments(record: type) -> Mapping[str, str]:
    """What the comment on each field's line says, of the record and of those it is derived from."""
    said: dict[str, str] = {}
    for kind in reversed([kind for kind in record.__mro__ if _is_record(kind) and kind is not Struct]):
        source = dedent(inspect.getsource(kind))
        lines = {
            token.start[0]: token.string.removeprefix("#").strip()
            for token in tokenize.generate_tokens(StringIO(source).readline)
            if token.type == tokenize.COMMENT
        }
        body = ast.parse(source).body[0]
        assert isinstance(body, ast.ClassDef)
        for node in body.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.lineno in lines:
                said[node.target.id] = lines[node.lineno]
    return said


def words(hint: Any) -> str:
    """A type as a reader of JSON says it."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f"`{value}`" if value != "" else "empty" for value in arguments)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(words(part) for part in arguments))
    if origin is frozenset or (origin is tuple and arguments[-1] is Ellipsis):
        held = words(arguments[0])
        return f"list of ({held})" if " or " in held else f"list of {held}"
    if origin is tuple:
        return f"list of {len(arguments)}: {', '.join(map(words, arguments))}"
    if origin is not None and issubclass(origin, Mapping):
        return f"object of {words(arguments[1])}"
    if _is_reason(hint):
        return "[Reason](#reason)"
    if _is_record(hint):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    return PLAIN[hint]
