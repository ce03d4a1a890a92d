"""The frozen, typed records that stages exchange. This package reads no files and imports from no other room."""
