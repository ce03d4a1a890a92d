"""What a name means, who uses it, what a reader meant: one engine for the terminal, `browse`, the site and an editor."""
