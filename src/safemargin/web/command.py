"""The program of a job: a command whose arguments come on standard input.

Everybody on a machine sees the arguments of every process, and these hold names of people and of files.
"""

import json
import sys
from importlib import import_module

PROGRAM = "safemargin.__main__"


def main() -> None:
    """Read the arguments, one JSON list, and run the command."""
    sys.argv[1:] = json.loads(sys.stdin.readline())
    import_module(PROGRAM).main()


if __name__ == "__main__":
    main()
