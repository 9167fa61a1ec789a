"""All tables that are consistent with the published ones."""

from safemargin.core import make_callable

make_callable(__name__)
