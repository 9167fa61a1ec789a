"""From a project to a certified release."""

from safemargin.core import make_callable

make_callable(__name__)
