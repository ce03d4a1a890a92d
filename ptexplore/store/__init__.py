"""The databases. No other package contains SQL."""
