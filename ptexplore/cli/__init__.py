"""The commands, one small file each. Errors are handled in one place, app.py."""
