"""What `ptexplore lsp` says in an editor: reasons for missing answers, omissions, the question before a run."""

from __future__ import annotations

from typing import Literal

EditorRemark = Literal[
    "no index", "changed", "no notes", "more lines", "more calls", "choice", "several", "other function", "not run",
    "question",
]  # fmt: skip
REMARKS: dict[EditorRemark, str] = {
    "no index": "without an index: {}. Type: ptexplore index",
    "changed": "{} was changed after indexing: no answers about this file. Type: ptexplore index",
    "no notes": "notes are not shown: {}",
    "more lines": "{}: {} more lines have the name and may mean something else",
    "more calls": "{}: {} more calls have the name and are not listed",
    "choice": "may mean {} things:",
    "several": "one of {} possible definitions",
    "other function": "the name may mean another function",
    "not run": "the code was not run",
    "question": "Somebody else may have written this code in {}. This code would run with your rights:\n{}\nRun it?",
}


def editor_remark(code: EditorRemark, *arguments: object) -> str:
    """Returns a remark with its arguments."""
    return REMARKS[code].format(*arguments)
