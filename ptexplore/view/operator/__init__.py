"""An operator's card."""
