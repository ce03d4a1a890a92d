"""Notes and tours beside the source."""
