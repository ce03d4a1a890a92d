"""Sentences: codes and their arguments become words here, and nowhere else."""
