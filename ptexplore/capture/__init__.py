"""The parent's side of a probe: processes, private channel, timeouts, and the session that comes of them."""
