"""Where a step is in source, and how precisely that is known."""
