"""The catalogue of one runtime in SQLite; the only room that speaks SQL."""
