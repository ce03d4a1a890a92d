"""What the reader knows while it shows source: files, folders, definitions, searches."""
