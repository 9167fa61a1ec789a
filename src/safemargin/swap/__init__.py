"""Swapping of records, with its guarantee."""

from safemargin.core import make_callable

make_callable(__name__)
