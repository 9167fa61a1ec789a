"""What things are: frozen values, no files, no randomness."""
