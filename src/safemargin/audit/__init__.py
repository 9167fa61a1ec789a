"""Attacks on published tables, one per file."""
