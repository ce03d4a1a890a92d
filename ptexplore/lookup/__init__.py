"""What a name means, who uses it, what a reader meant: one engine for every front end."""
