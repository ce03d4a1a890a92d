"""The curated notes and tours: reading them, placing them on a tree, locking their places, trusting their code."""
