"""The commands, one small file each, behind one error boundary in app.py."""
