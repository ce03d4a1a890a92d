"""A Trail as rows, documents and explanations."""
