"""The answers of find, refs and show."""
