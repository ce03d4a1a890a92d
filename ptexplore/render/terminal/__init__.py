"""Page data formatted for a terminal, with rich."""
