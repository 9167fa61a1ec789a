"""`safemargin` and `python -m safemargin`."""

import sys
from importlib import import_module

from safemargin import __version__

MENU = "safemargin.cli"


def main() -> None:
    """Run the menu, which takes a tenth of a second to load; the version alone needs none of it."""
    if sys.argv[1:] == ["--version"]:
        print(__version__)
        return
    import_module(MENU).main()


if __name__ == "__main__":
    main()
