"""Attacks on published tables, one per file."""

from safemargin.core import make_callable

make_callable(__name__)
