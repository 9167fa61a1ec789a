"""Protections: counts in, protected counts and a guarantee out. One mechanism per file."""
