"""`safemargin` and `python -m safemargin`."""

import sys
from contextlib import suppress
from importlib import import_module

from safemargin import __version__

MENU = "safemargin.cli"


def main() -> None:
    """Run the menu, which takes a tenth of a second to load; the version alone needs none of it."""
    if sys.argv[1:] == ["--version"] and sys.stdout is not None:
        with suppress(OSError):  # an output that nobody takes: the menu knows the exit code
            print(__version__, flush=True)
            return
    import_module(MENU).main()


if __name__ == "__main__":
    main()
