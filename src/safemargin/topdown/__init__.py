"""Noisy counts of areas in a tree, made consistent."""
