"""Exact noise and cell keys."""
