"""Writes and reads saved sessions and Trails. Every format that was ever written can be read."""
