"""The parent's side of a probe: processes, private channel, timeouts, and the session made of the messages."""
