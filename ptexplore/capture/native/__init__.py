"""What the stepper logged, as named calls."""
