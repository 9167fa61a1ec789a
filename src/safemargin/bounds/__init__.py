"""What can be inferred about each cell, and the proof of it."""
