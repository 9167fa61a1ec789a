"""Secondary suppression of cells."""

from safemargin.core import make_callable

make_callable(__name__)
