"""A trace as rows, documents and explanations."""
