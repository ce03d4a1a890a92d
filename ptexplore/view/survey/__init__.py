"""A survey of operators as rows, files and a report."""
