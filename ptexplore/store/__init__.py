"""The databases; the only room that speaks SQL."""
