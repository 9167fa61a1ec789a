"""Noisy counts of areas in a tree, made consistent."""

from safemargin.core import make_callable

make_callable(__name__)
