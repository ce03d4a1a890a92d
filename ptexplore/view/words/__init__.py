"""Sentences. Only this room makes words of codes and their arguments."""
