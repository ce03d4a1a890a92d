"""Places where people already work: each asks the same questions as the commands, and has no logic of its own."""
