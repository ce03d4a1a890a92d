"""Writes and reads saved sessions and Traces. Every format that was ever written can be read."""
