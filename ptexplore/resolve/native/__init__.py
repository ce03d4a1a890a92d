"""Native frames: the functions that ran, joined with the claims that follow from text."""
