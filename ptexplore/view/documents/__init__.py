"""The documents that commands print with --json: records, and what makes them of an answer.

Who asks for none does not wait for msgspec, so these modules are imported where a document is made. A key that has a
default is left out where it is that. `scripts/json-docs` makes tables of docs/json.md from the docstrings and comments.
"""
