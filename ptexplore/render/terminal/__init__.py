"""Formats the data of pages for a terminal, with rich."""
