"""The codec of saved sessions and Trails: every format that was ever written is read."""
