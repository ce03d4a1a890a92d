"""The source place of a hop, and the precision of that place."""
