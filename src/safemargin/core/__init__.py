"""Values that every part shares; no files, no feature."""
