"""Runs commands in children of one process that has everything loaded, each with a fault below it.

One request per line of input, one answer per line of output. It is started with the library of `faults.c` preloaded.
"""

import ctypes
import json
import os
import signal
import sys
import warnings

from safemargin import cli
from safemargin.release import release as _function  # noqa: F401

release_module = sys.modules["safemargin.release.release"]


def prepare() -> None:
    """Load every command, and skip what takes long and is no matter here: pictures and rejected alternatives."""
    cli.app()
    release_module.is_wanting = lambda draft: False
    charts = sys.modules["safemargin.ui.charts"] if "safemargin.ui.charts" in sys.modules else None
    if charts is None:
        from safemargin.ui import charts  # type: ignore[no-redef]
    charts._drawer = lambda process: type("Drawer", (), {"draw": lambda self, spec: ""})()


def run(request: dict[str, object], library: ctypes.CDLL) -> dict[str, object]:
    """The exit code, how many operations there were, and what was said."""
    reading, writing = os.pipe()
    said = os.memfd_create("said")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        os.close(reading)
        os.chdir(str(request["folder"]))
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.dup2(said, 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["safemargin", *map(str, request["arguments"])]  # type: ignore[call-overload]
        code = 1
        library.faults_arm(os.fsencode(str(request["folder"])), int(str(request["at"])), int(str(request["kind"])))
        try:
            cli.main()
            code = 0
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
        except KeyboardInterrupt:
            code = 130  # as Python itself ends
        except BaseException as error:
            print(f"Traceback: {error!r}", file=sys.stderr)
        library.faults_disarm()
        os.write(writing, str(library.faults_seen()).encode())
        sys.stderr.flush()
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as file:
        seen = file.read()
    _, status = os.waitpid(child, 0)
    with os.fdopen(said, "r", encoding="utf-8", errors="replace") as file:
        file.seek(0)
        text = file.read()
    code = os.waitstatus_to_exitcode(status)
    return {"code": 128 - code if code < 0 else code, "seen": int(seen or 0), "err": text}


def main() -> None:
    library = ctypes.CDLL(sys.argv[1])
    prepare()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line), library)), flush=True)


if __name__ == "__main__":
    main()
