"""Native frames: what ran, joined with what the text says."""
