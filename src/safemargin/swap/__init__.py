"""Swapping of records, with its guarantee."""
