"""The documents that commands print with --json: their records, and functions that make them from an answer.

The records are msgspec structs. These modules are imported only to make a document, so a command without --json does
not import msgspec. A record with omit_defaults leaves out keys that have their default. `scripts/json-docs` makes
tables of docs/json.md from the docstrings and comments.
"""
