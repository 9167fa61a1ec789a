"""Runs commands of `election`, each in a process of its own, from a process that has loaded the program already."""

import json
import os
import runpy
import signal
import sys
from pathlib import Path

from safemargin.election import cli


def start_commands() -> None:
    """Run a command per line of standard input (arguments, file for what it prints); answer with its process number."""
    assert cli.election is not None
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for processes that were killed
    for line in sys.stdin:
        arguments, log = json.loads(line)
        number = os.fork()
        if number == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            run_command(arguments, Path(log))
        print(number, flush=True)


def run_command(arguments: list[str], log: Path) -> None:
    """Run one command in this process and end it; the exit code goes to a file beside what it printed."""
    with log.open("a", encoding="utf-8") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    code = 70
    try:
        sys.argv = ["safemargin", "election", *arguments]
        runpy.run_module("safemargin", run_name="__main__")
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        Path(f"{log}.code").write_text(str(code), encoding="ascii")
        os._exit(0)


if __name__ == "__main__":
    start_commands()
