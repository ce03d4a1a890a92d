"""The screen of an autograd graph: its rows, as `git log --graph` draws a history, and the words of each row."""
