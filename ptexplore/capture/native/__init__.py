"""Turns the log of the stepper into named calls."""
