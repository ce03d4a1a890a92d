"""The documents that commands print with --json: records, and what makes them of an answer.

They are msgspec's structs, and a command without --json does not wait for msgspec: these modules are imported where a
document is made. A record with omit_defaults leaves out each key that has its default. `scripts/json-docs` makes
tables of docs/json.md from the docstrings and comments.
"""
