"""Runs commands in children of one process that has everything loaded, each with a fault below it.

One request per line of input, one answer per line of output. It is started with the library of `faults.c` preloaded.
`run` runs a command to its end, `start` leaves it running, `end` sends it a signal (0: none) and waits for its end.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
import tempfile
import warnings
from typing import Any

import safemargin
from safemargin import cli
from safemargin.release import release as _function  # noqa: F401

release_module = sys.modules["safemargin.release.release"]
running: dict[int, tuple[int, int, int]] = {}
"""By process: where it writes its operations, what it says, and which modules it loaded."""
tried: set[str] = set()
"""Modules that a command loaded: the next command finds them here."""


def prepare() -> None:
    """Load every module, and skip what takes long and is no matter here: pictures and rejected alternatives."""
    for module in pkgutil.walk_packages(safemargin.__path__, "safemargin."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    cli.app()
    for package in {name.rpartition(".")[0] for name in sys.modules if name.startswith("safemargin.")}:
        if os.path.isdir(os.path.join(sys.modules[package].__path__[0], "templates")):
            page = sys.modules["safemargin.ui.page"]
            for made in (page.templates(package), page.templates()):  # type: ignore[attr-defined]
                for name in made.list_templates():
                    made.get_template(name)
    release_module.demo.__kwdefaults__["people"] = 20_000
    demo = sys.modules["safemargin.release.demo"]
    few, rest = demo.PROJECT.partition("[axes.age]")[::2]  # type: ignore[attr-defined]
    demo.PROJECT = f"{few}[target]{rest.partition('[target]')[2].partition('[[')[0]}"  # type: ignore[attr-defined]
    release_module.WORK = 0  # type: ignore[attr-defined]
    sys.modules["safemargin.ui.charts"]._drawer = lambda process: type(  # type: ignore[attr-defined]
        "Drawer", (), {"draw": lambda self, spec: ""}
    )()
    freeze()


def freeze() -> None:
    """Let the collectors of children leave alone what is here: to look at it is to copy it."""
    gc.collect()
    gc.freeze()


def start(request: dict[str, Any], library: ctypes.CDLL) -> int:
    """Start a command; the number of its process."""
    seen, said, loaded = (os.memfd_create(name) for name in ("seen", "said", "loaded"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        run_command(request, library, seen, said, loaded)
    running[child] = (seen, said, loaded)
    return child


def run_command(request: dict[str, Any], library: ctypes.CDLL, seen: int, said: int, loaded: int) -> None:
    """Be that command, as it is installed, and end the process."""
    root = request["root"]
    os.chdir(os.path.join(root, "work"))
    known = set(sys.modules)
    tempfile.tempdir = os.environ["TMPDIR"] = os.path.join(root, "tmp")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.dup2(said, 2)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["safemargin", *map(str, request["arguments"])]
    code = 1
    library.faults_arm(os.fsencode(root), int(request["at"]), int(request["kind"]))
    try:
        cli.main()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    except KeyboardInterrupt:
        code = 130  # as Python itself ends
    except BaseException as error:
        print(f"Traceback: {error!r}", file=sys.stderr)
    atexit._run_exitfuncs()  # what is kept for the time of the process is given back, under the same fault
    library.faults_disarm()
    library.faults_kinds.restype = ctypes.c_char_p
    os.write(seen, library.faults_kinds())
    os.write(loaded, " ".join(name for name in sys.modules if name not in known).encode())
    sys.stderr.flush()
    os._exit(code)


def end(child: int, number: int) -> dict[str, object]:
    """The exit code of a command, a letter for each of its operations, and what it said."""
    if number:
        os.kill(child, number)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    seen, said, loaded = (_content(handle) for handle in running.pop(child))
    load(loaded.split())
    return {"code": 128 - code if code < 0 else code, "seen": seen, "err": said}


def load(names: list[str]) -> None:
    """Load what a command loaded while it ran, so that the next ones need not."""
    new = [name for name in names if name not in tried and name not in sys.modules]
    tried.update(new)
    for name in new:
        with contextlib.suppress(ImportError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(name)
    if new:
        freeze()


def _content(handle: int) -> str:
    with os.fdopen(handle, "r", encoding="utf-8", errors="replace") as file:
        file.seek(0)
        return file.read()


def is_over(child: int) -> bool:
    """Whether a command has ended; it is not waited for."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def answer(request: dict[str, Any], library: ctypes.CDLL) -> object:
    """What a request asks for."""
    if request["do"] == "start":
        return start(request, library)
    if request["do"] == "end":
        return end(int(request["process"]), int(request["signal"]))
    if request["do"] == "over":
        return is_over(int(request["process"]))
    return end(start(request, library), 0)


def main() -> None:
    library = ctypes.CDLL(sys.argv[1])
    prepare()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), library)), flush=True)


if __name__ == "__main__":
    main()
